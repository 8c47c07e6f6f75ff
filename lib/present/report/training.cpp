// A training step as readable tables: its parts, and its memory.
#include "report/rows.h"

namespace pagoda::present::report {

base::Grid training_grid(const documents::EstimateDocument& estimate) {
  return rows_grid(documents::columns_of(documents::RowKind::Part, documents::View::Terminal, estimate),
                   documents::rows_of(estimate, documents::RowKind::Part), estimate);
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
