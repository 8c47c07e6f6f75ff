// Whole reports of small models, and what reports say where something is not known.
#include "pagoda/present/report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/golden.h"
#include "support/json_schema.h"
#include "support/text_graph.h"

namespace pagoda::present {
namespace {

using nlohmann::json;

constexpr const char* kNet =
    "opset=17 : x:f32[batch,3,32,32], w:f32[8,3,3,3]=const, b:f32[8]=const, fc:f32[10,2048]=const, axes:i64[2]=[0,-1] "
    "-> "
    "c = Conv(x, w, b) {strides=[2,2], pads=[1,1,1,1]} @ /stem/conv; r = Relu(c) @ /stem/relu; f = Reshape(r, axes) @ "
    "flat; "
    "y = Gemm(f, fc) {transB=1} @ /head/fc; p = Softmax(y) {axis=1}";
constexpr const char* kUnmodelled =
    "x:f32[4,8], w:f32[8,8]=const -> h = MatMul(x, w); y = my.domain.Secret(h) @ mystery; z = Relu(x)";
constexpr const char* kData =
    "x:f32[n,4] -> i = NonZero(x); t = Transpose(i) {perm=[1,0]}; f = Cast(t) {to=f32}; y = Mul(f, f)";
constexpr const char* kHostile =
    "'in\\e[2Jput':f32[N,2] -> '\\xff\\n|`y`<b>,\"' = Relu('in\\e[2Jput') @ '=cmd|\\x07\\xe2\\x80\\xaename'";

struct Case {
  Model model;
  Analysis analysis;
};

Case analyzed(const char* text, const AnalyzeOptions& options = {}) {
  Model model = test::graph(text);
  Analysis analysis = analyze(model, options);
  return {std::move(model), std::move(analysis)};
}

json parsed(const Case& subject, const present::ReportOptions& options = {}) {
  return json::parse(present::json_report(subject.model, subject.analysis, options));
}

json schema() { return test::schema("estimate"); }

TEST_CASE("the four formats of a model with a free batch") {
  const Case net = analyzed(kNet);
  test::check_golden("report/net.table.txt", present::table_report(net.model, net.analysis));
  test::check_golden("report/net.md", present::markdown_report(net.model, net.analysis));
  test::check_golden("report/net.csv", present::csv_report(net.model, net.analysis));
  test::check_golden("report/net.json", present::json_report(net.model, net.analysis, {.tool = "test 1.0"}));
  CHECK(present::free_dims_report(net.analysis) ==
        "free dims taken as 1: batch; set them with --dim batch=V, or see formulas with --symbolic\n");
}

TEST_CASE("a bound model by type, its formulas, its largest nodes, a narrow terminal") {
  const Case net = analyzed(kNet, {.batch = 8});
  const Case open = analyzed(kNet);
  test::check_golden("report/net8.types.txt",
                     present::table_report(net.model, net.analysis, {.rows = present::Rows::Type}));
  test::check_golden("report/net8.types.json",
                     present::json_report(net.model, net.analysis, {.rows = present::Rows::Type}));
  test::check_golden("report/net.formulas.txt",
                     present::table_report(open.model, open.analysis, {.formulas = true, .node_formulas = true}));
  test::check_golden("report/net.formulas.md",
                     present::markdown_report(open.model, open.analysis, {.formulas = true, .node_formulas = true}));
  test::check_golden("report/net.formulas.csv",
                     present::csv_report(open.model, open.analysis, {.node_formulas = true}));
  test::check_golden("report/net8.top2.narrow.txt",
                     present::table_report(net.model, net.analysis, {.top = 2, .width = 60}));
  CHECK(present::free_dims_report(net.analysis).empty());
}

TEST_CASE("a node without a rule is unknown, not 0, and makes totals lower bounds") {
  const Case subject = analyzed(kUnmodelled);
  test::check_golden("report/unmodelled.table.txt", present::table_report(subject.model, subject.analysis));
  test::check_golden("report/unmodelled.md", present::markdown_report(subject.model, subject.analysis));
  const json report = parsed(subject);
  CHECK(report["totals"]["partial"] == true);
  CHECK(report["totals"]["unmodelled_nodes"] == 1);
  CHECK(report["totals"]["unmodelled_ops"] == json::array({"my.domain.Secret"}));
  CHECK(report["totals"]["macs"] == 4 * 8 * 8);
  CHECK(report["totals"]["intensity"].is_null());
  const json& node = report["nodes"][1];
  CHECK(node["mark"] == "unmodelled");
  CHECK_FALSE(node["problem"].get<std::string>().empty());
  for (const char* counter : {"macs", "arith", "special", "flops", "bytes_read", "bytes_written", "bytes", "intensity"})
    CHECK_MESSAGE(node[counter].is_null(), counter);
  CHECK(parsed(subject, {.rows = present::Rows::Type})["types"].back()["flops"].is_null());
}

TEST_CASE("sizes that the data decide are named with their cause") {
  const Case subject = analyzed(kData);
  test::check_golden("report/data.formulas.txt",
                     present::table_report(subject.model, subject.analysis, {.formulas = true}));
  const json report = parsed(subject);
  REQUIRE(report["symbols"].size() == 1);
  CHECK(report["symbols"][0]["upper"] == "4*n");
  CHECK(present::free_dims_report(subject.analysis).find("sizes that the data decide") != std::string::npos);
  CHECK(present::free_dims_report(subject.analysis).find(" (at most 4*n)") != std::string::npos);
}

TEST_CASE("JSON keeps to its schema") {
  const json rules = schema();
  for (const char* text : {kNet, kUnmodelled, kData, kHostile}) {
    const Case subject = analyzed(text);
    for (const present::ReportOptions& options :
         {present::ReportOptions{},
          present::ReportOptions{
              .rows = present::Rows::Type, .formulas = true, .node_formulas = true, .tool = "test 1.0"},
          present::ReportOptions{.count = Convention::Hardware, .top = 1, .node_formulas = true},
          present::ReportOptions{.count = Convention::Pagoda,
          .published = pagoda_counts(subject.model, subject.analysis)}}) {
      const std::vector<std::string> wrong = test::violations(parsed(subject, options), rules);
      CHECK_MESSAGE(wrong.empty(), text, "\n  ", wrong.empty() ? "" : wrong.front());
    }
  }
}

TEST_CASE("the schema refuses what the contract does not allow") {
  const json rules = schema();
  const json report = parsed(analyzed(kNet));
  const auto refused = [&](const char* pointer, const json& value) {
    json changed = report;
    changed[json::json_pointer(pointer)] = value;
    return !test::violations(changed, rules).empty();
  };
  CHECK(test::violations(report, rules).empty());
  CHECK(refused("/totals/macs", 1.5));
  CHECK(refused("/totals/macs", -1));
  CHECK(refused("/totals/macs", "12"));
  CHECK(refused("/nodes/0/mark", "free"));
  CHECK(refused("/nodes/0/mark", nullptr));
  CHECK(refused("/nodes/0/surprise", 1));
  CHECK(refused("/schema", "pagoda.estimate/2"));
  CHECK(refused("/types", json::array()));
  CHECK(refused("/symbols", json::array()));
}

TEST_CASE("counters follow the convention, everything else does not") {
  const Case net = analyzed(kNet, {.batch = 2});
  const json totals = parsed(net)["totals"];
  const auto flops_of = [&](Convention count) {
    return parsed(net, {.count = count})["totals"]["flops"].get<std::int64_t>();
  };
  const std::int64_t macs = totals["macs"], arith = totals["arith"], special = totals["special"];
  CHECK(totals["flops"] == 2 * macs + arith + special);
  CHECK(flops_of(Convention::Macs) == macs);
  CHECK(flops_of(Convention::Contraction) == 2 * macs);
  CHECK(flops_of(Convention::Hardware) == 2 * macs + arith - totals["comparisons"].get<std::int64_t>());
  const PagodaCounts published = pagoda_counts(net.model, analyze(net.model), 2);
  const json by_pagoda = parsed(net, {.count = Convention::Pagoda, .published = published});
  CHECK(by_pagoda["count"] == "pagoda");
  CHECK(by_pagoda["totals"]["flops"] == static_cast<std::int64_t>(published.total.flops));
  CHECK(by_pagoda["totals"]["bytes"] == static_cast<std::int64_t>(published.total.memory_bytes));
  CHECK(by_pagoda["totals"]["bytes_read"].is_null());
  CHECK(by_pagoda["totals"]["macs"] == macs);
}

TEST_CASE("numbers of nodes and of types add up to the totals") {
  const Case net = analyzed(kNet, {.batch = 8});
  const json by_node = parsed(net);
  const json by_type = parsed(net, {.rows = present::Rows::Type});
  for (const char* counter : {"macs", "arith", "special", "comparisons", "flops", "params", "param_bytes", "bytes"}) {
    std::int64_t nodes = 0, types = 0;
    for (const json& node : by_node["nodes"]) nodes += node[counter].get<std::int64_t>();
    for (const json& type : by_type["types"]) types += type[counter].get<std::int64_t>();
    CHECK_MESSAGE(by_node["totals"][counter] == nodes, counter);
    CHECK_MESSAGE(by_node["totals"][counter] == types, counter);
  }
}

TEST_CASE("--top gives the rows with the most FLOPs, which keep their place in the order of execution") {
  const json report = parsed(analyzed(kNet), {.top = 2});
  REQUIRE(report["nodes"].size() == 2);
  CHECK(report["nodes"][0]["op_type"] == "Conv");
  CHECK(report["nodes"][1]["op_type"] == "Gemm");
  CHECK(report["nodes"][1]["index"] == 3);
}

TEST_CASE("names from the file cannot break any format") {
  const Case subject = analyzed(kHostile);
  test::check_golden("report/hostile.table.txt", present::table_report(subject.model, subject.analysis));
  test::check_golden("report/hostile.md", present::markdown_report(subject.model, subject.analysis));
  test::check_golden("report/hostile.csv", present::csv_report(subject.model, subject.analysis));
  test::check_golden("report/hostile.json", present::json_report(subject.model, subject.analysis));
  for (const std::string& text :
       {present::table_report(subject.model, subject.analysis),
        present::markdown_report(subject.model, subject.analysis), present::csv_report(subject.model, subject.analysis),
        present::json_report(subject.model, subject.analysis)})
    for (const char c : text) CHECK_MESSAGE((c == '\n' || c == '\r' || static_cast<unsigned char>(c) >= 0x20), text);
}

TEST_CASE("a count beyond 64 bits is exact in JSON and CSV") {
  const Case subject = analyzed("a:f32[4294967296,4294967296], b:f32[4294967296,4294967296] -> y = MatMul(a, b)");
  const std::string macs = "79228162514264337593543950336";  // 2^96
  CHECK(present::json_report(subject.model, subject.analysis).find("\"macs\": " + macs + ",") != std::string::npos);
  CHECK(present::csv_report(subject.model, subject.analysis).find("," + macs + ",") != std::string::npos);
}

TEST_CASE("a number that free dims at 1 make meaningless is null, its formula is there") {
  const json report = parsed(analyzed("x:f32[n] -> y = Relu(x)", {}));
  CHECK(report["totals"]["arith"] == 1);
  CHECK(report["symbolic"]["flops"] == "n");
  const json negative = parsed(analyzed("x:f32[n-5] -> y = Relu(x)"));
  CHECK(negative["totals"]["arith"].is_null());
  CHECK(negative["symbolic"]["flops"] == "n - 5");
}

TEST_CASE("formulas with more terms than one sum carries stand side by side, and their numbers stay exact") {
  Case subject = analyzed("x:f32[2] -> y = Relu(x)");
  Dim read = 0, written = 0;
  for (int i = 0; i < 400; ++i) {
    read += Dim::symbol("r" + std::to_string(i));
    written += Dim::symbol("w" + std::to_string(i));
  }
  subject.analysis.totals.cost.bytes_read = read;
  subject.analysis.totals.cost.bytes_written = written;
  const json report = parsed(subject);
  CHECK(report["totals"]["bytes"] == 800);
  CHECK(report["symbolic"]["bytes"] == read.to_string() + " + " + written.to_string());
}

TEST_CASE("bindings tell bound, free and renamed dims apart") {
  Case subject = analyzed("x:f32[a,b_c] -> y = Relu(x)", {.dims = {{"a", 3}}});
  subject.analysis.renamed = {{"b-c", "b_c"}};
  CHECK(parsed(subject)["bindings"] == json{{"a", 3}, {"b_c", nullptr}, {"b-c", "b_c"}});
}

TEST_CASE("diagnostics are shown by severity, as many as asked for") {
  Analysis analysis;
  analysis.diagnostics = {
      {Severity::Info, "a", "noted"}, {Severity::Warning, "", "odd"}, {Severity::Error, "b\n", "bad\x1b"}};
  CHECK(diagnostics_report(analysis) == "warning: odd\nerror: b\\x0a: bad\\x1b\n");
  CHECK(diagnostics_report(analysis, Severity::Info, 1) == "info: a: noted\nand 2 more; --format json lists all\n");
}

TEST_CASE("a node that is not understood is told apart from those behind it") {
  const Case subject = analyzed(
      "x:f32[N,4], y:f32[N,5] -> a = Add(x, y); b = Relu(a); c = Mul(b, x); d = NoSuchOp(c); e = Gather(c, d)");
  CHECK(subject.analysis.totals.unmodelled_nodes == 5);
  CHECK(diagnostics_report(subject.analysis) ==
        "warning: a: not modelled: shapes [N,4] and [N,5] do not broadcast\n"
        "warning: d: not modelled: no rule for NoSuchOp\n"
        "and 3 nodes behind them: an input's rank is not known\n");
}

TEST_CASE("operators are listed with what they cost") {
  const std::string list = present::list_operators();
  CHECK(list.starts_with("domain"));
  CHECK(list.find("\nai.onnx") != std::string::npos);
  CHECK(list.find(" Conv ") != std::string::npos);
  // Versions, types, values; the walk's own.
  CHECK(list.find(" Gather                            1 11 13                      yes    yes   ") !=
        std::string::npos);
  CHECK(list.find(" Loop ") != std::string::npos);
}

}  // namespace
}  // namespace pagoda::present
