// Tensors of the graph from TensorProto: type, location, and the value if it is small.
#pragma once

#include <cstdint>

#include "onnx/external_data.h"
#include "onnx/message.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

class TensorReader {
 public:
  TensorReader(File& file, const ExternalData& external, base::NameArena& names)
      : file_(file), external_(external), names_(names) {}

  // Reads the TensorProto in `body`. Throws Error naming the tensor where its dims or data are impossible.
  Tensor read(Range body, int depth);
  // The dense tensor that the SparseTensorProto in `body` represents; its value is not built.
  Tensor read_sparse(Range body, int depth);

 private:
  void read_value(const StoredTensor& stored, int depth, Tensor& tensor);
  // The values in the typed data field of a small tensor, as bits.
  std::vector<std::uint64_t> typed_codes(const StoredTensor& stored, int depth);

  // A known element takes 64 bytes, so the expansion of a file full of small tensors must be limited. Indices and
  // shapes, which are int64, have a separate budget.
  static constexpr std::uint64_t kMostIndices = std::uint64_t{1} << 21;
  static constexpr std::uint64_t kMostOthers = std::uint64_t{1} << 20;

  File& file_;
  const ExternalData& external_;
  base::NameArena& names_;
  std::uint64_t indices_left_ = kMostIndices, others_left_ = kMostOthers;
};

}  // namespace pagoda::inline core::wire
