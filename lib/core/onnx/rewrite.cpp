// The walk behind the skeleton: descends into every message in the schema, which checks that the kept parts are
// well-formed, and records edits.
#include "onnx/rewrite.h"

#include <algorithm>
#include <array>

#include "onnx/message.h"
#include "onnx/node_path.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::wire {
namespace {

// Field numbers of NodeProto.op_type and TensorShapeProto.dim.
constexpr std::uint32_t kOpType = 4, kShapeDim = 1;
// Field numbers of the parts of paths, in NodeProto, FunctionProto and AttributeProto.
constexpr std::uint32_t kNodeOutput = 2, kNodeName = 3, kNodeDomain = 7, kFunctionName = 1, kFunctionDomain = 10,
                        kFunctionOverload = 13, kAttributeName = 1, kAttributeGraph = 6, kAttributeGraphs = 11;
// Field numbers of the numbers and texts in AttributeProto.
constexpr std::uint32_t kReal = 2, kInteger = 3, kText = 4, kReals = 7, kIntegers = 8, kTexts = 9;
constexpr bool is_number_or_text(std::uint32_t field) {
  return (field >= kReal && field <= kText) || (field >= kReals && field <= kTexts);
}
// Bytes copied at once before the input is released.
constexpr std::uint64_t kCopiedPiece = std::uint64_t{1} << 23;

class Rewrite {
 public:
  Rewrite(File& file, const RewritePolicy& policy) : file_(file), policy_(policy) {}

  std::vector<Edit> run() {
    message(Message::Model, {0, file_.size()}, 0);
    return std::move(edits_);
  }

  // Each of these functions returns the growth of its subject in bytes.
  // A length-delimited field.
  std::int64_t field(Message kind, const Field& found, int depth) {
    const FieldRow& row = field_row(kind, found.number);
    switch (row.content) {
      case Content::Text:
        return policy_.text ? renamed(kind, found) : 0;
      case Content::Unknown:
      case Content::Notes:
      case Content::Data:
      case Content::Scalar:
        return 0;
      case Content::PackedVarint:
      case Content::PackedFixed32:
      case Content::PackedFixed64:
        check_packed(row.content, found.payload, depth);
        return 0;
      case Content::Metadata:
        if (!keeps_metadata(kind, found.payload, depth + 1)) return cut(found.whole);
        return child(row.message, found, depth + 1);
      case Content::Message:
        return child(row.message, found, depth + 1);
    }
    return 0;
  }

 private:
  std::int64_t message(Message kind, Range body, int depth) {
    if (kind == Message::Tensor) return tensor(body, depth);
    const Holder holder_around = holder_;
    if (kind == Message::Node)
      holder_ = node_at(body, depth);
    else if (kind != Message::Attribute)
      holder_ = {.node = {}, .is_node = false, .is_sparse = kind == Message::SparseTensor};
    const std::int64_t growth =
        kind == Message::Attribute && policy_.attribute ? attribute(body, depth) : other_message(kind, body, depth);
    holder_ = holder_around;
    return growth;
  }

  std::int64_t other_message(Message kind, Range body, int depth) {
    const std::string around = path_;
    if (policy_.node) enter(kind, body, depth);
    const std::string here = path_;
    std::int64_t growth = 0;
    std::uint64_t dims = 0, graphs = 0;
    bool has_op_type = false;
    Reader reader(file_, body, depth);
    while (const std::optional<Field> read = reader.next()) {
      file_.passed(read->whole.end);
      if (policy_.field && !policy_.field(kind, *read)) {
        growth += cut(read->whole);
        continue;
      }
      if (read->type != Type::Bytes) continue;
      has_op_type = has_op_type || (read->number == kOpType && read->payload.size() != 0);
      dims += read->number == kShapeDim ? 1 : 0;
      if (policy_.node && kind == Message::Attribute &&
          (read->number == kAttributeGraph || read->number == kAttributeGraphs))
        path_ = body_path(here, graphs++);
      growth += field(kind, *read, depth);
    }
    if (policy_.node && kind == Message::Node) growth += insert(body.end, policy_.node(here));
    if (kind == Message::Model) growth += insert(body.end, policy_.model);
    path_ = around;
    // Rejecting such messages here costs nothing; parsed, each would take a hundred times its bytes.
    if (kind == Message::Node && !has_op_type) damaged(body, "a node without operator type", "one");
    if (kind == Message::Shape && dims > ElementCounter::kMaxRank)
      damaged(body, cat("a shape of ", dims, " dims"), cat("at most ", ElementCounter::kMaxRank));
    return growth;
  }

  // Of the tensors and attributes that are read next.
  struct Holder {
    AttributeContent node = {};
    bool is_node = false, is_sparse = false;
  };

  Holder node_at(Range body, int depth) {
    Holder holder;
    holder.node.node_at = body.begin;
    holder.is_node = true;
    if (!policy_.attribute) return holder;
    const auto found = texts(body, depth, {kNodeDomain, kOpType});
    holder.node.domain = plain_domain(found[0]);
    holder.node.op_type = found[1];
    return holder;
  }

  AttributeContent content_of(Range body, int depth) {
    AttributeContent content = holder_.node;
    Reader reader(file_, body, depth);
    while (const std::optional<Field> found = reader.next()) {
      const bool is_bytes = found->type == Type::Bytes;
      if (found->number == kAttributeName && is_bytes) content.name = file_.text(found->payload);
      if (!is_number_or_text(found->number)) continue;
      content.bytes += found->payload.size();
      if (found->tag() == fixed32_tag(kReal)) content.has_real = true;
      if (found->tag() == varint_tag(kInteger)) content.has_integer = true;
      if (found->tag() == bytes_tag(kText)) content.has_text = true, content.text_bytes = found->payload.size();
      if (found->number == kReals && (is_bytes || found->type == Type::Fixed32))
        content.reals += found->payload.size() / 4;
      if (found->tag() == bytes_tag(kTexts)) ++content.texts;
      if (found->number == kIntegers && (is_bytes || found->type == Type::Varint))
        for_each_number(file_, *found, depth, "a packed number", [&](std::uint64_t number) {
          ++content.integers;
          if (static_cast<std::int64_t>(number) > static_cast<std::int64_t>(content.largest)) content.largest = number;
        });
    }
    return content;
  }

  std::int64_t attribute(Range body, int depth) {
    const AttributeContent content = content_of(body, depth);
    const RewritePolicy::Attribute fate = policy_.attribute(content);
    if (fate == RewritePolicy::Attribute::Stays) return other_message(Message::Attribute, body, depth);
    std::int64_t growth = 0;
    Reader reader(file_, body, depth);
    while (const std::optional<Field> found = reader.next())
      if (is_number_or_text(found->number) || (policy_.field && !policy_.field(Message::Attribute, *found)))
        growth += cut(found->whole);
      else if (found->type == Type::Bytes)
        growth += field(Message::Attribute, *found, depth);
    return growth + add_zeros(body.end, content, fate == RewritePolicy::Attribute::KeepsLargest);
  }

  std::int64_t add_zeros(std::uint64_t offset, const AttributeContent& content, bool keeps_largest) {
    std::string single;
    if (content.has_real) append_varint(single, fixed32_tag(kReal)), single.append(4, '\0');
    if (content.has_integer) append_varint_field(single, kInteger, 0);
    if (content.has_text) append_bytes_field(single, kText, "");
    for (std::uint64_t i = 0; i < content.texts; ++i) append_bytes_field(single, kTexts, "");
    std::int64_t growth = insert(offset, single);
    if (content.reals > 0) growth += add_list(offset, kReals, content.reals * 4, "");
    std::string last;
    if (keeps_largest && content.integers > 0) append_varint(last, content.largest);
    if (content.integers > 0)
      growth += add_list(offset, kIntegers, content.integers - (last.empty() ? 0 : 1), last);
    return growth;
  }

  // A packed field of zeros, and after them `last`.
  std::int64_t add_list(std::uint64_t offset, std::uint32_t number, std::uint64_t zeros, const std::string& last) {
    NewData data{.text = {}, .generated_bytes = zeros + last.size(), .generate = [zeros, last](const Write& write) {
                   const std::string piece(static_cast<std::size_t>(std::min(zeros, kCopiedPiece)), '\0');
                   for (std::uint64_t left = zeros; left > 0; left -= std::min<std::uint64_t>(left, piece.size()))
                     write(std::string_view(piece).substr(0, static_cast<std::size_t>(std::min(left, kCopiedPiece))));
                   write(last);
                 }};
    append_varint(data.text, bytes_tag(number));
    append_varint(data.text, data.generated_bytes);
    const auto growth = static_cast<std::int64_t>(data.size());
    edits_.push_back({.offset = offset, .removed = 0, .added = std::move(data)});
    return growth;
  }

  // The first text of each field number.
  template <std::size_t N>
  std::array<std::string_view, N> texts(Range body, int depth, const std::uint32_t (&numbers)[N]) {
    std::array<std::string_view, N> found;
    Reader reader(file_, body, depth);
    while (const std::optional<Field> field = reader.next())
      for (std::size_t i = 0; i < N; ++i)
        if (field->number == numbers[i] && field->type == Type::Bytes && found[i].empty())
          found[i] = file_.text(field->payload);
    return found;
  }

  // Extends the path by a message, for its contents.
  void enter(Message kind, Range body, int depth) {
    if (kind == Message::Function) {
      const auto found = texts(body, depth, {kFunctionDomain, kFunctionName, kFunctionOverload});
      path_ = function_path(found[0], found[1], found[2]);
    } else if (kind == Message::Node) {
      const auto found = texts(body, depth, {kNodeOutput, kNodeName});
      path_ = node_path(path_, found[0], found[1]);
    } else if (kind == Message::Attribute) {
      path_ = attribute_path(path_, texts(body, depth, {kAttributeName})[0]);
    } else if (kind == Message::Training) {
      path_ = extended(path_, 't', "");  // its graphs are not the model's
    }
  }

  std::int64_t renamed(Message kind, const Field& found) {
    const std::string text = policy_.text(kind, found.number, file_.text(found.payload));
    if (text.empty()) return 0;
    Edit edit{.offset = found.length_at, .removed = found.payload.end - found.length_at};
    append_varint(edit.added.text, text.size());
    edit.added.text += text;
    const auto growth = static_cast<std::int64_t>(edit.added.size()) - static_cast<std::int64_t>(edit.removed);
    edits_.push_back(std::move(edit));
    return growth;
  }

  std::int64_t insert(std::uint64_t offset, std::string_view text) {
    if (text.empty()) return 0;
    edits_.push_back({.offset = offset, .removed = 0, .added = {.text = std::string(text)}});
    return static_cast<std::int64_t>(text.size());
  }

  std::int64_t child(Message kind, const Field& found, int depth) {
    // The edit of the length precedes the edits inside, so its slot is reserved first.
    const std::size_t slot = edits_.size();
    edits_.push_back({.offset = found.length_at, .removed = found.payload.begin - found.length_at});
    const std::int64_t growth = message(kind, found.payload, depth);
    if (edits_.size() == slot + 1) {
      edits_.pop_back();
      return 0;
    }
    Edit& length = edits_[slot];
    append_varint(length.added.text, found.payload.size() + static_cast<std::uint64_t>(growth));
    return growth + static_cast<std::int64_t>(length.added.size()) - static_cast<std::int64_t>(length.removed);
  }

  std::int64_t tensor(Range body, int depth) {
    StoredTensor stored = read_stored_tensor(file_, body, depth);
    stored.holder_at = holder_.is_node ? holder_.node.node_at : holder_.is_sparse ? StoredTensor::kNowhere : body.begin;
    std::optional<NewData> data = policy_.tensor(stored);
    if (!data && stored.is_plain && !policy_.field) return 0;
    std::int64_t growth = 0;
    Reader reader(file_, body, depth);
    while (const std::optional<Field> found = reader.next()) {
      const bool is_data = is_data_field(found->number);
      const bool is_location = found->number == kExternalData || found->number == kDataLocation;
      if ((data && (is_data || is_location)) || (policy_.field && !policy_.field(Message::Tensor, *found)))
        growth += cut(found->whole);
      else if (found->type == Type::Bytes)
        growth += field(Message::Tensor, *found, depth);
    }
    if (data) {
      growth += static_cast<std::int64_t>(data->size());
      edits_.push_back({.offset = body.end, .removed = 0, .added = *std::move(data)});
    }
    return growth;
  }

  void check_packed(Content content, Range payload, int depth) {
    if (content == Content::PackedVarint) {
      for (Reader reader(file_, payload, depth); !reader.at_end();) {
        file_.count_fields(1);
        reader.varint("a packed number");
      }
      return;
    }
    const std::uint64_t width = content == Content::PackedFixed32 ? 4 : 8;
    if (payload.size() % width != 0)
      malformed(payload.begin, cat("packed numbers of ", width, " bytes in a field of ", payload.size(), " bytes"));
  }

  bool keeps_metadata(Message in, Range entry, int depth) {
    if (!policy_.metadata) return true;
    std::string_view key;
    Reader reader(file_, entry, depth);
    while (const std::optional<Field> found = reader.next())
      if (found->number == 1 && found->type == Type::Bytes) key = file_.text(found->payload);
    return policy_.metadata(in, key);
  }

  std::int64_t cut(Range whole) {
    // Neighbouring cuts become one: typed data may be one field per element.
    if (!edits_.empty() && last_cut_ + 1 == edits_.size() &&
        edits_.back().offset + edits_.back().removed == whole.begin) {
      edits_.back().removed += whole.size();
    } else {
      last_cut_ = edits_.size();
      edits_.push_back({.offset = whole.begin, .removed = whole.size()});
    }
    return -static_cast<std::int64_t>(whole.size());
  }

  File& file_;
  const RewritePolicy& policy_;
  Holder holder_;
  std::string path_;  // of the graph or node that the walk is in
  std::vector<Edit> edits_;
  std::size_t last_cut_ = ~std::size_t{0};  // index of the latest edit that is a cut, if any
};

}  // namespace

std::vector<Edit> plan_rewrite(std::span<const std::byte> model, const RewritePolicy& policy) {
  File file(model, policy.release);
  return Rewrite(file, policy).run();
}

void check_unread(File& file, Message in, const Field& field, int depth) {
  if (field.type != Type::Bytes || field_row(in, field.number).content == Content::Unknown) return;
  // The planned edits are discarded. Cut data is not read.
  const RewritePolicy policy{
      .tensor = [](const StoredTensor& tensor) { return tensor.is_small() ? std::nullopt : std::optional(NewData{}); }};
  Rewrite(file, policy).field(in, field, depth);
}

std::uint64_t rewritten_size(std::span<const std::byte> model, const std::vector<Edit>& edits) {
  std::uint64_t size = model.size();
  for (const Edit& edit : edits) size = size - edit.removed + edit.added.size();
  return size;
}

std::string rewrite(std::span<const std::byte> model, const RewritePolicy& policy) {
  const std::vector<Edit> edits = plan_rewrite(model, policy);
  std::string result;
  result.reserve(static_cast<std::size_t>(rewritten_size(model, edits)));
  write_rewritten(
      model, edits, [&](std::string_view text) { result += text; }, policy.release);
  return result;
}

void write_rewritten(std::span<const std::byte> model, const std::vector<Edit>& edits, const Write& write,
                     const File::Release& release) {
  const std::string_view text = as_text(model);
  std::uint64_t copied = 0, released = 0;
  const auto copy_up_to = [&](std::uint64_t end) {
    while (copied < end) {
      const std::uint64_t piece = std::min(end - copied, kCopiedPiece);
      write(text.substr(copied, piece));
      copied += piece;
      if (copied < released + kCopiedPiece) continue;
      if (release) release({released, copied});
      released = copied;
    }
  };
  for (const Edit& edit : edits) {
    copy_up_to(edit.offset);
    write(edit.added.text);
    if (edit.added.generate) edit.added.generate(write);
    copied += edit.removed;
  }
  copy_up_to(text.size());
}

void append_entry(std::string& out, std::uint32_t number, std::string_view key, std::string_view value) {
  std::string entry;
  append_bytes_field(entry, 1, key);
  append_bytes_field(entry, 2, value);
  append_bytes_field(out, number, entry);
}

std::string external_reference(std::string_view location, std::uint64_t offset, std::uint64_t length) {
  std::string fields;
  append_entry(fields, kExternalData, "location", location);
  append_entry(fields, kExternalData, "offset", cat(offset));
  append_entry(fields, kExternalData, "length", cat(length));
  append_varint_field(fields, kDataLocation, 1);
  return fields;
}

}  // namespace pagoda::inline core::wire
