// The walk behind the skeleton: descends into every message that the schema knows, so that what is kept is known to
// be well-formed, and notes edits on the way back.
#include "onnx/rewrite.h"

#include <algorithm>

#include "onnx/schema.h"

namespace pagoda::inline core::wire {
namespace {

// NodeProto.op_type and TensorShapeProto.dim.
constexpr std::uint32_t kOpType = 4, kShapeDim = 1;
// Names and texts longer than this are no names: attributes lose them for the analysis, elsewhere they are an error.
constexpr std::uint64_t kLongestText = std::uint64_t{1} << 20;
// Bytes of the input between two releases. Linux maps 64 KB around each page touched, so far-apart headers add up.
constexpr std::uint64_t kReleaseInterval = std::uint64_t{1} << 23;

class Rewrite {
 public:
  Rewrite(std::span<const std::byte> model, const RewritePolicy& policy) : file_{model}, policy_(policy) {}

  std::vector<Edit> run() {
    message(Message::Model, {0, file_.bytes.size()}, 0);
    return std::move(edits_);
  }

 private:
  // Each returns by how many bytes its subject grows.
  std::int64_t message(Message kind, Range body, int depth) {
    if (kind == Message::Tensor) return tensor(body, depth);
    std::int64_t growth = 0;
    std::uint64_t dims = 0;
    bool has_op_type = false;
    Reader reader(file_, body, depth);
    while (const std::optional<Field> read = reader.next()) {
      release(read->whole.end);
      if (read->type != Type::Bytes) continue;
      has_op_type = has_op_type || (read->number == kOpType && read->payload.size() != 0);
      dims += read->number == kShapeDim ? 1 : 0;
      growth += field(kind, *read, depth);
    }
    // Found here, such messages cost nothing; parsed, each would take a hundred times its bytes.
    if (kind == Message::Node && !has_op_type) fail_at(body, "a node without operator type", "one");
    if (kind == Message::Shape && dims > ElementCounter::kMaxRank)
      fail_at(body, "a shape of " + std::to_string(dims) + " dims",
              "at most " + std::to_string(ElementCounter::kMaxRank));
    return growth;
  }

  [[noreturn]] static void fail_at(Range body, const std::string& found, const std::string& expected) {
    throw Error(found + " at byte " + std::to_string(body.begin) + ", expected " + expected +
                "; the file is damaged, export or download it again");
  }

  void release(std::uint64_t read) {
    if (read < released_ + kReleaseInterval) return;
    policy_.release({released_, read});
    released_ = read;
  }

  std::int64_t field(Message kind, const Field& found, int depth) {
    const FieldRow& row = field_row(kind, found.number);
    if (policy_.only_analysed && row.ignored) {
      check(row, found, depth);
      return cut(found.whole);
    }
    switch (row.content) {
      case Content::Bytes:
        return text(kind, found);
      case Content::PackedVarint:
      case Content::PackedFixed32:
      case Content::PackedFixed64:
        check_packed(row.content, found.payload, depth);
        return 0;
      case Content::Metadata:
        if (!keeps_metadata(found.payload, depth + 1)) return cut(found.whole);
        return child(row.message, found, depth + 1);
      case Content::Message:
        return child(row.message, found, depth + 1);
    }
    return 0;
  }

  // Also what is left out has to be well-formed: whether a file is a model must not depend on who asks.
  void check(const FieldRow& row, const Field& found, int depth) {
    if (row.message == Message::None) return;
    const std::size_t kept = edits_.size();
    message(row.message, found.payload, depth + 1);
    edits_.resize(kept);
    last_cut_ = ~std::size_t{0};
  }

  std::int64_t child(Message kind, const Field& found, int depth) {
    // The new length stands before the edits inside, so its place is taken first.
    const std::size_t slot = edits_.size();
    edits_.push_back({.offset = found.length_at, .removed = found.payload.begin - found.length_at});
    const std::int64_t growth = message(kind, found.payload, depth);
    if (edits_.size() == slot + 1) {
      edits_.pop_back();
      return 0;
    }
    Edit& length = edits_[slot];
    append_varint(length.text, found.payload.size() + static_cast<std::uint64_t>(growth));
    return growth + static_cast<std::int64_t>(length.text.size()) - static_cast<std::int64_t>(length.removed);
  }

  std::int64_t tensor(Range body, int depth) {
    const StoredTensor stored = read_stored_tensor(file_, body, depth);
    const std::optional<NewData> data = policy_.tensor(stored);
    if (!data && stored.is_plain) return 0;
    std::int64_t growth = 0;
    Reader reader(file_, body, depth);
    while (const std::optional<Field> found = reader.next()) {
      const bool is_data = is_data_field(found->number);
      const bool is_location = found->number == kExternalData || found->number == kDataLocation;
      if (data && (is_data || is_location))
        growth += cut(found->whole);
      else if (found->type == Type::Bytes)
        growth += field(Message::Tensor, *found, depth);
    }
    if (data) {
      edits_.push_back(
          {.offset = body.end, .removed = 0, .text = data->text, .generated = data->generated, .tensor = data->tensor});
      growth += static_cast<std::int64_t>(data->text.size() + data->generated);
    }
    return growth;
  }

  std::int64_t text(Message kind, const Field& found) {
    if (!policy_.only_analysed || found.payload.size() <= kLongestText) return 0;
    if (kind == Message::Attribute) return cut(found.whole);
    if (kind == Message::Tensor && is_data_field(found.number)) return 0;
    throw Error("field " + std::to_string(found.number) + " at byte " + std::to_string(found.whole.begin) + " has " +
                std::to_string(found.payload.size()) + " bytes, expected a name of at most " +
                std::to_string(kLongestText));
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
      malformed(payload.begin, "packed numbers of " + std::to_string(width) + " bytes in a field of " +
                                   std::to_string(payload.size()) + " bytes");
  }

  bool keeps_metadata(Range entry, int depth) {
    std::string_view key;
    Reader reader(file_, entry, depth);
    while (const std::optional<Field> found = reader.next())
      if (found->number == 1 && found->type == Type::Bytes) key = file_.text(found->payload);
    return policy_.metadata(key);
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

  File file_;
  const RewritePolicy& policy_;
  std::vector<Edit> edits_;
  std::uint64_t released_ = 0;              // up to this offset
  std::size_t last_cut_ = ~std::size_t{0};  // index of the latest edit that is a cut, if there is one
};

}  // namespace

std::vector<Edit> plan_rewrite(std::span<const std::byte> model, const RewritePolicy& policy) {
  return Rewrite(model, policy).run();
}

std::uint64_t rewritten_size(std::span<const std::byte> model, const std::vector<Edit>& edits) {
  std::uint64_t size = model.size();
  for (const Edit& edit : edits) size = size - edit.removed + edit.text.size() + edit.generated;
  return size;
}

std::string rewrite(std::span<const std::byte> model, const RewritePolicy& policy, std::uint64_t most_bytes) {
  const std::vector<Edit> edits = plan_rewrite(model, policy);
  const std::uint64_t size = rewritten_size(model, edits);
  if (size > most_bytes)
    throw Error("what remains without weights has " + std::to_string(size) + " bytes, expected at most " +
                std::to_string(most_bytes));
  std::string result;
  result.reserve(static_cast<std::size_t>(size));
  write_rewritten(model, edits, {.write = [&](std::string_view text) { result += text; }, .release = policy.release});
  return result;
}

void write_rewritten(std::span<const std::byte> model, const std::vector<Edit>& edits, const RewriteSink& sink) {
  const std::string_view text(reinterpret_cast<const char*>(model.data()), model.size());
  std::uint64_t copied = 0, released = 0;
  const auto copy_up_to = [&](std::uint64_t end) {
    while (copied < end) {
      const std::uint64_t piece = std::min(end - copied, kReleaseInterval);
      sink.write(text.substr(copied, piece));
      copied += piece;
      if (copied < released + kReleaseInterval) continue;
      sink.release({released, copied});
      released = copied;
    }
  };
  for (const Edit& edit : edits) {
    copy_up_to(edit.offset);
    sink.write(edit.text);
    if (edit.generated != 0) sink.generate(edit);
    copied += edit.removed;
  }
  copy_up_to(text.size());
}

std::string external_reference(std::string_view location, std::uint64_t offset, std::uint64_t length) {
  std::string fields;
  const auto entry = [&](std::string_view key, std::string_view value) {
    std::string text;
    append_bytes_field(text, 1, key);
    append_bytes_field(text, 2, value);
    append_bytes_field(fields, kExternalData, text);
  };
  entry("location", location);
  entry("offset", std::to_string(offset));
  entry("length", std::to_string(length));
  append_varint_field(fields, kDataLocation, 1);
  return fields;
}

}  // namespace pagoda::inline core::wire
