// The table of columns: every output has every column that applies to it, the schema knows each, docs/columns.md lists
// them.
#include "pagoda/documents/columns.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "pagoda/core/sweep.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/compare.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/present/report.h"
#include "pagoda/present/viewers.h"
#include "support/golden.h"
#include "support/json_schema.h"
#include "support/text_graph.h"

namespace pagoda::present {
namespace {

using documents::columns_of;
using documents::EstimateDocument;
using documents::ResultColumn;
using documents::RowKind;
using documents::View;
using nlohmann::json;
using Names = std::set<std::string>;

constexpr const char* kNet =
    "x:f32[batch,3,32,32], w:f32[8,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]} @ conv; y = Relu(c) @ relu";

// Everything that adds columns.
EstimateDocument everything(bool by_type = false) {
  estimate::EstimateRequest request{
      .sizes = {.batch = 4}, .traffic = TrafficModel::Fused, .precision = Precision::Float16};
  request.row_formulas = true;
  request.by_type = by_type;
  request.device = documents::find_device("l4");
  estimate::set_prediction("", "", request);
  return estimate::make_estimate(test::graph(kNet), request);
}

Names csv_names(Rows rows) {
  const EstimateDocument estimate = everything(rows == Rows::Type);
  const std::string text = csv_report(estimate, {.rows = rows, .row_formulas = true});
  Names names;
  std::stringstream header(text.substr(0, text.find('\r')));
  for (std::string name; std::getline(header, name, ',');) names.insert(name);
  return names;
}

Names members_of(const json& object) {
  Names names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

struct JsonList {
  const char* pointer;  // of the objects in the schema
  RowKind kind;
};
constexpr JsonList kLists[] = {{"/$defs/node", RowKind::Node},
                               {"/$defs/type", RowKind::Type},
                               {"/properties/traffic/properties/groups/items", RowKind::Kernel},
                               {"/$defs/bound", RowKind::NodeTime},
                               {"/properties/training/properties/rows/items", RowKind::StepTime}};

TEST_CASE("the schema of estimates has the columns of the table, and requires only those that are always written") {
  const json schema = test::schema("estimate");
  for (const JsonList& list : kLists) {
    CAPTURE(std::string(list.pointer));
    const json& object = schema.at(json::json_pointer(list.pointer));
    Names described = members_of(object.at("properties")), required;
    for (const json& name : object.at("required")) required.insert(name);
    Names written, always;
    for (const ResultColumn* column : columns_of(list.kind, View::Json)) {
      written.insert(column->name);
      const bool is_of_times = list.kind != RowKind::Node && column->is_timed();
      if (!column->is_left_out && (column->when == nullptr || is_of_times)) always.insert(column->name);
    }
    described.erase("lower_bounds");  // writers add it to every object of counts
    CHECK(described == written);
    CHECK(std::includes(always.begin(), always.end(), required.begin(), required.end()));
  }
}

TEST_CASE("every number and fact of a row in JSON is a column of CSV and Python") {
  struct Case {
    Rows rows;
    RowKind kind, time;
  };
  for (const Case& each :
       {Case{Rows::Node, RowKind::Node, RowKind::NodeTime}, Case{Rows::Group, RowKind::Kernel, RowKind::KernelTime},
        Case{Rows::Type, RowKind::Type, RowKind::Type}}) {
    const Names csv = csv_names(each.rows);
    Names python;
    for (const ResultColumn* column : columns_of(each.kind, View::Python)) python.insert(column->name);
    Names facts;
    for (const ResultColumn* column : columns_of(each.kind, View::Json)) facts.insert(column->name);
    if (facts.erase("symbolic") == 1) facts.insert({"macs_formula", "flops_formula", "bytes_formula"});
    for (const ResultColumn* column : columns_of(each.time, View::Json))
      facts.insert(each.time != each.kind && column->name == std::string("precision") ? "peak_precision"
                                                                                      : column->name);
    facts.erase("symbolic");
    for (const std::string& fact : facts) {
      CAPTURE(fact);
      CHECK(csv.contains(fact));
      if (each.kind != RowKind::Type) CHECK(python.contains(fact));
    }
    CHECK(csv.contains("predicted_seconds"));
  }
}

TEST_CASE("comparisons and viewers have every count of a node") {
  const EstimateDocument estimate = everything();
  const json comparison =
      json::parse(comparison_report(Format::Json, estimate, estimate, estimate::compare(estimate, estimate)));
  const Names compared = members_of(comparison.at("nodes").at(0).at("before"));
  const std::vector<std::string> metrics = metric_names();
  for (const auto& count : documents::kEstimateCounts) {
    const std::string name = count.first;
    CAPTURE(name);
    CHECK(compared.contains(name));
    CHECK(comparison.at("totals").contains(name));
    CHECK(std::find(metrics.begin(), metrics.end(), name) != metrics.end());
  }
}

TEST_CASE("a column that no output shows is an error of the table") {
  for (const ResultColumn& column : documents::all_columns()) {
    CAPTURE(std::string(column.name));
    CHECK(std::any_of(column.kinds.begin(), column.kinds.end(), [](const auto& kinds) { return kinds.bits != 0; }));
    CHECK((column.terminal.header != nullptr) == (column.kinds[static_cast<std::size_t>(View::Terminal)].bits != 0));
    CHECK((column.label != nullptr) == (column.kinds[static_cast<std::size_t>(View::Viewer)].bits != 0));
    CHECK(std::string_view(column.meaning).ends_with('.'));
  }
}

// docs/columns.md.
std::string reference() {
  constexpr std::pair<RowKind, const char*> kKinds[] = {
      {RowKind::Node, "Nodes"}, {RowKind::Kernel, "Kernels"}, {RowKind::Type, "Types of operators"}};
  std::string text =
      "# Columns of results\n\n"
      "The columns of CSV and of Python's `nodes` and `kernels`, in CSV's order; JSON has the same facts under the "
      "same names. An unknown\n"
      "value is empty in CSV, `None` in Python and `null` in JSON. Columns of times need a device, predicted times an "
      "engine, columns of a\n"
      "training step `--training`, formulas `--symbolic`, and a group a traffic model other than unfused.\n"
      "This page is written by `tests/report` with PAGODA_UPDATE_GOLDEN=1.\n";
  for (const auto& [kind, title] : kKinds) {
    text += "\n## " + std::string(title) + "\n| column | unit | meaning |\n|---|---|---|\n";
    for (const ResultColumn* column : columns_of(kind, View::Csv))
      text += "| `" + std::string(column->name) + "` | " + std::string(documents::unit(column->kind)) + " | " +
              column->meaning + " |\n";
  }
  return text;
}

TEST_CASE("docs/columns.md lists the columns") { test::check_golden("../../docs/columns.md", reference()); }

TEST_CASE("a count keeps that it is only a lower bound, through sums, files and cells") {
  const documents::Count five(5), bound = documents::Count(7).at_least();
  CHECK((five + bound) == documents::Count(12).at_least());
  CHECK_FALSE((five + five).is_at_least());
  CHECK_FALSE((bound + documents::Count()).has_value());
  CHECK(documents::number(documents::to_cell(bound)) == 7);

  constexpr const char* kData =
      "x:f32[n,4] -> i = NonZero(x); t = Transpose(i) {perm=[1,0]}; f = Cast(t) {to=f32}; y = Mul(f, f); z = Relu(x)"
      " => y, z";
  estimate::EstimateRequest request{.traffic = TrafficModel::Fused};
  request.device = documents::find_device("l4");
  const EstimateDocument estimate = estimate::make_estimate(test::graph(kData), request);
  const auto of = [&](std::string_view op) {
    for (const documents::EstimateNode& node : estimate.nodes)
      if (node.op_type.view() == op) return node.counts;
    return documents::EstimateCounts();
  };
  CHECK(of("Mul").flops.is_at_least());
  CHECK_FALSE(of("Mul").params.is_at_least());
  CHECK_FALSE(of("Relu").bytes.is_at_least());
  CHECK(estimate.totals.counts.bytes.is_at_least());
  CHECK(estimate.totals.activation_peak_bytes.is_at_least());
  CHECK(estimate.traffic->bytes.is_at_least());
  CHECK(estimate.roofline->totals.at_least);

  const std::string text = documents::write_estimate(estimate);
  const EstimateDocument read = documents::parse_estimate(text, "e.json");
  CHECK(read.unknown.empty());
  CHECK(documents::write_estimate(read) == text);
  CHECK(read.totals.counts == estimate.totals.counts);

  request.by_type = true;
  const EstimateDocument by_type = estimate::make_estimate(test::graph(kData), request);
  for (const documents::EstimateType& type : *by_type.types)
    CHECK(type.counts.arith.is_at_least() == (type.op_type == "Mul"));
  const std::string csv = csv_report(by_type, {.rows = Rows::Type});
  CHECK(csv.substr(0, csv.find('\r')).ends_with(",lower_bounds"));
}

TEST_CASE("dims without a value are listed by the names of the file, and read back") {
  const auto unset = [](const char* text, std::vector<SweepAxis> sweep = {}) {
    estimate::EstimateRequest request;
    request.sweep = std::move(sweep);
    request.device = documents::find_device("l4");
    const EstimateDocument estimate = estimate::make_estimate(test::graph(text), request);
    const std::string written = documents::write_estimate(estimate);
    const EstimateDocument read = documents::parse_estimate(written, "e.json");
    CHECK(read.unset == estimate.unset);
    CHECK(read.unknown.empty());
    CHECK(documents::write_estimate(read) == written);
    return estimate.unset;
  };
  using List = std::vector<std::string>;
  CHECK(unset("x:f32[batch,3] -> y = Relu(x)").empty());  // the batch may stay 1
  CHECK(unset("x:f32[N,3,h,w] -> y = Relu(x)") == List{"h", "w"});
  CHECK(unset("x:f32[N,3,h,w] -> y = Relu(x)", {parse_axis("h=1,2")}) == List{"w"});
  CHECK(unset("x:f32[N,seq], y:f32[N,seq] -> z = Add(x, y)") == List{"seq"});
}

}  // namespace
}  // namespace pagoda::present
