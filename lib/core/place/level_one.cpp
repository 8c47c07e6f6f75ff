// ONNX Runtime's first level of optimisation, for what placement depends on: which nodes are left, and what they read.
// Source: onnxruntime/core/optimizer, release 1.31 (graph_transformer_utils.cc lists the steps); compared with the
// graphs that the runtime writes after that level.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "ops/context.h"
#include "ops/op_rule.h"
#include "ops/shape_math.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "place/loaded.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {
namespace {

constexpr int kMostSteps = 10;  // of the whole list of transformers

// Bits of LoadedValue::vague. Axes beyond the last bit share it.
constexpr std::size_t kLastBit = 63;
constexpr std::uint64_t bit_of(std::size_t axis) { return std::uint64_t{1} << std::min(axis, kLastBit); }
constexpr std::uint64_t bits_of(std::size_t rank) {
  return rank > kLastBit ? ~std::uint64_t{0} : (std::uint64_t{1} << rank) - 1;
}

// A node that the runtime knows to give the same results for the same inputs.
bool is_repeatable(const LoadedNode& node) {
  const bool is_known = is_plain(node) ? !is_random(node.op) && node.op != "Dropout"
                                       : node.domain == "com.microsoft" && (quantises(node) || dequantises(node));
  return is_known && !node.is_gone && !node.has_bodies;
}

bool is_all_of(const TensorValue& value, double number) {
  return std::ranges::all_of(value, [&](const Scalar& each) { return ops::as_real(each) == number; });
}

}  // namespace

// Source: the kernels that onnxruntime 1.31.1 lists.
bool runs_halves_on_cpu(std::string_view op) {
  constexpr std::string_view kHalf[] = {"Attention",
                                        "BitCast",
                                        "Cast",
                                        "Celu",
                                        "Clip",
                                        "Compress",
                                        "Concat",
                                        "ConstantOfShape",
                                        "Dropout",
                                        "Expand",
                                        "Flatten",
                                        "Gather",
                                        "GatherElements",
                                        "GatherND",
                                        "Identity",
                                        "IsInf",
                                        "IsNaN",
                                        "LayerNormalization",
                                        "Max",
                                        "Min",
                                        "Mod",
                                        "QuantizeLinear",
                                        "RMSNormalization",
                                        "Reshape",
                                        "ReverseSequence",
                                        "RotaryEmbedding",
                                        "Round",
                                        "Scatter",
                                        "ScatterElements",
                                        "ScatterND",
                                        "Shape",
                                        "Shrink",
                                        "Sign",
                                        "Slice",
                                        "Split",
                                        "Squeeze",
                                        "TensorScatter",
                                        "Transpose",
                                        "Unsqueeze"};
  return is_one_of(op, kHalf);
}

// Whether ONNX infers the shapes of what the node computes.
bool LoadedGraph::has_inference(const LoadedNode& node) const {
  constexpr std::string_view kLacking[] = {"FeatureVectorizer", "Imputer",      "LinearRegressor", "Normalizer",
                                           "SVMClassifier",     "SVMRegressor", "Scaler"};
  constexpr std::int64_t kFirstOfTrees = 3;
  if (node.domain != "ai.onnx.ml") return true;
  if (node.op.starts_with("TreeEnsemble")) return model_.opset("ai.onnx.ml") >= kFirstOfTrees;
  const Shape* data = node.op == "ArrayFeatureExtractor" && !node.inputs.empty() ? shape(node.inputs[0]) : nullptr;
  return !is_one_of(node.op, kLacking) && (data == nullptr || data->size() != 1);
}

// Whether the inference follows the elements of the result: from a Shape on, without stored numbers.
bool LoadedGraph::tells(const LoadedNode& each) const {
  constexpr std::string_view kMoving[] = {"Squeeze", "Unsqueeze"},
                             kCombining[] = {"Add", "Cast", "Concat", "Mul", "Slice", "Sub"};
  if (release_ < kSince1_24 || !is_plain(each) || each.inputs.empty() || each.outputs.size() != 1) return false;
  const ValueId first = each.inputs.front(), result = each.outputs.front();
  const TensorValue* sizes = known(result);
  const Shape *data = shape(first), *form = shape(result);
  const auto is_number = [](const Scalar& size) { return integer_of(size).has_value(); };
  if (sizes == nullptr || form == nullptr || form->size() > 1 || !std::ranges::all_of(*sizes, is_number)) return false;
  const auto is_followed = [&](ValueId value) { return value != kAbsent && values_[at(value)].is_told; };
  if (each.op == "Shape") {
    const std::int64_t start = each.like == nullptr ? 0 : each.like->integer("start", 0);
    const std::int64_t end = data == nullptr ? 0 : start + (start < 0 ? static_cast<std::int64_t>(data->size()) : 0);
    if (data == nullptr || data->size() > kLastBit) return false;
    const std::uint64_t axes = bits_of(sizes->size()) << std::clamp<std::int64_t>(end, 0, kLastBit);
    return data != nullptr && !values_[at(first)].is_unranked && (values_[at(first)].vague & axes) == 0;
  }
  if (is_one_of(each.op, kMoving)) return is_followed(first);
  if (each.op == "Gather")
    return is_followed(first) && (is_followed(each.inputs[1]) || (is_constant(each.inputs[1]) && sizes->size() == 1));
  if (!std::ranges::all_of(each.inputs, is_followed)) return false;
  const bool is_sum = each.op == "Add" || each.op == "Sub" || each.op == "Mul";
  if ((is_sum || each.op == "Div") && sizes->size() == 1) return true;
  constexpr std::int64_t kFirstOfSums = 14, kFirstOfOthers = 13;  // that pass elements on
  return is_one_of(each.op, kCombining) && form->size() == 1 &&
         model_.opset("") >= (is_sum ? kFirstOfSums : kFirstOfOthers);
}

// Whether nothing is known of the results without the elements of an operand that the runtime does not know.
bool LoadedGraph::loses_rank(const LoadedNode& each) const {
  constexpr std::int64_t kFirstThatCounts = 14;  // the sizes that a Reshape gets
  constexpr std::string_view kByAxes[] = {"Split", "Squeeze", "Unsqueeze"};
  const bool is_untold = each.inputs.size() > 1 && !is_told(each.inputs[1]);
  if (!is_plain(each)) return false;
  if (each.op == "Squeeze" && each.inputs.size() == 1 && each.like != nullptr &&
      each.like->attribute("axes") == nullptr)
    return is_vague(each.inputs[0]);
  return is_untold && (each.op == "Reshape" ? model_.opset("") < kFirstThatCounts
                                            : is_one_of(each.op, kByAxes) || each.op.starts_with("Reduce"));
}

// What the rule of the node's operator finds of its outputs with what the runtime knows of its inputs; empty: there is
// no rule for the node as it is.
std::vector<ValueInfo> LoadedGraph::infer_again(const LoadedNode& each) const {
  const OpRule* rule =
      each.like == nullptr || !each.axes.empty() || each.has_bodies ? nullptr : ops::find_rule(each.domain, each.op);
  if (rule == nullptr) return {};
  std::vector<ValueInfo> infos(each.inputs.size());
  Session session(model_);
  OpContext::State state{.session = session,
                         .node = *each.like,
                         .display_name = each.like->name,
                         .opset = model_.opset(each.domain),
                         .facts = ops::facts_of(*rule, *each.like),
                         .inputs = {},
                         .outputs = {},
                         .output_set = {}};
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const ValueId input = each.inputs[i];
    state.inputs.push_back(input == kAbsent ? nullptr : &infos[i]);
    if (input == kAbsent) continue;
    ValueInfo& info = infos[i];
    info.type = type(input);
    info.constant = is_constant(input);
    if (is_told(input)) info.stored_value = known(input);
    const LoadedValue& value = values_[at(input)];
    if (value.is_unranked) info.type.shape.reset();
    for (std::size_t axis = 0; info.type.shape && axis < info.type.shape->size(); ++axis)
      if ((value.vague & bit_of(axis)) != 0) (*info.type.shape)[axis] = Dim::symbol(cat("v", input, "_", axis));
  }
  state.outputs.resize(each.outputs.size());
  state.output_set.assign(each.outputs.size(), false);
  try {
    OpContext op(state);
    rule->infer(op);
  } catch (const RuleStop&) {
  } catch (const Error&) {
  }
  return std::move(state.outputs);
}

// The runtime knows fewer sizes than the analysis: it follows few values that nodes compute.
void LoadedGraph::infer() {
  const std::vector<std::int32_t> order = this->order();
  for (const std::int32_t id : order) infer(id);
}

void LoadedGraph::infer(Release release) {
  release_ = release;
  infer();
}

// A hash of all that infer() reads and writes of a node, never 0.
std::uint64_t LoadedGraph::inference_state(const LoadedNode& each) const {
  std::uint64_t state = each.axes.size() + 1;
  const auto mix = [&](std::uint64_t part) {
    state = (state ^ part) * 0x9E3779B97F4A7C15;
    state ^= state >> 32;
  };
  for (const std::vector<ValueId>* values : {&each.inputs, &each.outputs}) {
    for (const ValueId id : *values) {
      mix(static_cast<std::uint64_t>(id));
      if (id == kAbsent) continue;
      const LoadedValue& value = values_[at(id)];
      mix(reinterpret_cast<std::uintptr_t>(value.type));
      mix(reinterpret_cast<std::uintptr_t>(value.known));
      mix(value.vague);
      mix((value.is_constant ? 1U : 0U) | (value.is_unranked ? 2U : 0U) | (value.is_told ? 4U : 0U));
    }
    mix(each.axes.size());
  }
  return state == 0 ? 1 : state;
}

void LoadedGraph::infer(std::int32_t id) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  constexpr std::string_view kMakesSizes[] = {"ConstantOfShape", "Expand", "Range", "Reshape"};
  constexpr std::string_view kBySizes[] = {"Slice", "TopK"};  // all sizes of the result are open
  // Most nodes are met again as they were the last time.
  if (node(id).inferred != 0 && inference_state(node(id)) == node(id).inferred) return;
  const LoadedNode& each = node(id);
  const auto is_open = [&](ValueId value) {
    return is_vague(value) || (value != kAbsent && values_[at(value)].is_unranked);
  };
  const bool makes_sizes =
      is_one_of(each.op, kMakesSizes) && is_plain(each);  // the analysis names those it cannot tell
  const auto is_unheard = [&](ValueId value) {
    return !is_told(value) && (known(value) != nullptr || (makes_sizes && type(value).element == ElementType::Int64));
  };
  const bool is_lost = !has_inference(each) || loses_rank(each);
  const bool is_open_itself =
      each.op == "Loop" || std::ranges::any_of(each.inputs, is_open);  // nor does it know how often a loop runs
  const bool is_sized =
      is_one_of(each.op, kBySizes) && is_plain(each) &&
      !std::all_of(each.inputs.begin() + 1, each.inputs.end(), [&](ValueId value) { return is_told(value); });
  std::vector<ValueInfo> found;
  const bool asks = !is_lost && !is_sized && (is_open_itself || std::ranges::any_of(each.inputs, is_unheard));
  if (asks) found = infer_again(each);
  const bool is_told = tells(each);
  for (std::size_t i = 0; i < each.outputs.size(); ++i) {
    if (each.outputs[i] == kAbsent) continue;
    LoadedValue& output = values_[at(each.outputs[i])];
    const Shape *own = shape(each.outputs[i]), *stated = declared(each.outputs[i]);
    const Shape* by_rule = found.empty() || !found[i].type.shape ? nullptr : &*found[i].type.shape;
    output.is_told = is_told;
    output.is_unranked = is_lost || (!found.empty() && by_rule == nullptr);
    output.vague = is_lost || is_sized || (asks && (found.empty() ? is_open_itself : by_rule == nullptr)) ? kAll : 0;
    if (own == nullptr) continue;
    for (std::size_t axis = 0; by_rule != nullptr && axis < by_rule->size(); ++axis)
      if (!(*by_rule)[axis].is_constant()) output.vague |= bit_of(axis);
    // The file may state what inference does not find.
    if (stated != nullptr && stated->size() == own->size()) {
      output.is_unranked = false;
      for (std::size_t axis = 0; axis < stated->size(); ++axis)
        if ((*stated)[axis].is_constant()) output.vague &= ~bit_of(axis);
    }
    output.vague &= bits_of(own->size());
  }
  node(id).inferred = inference_state(each);
}

// --- rules of one node and its neighbours ---

// Whether apply_rule() asks for sizes of the node: of Expand, or of a neutral number, perhaps once other rules have taken
// away nodes before it. To infer no others saves a tenth of a placement.
bool LoadedGraph::does_rule_ask_sizes(const LoadedNode& each) const {
  constexpr std::string_view kTakenAway[] = {"Cast", "Dropout", "Expand", "Identity", "Relu", "Slice", "Unsqueeze"};
  constexpr std::string_view kAdditive[] = {"Add", "Sub"}, kScaling[] = {"Div", "Mul"};
  constexpr int kFarthest = 10;
  const auto may_be_stored = [&](ValueId value) {
    for (int step = 0; writer(value) >= 0 && !is_constant(value); ++step) {
      const LoadedNode& before = node(writer(value));
      if (before.inputs.empty() || !is_one_of(before.op, kTakenAway)) return false;
      if (step == kFarthest) return true;
      value = before.inputs[0];
    }
    return is_constant(value);
  };
  if (!is_plain(each)) return false;
  if (each.op == "Expand") return each.inputs.size() > 1 && may_be_stored(each.inputs[1]);
  const bool is_sum = is_one_of(each.op, kAdditive);
  return (is_sum || is_one_of(each.op, kScaling)) && std::ranges::any_of(each.inputs, [&](ValueId value) {
           const TensorValue* held = known(value);
           return held != nullptr && held->size() == 1 && is_all_of(*held, is_sum ? 0 : 1) && may_be_stored(value);
         });
}

// Of the nodes whose rules ask, and of those that they depend on.
void LoadedGraph::infer_for_rules() {
  std::vector<bool> is_asked(nodes_.size());
  const std::vector<std::int32_t> order = this->order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    is_asked[at(*id)] = is_asked[at(*id)] || does_rule_ask_sizes(node(*id));
    for (const ValueId input : node(*id).inputs)
      if (is_asked[at(*id)] && writer(input) >= 0) is_asked[at(writer(input))] = true;
  }
  for (const std::int32_t id : order)
    if (is_asked[at(id)]) infer(id);
}

bool LoadedGraph::apply_rules() {
  bool has_changed = false;
  infer_for_rules();
  const std::vector<std::int32_t> order = this->order();
  for (const std::int32_t id : order)
    if (!node(id).is_gone && is_plain(node(id))) has_changed |= apply_rule(id);
  return has_changed;
}

bool LoadedGraph::is_neutral(ValueId number, ValueId operand, double value) const {
  const Shape *few = shape(number), *many = operand == kAbsent || values_[at(operand)].is_unranked ? nullptr : shape(operand);
  const TensorValue* held = known(number);
  return is_constant(number) && held != nullptr && held->size() == 1 && is_all_of(*held, value) && few != nullptr &&
         many != nullptr && few->size() <= many->size();
}

bool LoadedGraph::apply_rule(std::int32_t id) {
  const LoadedNode& each = node(id);
  const auto input = [&](std::size_t i) { return i < each.inputs.size() ? each.inputs[i] : kAbsent; };
  const ValueId first = input(0), second = input(1);
  if (each.op == "Identity") {
    if (!produces_output(each)) return bypass(id, first);
    // The node before it writes the output of the model instead.
    const std::int32_t before = writer(first);
    if (before < 0 || values_[at(first)].is_output || readers(first).size() != 1 || !each.captured.empty()) return false;
    const ValueId result = each.outputs.front();
    remove(id);
    values_[at(first)].writer = -1;
    std::ranges::replace(node(before).outputs, first, result);
    link(before);
    return true;
  }
  if (each.op == "Dropout") {
    const bool has_mask = each.outputs.size() > 1 && each.outputs[1] != kAbsent &&
                          (values_[at(each.outputs[1])].is_output || !readers(each.outputs[1]).empty());
    const TensorValue* trains = known(input(2));
    const TensorValue* ratio = known(second);
    const bool is_training = input(2) != kAbsent && (trains == nullptr || !is_all_of(*trains, 0));
    const bool drops = is_training && (ratio == nullptr || !is_all_of(*ratio, 0));
    return !has_mask && !drops && bypass(id, first);
  }
  if (each.op == "Cast") {
    if (first != kAbsent && type(first).element == type(each.outputs.front()).element) return bypass(id, first);
    const std::vector<std::int32_t>& all = readers(each.outputs.front());
    const bool is_measured_alone =
        !all.empty() && std::ranges::all_of(all, [&](std::int32_t reader) { return node(reader).op == "Shape"; });
    return is_measured_alone && bypass(id, first);
  }
  if (each.op == "Slice" && each.inputs.size() > 2) {
    const TensorValue *starts = known(second), *ends = known(input(2)), *steps = known(input(4));
    if (starts == nullptr || ends == nullptr || (input(4) != kAbsent && steps == nullptr)) return false;
    const bool is_whole = is_all_of(*starts, 0) && (steps == nullptr || is_all_of(*steps, 1)) &&
                          std::ranges::all_of(*ends, [](const Scalar& end) {
                            return integer_of(end).value_or(0) == std::numeric_limits<std::int64_t>::max();
                          });
    return is_whole && is_constant(second) && is_constant(input(2)) && bypass(id, first);
  }
  if (each.op == "Unsqueeze") {  // of a stored tensor, which gets another shape
    const bool is_stored_one = is_constant(first) && writer(first) < 0 && (second == kAbsent || is_constant(second));
    if (!is_stored_one || produces_output(each)) return false;
    const ValueId result = each.outputs.front();
    const ValueId moved = add_value(result, type(result), true);
    values_[at(moved)].known = known(result);
    return bypass(id, moved);
  }
  if (each.op == "Expand") {
    const TensorValue* target = known(second);
    const Shape *from = shape(first), *to = shape(each.outputs.front());
    return is_constant(second) && target != nullptr && is_fixed(first) && is_fixed(each.outputs.front()) &&
           *from == *to && bypass(id, first);
  }
  const bool is_sum = each.op == "Add" || each.op == "Sub";
  if (is_sum || each.op == "Mul" || each.op == "Div") {
    const double neutral = is_sum ? 0 : 1;
    if (is_neutral(second, first, neutral)) return bypass(id, first);
    if ((each.op == "Add" || each.op == "Mul") && is_neutral(first, second, neutral)) return bypass(id, second);
    if (each.op == "Div" && is_neutral(first, second, 1)) {  // 1 / x · y
      const std::int32_t next = only_reader(each.outputs.front());
      if (next < 0 || node(next).op != "Mul") return false;
      const std::size_t other = node(next).inputs[0] == each.outputs.front() ? 1 : 0;
      const ValueId numerator = node(next).inputs[other];
      fuse(id, next);
      set_input(id, 0, numerator);
      return true;
    }
    return false;
  }
  if (each.op == "Relu") {
    const std::int32_t next = only_reader(each.outputs.front());
    if (next < 0 || node(next).op != "Clip") return false;
    return bypass(id, first);
  }
  if (each.op == "Where") {
    const std::int32_t before = writer(first);
    if (before < 0 || node(before).op != "Not" || each.inputs.size() < 3) return false;
    const std::vector<std::int32_t> all = readers(first);
    if (values_[at(first)].is_output ||
        !std::ranges::all_of(all, [&](std::int32_t reader) { return node(reader).op == "Where"; }))
      return false;
    const ValueId condition = node(before).inputs[0];
    remove(before);
    for (const std::int32_t reader : all) {
      set_input(reader, 0, condition);
      std::swap(node(reader).inputs[1], node(reader).inputs[2]);
    }
    return true;
  }
  if (each.op == "Conv") return fuse_into_conv(id);
  if (each.op == "Pad") return fuse_pad(id);
  return false;
}

// A sum, a product or a normalisation of the channels of a convolution with stored weights.
bool LoadedGraph::fuse_into_conv(std::int32_t id) {
  const LoadedNode& conv = node(id);
  if (conv.inputs.size() < 2 || !is_constant(conv.inputs[1]) ||
      (conv.inputs.size() > 2 && conv.inputs[2] != kAbsent && !is_constant(conv.inputs[2])))
    return false;
  const ValueId result = conv.outputs.front();
  const std::int32_t next = only_reader(result);
  if (next < 0 || !is_plain(node(next))) return false;
  const LoadedNode& after = node(next);
  const Shape* weights = shape(conv.inputs[1]);
  if (weights == nullptr || weights->size() < 3) return false;
  if (after.op == "BatchNormalization") {
    const bool is_stored =
        after.inputs.size() == 5 && after.inputs[0] == result &&
        std::all_of(after.inputs.begin() + 1, after.inputs.end(), [&](ValueId value) { return is_constant(value); });
    const bool is_single = std::ranges::count_if(after.outputs, [](ValueId value) { return value != kAbsent; }) == 1;
    if (!is_stored || !is_single || after.like->integer("training_mode", 0) != 0) return false;
    note_fused("ConvBatchNormalization", {id, next}, after.outputs.front());
  } else if (after.op == "Add" || after.op == "Mul") {
    const ValueId numbers = after.inputs[0] == result ? after.inputs[1] : after.inputs[0];
    const Shape* few = shape(numbers);
    if (!is_constant(numbers) || few == nullptr || after.inputs[0] == after.inputs[1]) return false;
    if (after.op == "Mul" && few->empty()) {
      fuse_weights(id, next);
      return true;
    }
    const std::size_t rank = weights->size();  // of the convolution's result, too
    if (few->size() + 1 < rank || few->size() > rank) return false;
    const std::size_t channel = few->size() + 1 - rank;
    const bool is_per_channel = (*few)[channel] == (*weights)[0] && element_count(*few) == (*weights)[0];
    const bool is_single = after.op == "Mul" && element_count(*few) == Dim(1);
    if (!is_per_channel && !is_single) return false;
  } else {
    return false;
  }
  fuse_weights(id, next);
  return true;
}

// The weights and the bias are new tensors.
void LoadedGraph::fuse_weights(std::int32_t id, std::int32_t next) {
  const bool keeps_weights = node(next).op == "Add";
  const auto make_anew = [&](std::size_t i) {
    const ValueId old = node(id).inputs[i];
    set_input(id, i, add_value(old, type(old), true));
  };
  if (!keeps_weights) make_anew(1);
  if (node(id).inputs.size() > 2 && node(id).inputs[2] != kAbsent) {
    make_anew(2);
  } else if (node(next).op != "Mul") {
    const ValueId added = node(next).inputs[node(next).inputs[0] == node(id).outputs.front() ? 1 : 0];
    node(id).inputs.resize(3, kAbsent);
    set_input(id, 2, add_value(added, type(added), true));
  }
  fuse(id, next);
}

// A Pad of zeros before convolutions, which have pads of their own.
bool LoadedGraph::fuse_pad(std::int32_t id) {
  const LoadedNode& pad = node(id);
  if (!pad.like->text("mode").empty() && pad.like->text("mode") != "constant") return false;
  if (pad.inputs.size() < 2 || !is_constant(pad.inputs[1]) || produces_output(pad)) return false;
  const TensorValue* pads = known(pad.inputs[1]);
  const TensorValue* filler = pad.inputs.size() > 2 ? known(pad.inputs[2]) : nullptr;
  if (pads == nullptr || pads->size() < 6 || (pad.inputs.size() > 3 && pad.inputs[3] != kAbsent)) return false;
  if (pad.inputs.size() > 2 && pad.inputs[2] != kAbsent && (filler == nullptr || !is_all_of(*filler, 0))) return false;
  const bool is_nothing = is_all_of(*pads, 0);
  const std::size_t half = pads->size() / 2;
  for (std::size_t i = 0; i < pads->size(); ++i) {
    const auto size = integer_of((*pads)[i]);
    if (!size || *size < 0 || (i % half < 2 && *size != 0)) return false;
  }
  const std::vector<std::int32_t>& all = readers(pad.outputs.front());
  if (all.empty()) return false;
  for (const std::int32_t reader : all) {
    const bool is_pool = is_nothing && (node(reader).op == "AveragePool" || node(reader).op == "MaxPool");
    if ((node(reader).op != "Conv" && !is_pool) || node(reader).inputs[0] != pad.outputs.front()) return false;
    const std::string_view padding = node(reader).like->text("auto_pad");
    if (!padding.empty() && padding != "NOTSET") return false;
  }
  const ValueId padded = pad.outputs.front(), source = pad.inputs[0];
  remove(id);
  replace(padded, source);
  return true;
}

// --- steps over the whole graph ---

// Each reader of a DequantizeLinear gets one of its own.
void LoadedGraph::split_dequantised() {
  const std::size_t count = nodes_.size();
  for (std::size_t n = 0; n < count; ++n) {
    if (nodes_[n].is_gone || nodes_[n].op != "DequantizeLinear" || nodes_[n].outputs.empty() ||
        nodes_[n].outputs.front() == kAbsent)
      continue;
    const LoadedNode each = nodes_[n];
    const ValueId result = each.outputs.front();
    bool is_first = !values_[at(result)].is_output;
    const std::vector<std::int32_t> all = readers(result);
    for (const std::int32_t reader : all)
      for (std::size_t i = 0; i < node(reader).inputs.size(); ++i) {
        if (node(reader).inputs[i] != result || std::exchange(is_first, false)) continue;
        LoadedNode copy = each;
        copy.file = -1;
        copy.outputs = {add_value(result, type(result))};
        set_input(reader, i, node(add_node(std::move(copy))).outputs.front());
      }
  }
}

// Of two pairs of QuantizeLinear and DequantizeLinear in a row, the middle ones go: the outer ones get other scales.
bool LoadedGraph::remove_double_pairs() {
  bool has_changed = false;
  const auto is_same_number = [&](ValueId a, ValueId b) {
    const TensorValue *x = known(a), *y = known(b);
    return is_constant(a) && is_constant(b) && (a == b || (x != nullptr && y != nullptr && x->size() == 1 && *x == *y));
  };
  const auto is_pair = [&](std::int32_t first, std::int32_t second) {
    return node(first).inputs.size() == 3 && node(second).inputs.size() == 3 &&
           bits(type(node(first).outputs[0]).element) == 8 &&
           is_same_number(node(first).inputs[1], node(second).inputs[1]) &&
           is_same_number(node(first).inputs[2], node(second).inputs[2]);
  };
  const std::vector<std::int32_t> order = this->order();
  for (const std::int32_t id : order) {
    if (node(id).is_gone || !dequantises(node(id)) || node(id).inputs.empty() || node(id).outputs.empty()) continue;
    const ValueId source = node(id).inputs[0];
    const std::int32_t before = writer(source), next = only_reader(node(id).outputs.front());
    if (before < 0 || next < 0 || !quantises(node(before)) || !quantises(node(next)) ||
        node(next).outputs.front() == kAbsent || only_reader(source) != id)
      continue;
    const ValueId result = node(next).outputs.front();
    const std::vector<std::int32_t> last = readers(result);
    const bool is_alike = type(source).element == type(result).element && !values_[at(result)].is_output;
    if (!is_alike || last.empty() || !is_pair(before, id) ||
        !std::ranges::all_of(last, [&](std::int32_t each) { return dequantises(node(each)) && is_pair(next, each); }))
      continue;
    remove(id);
    remove(next);
    replace(result, source);
    has_changed = true;
  }
  return has_changed;
}

// A stored tensor of few elements equals others of its type, shape and elements.
std::string LoadedGraph::key_of(ValueId value) const {
  constexpr std::size_t kShared = 8;
  constexpr ElementType kTypes[] = {ElementType::Float32, ElementType::Float16, ElementType::Float64,
                                    ElementType::Int32, ElementType::Int64};
  const TensorValue* held = known(value);
  // An old file lists its stored tensors as inputs, too.
  const Tensor* tensor = tensor_of(value);
  const bool is_in_file =
      tensor != nullptr && (graph_.is_stored(value) ? is_stored(value) || release_ >= kSince1_27 : tensor->value.has_value());
  if (std::string place = left_out(value); !place.empty() && is_in_file) return place;
  if (!is_in_file || !is_constant(value) || held == nullptr || held->size() > kShared ||
      std::ranges::find(kTypes, type(value).element) == std::end(kTypes))
    return std::to_string(value);
  std::string key = cat("=", to_string(type(value)), ":");
  for (const Scalar& each : *held) {
    if (const auto* real = std::get_if<double>(&each))
      key += cat(base::shortest(*real), ",");
    else if (const auto whole = integer_of(each))
      key += cat(*whole, ",");
    else
      return std::to_string(value);
  }
  return key;
}

// The operator with its attributes.
std::string LoadedGraph::key_of(const LoadedNode& each) {
  std::string key = cat(each.domain, ".", each.op, "|");
  std::vector<std::string> attributes;
  if (each.like != nullptr)
    for (const Attribute& attribute : each.like->attributes) {
      const auto texts = texts_of(attribute);
      if (!texts) return "";
      const auto* const tensor = std::get_if<Tensor>(&attribute.value);
      attributes.push_back(
          cat(attribute.name, "=", tensor == nullptr ? "" : to_string(tensor->type), ":", base::joined(*texts, ",")));
    }
  std::ranges::sort(attributes);
  for (const std::string& text : attributes) key += text + ";";
  for (const std::int64_t axis : each.axes) key += cat(axis, ",");
  return key;
}

// Of the operator and of what is computed among its inputs: different numbers, different nodes.
std::size_t LoadedGraph::rough_key(const LoadedNode& each) const {
  std::size_t hash = std::hash<std::string_view>()(each.op);
  for (const ValueId value : each.inputs)
    hash = 31 * hash + (is_constant(value) ? 0 : static_cast<std::size_t>(value) + 1);
  return hash;
}

bool LoadedGraph::merge_equal() {
  bool has_changed = false;
  std::unordered_map<std::size_t, std::int32_t> first;  // by rough key; -1: its key is in `seen`
  std::unordered_map<std::string, std::int32_t> seen;
  const auto full_key = [&](std::int32_t n) {
    LoadedNode& each = node(n);
    if (each.key.empty()) each.key = key_of(each);
    std::string key = each.key;
    if (key.empty()) return key;
    for (const ValueId value : each.inputs) key += key_of(value) + "|";
    return key += cat("/", each.outputs.size());
  };
  const std::vector<std::int32_t> order = this->order();
  for (const std::int32_t n : order) {
    const LoadedNode& each = node(n);
    // Each reader gets a DequantizeLinear of its own in any case.
    if (!is_repeatable(each) || each.op == "DequantizeLinear") continue;
    const auto [same, is_alone] = first.try_emplace(rough_key(each), n);
    if (is_alone) continue;
    if (const std::int32_t one = std::exchange(same->second, -1); one >= 0) seen.try_emplace(full_key(one), one);
    const std::string key = full_key(n);
    if (key.empty()) continue;
    const auto [earlier, is_new] = seen.try_emplace(key, n);
    if (is_new || produces_output(each)) continue;
    const std::vector<ValueId> results = each.outputs;
    const LoadedNode& kept = node(earlier->second);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i] != kAbsent) replace(results[i], kept.outputs[i]);
    remove(n);
    has_changed = true;
  }
  return has_changed;
}

// The nodes of the branch that an If always takes run in its place.
bool LoadedGraph::inline_branch(std::int32_t id) {
  const LoadedNode each = node(id);
  const TensorValue* condition = is_constant(each.inputs[0]) ? known(each.inputs[0]) : nullptr;
  const auto is_true = condition == nullptr || condition->size() != 1 ? std::nullopt : integer_of(condition->front());
  const Attribute* branch = is_true ? each.like->attribute(*is_true != 0 ? "then_branch" : "else_branch") : nullptr;
  const auto* body = branch == nullptr ? nullptr : std::get_if<GraphId>(&branch->value);
  if (body == nullptr) return false;
  LoadedNode made = made_node("If", {}, each.outputs);
  made.is_expanded = true;
  find_captured(*body, made.inputs);
  remove(id);
  add_node(std::move(made));
  return true;
}

bool LoadedGraph::fold_constants() {
  bool has_changed = false;
  const std::vector<std::int32_t> order = this->order();
  for (const std::int32_t n : order) {
    const LoadedNode& each = node(n);
    if (each.is_gone) continue;
    infer(n);
    if (each.op == "If" && each.like != nullptr && !each.inputs.empty() && inline_branch(n)) {
      has_changed = true;
      continue;
    }
    if (!is_repeatable(each)) continue;
    bool is_known = false;
    if (each.op == "Shape" && is_plain(each)) {
      is_known = is_fixed(each.inputs[0]);
    } else if (each.op != "DequantizeLinear") {
      is_known =
          std::ranges::all_of(each.inputs, [&](ValueId value) { return value == kAbsent || is_constant(value); });
    }
    if (!is_known) continue;
    const bool is_tensor = std::ranges::all_of(
        each.outputs, [&](ValueId value) { return value == kAbsent || type(value).container == Container::Tensor; });
    const auto is_half = [&](ValueId value) {
      return value != kAbsent && is_float(type(value).element) && bits(type(value).element) == 16;
    };
    const bool has_halves = std::ranges::any_of(each.inputs, is_half) || std::ranges::any_of(each.outputs, is_half);
    const bool has_kernel = !is_defined_by_others(each) && (!has_halves || runs_halves_on_cpu(each.op));
    if (!is_tensor || !has_kernel) continue;
    for (const ValueId output : each.outputs)
      if (output != kAbsent) values_[at(output)].is_constant = true;
    const std::vector<ValueId> inputs = each.inputs;
    remove(n);
    for (const ValueId input : inputs)
      if (writer(input) >= 0) remove_unread(writer(input));
    has_changed = true;
  }
  return has_changed;
}

void LoadedGraph::optimise(Release release) {
  struct Rewrite {
    bool (LoadedGraph::*apply)();
    bool asks_sizes = true;  // what infer() finds, and it does not call infer() itself
  };
  static constexpr Rewrite kRewrites[] = {{&LoadedGraph::apply_rules, false},
                                          {&LoadedGraph::remove_double_pairs, false},
                                          {&LoadedGraph::merge_equal, false},
                                          {&LoadedGraph::fold_constants, false},
                                          {&LoadedGraph::fuse_sums},
                                          {&LoadedGraph::fuse_reshapes},
                                          {&LoadedGraph::fuse_early},
                                          {&LoadedGraph::propagate_pairs},
                                          {&LoadedGraph::quantise_biases},
                                          {&LoadedGraph::push_transposes}};
  constexpr std::size_t kCount = std::size(kRewrites);
  release_ = release;
  split_dequantised();
  bool is_inferred = false;
  std::size_t unchanged = 0;  // rewrites since the last change
  for (std::size_t i = 0; i < kMostSteps * kCount && unchanged < kCount; ++i) {
    const Rewrite& rewrite = kRewrites[i % kCount];
    if (rewrite.asks_sizes && !std::exchange(is_inferred, true)) infer();
    const bool has_changed = (this->*rewrite.apply)();
    is_inferred = is_inferred && !has_changed;
    unchanged = has_changed ? 0 : unchanged + 1;
  }
}

}  // namespace pagoda::inline core
