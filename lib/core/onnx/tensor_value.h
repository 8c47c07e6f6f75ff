// Tensors of the graph from TensorProto: type, place, and the value where it is small.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <span>

#include "onnx/external_data.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

// The elements of little-endian packed data: the raw_data of TensorProto. `data` holds raw_bytes(type, elements).
TensorValue decode_raw(ElementType type, std::uint64_t elements, std::string_view data);

class TensorReader {
 public:
  explicit TensorReader(const ExternalData& external) : external_(external) {}

  // Throws Error naming the tensor where its dims or data are impossible.
  Tensor read(const ::onnx::TensorProto& proto);
  // The dense tensor that a sparse one stands for; its value is not formed.
  Tensor read(const ::onnx::SparseTensorProto& proto);

 private:
  void read_value(const ::onnx::TensorProto& proto, std::uint64_t elements, Tensor& tensor);
  // A known element takes 64 bytes, so a file of small tensors only must not be unfolded without limit. Indices
  // and shapes, which are int64, have a budget of their own.
  static constexpr std::uint64_t kMostIndices = std::uint64_t{1} << 21;
  static constexpr std::uint64_t kMostOthers = std::uint64_t{1} << 20;

  const ExternalData& external_;
  std::uint64_t indices_left_ = kMostIndices, others_left_ = kMostOthers;
};

}  // namespace pagoda::inline core::wire
