// Calls of a model's local functions.
#include <utility>

#include "infer/infer.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core {

// A local function is walked once per distinct signature of its inputs and attributes.
void Walker::visit_call(Frame& frame, const Function& function, OpContext::State& state) {
  for (const Call* call = &call_; call != nullptr; call = call->outer)
    if (call->function == &function)
      throw RuleStop{RuleStop::Kind::Unknown, "local function " + function.name + " calls itself, which ONNX forbids"};
  std::string signature = std::to_string(function.body);
  std::vector<ValueInfo> inputs;
  for (const ValueInfo* input : state.inputs) {
    inputs.push_back(input == nullptr ? ValueInfo{} : *input);
    ValueInfo& info = inputs.back();
    info.absent = input == nullptr;
    signature += '|';
    if (info.absent) continue;
    signature += to_string(stored_type(info)) + (info.constant ? "c" : "") + (info.host ? "h" : "");
    if (info.tensor_graph >= 0) signature += cat("t", info.tensor_graph, ",", info.tensor);
    if (info.dequantized_from != ElementType::Undefined) signature += cat("d", to_string(info.dequantized_from));
    if (info.members) {
      signature += "m" + info.repeats_of_first.to_string();
      for (const Shape& member : *info.members)
        signature += to_string(TensorType{.element = ElementType::Undefined, .shape = member});
    }
    if (info.value() == nullptr) continue;
    for (const Scalar& scalar : *info.value()) {
      signature += ';';
      if (const Dim* dim = std::get_if<Dim>(&scalar)) signature += dim->to_string();
      if (const double* real = std::get_if<double>(&scalar)) signature += "r" + std::to_string(*real);
      if (const Ratio* ratio = std::get_if<Ratio>(&scalar))
        signature += cat(ratio->numerator.to_string(), "/", ratio->denominator);
    }
  }
  std::vector<Attribute> attributes = state.node.attributes;
  for (const Attribute& otherwise : function.defaults)
    if (state.node.attribute(otherwise.name) == nullptr) attributes.push_back(otherwise);
  // Attributes determine what the body does, so each call with attributes has its own signature.
  if (!attributes.empty()) signature += cat("@", frame.id, ",", frame.node, frame.scope);

  auto found = calls_.find(signature);
  if (found == calls_.end()) {
    const Name scope = frame.scope + (frame.scope.empty() ? "" : "/") + function.name;
    GraphResult body = [&] {
      const Call outer = call_;
      const Scoped<Call> inside(call_, {&function, &attributes, &outer});
      return walk(function.body, inputs, nullptr, scope);
    }();
    body.values.clear();
    found = calls_.emplace(std::move(signature), std::move(body)).first;
    splice(frame, state, found->second.rows, 1);
    for (NodeReport& row : found->second.rows) row.params = row.param_bytes = 0;  // counted with the first call
  } else {
    splice(frame, state, found->second.rows, 1);
  }
  const GraphResult& body = found->second;
  for (std::size_t i = 0; i < state.outputs.size() && i < body.outputs.size(); ++i) {
    set_output(state, i, body.outputs[i]);
  }
}

}  // namespace pagoda::inline core
