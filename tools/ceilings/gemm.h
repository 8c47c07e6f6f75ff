// Matrix products of installed libraries, opened at run time: a library ceiling stands beside ours, never in for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace pagoda::tools::ceilings {

struct GemmLibrary {
  std::string name;                             // "openblas", "onednn"
  std::string precision;                        // "float64", "float32"
  std::function<void(int n, int threads)> run;  // C = A·B, all n × n; empty: the library is not here
  std::string missing;                          // why it is not
};
std::vector<GemmLibrary> gemm_libraries();

}  // namespace pagoda::tools::ceilings
