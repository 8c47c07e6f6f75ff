// Outputs of a run, and their error against a reference.
#pragma once

#include <string>
#include <vector>

#include "pagoda/base/json.h"
#include "pagoda/documents/result.h"

namespace pagoda::tools::bench {

struct OutputTensor {
  std::string name;
  std::string type;  // "float32", "int64", …
  std::vector<std::int64_t> shape;
  std::vector<double> values;  // empty if the type cannot be read
  bool readable = false;
};

// Loads the tensors listed in a worker's "outputs" event from its file. Throws Error if the file is incomplete.
std::vector<OutputTensor> load_outputs(const base::JsonValue& event);

// Mean relative error of each output, Σ|got − reference| / Σ|reference|; the worst one decides.
documents::Verification compare_outputs(const std::vector<OutputTensor>& got,
                                        const std::vector<OutputTensor>& reference, double threshold);

}  // namespace pagoda::tools::bench
