// Joins of ONNX Runtime's profiles, release by release, held against the graph that ran: data/ort/joins.json says for
// each kernel which nodes of the file it did, as ort_truth.py read it from the runtime's optimised model.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "import/import_data.h"
#include "pagoda/base/json.h"

namespace pagoda::measured {
namespace {

// Why a kernel that the runtime added has no node.
const char* reason_of(const std::string& added) {
  if (added.starts_with("gemm_")) return "reshape around a fused product";
  if (added.starts_with("InsertedPrecisionFreeCast_")) return "change of type";
  return added.starts_with("Transpose") ? "transpose moved by the engine" : "change of layout";
}

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  return texts;
}

std::string text_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

std::string nodes_of(const documents::MeasuredKernel& kernel, const documents::EstimateDocument& estimate) {
  std::vector<std::string> names;
  if (kernel.joined)
    for (const std::size_t row : kernel.joined->nodes) names.push_back(estimate.nodes[row].name);
  return text_of(sorted(names));
}

}  // namespace

TEST_CASE("each kernel of ONNX Runtime joins the nodes that it did, whatever the release, the level and the exporter") {
  const std::string path = test::data_path("ort/joins.json");
  const base::JsonDocument document = base::parse_json(test::read_file(path), path, "joins");
  std::map<std::string, documents::EstimateDocument> estimates;
  for (const base::JsonField& row : document.root().array()) {
    const std::string profile = row.text("profile"), model = row.text("model");
    CAPTURE(profile);
    if (!estimates.contains(model)) estimates[model] = test::estimate_of("tests/import/data/ort/" + model);
    const documents::EstimateDocument& estimate = estimates[model];
    documents::Measured measured = measured::load_profile(test::data_path("ort/" + profile));
    join(measured, estimate);
    CHECK(static_cast<std::int64_t>(measured.kernels.size()) == row.integer("kernels"));

    std::map<std::string, std::string> reasons;
    for (const Unjoined& left : unjoined_kernels(measured)) reasons[measured.kernels[left.kernel].name] = left.why;
    const std::vector<std::string> added = sorted(row.texts("added")), undecided = sorted(row.texts("undecided"));
    std::map<std::string, std::vector<std::string>> others;
    for (const auto& [name, nodes] : row.at("others").members()) others[name] = sorted(nodes.texts());
    for (const documents::MeasuredKernel& kernel : measured.kernels) {
      CAPTURE(kernel.name);
      if (std::ranges::binary_search(undecided, kernel.name)) continue;
      if (std::ranges::binary_search(added, kernel.name)) {
        CHECK(!kernel.joined);
        CHECK(reasons[kernel.name] == reason_of(kernel.name));
        continue;
      }
      const auto other = others.find(kernel.name);
      CHECK(nodes_of(kernel, estimate) == (other == others.end() ? kernel.name : text_of(other->second)));
    }
  }
}

}  // namespace pagoda::measured
