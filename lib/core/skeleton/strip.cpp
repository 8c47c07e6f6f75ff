#include "skeleton/strip.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "graph/index.h"
#include "infer/value_reads.h"
#include "onnx/file_kind.h"
#include "onnx/load.h"
#include "onnx/write.h"
#include "ops/attribute_roles.h"
#include "ops/op_rule.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core {
namespace wire {
namespace {

// An operator without a rule may take sizes; longer lists are none.
constexpr std::size_t kMostArguments = 16;
// Runtimes merge stored tensors of up to this many equal elements (place/level_one.cpp).
constexpr std::uint64_t kMostShared = 8;

// Numbers of well-known formulas, such as Gelu's, by which engines recognise them. They give nothing away.
bool is_common(double number, ElementType type) {
  constexpr double kCommon[] = {3, 5, 6, 10, 127, 255, 1.0 / 3, 1.0 / 6, 0.044715, 1.702, 0.7978845608028654, 65504};
  const double size = std::abs(number), precision = type == ElementType::Bfloat16 ? 0x1p-8
                                                    : bits(type) == 16            ? 0x1p-11
                                                                                  : 0x1p-22;
  const auto is_near = [&](double expected) { return std::abs(size - expected) <= precision * expected; };
  if (size == 0 || std::isinf(size) || size > 1e38) return true;  // the last one masks
  // Scales of attention are powers of the fourth root of 2; epsilons and masks are powers of 10.
  const double halvings = std::round(std::log2(size) * 4) / 4, tens = std::round(std::log10(size));
  return (std::abs(halvings) <= 16 && is_near(std::exp2(halvings))) ||
         (std::abs(tens) <= 12 && is_near(std::pow(10, tens))) || std::ranges::any_of(kCommon, is_near);
}

// One number throughout, and a common one; of the integers that quantised tensors hold, the ends and the middle of the
// range, where zero points of symmetric and of positive numbers lie.
bool is_common(const TensorValue& value, ElementType type) {
  if (value.empty() || std::ranges::any_of(value, [&](const Scalar& each) { return each != value.front(); }))
    return false;
  if (const double* real = std::get_if<double>(&value.front())) return is_common(*real, type);
  const Dim* dim = std::get_if<Dim>(&value.front());
  const auto number = dim == nullptr ? std::nullopt : dim->value64();
  if (!number) return false;
  if (*number == 0 || *number == 1 || *number == -1) return true;
  const std::int64_t middle = bits(type) < 64 ? std::int64_t{1} << (bits(type) - 1) : 0;
  return bits(type) <= 16 && (*number == middle || *number == -middle);
}

bool is_index(ElementType type) { return type == ElementType::Int64 || type == ElementType::Int32; }

// Which stored numbers of a model stay, and why.
class NumberChoice {
 public:
  struct Choice {
    std::string_view why, reader;  // both empty: it becomes 0
  };

  explicit NumberChoice(const Model& model) : readers_(value_readers(model)) {
    for (const Graph& graph : model.graphs) reads_.emplace_back(graph.values.size());
    // A body comes after the graph around it.
    for (std::size_t id = model.graphs.size(); id-- > 0;) {
      const Graph& graph = model.graphs[id];
      for (const Node& node : graph.nodes) note(model, node, reads_[id]);
      for (std::size_t i = 0; i < graph.values.size(); ++i)
        if (graph.values[i].outer != kAbsent) {
          Reads& outer = reads_[index(graph.parent)][index(graph.values[i].outer)];
          outer.is_number = outer.is_number || reads_[id][i].is_number;
          outer.by_unknown = outer.by_unknown || reads_[id][i].by_unknown;
          outer.is_exponent = outer.is_exponent || reads_[id][i].is_exponent;
        }
    }
  }

  std::optional<Choice> of(std::size_t graph, ValueId id, ElementType type, const TensorValue* value) const {
    if (const std::string_view reader = readers_[graph][index(id)]; !reader.empty())
      return Choice{"sizes and arguments", reader};
    if (value == nullptr) return std::nullopt;
    const Reads& reads = reads_[graph][index(id)];
    if (value->size() == 1 && reads.is_exponent && !is_common(*value, type)) return Choice{};
    if (value->size() == 1 && reads.is_number && (is_index(type) || type == ElementType::Bool))
      return Choice{"single integers and truth values", {}};
    if (is_common(*value, type)) return Choice{"numbers of common formulas", {}};
    if (value->size() <= kMostArguments && reads.by_unknown && is_index(type))
      return Choice{"short lists of integers, read by operators without a rule", {}};
    return std::nullopt;
  }

 private:
  struct Reads {
    bool is_number = false;   // by an operator for which a single integer is an index, a size or a step
    bool by_unknown = false;  // by an operator without a rule
    bool is_exponent = false;
  };

  static void note(const Model& model, const Node& node, std::vector<Reads>& reads) {
    const OpKind kind = ops::facts_of(node).kind;
    const bool is_unknown = kind == OpKind::Unknown && node.bodies().empty() &&
                            model.function(node.domain, node.op_type, node.overload) == nullptr;
    const bool takes_weights = kind == OpKind::Product || kind == OpKind::Norm || kind == OpKind::Quantize ||
                               kind == OpKind::Dequantize || kind == OpKind::Recurrent;
    if (const ValueId exponent = node.op_type == "Pow" ? node.input(1) : kAbsent; exponent != kAbsent)
      reads[index(exponent)].is_exponent = true;
    for (const ValueId input : node.inputs) {
      if (input == kAbsent) continue;
      reads[index(input)].is_number = reads[index(input)].is_number || !takes_weights;
      reads[index(input)].by_unknown = reads[index(input)].by_unknown || is_unknown;
    }
  }

  std::vector<std::vector<std::string_view>> readers_;
  std::vector<std::vector<Reads>> reads_;  // by graph and value
};

// The numbers in a Constant's attributes; those of a tensor aside.
std::optional<TensorValue> plain_value(const Node& node) {
  for (const Attribute& attribute : node.attributes) {
    TensorValue value;
    if (const auto* integer = std::get_if<std::int64_t>(&attribute.value))
      value.push_back(Dim(*integer));
    else if (const auto* real = std::get_if<double>(&attribute.value))
      value.push_back(*real);
    else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute.value))
      value.assign(integers->begin(), integers->end());
    else if (const auto* reals = std::get_if<std::vector<double>>(&attribute.value))
      value.assign(reals->begin(), reals->end());
    if (!value.empty() && value.size() <= kInlineIntegerElements) return value;
  }
  return std::nullopt;
}

bool is_constant(std::string_view domain, std::string_view op_type) {
  return plain_domain(domain).empty() && (op_type == "Constant" || op_type == "ConstantOfShape");
}

std::string attribute_name(const AttributeContent& content) {
  return cat(content.op_type.empty() ? "a function" : content.op_type, ".", content.name);
}

}  // namespace

Stripper::Stripper(const Model& model, std::span<const std::byte> file, const SkeletonOptions& options,
                   const ExternalData& external)
    : text_(as_text(file)), options_(options), external_(external) {
  const NumberChoice choice(model);
  const auto keep = [&](std::uint64_t at, const std::optional<NumberChoice::Choice>& chosen, std::string_view name) {
    if (chosen) numbers_.emplace(at, Kept{chosen->why, chosen->reader, name});
  };
  for (std::size_t id = 0; id < model.graphs.size(); ++id) {
    const Graph& graph = model.graphs[id];
    for (std::size_t i = 0; i < graph.values.size(); ++i)
      if (const Value& value = graph.values[i]; value.initializer >= 0) {
        const Tensor& tensor = graph.initializer(value.initializer);
        keep(tensor.message_at,
             choice.of(id, static_cast<ValueId>(i), tensor.type.element, tensor.value ? &*tensor.value : nullptr),
             tensor.name);
      }
    for (const Node& node : graph.nodes) {
      const ValueId output = node.output(0);
      if (output == kAbsent || !is_constant(node.domain, node.op_type)) continue;
      const std::string_view name = graph.value(output).name;
      const Attribute* stored = node.attribute("value");
      if (const Tensor* tensor = stored == nullptr ? nullptr : std::get_if<Tensor>(&stored->value)) {
        keep(node.message_at, choice.of(id, output, tensor->type.element, tensor->value ? &*tensor->value : nullptr),
             name);
      } else if (const auto value = plain_value(node)) {
        const bool is_whole = std::holds_alternative<Dim>(value->front());
        keep(node.message_at, choice.of(id, output, is_whole ? ElementType::Int64 : ElementType::Float32, &*value),
             name);
      }
    }
  }
}

RewritePolicy Stripper::policy() {
  RewritePolicy policy;
  policy.tensor = [this](const StoredTensor& stored) { return tensor(stored); };
  policy.field = [this](Message in, const Field& field) { return keeps_field(in, field); };
  policy.metadata = [this](Message in, std::string_view key) { return keeps_metadata(in, key); };
  if (options_.anonymous)
    policy.text = [this](Message in, std::uint32_t number, std::string_view text) { return renamed(in, number, text); };
  policy.attribute = [this](const AttributeContent& content) { return attribute(content); };
  return policy;
}

SkeletonReport Stripper::report() const {
  SkeletonReport report;
  for (const auto& [what, row] : kept_) report.kept.push_back(row);
  for (const auto& [what, row] : removed_) report.removed.push_back(row);
  return report;
}

void Stripper::add(Rows& rows, std::string what, std::uint64_t bytes, std::string name) {
  SkeletonReport::Row& row = rows[what];
  row.what = std::move(what);
  ++row.count;
  row.bytes += bytes;
  if (!name.empty() && (row.names.empty() || row.names.back() != name)) row.names.push_back(std::move(name));
}

std::optional<NewData> Stripper::inlined(const StoredTensor& tensor) const {
  const std::optional<std::uint64_t> bytes = raw_bytes(tensor.element, tensor.elements);
  if (!bytes || !tensor.external_problem.empty()) return std::nullopt;
  const ExternalData::Bytes data = external_.read(tensor.external, *bytes);
  if (!data.problem.empty()) return std::nullopt;
  NewData result;
  append_bytes_field(result.text, kRawData, data.bytes);
  return result;
}

// Equal small tensors get one reference, so that an estimate knows that they are equal.
std::uint64_t Stripper::shared_offset(const StoredTensor& tensor) {
  const std::uint64_t at = tensor.data.begin;
  if (tensor.elements > kMostShared || bits(tensor.element) == 0 || tensor.data.size() != tensor.data_bytes) return at;
  std::string key = cat(to_string(tensor.element), tensor.data_field, ":");
  for (const std::int64_t dim : tensor.dims) key += cat(dim, ",");
  key += text_.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(tensor.data_bytes));
  return shared_.emplace(std::move(key), at).first->second;
}

std::optional<NewData> Stripper::tensor(const StoredTensor& tensor) {
  const auto found = tensor.is_small() ? numbers_.find(tensor.holder_at) : numbers_.end();
  const std::optional<std::uint64_t> raw = raw_bytes(tensor.element, tensor.elements);
  // The work of a power depends on the exponent only if it is a common one.
  if (found != numbers_.end() && found->second.why.empty() && raw) {
    add(removed_, "exponents, which are now 0", *raw, std::string(tensor.name));
    NewData zeros;
    append_bytes_field(zeros.text, kRawData, std::string(static_cast<std::size_t>(*raw), '\0'));
    return zeros;
  }
  const bool is_elsewhere = tensor.is_external && tensor.all_bytes == 0;
  std::optional<NewData> moved = found != numbers_.end() && is_elsewhere ? inlined(tensor) : std::nullopt;
  if (found != numbers_.end() && (moved || !tensor.is_external)) {
    const Kept& kept = found->second;
    add(kept_, kept.reader.empty() ? std::string(kept.why) : cat(kept.why, ": ", kept.reader), tensor.all_bytes,
        std::string(kept.name));
    return moved;
  }
  if (tensor.is_external) {
    const std::string_view location = tensor.external.location;
    std::string file(location.substr(location.find_last_of("/\\") + 1));
    const bool is_renamed = options_.anonymous && location != kInModel;
    if (is_renamed) file = renamed(Message::ValueInfo, 1, location);
    if (location != kInModel) add(kept_, is_renamed ? "files with weights" : "names of files with weights", 0, file);
    if (is_elsewhere && !tensor.names_more && !is_renamed) return std::nullopt;
    const std::uint64_t bytes = tensor.external.bytes != 0 ? tensor.external.bytes : raw.value_or(0);
    return NewData{.text = external_reference(file, tensor.external.offset, bytes)};
  }
  if (tensor.all_bytes == 0) return std::nullopt;
  add(removed_, tensor.is_small() ? "small tensors" : "large tensors", tensor.all_bytes, std::string(tensor.name));
  const std::string_view location =
      options_.weights_location.empty() ? kInModel : std::string_view(options_.weights_location);
  return NewData{.text = external_reference(location, shared_offset(tensor), tensor.data_bytes)};
}

bool Stripper::keeps_field(Message in, const Field& field) {
  const Content content = field_row(in, field.number).content;
  const bool is_packed =
      content == Content::PackedVarint || content == Content::PackedFixed32 || content == Content::PackedFixed64;
  const bool is_known =
      content != Content::Unknown &&
      (field.type == Type::Bytes ? content != Content::Scalar : content == Content::Scalar || is_packed);
  const auto removed = [&](const char* what) {
    add(removed_, what, field.payload.size());
    return false;
  };
  if (!is_known) return removed("fields unknown to this version");
  if (content == Content::Notes) return field.payload.size() == 0 ? false : removed("descriptions");
  if (content == Content::Message && field_row(in, field.number).message == Message::Training)
    return removed("training information");
  if (content == Content::Message && field_row(in, field.number).message == Message::Annotation)
    return removed("notes on quantisation");
  if (content == Content::Text && in != Message::Entry && in != Message::Attribute)
    add(kept_,
        in == Message::Model ? "producer and its version"
        : options_.anonymous ? "names of operators and sizes, and new names"
                             : "names of operators, nodes, values and sizes",
        options_.anonymous ? 0 : field.payload.size());
  return true;
}

std::string Stripper::renamed(Message in, std::uint32_t number, std::string_view text) {
  struct Names {
    Message in;
    std::array<std::uint32_t, 3> numbers;
  };
  constexpr Names kNames[] = {{Message::Function, {4, 5}},
                              {Message::Graph, {2}},
                              {Message::Node, {1, 2, 3}},
                              {Message::Tensor, {8}},
                              {Message::ValueInfo, {1}}};
  const bool is_name = std::ranges::any_of(kNames, [&](const Names& names) {
    return names.in == in && std::ranges::find(names.numbers, number) != names.numbers.end();
  });
  if (!is_name || text.empty()) return "";  // an omitted input has no name
  return names_.emplace(text, cat("n", names_.size() + 1)).first->second;
}

bool Stripper::keeps_metadata(Message in, std::string_view key) {
  const bool is_scope = in == Message::Node && names_scope(key) && !options_.anonymous;
  if (is_scope || (options_.keep_stack_traces && key.find("stack_trace") != std::string_view::npos)) {
    add(kept_, cat("metadata: ", key), 0);
    return true;
  }
  add(removed_, "other metadata", 0, std::string(key));
  return false;
}

RewritePolicy::Attribute Stripper::attribute(const AttributeContent& content) {
  using enum RewritePolicy::Attribute;
  if (content.bytes == 0 && content.texts == 0) return Stays;
  ops::AttributeRole role = ops::attribute_role(content.domain, content.op_type, content.name,
                                                {.is_list_of_reals = content.reals > 0,
                                                 .is_list_of_texts = content.texts > 0,
                                                 .integers = content.integers,
                                                 .text_bytes = content.text_bytes});
  if (content.op_type == "Constant" && content.domain.empty()) {
    const auto found = numbers_.find(content.node_at);
    const bool is_text = content.has_text || content.texts > 0;
    role = found == numbers_.end() || found->second.why.empty() || is_text ? ops::AttributeRole::Parameter
                                                                           : ops::AttributeRole::Structure;
    if (role == ops::AttributeRole::Structure) {
      const Kept& kept = found->second;
      add(kept_, kept.reader.empty() ? std::string(kept.why) : cat(kept.why, ": ", kept.reader), content.bytes,
          std::string(kept.name));
      return Stays;
    }
  }
  if (role == ops::AttributeRole::Structure) {
    const bool is_list = content.integers + content.reals + content.texts > 0;
    const bool is_own = ops::find_rule(content.domain, content.op_type) == nullptr;
    if (is_own && options_.anonymous && (content.has_text || content.texts > 0)) {
      add(removed_, "attributes", content.bytes, attribute_name(content));
      return Empties;
    }
    add(kept_,
        cat(is_list            ? "lists"
            : content.has_text ? "short texts"
                               : "numbers",
            " in attributes", is_own ? " of operators without a rule" : ""),
        content.bytes, attribute_name(content));
    return Stays;
  }
  add(removed_, "attributes", content.bytes, attribute_name(content));
  return role == ops::AttributeRole::Indices ? KeepsLargest : Empties;
}

}  // namespace wire

std::string skeleton(std::span<const std::byte> bytes, const SkeletonOptions& options) {
  const wire::ExternalData external(wire::data_folders("", options));
  const Model model = parse_model(bytes, "", options.directory);
  wire::Stripper stripper(model, bytes, options, external);
  return wire::about("", wire::as_text(bytes), [&] { return wire::rewrite(bytes, stripper.policy()); });
}

SkeletonReport write_skeleton(const std::string& model_path, const std::string& output_path,
                              const SkeletonOptions& options) {
  const MappedFile file(model_path);
  // Loaded first: a skeleton is only written of a valid model.
  const Model model = load_model(model_path);
  const wire::ExternalData external(wire::data_folders(model_path, options));
  wire::Stripper stripper(model, file.bytes(), options, external);
  wire::RewritePolicy policy = stripper.policy();
  policy.release = wire::release_of(file);
  const std::vector<wire::Edit> edits =
      wire::about(model_path, wire::as_text(file.bytes()), [&] { return wire::plan_rewrite(file.bytes(), policy); });
  wire::OutputFile output(output_path, model_path);
  wire::write_edited(file, edits, output);
  return stripper.report();
}

}  // namespace pagoda::inline core
