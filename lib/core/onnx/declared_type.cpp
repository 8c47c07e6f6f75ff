// TypeProto → TensorType.
#include "onnx/load.h"
#include "onnx/stored_tensor.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::wire {
namespace {

// Once formulas exceed this many characters in total, further ones count as open sizes: parsing can take time quadratic
// in the terms.
constexpr std::size_t kMostFormulaCharacters = std::size_t{1} << 16;

constexpr std::size_t kLongestSymbol = 200;

// Placeholders that some exporters write for unnamed sizes.
bool is_placeholder(std::string_view name) { return name.empty() || name == "?" || name == "-1" || name == "None"; }

// Identifiers joined by hyphens without spaces: "batch-size", but not "s0 - 1" or "s0-1".
bool is_hyphenated(std::string_view name) {
  if (name.find('-') == std::string_view::npos) return false;
  bool is_start = true;  // of an identifier
  for (const char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool is_digit = c >= '0' && c <= '9';
    if (!(is_letter || (!is_start && (is_digit || c == '-')))) return false;
    is_start = c == '-';
  }
  return !is_start;
}

StoredDim read_dim(File& file, Range body, int depth) {
  StoredDim dim;
  for_each_field(
      file, Message::Dimension, body, depth,
      on(varint_tag(1), [&](const Field& f) { dim = {.value = static_cast<std::int64_t>(f.varint), .name = {}}; }),
      on(bytes_tag(2), [&](const Field& f) { dim = {.value = std::nullopt, .name = name_in(file, f)}; }));
  return dim;
}

std::vector<StoredDim> read_shape(File& file, Range body, int depth) {
  std::vector<StoredDim> dims;
  for_each_field(file, Message::Shape, body, depth, on(bytes_tag(1), [&](const Field& field) {
                   if (dims.size() == ElementCounter::kMaxRank)
                     damaged(body, cat("a shape of more than ", ElementCounter::kMaxRank, " dims"),
                             "at most that many");
                   dims.push_back(read_dim(file, field.payload, depth + 1));
                 }));
  return dims;
}

// The type of elements or keys that the message states.
auto on_element(ElementType& type) {
  return on(varint_tag(1),
            [&type](const Field& field) { type = known_element(static_cast<std::int32_t>(field.varint)); });
}

// TypeProto.Tensor and TypeProto.SparseTensor.
void read_tensor_type(File& file, Message kind, Range body, int depth, StoredType& type) {
  std::optional<Range> shape;
  for_each_field(file, kind, body, depth, on_element(type.element),
                 on(bytes_tag(2), [&](const Field& field) { take_once(shape, field); }));
  if (shape) type.dims = read_shape(file, *shape, depth + 1);
}

// The member's type in a sequence, an optional or a map; also notes the type of a map's keys.
std::optional<Range> member_type(File& file, Message kind, Range body, int depth, StoredType& type) {
  std::optional<Range> member;
  const auto take = [&](const Field& field) { take_once(member, field); };
  if (kind == Message::TypeMap)
    for_each_field(file, kind, body, depth, on_element(type.key), on(bytes_tag(2), take));
  else
    for_each_field(file, kind, body, depth, on(bytes_tag(1), take));
  return member;
}

Container around(Container outer, Message kind) {
  if (kind == Message::TypeOptional) return Container::Optional;
  if (kind == Message::TypeMap) {
    if (outer == Container::Sequence) return Container::SequenceOfMaps;
    return outer == Container::Tensor ? Container::Map : outer;
  }
  return outer == Container::Optional ? Container::OptionalSequence : Container::Sequence;
}

}  // namespace

StoredType read_type(File& file, Range body, int depth) {
  StoredType type;
  for (std::optional<Range> at = body; at;) {
    Message kind = Message::None;
    std::optional<Range> value;  // of the one field that determines the type
    for_each_field(file, Message::Type, *at, depth, [&](const Field& field) {
      const FieldRow& row = field_row(Message::Type, field.number);
      if (field.type != Type::Bytes || row.content != Content::Message) return false;
      take_once(value, field);
      kind = row.message;
      return kind != Message::TypeOpaque;
    });
    at.reset();
    if (kind == Message::TypeTensor || kind == Message::TypeSparse) {
      if (kind == Message::TypeSparse) type.container = Container::SparseTensor;
      read_tensor_type(file, kind, *value, depth + 1, type);
    } else if (value && kind != Message::TypeOpaque) {
      type.container = around(type.container, kind);
      at = member_type(file, kind, *value, depth + 1, type);
      depth += 2;
    }
  }
  return type;
}

void DimNames::reserve(const StoredType& type) {
  if (!type.dims) return;
  for (const StoredDim& dim : *type.dims)
    if (!is_placeholder(dim.name) && !is_hyphenated(dim.name) && !known_.contains(dim.name))
      if (const std::optional<Dim> as = as_written(dim.name)) known_.emplace(dim.name, *as);
}

TensorType DimNames::resolve(const StoredType& type, std::string_view value) {
  TensorType result{.element = type.element, .shape = std::nullopt, .container = type.container, .key = type.key};
  if (!type.dims) return result;
  result.shape.emplace().reserve(type.dims->size());
  for (std::size_t axis = 0; axis < type.dims->size(); ++axis) {
    const StoredDim& dim = (*type.dims)[axis];
    if (dim.value && *dim.value >= 0)
      result.shape->push_back(*dim.value);
    else if (!is_placeholder(dim.name))
      result.shape->push_back(named(dim.name));
    else
      result.shape->push_back(
          Dim::symbol(unused(cat(Dim::identifier(value.substr(0, kLongestSymbol)), "_dim_", axis))));
  }
  return result;
}

Dim DimNames::named(std::string_view name) {
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  std::optional<Dim> dim;
  if (!is_hyphenated(name) || is_difference(name)) dim = as_written(name);
  if (!dim) {
    const std::string symbol = unused(Dim::identifier(name.substr(0, kLongestSymbol)));
    renamed_.emplace(name, symbol);
    dim = Dim::symbol(symbol);
  }
  known_.emplace(name, *dim);
  return *dim;
}

// Whether the file declares both sides of a hyphen as sizes: "total-past" is then a difference, "batch-size" a name.
bool DimNames::is_difference(std::string_view name) const {
  for (std::size_t hyphen = name.find('-');; hyphen = name.find('-')) {
    if (!known_.contains(name.substr(0, hyphen))) return false;
    if (hyphen == std::string_view::npos) return true;
    name.remove_prefix(hyphen + 1);
  }
}

// The name as a symbol or formula; empty for anything else.
std::optional<Dim> DimNames::as_written(std::string_view name) {
  if (name.size() <= kLongestSymbol && Dim::identifier(name) == name) {
    taken_.try_emplace(std::string(name), 1);
    return Dim::symbol(name);
  }
  formula_characters_ += name.size();
  if (formula_characters_ > kMostFormulaCharacters) return std::nullopt;
  std::optional<Dim> formula = Dim::parse(name);
  if (!formula || (formula->is_constant() && *formula->value() < 0)) return std::nullopt;
  for (const std::string& symbol : formula->symbols()) taken_.try_emplace(symbol, 1);
  return formula;
}

std::string DimNames::unused(std::string identifier) {
  const auto [stem, is_new] = taken_.try_emplace(identifier, 1);
  if (is_new) return identifier;
  for (std::uint64_t& last = stem->second;;) {
    std::string numbered = identifier + "_" + std::to_string(++last);
    if (!taken_.contains(numbered)) {
      taken_.emplace(numbered, 1);
      return numbered;
    }
  }
}

}  // namespace pagoda::inline core::wire
