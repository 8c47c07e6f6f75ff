// A model as text, for comparing models.
#include <sstream>

#include "onnx/sample_models.h"

namespace pagoda::test {
namespace {

class Describer {
 public:
  explicit Describer(const Model& model) : model_(model) { out_.precision(17); }

  std::string run() {
    out_ << "graph " << model_.graph_name << " by " << model_.producer << ' ' << model_.producer_version << " ir "
         << model_.ir_version << '\n';
    for (const auto& [domain, version] : model_.opsets) out_ << "opset " << domain << '=' << version << '\n';
    for (const auto& [name, symbol] : model_.renamed_dims) out_ << "dim " << name << " as " << symbol << '\n';
    for (const Graph& graph : model_.graphs) describe(graph);
    for (const Function& function : model_.functions) {
      out_ << "function " << function.domain << '.' << function.name << ':' << function.overload << " body "
           << function.body << '\n';
      for (const auto& [domain, version] : function.opsets) out_ << "  opset " << domain << '=' << version << '\n';
      for (const Attribute& attribute : function.defaults) describe(attribute);
    }
    return out_.str();
  }

 private:
  void describe(const Graph& graph) {
    out_ << "graph " << graph.name << " in " << graph.parent << "\n inputs";
    for (const ValueId id : graph.inputs) out_ << ' ' << id;
    out_ << "\n outputs";
    for (const ValueId id : graph.outputs) out_ << ' ' << id;
    out_ << '\n';
    for (const Value& value : graph.values)
      out_ << " value " << value.name << ": " << to_string(value.declared) << " initializer " << value.initializer
           << " outer " << value.outer << (value.is_input ? " input" : "") << '\n';
    for (const Tensor& tensor : graph.initializers) describe(tensor);
    for (const Node& node : graph.nodes) {
      out_ << " node " << node.name << ": " << node.domain << '.' << node.op_type << ':' << node.overload << " @ "
           << node.scope << " (";
      for (const ValueId id : node.inputs) out_ << ' ' << id;
      out_ << " ) -> (";
      for (const ValueId id : node.outputs) out_ << ' ' << id;
      out_ << " )\n";
      for (const Attribute& attribute : node.attributes) describe(attribute);
    }
  }

  void describe(const Tensor& tensor) {
    out_ << "  tensor " << tensor.name << ": " << to_string(tensor.type) << " at '" << tensor.extent.location << "' "
         << tensor.extent.offset << '+' << tensor.extent.bytes << " unread '" << tensor.unread << "' =";
    if (tensor.value)
      for (const Scalar& scalar : *tensor.value) describe(scalar);
    else
      out_ << " unknown";
    out_ << '\n';
  }

  void describe(const Scalar& scalar) {
    if (const Dim* dim = std::get_if<Dim>(&scalar))
      out_ << ' ' << dim->to_string();
    else if (const double* real = std::get_if<double>(&scalar))
      out_ << ' ' << *real << 'r';
    else
      out_ << " ?";
  }

  void describe(const Attribute& attribute) {
    out_ << "  attribute " << attribute.name << (attribute.reference.empty() ? "" : " <- " + attribute.reference)
         << " [" << attribute.value.index() << "] ";
    std::visit([&](const auto& value) { describe_value(value); }, attribute.value);
    out_ << '\n';
  }

  void describe_value(std::monostate) { out_ << "none"; }
  void describe_value(const Tensor& tensor) { describe(tensor); }
  void describe_value(const TensorType& type) { out_ << to_string(type); }
  template <typename T>
  void describe_value(const std::vector<T>& values) {
    for (const T& value : values) out_ << value << ' ';
  }
  template <typename T>
  void describe_value(const T& value) {
    out_ << value;
  }

  const Model& model_;
  std::ostringstream out_;
};

}  // namespace

std::string describe(const Model& model) { return Describer(model).run(); }

std::string structure_of(Model model) {
  const auto strip = [](Tensor& tensor) {
    tensor.extent = {};
    tensor.value.reset();
    tensor.unread = {};
  };
  const auto strip_all = [&](std::vector<Attribute>& attributes) {
    for (Attribute& attribute : attributes) {
      if (auto* tensor = std::get_if<Tensor>(&attribute.value)) strip(*tensor);
      if (auto* reals = std::get_if<std::vector<double>>(&attribute.value)) reals->assign(reals->size(), 0);
      // A damaged one may hold values of two kinds, and none of them stays.
      if (auto* real = std::get_if<double>(&attribute.value)) *real = 0;
      if (auto* integer = std::get_if<std::int64_t>(&attribute.value)) *integer = 0;
      if (auto* text = std::get_if<std::string>(&attribute.value)) text->clear();
      if (auto* whole = std::get_if<std::vector<std::int64_t>>(&attribute.value)) whole->assign(whole->size(), 0);
      if (auto* texts = std::get_if<std::vector<std::string>>(&attribute.value)) texts->assign(texts->size(), "");
    }
  };
  for (Graph& graph : model.graphs) {
    for (Tensor& tensor : graph.initializers) strip(tensor);
    for (Node& node : graph.nodes) strip_all(node.attributes);
  }
  for (Function& function : model.functions) strip_all(function.defaults);
  return describe(model);
}

}  // namespace pagoda::test
