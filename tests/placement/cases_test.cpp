// Cases that people reported, rebuilt as small graphs, each before and after its cure: cases.json holds the report and
// the runtime's answers about both graphs, in both forms. "sides" has a letter a node: p(rovider), c(pu), f(olded); a
// node that the provider's own rewriting made part of another counts where that one is.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "pagoda/base/json.h"
#include "pagoda/documents/provider.h"
#include "placement/places.h"
#include "support/files.h"

namespace pagoda {
namespace {

std::string sides(const GraphPlacement& placed) {
  std::string letters = places(placed);
  std::ranges::replace(letters, 'u', 'p');
  return letters;
}

struct Placed {
  std::int64_t off = 0;
  std::size_t copies = 0;
};

Placed check_answer(const Model& model, const Provider& provider, PlacementForm form, const base::JsonField& answer) {
  const GraphPlacement placed = place(model, analyze(model), provider, {.form = form});
  CHECK(sides(placed) == answer.text("sides"));
  CHECK(placed.parts == answer.integer("parts"));
  const auto to_host = std::ranges::count(placed.copies, true, &PlacedCopy::is_to_host);
  if (const auto copied = answer.integer("to_host")) CHECK(to_host == *copied);
  if (const auto copied = answer.integer("from_host"))
    CHECK(static_cast<std::int64_t>(placed.copies.size()) - to_host == *copied);
  return {std::ranges::count(placed.nodes, PlacedOn::Cpu, &PlacedNode::on), placed.copies.size()};
}

}  // namespace

TEST_CASE("reported cases are placed as the runtime places them, before and after the cure") {
  const std::string path = test::source_path("tests/placement/cases.json");
  const base::JsonDocument document = base::parse_json(test::read_file(path), path, "cases");
  for (const base::JsonField& each : document.root().array()) {
    const std::string id = each.text("id");
    CAPTURE(id);
    const Provider provider = documents::find_provider(each.text("provider"));
    Placed by_default[2];
    for (const bool is_cured : {false, true}) {
      CAPTURE(is_cured);
      const base::JsonField one = each.at(is_cured ? "after" : "before");
      const Model model = test::graph(one.text("graph"));
      check_answer(model, provider, PlacementForm::Plain, one.at("plain"));
      by_default[is_cured ? 1 : 0] = check_answer(model, provider, PlacementForm::Default, one.at("default"));
    }
    CHECK(by_default[1].off <= by_default[0].off);
    CHECK(by_default[1].copies <= by_default[0].copies);
  }
}

}  // namespace pagoda
