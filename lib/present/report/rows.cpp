// Rows of a report: selected and sorted once, then shown by every format.
#include "report/rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/core/engine.h"

namespace pagoda::present::report {

namespace {

// By predicted time, else by the bound if a device is known, then by FLOPs, largest first and unknown last; ties keep
// the order of execution.
void sort(std::vector<Row>& rows) {
  const auto seconds = [](const Row& row) {
    return row.predicted_seconds ? *row.predicted_seconds : row.bound == nullptr ? 0 : row.bound->seconds;
  };
  std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) {
    if (seconds(a) != seconds(b)) return seconds(a) > seconds(b);
    return a.counts->flops.value_or(-1) > b.counts->flops.value_or(-1);
  });
}

Count times(const Count& count, Int factor) {
  if (!count) return count;
  const Count product = *count * factor;
  return count.is_at_least() ? product.at_least() : product;
}

// Turns `row` into the sum of `layers` rows like it.
void multiply(Row& row, std::size_t layers, Data& data) {
  if (layers == 1) return;
  const auto factor = static_cast<double>(layers);
  Data::Sum& sum = data.sums.emplace_back();
  sum.counts = *row.counts;
  for (const auto& [name, member] : documents::kEstimateCounts)
    sum.counts.*member = times(sum.counts.*member, static_cast<Int>(layers));
  sum.kernel = *row.kernel;
  sum.kernel.saved_bytes = times(sum.kernel.saved_bytes, static_cast<Int>(layers));
  row.counts = &sum.counts;
  row.kernel = &sum.kernel;
  if (row.bound != nullptr) {
    sum.bound = *row.bound;
    for (double RowBound::*const part : {&RowBound::seconds, &RowBound::compute_seconds, &RowBound::memory_seconds,
                                         &RowBound::share, &RowBound::flops, &RowBound::bytes})
      sum.bound.*part *= factor;
    row.bound = &sum.bound;
  }
  if (row.predicted_seconds) *row.predicted_seconds *= factor;
}

// The operator without its domain: "FusedMatMul" of "com.microsoft.FusedMatMul".
std::string_view without_domain(std::string_view op) { return op.substr(op.rfind('.') + 1); }

}  // namespace

Data collect(const EstimateDocument& estimate, const ReportOptions& options) {
  Data data{.estimate = estimate, .options = options, .rows = {}};
  if (options.rows == Rows::None) return data;
  data.kind = options.rows == Rows::Type    ? documents::RowKind::Type
              : options.rows == Rows::Group ? documents::RowKind::Kernel
                                            : documents::RowKind::Node;
  data.rows = documents::rows_of(estimate, data.kind);
  if (options.top > 0 && data.kind != documents::RowKind::Type) sort(data.rows);  // types are sorted already
  if (options.top > 0 && options.top < data.rows.size()) data.rows.resize(options.top);
  return data;
}

Data collect_folded(const EstimateDocument& estimate, const ReportOptions& options) {
  if (options.rows != Rows::Group || options.top == 0) return collect(estimate, options);
  Data data{.estimate = estimate, .options = options, .kind = documents::RowKind::Kernel, .rows = {}};
  std::vector<Folded> layers;
  std::map<std::string, std::size_t> places;
  for (Row& row : documents::rows_of(estimate, data.kind)) {
    const std::string name = row.shown_name();
    const double seconds = row.bound == nullptr ? 0 : row.bound->seconds;
    const auto [at, is_new] =
        places.try_emplace(cat(without_numbers(name), "\n", row.operators(), "\n", cell(row.counts->flops), " ",
                               cell(row.counts->bytes), " ", base::shortest(seconds)),
                           layers.size());
    if (is_new) {
      layers.push_back({.name = name, .first = name, .ops = std::to_string(data.rows.size())});
      data.rows.push_back(row);
    }
    Folded& layer = layers[at->second];
    layer.name = common_name(layer.name, name);
    ++layer.times;
  }
  name_first(layers);
  std::map<std::size_t, std::string> names;  // by index of the first kernel
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    multiply(data.rows[i], layers[i].times, data);
    names[data.rows[i].index] =
        base::printable(layers[i].name) + (layers[i].times > 1 ? cat(" ×", layers[i].times) : "");
  }
  sort(data.rows);
  if (options.top < data.rows.size()) data.rows.resize(options.top);
  for (const Row& row : data.rows) data.names.push_back(names.at(row.index));
  return data;
}

base::Grid shown_grid(const Data& data) {
  base::Grid grid = rows_grid(data.kind, data.estimate, data.rows);
  const auto column = [&](std::string_view header) {
    return static_cast<std::size_t>(std::ranges::find(grid.columns, header, &base::Column::header) -
                                    grid.columns.begin());
  };
  const std::size_t name = column("kernel");
  if (name < grid.columns.size())
    for (std::size_t i = 0; i < data.names.size(); ++i) grid.rows[i][name] = data.names[i];
  if (data.options.width == 0) return grid;
  std::map<std::string_view, std::set<std::string_view>> domains;
  const auto add = [&](std::string_view op, std::string_view domain) {
    domains[op].insert(domain.empty() ? "ai.onnx" : domain);
  };
  for (const EstimateNode& node : data.estimate.nodes) add(node.op_type.view(), node.domain.view());
  if (data.estimate.types)
    for (const documents::EstimateType& type : *data.estimate.types) add(type.op_type, type.domain);
  for (const std::size_t ops : {column("op"), column("ops")}) {
    if (ops >= grid.columns.size()) continue;
    for (auto& row : grid.rows)
      row[ops] = base::joined(base::split(row[ops], "+"), "+", [&](const std::string& op) {
        const auto found = domains.find(without_domain(op));
        return found != domains.end() && found->second.size() == 1 ? std::string(found->first) : op;
      });
  }
  return grid;
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

std::string share_cell(double share) {
  constexpr double kLeast = 0.0005;
  if (std::abs(share) < kLeast) return share > 0 ? "<0.1" : "0";  // also of differences that rounding makes negative
  return base::rounded(100 * share);
}
std::string intensity_text(double value) {
  constexpr double kGrouped = 999.5, kMost = 1e6;  // rounded() writes larger numbers with an exponent
  return value >= kGrouped && value < kMost ? base::grouped(std::llround(value)) : base::rounded(value);
}

std::string percent_of(double part, double whole) { return cat(share_cell(whole > 0 ? part / whole : 0), " %"); }

std::string dotted(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts)
    if (!text.empty()) joined += cat(joined.empty() ? "" : " · ", text);
  return joined;
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
