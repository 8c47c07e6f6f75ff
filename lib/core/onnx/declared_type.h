// Types as files declare them. Names of dims become symbols, formulas of dims become expressions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx/message.h"
#include "pagoda/core/tensor_type.h"

namespace pagoda::inline core::wire {

// A TypeProto, with its sequences, optionals and maps unwrapped.
struct StoredDim {
  std::optional<std::int64_t> value;
  std::string_view name;
};
struct StoredType {
  Container container = Container::Tensor;
  ElementType element = ElementType::Undefined;
  ElementType key = ElementType::Undefined;  // of maps
  std::optional<std::vector<StoredDim>> dims;
};
StoredType read_type(File& file, Range body, int depth);

// The symbols of one model. Different names never become the same symbol, and unnamed sizes get their own symbols.
class DimNames {
 public:
  // Reserves the names in `type` that need no change, so that no other size gets them. Call it for all declared types
  // before resolving the first.
  void reserve(const StoredType& type);

  // `value` is the base name for sizes that the file leaves open.
  TensorType resolve(const StoredType& type, std::string_view value);

  // Names in the file that are not identifiers → the symbols used for them.
  const std::map<std::string, std::string>& renamed() const { return renamed_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };

  Dim named(std::string_view name);
  bool is_difference(std::string_view name) const;
  std::optional<Dim> as_written(std::string_view name);
  std::string unused(std::string identifier);

  std::unordered_map<std::string, std::uint64_t> taken_;  // symbols → the number last appended to them
  std::unordered_map<std::string, Dim, Hash, std::equal_to<>> known_;
  std::map<std::string, std::string> renamed_;
  std::size_t formula_characters_ = 0;
};

}  // namespace pagoda::inline core::wire
