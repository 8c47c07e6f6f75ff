// Matrix products of NVIDIA's cuBLASLt beside our own kernels, opened at run time: what an application gets without
// writing a kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu_driver.h"
#include "protocol.h"

namespace pagoda::tools::ceilings {

class GpuGemm {
 public:
  // `library` empty: the system's. Never throws: where it cannot be used, `why` says it.
  explicit GpuGemm(Gpu& gpu, const std::string& library = "");
  ~GpuGemm();
  const std::string& why() const { return why_; }

  struct Type {
    const char *precision, *unit, *accumulate;
    bool tensor;
    int a, c, compute, scale;  // cudaDataType of A and B, of C and D; cublasComputeType_t; cudaDataType of alpha
    unsigned bytes, result_bytes;
  };
  static const std::vector<Type>& types();

  // Room and random operands for C = Aᵀ·B, all n × n; up to `most` algorithms that the library proposes for them.
  // Returns how many there are. Throws GpuError.
  int prepare(const Type& type, int n, int most);
  void release();
  double seconds(int algorithm, unsigned repeats);
  Verdict right();  // some elements of the last product against the host's

 private:
  struct State;
  Gpu& gpu_;
  std::unique_ptr<State> state_;
  std::string why_;
};

}  // namespace pagoda::tools::ceilings
