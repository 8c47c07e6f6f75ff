// Matrix products of NVIDIA's cuBLASLt, opened at run time, next to our own kernels: the rate that an application gets
// without writing a kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu_driver.h"
#include "protocol.h"

namespace pagoda::tools::ceilings {

class GpuGemm {
 public:
  // Empty `library`: the system's. Never throws: if it cannot be used, `why` gives the reason.
  explicit GpuGemm(Gpu& gpu, const std::string& library = "");
  ~GpuGemm();
  const std::string& why() const { return why_; }

  struct Type {
    const char* precision;
    bool tensor;
    int a, c, compute, scale;  // cudaDataType of A and B, of C and D; cublasComputeType_t; cudaDataType of alpha
    unsigned bytes, result_bytes;
  };
  static const std::vector<Type>& types();

  // Allocates and fills random operands for C = Aᵀ·B, all n × n, and asks the library for up to `most` algorithms.
  // Returns how many it proposes. Throws GpuError.
  int prepare(const Type& type, int n, int most);
  void release();
  double seconds(int algorithm, unsigned repeats);
  Verdict right();  // compares some elements of the last product with the host's

 private:
  struct State;
  Gpu& gpu_;
  std::unique_ptr<State> state_;
  std::string why_;
};

}  // namespace pagoda::tools::ceilings
