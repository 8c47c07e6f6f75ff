// Whole reports of small models, and what reports say about unknown values.
#include "pagoda/present/report.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/csv_reader.h"
#include "pagoda/base/printed_number.h"
#include "pagoda/base/text.h"
#include "pagoda/core/conventions.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/compare.h"
#include "pagoda/estimate/make_estimate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/golden.h"
#include "support/json_schema.h"
#include "support/text_graph.h"

#include "report/rows.h"

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
// A table of 512 positions, cut to the sequence length.
constexpr const char* kPositions =
    "x:f32[N,S,4], t:f32[1,512,4]=const, z:i64[1]=[0], o:i64[1]=[1] -> s = Shape(x); n = Gather(s, o); "
    "p = Slice(t, z, n, o); y = Add(x, p)";
constexpr const char* kHostile =
    "'in\\e[2Jput':f32[N,2] -> '\\xff\\n|`y`<b>,\"' = Relu('in\\e[2Jput') @ '=cmd|\\x07\\xe2\\x80\\xaename'";

using documents::EstimateDocument;
using estimate::EstimateRequest;

EstimateDocument estimated(const char* text, const EstimateRequest& request = {}) {
  return estimate::make_estimate(test::graph(text), request);
}

std::string json_text(const char* text, const EstimateRequest& request = {}, std::size_t top = 0) {
  return documents::write_estimate(estimated(text, request), top);
}

json parsed(const char* text, const EstimateRequest& request = {}, std::size_t top = 0) {
  return json::parse(json_text(text, request, top));
}

json schema() { return test::schema("estimate"); }

TEST_CASE("work that no output needs is named, in the unit that is counted") {
  constexpr const char* kUnused =
      "x:f32[1,16], w:f32[16,8]=const -> y = Relu(x); p = MatMul(x, w) @ dead; q = Relu(p) => y";
  const auto warning = [](Convention count) {
    const EstimateDocument estimate = estimated(kUnused, {.count = count});
    REQUIRE(estimate.diagnostics.size() == 1);
    return estimate.diagnostics.front().message;
  };
  CHECK(warning(Convention::Flops) ==
        "2 nodes lead to no output and are counted: 264 FLOP, which engines drop; the first is dead");
  CHECK(warning(Convention::Macs) ==
        "2 nodes lead to no output and are counted: 128 MAC, which engines drop; the first is dead");
  CHECK(estimated("x:f32[1,16], s:i64=[16] -> y = Relu(x); v = Reshape(x, s) => y").diagnostics.empty());
}

TEST_CASE("a bound of parallel branches says what the merged network needs") {
  constexpr const char* kBranches =
      "x:f32[1,64,8,8], w:f32[64,64,3,3]=const, v:f32[64,64,1,1]=const -> a = Conv(x, w) {pads=[1,1,1,1]}; "
      "b = Conv(x, v); y = Add(a, b)";
  EstimateRequest request{.traffic = TrafficModel::Unfused, .device = documents::device("a100-40gb")};
  const EstimateDocument apart = estimated(kBranches, request);
  const EstimateDocument merged = estimated(
      "x:f32[1,64,8,8], w:f32[64,64,3,3]=const, c:f32[64]=const -> y = Conv(x, w, c) {pads=[1,1,1,1]}", request);
  REQUIRE(apart.diagnostics.size() == 1);
  CHECK(apart.diagnostics.front().message ==
        base::cat("the parallel branches of 1 block add up and could be merged into one Conv (reparameterised): then "
                  "2.36 MMAC instead of 2.62 MMAC, at least ",
                  base::si_seconds(merged.roofline->totals.seconds), " instead of ",
                  base::si_seconds(apart.roofline->totals.seconds), "; published times may be of the merged network"));
  CHECK(estimated(kBranches).diagnostics.empty());  // counts alone are of the file
  const EstimateRequest step{.device = request.device, .training = TrainingOptions()};
  CHECK(estimated(kBranches, step).diagnostics.empty());  // training needs the branches
  request.engine = documents::calibration("rtx-3090-amp-nchw");
  const EstimateDocument predicted = estimated(kBranches, request);
  CHECK(std::ranges::any_of(predicted.diagnostics, [](const Diagnostic& each) {
    return each.message.find(" of the merged network") != std::string::npos &&
           each.message.find(", predicted ") != std::string::npos;
  }));
}

TEST_CASE("the four formats of a model with a free batch") {
  const EstimateDocument net = estimated(kNet, {.tool = "test 1.0"});
  test::check_golden("report/net.table.txt", table_report(net));
  test::check_golden("report/net.md", markdown_report(net));
  test::check_golden("report/net.csv", csv_report(net));
  test::check_golden("report/net.json", documents::write_estimate(net));
  CHECK(free_dims_report(net) ==
        "free dims taken as 1: batch; set them with --dim batch=V, or see formulas with --symbolic\n");
}

TEST_CASE("a row on both sides whose bound is known on one side only has no difference of time") {
  const EstimateRequest on_device = {.device = documents::find_device("h200")};
  const auto changes = [&](const char* before_text, const char* after_text) {
    const EstimateDocument before = estimated(before_text, on_device), after = estimated(after_text, on_device);
    return json::parse(comparison_report(Format::Json, before, after, estimate::compare(before, after)))["nodes"];
  };
  const char *known = "x:f32[4] -> y = Relu(x) @ a", *unknown = "x:f32[4] -> y = my.domain.Secret(x) @ a";
  for (const json& nodes : {changes(known, unknown), changes(unknown, known)}) {
    REQUIRE(nodes.size() == 1);
    CHECK_FALSE(nodes[0]["delta"].contains("seconds"));
  }
  // A node that is absent takes no time.
  std::size_t added = 0;
  for (const json& node : changes(known, "x:f32[4] -> h = Exp(x) @ n; y = Relu(h) @ a")) {
    if (!node["before"].is_null()) continue;
    ++added;
    CHECK(node["after"]["seconds"] > 0);
    CHECK(node["delta"]["seconds"] == node["after"]["seconds"]);
  }
  CHECK(added == 1);
}

TEST_CASE("a comparison of bounds says lower, by token where the work differs, and nothing faster") {
  EstimateRequest request{.traffic = TrafficModel::Fused};
  request.device = documents::find_device("h200");
  const auto compared = [&](const char* before_text, const char* after_text) {
    const EstimateDocument before = estimated(before_text, request), after = estimated(after_text, request);
    return comparison_report(Format::Table, before, after, estimate::compare(before, after), {.width = 100});
  };
  const std::string text = compared("x:f32[64,512], w:f32[512,512]=const -> y = MatMul(x, w) @ a",
                                    "x:f16[64,512], w:f16[512,512]=const -> y = MatMul(x, w) @ a");
  CHECK(text.substr(0, text.find('\n')).find(": lower bound ") != std::string::npos);
  CHECK(text.find("× lower, ") != std::string::npos);
  CHECK(text.find("fused, float32 (file) → float16 (file)") != std::string::npos);
  CHECK(text.find("faster") == std::string::npos);
  // Unrelated models: totals alone.
  const std::string unrelated = compared("x:f32[64,512], w:f32[512,512]=const -> y = MatMul(x, w) @ a",
                                         "x:f32[8,3,9,9], w:f32[4,3,3,3]=const -> y = Conv(x, w) @ b");
  CHECK(unrelated.find("Less than half of the work matches") != std::string::npos);
  CHECK(unrelated.find("matched by") == std::string::npos);
}

TEST_CASE("a change of time is per item where items differ, and faster only beyond the intervals") {
  using report::ComparedTime;
  using report::TimeKind;
  struct Row {
    TimeKind kind;
    ComparedTime before, after;
    const char* verdict;
  };
  const Row rows[] = {
      {TimeKind::Bound, {.seconds = 2e-3}, {.seconds = 1e-3}, "lower bound 2.00× lower"},
      {TimeKind::Bound, {.seconds = 1e-3}, {.seconds = 1.001e-3}, "lower bound unchanged"},
      {TimeKind::Bound,
       {.seconds = 34.6e-3, .flops = 2048e9, .units = 2048, .are_tokens = true},
       {.seconds = 3.08e-3, .flops = 1e9, .units = 1, .are_tokens = true},
       "lower bound a token 182× higher"},
      {TimeKind::Bound,
       {.seconds = 4, .flops = 1e9, .units = 2},
       {.seconds = 1, .flops = 2e9, .units = 2},
       "lower bound an item 4.00× lower"},
      {TimeKind::Predicted,
       {.seconds = 2, .low = 1.8, .high = 2.2},
       {.seconds = 1, .low = 0.9, .high = 1.1},
       "2.00× faster"},
      {TimeKind::Predicted,
       {.seconds = 2, .low = 1, .high = 3},
       {.seconds = 1, .low = 0.5, .high = 1.5},
       "no difference beyond the intervals"},
      {TimeKind::Measured, {.seconds = 2}, {.seconds = 1}, "measured time 2.00× lower"},
  };
  for (const Row& row : rows) CHECK(report::time_change(row.kind, row.before, row.after).verdict == row.verdict);
}

TEST_CASE("layers that numbers alone tell apart name the first of them") {
  std::string text = "x:f32[1,8,16,16], w:f32[8,8,3,3]=const, v:f32[8,8,1,1]=const -> ";
  const char* value = "x";
  std::vector<std::string> values;
  for (int i = 0; i < 8; ++i) values.push_back("v" + std::to_string(i));
  for (int i = 0; i < 8; ++i) {
    text += (i == 0 ? "" : "; ") + values[static_cast<std::size_t>(i)] + " = Conv(" + value + ", " +
            (i % 2 == 0 ? "w) {pads=[1,1,1,1]}" : "v)") + " @ p2o.Conv." + std::to_string(i);
    value = values[static_cast<std::size_t>(i)].c_str();
  }
  const std::string answer = table_report(estimated(text.c_str()), {.rows = Rows::None});
  CHECK(answer.find("Conv ×4  p2o.Conv.0, …") != std::string::npos);
  CHECK(answer.find("Conv ×4  p2o.Conv.1, …") != std::string::npos);
  // The kernels of a table are merged alike.
  const std::string table =
      table_report(estimated(text.c_str(), {.traffic = TrafficModel::Fused}), {.rows = Rows::Group, .top = 5});
  CHECK(table.find("p2o.Conv.0, … ×4") != std::string::npos);
}

TEST_CASE("rows of a narrow table can be told apart") {
  const std::string table = table_report(estimated("x:f32[64,64], w:f32[64,64]=const -> "
                                                   "a = MatMul(x, w) @ /encoder/layer.0/intermediate/dense/MatMul; "
                                                   "y = MatMul(a, w) @ /encoder/layer.1/intermediate/dense/MatMul"),
                                         {.rows = Rows::Node, .width = 80});
  const auto line = [&](int row) {
    std::size_t at = table.find("\n0 ");
    for (int i = 0; i < row; ++i) at = table.find('\n', at + 1);
    return table.substr(at + 2, table.find('\n', at + 1) - at - 2);
  };
  CHECK(line(0) != line(1));
  CHECK(line(0).find("layer.0") != std::string::npos);
}

TEST_CASE("a model that contradicts itself cannot run; the header lists only domains in use") {
  const EstimateDocument broken = estimated("x:f32[2,4], y:f32[2,5] -> a = Add(x, y) @ sum");
  CHECK(table_report(broken, {.rows = Rows::None}).find("the model cannot run at these sizes, see sum") !=
        std::string::npos);
  EstimateDocument net = estimated(kNet);
  net.model.opsets["ai.onnx.preview.training"] = 1;
  CHECK(table_report(net).find("preview") == std::string::npos);
}

TEST_CASE("the optimizer's row counts no parameter a second time") {
  const EstimateDocument net = estimated(kNet, {.training = TrainingOptions{}});
  const std::string csv = csv_report(net);
  base::CsvReader reader(csv, "net.csv");
  std::vector<std::string> header, cells;
  REQUIRE(reader.next(header));
  const auto at = std::find(header.begin(), header.end(), "params") - header.begin();
  double params = 0;
  while (reader.next(cells)) {
    REQUIRE(cells.size() == header.size());
    params += base::printed(cells[static_cast<std::size_t>(at)]).with_point.value_or(0);
  }
  CHECK(params == static_cast<double>(*net.totals.counts.params));
}

TEST_CASE("a size of a sweep at which the model does not work leaves its cells empty") {
  EstimateRequest request{.sweep = {parse_axis("S=256,512,515")}};
  request.device = documents::find_device("h200");
  const EstimateDocument swept = estimated(kPositions, request);
  const std::string csv = sweep_report(Format::Csv, swept);
  base::CsvReader reader(csv, "sweep.csv");
  std::vector<std::string> header, cells;
  REQUIRE(reader.next(header));
  const auto at = static_cast<std::size_t>(std::find(header.begin(), header.end(), "seconds") - header.begin());
  REQUIRE(at < header.size());
  for (const bool works : {true, true, false}) {
    REQUIRE(reader.next(cells));
    REQUIRE(cells.size() == header.size());
    CHECK(cells[at].empty() == !works);
  }
}

TEST_CASE("a bound model by type, its formulas, its largest nodes, a narrow terminal") {
  const EstimateDocument net = estimated(kNet, {.sizes = {.batch = 8}, .by_type = true});
  const EstimateDocument open = estimated(kNet, {.formulas = true, .row_formulas = true});
  test::check_golden("report/net8.types.txt", table_report(net, {.rows = Rows::Type}));
  test::check_golden("report/net8.types.json", documents::write_estimate(net));
  test::check_golden("report/net.formulas.txt", table_report(open, {.formulas = true}));
  test::check_golden("report/net.formulas.md", markdown_report(open, {.formulas = true}));
  test::check_golden("report/net.formulas.csv", csv_report(open, {.row_formulas = true}));
  test::check_golden("report/net8.top2.narrow.txt", table_report(net, {.top = 2, .width = 60}));
  CHECK(free_dims_report(net).empty());
}

TEST_CASE("a node without a rule is unknown, not 0, and makes totals lower bounds") {
  const EstimateDocument subject = estimated(kUnmodelled);
  test::check_golden("report/unmodelled.table.txt", table_report(subject));
  test::check_golden("report/unmodelled.md", markdown_report(subject));
  const json report = parsed(kUnmodelled);
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
  CHECK(parsed(kUnmodelled, {.by_type = true})["types"].back()["flops"].is_null());
}

TEST_CASE("sizes that the data decide are named with their cause") {
  const EstimateDocument subject = estimated(kData, {.formulas = true});
  test::check_golden("report/data.formulas.txt", table_report(subject, {.formulas = true}));
  const json report = parsed(kData);
  REQUIRE(report["symbols"].size() == 1);
  CHECK(report["symbols"][0]["upper"] == "4*n");
  CHECK(free_dims_report(subject).find("sizes that the data decide") != std::string::npos);
  CHECK(free_dims_report(subject).find(" (at most 4*n)") != std::string::npos);
  // Arithmetic on sizes that has no exact integers is not data.
  const EstimateDocument scaled = estimated(
      "x:f32[N,C], half:f32[1]=[0.5] -> s = Shape(x); f = Cast(s) {to=f32}; h = Mul(f, half); i = Cast(h) {to=i64}; "
      "y = Reshape(x, i)");
  CHECK(free_dims_report(scaled).find("sizes that the data decide") == std::string::npos);
}

TEST_CASE("JSON keeps to its schema") {
  const json rules = schema();
  const EstimateRequest requests[] = {
      {},
      {.by_type = true, .formulas = true, .row_formulas = true, .tool = "test 1.0"},
      {.count = Convention::Hardware, .row_formulas = true},
      {.count = Convention::Pagoda},
      {.traffic = TrafficModel::Fused, .memory = MemoryOptions{}, .row_formulas = true},
  };
  for (const char* text : {kNet, kUnmodelled, kData, kHostile})
    for (const EstimateRequest& request : requests) {
      const std::vector<std::string> wrong = test::violations(parsed(text, request), rules);
      CHECK_MESSAGE(wrong.empty(), text, "\n  ", wrong.empty() ? "" : wrong.front());
    }
}

TEST_CASE("the schema refuses what the contract does not allow") {
  const json rules = schema();
  const json report = parsed(kNet);
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
  const json totals = parsed(kNet, {.sizes = {.batch = 2}})["totals"];
  const auto flops_of = [&](Convention count) {
    return parsed(kNet, {.sizes = {.batch = 2}, .count = count})["totals"]["flops"].get<std::int64_t>();
  };
  const std::int64_t macs = totals["macs"], arith = totals["arith"], special = totals["special"];
  CHECK(totals["flops"] == 2 * macs + arith + special);
  CHECK(flops_of(Convention::Macs) == macs);
  CHECK(flops_of(Convention::Contraction) == 2 * macs);
  CHECK(flops_of(Convention::Hardware) == 2 * macs + arith - totals["comparisons"].get<std::int64_t>());
  const Model net = test::graph(kNet);
  const PagodaCounts published = pagoda_counts(net, analyze(net), 2);
  const json by_pagoda = parsed(kNet, {.sizes = {.batch = 2}, .count = Convention::Pagoda});
  CHECK(by_pagoda["count"] == "pagoda");
  CHECK(by_pagoda["totals"]["flops"] == static_cast<std::int64_t>(published.total.flops));
  CHECK(by_pagoda["totals"]["bytes"] == static_cast<std::int64_t>(published.total.memory_bytes));
  CHECK(by_pagoda["totals"]["bytes_read"].is_null());
  CHECK(by_pagoda["totals"]["macs"] == macs);
}

TEST_CASE("numbers of nodes and of types add up to the totals") {
  const json by_node = parsed(kNet, {.sizes = {.batch = 8}});
  const json by_type = parsed(kNet, {.sizes = {.batch = 8}, .by_type = true});
  for (const char* counter : {"macs", "arith", "special", "comparisons", "flops", "params", "param_bytes", "bytes"}) {
    std::int64_t nodes = 0, types = 0;
    for (const json& node : by_node["nodes"]) nodes += node[counter].get<std::int64_t>();
    for (const json& type : by_type["types"]) types += type[counter].get<std::int64_t>();
    CHECK_MESSAGE(by_node["totals"][counter] == nodes, counter);
    CHECK_MESSAGE(by_node["totals"][counter] == types, counter);
  }
}

TEST_CASE("--top gives the rows with the most FLOPs, which keep their place in the order of execution") {
  const json report = parsed(kNet, {}, 2);
  REQUIRE(report["nodes"].size() == 2);
  CHECK(report["nodes"][0]["op_type"] == "Conv");
  CHECK(report["nodes"][1]["op_type"] == "Gemm");
  CHECK(report["nodes"][1]["index"] == 3);
}

TEST_CASE("names from the file cannot break any format") {
  const EstimateDocument subject = estimated(kHostile);
  test::check_golden("report/hostile.table.txt", table_report(subject));
  test::check_golden("report/hostile.md", markdown_report(subject));
  test::check_golden("report/hostile.csv", csv_report(subject));
  test::check_golden("report/hostile.json", documents::write_estimate(subject));
  for (const std::string& text :
       {table_report(subject), markdown_report(subject), csv_report(subject), documents::write_estimate(subject)})
    for (const char c : text) CHECK_MESSAGE((c == '\n' || c == '\r' || static_cast<unsigned char>(c) >= 0x20), text);
}

TEST_CASE("a count beyond 64 bits is exact in JSON and CSV") {
  const EstimateDocument subject =
      estimated("a:f32[4294967296,4294967296], b:f32[4294967296,4294967296] -> y = MatMul(a, b)");
  const std::string macs = "79228162514264337593543950336";  // 2^96
  CHECK(documents::write_estimate(subject).find("\"macs\": " + macs + ",") != std::string::npos);
  CHECK(csv_report(subject).find("," + macs + ",") != std::string::npos);
}

TEST_CASE("a number that free dims at 1 make meaningless is null, its formula is there") {
  const json report = parsed("x:f32[n] -> y = Relu(x)");
  CHECK(report["totals"]["arith"] == 1);
  CHECK(report["symbolic"]["flops"] == "n");
  const json negative = parsed("x:f32[n-5] -> y = Relu(x)");
  CHECK(negative["totals"]["arith"].is_null());
  CHECK(negative["symbolic"]["flops"] == "n - 5");
}

TEST_CASE("diagnostics are shown by severity, as many as asked for") {
  const std::vector<Diagnostic> found = {
      {Severity::Info, "a", "noted"}, {Severity::Warning, "", "odd"}, {Severity::Error, "b\n", "bad\x1b"}};
  CHECK(diagnostics_report(found) == "warning: odd\nerror: b\\x0a: bad\\x1b\n");
  CHECK(diagnostics_report(found, Severity::Info, 1) == "info: a: noted\nand 2 more; --format json lists all\n");
}

TEST_CASE("a node that is not understood is told apart from those behind it") {
  const EstimateDocument subject = estimated(
      "x:f32[N,4], y:f32[N,5] -> a = Add(x, y); b = Relu(a); c = Mul(b, x); d = NoSuchOp(c); e = Gather(c, d)");
  CHECK(subject.totals.unmodelled_nodes == 5);
  CHECK(diagnostics_report(subject.diagnostics) ==
        "warning: a: cannot run at these sizes: shapes [N,4] and [N,5] do not broadcast\n"
        "warning: d: not modelled: no rule for NoSuchOp\n"
        "and 3 nodes behind them: an input's rank is not known\n");
}

TEST_CASE("operators are listed with what they cost") {
  const std::string list = list_report(Format::Table, List::Operators);
  CHECK(list.starts_with("domain"));
  CHECK(list.find("\nai.onnx") != std::string::npos);
  CHECK(list.find(" Conv ") != std::string::npos);
  // Columns: versions, types, values. Loop is handled by the walk.
  CHECK(std::regex_search(list, std::regex(" Gather +1 11 13 +yes +yes ")));
  CHECK(list.find(" Loop ") != std::string::npos);
  CHECK(list_report(Format::Json, List::Operators).find("\"types\": \"X W B?: T -> Y: T; T = float16-64 bfloat16\"") !=
        std::string::npos);
}

TEST_CASE("a row of CSV reads back, whatever its cells hold") {
  const std::vector<std::vector<std::string>> rows = {
      {"a", "", " b ", "c"},
      {"1,5", "\"quoted\"", "two\r\nlines", ""},
      {"\xEF\xBB\xBF"
       "8",
       "x"},  // as in a file that begins with a UTF-8 byte order mark
  };
  for (const std::vector<std::string>& row : rows) {
    const std::string line = base::csv_line(row);
    CAPTURE(line);
    base::CsvReader reader(line, "row");
    std::vector<std::string> cells;
    REQUIRE(reader.next(cells));
    CHECK(cells == row);
  }
}

}  // namespace
}  // namespace pagoda::present
