// Finds parallel convolutions that are one convolution, and writes the graph with it in their place.
#include "pagoda/core/merged_branches.h"

#include <algorithm>
#include <map>
#include <utility>

#include "predict/graph_facts.h"
#include "predict/pytorch.h"

namespace pagoda::inline core {
namespace {

// A sum of parallel branches.
struct MergedBranches {
  std::int32_t root = -1;           // the node that gives the sum
  std::int32_t convolution = -1;    // the node with the largest window, which becomes that of the merged convolution
  std::vector<std::int32_t> parts;  // all nodes, with these two
};

// A value as a sum of convolutions and scaled copies of one source.
struct BranchSum {
  std::vector<std::int32_t> parts;  // nodes between the source and the value
  std::int32_t convolution = -1;    // with the largest window; -1: none
  std::int64_t convolutions = 0, sums = 0;
  std::int64_t height = 1, width = 1;   // of the largest window
  std::int64_t stride = 1, groups = 0;  // without a convolution: the source itself, in any number of groups
  bool has_norm = false;                // of the source itself

  bool covers(const BranchSum& other) const { return height >= other.height && width >= other.width; }
};

class BranchFinder : Links {
 public:
  BranchFinder(const Model& model, const Analysis& analysis)
      : Links(model.main(), analysis),
        constant_(constants_by_mark(graph(), analysis, {Mark::Folded})),
        forms_(graph().values.size()),
        is_claimed_(graph().nodes.size(), false) {}

  std::vector<MergedBranches> run() {
    for (const Node& node : graph().nodes)
      if (!node.outputs.empty()) follow(node.output(0), id(node));
    std::vector<MergedBranches> found;
    for (std::size_t n = graph().nodes.size(); n-- > 0;) {
      if (is_claimed_[n] || graph().nodes[n].outputs.empty()) continue;
      const auto root = static_cast<std::int32_t>(n);
      const BranchSum* best = nullptr;
      for (const auto& [source, sum] : forms_[index(graph().nodes[n].output(0))])
        if (is_merged(sum) && (best == nullptr || sum.parts.size() > best->parts.size()) && is_closed(sum, root))
          best = &sum;
      if (best == nullptr) continue;
      for (const std::int32_t part : best->parts) is_claimed_[index(part)] = true;
      found.push_back({root, best->convolution, best->parts});
    }
    return found;
  }

 private:
  using Forms = std::map<ValueId, BranchSum>;  // by source
  static constexpr std::size_t kMostParts = 32;

  static bool is_merged(const BranchSum& sum) {
    return sum.sums > 0 && (sum.convolutions > 1 || (sum.convolutions == 1 && sum.has_norm));
  }
  // Whether nothing outside reads what only the sum computes.
  bool is_closed(const BranchSum& sum, std::int32_t root) const {
    return std::all_of(sum.parts.begin(), sum.parts.end(), [&](std::int32_t part) {
      if (is_claimed_[index(part)]) return false;
      if (part == root) return true;
      const ValueId result = graph().node(part).output(0);
      const auto& read_by = readers(result);
      return !is_output(result) && std::all_of(read_by.begin(), read_by.end(), [&](std::int32_t reader) {
        return std::find(sum.parts.begin(), sum.parts.end(), reader) != sum.parts.end();
      });
    });
  }

  bool is_image(ValueId value) const {
    const Shape* known = shape(value);
    return known != nullptr && known->size() == 4;
  }
  bool is_constant(ValueId value) const { return value == kAbsent || constant_[index(value)]; }

  // The forms of a node's operand, the operand itself among them.
  Forms forms_of(ValueId value) const {
    Forms forms = forms_[index(value)];
    forms.emplace(value, BranchSum());
    return forms;
  }

  void follow(ValueId result, std::int32_t id) {
    const Node& node = graph().node(id);
    if (!is_image(result) || node.inputs.empty() || is_constant(result) || !node.domain.empty()) return;
    Forms& forms = forms_[index(result)];
    const base::Name& op = node.op_type;
    if (op == "Conv") {
      if (auto sum = convolution_of(node, id)) forms.emplace(node.input(0), std::move(*sum));
      return;
    }
    const bool is_sum = op == "Add" || op == "Sub";
    if (!is_sum && op != "Mul" && op != "BatchNormalization" && op != "Identity") return;
    if (is_sum && node.inputs.size() == 2 && !is_constant(node.input(0)) && !is_constant(node.input(1)))
      return add(node, id, forms);
    const std::size_t place = is_constant(node.input(0)) ? 1 : 0;
    if (place >= node.inputs.size() || !is_image(node.input(place))) return;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (i != place && !is_constant(node.input(i))) return;
    for (auto& [source, sum] : forms_of(node.input(place))) {
      BranchSum scaled = sum;
      scaled.has_norm = scaled.has_norm || (op == "BatchNormalization" && sum.parts.empty());
      scaled.parts.push_back(id);
      if (scaled.parts.size() <= kMostParts) forms.emplace(source, std::move(scaled));
    }
  }

  std::optional<BranchSum> convolution_of(const Node& node, std::int32_t id) const {
    if (!is_image(node.input(0)) || !is_constant(node.input(1)) || !is_image(node.input(1))) return std::nullopt;
    if (const auto* dilations = node.integers("dilations"); dilations != nullptr)
      if (std::any_of(dilations->begin(), dilations->end(), [](auto size) { return size != 1; })) return std::nullopt;
    BranchSum sum{.parts = {id}, .convolution = id, .convolutions = 1};
    const Shape& weight = *shape(node.input(1));
    if (!weight[2].is_constant() || !weight[3].is_constant()) return std::nullopt;
    sum.height = static_cast<std::int64_t>(weight[2].evaluate({}));
    sum.width = static_cast<std::int64_t>(weight[3].evaluate({}));
    sum.groups = node.integer("group", 1);
    const auto* strides = node.integers("strides");
    sum.stride = strides == nullptr || strides->empty() ? 1 : strides->front();
    return sum;
  }

  void add(const Node& node, std::int32_t id, Forms& forms) const {
    if (node.input(0) == node.input(1)) return;
    const Forms left = forms_of(node.input(0)), right = forms_of(node.input(1));
    for (const auto& [source, a] : left) {
      const auto found = right.find(source);
      if (found == right.end()) continue;
      const BranchSum& b = found->second;
      const bool are_alike = a.groups == b.groups || a.groups == 0 || b.groups == 0;
      if (a.stride != b.stride || !are_alike || !(a.covers(b) || b.covers(a))) continue;
      const bool takes_a = b.convolution < 0 || (a.convolution >= 0 && a.covers(b));
      BranchSum sum = takes_a ? a : b;
      sum.convolutions = a.convolutions + b.convolutions;
      sum.sums = a.sums + b.sums + 1;
      sum.has_norm = a.has_norm || b.has_norm;
      sum.parts = a.parts;
      for (const std::int32_t part : b.parts)
        if (std::find(sum.parts.begin(), sum.parts.end(), part) == sum.parts.end()) sum.parts.push_back(part);
      sum.parts.push_back(id);
      if (sum.parts.size() <= kMostParts) forms.emplace(source, std::move(sum));
    }
  }

  std::vector<bool> constant_;
  std::vector<Forms> forms_;
  std::vector<bool> is_claimed_;
};

}  // namespace

std::optional<MergedForm> merged_form(const Model& model, const Analysis& analysis) {
  if (model.graphs.empty()) return std::nullopt;
  const std::vector<MergedBranches> found = BranchFinder(model, analysis).run();
  if (found.empty()) return std::nullopt;
  MergedForm form{.model = model, .blocks = static_cast<std::int64_t>(found.size())};
  Graph& graph = form.model.graphs.front();
  std::vector<bool> is_removed(graph.nodes.size(), false);
  for (const MergedBranches& sum : found) {
    for (const std::int32_t part : sum.parts) is_removed[index(part)] = part != sum.convolution;
    Node& node = graph.nodes[index(sum.convolution)];
    node.outputs = {graph.node(sum.root).output(0)};
    Tensor& bias = graph.initializers.emplace_back();
    bias.name = graph.value(node.output(0)).name + std::string(pytorch::kMergedBias);
    bias.type = {.element = graph.is_stored(node.input(1))
                                ? graph.initializer(graph.value(node.input(1)).initializer).type.element
                                : analysis.types[index(node.input(1))].element,
                 .shape = Shape{(*shape_of(analysis, node.input(1)))[0]}};
    Value& value = graph.values.emplace_back();
    value.name = bias.name;
    value.initializer = static_cast<std::int32_t>(graph.initializers.size() - 1);
    node.inputs.resize(3, kAbsent);
    node.inputs[2] = static_cast<ValueId>(graph.values.size() - 1);
  }
  std::vector<Node> kept;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (!is_removed[n]) kept.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(kept);
  return form;
}

}  // namespace pagoda::inline core
