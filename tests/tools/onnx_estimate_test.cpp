// The command line of onnx-estimate: exit codes, use of output streams, files.
#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/comma_locale.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "tools/estimate_models.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using namespace test::estimate;
using test::Outcome;

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

TEST_CASE("the locale of the environment changes no output") {
  const test::CommaLocale locale;
  const std::string arguments = "fixed.onnx --device h200 --predict --engine tensorrt --format ";
  for (const std::string format : {"json", "csv", "table"}) {
    CAPTURE(format);
    const Outcome plain = workshop().run(arguments + format);
    CHECK_MESSAGE(plain.code == 0, plain.err);
    CHECK(workshop().shell("LC_ALL=de_DE.UTF-8 '" PAGODA_ONNX_ESTIMATE "' " + arguments + format).out == plain.out);
  }
}

TEST_CASE("a file that a killed process left blocks no later one where all processes have the number 1") {
  const test::Workshop shop;
  base::write_file(shop.path("out.json.tmp1"), "{");
  if (shop.shell("unshare --user --map-root-user --pid --fork true").code != 0) {
    MESSAGE("not tried: this system permits no process namespaces");
    return;
  }
  const Outcome result = shop.shell("unshare --user --map-root-user --pid --fork " PAGODA_ONNX_ESTIMATE " " +
                                    workshop().path("fixed.onnx") + " --format json -o out.json");
  CHECK_MESSAGE(result.code == 0, result.err);
  CHECK(json::parse(test::read_file(shop.path("out.json")))["totals"]["macs"] == 6912);
}

TEST_CASE("sizes are set by batch, by dim and by input shape") {
  for (const char* arguments :
       {"net.onnx --batch 4", "net.onnx --dim batch=4", "net.onnx --input x=4x3x8x8", "fixed.onnx --batch 4",
        "net.onnx --input x=4,3,8,8", "net.onnx --input 'x=[4, 3, 8, 8]'", "net.onnx --input 'x=(4, 3, 8, 8)'",
        "--dim batch=4 net.onnx", "net.onnx --dim=batch=4 --dim batch=4", "net.onnx --batch 4 --input x=4x3x8x8"}) {
    const Outcome result = workshop().run(std::string(arguments) + " --format json");
    REQUIRE_MESSAGE(result.code == 0, arguments, "\n", result.err);
    CHECK(json::parse(result.out)["totals"]["macs"] == 4 * 6912);
  }
}

TEST_CASE("several models are a table with a line for each, and those that cannot be read are reported") {
  const Outcome table = workshop().run("net.onnx long.onnx --batch 2 --device h200");
  CHECK(table.code == 0);
  CHECK(table.out.starts_with("2 models · fused traffic · NVIDIA H200"));
  CHECK(table.out.find("\nnet.onnx ") < table.out.find("\nlong.onnx "));
  for (const char* absent : {"\nall ", " runs", " share", "with all weights"})
    CHECK_MESSAGE(table.out.find(absent) == std::string::npos, absent);
  const auto rows = csv_rows(workshop().run("-- net.onnx fixed.onnx --format csv").out);
  CHECK(rows.empty());  // behind -- all are names
  CHECK(csv_rows(workshop().run("net.onnx fixed.onnx --format csv").out).size() == 3);
  CHECK(workshop().run("net.onnx fixed.onnx --format markdown").out.find("| net.onnx |") != std::string::npos);
  const Outcome some = workshop().run("net.onnx garbage.onnx empty.onnx");
  CHECK(some.code == 1);
  CHECK(some.out.starts_with("1 model "));
  CHECK(some.err.find("onnx-estimate: garbage.onnx: is text; expected an ONNX model\n") != std::string::npos);
  CHECK(some.err.find("onnx-estimate: empty.onnx: is empty; ") != std::string::npos);
  CHECK(workshop().run("empty.onnx garbage.onnx").out.empty());
  CHECK(workshop().run("--batch 4 -- net.onnx").code == 0);
  CHECK(workshop().run("net.onnx fixed.onnx --dim height=3").code == 2);  // none has it
  CHECK(workshop().run("net.onnx partial.onnx").code == 0);
  CHECK(workshop().run("net.onnx partial.onnx --strict").code == 3);
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
      {"net.onnx second.onnx", "'second.onnx' is one argument too many: it cannot be opened: No such file"},
      {"net.onnx '*.nothing'", "is one argument too many: it is a pattern that the shell did not expand"},
      {"net.onnx fixed.onnx --by node", "a table of several models does not go with --by; loop over them: for f in"},
      {"net.onnx fixed.onnx --format json", "does not go with --format json; loop over them"},
      {"net.onnx fixed.onnx --then long.onnx", "does not go with --then"},
      {"net.onnx --batch 1,2", "1,2 is a list; --sweep batch=1,2 is a row per size"},
      {"net.onnx --batch 1.5", "--batch: Value 1.5 not in range"},
      {"net.onnx --batch 1..8", "--sweep batch=1..8 is a row per size"},
      {"net.onnx --dim batch=1,2", "or --sweep batch=1,2 for a row per size"},
      {"net.onnx --input x=4x3,8", "'3,8' in 'x=4x3,8' is not a size; expected a shape such as 1x3x224x224"},
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
  for (const char* option : {"--memory", "--profile-structure json", "--sweep n=1,2 --device h200"}) {
    const Outcome result = workshop().run(std::string("audio.onnx ") + option);
    CHECK_MESSAGE(result.code == 1, option);
    CHECK_MESSAGE(result.err == "onnx-estimate: " + problem + "\n", result.err);
  }
  const Outcome timed = workshop().run("audio.onnx --device h200");
  CHECK(timed.code == 0);
  CHECK(timed.out.find("set samples first") != std::string::npos);
  CHECK(timed.out.find("work     ?") != std::string::npos);
  CHECK(timed.err.find("warning: " + problem) != std::string::npos);
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
  for (const char* value : {"16000", "8000"}) {
    const Outcome given = workshop().run(std::string("rate.onnx --strict --input sr=") + value);
    CHECK(given.code == (std::string_view(value) == "16000" ? 0 : 3));  // only the other branch has unknown work
  }
  const Outcome open = workshop().run("rate.onnx --strict");
  CHECK(open.code == 3);
  CHECK_MESSAGE(
      open.err.find("the data decide its branch: then 1.02 kFLOP, else ≥ 0 FLOP; totals take the then branch; "
                    "set --input sr=VALUE") != std::string::npos,
      open.err);
  CHECK(workshop().run("rate.onnx --input sr=0.5").err.find("the input holds int64; give an integer") !=
        std::string::npos);
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
  // Pairs in which one option implies the other are left out: JSON has formulas wherever a dim is free, and the engine
  // that is predicted runs in float16.
  const Option options[] = {{"--batch 4", false},
                            {"--device h200", true},
                            {"--device h200 --traffic unfused", true},
                            {"--precision fp16", false},
                            {"--symbolic", false},
                            {"--memory", false},
                            {"--by type", false},
                            {"--top 1", false},
                            {"--count macs", false},
                            {"--training", false},
                            {"--sweep batch=1,2", false},
                            {"--compare long.onnx", false},
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
        if (is(b, "--precision fp16") && is(a, "--device rtx-3090 --predict")) continue;
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

TEST_CASE("published counts of a model with branches say that the published tool does not enter them") {
  const std::string merged = test::source_path("models/skeletons/t5_merged.onnx");
  const Outcome result = workshop().run(merged + " --phase decode --past 16 --count pagoda");
  CHECK(result.code == 0);
  CHECK(result.err.find("counts no node within If, Loop or Scan; ") != std::string::npos);
  CHECK(workshop().run("net.onnx --count pagoda").err.find("published tool") == std::string::npos);
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
      {"net.onnx --device h200 --runs 2", "--runs needs --measured"},
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

TEST_CASE("a measured run that beats its floor is impossible, and runs of several batches need a batch to compare") {
  const Models& models = workshop();
  const char* const kModes =
      "cores,cpu,gpu,mem,observed_time(ms/batch),bs,observed_power(W)\n12,2201600,1300500000,3199000000,";
  base::write_file(models.path("fast.csv"), std::string(kModes) + "1e-12,1,9\n");
  const Outcome fast = models.run("net.onnx --batch 1 --device h200 --measured fast.csv");
  CHECK(fast.code == 0);
  CHECK(fast.says("it is of another model, size or device, or of narrower arithmetic"));
  CHECK(models.run("net.onnx --batch 1 --device h200 --measured fast.csv --strict").code == 5);
  base::write_file(models.path("slow.csv"), std::string(kModes) + "1000,1,9\n");
  CHECK(models.run("net.onnx --batch 1 --device h200 --measured slow.csv --strict").code == 0);
}

TEST_CASE("a prediction that is asked for and missing is partial") {
  const Models& models = workshop();
  CHECK(models.run("net.onnx --device mi300x --predict").code == 0);
  CHECK(models.run("net.onnx --device mi300x --predict --strict").code == 3);
  CHECK(models.run("net.onnx --device rtx-3090 --predict --strict").code == 0);
}

TEST_CASE("no output replaces an input of the same command") {
  const Models& models = workshop();
  const std::string original = test::read_file(models.path("net.onnx"));
  const char* const commands[] = {"net.onnx --format json -o net.onnx", "net.onnx --format json -o./net.onnx",
                                  "net.onnx --format json --output=net.onnx", "net.onnx --memory-timeline net.onnx",
                                  "net.onnx --device h200,net.onnx -o net.onnx"};
  for (const char* command : commands) {
    CAPTURE(command);
    const Outcome refused = models.run(command);
    CHECK(refused.code != 0);
    CHECK(test::read_file(models.path("net.onnx")) == original);
  }
  CHECK(models.run(commands[0]).says("net.onnx: is an input of this command, expected another name for the output"));
  for (int time = 0; time < 2; ++time) CHECK(models.run("net.onnx --format json -o once.json").code == 0);
  CHECK(models.run("net.onnx --compare once.json -o once.json").code != 0);
  CHECK(models.run("net.onnx --format json -o once.json").code == 0);
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

TEST_CASE("without its sizes a run has no time, no fit and no verdict, but counts at 1 and formulas") {
  const Models& models = workshop();
  const std::string image = "image.onnx --device h200 ";
  const json schema = test::schema("estimate");
  const Outcome found = models.run(image + "--what-if fp16 --traffic fused --format json");
  REQUIRE_MESSAGE(found.code == 0, found.err);
  CHECK(found.says("set them with --dim height=V --dim n=V --dim width=V for work, times and fits"));
  const json report = json::parse(found.out);
  CHECK(test::violations(report, schema).empty());
  CHECK(report.at("unset") == json::array({"height", "width"}));  // the batch stays 1
  CHECK(report.at("totals").at("macs") == 12);
  CHECK(report.at("symbolic").at("macs") == "12*height*n*width");
  for (const char* time : {"seconds", "floor_seconds", "eager_seconds", "compute_seconds", "memory_seconds"})
    CHECK_MESSAGE(report.at("roofline").at(time).is_null(), time);
  CHECK(report.at("roofline").at("launches").is_null());
  CHECK(report.at("roofline").at("nodes").empty());
  CHECK(report.at("roofline").at("device") == "h200");
  for (const char* number : {"total_bytes", "fits", "largest_batch", "longest_context"})
    CHECK_MESSAGE(report.at("fit").at(number).is_null(), number);
  for (const char* other : {"variants", "advice"}) CHECK_FALSE(report.contains(other));

  for (const char* view : {"", "--by node", "--by type", "--format markdown", "--traffic fused --by group"}) {
    const Outcome table = models.run(image + view);
    CAPTURE(view);
    CHECK(table.code == 0);
    CHECK_FALSE(table.says("0 s"));
    CHECK_FALSE(table.says("largest batch"));
    CHECK_FALSE(table.says(" µs"));
  }
  CHECK(models.run(image + "--by node").says("depends on height, width"));

  CHECK(models.run(image + "--format netron").code == 0);
  const Outcome metric = models.run(image + "--format netron --metric seconds");
  CHECK(metric.code == 2);
  CHECK(metric.says("--metric seconds depends on height, width; set them with --dim"));

  // A size that a sweep sets is known.
  const json swept = json::parse(models.run(image + "--sweep height=8,16 --dim width=8 --format json").out);
  CHECK_FALSE(swept.contains("unset"));
  CHECK(swept.at("sweep").at("points").at(0).at("seconds").is_number());
  const json half = json::parse(models.run(image + "--sweep height=8,16 --format json").out);
  CHECK(half.at("unset") == json::array({"width"}));
  CHECK_FALSE(half.at("sweep").at("points").at(0).contains("seconds"));
  const json whole = json::parse(models.run(image + "--dim height=8 --dim width=8 --format json").out);
  CHECK_FALSE(whole.contains("unset"));
  CHECK(whole.at("roofline").at("seconds").is_number());
}

TEST_CASE("budgets cannot tell about a run without its sizes, and say which to set") {
  const Outcome time = workshop().run("image.onnx --device h200 --max-seconds 1s");
  CHECK(time.code == 3);
  CHECK(time.says("seconds: cannot tell 1s, found ?; it depends on height, width; set them with --dim"));
  const Outcome work = workshop().run("image.onnx --max-flops 1GFLOP");
  CHECK(work.code == 3);
  CHECK(work.says("flops: cannot tell 1GFLOP"));
}

TEST_CASE("what nearly matches a pattern of the runtime is listed with the condition and what it costs") {
  const std::string model = "'" + test::source_path("models/skeletons/bert_base.onnx") + "' --unfused ";
  const Models& models = workshop();
  const Outcome open = models.run(model);
  CHECK(open.says("ONNX Runtime, CPU 1.32.0"));
  CHECK(open.says("fuses 12 BiasGelu, 12 Gelu, 12 MatMulScale"));
  CHECK(open.says("the runtime cannot infer that the operands of Add have equal shapes"));
  const json rows = json::parse(models.run(model + "--format json").out).at("unfused");
  CHECK(rows.at(0).at("seconds").is_null());
  const std::string sized = model + "--dim batch=8 --dim sequence=128 --device h200 ";
  const Outcome table = models.run(sized);
  CHECK(table.says("ONNX Runtime, CUDA 1.31.1"));
  CHECK(table.says("the model has opset 17, and the pattern ends with 12, and"));
  CHECK(json::parse(models.run(sized + "--format json").out).at("unfused").at(0).at("seconds").get<double>() > 0);
  CHECK(models.run("'" + test::source_path("models/skeletons/resnet50.onnx") + "' --unfused")
            .says("nothing nearly matches a pattern"));
  CHECK(models.run(model + "--sweep batch=1,2").code == 2);
}

TEST_CASE("placement: a table, CSV columns, JSON, and a gate for CI") {
  const std::string model = "'" + test::source_path("models/skeletons/resnet50_qdq_int8.onnx") + "' --provider cuda ";
  const Models& models = workshop();
  const Outcome table = models.run(model);
  CHECK(table.says("275 of 329 nodes on it, in 1 part"));
  CHECK(table.says("add the bias as float32"));
  const Outcome csv = models.run(model + "--by node --format csv");
  CHECK(csv.out.substr(0, csv.out.find('\n')).find(",on,part,reason,") != std::string::npos);
  CHECK(csv.says("no kernel: int32"));
  CHECK(json::parse(models.run(model + "--format json").out).at("placement").at(0).at("copies").size() == 54);
  CHECK(models.run(model + "--max-off-provider 20%").code == 0);
  const Outcome gate = models.run(model + "--max-off-provider 2%");
  CHECK(gate.code == 3);
  CHECK(gate.says("off cuda: exceeds 2.00 %, found 16.4 % of the nodes that run"));
  CHECK(models.run(model + "--max-off-provider 2").code == 2);
  CHECK(models.run(model + "--sweep batch=1,2").code == 2);
  CHECK(models.run("image.onnx --max-off-provider 2%").code == 2);
  CHECK(models.run("image.onnx --provider cudo").code != 0);
}

TEST_CASE("counts that depend on the data are lower bounds in every output") {
  const Models& models = workshop();
  const Outcome found = models.run("nms.onnx --device h200 --traffic fused --format json");
  const json report = json::parse(found.out);
  CHECK(test::violations(report, test::schema("estimate")).empty());
  CHECK(report.at("totals").at("lower_bounds").dump().find("\"flops\"") != std::string::npos);
  CHECK(report.at("nodes").at(2).at("lower_bounds").dump().find("\"arith\"") != std::string::npos);
  CHECK_FALSE(report.at("totals").at("lower_bounds").dump().find("param") != std::string::npos);
  CHECK(report.at("totals").at("intensity").is_null());
  CHECK(report.at("traffic").contains("lower_bounds"));
  CHECK(report.at("roofline").at("at_least") == true);
  CHECK(report.at("fit").at("at_least") == true);
  CHECK(report.at("fit").at("fits") == true);  // also with 150 boxes, the most that there can be
  CHECK(report.at("fit").at("largest_batch").is_null());

  const Outcome answer = models.run("nms.onnx --device h200");
  CHECK(answer.says("1 size that the data decide is taken as 1"));
  for (const char* view : {"", "--by node", "--by type", "--format markdown"}) {
    CAPTURE(view);
    CHECK(models.run("nms.onnx " + std::string(view)).says("≥ "));
    CHECK_FALSE(models.run("nms.onnx " + std::string(view)).says("≥ ≥"));
    CHECK_FALSE(models.run("nms.onnx --assume selected_boxes=7 " + std::string(view)).says("≥ "));
  }
  CHECK(models.run("nms.onnx --symbolic").says("decided by the data at nms"));

  const auto rows = csv_rows(models.run("nms.onnx --format csv").out);
  CHECK(rows.at(0).back() == "lower_bounds");
  CHECK(rows.at(3).back().find("arith;") == 0);
  CHECK(rows.at(3).at(column(rows.at(0), "arith")) == "3");
  CHECK(csv_rows(models.run("nms.onnx --assume selected_boxes=7 --format csv").out).at(0).back() != "lower_bounds");

  // A sweep over the size itself has exact points.
  const json swept = json::parse(models.run("nms.onnx --sweep selected_boxes=1,7 --format json").out);
  CHECK_FALSE(swept.at("sweep").at("points").at(1).contains("lower_bounds"));
}

TEST_CASE("memory that is a lower bound says what it leaves out") {
  const Outcome found = workshop().run("ends.onnx");
  CHECK(found.out.find("memory   ≥ ") != std::string::npos);
  CHECK(found.says("memory is a lower bound, without t (strings have any length)"));
}

}  // namespace
}  // namespace pagoda
