// Recursive descent over the grammar of text_graph.h. One TextReader per model; nested graphs are read in place.
#include "support/text_graph.h"

#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pagoda::test {
namespace {

struct ShortName {
  std::string_view name;
  ElementType type;
};
constexpr ShortName kShortNames[] = {
    {"bf16", ElementType::Bfloat16},     {"bool", ElementType::Bool},   {"c128", ElementType::Complex128},
    {"c64", ElementType::Complex64},     {"f16", ElementType::Float16}, {"f32", ElementType::Float32},
    {"f4", ElementType::Float4e2m1},     {"f64", ElementType::Float64}, {"f8e4m3", ElementType::Float8e4m3fn},
    {"f8e5m2", ElementType::Float8e5m2}, {"f8e8m0", ElementType::Float8e8m0}, {"i16", ElementType::Int16},
    {"i2", ElementType::Int2},           {"i32", ElementType::Int32},   {"i4", ElementType::Int4},
    {"i64", ElementType::Int64},         {"i8", ElementType::Int8},     {"str", ElementType::String},
    {"u16", ElementType::Uint16},        {"u2", ElementType::Uint2},    {"u32", ElementType::Uint32},
    {"u4", ElementType::Uint4},          {"u64", ElementType::Uint64},  {"u8", ElementType::Uint8},
};

std::optional<ElementType> find_element_type(std::string_view name) {
  for (const ShortName& entry : kShortNames)
    if (entry.name == name) return entry.type;
  return element_type(name);
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/';
}

// A number or a truth value as written; integers keep their 64 bits.
struct Literal {
  bool is_real = false;
  std::int64_t integer = 0;
  double real = 0;
};

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  Model read_model() {
    model_.graph_name = "text";
    model_.producer = "text";
    model_.ir_version = 10;
    read_opsets();
    read_graph(-1);
    if (!at_end()) fail("expected the end of the text");
    model_.opsets.try_emplace("", kDefaultOpset);
    for (const Graph& graph : model_.graphs)
      for (const Node& node : graph.nodes) model_.opsets.try_emplace(node.domain, 1);
    return std::move(model_);
  }

  TensorType read_whole_type(std::string_view value) {
    TensorType result = read_type(value);
    if (!at_end()) fail("expected the end of the type");
    return result;
  }

 private:
  // Names that a graph has defined so far.
  struct Scope {
    GraphId graph;
    std::map<std::string, ValueId, std::less<>> names;
  };

  [[noreturn]] void fail(const std::string& message) const {
    throw std::invalid_argument("text graph: " + message + " at character " + std::to_string(position_) + ": " +
                                std::string(text_.substr(0, position_)) + " <HERE> " +
                                std::string(text_.substr(position_)));
  }

  // --- characters and words ---

  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }

  bool at_end() {
    skip_space();
    return position_ == text_.size();
  }

  bool next_is(std::string_view token) {
    skip_space();
    return text_.substr(position_, token.size()) == token;
  }

  bool accept(std::string_view token) {
    if (!next_is(token)) return false;
    position_ += token.size();
    return true;
  }

  // Accepts '=' unless it begins the '=>' of the outputs.
  bool accept_equals() { return !next_is("=>") && accept("="); }

  void expect(std::string_view token) {
    if (!accept(token)) fail("expected '" + std::string(token) + "'");
  }

  std::string_view peek_word() {
    skip_space();
    std::size_t end = position_;
    while (end < text_.size() && is_name_character(text_[end])) ++end;
    return text_.substr(position_, end - position_);
  }

  std::string read_quoted() {
    expect("'");
    std::string result;
    while (true) {
      if (position_ == text_.size()) fail("expected a closing quote");
      char c = text_[position_++];
      if (c == '\'') return result;
      if (c == '\\') {
        if (position_ == text_.size()) fail("expected a character after '\\'");
        c = text_[position_++];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
        if (c == 'e') c = '\x1b';
        if (c == 'x') {
          unsigned byte = 0;
          const char* begin = text_.data() + position_;
          const char* end = begin + std::min<std::size_t>(2, text_.size() - position_);
          if (std::from_chars(begin, end, byte, 16).ptr != begin + 2)
            fail("expected two hexadecimal digits after '\\x'");
          position_ += 2;
          c = static_cast<char>(byte);
        }
      }
      result.push_back(c);
    }
  }

  // A name, quoted or not; empty if there is none.
  std::string accept_name() {
    if (next_is("'")) return read_quoted();
    const std::string_view word = peek_word();
    position_ += word.size();
    return std::string(word);
  }

  std::string read_name(std::string_view what) {
    std::string name = accept_name();
    if (name.empty()) fail("expected " + std::string(what));
    return name;
  }

  // Whether `token` occurs before the end of this graph (a closing parenthesis of its own level).
  bool comes(std::string_view token) const {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = position_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quoted) {
        if (c == '\\') ++i;
        if (c == '\'') quoted = false;
        continue;
      }
      if (depth == 0 && text_.substr(i, token.size()) == token) return true;
      if (c == '\'') quoted = true;
      if (c == '(') ++depth;
      if (c == ')' && --depth < 0) return false;
    }
    return false;
  }

  // --- the parts of a model ---

  // Only an opset prefix begins with `word=digit`: values have a ':' first, nodes an operator.
  void read_opsets() {
    bool any = false;
    while (true) {
      const std::size_t begin = position_;
      std::string domain = accept_name();
      if (domain.empty() || !accept_equals() || peek_word().empty() || peek_word()[0] < '0' || peek_word()[0] > '9') {
        position_ = begin;
        break;
      }
      if (domain == "opset" || domain == "ai.onnx") domain.clear();
      model_.opsets[domain] = read_literal().integer;
      any = true;
    }
    if (any) expect(":");
  }

  GraphId read_graph(GraphId parent) {
    const auto id = static_cast<GraphId>(model_.graphs.size());
    model_.graphs.emplace_back();
    model_.graphs.back().parent = parent;
    scopes_.push_back({id, {}});
    if (comes("->")) {
      if (!next_is("->")) {
        do read_value();
        while (accept(","));
      }
      expect("->");
    }
    while (!at_end() && !next_is(")") && !next_is("=>")) {
      read_node();
      if (!accept(";")) break;
    }
    if (accept("=>")) {
      do graph().outputs.push_back(use(read_name("the name of an output")));
      while (accept(","));
    } else {
      set_unused_as_outputs();
    }
    scopes_.pop_back();
    return id;
  }

  Graph& graph() { return model_.graphs[static_cast<std::size_t>(scopes_.back().graph)]; }

  ValueId define(const std::string& name) {
    const auto id = static_cast<ValueId>(graph().values.size());
    if (!scopes_.back().names.emplace(name, id).second) fail("'" + name + "' is defined a second time");
    graph().values.push_back({.name = name, .declared = {}});
    return id;
  }

  // The value called `name`; a value of an outer graph is captured by every graph in between.
  ValueId use(const std::string& name) {
    std::size_t level = scopes_.size();
    while (level > 0 && !scopes_[level - 1].names.contains(name)) --level;
    if (level == 0) fail("'" + name + "' is not defined before its use");
    ValueId id = scopes_[level - 1].names.find(name)->second;
    for (; level < scopes_.size(); ++level) {
      Graph& inner = model_.graphs[static_cast<std::size_t>(scopes_[level].graph)];
      inner.values.push_back({.name = name, .declared = {}, .initializer = -1, .outer = id});
      id = static_cast<ValueId>(inner.values.size() - 1);
      scopes_[level].names.emplace(name, id);
    }
    return id;
  }

  void read_value() {
    const std::string name = read_name("the name of a value");
    const ValueId id = define(name);
    expect(":");
    TensorType declared = read_type(name);
    if (accept_equals()) {
      Tensor tensor = read_tensor(std::move(declared));
      tensor.name = name;
      Value& value = graph().values[static_cast<std::size_t>(id)];
      value.declared = tensor.type;
      value.initializer = static_cast<std::int32_t>(graph().initializers.size());
      graph().initializers.push_back(std::move(tensor));
    } else {
      Value& value = graph().values[static_cast<std::size_t>(id)];
      value.declared = std::move(declared);
      value.is_input = true;
      graph().inputs.push_back(id);
    }
  }

  struct OutputName {
    std::string name;
    TensorType declared;
  };

  void read_node() {
    std::vector<OutputName> outputs;
    do {
      OutputName output{.name = accept_name(), .declared = {}};
      if (!output.name.empty() && accept(":")) output.declared = read_type(output.name);
      outputs.push_back(std::move(output));
    } while (accept(","));
    expect("=");
    Node node;
    const std::string op = read_name("the name of an operator");
    const std::size_t dot = op.rfind('.');
    node.op_type = op.substr(dot == std::string::npos ? 0 : dot + 1);
    if (dot != std::string::npos) node.domain = plain_domain(std::string_view(op).substr(0, dot));
    expect("(");
    if (!accept(")")) {
      do {
        const std::string name = accept_name();
        node.inputs.push_back(name.empty() ? kAbsent : use(name));
      } while (accept(","));
      expect(")");
    }
    if (accept("{")) {
      if (!accept("}")) {
        do {
          Attribute attribute{.name = read_name("the name of an attribute"), .value = {}, .reference = {}};
          expect("=");
          attribute.value = read_attribute();
          node.attributes.push_back(std::move(attribute));
        } while (accept(","));
        expect("}");
      }
    }
    if (accept("@")) node.name = read_name("the name of a node");
    for (const OutputName& output : outputs) {
      if (output.name.empty()) {
        node.outputs.push_back(kAbsent);
        continue;
      }
      const ValueId id = define(output.name);
      graph().values[static_cast<std::size_t>(id)].declared = output.declared;
      node.outputs.push_back(id);
    }
    graph().nodes.push_back(std::move(node));
  }

  void set_unused_as_outputs() {
    std::set<ValueId> used;
    for (const Node& node : graph().nodes) used.insert(node.inputs.begin(), node.inputs.end());
    for (const Graph& inner : model_.graphs)
      if (inner.parent == scopes_.back().graph)
        for (const Value& value : inner.values) used.insert(value.outer);
    for (const Node& node : graph().nodes)
      for (const ValueId output : node.outputs)
        if (output != kAbsent && !used.contains(output)) graph().outputs.push_back(output);
  }

  // --- types, literals, attributes ---

  TensorType read_type(std::string_view value) {
    const std::string name = read_name("a type");
    if (name == "map" || name == "sparse") {
      expect("(");
      TensorType member = read_type(value);
      if (name == "map" && accept(",")) {
        const ElementType key = member.element;
        member = read_type(value);
        member.key = key;
      }
      expect(")");
      member.container = name == "map" ? Container::Map : Container::SparseTensor;
      return member;
    }
    if (name == "seq" || name == "sequence" || name == "optional") {
      expect("(");
      TensorType member = read_type(value);
      expect(")");
      const bool is_sequence = name != "optional";
      if (member.container == Container::Tensor) {
        member.container = is_sequence ? Container::Sequence : Container::Optional;
      } else if (member.container == Container::Sequence && !is_sequence) {
        member.container = Container::OptionalSequence;
      } else if (member.container == Container::Map && is_sequence) {
        member.container = Container::SequenceOfMaps;
      } else {
        fail("a container of this kind does not exist");
      }
      return member;
    }
    const std::optional<ElementType> element = find_element_type(name);
    if (!element) fail("unknown type '" + name + "'");
    TensorType result{.element = *element, .shape = {}, .container = Container::Tensor};
    if (!accept("[")) return result;
    result.shape.emplace();
    if (accept("]")) return result;
    do {
      skip_space();
      std::size_t end = position_;
      for (int depth = 0; end < text_.size(); ++end) {
        const char c = text_[end];
        if (depth == 0 && (c == ',' || c == ']')) break;
        depth += (c == '(' ? 1 : 0) - (c == ')' ? 1 : 0);
      }
      const std::string_view formula = text_.substr(position_, end - position_);
      std::optional<Dim> dim;
      if (formula == "?") {
        dim = Dim::symbol(std::string(value) + "_dim" + std::to_string(result.shape->size()));
      } else {
        dim = Dim::parse(formula);
      }
      if (!dim) fail("'" + std::string(formula) + "' is not a size");
      result.shape->push_back(*std::move(dim));
      position_ = end;
    } while (accept(","));
    expect("]");
    return result;
  }

  Literal read_literal() {
    skip_space();
    const std::size_t begin = position_;
    const bool negative = accept("-");
    std::size_t end = position_;
    while (end < text_.size() && (is_name_character(text_[end]) || ((text_[end] == '-' || text_[end] == '+') &&
                                                                    end > position_ && text_[end - 1] == 'e')))
      ++end;
    const std::string_view word = text_.substr(position_, end - position_);
    position_ = end;
    const double sign = negative ? -1.0 : 1.0;
    if (word == "true" || word == "false") return {.is_real = false, .integer = word == "true" ? 1 : 0, .real = 0};
    if (word == "inf") return {.is_real = true, .integer = 0, .real = sign * std::numeric_limits<double>::infinity()};
    if (word == "nan") return {.is_real = true, .integer = 0, .real = std::numeric_limits<double>::quiet_NaN()};
    const char* first = text_.data() + begin;
    const char* last = text_.data() + end;
    Literal literal;
    if (std::from_chars(first, last, literal.integer).ptr == last && !word.empty()) return literal;
    literal.is_real = true;
    if (word.empty() || std::from_chars(first, last, literal.real).ptr != last) {
      position_ = begin;
      fail("expected a number");
    }
    return literal;
  }

  // `[1, 2]`, `[[1, 2], [3, 4]]` or one bare literal.
  bool read_literals(std::vector<Literal>& literals) {
    if (!accept("[")) {
      literals.push_back(read_literal());
      return false;
    }
    if (accept("]")) return true;
    do read_literals(literals);
    while (accept(","));
    expect("]");
    return true;
  }

  Tensor read_tensor(TensorType declared) {
    Tensor tensor{.name = {}, .type = std::move(declared), .extent = {}, .value = {}, .unread = {}};
    if (peek_word() == "const") {
      accept("const");
      return tensor;
    }
    std::vector<Literal> literals;
    const bool is_list = read_literals(literals);
    if (!tensor.type.shape) tensor.type.shape = is_list ? Shape{Dim(literals.size())} : Shape{};
    if (element_count(*tensor.type.shape) != Dim(literals.size()))
      fail("a " + text(tensor.type) + " cannot have " + std::to_string(literals.size()) + " elements");
    tensor.value.emplace();
    for (const Literal& literal : literals) {
      if (is_float(tensor.type.element)) {
        tensor.value->push_back(literal.is_real ? literal.real : static_cast<double>(literal.integer));
      } else if (literal.is_real) {
        fail("a " + text(tensor.type) + " cannot have a real element");
      } else {
        tensor.value->push_back(Dim(literal.integer));
      }
    }
    return tensor;
  }

  AttributeValue read_attribute() {
    if (accept("(")) {
      const GraphId nested = read_graph(scopes_.back().graph);
      expect(")");
      return AttributeValue(std::in_place_type<GraphId>, nested);
    }
    if (next_is("'")) return read_quoted();
    if (next_is("[")) return read_list();
    const std::string word(peek_word());
    if (find_element_type(word) || word == "seq" || word == "sequence" || word == "optional") {
      TensorType named = read_type("attribute");
      if (accept_equals()) return read_tensor(std::move(named));
      if (named.container == Container::Tensor && !named.shape)
        return AttributeValue(std::in_place_type<std::int64_t>, static_cast<std::int64_t>(named.element));
      return named;
    }
    const Literal literal = read_literal();
    if (literal.is_real) return literal.real;
    return AttributeValue(std::in_place_type<std::int64_t>, literal.integer);
  }

  AttributeValue read_list() {
    const std::size_t begin = position_;
    expect("[");
    if (accept("]")) return std::vector<std::int64_t>{};
    if (next_is("'")) {
      std::vector<std::string> strings;
      do strings.push_back(read_quoted());
      while (accept(","));
      expect("]");
      return strings;
    }
    if (next_is("(")) {
      std::vector<GraphId> graphs;
      do {
        expect("(");
        graphs.push_back(read_graph(scopes_.back().graph));
        expect(")");
      } while (accept(","));
      expect("]");
      return graphs;
    }
    position_ = begin;
    std::vector<Literal> literals;
    read_literals(literals);
    bool any_real = false;
    for (const Literal& literal : literals) any_real = any_real || literal.is_real;
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    for (const Literal& literal : literals) {
      integers.push_back(literal.integer);
      reals.push_back(literal.is_real ? literal.real : static_cast<double>(literal.integer));
    }
    if (any_real) return reals;
    return integers;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Model model_;
  std::vector<Scope> scopes_;
};

}  // namespace

Model graph(std::string_view text) { return TextReader(text).read_model(); }

TensorType type(std::string_view text, std::string_view value) { return TextReader(text).read_whole_type(value); }

std::string text(const TensorType& type) {
  std::string result(to_string(type.element));
  if (type.shape) {
    result += '[';
    for (const Dim& dim : *type.shape) {
      if (result.back() != '[') result += ',';
      result += dim.to_string();
    }
    result += ']';
  }
  const std::string key = type.key == ElementType::Undefined ? "" : std::string(to_string(type.key)) + ",";
  switch (type.container) {
    case Container::Tensor:
      return result;
    case Container::Sequence:
      return "sequence(" + result + ")";
    case Container::Optional:
      return "optional(" + result + ")";
    case Container::OptionalSequence:
      return "optional(sequence(" + result + "))";
    case Container::Map:
      return "map(" + key + result + ")";
    case Container::SequenceOfMaps:
      return "sequence(map(" + key + result + "))";
    case Container::SparseTensor:
      return "sparse(" + result + ")";
  }
  return result;
}

}  // namespace pagoda::test
