#include "memory/liveness.h"

#include <algorithm>

namespace pagoda {
namespace {

constexpr std::size_t kNever = static_cast<std::size_t>(-1);

// Keeps the expressions of which none is known to be below another; their max is the max of all seen.
class Maxima {
 public:
  void add(const Dim& candidate) {
    for (const Dim& kept : kept_)
      if (greater_equal(kept, candidate) == true) return;
    std::erase_if(kept_, [&](const Dim& kept) { return greater_equal(candidate, kept) == true; });
    kept_.push_back(candidate);
    if (kept_.size() > kMaxCandidates) throw TooComplex("the peak's formula has too many alternatives");
  }
  Dim max() const {
    Dim result = 0;
    for (const Dim& kept : kept_) result = pagoda::max(result, kept);
    return result;
  }

 private:
  static constexpr std::size_t kMaxCandidates = 16;
  std::vector<Dim> kept_;
};

}  // namespace

std::optional<Dim> activation_peak(const Graph& graph, const std::vector<ValueInfo>& values, const std::vector<Mark>& marks) {
  // Storage of each value: itself, or the root that its chain of views begins at.
  std::vector<ValueId> root(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) root[i] = static_cast<ValueId>(i);
  std::vector<std::size_t> last_use(values.size(), kNever);
  const auto use = [&](ValueId id, std::size_t step) {
    if (id != kAbsent) last_use[static_cast<std::size_t>(root[static_cast<std::size_t>(id)])] = step;
  };
  // Nodes whose bodies capture outer values read them too.
  for (std::size_t step = 0; step < graph.nodes.size(); ++step) {
    const Node& node = graph.nodes[step];
    if (marks[step] == Mark::View && !node.inputs.empty() && node.inputs[0] != kAbsent && node.op_type != "If" &&
        node.op_type != "Loop" && node.op_type != "Scan")
      for (const ValueId output : node.outputs)
        if (output != kAbsent) root[static_cast<std::size_t>(output)] = root[static_cast<std::size_t>(node.inputs[0])];
    for (const ValueId input : node.inputs) use(input, step);
    for (const ValueId output : node.outputs) use(output, step);
  }
  for (const ValueId output : graph.outputs) use(output, graph.nodes.size());

  std::vector<std::optional<Dim>> bytes(values.size());
  const auto size_of = [&](std::size_t id) -> const Dim& {
    if (!bytes[id]) {
      const ValueInfo& info = values[id];
      bytes[id] = info.constant || info.host || info.type.container != Container::Tensor
                      ? Dim(0)
                      : byte_size(element_count(info.type.shape.value()), info.type.element);
    }
    return *bytes[id];
  };

  try {
    std::vector<std::vector<ValueId>> dies(graph.nodes.size() + 1);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (root[i] == static_cast<ValueId>(i) && last_use[i] != kNever) dies[last_use[i]].push_back(static_cast<ValueId>(i));
    Dim live = 0;
    for (const ValueId input : graph.inputs)
      if (last_use[static_cast<std::size_t>(input)] != kNever) live += size_of(static_cast<std::size_t>(input));
    Maxima peak;
    peak.add(live);
    for (std::size_t step = 0; step < graph.nodes.size(); ++step) {
      bool grew = false;
      for (const ValueId output : graph.nodes[step].outputs) {
        if (output == kAbsent || root[static_cast<std::size_t>(output)] != output) continue;
        const Dim& size = size_of(static_cast<std::size_t>(output));
        grew = grew || size != Dim(0);
        live += size;
      }
      if (grew) peak.add(live);
      for (const ValueId dead : dies[step]) live -= size_of(static_cast<std::size_t>(dead));
    }
    return peak.max();
  } catch (const TooComplex&) {
    return std::nullopt;
  } catch (const std::bad_optional_access&) {  // a value of unknown rank
    return std::nullopt;
  }
}

}  // namespace pagoda
