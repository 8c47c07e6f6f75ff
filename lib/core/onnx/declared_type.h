// Types as files declare them. Names of dims become symbols, formulas of dims become expressions.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pagoda/core/tensor_type.h"

namespace pagoda::inline core::wire {

// The symbols of one model. Different names never become one symbol, and sizes without a name get one of their own.
class DimNames {
 public:
  // Takes the names in `type` that need no change, so that no other size gets one of them. To be called for all
  // declared types before the first is read.
  void reserve(const ::onnx::TypeProto& type);

  // `value` names the sizes that the file leaves open.
  TensorType read(const ::onnx::TypeProto& type, std::string_view value);

  // Names in the file that are no identifiers → the symbols standing for them.
  const std::map<std::string, std::string>& renamed() const { return renamed_; }

 private:
  Dim named(const std::string& name);
  std::optional<Dim> as_written(const std::string& name);
  Dim unnamed(std::string_view value, int axis);
  Shape shape(const ::onnx::TensorShapeProto& proto, std::string_view value);
  std::string unused(std::string identifier);

  std::unordered_map<std::string, std::uint64_t> taken_;  // symbols → the number last appended to them
  std::unordered_map<std::string, Dim> known_;
  std::map<std::string, std::string> renamed_;
  std::size_t formula_characters_ = 0;
};

}  // namespace pagoda::inline core::wire
