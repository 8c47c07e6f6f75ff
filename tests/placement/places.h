// A graph and where the runtime puts its nodes.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "pagoda/core/analyze.h"
#include "pagoda/core/placement.h"
#include "support/text_graph.h"

namespace pagoda {

// One letter a node: p(rovider), c(pu), f(olded), u(sed in another), ? (unknown).
inline std::string places(const GraphPlacement& placed) {
  std::string letters;
  for (const PlacedNode& node : placed.nodes) letters += std::string("pcfu?")[static_cast<std::size_t>(node.on)];
  return letters;
}

struct PlacedCase {
  const char* what;
  const char* graph;
  const char *plain, *by_default;
  std::int32_t parts;  // of the default form
  std::size_t to_host, to_provider;
  const char* reason;  // of the first node on the CPU in the plain form
  const char* cure;    // a part of it; null: none is known
};

inline void check_places(const PlacedCase& each, const Provider& provider) {
  CAPTURE(each.what);
  const Model model = test::graph(each.graph);
  const Analysis analysis = analyze(model);
  const GraphPlacement plain = place(model, analysis, provider, {.form = PlacementForm::Plain});
  const GraphPlacement placed = place(model, analysis, provider);
  CHECK(places(plain) == each.plain);
  CHECK(places(placed) == each.by_default);
  CHECK(placed.parts == each.parts);
  const auto to_host = static_cast<std::size_t>(std::ranges::count(placed.copies, true, &PlacedCopy::is_to_host));
  CHECK(to_host == each.to_host);
  CHECK(placed.copies.size() - to_host == each.to_provider);
  const auto left = std::ranges::find(plain.nodes, PlacedOn::Cpu, &PlacedNode::on);
  CHECK((left == plain.nodes.end() ? "" : left->reason) == each.reason);
}

}  // namespace pagoda
