// Outputs of a run, and how far they are from those of a reference.
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
  std::vector<double> values;  // empty where the type cannot be read
  bool readable = false;
};

// As a worker's "outputs" event lists them, from its file. Throws Error where the file does not hold them.
std::vector<OutputTensor> load_outputs(const base::JsonValue& event);

// Mean relative error of each output: Σ|got − reference| / Σ|reference|; the worst decides.
documents::Verification compare_outputs(const std::vector<OutputTensor>& got,
                                        const std::vector<OutputTensor>& reference, double threshold);

}  // namespace pagoda::tools::bench
