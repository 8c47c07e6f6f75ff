// Traces the batch axis of recurrent operators' inputs back to the graph inputs.
#include "infer/bind_inputs.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "graph/index.h"
#include "ops/op_rule.h"

namespace pagoda::inline core {
namespace {

using Axis = std::size_t;

// X is [sequence, batch, features], initial_h and initial_c are [directions, batch, hidden]; with layout 1 the batch
// comes first (Operators.md of ONNX, ContribOperators.md of ONNX Runtime).
constexpr std::array<std::size_t, 3> kBatched = {0, 5, 6};

class Tracer {
 public:
  explicit Tracer(const Graph& graph) : graph_(graph) {}

  std::vector<std::optional<Axis>> run() {
    axes_.resize(graph_.inputs.size());
    for (const Node& node : graph_.nodes) {
      if (!may_be_recurrent(node) || ops::facts_of(node).batch != BatchAxis::Sequence) continue;
      if (producer_.empty()) {
        producer_ = producers_of(graph_);
        input_.resize(graph_.values.size());
        is_seen_.resize(graph_.values.size(), false);
        for (std::size_t i = 0; i < graph_.inputs.size(); ++i) input_[index(graph_.inputs[i])] = i;
      }
      const Axis axis = node.integer("layout", 0) == 1 ? 0 : 1;
      for (const std::size_t position : kBatched) follow(node.input(position), axis);
    }
    return std::move(axes_);
  }

 private:
  static bool may_be_recurrent(const Node& node) {
    static const std::vector<std::string_view> kNames = [] {
      std::vector<std::string_view> names;
      for (const ops::Family& family : ops::families())
        for (const OpRule& rule : family.rules)
          if (rule.facts.batch == BatchAxis::Sequence) names.push_back(rule.name);
      return names;
    }();
    return std::find(kNames.begin(), kNames.end(), node.op_type) != kNames.end();
  }

  bool is_stored(ValueId id) const { return id != kAbsent && graph_.is_stored(id); }

  // The input value that `node` takes its axes from, and which of its axes becomes `axis`; empty where that is unknown.
  std::optional<std::pair<ValueId, Axis>> behind(const Node& node, Axis axis) const {
    switch (ops::facts_of(node).batch) {
      case BatchAxis::Same:
        return std::pair{is_stored(node.input(0)) ? node.input(1) : node.input(0), axis};
      case BatchAxis::First:
        return std::pair{node.input(0), axis};
      case BatchAxis::Indexed:
        if (node.integer("axis", 0) != 0 || !is_stored(node.input(0))) return std::nullopt;
        return std::pair{node.input(1), axis};
      case BatchAxis::Permuted: {
        const auto* perm = node.integers("perm");
        if (perm == nullptr || axis >= perm->size() || (*perm)[axis] < 0) return std::nullopt;
        return std::pair{node.input(0), static_cast<Axis>((*perm)[axis])};
      }
      case BatchAxis::Unknown:
      case BatchAxis::Lost:
      case BatchAxis::Sequence:
        break;
    }
    return std::nullopt;
  }

  // The first operator that determines an axis of a value decides, so each value is visited once.
  void follow(ValueId id, Axis axis) {
    while (id != kAbsent && !is_seen_[index(id)]) {
      is_seen_[index(id)] = true;
      if (const auto input = input_[index(id)]) {
        axes_[*input] = axis;
        return;
      }
      const std::int32_t node = producer_[index(id)];
      const auto next = node < 0 ? std::nullopt : behind(graph_.nodes[index(node)], axis);
      if (!next) return;
      std::tie(id, axis) = *next;
    }
  }

  const Graph& graph_;
  std::vector<std::int32_t> producer_;             // by ValueId; empty as long as no node is recurrent
  std::vector<std::optional<std::size_t>> input_;  // by ValueId: its index among the inputs
  std::vector<bool> is_seen_;
  std::vector<std::optional<Axis>> axes_;
};

}  // namespace

std::vector<std::optional<std::size_t>> batch_axes(const Graph& graph) { return Tracer(graph).run(); }

}  // namespace pagoda::inline core
