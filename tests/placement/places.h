// A graph and where the runtime puts its nodes.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "pagoda/core/analyze.h"
#include "pagoda/core/placement.h"
#include "pagoda/estimate/make_estimate.h"
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
  std::int32_t parts;                               // of the default form
  std::optional<std::size_t> to_host, to_provider;  // empty: the answers do not tell
  const char* reason;                               // of the first node on the CPU in the plain form
  const char* cure;                                 // a part of it; null: none is known
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
  if (each.to_host) CHECK(to_host == *each.to_host);
  if (each.to_provider) CHECK(placed.copies.size() - to_host == *each.to_provider);
  const auto left = std::ranges::find(plain.nodes, PlacedOn::Cpu, &PlacedNode::on);
  CHECK((left == plain.nodes.end() ? "" : left->reason) == each.reason);
}

// The reason has its cure in an estimate; where no node is left in the graph as it runs, there is none.
inline void check_cure(const PlacedCase& each, const documents::EstimatePlacement& placed) {
  const auto reason = std::ranges::find(placed.reasons, each.reason, &documents::EstimatePlacement::Reason::reason);
  CHECK((reason == placed.reasons.end()) == (placed.off.nodes == 0));
  if (reason == placed.reasons.end()) return;
  REQUIRE(reason->cure.empty() == (each.cure == nullptr));
  if (each.cure != nullptr) CHECK(reason->cure.find(each.cure) != std::string::npos);
}

inline void check_cures(std::span<const PlacedCase> cases, const Provider& provider) {
  for (const PlacedCase& each : cases) {
    CAPTURE(each.what);
    check_cure(each, estimate::make_estimate(test::graph(each.graph), {.providers = {provider}}).placement.front());
  }
}

}  // namespace pagoda
