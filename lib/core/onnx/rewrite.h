// Rewrites a serialized model without holding it in memory: one walk over the wire format finds the cuts and
// insertions, and everything between is copied unchanged. Enclosing messages get their new lengths; weights are never
// touched.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/schema.h"
#include "onnx/stored_tensor.h"

namespace pagoda::inline core::wire {

using Write = std::function<void(std::string_view)>;  // receives bytes in pieces

// Serialized fields: `text`, followed by bytes that are generated as they are written.
struct NewData {
  std::string text = {};
  std::uint64_t generated_bytes = 0;
  std::function<void(const Write&)> generate = {};
  std::uint64_t size() const { return text.size() + generated_bytes; }
};

// At `offset` of the input, replaces `removed` bytes by `added`.
struct Edit {
  std::uint64_t offset = 0;
  std::uint64_t removed = 0;
  NewData added = {};
};

// An AttributeProto: whose it is, and how much it holds.
struct AttributeContent {
  std::string_view domain, op_type;  // of the node; empty for the default of a function's attribute
  std::uint64_t node_at = 0;         // where the node's message begins
  std::string_view name;
  bool has_real = false, has_integer = false, has_text = false;
  std::uint64_t reals = 0, integers = 0, texts = 0;  // lengths of its lists
  std::uint64_t text_bytes = 0;                      // of its text
  std::uint64_t largest = 0;                         // integer of its list
  std::uint64_t bytes = 0;                           // of all numbers and texts
};

struct RewritePolicy {
  // The fields in place of the data and the references to external data of a TensorProto, at any depth; empty: the
  // tensor stays as it is.
  std::function<std::optional<NewData>(const StoredTensor&)> tensor;
  // Whether a field stays, and whether a metadata entry does. Data of tensors and attributes always stay here.
  std::function<bool(Message in, const Field&)> field = {};
  std::function<bool(Message in, std::string_view key)> metadata = {};
  // A new text in place of that of a Content::Text field; empty: the text stays.
  std::function<std::string(Message in, std::uint32_t number, std::string_view text)> text = {};
  // Whether numbers become 0 and texts empty in an attribute; lists keep their lengths.
  enum class Attribute : std::uint8_t { Stays, Empties, KeepsLargest };
  std::function<Attribute(const AttributeContent&)> attribute = {};
  // Serialized fields to add to the node at a path (node_path.h); none: paths are not computed.
  std::function<std::string_view(const std::string& path)> node = {};
  std::string model = {};  // … and the model
  // As File's.
  File::Release release = {};
};

// The edits, in order of offset. Throws Error for malformed input, with the byte offset.
std::vector<Edit> plan_rewrite(std::span<const std::byte> model, const RewritePolicy& policy);

// The size of the result.
std::uint64_t rewritten_size(std::span<const std::byte> model, const std::vector<Edit>& edits);

// `release` as File's.
void write_rewritten(std::span<const std::byte> model, const std::vector<Edit>& edits, const Write& write,
                     const File::Release& release = {});

// Plan and result in one.
std::string rewrite(std::span<const std::byte> model, const RewritePolicy& policy);

// Throws Error unless an unread field is well-formed: whether a file is a model must not depend on which fields are
// read.
void check_unread(File& file, Message in, const Field& field, int depth);

// Appends a StringStringEntryProto as field `number`.
void append_entry(std::string& out, std::uint32_t number, std::string_view key, std::string_view value);

// The fields of TensorProto that refer to external data.
std::string external_reference(std::string_view location, std::uint64_t offset, std::uint64_t length);

}  // namespace pagoda::inline core::wire
