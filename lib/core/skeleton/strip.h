// Decides what of a model stays in its skeleton: what an estimate depends on, and no parameter.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "onnx/external_data.h"
#include "onnx/rewrite.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core::wire {

class Stripper {
 public:
  // The model in `file`. All arguments must outlive the object.
  Stripper(const Model& model, std::span<const std::byte> file, const SkeletonOptions& options,
           const ExternalData& external);

  // For one rewrite of the file. The object must outlive the policy.
  RewritePolicy policy();
  // After the rewrite.
  SkeletonReport report() const;

 private:
  // Numbers that stay: those of an initializer, or of a Constant node.
  struct Kept {
    std::string_view why;     // empty: they become 0
    std::string_view reader;  // an operator, where one reads them
    std::string_view name;
  };
  using Rows = std::map<std::string, SkeletonReport::Row>;

  std::optional<NewData> tensor(const StoredTensor& tensor);
  std::optional<NewData> inlined(const StoredTensor& tensor) const;
  std::uint64_t shared_offset(const StoredTensor& tensor);
  bool keeps_field(Message in, const Field& field);
  std::string renamed(Message in, std::uint32_t number, std::string_view text);
  bool keeps_metadata(Message in, std::string_view key);
  RewritePolicy::Attribute attribute(const AttributeContent& content);
  static void add(Rows& rows, std::string what, std::uint64_t bytes, std::string name = "");

  std::string_view text_;  // of the file
  const SkeletonOptions& options_;
  const ExternalData& external_;
  std::unordered_map<std::uint64_t, Kept> numbers_;  // by where the message of the tensor or node begins
  std::map<std::string, std::uint64_t> shared_;  // small tensors that were dropped: contents → offset of the first
  std::unordered_map<std::string, std::string> names_;  // → new ones, by order of appearance
  Rows kept_, removed_;
};

}  // namespace pagoda::inline core::wire
