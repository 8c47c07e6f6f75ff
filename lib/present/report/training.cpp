// A training step as readable tables: its parts, and its memory.
#include "report/rows.h"

namespace pagoda::present::report {

Count flops_of(const documents::EstimateWork& work) {
  if (!work.macs || !work.arith || !work.special) return std::nullopt;
  return 2 * *work.macs + *work.arith + *work.special;
}

base::Grid training_grid(const documents::EstimateDocument& estimate) {
  const documents::EstimateTraining& training = *estimate.training;
  const bool has_flops = !counts_macs(estimate);
  base::Grid grid;
  grid.columns = {{.header = "training step"}, {.header = "MACs", .is_number = true}};
  if (has_flops) grid.columns.push_back({.header = "FLOPs", .is_number = true});
  for (const char* header : {"read", "written", "× forward"})
    grid.columns.push_back({.header = header, .is_number = true});
  grid.columns.push_back({.header = ""});
  const std::string at_least = training.partial ? "≥ " : "";
  const auto work_of = [&](const documents::EstimateWork& part) { return has_flops ? flops_of(part) : part.macs; };
  const Count forward = work_of(training.forward);
  for (const auto& [part, member] : documents::kTrainingParts) {
    const std::string name = part;
    const documents::EstimateWork& work = training.*member;
    const Count operations = work_of(work);
    const bool is_known = operations && forward && *forward > 0;
    std::string note;
    if (name == "dx") note = "gradients of activations";
    if (name == "dw") note = "gradients of parameters";
    if (name == "optimizer") note = std::string(to_string(training.optimizer));
    if (name == "recomputed") note = std::string(to_string(training.recompute));
    if (name == "step" && training.time) note = "time ≥ " + base::si_seconds(training.time->seconds);
    const bool is_part = name == "dx" || name == "dw";
    std::vector<std::string> row = {(is_part ? "  " : "") + name, at_least + cell(work.macs)};
    if (has_flops) row.push_back(at_least + cell(operations));
    row.insert(row.end(),
               {cell(work.bytes_read, "B"), cell(work.bytes_written, "B"),
                is_known ? base::rounded(static_cast<double>(*operations) / static_cast<double>(*forward)) : "", note});
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

base::Grid training_memory_grid(const documents::EstimateTraining& training) {
  const std::pair<const char*, const Count&> rows[] = {
      {"weights", training.weight_bytes},
      {"master weights", training.master_weight_bytes},
      {"gradients", training.gradient_bytes},
      {"optimizer states", training.optimizer_state_bytes},
      {"saved activations", training.saved_activation_bytes},
      {"peak of activations and their gradients", training.activation_peak_bytes},
      {"peak of the step", training.peak_bytes},
  };
  base::Grid grid;
  grid.columns = {
      {.header = "training memory"}, {.header = "exact", .is_number = true}, {.header = "", .is_number = true}};
  for (const auto& [name, bytes] : rows)
    grid.rows.push_back({name, bytes ? base::grouped(*bytes) : "?", cell(bytes, "B")});
  return grid;
}

}  // namespace pagoda::present::report
