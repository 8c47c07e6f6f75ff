// Rows of a report: selected and sorted once, then shown by every format.
#include "report/rows.h"

#include <algorithm>
#include <cmath>

#include "pagoda/base/enum_names.h"
#include "pagoda/core/engine.h"

namespace pagoda::present::report {

Data collect(const EstimateDocument& estimate, const ReportOptions& options) {
  Data data{.estimate = estimate, .options = options, .rows = {}};
  if (options.rows == Rows::None) return data;
  data.kind = options.rows == Rows::Type    ? documents::RowKind::Type
              : options.rows == Rows::Group ? documents::RowKind::Kernel
                                            : documents::RowKind::Node;
  data.rows = documents::rows_of(estimate, data.kind);
  const std::size_t top = options.top == 0 ? data.rows.size() : std::min(options.top, data.rows.size());
  // By predicted time, else by the bound if a device is known, then by FLOPs, largest first and unknown last; ties keep
  // the order of execution. Types are sorted already.
  const auto seconds = [](const Row& row) {
    return row.predicted_seconds ? *row.predicted_seconds : row.bound == nullptr ? 0 : row.bound->seconds;
  };
  if (options.top > 0 && data.kind != documents::RowKind::Type)
    std::ranges::stable_sort(data.rows, [&](const Row& a, const Row& b) {
      if (seconds(a) != seconds(b)) return seconds(a) > seconds(b);
      return a.counts->flops.value_or(-1) > b.counts->flops.value_or(-1);
    });
  data.rows.resize(top);
  return data;
}

std::string device_text(const documents::EstimateRoofline& roofline) {
  std::string text = base::printable(roofline.device_name.empty() ? roofline.device : roofline.device_name);
  if (!roofline.power_mode.empty()) text += ", mode " + base::printable(roofline.power_mode);
  return text;
}

std::string_view meaning(Convention count) {
  constexpr base::EnumNames<Convention::Pagoda> kMeanings("2·MACs + arith + special", "MACs", "2·MACs",
                                                          "2·MACs + arith − comparisons", "the published Pagoda rules");
  return kMeanings[count];
}

std::string operation(Convention count) { return count == Convention::Macs ? "MAC" : "FLOP"; }

std::string interval_text(const documents::EstimateRoofline& time) {
  const documents::EstimatePrediction& predicted = *time.predicted;
  if (!predicted.low || !predicted.high || !predicted.coverage)
    return "no interval" + (predicted.no_interval.empty() ? "" : ": " + base::printable(predicted.no_interval));
  const Engine* engine = find_engine(predicted.engine);
  return base::si_seconds(*predicted.low) + " … " + base::si_seconds(*predicted.high) + " for " +
         base::rounded(100 * *predicted.coverage) + " %" + std::string(engine == nullptr ? "" : engine->interval_of);
}

std::string placement_text(const EnginePlacement& placement) {
  return std::string("while the host has the processors on ") +
         (placement.is_apart ? "different caches" : "one cache") + ", as in " + base::rounded(100 * placement.share) +
         " % of the calibration's rounds";
}

std::string share_cell(double share) { return share > 0 && share < 0.0005 ? "<0.1" : base::rounded(100 * share); }
std::string intensity_text(double value) {
  constexpr double kGrouped = 999.5, kMost = 1e6;  // rounded() writes larger numbers with an exponent
  return value >= kGrouped && value < kMost ? base::grouped(std::llround(value)) : base::rounded(value);
}

std::string memory_share(double used, double whole) {
  std::string text = share_cell(whole > 0 ? used / whole : 0);
  for (int digits = 4; digits <= 9 && used != whole && text == share_cell(1); ++digits) {
    const std::string longer = base::rounded(100 * used / whole, digits);
    if (longer != "100") text = longer;
  }
  return text + " %";
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width, std::size_t margin) {
  constexpr std::string_view kSeparator = " · ";
  std::vector<std::string> rows;
  for (const std::string& part : base::split(text, kSeparator)) {
    const bool fits =
        !rows.empty() &&
        (width == 0 || margin + base::display_width(rows.back()) + 3 + base::display_width(part) <= width);
    if (fits)
      rows.back().append(kSeparator).append(part);
    else
      rows.push_back(part);
  }
  return rows;
}

std::string cell(const Count& value, std::string_view unit) {
  return value ? (value.is_at_least() ? "≥ " : "") + base::si(*value, unit) : "?";
}

std::string exact_cell(const Count& value) {
  return value ? (value.is_at_least() ? "≥ " : "") + base::grouped(*value) : "?";
}

}  // namespace pagoda::present::report
