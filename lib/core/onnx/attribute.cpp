// AttributeProto → Attribute. Its plain values are read first, with lists allocated once, then the messages in it.
#include <algorithm>

#include "onnx/load.h"
#include "onnx/small_float.h"

namespace pagoda::inline core::wire {
namespace {

// AttributeProto.AttributeType. Larger values are newer than this version: protobuf drops values it does not know.
enum class AttributeKind : std::uint8_t {
  Undefined,
  Float,
  Int,
  String,
  Tensor,
  Graph,
  Floats,
  Ints,
  Strings,
  Tensors,
  Graphs,
  SparseTensor,
  SparseTensors,
  Type,
  Types
};
constexpr std::uint64_t kAttributeKinds = static_cast<std::uint64_t>(AttributeKind::Types) + 1;

// The fields of AttributeProto that hold messages, by kind.
constexpr std::uint32_t kTensor = 5, kGraph = 6, kGraphs = 11, kType = 14, kSparseTensor = 22;

// An AttributeProto; messages in it are read after all its other fields.
struct StoredAttribute {
  std::string_view name, reference;
  AttributeKind kind = AttributeKind::Undefined;
  std::optional<double> real;
  std::optional<std::int64_t> integer;
  std::optional<std::string_view> text;
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  std::vector<Field> messages;

  const Field* message(std::uint32_t number) const {
    for (const Field& field : messages)
      if (field.number == number) return &field;
    return nullptr;
  }
};

double real(std::string_view bytes) {
  return static_cast<double>(same_bits<float>(static_cast<std::uint32_t>(fixed(bytes))));
}

// The number of varints in a packed field, so that the list of twenty million of them is allocated once.
std::size_t packed_count(File& file, const Field& field, int depth) {
  std::size_t count = 0;
  for (Reader packed(file, field.payload, depth); !packed.at_end(); ++count) (void)packed.varint("a packed number");
  return count;
}

// Lists that are not packed: allocates a long one for all that may follow, as growing it would double its memory, and
// the pages that have been read leave memory.
template <typename T>
void expect_more(File& file, std::vector<T>& list, Range rest, std::uint64_t bytes_each) {
  constexpr std::size_t kLong = std::size_t{1} << 20;
  if (list.size() % kLong != 0 || list.empty()) return;
  file.passed(rest.begin);
  if (list.size() == kLong && list.capacity() == kLong) list.reserve(kLong + 1 + rest.size() / bytes_each);
}

// Allocated once, and the pages of a long list leave memory as they are read.
void read_packed(File& file, Range payload, std::vector<double>& reals) {
  constexpr std::uint64_t kPart = std::uint64_t{1} << 20;
  reals.reserve(reals.size() + payload.size() / 4);
  for (std::uint64_t begin = payload.begin; begin != payload.end;) {
    const Range part = {begin, std::min(begin + kPart, payload.end)};
    for (std::string_view packed = file.keep(part); !packed.empty(); packed.remove_prefix(4))
      reals.push_back(real(packed.substr(0, 4)));
    begin = part.end;
    file.passed(begin);
  }
}

StoredAttribute read_attribute(File& file, Range body, int depth) {
  StoredAttribute attribute;
  for_each_field(file, Message::Attribute, body, depth, [&](const Field& field) {
    const bool is_name = field.payload.size() <= kLongestText;  // longer texts are ignored
    switch (field.tag()) {
      case bytes_tag(1):
        if (is_name) attribute.name = name_in(file, field);
        return true;
      case fixed32_tag(2):
        attribute.real = real(file.text(field.payload));
        return true;
      case varint_tag(3):
        attribute.integer = static_cast<std::int64_t>(field.varint);
        return true;
      case bytes_tag(4):
        if (is_name) attribute.text = name_in(file, field);
        return true;
      case fixed32_tag(7):
        expect_more(file, attribute.reals, {field.whole.end, body.end}, field.whole.size());
        attribute.reals.push_back(real(file.text(field.payload)));
        return true;
      case bytes_tag(7):
        if (field.payload.size() % 4 != 0) return false;
        read_packed(file, field.payload, attribute.reals);
        return true;
      case varint_tag(8):
        expect_more(file, attribute.integers, {field.whole.end, body.end}, field.whole.size());
        attribute.integers.push_back(static_cast<std::int64_t>(field.varint));
        return true;
      case bytes_tag(8):
        if (const std::size_t count = packed_count(file, field, depth); count > attribute.integers.size())
          attribute.integers.reserve(attribute.integers.size() + count);
        for_each_number(file, field, depth, "a packed number",
                        [&](std::uint64_t number) { attribute.integers.push_back(static_cast<std::int64_t>(number)); });
        file.passed(field.whole.end);
        return true;
      case bytes_tag(9):
        if (field.payload.size() < kShortText) file.count(Entry::ShortText);
        if (is_name) attribute.texts.emplace_back(name_in(file, field));
        return true;
      case bytes_tag(kTensor):
      case bytes_tag(kGraph):
      case bytes_tag(kGraphs):
      case bytes_tag(kType):
      case bytes_tag(kSparseTensor):
        attribute.messages.push_back(field);
        return true;
      case varint_tag(20):
        // As protobuf reads an enum: 32 bits, and only known values.
        if (const auto kind = static_cast<std::uint32_t>(field.varint); kind < kAttributeKinds)
          attribute.kind = static_cast<AttributeKind>(kind);
        return true;
      case bytes_tag(21):
        if (is_name) attribute.reference = name_in(file, field);
        return true;
      default:
        return false;
    }
  });
  return attribute;
}

// The kind that the attribute states or, if it states none (which early versions of ONNX allowed), the kind that its
// content implies.
AttributeKind kind_of(const StoredAttribute& attribute) {
  if (attribute.kind != AttributeKind::Undefined) return attribute.kind;
  if (attribute.real) return AttributeKind::Float;
  if (attribute.integer) return AttributeKind::Int;
  if (attribute.text) return AttributeKind::String;
  if (attribute.message(kTensor)) return AttributeKind::Tensor;
  if (attribute.message(kGraph)) return AttributeKind::Graph;
  if (attribute.message(kType)) return AttributeKind::Type;
  if (attribute.message(kSparseTensor)) return AttributeKind::SparseTensor;
  if (!attribute.reals.empty()) return AttributeKind::Floats;
  if (!attribute.integers.empty()) return AttributeKind::Ints;
  if (!attribute.texts.empty()) return AttributeKind::Strings;
  if (attribute.message(kGraphs)) return AttributeKind::Graphs;
  return AttributeKind::Undefined;
}

// The field that holds a kind's messages; 0 for other kinds.
std::uint32_t message_field(AttributeKind kind) {
  if (kind == AttributeKind::Tensor) return kTensor;
  if (kind == AttributeKind::Graph) return kGraph;
  if (kind == AttributeKind::Graphs) return kGraphs;
  if (kind == AttributeKind::Type) return kType;
  return kind == AttributeKind::SparseTensor ? kSparseTensor : 0;
}

// `body`: the one message of the kind; empty where the attribute has none.
AttributeValue build_value(Loader& loader, const BuildBody& build_body, StoredAttribute& attribute, AttributeKind kind,
                           Range body, int depth) {
  switch (kind) {
    case AttributeKind::Float:
      return attribute.real.value_or(0);
    case AttributeKind::Int:
      return attribute.integer.value_or(0);
    case AttributeKind::String:
      return std::string(attribute.text.value_or(""));
    case AttributeKind::Tensor:
      return read_tensor(loader, body, depth);
    case AttributeKind::SparseTensor:
      return read_sparse_tensor(loader, body, depth);
    case AttributeKind::Graph:
      return build_body(body, depth);
    case AttributeKind::Floats:
      return std::move(attribute.reals);
    case AttributeKind::Ints:
      return std::move(attribute.integers);
    case AttributeKind::Strings:
      return std::move(attribute.texts);
    case AttributeKind::Type:
      return loader.dims.resolve(read_type(loader.file, body, depth), attribute.name);
    case AttributeKind::Graphs: {
      std::vector<GraphId> graphs;
      for (const Field& field : attribute.messages)
        if (field.number == kGraphs) graphs.push_back(build_body(field.payload, depth));
      return graphs;
    }
    case AttributeKind::Undefined:
    case AttributeKind::Tensors:
    case AttributeKind::SparseTensors:
    case AttributeKind::Types:
      return std::monostate{};  // no operator has them
  }
  return std::monostate{};
}

}  // namespace

Attribute build_attribute(Loader& loader, const BuildBody& build_body, Range body, int depth) {
  StoredAttribute stored = read_attribute(loader.file, body, depth);
  Attribute attribute;
  attribute.name = stored.name;
  attribute.reference = stored.reference;
  const AttributeKind kind = attribute.reference.empty() ? kind_of(stored) : AttributeKind::Undefined;
  const std::uint32_t taken = message_field(kind);
  std::optional<Range> single;
  for (const Field& field : stored.messages) {
    if (field.number != taken)
      check_unread(loader.file, Message::Attribute, field, depth);
    else if (taken != kGraphs)
      take_once(single, field);
  }
  attribute.value =
      build_value(loader, build_body, stored, kind, single.value_or(Range{body.end, body.end}), depth + 1);
  return attribute;
}

}  // namespace pagoda::inline core::wire
