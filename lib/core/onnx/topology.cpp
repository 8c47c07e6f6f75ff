// Topological order of nodes.
#include <algorithm>
#include <functional>
#include <queue>

#include "graph/index.h"
#include "onnx/load.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"

namespace pagoda::inline core::wire {
namespace {

// Follows unfinished producers from an unfinished node until one repeats: the repeated part is a cycle.
[[noreturn]] void report_cycle(const Graph& graph, const Reads& reads, const std::vector<std::int32_t>& producer,
                               const std::vector<std::size_t>& waiting) {
  std::size_t node = 0;
  while (waiting[node] == 0) ++node;
  std::vector<std::size_t> path, seen_at(graph.nodes.size(), 0);
  while (seen_at[node] == 0) {
    path.push_back(node);
    seen_at[node] = path.size();
    for (const ValueId value : reads.of(node)) {
      const std::int32_t next = producer[index(value)];
      if (next < 0 || waiting[index(next)] == 0) continue;
      node = index(next);
      break;
    }
  }
  constexpr std::size_t kMostNamed = 6;
  const std::size_t begin = seen_at[node] - 1, length = path.size() - begin;
  std::string names;
  for (std::size_t i = 0; i < std::min(length, kMostNamed); ++i)
    names += (i == 0 ? "" : " needs ") + quoted_name(display_name(graph, graph.nodes[path[begin + i]]));
  names += length > kMostNamed ? " … needs " : " needs ";
  names += quoted_name(display_name(graph, graph.nodes[path[begin]]));
  throw Error(cat("graph ", quoted_name(graph.name), " has a cycle of ", base::counted(length, "node"), ": ", names,
                  ", expected an order in which every input is produced first; the file is damaged, export it again"));
}

}  // namespace

void sort_topologically(Graph& graph, const Reads& reads) {
  const std::vector<std::int32_t> producer = producers_of(graph);
  bool sorted = true;
  for (std::size_t node = 0; node < reads.nodes() && sorted; ++node)
    for (const ValueId value : reads.of(node))
      sorted = sorted && producer[index(value)] < static_cast<std::int32_t>(node);
  if (sorted) return;

  std::vector<std::vector<std::int32_t>> consumers(graph.nodes.size());
  std::vector<std::size_t> waiting(graph.nodes.size(), 0);  // inputs of each node that are not yet produced
  for (std::size_t node = 0; node < reads.nodes(); ++node)
    for (const ValueId value : reads.of(node))
      if (const std::int32_t from = producer[index(value)]; from >= 0) {
        consumers[index(from)].push_back(static_cast<std::int32_t>(node));
        ++waiting[node];
      }
  // Of the ready nodes, the first in the file comes first.
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::size_t node = 0; node < waiting.size(); ++node)
    if (waiting[node] == 0) ready.push(static_cast<std::int32_t>(node));
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  std::vector<std::int32_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::int32_t consumer : consumers[index(order.back())])
      if (--waiting[index(consumer)] == 0) ready.push(consumer);
  }
  if (order.size() < graph.nodes.size()) report_cycle(graph, reads, producer, waiting);
  for (const std::int32_t node : order) nodes.push_back(std::move(graph.nodes[index(node)]));
  graph.nodes = std::move(nodes);
}

}  // namespace pagoda::inline core::wire
