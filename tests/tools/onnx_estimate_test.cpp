// The command line of onnx-estimate: exit codes, use of output streams, files.
#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "pagoda/base/csv_reader.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"
#include "pagoda/present/report.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/onnx_file.h"
#include "support/text_graph.h"
#include "support/workshop.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using test::Outcome;

// A folder with the models for the tests, and the tool.
struct Models : test::Workshop {
  Models() {
    save("net.onnx",
         "opset=17 : x:f32[batch,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]} @ conv; y = Relu(c)");
    save("fixed.onnx", "x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]}; y = Relu(c)");
    save("partial.onnx", "x:f32[4,8] -> h = Relu(x); y = my.domain.Secret(h) @ mystery");
    save("decoder.onnx",
         "x:f32[batch,2,sequence,8], past:f32[batch,2,past,8] -> present = Concat(past, x) {axis=2}; "
         "t = Transpose(present) {perm=[0,1,3,2]}; s = MatMul(x, t) => s, present");
    save("product.onnx", "x:f32[4096,4096], w:f32[4096,4096]=const -> y = MatMul(x, w)");
    save("audio.onnx", "x:f32[n,1,samples], w:f32[4,1,10]=const -> y = Conv(x, w) {strides=[5]}");
    save("merged.onnx",
         "x:f32[batch,2,sequence,8], past:f32[batch,2,past,8], use_cache_branch:bool[1], w:f32[8,8]=const -> "
         "present = Concat(past, x) {axis=2}; y = If(use_cache_branch) {then_branch=( -> a = Relu(x)), "
         "else_branch=( -> b = MatMul(x, w))} => y, present");
    save("nms.onnx",
         "boxes:f32[1,100,4], scores:f32[1,3,100], most:i64=50 -> s = NonMaxSuppression(boxes, scores, most) @ nms; "
         "f = Cast(s) {to=1}; y = Relu(f)");
    save("conv1d.onnx", "x:f32[1,4,8], w:f32[4,4,3]=const -> y = Conv(x, w) @ conv1d");
    save("hostile.onnx", "x:f32[n,4] -> '\\e[2J' = Relu(x) @ '\\e]0;owned\\x07'; y = 'my.domain.x\\e[31m'('\\e[2J')");
    base::write_file(path("garbage.onnx"), "this is not a model");
    base::write_file(path("empty.onnx"), "");
  }

  // `arguments` is shell text.
  Outcome run(const std::string& arguments) const { return shell("'" PAGODA_ONNX_ESTIMATE "' " + arguments); }

 private:
  void save(const std::string& name, const char* text) const {
    base::write_file(path(name), test::onnx_bytes(test::graph(text)));
  }
};

const Models& workshop() {
  static const Models instance;
  return instance;
}

std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  base::CsvReader reader(text, "out");
  std::vector<std::vector<std::string>> rows;
  for (std::vector<std::string> cells; reader.next(cells);) rows.push_back(cells);
  return rows;
}

std::size_t column(const std::vector<std::string>& header, const std::string& name) {
  const auto found = std::find(header.begin(), header.end(), name);
  REQUIRE_MESSAGE(found != header.end(), name);
  return static_cast<std::size_t>(found - header.begin());
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("models that run one after another are summed up by how often they run") {
  const Outcome table = workshop().run("fixed.onnx --then product.onnx:50 --device h200");
  CHECK(table.code == 0);
  CHECK(test::contains(table.out, "product.onnx"));
  CHECK(test::contains(table.out, "with all weights on the device · fits"));
  const Outcome run = workshop().run("fixed.onnx:2 --then product.onnx:50 --device h200 --batch 1 --format json");
  const auto document = json::parse(run.out);
  for (const std::string& violation : test::violations(document, test::schema("pipeline"))) FAIL_CHECK(violation);
  const auto& parts = document["parts"];
  REQUIRE(parts.size() == 2);
  CHECK(parts[0]["runs"] == 2);
  const auto& totals = document["totals"];
  const std::int64_t conv = 64 * 4 * 27, product = 4096 * 4096;  // --batch 1: one row of 4096
  CHECK(totals["macs"] == 2 * conv + 50 * product);
  const double seconds = 2 * parts[0]["seconds"].get<double>() + 50 * parts[1]["seconds"].get<double>();
  CHECK(totals["seconds"].get<double>() == doctest::Approx(seconds));
  const std::int64_t weights = 4 * (108 + 4096 * 4096), activations = parts[1]["activation_peak_bytes"];
  CHECK(totals["resident_bytes"] == weights + activations);
  CHECK(totals["in_turn_bytes"] == 4 * 4096 * 4096 + activations);
  CHECK(csv_rows(workshop().run("fixed.onnx --then product.onnx:50 --format csv").out).size() == 3);
  // Each part takes the dims that it uses.
  CHECK(workshop().run("audio.onnx --then product.onnx --dim samples=16000 --dim n=1").code == 0);
  CHECK(workshop().run("audio.onnx --then product.onnx --dim height=1").code == 2);
  CHECK(workshop().run("fixed.onnx --then product.onnx:0").code == 2);
  CHECK(workshop().run("fixed.onnx --then product.onnx --sweep batch=1,2").code == 2);
  CHECK(workshop().run("fixed.onnx --then partial.onnx --strict").code == 3);
}

TEST_CASE("a model whose sizes are all known gives a table and says nothing else") {
  const Outcome result = workshop().run("fixed.onnx");
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  CHECK(result.out.find("6.91 k multiply-accumulates") != std::string::npos);  // 4·8·8·3·3·3 = 6,912
  CHECK(lines(result.out) <= 12);
  CHECK(workshop().run("fixed.onnx --by node").out.find("6,912") != std::string::npos);
}

TEST_CASE("free dims are said once on stderr, and every format keeps stdout for itself") {
  for (const char* format : {"table", "json", "csv", "markdown"}) {
    const Outcome result = workshop().run("net.onnx --format " + std::string(format));
    CHECK(result.code == 0);
    CHECK(result.err == "free dims taken as 1: batch; set them with --dim batch=V, or see formulas with --symbolic\n");
    CHECK(result.out.find("free dims taken") == std::string::npos);
  }
}

TEST_CASE("JSON keeps to its schema, with the tool's name and the path as given") {
  const Outcome result = workshop().run("./net.onnx --format json --symbolic --by node");
  const json report = json::parse(result.out);
  const json schema = test::schema("estimate");
  CHECK(test::violations(report, schema).empty());
  CHECK(report["model"]["path"] == "./net.onnx");
  CHECK(report["tool"].get<std::string>().starts_with("onnx-estimate "));
  CHECK(report["symbolic"]["macs"] == "6912*batch");
  CHECK(report["nodes"][0]["symbolic"]["macs"] == "6912*batch");
}

TEST_CASE("sizes are set by batch, by dim and by input shape") {
  for (const char* arguments :
       {"net.onnx --batch 4", "net.onnx --dim batch=4", "net.onnx --input x=4x3x8x8", "fixed.onnx --batch 4",
        "--dim batch=4 net.onnx", "net.onnx --dim=batch=4 --dim batch=4", "net.onnx --batch 4 --input x=4x3x8x8"}) {
    const Outcome result = workshop().run(std::string(arguments) + " --format json");
    CHECK_MESSAGE(result.code == 0, arguments, "\n", result.err);
    if (result.code == 0) CHECK(json::parse(result.out)["totals"]["macs"] == 4 * 6912);
  }
}

TEST_CASE("a wrong command line is exit 2, one line on stderr and nothing on stdout") {
  struct Row {
    const char* arguments;
    const char* message;
  };
  constexpr Row kRows[] = {
      {"", "MODEL is missing"},
      {"net.onnx --nonsense", "'--nonsense' is not an option"},
      {"net.onnx -b 3", "'-b' is not an option"},
      {"net.onnx second.onnx", "'second.onnx' is one argument too many"},
      {"net.onnx --sweep batch", "NAME=LIST"},
      {"net.onnx --sweep batch=1,x", "not a size"},
      {"net.onnx --sweep batch=4..1", "ends at 1 before 4"},
      {"net.onnx --sweep batch=1,2,5..9", "not a progression"},
      {"net.onnx --sweep batch=1,2 --sweep batch=4", "given twice for 'batch'"},
      {"net.onnx --sweep batch=1,2 --compare fixed.onnx", "different reports"},
      {"net.onnx --device h200 --precision fp17", "fp17"},
      {"net.onnx --traffic resident", "--device"},
      {"net.onnx --max-seconds 5ms", "--device"},
      {"net.onnx --max-memory 8apples", "8apples"},
      {"net.onnx --max-flops -3", "-3"},
      {"net.onnx --by group", "--traffic"},
      {"net.onnx --predict", "--device"},
      {"net.onnx --device h200 --calibration rtx-3090-amp-nchw", "--predict"},
      {"net.onnx --past 4", "--past needs --phase"},
      {"net.onnx --tokens 4", "--tokens needs --phase"},
      {"net.onnx --input c=true --input c=false", "given twice for 'c'"},
      {"net.onnx --optimizer adam", "--training"},
      {"net.onnx --training --optimizer rprop", "rprop"},
      {"net.onnx --training --traffic fused", "fused"},
      {"net.onnx --phase train", "train"},
      {"net.onnx --count pagoda --traffic fused", "pagoda"},
      {"net.onnx --format html", "--device"},
      {"net.onnx -o chart.svg", "--device"},
      {"net.onnx --device h200 --format gif", "gif"},
      {"net.onnx --format", "--format"},
      {"net.onnx --by op", "op"},
      {"net.onnx --count gflops", "gflops"},
      {"net.onnx --traffic cached", "cached"},
      {"net.onnx --batch 0", "--batch"},
      {"net.onnx --batch -1", "--batch"},
      {"net.onnx --batch many", "--batch"},
      {"net.onnx --batch 99999999999999999999", "--batch"},
      {"net.onnx --top 0", "--top"},
      {"net.onnx --dim batch", "NAME=V"},
      {"net.onnx --dim =3", "NAME=V"},
      {"net.onnx --dim batch=", "not a size"},
      {"net.onnx --dim batch=-1", "not a size"},
      {"net.onnx --dim batch=1.5", "not a size"},
      {"net.onnx --dim batch=99999999999999999999", "not a size"},
      {"net.onnx --dim batch=1 --dim batch=2", "given twice for 'batch'"},
      {"net.onnx --input x=1x3x8x8 --input x=2x3x8x8", "given twice for 'x'"},
      {"net.onnx --input x", "NAME=AxBxC"},
      {"net.onnx --input x=1x3x8x", "not a size"},
      {"net.onnx --input x=1x-3", "not a size"},
      {"net.onnx --dim '\x1b[2J'", "\\x1b[2J"},
  };
  for (const Row& row : kRows) {
    const Outcome result = workshop().run(row.arguments);
    CHECK_MESSAGE(result.code == 2, row.arguments, "\n", result.err);
    CHECK_MESSAGE(result.out.empty(), row.arguments);
    CHECK_MESSAGE(lines(result.err) == 1, row.arguments, "\n", result.err);
    CHECK_MESSAGE(result.err.starts_with("onnx-estimate: "), row.arguments, "\n", result.err);
    CHECK_MESSAGE(result.err.find(row.message) != std::string::npos, row.arguments, "\n", result.err);
  }
}

TEST_CASE("sizes that cannot be 1 are asked for, and no time is told without them") {
  const std::string problem =
      "with samples taken as 1, floor_div(samples, 5) - 1 of y is not a size; set --dim samples=V";
  const Outcome table = workshop().run("audio.onnx");
  CHECK(table.code == 0);
  CHECK(table.err.find("warning: " + problem) != std::string::npos);
  for (const char* option : {"--device h200", "--memory", "--profile-structure json", "--sweep n=1,2 --device h200"}) {
    const Outcome result = workshop().run(std::string("audio.onnx ") + option);
    CHECK_MESSAGE(result.code == 1, option);
    CHECK_MESSAGE(result.err == "onnx-estimate: " + problem + "\n", result.err);
  }
  CHECK(workshop().run("audio.onnx --dim samples=100 --device h200").err.find("not a size") == std::string::npos);
  const Outcome sweep = workshop().run("audio.onnx --sweep samples=100,200 --device h200 --format json");
  REQUIRE_MESSAGE(sweep.code == 0, sweep.err);
  CHECK(sweep.err.find("not a size") == std::string::npos);
  const json report = json::parse(sweep.out);
  CHECK_FALSE(report.contains("roofline"));
  CHECK(report["sweep"].dump().find(":-") == std::string::npos);
}

TEST_CASE("a phase, or --input, decides which half of a merged decoder runs") {
  const std::pair<const char*, std::int64_t> rows[] = {
      {"merged.onnx", 128},                             // the costlier branch: 2 heads, 8 by 8
      {"merged.onnx --phase decode --past 9", 0},       // reads the cache
      {"merged.onnx --phase prefill --tokens 5", 640},  // 5 tokens
      {"merged.onnx --input use_cache_branch=true", 0},
      {"merged.onnx --phase decode --past 9 --input use_cache_branch=false", 128},
  };
  for (const auto& [words, macs] : rows) {
    const std::string arguments = words;
    const Outcome result = workshop().run(arguments + " --format json");
    REQUIRE_MESSAGE(result.code == 0, result.err);
    CHECK_MESSAGE(json::parse(result.out)["totals"]["macs"] == macs, arguments);
  }
  CHECK(workshop().run("net.onnx --input x=true").err.find("no such input of one boolean") != std::string::npos);
}

TEST_CASE("unusable input is exit 1, one line on stderr and nothing on stdout") {
  struct Row {
    const char* arguments;
    const char* message;
  };
  constexpr Row kRows[] = {
      {"missing.onnx", "missing.onnx"},
      {".", "."},
      {"garbage.onnx", "garbage.onnx"},
      {"empty.onnx", "empty.onnx"},
      {"net.onnx --dim height=3", "height"},
      {"net.onnx --input z=1", "z"},
      {"net.onnx --input x=1x3", "x"},
      {"net.onnx --input x=1x5x8x8", "its weights fix a size at 3"},
      {"net.onnx --batch 2 --dim batch=3", "batch"},
      {"net.onnx --batch 2 --input x=3x3x8x8", "batch"},
      {"net.onnx -o missing/out.json", "missing/out.json"},
  };
  for (const Row& row : kRows) {
    const Outcome result = workshop().run(row.arguments);
    CHECK_MESSAGE(result.code == 1, row.arguments, "\n", result.err);
    CHECK_MESSAGE(result.out.empty(), row.arguments);
    CHECK_MESSAGE(result.err.find("onnx-estimate: ") != std::string::npos, row.arguments, "\n", result.err);
    CHECK_MESSAGE(result.err.find(row.message) != std::string::npos, row.arguments, "\n", result.err);
  }
}

TEST_CASE("a partial result is reported in full, and is exit 3 only under --strict") {
  const Outcome loose = workshop().run("partial.onnx");
  CHECK(loose.code == 0);
  CHECK(loose.err.find("warning: mystery: ") != std::string::npos);
  CHECK(loose.out.find("≥") != std::string::npos);
  const Outcome strict = workshop().run("partial.onnx --strict");
  CHECK(strict.code == 3);
  CHECK(strict.out == loose.out);
  CHECK(workshop().run("fixed.onnx --strict").code == 0);
}

TEST_CASE("the published count says where the published program gives none") {
  const Outcome result = workshop().run("conv1d.onnx --count pagoda --format json");
  CHECK(result.code == 0);
  CHECK(result.err.find("node conv1d") != std::string::npos);
  CHECK(json::parse(result.out)["totals"]["flops"].is_null());
  CHECK(workshop().run("conv1d.onnx --count pagoda --strict").code == 3);
  const json fixed = json::parse(workshop().run("fixed.onnx --count pagoda --batch 3 --format json").out);
  CHECK(fixed["totals"]["flops"] == 3 * (2 * 6912 + 256 + 256));
  CHECK(fixed["totals"]["macs"] == 3 * 6912);
}

TEST_CASE("an output file is whole or not there, and its name tells the format") {
  const Outcome result = workshop().run("fixed.onnx -o report.json");
  CHECK(result.code == 0);
  CHECK(result.out.empty());
  const std::string written = test::read_file(workshop().path("report.json"));
  CHECK(json::parse(written)["schema"] == "pagoda.estimate/1");
  CHECK(workshop().run("garbage.onnx -o report.json").code == 1);
  CHECK(test::read_file(workshop().path("report.json")) == written);
  CHECK(workshop().run("fixed.onnx -o report.csv").code == 0);
  CHECK(test::read_file(workshop().path("report.csv")).starts_with("index,name,"));
  CHECK(workshop().run("fixed.onnx -o report.md --format csv").code == 0);
  CHECK(test::read_file(workshop().path("report.md")).starts_with("index,name,"));
  for (const fs::directory_entry& entry : fs::directory_iterator(workshop().path("")))
    CHECK(entry.path().string().find(".tmp") == std::string::npos);
}

TEST_CASE("an output that cannot be written is exit 1") {
  if (!fs::exists("/dev/full")) return;
  CHECK(workshop().run("fixed.onnx >/dev/full").code == 1);
  CHECK(workshop().run("fixed.onnx -o /dev/full").code == 1);
}

TEST_CASE("what is piped is as wide as it takes") {
  CHECK(workshop().run("fixed.onnx").out == workshop().run("fixed.onnx | cat").out);
  setenv("COLUMNS", "40", 1);
  CHECK(workshop().run("fixed.onnx --by node").out.find("written") != std::string::npos);
  unsetenv("COLUMNS");
}

TEST_CASE("names of a hostile file reach no terminal") {
  for (const char* format : {"table", "json", "csv", "markdown"}) {
    const Outcome result = workshop().run("hostile.onnx --symbolic --by node --format " + std::string(format));
    CHECK(result.code == 0);
    CHECK(result.out.find('\x1b') == std::string::npos);
    CHECK(result.out.find('\x07') == std::string::npos);
    CHECK(result.err.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("blocks that are asked for are in the JSON and follow the schema") {
  const json estimate = test::schema("estimate");
  struct Row {
    const char* arguments;
    std::vector<const char*> blocks;
  };
  const Row rows[] = {
      {"net.onnx --batch 4 --device h200", {"roofline"}},
      {"net.onnx --device a100-40gb --precision fp16 --traffic fused", {"roofline", "traffic"}},
      {"net.onnx --device orin-agx:30w --traffic resident --memory", {"roofline", "traffic", "memory"}},
      {"net.onnx --sweep batch=1,2,4..16 --device l40s", {"sweep", "roofline"}},
      {"net.onnx --max-flops 1GFLOP --max-memory 1MiB", {"budgets"}},
      {"decoder.onnx --batch 2 --phase decode --past 9 --device h200", {"phase", "roofline"}},
      {"decoder.onnx --phase prefill --tokens 5 --memory", {"phase", "memory"}},
      {"net.onnx --batch 4 --training --optimizer adam --recompute sqrt --device h200", {"training", "roofline"}},
      {"partial.onnx --training", {"training"}},
      {"partial.onnx --device v100 --traffic fused --memory --max-flops 1",
       {"roofline", "traffic", "memory", "budgets"}},
  };
  for (const Row& row : rows) {
    const Outcome result = workshop().run(row.arguments + std::string(" --format json"));
    CAPTURE(row.arguments);
    CAPTURE(result.err);
    REQUIRE((result.code == 0 || result.code == 3));
    const json report = json::parse(result.out);
    for (const char* block : row.blocks) CHECK_MESSAGE(report.contains(block), block);
    for (const std::string& violation : test::violations(report, estimate)) FAIL_CHECK(violation);
  }
  const Outcome compared = workshop().run("net.onnx --compare fixed.onnx --format json");
  for (const std::string& violation : test::violations(json::parse(compared.out), test::schema("comparison")))
    FAIL_CHECK(violation);
  const Outcome structure = workshop().run("net.onnx --profile-structure json");
  for (const std::string& violation : test::violations(json::parse(structure.out), test::schema("structure")))
    FAIL_CHECK(violation);
}

TEST_CASE("lists are JSON as well as tables, and nothing else") {
  struct Row {
    const char* option;
    const char* entry;
  };
  constexpr Row kLists[] = {
      {"--list-devices", "h200"}, {"--list-ops", "FusedMatMul"}, {"--list-engines", "llm-serving"}};
  for (const Row& list : kLists) {
    const std::string option = list.option;
    CAPTURE(option);
    const Outcome result = workshop().run(option + " --format json");
    CHECK(result.code == 0);
    CHECK(result.out.find(list.entry) != std::string::npos);
    CHECK(workshop().run(option).out.find(list.entry) != std::string::npos);
    for (const std::string& violation : test::violations(json::parse(result.out), test::schema("list")))
      FAIL_CHECK(violation);
    CHECK(workshop().run(option + " --format csv").code == 2);
  }
}

TEST_CASE("time bounds: nodes sum to the total, fused or not") {
  for (const char* traffic : {"unfused", "fused", "resident"}) {
    const json report = json::parse(
        workshop().run("net.onnx --batch 64 --device h200 --format json --traffic " + std::string(traffic)).out);
    double sum = 0, bytes = 0;
    for (const json& node : report["roofline"]["nodes"]) {
      sum += node["seconds"].get<double>();
      bytes += node["bytes"].get<double>();
    }
    CHECK(sum == doctest::Approx(report["roofline"]["seconds"].get<double>()));
    CHECK(bytes == doctest::Approx(report["totals"]["bytes"].get<double>()));
  }
  CHECK(workshop().run("net.onnx --device h200 --by node").out.find("time ≥") != std::string::npos);
}

TEST_CASE("with a device the answer says whether the model fits, how fast it can be and what would be faster") {
  const Outcome result = workshop().run("net.onnx --batch 64 --device h200");
  CHECK(result.code == 0);
  CHECK(lines(result.out) <= 20);
  for (const char* text : {"\nfits      yes", "largest batch", "\ntime ", "items/s", "\nfaster ", "--precision float16",
                           "--traffic fused", "\nheaviest "})
    CHECK_MESSAGE(result.out.find(text) != std::string::npos, text, "\n", result.out);
}

TEST_CASE(
    "a decoder that needs a little more than the device's memory does not read as exactly all of it; rates are of "
    "tokens") {
  const std::string model = test::source_path("models/skeletons/llama_3_1_70b.onnx");
  const std::string out = workshop().run("'" + model + "' --batch 1 --phase decode --past 1024 --device h200").out;
  const std::string table =
      workshop().run("'" + model + "' --batch 1 --phase decode --past 1024 --device h200,b200").out;
  CHECK_MESSAGE(table.find("tokens/s ≤") != std::string::npos, table);
  CHECK_MESSAGE(out.find("does not fit  100.3 % of the 141 GB") != std::string::npos, out);
}

TEST_CASE("what does not fit a device is said, and --max-memory device makes it an error") {
  const json fits = json::parse(workshop().run("net.onnx --device rtx-3090 --format json").out)["fit"];
  CHECK(fits["fits"] == true);
  const std::int64_t largest = fits["largest_batch"];
  CHECK(largest > 1);
  const auto at = [&](std::int64_t batch, const std::string& more) {
    return workshop().run("net.onnx --device rtx-3090 --batch " + std::to_string(batch) + more);
  };
  CHECK(json::parse(at(largest, " --format json").out)["fit"]["fits"] == true);
  CHECK(json::parse(at(largest + 1, " --format json").out)["fit"]["fits"] == false);
  CHECK(at(largest + 1, "").out.find("does not fit") != std::string::npos);
  CHECK(at(largest + 1, "").code == 0);
  CHECK(at(largest, " --max-memory device").code == 0);
  CHECK(at(largest + 1, " --max-memory device").code == 3);
  const Outcome sweep = workshop().run("net.onnx --device rtx-3090 --sweep batch=1,1000000000 --max-memory device");
  CHECK(sweep.code == 3);
  CHECK(sweep.err.find("at batch=1000000000") != std::string::npos);
  CHECK(workshop().run("net.onnx --device rtx-3090 --sweep batch=1,2 --max-memory device").code == 0);
}

TEST_CASE("measured runs stand beside the bound, of one size and of a sweep") {
  base::write_file(
      workshop().path("runs.json"),
      R"({"schema": "pagoda.measured/1", "source": "pagoda-bench", "tool": null, "device": null, "clocks": {},
      "env": {}, "repeats": 1, "warmup": 0, "seconds": null, "missing": [], "notes": [], "kernels": [], "runs": [
      {"config": {"batch": 2}, "seconds": 1e-3, "energy_joules": 0.5},
      {"config": {"batch": 4}, "seconds": 2e-3, "energy_joules": null}]})");
  const json one =
      json::parse(workshop().run("net.onnx --batch 2 --device h200 --measured runs.json --format json").out);
  CHECK(one["measured"]["seconds"] == 1e-3);
  CHECK(one["measured"]["joules"] == 0.5);
  CHECK(one["measured"]["bound_share"].get<double>() ==
        doctest::Approx(one["roofline"]["seconds"].get<double>() / 1e-3));
  CHECK(workshop().run("net.onnx --batch 2 --device h200 --measured runs.json").out.find("\nmeasured") !=
        std::string::npos);
  const json sweep =
      json::parse(workshop().run("net.onnx --sweep batch=1,2,4 --measured runs.json --format json").out)["sweep"];
  CHECK_FALSE(sweep["points"][0]["measured_seconds"].is_number());
  CHECK(sweep["points"][2]["measured_seconds"] == 2e-3);
  const auto csv = csv_rows(workshop().run("net.onnx --sweep batch=2 --measured runs.json --format csv").out);
  REQUIRE(csv.size() == 2);
  const auto cell = [&](const char* name) { return std::stod(csv[1].at(column(csv[0], name))); };
  CHECK(cell("measured_flops_per_second") == doctest::Approx(cell("flops") / 1e-3));
  CHECK(cell("measured_flops_per_joule") == doctest::Approx(cell("flops") / 0.5));
  const Outcome wrong = workshop().run("net.onnx --batch 8 --measured runs.json");
  CHECK(wrong.code == 1);
  CHECK(wrong.err.find("it ran ") != std::string::npos);
}

TEST_CASE("of several measured runs of a size the fastest is shown, and a training step is not taken for inference") {
  base::write_file(workshop().path("modes.json"),
                   R"({"schema": "pagoda.measured/1", "source": "jetson", "tool": null, "device": null, "clocks": {},
      "env": {}, "repeats": 1, "warmup": 0, "seconds": null, "missing": [], "notes": [], "kernels": [], "runs": [
      {"config": {"batch": 2, "gpu_hz": 2}, "seconds": 1e-3, "energy_joules": 0.5},
      {"config": {"batch": 2, "gpu_hz": 1}, "seconds": 2e-3, "energy_joules": 0.4},
      {"config": {"batch": 4, "mode": "training"}, "seconds": 9e-3, "energy_joules": null}]})");
  for (const char* arguments : {"--batch 2", "--sweep batch=2"}) {
    const Outcome o =
        workshop().run("net.onnx --device h200 --measured modes.json --format json " + std::string(arguments));
    const json document = json::parse(o.out);
    const json& at = document.contains("measured") ? document["measured"] : document["sweep"]["points"][0];
    CHECK(at[document.contains("measured") ? "seconds" : "measured_seconds"] == 1e-3);
    CHECK(o.out.find("the fastest of each size is shown, without 1 slower one") != std::string::npos);
  }
  const Outcome step = workshop().run("net.onnx --batch 4 --measured modes.json");
  CHECK(step.code == 1);
  CHECK(step.err.find("it ran a training step, the estimate is of inference") != std::string::npos);
  const Outcome trained = workshop().run("net.onnx --batch 4 --training --measured modes.json --format json");
  CHECK(json::parse(trained.out)["measured"]["seconds"] == 9e-3);
  // Its joules stand over the FLOPs of the step, in the answer as in a sweep.
  base::write_file(
      workshop().path("steps.json"),
      R"({"schema": "pagoda.measured/1", "source": "torch", "tool": null, "device": null, "clocks": {}, "env": {},
      "repeats": 1, "warmup": 0, "seconds": null, "missing": [], "notes": [], "kernels": [], "runs": [
      {"config": {"batch": 2, "mode": "training"}, "seconds": 1e-3, "energy_joules": 1}]})");
  const std::string training = "net.onnx --device h200 --training --measured steps.json ";
  const json swept = json::parse(workshop().run(training + "--sweep batch=2 --format json").out)["sweep"]["points"][0];
  const std::string answer = workshop().run(training + "--batch 2").out;
  const std::string rate = base::si_rate(swept["flops"].get<double>(), "FLOP/J");
  CHECK_MESSAGE(answer.find("1 J · " + rate) != std::string::npos, answer << rate);
}

TEST_CASE("CSV under fusion is kernels, and on a device it carries the bound of each") {
  const auto header = [](const std::string& arguments) {
    const std::string text = workshop().run("net.onnx --batch 2 --format csv " + arguments).out;
    return text.substr(0, text.find('\r'));
  };
  const std::string bound = ",seconds,compute_seconds,memory_seconds,bound,share,headroom";
  CHECK(header("--device h200").ends_with(",precision,mark,problem" + bound));
  CHECK(header("--traffic fused").starts_with("index,kernel,ops,nodes,macs,"));
  CHECK(header("--traffic fused --device h200").ends_with(",saved_bytes,rule" + bound));
  CHECK(header("--traffic fused --by node").starts_with("index,name,"));
  CHECK(lines(workshop().run("net.onnx --traffic fused --format csv").out) > 1);
}

TEST_CASE("where multiply-accumulates are counted, nothing is called a FLOP") {
  for (const char* arguments :
       {"", " --by type", " --by node", " --symbolic", " --training", " --symbolic --by node --format markdown",
        " --device h200 --sweep batch=1,2", " --compare product.onnx", " --then product.onnx"}) {
    const std::string text = workshop().run("net.onnx --count macs" + std::string(arguments)).out;
    CHECK(text.find("FLOP") == std::string::npos);
    CHECK(text.find("MAC") != std::string::npos);
  }
}

TEST_CASE("several devices or precisions are a table of one row each") {
  const json devices = json::parse(
      workshop().run("net.onnx --batch 8 --device h200,rtx-3090 --price-per-hour h200=3.6 --format json").out);
  REQUIRE(devices["variants"].size() == 2);
  const json& h200 = devices["variants"][0];
  CHECK(h200["device"] == "h200");
  CHECK(h200["price_per_million"].get<double>() ==
        doctest::Approx(3.6 / 3600 * 1e6 / h200["items_per_second"].get<double>()));
  CHECK_FALSE(devices["variants"][1].contains("price_per_million"));
  const auto priced = [](const std::string& prices) {
    return workshop().run("net.onnx --batch 8 --device h200,rtx-3090 --format json " + prices).out;
  };
  const std::string listed = priced("--price-per-hour h200=3.6,rtx-3090=0.4");
  CHECK(listed == priced("--price-per-hour h200=3.6 --price-per-hour rtx-3090=0.4"));
  CHECK(json::parse(listed)["variants"][1].contains("price_per_million"));
  const json alone = json::parse(workshop().run("net.onnx --batch 8 --device rtx-3090 --format json").out);
  CHECK(devices["variants"][1]["seconds"] == alone["roofline"]["seconds"]);
  CHECK(devices["variants"][1]["total_bytes"] == alone["fit"]["total_bytes"]);

  const json what_if = json::parse(workshop().run("net.onnx --device h200 --what-if fp32,fp16,int8 --format json").out);
  REQUIRE(what_if["variants"].size() == 6);
  const json half =
      json::parse(workshop().run("net.onnx --device h200 --precision fp16 --traffic fused --format json").out);
  CHECK(what_if["variants"][3]["precision"] == "float16");
  CHECK(what_if["variants"][3]["traffic"] == "fused");
  CHECK(what_if["variants"][3]["seconds"] == half["roofline"]["seconds"]);
  CHECK(h200["items_per_second"].get<double>() == doctest::Approx(8 / h200["seconds"].get<double>()));
  // CSV has the same rows.
  const auto rows = csv_rows(workshop().run("net.onnx --device h200 --what-if fp32,fp16,int8 --format csv").out);
  REQUIRE(rows.size() == what_if["variants"].size() + 1);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const json& variant = what_if["variants"][i - 1];
    for (std::size_t at = 0; at < rows[0].size(); ++at) {
      const auto field = variant.find(rows[0][at]);
      if (field == variant.end() || field->is_null())
        CHECK(rows[i][at].empty());
      else if (field->is_number())
        CHECK(std::stod(rows[i][at]) == field->get<double>());
      else
        CHECK(rows[i][at] == (field->is_string() ? field->get<std::string>() : field->dump()));
    }
  }
  CHECK(csv_rows(workshop().run("net.onnx --device orin-agx --sweep mode=maxn,30w --format csv").out).size() == 3);
  CHECK(workshop().run("net.onnx --device h200 --what-if fp32,fp16").out.find("moves the time most") !=
        std::string::npos);
}

// With any two options, each must change the output, or the pair is refused by name.
TEST_CASE("no option is dropped beside another") {
  struct Option {
    const char* text;
    bool has_device;
    // The last option in the text: "--what-if".
    std::string name() const {
      const std::string whole = text, last = whole.substr(whole.rfind("--"));
      return last.substr(0, last.find(' '));
    }
  };
  // Pairs in which one option implies the other are left out: JSON has formulas wherever a dim is free.
  const Option options[] = {{"--batch 4", false},
                            {"--device h200", true},
                            {"--traffic fused", false},
                            {"--precision fp16", false},
                            {"--symbolic", false},
                            {"--memory", false},
                            {"--by type", false},
                            {"--top 1", false},
                            {"--count macs", false},
                            {"--training", false},
                            {"--sweep batch=1,2", false},
                            {"--compare product.onnx", false},
                            {"--device h200 --what-if fp32,fp16", true},
                            {"--device h200,orin-agx", true},
                            {"--device rtx-3090 --predict", true},
                            {"--profile-structure json", false},
                            {"--max-memory 1B", false}};
  const auto is = [](const Option& option, const char* name) { return std::string(option.text) == name; };
  for (const char* format : {"table", "json", "csv", "markdown"}) {
    const auto run = [&](const std::string& arguments) {
      const bool is_structure = arguments.find("--profile-structure") != std::string::npos;
      return workshop().run("net.onnx " + arguments + (is_structure ? "" : " --format " + std::string(format)));
    };
    for (const Option& a : options)
      for (const Option& b : options) {
        if (is(a, b.text) || (a.has_device && b.has_device)) continue;
        if (is(b, "--symbolic") && std::string(format) == "json") continue;
        if (is(b, "--top 1") && is(a, "--traffic fused")) continue;  // the model has only one kernel
        const Outcome alone = run(a.text), both = run(std::string(a.text) + " " + b.text);
        if (both.code == 2) {
          const bool names_one =
              both.err.find(a.name()) != std::string::npos || both.err.find(b.name()) != std::string::npos;
          CHECK_MESSAGE(names_one, both.err);
        } else {
          CHECK_MESSAGE((both.code == 0 || both.code == 3), both.err);
          const std::string where = std::string(format) + ": " + b.text + " beside " + a.text;
          CHECK_MESSAGE((both.out != alone.out || both.err != alone.err), where);
        }
      }
  }
}

// Each sum is the same wherever it is printed, and no row moves or computes more than the device can.
TEST_CASE("outputs agree on every sum, and rows keep to the roofs, whatever is asked for") {
  for (const char* device : {"h200", "orin-agx", "rtx-3090"}) {
    const DeviceSpec spec = documents::device(device);
    for (const char* precision : {"", " --precision fp32", " --precision fp16", " --precision int8"})
      for (const char* traffic : {"unfused", "fused", "resident"}) {
        const std::string arguments =
            "net.onnx --batch 4 --traffic " + std::string(traffic) + precision + " --device " + device;
        CAPTURE(arguments);
        const json report = json::parse(workshop().run(arguments + " --format json").out);
        const json& totals = report["totals"];
        const double bandwidth = *spec.level("dram")->bytes_per_second.value;
        double seconds = 0, bytes = 0;
        for (const json& node : report["roofline"]["nodes"]) {
          seconds += node["seconds"].get<double>();
          bytes += node["bytes"].get<double>();
          CHECK(node["bytes"].get<double>() <= bandwidth * node["seconds"].get<double>() * (1 + 1e-9));
        }
        CHECK(seconds == doctest::Approx(report["roofline"]["seconds"].get<double>()));
        CHECK(bytes == doctest::Approx(totals["bytes"].get<double>()));
        const bool is_unfused = std::string(traffic) == "unfused";
        double rows = 0, fused = 0;
        for (const json& node : report["nodes"]) rows += node["bytes"].get<double>();
        for (const json& group : report.value("traffic", json::object()).value("groups", json::array()))
          fused += group["bytes"].get<double>();
        if (is_unfused) CHECK(rows == totals["bytes"].get<double>());
        if (!is_unfused && std::string(traffic) == "fused") CHECK(fused == totals["bytes"].get<double>());
        CHECK(report["fit"]["weight_bytes"] == totals["param_bytes"]);
        CHECK(report["fit"]["total_bytes"].get<double>() ==
              totals["param_bytes"].get<double>() + totals["activation_peak_bytes"].get<double>());
        // The CSV's columns and the table's last lines must give the same sums.
        const auto csv_of = csv_rows(workshop().run(arguments + " --by node --format csv").out);
        const std::size_t bytes_at = column(csv_of[0], "bytes"), seconds_at = column(csv_of[0], "seconds");
        double csv = 0, csv_seconds = 0;
        for (std::size_t row = 1; row < csv_of.size(); ++row) {
          csv += std::stod(csv_of[row].at(bytes_at));
          csv_seconds += std::stod(csv_of[row].at(seconds_at));
        }
        CHECK(csv == rows);
        CHECK(csv_seconds == doctest::Approx(seconds));
        const std::string table = workshop().run(arguments + " --by node").out;
        CHECK(table.find(base::grouped(Int{totals["bytes"].get<std::int64_t>()})) != std::string::npos);
      }
  }
}

TEST_CASE("the time under ONNX Runtime on a CPU comes with the machine that was measured") {
  const std::string here = test::source_path("tests/predict/data/here.json");
  const std::string predicts = "net.onnx --predict --engine onnxruntime-cpu";
  const Outcome result = workshop().run(predicts + " --format json --calibration " + here);
  REQUIRE(result.code == 0);
  const json estimate = json::parse(result.out);
  for (const std::string& violation : test::violations(estimate, test::schema("estimate"))) FAIL_CHECK(violation);
  const json& roofline = estimate.at("roofline");
  CHECK(roofline.at("device") == "measured");
  CHECK(roofline.at("predicted").at("engine") == "onnxruntime-cpu");
  CHECK(roofline.at("predicted").at("node_seconds").size() == estimate.at("nodes").size());
  CHECK(roofline.at("predicted").at("seconds") > 0);
  for (const auto& [extra, message] : {std::pair<std::string, std::string>{"", "pagoda-calibrate --here"},
                                       {" --device h200 --calibration " + here, "does not go with --device"},
                                       {" --what-if fp32,fp16 --calibration " + here, "precisions of the file"},
                                       {" --precision int8 --calibration " + here, "--what-if fp32,int8"}}) {
    const Outcome refused = workshop().run(predicts + extra);
    CHECK(refused.code == 2);
    CHECK(refused.err.find(message) != std::string::npos);
  }
}

TEST_CASE("engines are predicted for several devices, precisions and both models of a comparison") {
  const auto read = [](const std::string& arguments, const char* schema) {
    const Outcome result = workshop().run(arguments + " --format json");
    REQUIRE(result.code == 0);
    const json document = json::parse(result.out);
    for (const std::string& violation : test::violations(document, test::schema(schema))) FAIL_CHECK(violation);
    return document;
  };
  const json devices = read("net.onnx --batch 256 --device rtx-3090,rtx-4090 --precision fp16 --predict", "estimate");
  REQUIRE(devices.at("variants").size() == 2);
  for (const json& row : devices.at("variants")) {
    const json alone = read("net.onnx --batch 256 --precision fp16 --predict --device " +
                                row.at("device").get<std::string>(), "estimate");
    CHECK(row.at("predicted").at("seconds") == alone.at("roofline").at("predicted").at("seconds"));
    CHECK(row.at("predicted").at("items_per_second").get<double>() ==
          doctest::Approx(256 / row.at("predicted").at("seconds").get<double>()));
  }
  const std::string here = "--predict --engine onnxruntime-cpu --calibration " +
                           test::source_path("tests/predict/data/here.json");
  const json forms = read("net.onnx --what-if fp32,int8 " + here, "estimate");
  REQUIRE(forms.at("variants").size() == 2);
  for (const json& row : forms.at("variants")) CHECK(row.at("predicted").at("memory").at("bytes") > 0);
  const json both = read("net.onnx --compare product.onnx " + here, "comparison");
  const json& predicted = both.at("totals").at("predicted_seconds");
  CHECK(predicted.at("engine") == "onnxruntime-cpu");
  CHECK(predicted.at("before") == read("product.onnx " + here, "estimate").at("roofline").at("predicted").at("seconds"));
  CHECK(predicted.at("after") == read("net.onnx " + here, "estimate").at("roofline").at("predicted").at("seconds"));
  CHECK(workshop().run("net.onnx --compare product.onnx " + here).out.find("under onnxruntime-cpu") !=
        std::string::npos);
}

TEST_CASE("published counts of a model with branches say that the published tool does not enter them") {
  const std::string merged = test::source_path("models/skeletons/t5_merged.onnx");
  const Outcome result = workshop().run(merged + " --phase decode --past 16 --count pagoda");
  CHECK(result.code == 0);
  CHECK(result.err.find("counts no node within If, Loop or Scan; ") != std::string::npos);
  CHECK(workshop().run("net.onnx --count pagoda").err.find("published tool") == std::string::npos);
}

TEST_CASE("a prediction stands beside the bound, with its interval and calibration") {
  const Outcome result =
      workshop().run("net.onnx --batch 256 --device rtx-3090 --precision fp16 --predict --format json");
  CHECK(result.code == 0);
  const json time = json::parse(result.out)["roofline"];
  const double seconds = time["predicted"]["seconds"], low = time["predicted"]["low"], high = time["predicted"]["high"];
  CHECK(low < seconds);
  CHECK(seconds < high);
  CHECK(seconds >= time["floor_seconds"].get<double>());
  CHECK(time["predicted"]["calibration"].get<std::string>().starts_with("rtx-3090-amp-nchw"));
  CHECK(workshop().run("net.onnx --device rtx-3090 --predict --calibration no-such").code == 1);
}

TEST_CASE("a prediction is of float16: another precision is refused, and a shorter bound is not") {
  for (const char* precision : {"fp32", "tf32", "bf16", "int8"}) {
    const Outcome result =
        workshop().run("net.onnx --batch 256 --device rtx-3090 --predict --precision " + std::string(precision));
    CAPTURE(precision);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.find("calibration rtx-3090-amp-nchw is for float16") != std::string::npos);
    CHECK(result.err.find(std::string("--precision ") + precision) != std::string::npos);
    CHECK(result.err.find("fp16") != std::string::npos);  // the remedy
  }
  // Autocast runs a float32 file's products in float16: faster than the float32 bound, so the user must be told.
  const char* note = "--precision fp16 gives bounds of the same regime";
  const Outcome mixed = workshop().run("product.onnx --device rtx-3090 --predict --format json");
  CHECK(mixed.code == 0);
  const json time = json::parse(mixed.out)["roofline"];
  REQUIRE(time["predicted"]["seconds"].get<double>() < time["seconds"].get<double>());
  CHECK(mixed.err.find(note) != std::string::npos);
  const Outcome same = workshop().run("product.onnx --device rtx-3090 --predict --precision fp16");
  CHECK(same.code == 0);
  CHECK(same.err.find(note) == std::string::npos);
}

TEST_CASE("a prediction whose interval nobody measured says so instead of 0") {
  std::string calibration = test::read_file(test::source_path("data/calibration/rtx-3090-amp-nchw.json"));
  json document = json::parse(calibration);
  document["interval"].erase("elsewhere");
  base::write_file(workshop().path("alone.json"), document.dump());
  const std::string arguments = "net.onnx --batch 256 --precision fp16 --predict --calibration ./alone.json --device ";
  const Outcome report = workshop().run(arguments + "h100-sxm --format json");
  REQUIRE(report.code == 0);
  const json predicted = json::parse(report.out)["roofline"]["predicted"];
  CHECK(predicted["seconds"].get<double>() > 0);
  for (const char* key : {"low", "high", "coverage"}) CHECK_MESSAGE(predicted[key].is_null(), key);
  for (const std::string& violation : test::violations(json::parse(report.out), test::schema("estimate")))
    FAIL_CHECK(violation);
  const Outcome table = workshop().run(arguments + "h100-sxm");
  CHECK(table.out.find("0 s …") == std::string::npos);
  CHECK(table.out.find("no interval: no measured run on h100-sxm") != std::string::npos);
  CHECK(workshop().run(arguments + "rtx-3090").out.find("for 90.0 % of models") != std::string::npos);
}

TEST_CASE("an unknown device is exit 4 and says which are known") {
  const Outcome result = workshop().run("net.onnx --device h900");
  CHECK(result.code == 4);
  CHECK(result.err.find("h200") != std::string::npos);
  CHECK(result.out.empty());
  CHECK(workshop().run("net.onnx --device h200:turbo").code == 4);
  CHECK(workshop().run("net.onnx --device garbage.json").code == 1);
}

TEST_CASE("budgets that are not kept, or cannot be told, are exit 3 after the report") {
  const Outcome kept = workshop().run("fixed.onnx --max-flops 1GFLOP --max-params 1k");
  CHECK(kept.code == 0);
  CHECK(kept.err.find("flops: fits 1GFLOP") != std::string::npos);
  const Outcome passed = workshop().run("fixed.onnx --max-flops 1kFLOP");
  CHECK(passed.code == 3);
  CHECK(passed.err.find("flops: exceeds 1kFLOP") != std::string::npos);
  CHECK_FALSE(passed.out.empty());
  const Outcome unknown = workshop().run("net.onnx --max-flops 1GFLOP");
  CHECK(unknown.code == 3);
  CHECK(unknown.err.find("cannot tell") != std::string::npos);
  CHECK(unknown.err.find("batch") != std::string::npos);
  CHECK(workshop().run("fixed.onnx --device h200 --max-seconds 1s").code == 0);
  CHECK(workshop().run("fixed.onnx --device h200 --max-seconds 0.1ns").code == 3);
}

TEST_CASE("sweeps, comparisons and profiles in every format") {
  const Outcome sweep = workshop().run("net.onnx --sweep batch=1,2,4..8 --format csv");
  CHECK(sweep.code == 0);
  CHECK(sweep.err.empty());
  CHECK(lines(sweep.out) == 5);
  CHECK(sweep.out.starts_with("model,batch,macs,"));
  CHECK(sweep.out.find("\nnet,8,55296,") != std::string::npos);  // MACs: 8·4·8·8·3·3·3
  const Outcome published = workshop().run("fixed.onnx --count pagoda --sweep batch=1,2 --format csv");
  CHECK(published.out.starts_with("model,batch,ai,perf,"));
  CHECK(workshop().run("net.onnx --sweep height=1").code == 1);
  const Outcome decode =
      workshop().run("decoder.onnx --batch 2 --phase decode --sweep past=1,10 --device h200 --format csv");
  CHECK(decode.err.empty());
  CHECK(decode.out.find("\ndecoder,10,352,") !=
        std::string::npos);  // MACs: batch 2, 2 heads, 1 token against 11, 8 deep
  for (const char* study : {"--sweep batch=1,2", "--sweep batch=1,2 --device h200", "--compare fixed.onnx"})
    for (const char* format : {"table", "json", "csv", "markdown"}) {
      const Outcome result = workshop().run("net.onnx " + std::string(study) + " --format " + format);
      CHECK(result.code == 0);
      CHECK_FALSE(result.out.empty());
    }
  const Outcome profile = workshop().run("net.onnx --batch 1 --profile-structure csv");
  CHECK(lines(profile.out) == 2);
  CHECK(profile.out.starts_with("model,nodes,launches,"));
  CHECK(workshop().run("net.onnx --compare garbage.onnx").code == 1);
}

TEST_CASE("a training step: backward, optimizer, memory, and the published rule of three") {
  // One convolution with 6,912 MACs per batch item whose input needs no gradient, then Relu: forward and dw only.
  const json step = json::parse(workshop().run("fixed.onnx --training --optimizer adam --format json").out)["training"];
  CHECK(step["totals"]["forward"]["macs"] == 6912);
  CHECK(step["totals"]["dw"]["macs"] == 6912);
  CHECK(step["totals"]["dx"]["macs"] == 0);
  CHECK(step["memory"]["gradient_bytes"] == 4 * 108);
  CHECK(step["memory"]["optimizer_state_bytes"] == 2 * 4 * 108);
  const std::string count = "fixed.onnx --count pagoda --format json";
  const json once = json::parse(workshop().run(count).out),
             thrice = json::parse(workshop().run(count + " --training").out);
  for (const char* total : {"flops", "bytes"}) CHECK(thrice["totals"][total] == 3 * once["totals"][total].get<int>());
  CHECK(thrice["totals"]["param_bytes"] == once["totals"]["param_bytes"]);
  CHECK(workshop().run("fixed.onnx --training --max-memory 1kB").code == 3);
  CHECK(workshop().run("partial.onnx --training --strict").code == 3);
  CHECK(workshop().run("net.onnx --training --frozen w").out.find("training memory") != std::string::npos);
  CHECK(lines(workshop().run("net.onnx --training --sweep batch=1,2 --format csv").out) == 3);
}

TEST_CASE("the whole report is one page, a chart one picture") {
  CHECK(workshop().run("net.onnx --batch 8 --device h200 --traffic fused -o report.html").code == 0);
  const std::string page = test::read_file(workshop().path("report.html"));
  CHECK(page.find("<svg") != std::string::npos);
  CHECK(page.find("Content-Security-Policy") != std::string::npos);
  CHECK(workshop().run("net.onnx --device h200 -o chart.svg").code == 0);
  const std::string chart = test::read_file(workshop().path("chart.svg"));
  CHECK(chart.find("<svg") != std::string::npos);
  CHECK_FALSE(std::regex_search(chart, std::regex("[ \",(=]-?(nan|NaN|inf)[ \",)]")));
  const Outcome hostile = workshop().run("hostile.onnx --device h200 --format html");
  CHECK(hostile.code == 0);
  CHECK(hostile.out.find('\x1b') == std::string::npos);
  CHECK(workshop().run("net.onnx --device h200 --sweep batch=1,2,4 --format html").code == 0);
}

TEST_CASE("the memory timeline is a table or a chart") {
  CHECK(workshop().run("net.onnx --batch 2 --memory-timeline timeline.csv").code == 0);
  CHECK(test::read_file(workshop().path("timeline.csv")).starts_with("step,node,name,op_type,bytes\r\n0,0,conv,Conv,"));
  CHECK(workshop().run("hostile.onnx --memory-timeline timeline.svg").code == 0);
  const std::string chart = test::read_file(workshop().path("timeline.svg"));
  CHECK(chart.starts_with("<svg "));
  CHECK(chart.find('\x1b') == std::string::npos);
  CHECK(chart.find("nan") == std::string::npos);
}

TEST_CASE("help, version and the lists go to stdout") {
  for (const char* option : {"--help", "--version", "--list-ops", "--list-devices"}) {
    const Outcome result = workshop().run(option);
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK_FALSE(result.out.empty());
  }
  CHECK(workshop().run("--version").out.starts_with("onnx-estimate "));
}

TEST_CASE("viewers get one document, of the time with a device and of the work without") {
  const Models& models = workshop();
  const Outcome flops = models.run("net.onnx --batch 2 --format model-explorer");
  REQUIRE(flops.code == 0);
  CHECK(json::parse(flops.out).begin()->at("name") == "flops");
  CHECK(json::parse(flops.out).begin()->at("results").at("conv").at("value") == 2 * 2 * 4 * 8 * 8 * 27);
  const Outcome seconds = models.run("net.onnx --device h200 --format model-explorer");
  CHECK(json::parse(seconds.out).begin()->at("name") == "seconds");
  CHECK(json::parse(models.run("net.onnx --device h200 --format model-explorer --metric bytes").out)
            .begin()
            ->at("name") == "bytes");
  CHECK(json::parse(models.run("net.onnx --format netron").out).at("signature") == "netron:attachment");
  REQUIRE(models.run("net.onnx --format netron -o view.json").code == 0);
  CHECK(json::parse(test::read_file(models.path("view.json"))).at("signature") == "netron:attachment");

  const std::pair<const char*, const char*> refused[] = {
      {"net.onnx --metric flops", "--metric needs --format netron or model-explorer"},
      {"net.onnx --format model-explorer --metric seconds", "--metric seconds needs --device"},
      {"net.onnx --format netron --metric measured_seconds --device h200", "needs --measured"},
      {"net.onnx --format netron --top 3", "does not go with --top"},
      {"net.onnx --format netron --compare fixed.onnx", "does not go with --compare"},
      {"net.onnx --annotate a.onnx --sweep batch=1,2", "does not go with --sweep"},
      {"net.onnx --annotate a.onnx --device h200,a100-80gb", "does not go with several devices"},
  };
  for (const auto& row : refused) {
    const std::string arguments = row.first, reason = row.second;
    CAPTURE(arguments);
    const Outcome outcome = models.run(arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.says(reason));
  }
}

TEST_CASE("--annotate writes the model with notes beside the report, and never over it") {
  const Models& models = workshop();
  const Outcome outcome = models.run("net.onnx --device h200 --annotate annotated.onnx --format json");
  REQUIRE(outcome.code == 0);
  CHECK(test::contains(test::read_file(models.path("annotated.onnx")), "pagoda.seconds"));
  const json before = json::parse(outcome.out), after = json::parse(models.run("annotated.onnx --format json").out);
  CHECK(after.at("totals").at("flops") == before.at("totals").at("flops"));
  const std::string original = test::read_file(models.path("net.onnx"));
  for (const char* same : {"net.onnx --annotate net.onnx", "net.onnx --annotate ./net.onnx"}) {
    const Outcome refused = models.run(same);
    CHECK(refused.code == 1);
    CHECK(refused.says("is the input itself"));
  }
  CHECK(test::read_file(models.path("net.onnx")) == original);
  CHECK(models.run("net.onnx --annotate no/such/folder/a.onnx").code == 1);
}

TEST_CASE("a comparison in Markdown shows names as code and numbers as numbers") {
  const Models& models = workshop();
  const Outcome outcome = models.run("net.onnx --batch 1 --compare fixed.onnx --format markdown");
  REQUIRE(outcome.code == 0);
  CHECK(outcome.says("| macs | 6.91 k | 6.91 k | 0 | 1.00× |"));
}

TEST_CASE("--assume gives a size that the data decide, and names those that there are") {
  const Models& models = workshop();
  const auto elements = [&](const std::string& arguments) {
    const Outcome outcome = models.run("nms.onnx --format json " + arguments);
    REQUIRE(outcome.code == 0);
    return json::parse(outcome.out).at("nodes").at(2).at("arith").get<int>();
  };
  CHECK(elements("") == 3);  // one box
  CHECK(models.run("nms.onnx").says("unless set with --assume: selected_boxes (at most 150)"));
  CHECK(elements("--assume selected_boxes=7") == 21);
  CHECK(elements("--dim selected_boxes=7") == 21);
  CHECK(elements("--assume selected_boxes=0") == 0);
  CHECK_FALSE(models.run("nms.onnx --assume selected_boxes=7").says("unless set with"));
  const std::array<const char*, 3> refused[] = {
      {"nms.onnx --assume kept=7", "1",
       "the data decide no size of that name; those that they decide are: selected_boxes"},
      {"net.onnx --assume batch=7", "1", "it is a dim of an input; give it with --dim; no size depends on the data"},
      {"nms.onnx --assume selected_boxes=151", "1", "can be at most 150"},
      {"nms.onnx --assume selected_boxes=7 --dim selected_boxes=8", "1", "give one size"},
      {"nms.onnx --assume selected_boxes=many", "2", "is not a size"},
      {"nms.onnx --assume selected_boxes", "2", "is not of the form NAME=V"},
  };
  for (const auto& row : refused) {
    const std::string arguments = row[0], code = row[1], reason = row[2];
    CAPTURE(arguments);
    const Outcome outcome = models.run(arguments);
    CHECK(std::to_string(outcome.code) == code);
    CHECK(outcome.says(reason));
  }
}

}  // namespace
}  // namespace pagoda
