// Mutates ONNX models as models: operators, attributes, types, tensors and edges change, and nodes move from one model to
// another, while the file stays readable. libFuzzer itself mutates the bytes in one of eight mutations, and wherever the
// bytes are not a model.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/core/operators.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Entries = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

constexpr std::int64_t kEdges[] = {-1,
                                   0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   7,
                                   8,
                                   64,
                                   255,
                                   1 << 16,
                                   std::numeric_limits<std::int32_t>::max(),
                                   std::int64_t{1} << 32,
                                   std::int64_t{1} << 62,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()};
constexpr int kNewestElement = 26;
constexpr int kNewestOpset = 27;

class Mutator {
 public:
  Mutator(onnx::ModelProto& model, unsigned seed) : model_(model), random_(seed) { collect(); }

  void change() {
    static constexpr void (Mutator::*kChanges[])() = {
        &Mutator::replace_operator, &Mutator::change_attribute, &Mutator::change_attribute, &Mutator::move_attribute,
        &Mutator::rewire,           &Mutator::rewire,           &Mutator::resize_node,      &Mutator::change_type,
        &Mutator::change_type,      &Mutator::change_tensor,    &Mutator::change_tensor,    &Mutator::move_nodes,
        &Mutator::change_opset,     &Mutator::make_function};
    (this->*kChanges[below(std::size(kChanges))])();
    collect();
  }

  // Copies a run of the other model's nodes, with its tensors and functions; names that both have join the graphs.
  void splice(const onnx::ModelProto& other) {
    const Nodes& nodes = other.graph().node();
    if (nodes.empty()) return;
    const int first = below(nodes.size());
    for (int i = first, last = first + 1 + below(nodes.size() - first); i < last; ++i) {
      onnx::NodeProto& added = *model_.mutable_graph()->add_node();
      added = nodes[i];
      for (std::string& output : *added.mutable_output())
        if (!output.empty() && has_value(output)) output += fresh();
    }
    for (const onnx::TensorProto& tensor : other.graph().initializer())
      if (!has_value(tensor.name()) && chance(2)) *model_.mutable_graph()->add_initializer() = tensor;
    for (const onnx::FunctionProto& function : other.functions())
      if (chance(2)) *model_.add_functions() = function;
    for (const onnx::OperatorSetIdProto& opset : other.opset_import())
      if (chance(2)) *model_.add_opset_import() = opset;
    collect();
    // Inputs that came without their producer read something that exists.
    for (onnx::NodeProto& node : *model_.mutable_graph()->mutable_node())
      for (std::string& input : *node.mutable_input())
        if (!input.empty() && !has_value(input) && !names_.empty()) input = any(names_);
  }

 private:
  int below(int end) { return end <= 1 ? 0 : static_cast<int>(random_() % static_cast<unsigned>(end)); }
  std::size_t below(std::size_t end) { return end <= 1 ? 0 : random_() % end; }
  bool chance(int one_in) { return below(one_in) == 0; }
  template <typename T>
  T& any(std::vector<T>& list) {
    return list[below(list.size())];
  }
  template <typename T>
  T& any(google::protobuf::RepeatedPtrField<T>& list) {
    return list[below(list.size())];
  }
  std::string fresh() { return "_" + std::to_string(below(1000)); }

  std::int64_t number(std::int64_t before) {
    switch (below(4)) {
      case 0:
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + 1);
      case 1:
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) - 1);
      case 2:
        return below(12) - 2;
      default:
        return kEdges[below(std::size(kEdges))];
    }
  }

  // --- what the model has ---

  void collect() {
    lists_.clear();
    graphs_.clear();
    names_.clear();
    collect(*model_.mutable_graph());
    for (onnx::FunctionProto& function : *model_.mutable_functions()) collect(*function.mutable_node());
  }

  void collect(onnx::GraphProto& graph) {
    for (const Entries* entries : {&graph.input(), &graph.output()})
      for (const onnx::ValueInfoProto& entry : *entries) names_.push_back(entry.name());
    for (const onnx::TensorProto& tensor : graph.initializer()) names_.push_back(tensor.name());
    graphs_.push_back(&graph);
    collect(*graph.mutable_node());
  }

  void collect(Nodes& nodes) {
    lists_.push_back(&nodes);
    for (onnx::NodeProto& node : nodes) {
      names_.insert(names_.end(), node.output().begin(), node.output().end());
      for (onnx::AttributeProto& attribute : *node.mutable_attribute())
        if (attribute.has_g()) collect(*attribute.mutable_g());
    }
  }

  bool has_value(const std::string& name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

  onnx::NodeProto* any_node() {
    Nodes& nodes = *any(lists_);
    return nodes.empty() ? nullptr : &any(nodes);
  }

  // --- the changes ---

  void replace_operator() {
    static const std::vector<pagoda::OperatorInfo> operators = pagoda::operators();
    onnx::NodeProto* node = any_node();
    if (node == nullptr) return;
    const pagoda::OperatorInfo& chosen = operators[below(operators.size())];
    node->set_op_type(chosen.name);
    node->set_domain(chosen.domain == "ai.onnx" ? "" : chosen.domain);
  }

  void change_attribute() {
    onnx::NodeProto* node = any_node();
    if (node == nullptr || node->attribute().empty()) return;
    onnx::AttributeProto& attribute = any(*node->mutable_attribute());
    if (chance(16)) return attribute.set_type(static_cast<onnx::AttributeProto::AttributeType>(below(15)));
    if (chance(16)) return attribute.clear_name();
    switch (attribute.type()) {
      case onnx::AttributeProto::INT:
        return attribute.set_i(number(attribute.i()));
      case onnx::AttributeProto::FLOAT:
        return attribute.set_f(static_cast<float>(number(static_cast<std::int32_t>(below(8)))));
      case onnx::AttributeProto::INTS:
        return change_list(*attribute.mutable_ints());
      case onnx::AttributeProto::FLOATS:
        if (attribute.floats().empty() || chance(3)) return attribute.add_floats(1);
        return attribute.mutable_floats()->RemoveLast();
      case onnx::AttributeProto::STRING:
        return change_text(*attribute.mutable_s());
      case onnx::AttributeProto::STRINGS:
        if (attribute.strings().empty() || chance(3)) return attribute.add_strings("a");
        return change_text(any(*attribute.mutable_strings()));
      case onnx::AttributeProto::TENSOR:
        return change(*attribute.mutable_t());
      default:
        return;
    }
  }

  template <typename List>
  void change_list(List& list) {
    using Number = std::decay_t<decltype(*list.begin())>;
    if (list.empty() || chance(4)) return list.Add(static_cast<Number>(number(1)));
    if (chance(4)) return list.RemoveLast();
    Number& place = *list.Mutable(below(list.size()));
    place = static_cast<Number>(number(place));
  }

  void change_text(std::string& text) {
    if (text.empty() || chance(3))
      text += "ab,->.ijNn"[below(10)];
    else if (chance(2))
      text.pop_back();
    else
      text[below(text.size())] = static_cast<char>(below(256));
  }

  // Removes an attribute, or copies one of another node.
  void move_attribute() {
    onnx::NodeProto *to = any_node(), *from = any_node();
    if (to == nullptr || from == nullptr) return;
    if (!to->attribute().empty() && chance(2)) return (void)to->mutable_attribute()->RemoveLast();
    if (!from->attribute().empty()) {
      const onnx::AttributeProto copied = any(*from->mutable_attribute());
      *to->add_attribute() = copied;
    }
  }

  void rewire() {
    onnx::NodeProto* node = any_node();
    if (node == nullptr || node->input().empty() || names_.empty()) return;
    any(*node->mutable_input()) = chance(8) ? std::string() : any(names_);
  }

  void resize_node() {
    onnx::NodeProto* node = any_node();
    if (node == nullptr) return;
    switch (below(4)) {
      case 0:
        if (!names_.empty()) node->add_input(any(names_));
        return;
      case 1:
        if (!node->input().empty()) node->mutable_input()->RemoveLast();
        return;
      case 2:
        return node->add_output("o" + fresh());
      default:
        if (!node->output().empty()) node->mutable_output()->RemoveLast();
    }
  }

  void change_type() {
    onnx::GraphProto& graph = *any(graphs_);
    std::array<Entries*, 3> lists = {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()};
    Entries& entries = *lists[below(lists.size())];
    if (entries.empty()) return;
    onnx::TypeProto& type = *any(entries).mutable_type();
    if (chance(24)) return type.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
    onnx::TypeProto& member = type.has_sequence_type() ? *type.mutable_sequence_type()->mutable_elem_type() : type;
    onnx::TypeProto::Tensor& tensor = *member.mutable_tensor_type();
    if (chance(6)) return tensor.set_elem_type(below(kNewestElement + 2));
    if (chance(24)) return tensor.clear_shape();
    onnx::TensorShapeProto& shape = *tensor.mutable_shape();
    if (shape.dim().empty() || chance(6)) return (void)shape.add_dim()->set_dim_value(number(1));
    if (chance(6)) return shape.mutable_dim()->RemoveLast();
    onnx::TensorShapeProto::Dimension& dim = any(*shape.mutable_dim());
    static constexpr const char* kSizes[] = {"N", "M", "N + M", "N//2", "2*N", "", "?", "max(N, 3)", "N - 1"};
    if (chance(3)) return dim.set_dim_param(kSizes[below(std::size(kSizes))]);
    dim.set_dim_value(number(dim.dim_value()));
  }

  void change_tensor() {
    onnx::GraphProto& graph = *any(graphs_);
    if (graph.initializer().empty()) return;
    change(any(*graph.mutable_initializer()));
  }

  void change(onnx::TensorProto& tensor) {
    switch (below(6)) {
      case 0:
        return tensor.set_data_type(below(kNewestElement + 2));
      case 1:
        return change_list(*tensor.mutable_dims());
      case 2:
        return change_list(*tensor.mutable_int32_data());
      case 3:
        return tensor.clear_raw_data();
      default:
        return change_list(*tensor.mutable_int64_data());
    }
  }

  void move_nodes() {
    Nodes& nodes = *any(lists_);
    if (nodes.empty()) return;
    const int at = below(nodes.size());
    switch (below(3)) {
      case 0:
        return nodes.DeleteSubrange(at, 1);
      case 1:
        return nodes.SwapElements(at, below(nodes.size()));
      default: {
        onnx::NodeProto copied = nodes[at];
        for (std::string& input : *copied.mutable_input())
          if (chance(2) && !copied.output().empty()) input = copied.output(0);
        for (std::string& output : *copied.mutable_output()) output += fresh();
        *nodes.Add() = std::move(copied);
      }
    }
  }

  void change_opset() {
    if (model_.opset_import().empty() || chance(8)) {
      static constexpr const char* kDomains[] = {"", "com.microsoft", "ai.onnx.ml", "ai.onnx.training", "local"};
      onnx::OperatorSetIdProto& added = *model_.add_opset_import();
      added.set_domain(kDomains[below(std::size(kDomains))]);
      added.set_version(1);
      return;
    }
    any(*model_.mutable_opset_import()).set_version(chance(8) ? number(1) : 1 + below(kNewestOpset));
  }

  // A node becomes a call of a local function of that one node.
  void make_function() {
    constexpr int kMost = 8;
    Nodes& nodes = *any(lists_);
    if (nodes.empty() || model_.functions().size() >= kMost) return;
    onnx::NodeProto& node = any(nodes);
    const onnx::NodeProto body = node;
    node.set_op_type("f" + std::to_string(model_.functions().size()));
    node.set_domain("local");
    onnx::FunctionProto& function = *model_.add_functions();
    function.set_domain("local");
    function.set_name(node.op_type());
    *function.mutable_opset_import() = model_.opset_import();
    for (const std::string& input : body.input())
      if (!input.empty()) function.add_input(input);
    *function.mutable_output() = body.output();
    *function.add_node() = body;
  }

  onnx::ModelProto& model_;
  std::minstd_rand random_;
  std::vector<Nodes*> lists_;  // of graphs, bodies and functions
  std::vector<onnx::GraphProto*> graphs_;
  std::vector<std::string> names_;  // of values
};

// Writes the model; 0 if it does not fit.
std::size_t written(const onnx::ModelProto& model, std::uint8_t* data, std::size_t most) {
  const std::size_t size = model.ByteSizeLong();
  return size <= most && model.SerializeToArray(data, static_cast<int>(most)) ? size : 0;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  constexpr unsigned kOfBytes = 8;  // one mutation in eight
  constexpr unsigned kMostChanges = 4;
  onnx::ModelProto model;
  if (seed % kOfBytes == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, most);
  Mutator mutator(model, seed);
  for (unsigned i = 0; i <= seed / kOfBytes % kMostChanges; ++i) mutator.change();
  const std::size_t made = written(model, data, most);
  return made != 0 ? made : LLVMFuzzerMutate(data, size, most);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data, std::size_t size, const std::uint8_t* other,
                                                 std::size_t other_size, std::uint8_t* out, std::size_t most,
                                                 unsigned seed) {
  onnx::ModelProto model, donor;
  if (!model.ParseFromArray(data, static_cast<int>(size)) || !donor.ParseFromArray(other, static_cast<int>(other_size)))
    return 0;
  Mutator(model, seed).splice(donor);
  return written(model, out, most);
}
