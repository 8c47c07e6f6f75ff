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
#include <string_view>
#include <utility>

#include "ops/shape_math.h"
#include "place/conditions.h"
#include "place/loaded.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {
namespace {

enum class Extra : std::uint8_t {
  None,
  LastSwapped,  // a Transpose in it swaps the last two dims
  SameShape,    // x and y have three dims, which are equal
  LastAxes,     // its means are over the last dims
};

// A pattern is the last node with what it reads: `x` is any tensor, and each `x` the same one; `#1.7` is a stored
// number, `#` any stored number, `@` a stored tensor; `a:Op(…)` names a node's result. Operands that follow those of
// the pattern are free. Sums and products may have their operands in either order. All nodes but the last are read by
// others of the pattern alone.
struct FusionRow {
  std::string_view name, pattern;
  std::int64_t early_opset = 0;  // from this one on, the first level fuses it on every provider; 0: never
  std::string_view keeps = {};   // the node whose name is left
  Extra extra = Extra::None;
};

// clang-format off
constexpr FusionRow kFusions[] = {
    {"ConvActivation", "Relu|Sigmoid|Tanh|LeakyRelu|HardSigmoid|Clip(c:Conv(x,w))", 0, "c"},
    {"Gelu", "Mul(Mul(x,Add(Erf(Div(x,#1.4142135)),#1)),#0.5)", 20},
    {"Gelu", "Mul(x,Mul(Add(Erf(Div(x,#1.4142135)),#1),#0.5))", 20},
    {"Gelu", "Mul(Mul(x,Add(Erf(Mul(x,#0.70710677)),#1)),#0.5)", 20},
    {"Gelu", "Mul(x,Mul(Add(Erf(Mul(x,#0.70710677)),#1),#0.5))", 20},
    {"LayerNorm", "Add(Mul(Div(d:Sub(x,m:ReduceMean(x)),Sqrt(Add(ReduceMean(Pow(d,#2)),#))),@),@)", 17, {}, Extra::LastAxes},
    {"LayerNorm", "Add(Mul(Div(Sub(x,m:ReduceMean(x)),Sqrt(Add(ReduceMean(Pow(Sub(x,m),#2)),#))),@),@)", 17, {}, Extra::LastAxes},
    {"SimplifiedLayerNorm", "Mul(Div(x,Sqrt(Add(ReduceMean(Pow(x,#2)),#))),@)", 0, {}, Extra::LastAxes},
    {"SimplifiedLayerNorm", "Mul(Mul(x,Div(#1,Sqrt(Add(ReduceMean(Pow(x,#2)),#)))),@)", 0, {}, Extra::LastAxes},
    {"SimplifiedLayerNorm", "Mul(Mul(x,Reciprocal(Sqrt(Add(ReduceMean(Pow(x,#2)),#)))),@)", 0, {}, Extra::LastAxes},
    {"SkipLayerNorm", "LayerNormalization(Add(x,y),@)", 0, {}, Extra::SameShape},
    {"MatMulTranspose", "MatMul|com.microsoft.FusedMatMul(Transpose(x),y)", 0, {}, Extra::LastSwapped},
    {"MatMulTranspose", "MatMul|com.microsoft.FusedMatMul(x,Transpose(y))", 0, {}, Extra::LastSwapped},
    {"BiasGelu", "Gelu|com.microsoft.Gelu(Add(x,@))"},
    {"QuickGelu", "Mul(x,Sigmoid(x))"},
    {"QuickGelu", "Mul(x,Sigmoid(Mul(x,#)))"},
    {"MatMulScale", "MatMul|com.microsoft.FusedMatMul(Mul(x,#),y)"},
    {"MatMulScale", "MatMul|com.microsoft.FusedMatMul(x,Mul(y,#))"},
    {"MatMulScale", "MatMul|com.microsoft.FusedMatMul(Div(x,#),y)"},
    {"MatMulScale", "MatMul|com.microsoft.FusedMatMul(x,Div(y,#))"},
    {"MatMulScale", "Mul(MatMul|com.microsoft.FusedMatMul(x,y),#)"},
    {"MatMulScale", "Div(MatMul|com.microsoft.FusedMatMul(x,y),#)"},
};
// clang-format on
constexpr std::string_view kSplits = "GatherSliceToSplit";
constexpr std::string_view kSums = "MatMulAdd";  // again, once no Attention is found
constexpr std::int64_t kFirstSplitOpset = 13;

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

}  // namespace

class LoadedGraph::Fuser {
 public:
  Fuser(LoadedGraph& graph, const std::vector<bool>& is_taken) : graph_(graph), is_taken_(is_taken) {}

  bool fuse(const FusionRow& row) {
    bool has_changed = false;
    const std::string_view operators = row.pattern.substr(0, row.pattern.find('('));
    const std::vector<std::int32_t> order = graph_.order();
    for (const std::int32_t id : order)
      if (!graph_.node(id).is_gone && is_of(graph_.node(id), operators) && matches(row, id)) {
        replace(row, id);
        has_changed = true;
      }
    return has_changed;
  }

  // Gathers and Slices that read each part of a dim once become one Split.
  bool fuse_splits() {
    bool has_changed = false;
    if (graph_.model_.opset("") < kFirstSplitOpset) return false;
    const std::size_t count = graph_.values_.size();
    for (std::size_t value = 0; value < count; ++value)
      if (graph_.values_[value].readers.size() > 1) has_changed |= fuse_split(static_cast<ValueId>(value));
    return has_changed;
  }

 private:
  bool is_taken(std::int32_t id) const {
    return at(id) >= is_taken_.size() || is_taken_[at(id)];  // what the runtime makes is where it was made from
  }

  bool matches(const FusionRow& row, std::int32_t root) {
    text_ = row.pattern;
    bound_.clear();
    nodes_.clear();
    inputs_.clear();
    if (!match_node(root)) return false;
    for (const std::int32_t id : nodes_) {
      if (id == root) continue;
      const ValueId result = graph_.node(id).outputs.front();
      if (graph_.values_[at(result)].is_output || !std::ranges::all_of(graph_.readers(result), [&](std::int32_t reader) {
            return std::ranges::find(nodes_, reader) != nodes_.end();
          }))
        return false;
    }
    switch (row.extra) {
      case Extra::None:
        return true;
      case Extra::LastAxes:
        return std::ranges::all_of(
            nodes_, [&](std::int32_t id) { return graph_.node(id).op != "ReduceMean" || is_over_last(id); });
      case Extra::LastSwapped:
        return std::ranges::all_of(
            nodes_, [&](std::int32_t id) { return graph_.node(id).op != "Transpose" || swaps_last(graph_.node(id)); });
      case Extra::SameShape: {
        constexpr std::size_t kRank = 3;
        const Shape* sizes = graph_.shape(bound_["x"]);
        if (sizes == nullptr || sizes->size() != kRank) return false;
        for (std::size_t i = 0; i < kRank; ++i)
          if (!graph_.is_same_size(bound_["x"], bound_["y"], i)) return false;
        return true;
      }
    }
    return false;
  }

  bool is_over_last(std::int32_t id) const {
    const LoadedNode& node = graph_.node(id);
    const Shape* sizes = graph_.shape(node.inputs[0]);
    std::vector<std::int64_t> axes = node.axes;
    const auto* stated = node.like == nullptr ? nullptr : node.like->integers("axes");
    if (axes.empty() && stated != nullptr) axes = *stated;
    if (axes.empty() && node.inputs.size() > 1 && graph_.known(node.inputs[1]) != nullptr)
      for (const Scalar& each : *graph_.known(node.inputs[1])) axes.push_back(integer_of(each).value_or(0));
    if (sizes == nullptr || axes.empty()) return false;
    const auto rank = static_cast<std::int64_t>(sizes->size());
    for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::ranges::sort(axes);
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != rank - static_cast<std::int64_t>(axes.size() - i)) return false;
    return true;
  }

  static bool swaps_last(const LoadedNode& node) {
    std::vector<std::int64_t> perm = node.axes;
    if (perm.empty() && node.like != nullptr && node.like->integers("perm") != nullptr)
      perm = *node.like->integers("perm");
    const auto rank = static_cast<std::int64_t>(perm.size());
    for (std::int64_t i = 0; i < rank; ++i)
      if (perm[static_cast<std::size_t>(i)] != (i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i)) return false;
    return rank >= 2;
  }

  // --- matching: each function takes what it matches off the front of the pattern ---

  std::string_view take_word() {
    const auto is_end = [](char each) { return each == '(' || each == ')' || each == ',' || each == ':'; };
    const auto end = std::ranges::find_if(text_, is_end);
    const std::string_view word = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    text_.remove_prefix(word.size());
    return word;
  }
  char take() {
    const char first = text_.front();
    text_.remove_prefix(1);
    return first;
  }
  // Behind the operand that begins here.
  void skip_operand() {
    int depth = 0;
    while (!text_.empty() && (depth > 0 || (text_.front() != ',' && text_.front() != ')'))) {
      const char each = take();
      depth += each == '(' ? 1 : each == ')' ? -1 : 0;
    }
  }

  bool match_node(std::int32_t id) {
    if (id < 0 || graph_.node(id).is_gone || !is_taken(id) || graph_.node(id).outputs.empty() ||
        graph_.node(id).outputs.front() == kAbsent)
      return false;
    std::string_view word = take_word();
    if (text_.front() == ':') {
      if (!bound_.emplace(word, graph_.node(id).outputs.front()).second) return false;
      take();
      word = take_word();
    }
    take();  // (
    const LoadedNode& node = graph_.node(id);
    if (!is_of(node, word)) return false;
    nodes_.push_back(id);
    const std::vector<ValueId>& inputs = node.inputs;
    if (inputs.empty()) return false;
    const bool is_symmetric = is_of(node, "Add|Mul") && inputs.size() == 2;
    if (!is_symmetric) return match_operands(inputs);
    const auto saved = std::tuple(text_, bound_, nodes_, inputs_);
    if (match_operands(inputs)) return true;
    std::tie(text_, bound_, nodes_, inputs_) = saved;
    return match_operands({inputs[1], inputs[0]});
  }

  bool match_operands(const std::vector<ValueId>& inputs) {
    for (std::size_t i = 0;; ++i) {
      if (i >= inputs.size() || !match_operand(inputs[i])) return false;
      if (take() == ')') break;
    }
    return true;
  }

  bool match_operand(ValueId value) {
    if (value == kAbsent) return false;
    if (text_.front() == '#') {
      take();
      const std::string_view number = take_word();
      const Shape* sizes = graph_.shape(value);
      if (!graph_.is_constant(value) || sizes == nullptr || element_count(*sizes) != Dim(1)) return false;
      if (number.empty()) return true;
      double wanted = 0;
      std::from_chars(number.data(), number.data() + number.size(), wanted);
      const TensorValue* held = graph_.known(value);
      const auto found = held == nullptr || held->size() != 1 ? std::nullopt : ops::as_real(held->front());
      return found && std::abs(*found - wanted) <= 1e-3 * wanted;
    }
    if (text_.front() == '@') {
      take();
      inputs_.push_back(value);
      return graph_.is_constant(value);
    }
    const std::string_view rest = text_;
    const std::string_view word = take_word();
    const bool is_node = !text_.empty() && (text_.front() == '(' || text_.front() == ':');
    if (is_node) {
      text_ = rest;
      const std::int32_t before = graph_.writer(value);
      return before >= 0 && graph_.node(before).outputs.front() == value && match_node(before);
    }
    const auto [known, is_new] = bound_.emplace(word, value);
    if (is_new) inputs_.push_back(value);
    return known->second == value;
  }

  void replace(const FusionRow& row, std::int32_t root) {
    const std::vector<ValueId> results = graph_.node(root).outputs;
    const std::int32_t kept = row.keeps.empty() ? -1 : graph_.writer(bound_[row.keeps]);
    const std::string_view op = row.name.starts_with("MatMul") ? "FusedMatMul"
                                : row.name == "LayerNorm"      ? "LayerNormalization"
                                                               : row.name;
    if (kept >= 0) return graph_.fuse(kept, root);
    for (const std::int32_t id : nodes_)
      if (!graph_.node(id).is_gone) graph_.remove(id);
    LoadedNode made = made_node(op, inputs_, results);
    if (op != "LayerNormalization") made.domain = "com.microsoft";
    graph_.add_node(std::move(made));
  }

  // --- splits ---

  struct Piece {
    std::int32_t node;
    std::int64_t axis, begin, end;
  };

  std::optional<std::int64_t> stored_integer(ValueId value) const {
    const TensorValue* held = graph_.is_constant(value) ? graph_.known(value) : nullptr;
    return held == nullptr || held->size() != 1 ? std::nullopt : integer_of(held->front());
  }

  // What a Gather or Slice takes of the value.
  std::optional<Piece> piece_of(std::int32_t id, ValueId value) const {
    const LoadedNode& node = graph_.node(id);
    const Shape* sizes = graph_.shape(value);
    if (!is_plain(node) || !is_taken(id) || sizes == nullptr || node.inputs.size() < 2 || node.inputs[0] != value)
      return std::nullopt;
    const auto rank = static_cast<std::int64_t>(sizes->size());
    const auto size_of = [&](std::int64_t axis) {
      return axis < 0 || axis >= rank ? std::nullopt : (*sizes)[static_cast<std::size_t>(axis)].value64();
    };
    std::optional<std::int64_t> axis, begin, end;
    if (node.op == "Gather") {
      axis = node.axes.empty() ? node.like->integer("axis", 0) : node.axes.front();
      begin = stored_integer(node.inputs[1]);
      end = begin;
    } else if (node.op == "Slice" && node.inputs.size() > 2) {
      axis = !node.axes.empty()       ? std::optional(node.axes.front())
             : node.inputs.size() > 3 ? stored_integer(node.inputs[3])
                                      : std::optional<std::int64_t>(0);
      begin = stored_integer(node.inputs[1]);
      end = stored_integer(node.inputs[2]);
      if (node.inputs.size() > 4 && stored_integer(node.inputs[4]) != 1) return std::nullopt;
    }
    if (!axis || !begin || !end) return std::nullopt;
    if (*axis < 0) *axis += rank;
    const auto size = size_of(*axis);
    if (!size) return std::nullopt;
    if (*begin < 0) *begin += *size;
    if (*end < 0) *end += *size;
    if (node.op == "Gather") end = *begin + 1;
    return Piece{id, *axis, std::clamp<std::int64_t>(*begin, 0, *size), std::clamp<std::int64_t>(*end, 0, *size)};
  }

  bool fuse_split(ValueId value) {
    std::vector<Piece> pieces;
    for (const std::int32_t reader : graph_.readers(value)) {
      const std::optional<Piece> piece = piece_of(reader, value);
      if (piece && (pieces.empty() || piece->axis == pieces.front().axis)) pieces.push_back(*piece);
    }
    if (pieces.size() < 2) return false;
    std::ranges::sort(pieces, {}, &Piece::begin);
    std::int64_t next = 0;
    for (const Piece& each : pieces)
      if (each.end <= each.begin || std::exchange(next, each.end) != each.begin) return false;
    if ((*graph_.shape(value))[static_cast<std::size_t>(pieces.front().axis)] != Dim(next)) return false;
    LoadedNode split = made_node("Split", {value});
    for (const Piece& each : pieces) {
      split.outputs.push_back(graph_.node(each.node).outputs.front());
      graph_.remove(each.node);
    }
    graph_.add_node(std::move(split));
    return true;
  }

  LoadedGraph& graph_;
  const std::vector<bool>& is_taken_;  // by node: the provider took it
  std::string_view text_;              // of the pattern, what is left
  std::map<std::string_view, ValueId> bound_;
  std::vector<std::int32_t> nodes_;  // that match
  std::vector<ValueId> inputs_;      // of the node that they become
};

bool LoadedGraph::fuse_early() {
  bool has_changed = false;
  const std::vector<bool> all;
  Fuser fuser(*this, all);
  for (const FusionRow& row : kFusions)
    if (row.early_opset > 0 && model_.opset("") >= row.early_opset) has_changed |= fuser.fuse(row);
  return has_changed;
}

void LoadedGraph::fuse_late(const std::vector<std::string>& fusions, const std::vector<bool>& is_taken) {
  constexpr int kMostSteps = 10;
  Fuser fuser(*this, is_taken);
  bool has_changed = true;
  for (int step = 0; step < kMostSteps && std::exchange(has_changed, false); ++step)
    for (const std::string& name : fusions) {
      if (name == kSplits) has_changed |= fuser.fuse_splits();
      if (name == kSums) has_changed |= fuse_sums(false);
      for (const FusionRow& row : kFusions)
        if (row.name == name) has_changed |= fuser.fuse(row);
    }
}

}  // namespace pagoda::inline core
