// What goes beside a report: diagnostics, sizes taken for granted, and the operators that have rules.
#include <algorithm>

#include "pagoda/core/operators.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/make_estimate.h"
#include "pagoda/documents/serving.h"
#include "report/rows.h"

namespace pagoda::present {

std::string list_operators(std::size_t width) {
  base::Grid grid{.columns = {{.header = "domain"},
                              {.header = "operator"},
                              {.header = "opsets", .drop_order = 2},
                              {.header = "shape", .drop_order = 4},
                              {.header = "fold", .drop_order = 3},
                              {.header = "work", .shortest_width = 20}},
                  .rows = {}};
  for (const OperatorInfo& op : operators())
    grid.rows.push_back({op.domain, op.name, op.versions, "yes", op.folds ? "yes" : "", op.work});
  return base::aligned(grid, width) +
         "opsets: versions of the domain that define or change the operator; shape: types of all outputs; fold: values "
         "of small outputs too, where those of the inputs are known\n";
}

std::string list_devices(std::size_t width) {
  constexpr std::pair<Precision, Unit> kShown[] = {
      {Precision::Float64, Unit::Vector}, {Precision::Float32, Unit::Vector},  {Precision::Tf32, Unit::Tensor},
      {Precision::Float16, Unit::Tensor}, {Precision::Bfloat16, Unit::Tensor}, {Precision::Float8, Unit::Tensor},
      {Precision::Int8, Unit::Tensor},
  };
  base::Grid grid{.columns = {{.header = "id"}, {.header = "name", .drop_order = 3}}, .rows = {}};
  for (const auto& [precision, unit] : kShown)
    grid.columns.push_back(
        {.header = std::string(to_string(precision)) + (unit == Unit::Tensor ? " tensor" : ""), .is_number = true});
  grid.columns.push_back({.header = "memory", .is_number = true});
  grid.columns.push_back({.header = "bandwidth", .is_number = true});
  grid.columns.push_back({.header = "power modes", .drop_order = 4});
  for (const std::string& id : documents::device_ids()) {
    const DeviceSpec spec = documents::device(id);
    std::vector<std::string> row = {spec.id, spec.name};
    for (const auto& [precision, unit] : kShown) {
      const Peak* peak = spec.peak(precision, unit);
      row.push_back(peak == nullptr ? "" : base::si_rate(*peak->flops_per_second.value, ""));
    }
    const MemoryLevel* dram = spec.level("dram");
    const auto known = [&](const Quantity& quantity, std::string_view of) {
      return quantity.known() ? base::si_rate(*quantity.value, of) : std::string();
    };
    row.push_back(dram == nullptr ? "" : known(dram->capacity_bytes, "B"));
    row.push_back(dram == nullptr ? "" : known(dram->bytes_per_second, "B/s"));
    std::string modes;
    for (const PowerMode& mode : spec.power_modes) modes += (modes.empty() ? "" : " ") + mode.id;
    row.push_back(modes);
    grid.rows.push_back(std::move(row));
  }
  std::string calibrations;
  for (const std::string& id : documents::calibration_ids())
    calibrations += "calibration " + id + ": " + documents::calibration(id).regime + "\n";
  return base::aligned(grid, width) + calibrations +
         "dense peaks in FLOP/s (int8: operations); the source of each number is in data/devices; a power mode is "
         "ID:MODE\n";
}

std::string list_engines(std::size_t width) {
  const auto names = [](const std::vector<std::string>& ids) { return base::joined(ids); };
  const base::Grid grid{
      .columns = {{.header = "id"}, {.header = "what it predicts"}, {.header = "calibrations"}},
      .rows = {{"pytorch-amp", "eager PyTorch in mixed precision (default)", names(documents::calibration_ids())},
               {"llm-serving", "vLLM, SGLang, TensorRT-LLM: a step of a decoder, on one device or several",
                names(documents::serving_calibration_ids())}}};
  return base::aligned(grid, width);
}

std::string budgets_report(const std::vector<documents::EstimateBudget>& budgets) {
  std::string text;
  for (const documents::EstimateBudget& result : budgets) {
    const bool is_time = result.budget == BudgetKind::Seconds;
    const bool is_bytes = result.budget == BudgetKind::Bytes || result.budget == BudgetKind::Memory;
    text += std::string(to_string(result.budget)) + ": " + std::string(to_string(result.verdict)) + " " + result.limit +
            ", found ";
    if (result.value)
      text +=
          is_time ? base::si_seconds(*result.value) : base::si(static_cast<Int>(*result.value), is_bytes ? "B" : "");
    else
      text += "?";
    for (const std::string& cause : result.causes) text += "; " + base::printable(cause);
    text += "\n";
  }
  return text;
}

std::optional<Format> format(std::string_view name) {
  constexpr std::pair<Format, std::string_view> kFormats[] = {
      {Format::Table, "table"}, {Format::Json, "json"}, {Format::Csv, "csv"}, {Format::Markdown, "markdown"}};
  for (const auto& [value, text] : kFormats)
    if (text == name) return value;
  return std::nullopt;
}

std::string diagnostics_report(const std::vector<Diagnostic>& diagnostics, Severity least, std::size_t limit) {
  std::string text;
  std::size_t shown = 0, hidden = 0, following = 0;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity < least) continue;
    if (shown > 0 && diagnostic.cause == Cause::UnknownInput) {
      ++following;
      continue;
    }
    if (shown == limit) {
      ++hidden;
      continue;
    }
    ++shown;
    text += std::string(to_string(diagnostic.severity)) + ": ";
    if (!diagnostic.node.empty()) text += base::printable(diagnostic.node) + ": ";
    text += base::printable(diagnostic.message) + "\n";
  }
  if (following > 0) text += "and " + std::to_string(following) + " nodes behind them: an input's rank is not known\n";
  if (hidden > 0) text += "and " + std::to_string(hidden) + " more; --format json lists all\n";
  return text;
}

std::string free_dims_report(const documents::EstimateDocument& estimate) {
  constexpr std::size_t kListed = 8, kShort = 40;
  std::string text;
  if (const std::vector<std::string> dims = documents::free_dims(estimate); !dims.empty()) {
    std::string names, remedy;
    for (std::size_t i = 0; i < std::min(dims.size(), kListed); ++i) {
      names += (i == 0 ? "" : ", ") + dims[i];
      remedy += " --dim " + dims[i] + "=V";
    }
    if (dims.size() > kListed) names += " and " + std::to_string(dims.size() - kListed) + " more";
    text += "free dims taken as 1: " + names + "; set them with" + remedy + ", or see formulas with --symbolic\n";
  }
  if (const std::string problem = documents::impossible_size(estimate); !problem.empty())
    text += "warning: " + problem + "\n";
  if (const std::vector<Symbol> symbols = documents::unset_symbols(estimate); !symbols.empty()) {
    text += "sizes that the data decide, taken as 1 unless set with --dim: ";
    for (std::size_t i = 0; i < std::min(symbols.size(), kListed); ++i) {
      text += (i == 0 ? "" : ", ") + symbols[i].name;
      // Long formulas are left to --symbolic.
      const std::string upper = symbols[i].upper ? symbols[i].upper->to_string() : "";
      if (!upper.empty() && upper.size() <= kShort) text += " (at most " + upper + ")";
    }
    if (symbols.size() > kListed) text += " and " + std::to_string(symbols.size() - kListed) + " more";
    text += "; --symbolic tells what each is\n";
  }
  return text;
}

}  // namespace pagoda::present
