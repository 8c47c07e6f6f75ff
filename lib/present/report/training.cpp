// A training step for people: its parts, and the memory that it takes.
#include "report/rows.h"

namespace pagoda::present::report {
namespace {

std::string cell(const Number& value, std::string_view unit = "") { return value ? base::si(*value, unit) : "?"; }

Number maybe(const std::optional<Dim>& dim) { return dim ? number(*dim) : Number(); }

}  // namespace

std::vector<std::pair<std::string_view, const OpCost*>> step_parts(const Training& training) {
  const TrainingTotals& totals = training.totals;
  return {{"forward", &totals.forward}, {"backward", &totals.backward},     {"dx", &totals.dx},
          {"dw", &totals.dw},           {"recomputed", &totals.recomputed}, {"optimizer", &totals.optimizer},
          {"step", &totals.step}};
}

base::Grid training_grid(const Data& data) {
  const TrainingSection& section = *data.options.sections.training;
  base::Grid grid;
  grid.columns = {{.header = "training step"}};
  for (const char* header : {"MACs", "FLOPs", "read", "written", "× forward"})
    grid.columns.push_back({.header = header, .is_number = true});
  grid.columns.push_back({.header = ""});
  const std::string at_least = section.training->partial ? "≥ " : "";
  const Number forward = number(flops(section.training->totals.forward));
  for (const auto& [name, cost] : step_parts(*section.training)) {
    const Number work = number(flops(*cost));
    const bool is_known = work && forward && *forward > 0;
    std::string note;
    if (name == "dx") note = "gradients of activations";
    if (name == "dw") note = "gradients of parameters";
    if (name == "optimizer") note = std::string(to_string(section.options.optimizer));
    if (name == "recomputed") note = std::string(to_string(section.options.recompute));
    if (name == "step" && section.time) note = "time ≥ " + base::si_seconds(section.time->seconds);
    const bool is_part = name == "dx" || name == "dw";
    grid.rows.push_back(
        {(is_part ? "  " : "") + std::string(name), at_least + cell(number(cost->macs)), at_least + cell(work),
         cell(number(cost->bytes_read), "B"), cell(number(cost->bytes_written), "B"),
         is_known ? base::rounded(static_cast<double>(*work) / static_cast<double>(*forward)) : "", note});
  }
  return grid;
}

base::Grid training_memory_grid(const Data& data) {
  const TrainingMemory& memory = data.options.sections.training->training->memory;
  const std::pair<std::string_view, Number> rows[] = {
      {"weights", number(memory.weight_bytes)},
      {"master weights", number(memory.master_weight_bytes)},
      {"gradients", number(memory.gradient_bytes)},
      {"optimizer states", number(memory.optimizer_state_bytes)},
      {"saved activations", number(memory.saved_activation_bytes)},
      {"peak of activations and their gradients", maybe(memory.activation_peak_bytes)},
      {"peak of the step", maybe(memory.peak_bytes())},
  };
  base::Grid grid;
  grid.columns = {
      {.header = "training memory"}, {.header = "exact", .is_number = true}, {.header = "", .is_number = true}};
  for (const auto& [name, bytes] : rows)
    grid.rows.push_back({std::string(name), bytes ? base::grouped(*bytes) : "?", cell(bytes, "B")});
  return grid;
}

}  // namespace pagoda::present::report
