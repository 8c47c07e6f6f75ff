// Fusions: a tree of nodes becomes one node. A row describes each: its pattern, and the level at which the runtime
// looks for it. Most run only on some providers, which list them by name.
// Source: onnxruntime/core/optimizer/{*_fusion.cc,graph_transformer_utils.cc}, releases 1.27 and 1.31; compared with
// the graphs that the runtime writes.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "ops/shape_math.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "place/conditions.h"
#include "place/loaded.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {
namespace {

// What a match must fulfil beside its pattern.
enum Extra : unsigned {
  kNone = 0,
  kLastSwapped = 1 << 0,  // a Transpose in it swaps the last two dims
  kSameShape = 1 << 1,    // x and y have three dims, which are equal
  kLastAxes = 1 << 2,     // its means are over the last dims
  kSingle = 1 << 3,       // in float32
  kFloat = 1 << 4,        // in a float type
  kNoOutput = 1 << 5,     // its result must not be an output of the model
  kOrdered = 1 << 6,      // sums and products have their operands in the order of the pattern
  kLeastZero = 1 << 7,    // its last QuantizeLinear maps zero to the least integer
  kBlocks = 1 << 8,       // its DequantizeLinear has blocks
  kSum = 1 << 9,          // see sum_fits()
  kBytes = 1 << 10,       // of uint8: int8 depends on the processor
  kTight = 1 << 11,       // not even a near match with a view between its nodes
  kAttention = 1 << 12,   // see attention_fits()
};

// A pattern is the last node with what it reads: `x` is any tensor, and each `x` the same one; `#1.7` is a stored
// number, `#` any stored number, `@` a stored tensor, `%` a row that is stored or an input of the model; `a:Op(…)`
// names a node's result, and `Op/3` has that axis, `Op/0213` that perm. Operands that follow those of the pattern are
// free. Sums and products may have their operands in either order. All nodes but the last are read by others of the
// pattern alone; one with `~` may have other readers and then stays.
// `!` is before what makes nodes a near match of the pattern. So many of the other steps may fail as the row says: a
// node between two of the pattern, a missing or another node, another number, a second reader.
struct FusionRow {
  std::string_view name, pattern;
  std::int64_t early_opset = 0;  // from this one on, the first level fuses it on every provider; 0: never
  std::string_view keeps = {};   // the node whose name is left
  unsigned extra = kNone;
  std::size_t most_misses = 1;
  std::string_view because = {};  // nodes that match are not fused, for this reason: other code fuses those that can be
};

// clang-format off
constexpr FusionRow kFusions[] = {
    {"ConvActivation", "Relu|Sigmoid|Tanh|LeakyRelu|HardSigmoid(c:!Conv(x,w))", 0, "c", kSingle},
    {"ConvActivation", "Clip(c:!Conv(x,w),#,#)", 0, "c", kSingle},
    {"ConvBatchNormalization", "BatchNormalization(!Conv(x,@),@,@,@,@)", 1, {}, kNone, 1, "BatchNormalization is in training mode, or an operand is not stored"},
    {"MatMulAdd", "Add(!MatMul(x,!@),!%)", 1, {}, kSum | kFloat, 1, "a dim of what MatMul reads is open"},
    {"GemmActivation", "Relu|Sigmoid|Tanh|LeakyRelu|Elu|HardSigmoid|Selu|Softplus|Softsign|ThresholdedRelu(!Gemm(x,w))", 0, {}, kSingle},
    {"QLinearConv", "QuantizeLinear(Relu(!Conv(!DequantizeLinear(x),DequantizeLinear(w))))", 0, {}, kLeastZero | kBytes},
    {"QLinearConv", "QuantizeLinear(!Conv(!DequantizeLinear(x),DequantizeLinear(w)))", 0, {}, kBytes},
    {"QLinearConv", "!Conv(!DequantizeLinear(x),!DequantizeLinear(w))", 0, {}, kBytes, 1, "no QuantizeLinear follows Conv"},
    {"QGemm", "QuantizeLinear(!Gemm(!DequantizeLinear(x),DequantizeLinear(w)))", 0, {}, kBytes},
    {"QLinearMatMul", "QuantizeLinear(!MatMul(!DequantizeLinear(x),DequantizeLinear(w)))", 0, {}, kBytes},
    {"MatMulNBits", "!MatMul(x,!DequantizeLinear(@,@))", 0, {}, kBlocks},
    {"QLinearAdd", "QuantizeLinear(!Add(!DequantizeLinear(x),DequantizeLinear(y)))", 0, {}, kBytes},
    {"QLinearMul", "QuantizeLinear(!Mul(!DequantizeLinear(x),DequantizeLinear(y)))", 0, {}, kBytes},
    {"QLinearUnary", "QuantizeLinear(Sigmoid|LeakyRelu|AveragePool|GlobalAveragePool|Softmax(!DequantizeLinear(x)))", 0, {}, kBytes},
    {"DynamicQuantizeMatMul", "Add(Mul(Cast(!MatMulInteger(!DynamicQuantizeLinear(x),w)),Mul(s,@)),!%)", 0, {}, kNone, 0},
    {"DynamicQuantizeMatMul", "Mul(Cast(!MatMulInteger(!DynamicQuantizeLinear(x),w)),Mul(s,@))"},
    {"Gelu", "Mul(Mul(x,Add(!Erf(Div(x,#1.4142135)),#1)),#0.5)", 20},
    {"Gelu", "Mul(Mul(x,#0.5),Add(!Erf(Div(x,#1.4142135)),#1))", 20},
    {"Gelu", "Mul(x,Mul(Add(!Erf(Div(x,#1.4142135)),#1),#0.5))", 20, {}, kNone, 1, "0.5 scales the sum with 1, not x or the whole"},
    {"Gelu", "Mul(Mul(x,Add(!Erf(Mul(x,#0.70710677)),#1)),#0.5)", 20, {}, kNone, 1, "a Mul by 1/sqrt(2) is where the pattern has Div by sqrt(2)"},
    {"Gelu", "Mul(Mul(x,#0.5),Add(!Erf(Mul(x,#0.70710677)),#1))", 20, {}, kNone, 1, "a Mul by 1/sqrt(2) is where the pattern has Div by sqrt(2)"},
    {"Gelu", "Mul(x,Mul(Add(!Erf(Mul(x,#0.70710677)),#1),#0.5))", 20, {}, kNone, 1, "a Mul by 1/sqrt(2) is where the pattern has Div by sqrt(2)"},
    {"LayerNorm", "Add(Mul(Div(d:!Sub(x,m:ReduceMean(x)),!Sqrt(Add(!ReduceMean(Pow(d,#)),#))),%),%)", 17, {}, kLastAxes},
    {"LayerNorm", "Add(Mul(Div(!Sub(x,m:ReduceMean(x)),!Sqrt(Add(!ReduceMean(Pow(Sub(x,m),#)),#))),%),%)", 17, {}, kLastAxes},
    {"SimplifiedLayerNorm", "Mul(Div(!x,!Sqrt(Add(!ReduceMean(!Pow(x,#2)),#))),%)", 0, {}, kLastAxes},
    {"SimplifiedLayerNorm", "Mul(Mul(!x,Div(#1,!Sqrt(Add(!ReduceMean(!Pow(x,#2)),#)))),%)", 0, {}, kLastAxes},
    {"SimplifiedLayerNorm", "Mul(Mul(!x,Reciprocal(!Sqrt(Add(!ReduceMean(!Pow(x,#2)),#)))),%)", 0, {}, kLastAxes, 1, "Reciprocal and Mul are where the pattern has Div"},
    {"Attention", "Reshape(Transpose/0213(!MatMul|com.microsoft.FusedMatMul(!Softmax/3(Add(Div(!MatMul|com.microsoft.FusedMatMul(Transpose/0213(Reshape(Add(MatMul(x,@),@),@)),Transpose/0231(Reshape(Add(MatMul(x,@),@),@))),#),~Mul(Sub(#1,Cast(Unsqueeze(Unsqueeze(m)))),#))),Transpose/0213(Reshape(Add(MatMul(x,@),@),@)))),@)", 0, {}, kOrdered | kFloat | kAttention, 30},
    {"Attention", "Reshape(Transpose/0213(!MatMul|com.microsoft.FusedMatMul(!Softmax/3(Add(Div(!MatMul|com.microsoft.FusedMatMul(Transpose/0213(Reshape(Add(MatMul(x,@),@),@)),Transpose/0231(Reshape(Add(MatMul(x,@),@),@))),#),~Mul(Sub(#1,Unsqueeze(Unsqueeze(m))),#))),Transpose/0213(Reshape(Add(MatMul(x,@),@),@)))),@)", 0, {}, kOrdered | kFloat | kAttention, 30},
    {"SkipLayerNorm", "LayerNormalization(Add(!Add(x,%),y),@)", 0, {}, kSameShape | kFloat, 0},
    {"SkipLayerNorm", "LayerNormalization(!Add(x,y),@)", 0, {}, kSameShape | kFloat},
    {"MatMulTranspose", "MatMul|com.microsoft.FusedMatMul(~!Transpose(x),y)", 0, {}, kLastSwapped | kTight},
    {"MatMulTranspose", "MatMul|com.microsoft.FusedMatMul(x,~!Transpose(y))", 0, {}, kLastSwapped | kTight},
    {"BiasGelu", "Gelu|com.microsoft.Gelu(!Add(x,!%))"},
    {"FastGelu", "Mul(Mul(x,#0.5),Add(!Tanh(Mul(Add(x,Mul(Pow(x,#3),#0.044715)),#0.7978845)),#1))", 0, {}, kNoOutput | kFloat},
    {"FastGelu", "Mul(Mul(x,#0.5),Add(!Tanh(Mul(Mul(x,#0.7978845),Add(Mul(x,Mul(x,#0.044715)),#1))),#1))", 0, {}, kNoOutput | kFloat},
    {"QuickGelu", "Mul(!x,!Sigmoid(Mul(!x,#)))", 0, {}, kFloat},
    {"QuickGelu", "Mul(!x,!Sigmoid(!x))", 0, {}, kFloat},
    {"MatMulScale", "MatMul|com.microsoft.FusedMatMul(~!Mul(x,!#),y)", 0, {}, kTight},
    {"MatMulScale", "MatMul|com.microsoft.FusedMatMul(x,~!Mul(y,!#))", 0, {}, kTight},
    {"MatMulScale", "MatMul|com.microsoft.FusedMatMul(~!Div(x,!#),y)", 0, {}, kTight},
    {"MatMulScale", "MatMul|com.microsoft.FusedMatMul(x,~!Div(y,!#))", 0, {}, kTight},
    {"MatMulScale", "Mul(!MatMul|com.microsoft.FusedMatMul(x,y),!#)"},
    {"MatMulScale", "Div(!MatMul|com.microsoft.FusedMatMul(x,y),!#)"},
};

// The export that makes nodes match, or one node of them. No text: any condition.
struct CureRow {
  std::string_view pattern, condition, cure;
};
constexpr CureRow kCures[] = {
    // pattern, words of the condition, cure: checked with exports of torch 2.14 and 2.15 in the runtime, 1.32
    {"", "the type is float16", "run the float32 model on the CPU"},
    {"", "an output of the model", "drop that output, or read it behind the pattern"},
    {"Gelu", "", "torch.onnx.export(…, opset_version=20) writes one Gelu"},
    {"LayerNorm", "", "torch.onnx.export(…, opset_version=17) writes one LayerNormalization"},
    {"ConvBatchNormalization", "", "model.eval() before torch.onnx.export"},
    {"SkipLayerNorm", "cannot infer", "fix the sizes: export without dynamic axes, or override free dims in the session's options"},
    {"MatMulAdd", "open", "fix the sizes: export without dynamic axes, or override free dims in the session's options"},
    {"Attention", "", "torch.onnx.export(…, dynamo=True, opset_version=23) writes one Attention"},
};
// clang-format on
constexpr std::string_view kSums = "MatMulAdd";  // again, once no Attention is found

// Whether the node is of one of the operators: "MatMul|com.microsoft.FusedMatMul".
bool is_of(const LoadedNode& node, std::string_view operators) {
  while (!operators.empty()) {
    const std::size_t end = std::min(operators.find('|'), operators.size());
    const std::string_view each = operators.substr(0, end);
    if (each == node.op ? is_plain(node) : each.ends_with(node.op) && each == qualified_name(node)) return true;
    operators.remove_prefix(std::min(end + 1, operators.size()));
  }
  return false;
}

// Nodes that change how a tensor is seen or stored, or scale it.
bool is_in_between(const LoadedGraph& graph, const LoadedNode& node) {
  constexpr std::string_view kOperators[] = {"Cast",    "Clip",      "Dropout",   "Expand",  "Flatten", "Identity",
                                             "Reshape", "Transpose", "Unsqueeze", "Squeeze", "Relu",    "Where"};
  if (is_of(node, "Mul|Div")) {
    const Shape* sizes = node.inputs.size() == 2 ? graph.shape(node.inputs[1]) : nullptr;
    return sizes != nullptr && element_count(*sizes) == Dim(1);
  }
  return is_plain(node) && (is_one_of(node.op, kOperators) || dequantises(node) || quantises(node));
}

// "a Cast to float32", "an Identity".
std::string with_article(const LoadedGraph& graph, const LoadedNode& node) {
  const bool has_vowel = std::string_view("AEIOU").find(node.op.front()) != std::string_view::npos;
  return cat(has_vowel ? "an " : "a ", node.op,
             node.op == "Cast" ? cat(" to ", to_string(graph.type(node.outputs.front()).element)) : "");
}

std::string_view number_text(std::string_view number) {
  return number == "1.4142135"    ? "sqrt(2)"
         : number == "0.70710677" ? "1/sqrt(2)"
         : number == "0.7978845"  ? "sqrt(2/pi)"
                                  : number;
}

// By pattern and the first node that makes a near match.
struct NearMatch {
  UnfusedNodes match;
  std::int32_t root = -1;
  std::size_t fused = 0;  // patterns before it
};
using NearMatches = std::map<std::pair<std::string_view, std::int32_t>, NearMatch>;

}  // namespace

class LoadedGraph::Fuser {
 public:
  Fuser(LoadedGraph& graph, const std::vector<bool>& is_taken, bool is_on_host)
      : graph_(graph), is_taken_(is_taken), is_on_host_(is_on_host) {}

  bool fuse(const FusionRow& row) {
    bool has_changed = false;
    if (!row.because.empty()) return false;
    const std::vector<std::int32_t> order = graph_.order();
    const std::string_view operators = root_of(row);
    for (const std::int32_t id : order)
      if (!graph_.node(id).is_gone && is_of(graph_.node(id), operators) && matches(row, id, 0)) {
        replace(row, id);
        has_changed = true;
      }
    return has_changed;
  }

  // Adds nodes that match the pattern but for few steps, by the first one that makes them a near match: the best match
  // of each.
  void find_near(const FusionRow& row, NearMatches& found) {
    const auto rank = [](const UnfusedNodes& near) {
      return std::pair(near.conditions.size(), -static_cast<std::ptrdiff_t>(near.nodes.size()));
    };
    const std::string_view operators = root_of(row);
    for (const std::int32_t id : graph_.order()) {
      if (!is_of(graph_.node(id), operators) || !matches(row, id, row.most_misses) || now_.core.empty()) continue;
      if (now_.misses.empty() && !row.because.empty()) now_.misses.emplace_back(row.because);
      if (now_.misses.empty()) continue;
      UnfusedNodes near{.pattern = row.name,
                        .nodes = graph_.files_of(now_.nodes),
                        .conditions = std::move(now_.misses),
                        .passes = {},
                        .cure = {}};
      note_costs(near);
      for (const CureRow& cure : kCures)
        if (near.cure.empty() && (cure.pattern.empty() || cure.pattern == row.name) &&
            near.conditions.front().find(cure.condition) != std::string::npos)
          near.cure = cure.cure;
      const auto [known, is_new] =
          found.try_emplace({row.name, now_.core.front()}, NearMatch{near, id, graph_.fused_.size()});
      if (!is_new && rank(near) < rank(known->second.match))
        known->second = {std::move(near), id, graph_.fused_.size()};
    }
  }

 private:
  bool is_taken(std::int32_t id) const {
    return at(id) >= is_taken_.size() || is_taken_[at(id)];  // what the runtime makes is where it was made from
  }

  // The operators of the last node.
  static std::string_view root_of(const FusionRow& row) {
    const std::string_view operators = row.pattern.substr(0, row.pattern.find('('));
    return operators.substr(operators.front() == '!' ? 1 : 0);
  }

  // Whether all but `most_misses` steps of the pattern hold; now_ has those that do not.
  bool matches(const FusionRow& row, std::int32_t root, std::size_t most_misses) {
    now_ = {.text = row.pattern};
    extra_ = row.extra;
    most_misses_ = most_misses;
    return match_node(root) && is_read_by_pattern(root) && fits_types(root) && fits_nodes() &&
           (!has(kSameShape) || has_same_shape()) && (!has(kSum) || sum_fits()) &&
           (!has(kAttention) || attention_fits(root));
  }
  bool has(Extra extra) const { return (extra_ & extra) != 0; }

  // Notes that a step fails; false: too many do.
  template <typename Words>
  bool miss(const Words& words) {
    if (now_.misses.size() >= most_misses_) return false;
    now_.misses.emplace_back(words());
    return true;
  }
  template <typename Words>
  bool needs(bool holds, const Words& words) {
    return holds || miss(words);
  }
  std::string op_of(std::int32_t id, std::string_view otherwise = "an input of the model") const {
    return std::string(id < 0 ? otherwise : graph_.node(id).op);
  }
  static bool contains(const std::vector<std::int32_t>& ids, std::int32_t id) {
    return std::ranges::find(ids, id) != ids.end();
  }

  // A tensor that others read is still written.
  void note_costs(UnfusedNodes& near) const {
    constexpr std::string_view kViews[] = {"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
    near.launches = -1;
    for (const std::int32_t id : now_.nodes) {
      const ValueId result = graph_.node(id).outputs.front();
      const std::vector<std::int32_t>& readers = graph_.readers(result);
      const auto inner =
          std::ranges::count_if(readers, [&](std::int32_t reader) { return contains(now_.nodes, reader); });
      const bool is_gone = inner == std::ssize(readers) && !graph_.is_output(result);
      near.passes.insert(near.passes.end(), static_cast<std::size_t>(inner + (inner > 0 && is_gone ? 1 : 0)),
                         graph_.original(result));
      near.launches += is_one_of(graph_.node(id).op, kViews) ? 0 : 1;
    }
  }

  // "Add and 2 MatMul".
  std::string by_operator(const std::vector<std::int32_t>& nodes) const {
    std::vector<std::pair<std::string, std::size_t>> counts;
    for (const std::int32_t id : nodes) {
      auto at = std::ranges::find(counts, op_of(id), &std::pair<std::string, std::size_t>::first);
      if (at == counts.end()) at = counts.insert(at, {op_of(id), 0});
      ++at->second;
    }
    return base::joined(counts, " and ", [](const auto& each) {
      return each.second == 1 ? each.first : cat(each.second, " ", each.first);
    });
  }

  bool is_read_by_pattern(std::int32_t root) {
    return std::ranges::all_of(now_.nodes, [&](std::int32_t id) {
      const ValueId result = graph_.node(id).outputs.front();
      const std::vector<std::int32_t>& readers = graph_.readers(result);
      const bool is_inner = id != root && !contains(now_.shared, id);
      const auto is_other = [&](std::int32_t reader) { return !contains(now_.nodes, reader); };
      const auto begin = [&] { return cat("the result of ", op_of(id)); };
      return needs((id == root && !has(kNoOutput)) || !graph_.is_output(result),
                   [&] { return cat(begin(), " is an output of the model"); }) &&
             needs(!is_inner || std::ranges::none_of(readers, is_other), [&] {
               const std::string times = readers.size() == 2 ? "twice" : cat(readers.size(), " times");
               return cat(begin(), " is read ", readers.size() == 1 ? "" : cat(times, ": "), "by ",
                          by_operator(readers));
             });
    });
  }

  // The CPU computes most of float16 in float32, between Casts.
  bool fits_types(std::int32_t root) {
    const std::int32_t id = now_.core.empty() ? root : now_.core.front();
    const ElementType type = graph_.type(graph_.node(id).outputs.front()).element;
    const bool is_half = is_float(type) && bits(type) == 16, is_number = type == ElementType::Float32 || is_half;
    const bool fits =
        !(is_on_host_ && is_half) && !(has(kSingle) && type != ElementType::Float32) && !(has(kFloat) && !is_number);
    return fits || miss([&] { return cat("the type is ", to_string(type)); });
  }

  bool fits_nodes() {
    const auto is_mean_of_others = [&](std::int32_t id) { return op_of(id) == "ReduceMean" && !is_over_last(id); };
    return needs(!has(kLastAxes) || std::ranges::none_of(now_.nodes, is_mean_of_others),
                 [] { return "ReduceMean is not over the last axes"; }) &&
           std::ranges::all_of(now_.nodes, [&](std::int32_t id) { return fits_node(graph_.node(id)); });
  }

  bool fits_node(const LoadedNode& node) {
    if (has(kLastSwapped) && node.op == "Transpose") return swaps_last(node);
    if (!quantises(node) && !dequantises(node)) return true;
    const ValueId integers = quantises(node) ? node.outputs[0] : node.inputs[0];
    if (has(kBytes) && !graph_.is_constant(integers) && graph_.type(integers).element != ElementType::Uint8)
      return false;
    if (has(kBlocks) && (node.like == nullptr || node.like->integer("block_size", 0) == 0)) return false;
    return needs(!has(kLeastZero) || dequantises(node) || node.inputs.size() < 3 || graph_.stored_integer(node.inputs[2]) == 0,
                 [] { return "a Relu is before QuantizeLinear, whose zero point is not the least integer"; });
  }

  std::string shape_text(ValueId value) const {
    return cat("[", base::joined(*graph_.shape(value), ", ", [](const Dim& dim) { return dim.to_string(); }), "]");
  }

  bool has_same_shape() {
    constexpr std::size_t kRank = 3;
    if (!now_.bound.contains("x") || !now_.bound.contains("y")) return true;
    const ValueId x = now_.bound["x"], y = now_.bound["y"];
    const Shape *sizes = graph_.shape(x), *others = graph_.shape(y);
    if (sizes == nullptr || others == nullptr) return miss([] { return "the rank of an operand of Add is not known"; });
    if (graph_.is_constant(x) || graph_.is_constant(y)) return false;  // a bias, or positions
    if (sizes->size() != kRank || others->size() != kRank)
      return miss(
          [&] { return cat("the operands of Add have ranks ", sizes->size(), " and ", others->size(), ", not 3"); });
    bool is_same = true;
    for (std::size_t i = 0; i < kRank; ++i) is_same = is_same && graph_.is_same_size(x, y, i);
    return is_same || miss([&] {
             const std::string first = shape_text(x), second = shape_text(y);
             return first == second ? "the runtime cannot infer that the operands of Add have equal shapes"
                                    : cat("the operands of Add have shapes ", first, " and ", second);
           });
  }

  // A sum that the first level left: fuse_sums() has the conditions.
  bool sum_fits() {
    const Shape *rows = graph_.shape(now_.bound["x"]), *columns = graph_.shape(now_.inputs[1]),
                *added = graph_.shape(now_.inputs.back());
    const bool is_known = rows != nullptr && columns != nullptr && columns->size() == 2 && added != nullptr &&
                          added->size() == 1 && added->front() == columns->back();
    return is_known && (!now_.misses.empty() || (rows->size() > 2 && !graph_.is_fixed(now_.bound["x"])));
  }

  static std::string numbers_text(const std::vector<std::int64_t>& numbers) {
    return cat("[", base::joined(numbers, ", ", [](std::int64_t each) { return std::to_string(each); }), "]");
  }
  std::optional<double> number_of(ValueId value) const {
    const TensorValue* held = graph_.is_constant(value) ? graph_.known(value) : nullptr;
    return held == nullptr || held->size() != 1 ? std::nullopt : ops::as_real(held->front());
  }

  // The layer must have been exported as BERT once was: sizes, mask, and what is before and behind it.
  bool attention_fits(std::int32_t root) {
    constexpr std::int64_t kLastOpset = 12;
    std::optional<double> divisor, head;
    for (const std::int32_t id : now_.nodes) {
      const LoadedNode& node = graph_.node(id);
      if (node.op == "Div") divisor = number_of(node.inputs[1]);
      const TensorValue* sizes =
          node.op == "Reshape" && node.inputs.size() > 1 ? graph_.known(node.inputs[1]) : nullptr;
      if (sizes == nullptr) continue;
      std::vector<std::int64_t> shape;
      for (const Scalar& each : *sizes) shape.push_back(integer_of(each).value_or(0));
      const bool fits = id == root
                            ? shape.size() == 3 && shape[0] == 0 && shape[1] == 0
                            : shape.size() == 4 && shape[0] == 0 && shape[1] <= 0 && shape[2] > 0 && shape[3] > 0;
      if (!needs(fits, [&] { return cat("the shape of Reshape is ", numbers_text(shape)); })) return false;
      if (fits && id != root) head = static_cast<double>(shape[3]);
    }
    const auto mask = now_.bound.find("m"), x = now_.bound.find("x");
    const Shape* sizes = mask == now_.bound.end() ? nullptr : graph_.shape(mask->second);
    const ElementType type = sizes == nullptr ? ElementType::Int64 : graph_.type(mask->second).element;
    const bool is_number = type == ElementType::Int64 || type == ElementType::Int32 || type == ElementType::Float32;
    const bool fits_inside =
        needs(!divisor || !head || std::abs(*divisor - std::sqrt(*head)) <= 1e-3 * *divisor,
              [&] {
                return cat("the divisor of Div is ", base::shortest(*divisor), ", not the root of ",
                           base::shortest(*head));
              }) &&
        needs(sizes == nullptr || sizes->size() == 2, [&] { return cat("mask of rank ", sizes->size(), ", not 2"); }) &&
        needs(is_number, [&] { return cat("mask of type ", to_string(type)); }) &&
        (x == now_.bound.end() || is_after_norm(x->second)) &&
        needs(x == now_.bound.end() || now_.is_gemm || is_projected(root, x->second),
              [] { return "no MatMul, bias and sum with what Q, K and V read follow"; }) &&
        needs(!now_.is_gemm || !now_.misses.empty(),
              [] { return "MatMul and Add have become Gemm first, as all sizes are fixed"; });
    const std::int64_t opset = graph_.model_.opset("");
    if (!fits_inside || opset <= kLastOpset) return fits_inside;
    if (!miss([&] { return cat("the model has opset ", opset, ", and the pattern ends with ", kLastOpset); }))
      return false;
    std::rotate(now_.misses.begin(), now_.misses.end() - 1, now_.misses.end());
    return true;
  }

  bool is_after_norm(ValueId x) {
    const std::string norm = op_of(graph_.writer(x));
    std::multiset<std::string> wanted = {"MatMul", "MatMul", "MatMul", "Add"}, found;
    for (const std::int32_t reader : graph_.readers(x))
      if (op_of(reader) != "Shape") found.insert(op_of(reader));
    return needs(norm == "LayerNormalization",
                 [&] { return cat("what Q, K and V read is written by ", norm, ", not by LayerNormalization"); }) &&
           needs(norm != "LayerNormalization" || found == wanted || now_.is_gemm,
                 [&] { return "LayerNormalization is not read by three MatMul and one Add alone"; });
  }

  // A product with stored weights, a bias and the sum with `x` follow.
  bool is_projected(std::int32_t root, ValueId x) const {
    constexpr std::string_view kNext[] = {"MatMul", "Add", "Add"};
    std::int32_t id = root;
    for (const std::string_view op : kNext) {
      const ValueId result = graph_.node(id).outputs.front();
      const std::vector<std::int32_t>& readers = graph_.readers(result);
      if (readers.size() != 1 || op_of(readers[0]) != op || graph_.node(readers[0]).inputs[0] != result) return false;
      id = readers[0];
      const ValueId other = graph_.node(id).inputs[1];
      if (other != x && !graph_.is_constant(other)) return false;
    }
    return graph_.node(id).inputs[1] == x;
  }

  bool is_over_last(std::int32_t id) const {
    const LoadedNode& node = graph_.node(id);
    const Shape* sizes = graph_.shape(node.inputs[0]);
    std::vector<std::int64_t> axes = node.axes;
    const auto* stated = node.like == nullptr ? nullptr : node.like->integers("axes");
    if (axes.empty() && stated != nullptr) axes = *stated;
    if (axes.empty() && node.inputs.size() > 1 && graph_.known(node.inputs[1]) != nullptr)
      for (const Scalar& each : *graph_.known(node.inputs[1])) axes.push_back(integer_of(each).value_or(0));
    if (sizes == nullptr || axes.empty()) return axes == std::vector<std::int64_t>{-1};
    const auto rank = static_cast<std::int64_t>(sizes->size());
    for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::ranges::sort(axes);
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != rank - static_cast<std::int64_t>(axes.size() - i)) return false;
    return true;
  }

  static std::vector<std::int64_t> perm_of(const LoadedNode& node) {
    if (!node.axes.empty() || node.like == nullptr || node.like->integers("perm") == nullptr) return node.axes;
    return *node.like->integers("perm");
  }

  static bool swaps_last(const LoadedNode& node) {
    const std::vector<std::int64_t> perm = perm_of(node);
    const auto rank = static_cast<std::int64_t>(perm.size());
    for (std::int64_t i = 0; i < rank; ++i)
      if (perm[static_cast<std::size_t>(i)] != (i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i)) return false;
    return rank >= 2;
  }

  // --- matching: each function takes what it matches off the front of the pattern ---

  std::string_view take_word() {
    const auto is_end = [](char each) { return each == '(' || each == ')' || each == ',' || each == ':'; };
    const auto end = std::ranges::find_if(now_.text, is_end);
    const std::string_view word = now_.text.substr(0, static_cast<std::size_t>(end - now_.text.begin()));
    now_.text.remove_prefix(word.size());
    return word;
  }
  char take() {
    const char first = now_.text.front();
    now_.text.remove_prefix(1);
    return first;
  }
  // Behind the operand that begins here.
  void skip_operand() {
    int depth = 0;
    while (!now_.text.empty() && (depth > 0 || (now_.text.front() != ',' && now_.text.front() != ')'))) {
      const char each = take();
      depth += each == '(' ? 1 : each == ')' ? -1 : 0;
    }
  }

  bool take_if(char mark) { return now_.text.front() == mark && take() == mark; }
  // The operand that begins here.
  std::string_view operand_ahead() {
    const std::string_view begin = now_.text;
    skip_operand();
    return begin.substr(0, begin.size() - std::exchange(now_.text, begin).size());
  }
  // "MatMul" of "~!MatMul|com.microsoft.FusedMatMul(x,y)" and "a:MatMul(x,y)".
  static std::string_view first_operator(std::string_view operand) {
    std::string_view word = operand.substr(0, operand.find_first_of("(|/"));
    if (const std::size_t colon = word.find(':'); colon != std::string_view::npos) word.remove_prefix(colon + 1);
    word.remove_prefix(std::min(word.find_first_not_of("!~"), word.size()));
    return word;
  }
  // Whether the operator is the first one that matters of an operand: "MatMul" of "Add(Div(MatMul(x,y),#),z)".
  static bool leads_to(std::string_view operand, std::string_view op) {
    while (is_node(operand) && first_operator(operand) != op) operand.remove_prefix(operand.find('(') + 1);
    return is_node(operand);
  }
  static bool is_node(std::string_view operand) { return operand.find('(') != std::string_view::npos; }
  static bool is_core(std::string_view operand) { return operand.find('!') != std::string_view::npos; }

  bool match_node(std::int32_t id) {
    if (id < 0 || graph_.node(id).is_gone || graph_.node(id).outputs.empty() ||
        graph_.node(id).outputs.front() == kAbsent || graph_.node(id).inputs.empty())
      return false;
    const LoadedNode& node = graph_.node(id);
    const bool is_shared = take_if('~');
    bool is_core = take_if('!');
    std::string_view word = take_word();
    if (now_.text.front() == ':') {
      if (!now_.bound.emplace(word, node.outputs.front()).second) return false;
      take();
      is_core = take_if('!');
      word = take_word();
    }
    take();  // (
    const std::size_t slash = std::min(word.find('/'), word.size());
    const std::string_view attribute = word.substr(slash);
    word = word.substr(0, slash);
    if (!is_of(node, word)) {
      const std::string_view wanted = word.substr(0, word.find('|'));
      const bool is_alike = (wanted == "Div" && is_of(node, "Mul")) || (wanted == "Mul" && is_of(node, "Div")) ||
                            (wanted == "Add" && is_of(node, "Sub")) || (wanted == "Sub" && is_of(node, "Add"));
      if (is_core || !is_alike ||
          !miss([&] { return cat(with_article(graph_, node), " is where the pattern has ", wanted); }))
        return false;
    }
    if (!has_attribute(node, attribute) ||
        !needs(is_taken(id), [&] { return cat(node.op, " is not on the provider"); }))
      return false;
    now_.nodes.push_back(id);
    if (is_shared) now_.shared.push_back(id);
    if (is_core) now_.core.push_back(id);
    const std::vector<ValueId> inputs = node.inputs;
    if (!is_of(node, "Add|Mul") || inputs.size() != 2) return match_operands(id, inputs);
    const State saved = now_;
    const bool is_matched = match_operands(id, inputs);
    if (is_matched && now_.misses.size() == saved.misses.size()) return is_matched;
    State first = std::exchange(now_, saved);
    const bool is_matched_turned =
        (!has(kOrdered) || miss([&] { return cat("the operands of ", node.op, " are in the other order"); })) &&
        match_operands(id, {inputs[1], inputs[0]});
    if (is_matched && (!is_matched_turned || first.misses.size() <= now_.misses.size())) now_ = std::move(first);
    return is_matched || is_matched_turned;
  }

  // "/3": the axis, "/0213": the perm.
  bool has_attribute(const LoadedNode& node, std::string_view wanted) {
    if (wanted.empty()) return true;
    const bool is_axis = wanted.size() == 2;
    const std::vector<std::int64_t> numbers =
        is_axis ? std::vector{node.like == nullptr ? -1 : node.like->integer("axis", -1)} : perm_of(node);
    const auto is_same = [](std::int64_t number, char digit) { return number == digit - '0'; };
    return needs(std::ranges::equal(numbers, wanted.substr(1), is_same), [&] {
      return cat(node.op, is_axis ? " has axis " : " has perm ", numbers_text(numbers), ", not ", wanted.substr(1));
    });
  }

  bool match_operands(std::int32_t reader, const std::vector<ValueId>& inputs) {
    for (std::size_t i = 0;; ++i) {
      if (i >= inputs.size() || !match_operand(reader, inputs[i])) return false;
      if (take() == ')') break;
    }
    return true;
  }

  bool match_operand(std::int32_t reader, ValueId value) {
    if (value == kAbsent) return false;
    const char mark = now_.text[now_.text.front() == '!' ? 1 : 0];
    if (mark == '#' || mark == '@' || mark == '%') return match_stored(reader, value);
    const bool is_written = now_.text[now_.text.find_first_of("(,)")] == '(';
    const auto matches = [&] { return is_written ? match_written(value) : match_tensor(value); };
    if (now_.misses.size() >= most_misses_) return matches();
    const State saved = now_;
    if (matches()) return true;
    return (now_ = saved, match_without(reader, value)) || (now_ = saved, match_behind(reader, value)) ||
           (now_ = saved, skip_missed(reader, value));
  }

  bool match_written(ValueId value) {
    const std::int32_t before = graph_.writer(value);
    return before >= 0 && graph_.node(before).outputs.front() == value && match_node(before);
  }

  bool match_tensor(ValueId value) {
    take_if('!');
    const auto [known, is_new] = now_.bound.emplace(take_word(), value);
    if (is_new) now_.inputs.push_back(value);
    return known->second == value;
  }

  bool match_stored(std::int32_t reader, ValueId value) {
    const bool is_core = take_if('!');
    const char mark = take();
    const std::string_view number = take_word();
    const std::string op = op_of(reader);
    const Shape* sizes = graph_.shape(value);
    const bool is_stored = graph_.is_constant(value), is_input = !is_stored && graph_.writer(value) < 0;
    const auto fails = [&](const auto& words) { return !is_core && miss(words); };
    const auto where = [&] { return is_input ? " is an input of the model, not stored" : " is computed, not stored"; };
    if (mark != '#') now_.inputs.push_back(value);
    if (mark == '@') return is_stored || fails([&] { return cat("an operand of ", op, where()); });
    if (mark == '%') {
      if (!is_stored && !is_input) return fails([&] { return cat("an operand of ", op, where()); });
      return (sizes != nullptr && sizes->size() == 1) || miss([&] {
               return cat("an operand of ", op, " has ",
                          sizes == nullptr ? "an unknown rank" : cat("shape ", shape_text(value)), ", not one dim");
             });
    }
    if (sizes == nullptr || element_count(*sizes) != Dim(1))
      return fails([&] { return cat("an operand of ", op, " is not one number"); });
    if (!is_stored) return miss([&] { return cat("the number of ", op, where()); });
    if (number.empty()) return true;
    double wanted = 0;
    std::from_chars(number.data(), number.data() + number.size(), wanted);
    const std::optional<double> found = number_of(value);
    if (!found) return miss([&] { return cat("the number of ", op, " is not in the file"); });
    const double share = bits(graph_.type(value).element) <= 16 ? 1e-3 : 1e-5;
    return std::abs(*found - wanted) <= share * wanted || miss([&] {
             return cat("the ",
                        op == "Div"   ? "divisor"
                        : op == "Pow" ? "exponent"
                                      : "number",
                        " of ", op, " is ", base::shortest(*found), ", not ", number_text(number));
           });
  }

  // A node between two of the pattern.
  bool match_behind(std::int32_t reader, ValueId value) {
    const std::int32_t id = graph_.writer(value);
    if (id < 0 || graph_.node(id).inputs.empty() || graph_.node(id).outputs.front() != value) return false;
    const LoadedNode& between = graph_.node(id);
    const bool is_guard = between.op == "Where" && between.inputs.size() == 3;  // zero where all is masked
    const ValueId source = between.inputs[is_guard ? 2 : 0];
    const bool is_made = has(kAttention) && between.file < 0 && between.op == "Reshape";  // what Gemm computes is flat
    if (!is_made && (!is_in_between(graph_, between) || (has(kTight) && !is_of(between, "Cast|Identity"))))
      return false;
    if (!is_made && !miss([&] {
          return cat(with_article(graph_, between), " is between ", op_of(graph_.writer(source), "the input"), " and ",
                     op_of(reader));
        }))
      return false;
    if (!is_made) now_.nodes.push_back(id);
    return match_operand(is_made ? reader : id, source);
  }

  // A node of the pattern is missing, and its first operand is here.
  bool match_without(std::int32_t reader, ValueId value) {
    const std::string_view operand = operand_ahead(), rest = now_.text.substr(operand.size());
    const std::int32_t before = graph_.writer(value);
    if (!is_node(operand) || before < 0) return false;
    const std::string_view begin = operand.substr(0, operand.find('('));
    now_.text.remove_prefix(begin.size() + 1);
    const std::string_view missing = first_operator(operand);
    if (is_core(begin) || !leads_to(operand_ahead(), op_of(before)) ||
        !miss([&] { return cat("no ", missing, " is between ", op_of(before), " and ", op_of(reader)); }) ||
        !match_operand(reader, value) || is_core(now_.text.substr(0, now_.text.size() - rest.size())))
      return false;
    now_.text = rest;
    return true;
  }

  bool skip_missed(std::int32_t reader, ValueId value) {
    const std::string_view operand = operand_ahead();
    const std::int32_t before = graph_.writer(value);
    if (is_core(operand)) return false;
    skip_operand();
    if (before >= 0 && graph_.node(before).op == "Gemm" && first_operator(operand) == "Add") return now_.is_gemm = true;
    return miss([&] {
      if (!is_node(operand)) return cat(op_of(reader), " reads another tensor than the rest of the pattern");
      return cat(before >= 0                 ? with_article(graph_, graph_.node(before))
                 : graph_.is_constant(value) ? "a stored tensor"
                                             : "an input of the model",
                 " is where the pattern has ", first_operator(operand));
    });
  }

  void replace(const FusionRow& row, std::int32_t root) {
    const std::vector<ValueId> results = graph_.node(root).outputs;
    const std::int32_t kept = row.keeps.empty() ? -1 : graph_.writer(now_.bound[row.keeps]);
    const std::string_view op = row.name == "MatMulTranspose" || row.name == "MatMulScale" ? "FusedMatMul"
                                : row.name == "LayerNorm"                                  ? "LayerNormalization"
                                : row.name == "SkipLayerNorm"                              ? "SkipLayerNormalization"
                                : row.name == "SimplifiedLayerNorm" ? "SimplifiedLayerNormalization"
                                                                    : row.name;
    LoadedNode made = made_node(op, now_.inputs, results);
    made.made_of = graph_.note_fused(row.name, now_.nodes, results.front());
    if (kept >= 0) {
      graph_.fuse(kept, root);
      graph_.node(kept).op = "FusedConv";
      graph_.node(kept).domain = "com.microsoft";
      return;
    }
    if (op != "LayerNormalization") made.domain = "com.microsoft";
    const auto is_read = [&](std::int32_t id) { return !graph_.readers(graph_.node(id).outputs.front()).empty(); };
    for (bool has_changed = true; std::exchange(has_changed, false);)
      for (const std::int32_t id : now_.nodes)
        if (!graph_.node(id).is_gone && (id == root || !is_read(id))) {
          graph_.remove(id);
          has_changed = true;
        }
    graph_.add_node(std::move(made));
  }

  struct State {
    std::string_view text;  // of the pattern, what is left
    std::map<std::string_view, ValueId> bound = {};
    std::vector<std::int32_t> nodes = {}, core = {}, shared = {};  // that match
    std::vector<ValueId> inputs = {};                              // of the node that they become
    std::vector<std::string> misses = {};                          // steps that fail
    bool is_gemm = false;                                          // a product and its bias have become one
  };

  LoadedGraph& graph_;
  const std::vector<bool>& is_taken_;  // by node: the provider took it
  bool is_on_host_;
  unsigned extra_ = kNone;  // of the row
  State now_;
  std::size_t most_misses_ = 0;
};

bool LoadedGraph::fuse_early() {
  bool has_changed = false;
  const std::vector<bool> all;
  Fuser fuser(*this, all, false);
  for (const FusionRow& row : kFusions)
    if (row.early_opset > 0 && model_.opset("") >= row.early_opset) has_changed |= fuser.fuse(row);
  return has_changed;
}

void LoadedGraph::fuse_late(const Provider& provider, const std::vector<bool>& is_taken,
                            std::vector<UnfusedNodes>* unfused) {
  constexpr int kMostSteps = 10;
  Fuser fuser(*this, is_taken, provider.is_on_host);
  NearMatches near;
  // Near matches are those that the runtime meets first: later fusions take parts of them.
  const auto find_near = [&](const FusionRow& row, int step) {
    if (unfused != nullptr && step == 0) fuser.find_near(row, near);
  };
  for (const FusionRow& row : kFusions)
    if (row.early_opset == 1) find_near(row, 0);
  bool has_changed = true;
  for (int step = 0; step < kMostSteps && std::exchange(has_changed, false); ++step)
    for (const std::string& name : provider.fusions) {
      if (name == kSplits) has_changed |= fuse_splits(is_taken);
      if (name == kSums) has_changed |= fuse_sums(false);
      for (const FusionRow& row : kFusions)
        if (row.name == name) has_changed |= fuser.fuse(row);
      for (const FusionRow& row : kFusions)
        if (row.name == name && name != kSums) find_near(row, step);
    }
  // Later steps may fuse the same nodes after all, or the last one by another pattern.
  for (auto& [key, each] : near) {
    const std::vector<std::int32_t> core = files_of({key.second}), root = files_of({each.root});
    const auto is_fused = [&, &pattern = key.first](const FusedNodes& fused) {
      const std::vector<std::int32_t>& part = fused.pattern == pattern ? core : root;
      return !part.empty() && std::ranges::includes(fused.nodes, part);
    };
    if (std::none_of(fused_.begin() + static_cast<std::ptrdiff_t>(each.fused), fused_.end(), is_fused))
      unfused->push_back(std::move(each.match));
  }
}

std::vector<std::int32_t> LoadedGraph::note_fused(std::string_view pattern, const std::vector<std::int32_t>& nodes,
                                                  ValueId result) {
  fused_.push_back({.pattern = pattern, .nodes = files_of(nodes), .result = original(result)});
  return fused_.back().nodes;
}

std::vector<std::int32_t> LoadedGraph::files_of(const std::vector<std::int32_t>& nodes) const {
  std::set<std::int32_t> files;
  for (const std::int32_t id : nodes) {
    if (node(id).file >= 0) files.insert(node(id).file);
    files.insert(node(id).made_of.begin(), node(id).made_of.end());
  }
  return {files.begin(), files.end()};
}

}  // namespace pagoda::inline core
