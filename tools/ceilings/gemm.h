// Matrix products of installed libraries, opened at run time: a library ceiling is reported next to ours and never
// replaces it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace pagoda::tools::ceilings {

struct GemmLibrary {
  std::string name;                             // "openblas", "onednn"
  std::string precision;                        // "float64", "float32"
  std::function<void(int n, int threads)> run;  // C = A·B, all n × n; empty: the library is missing
  std::string missing;                          // why it is missing
};
std::vector<GemmLibrary> gemm_libraries();

}  // namespace pagoda::tools::ceilings
