// Finds parallel convolutions that are one convolution (MergedBranches).
#include <algorithm>
#include <map>
#include <optional>

#include "predict/eager_state.h"
#include "predict/graph_facts.h"

namespace pagoda::inline core {
namespace {

// A value as a sum of convolutions and scaled copies of one source.
struct BranchSum {
  std::vector<std::int32_t> parts;  // nodes between the source and the value
  std::int32_t convolution = -1;    // with the largest window; -1: none
  std::int64_t convolutions = 0, sums = 0;
  std::int64_t window = 1;  // positions of the largest window
  std::int64_t stride = 0;  // 0: not stated by a convolution
  bool has_norm = false;    // of the source itself
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
      found.push_back({root, best->convolution, best->parts, best->convolutions});
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
    sum.window = static_cast<std::int64_t>(weight[2].evaluate({})) * static_cast<std::int64_t>(weight[3].evaluate({}));
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
      // The source itself has a stride of 1.
      const std::int64_t stride_a = std::max<std::int64_t>(a.stride, 1), stride_b = std::max<std::int64_t>(b.stride, 1);
      if (stride_a != stride_b) continue;
      BranchSum sum = a.window >= b.window && a.convolution >= 0 ? a : b;
      if (sum.convolution < 0) sum = a.convolution >= 0 ? a : b;
      sum.stride = stride_a;
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

std::vector<MergedBranches> find_merged_branches(const Model& model, const Analysis& analysis) {
  return BranchFinder(model, analysis).run();
}

}  // namespace pagoda::inline core
