// With any two options of a tool, each must change the result, or the pair is refused by the name of one: none is
// ignored. onnx-estimate has its own test; options of runs that take minutes or need a GPU are tested by rules below.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "report_results/sample.h"
#include "support/files.h"
#include "support/workshop.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;

// Pairs of options: by design the second has no additional effect with the first; with "", it never has.
using Implied = std::vector<std::pair<const char*, const char*>>;

// Options as a user types them; the first word is the name.
struct Walk {
  const char* tool;
  const char* start;  // includes inputs; files written begin with "out"
  std::vector<const char*> options;
  Implied implied = {};
};

struct Shop : test::Workshop {
  Shop() {
    std::istringstream paths(PAGODA_EVERY_TOOL);
    for (std::string path; paths >> path;) tools[fs::path(path).filename()] = path;
    const auto copy = [&](const char* from, const char* to) { fs::copy_file(test::source_path(from), path(to)); };
    copy("tests/import/data/ort_resnet50_basic.json", "profile.json");
    copy("tests/import/data/ncu_raw.csv", "ncu.csv");
    copy("tests/import/data/tensorrt_profile.json", "trt.json");
    copy("tests/import/data/tensorrt_layers.json", "layers.json");
    copy("data/measured/orin-agx/resnet50.csv", "runs.csv");
    fs::create_directory_symlink(test::source_path("models/skeletons"), path("skeletons"));
    fs::create_directories(path("busy/proc"));
    std::ofstream(path("busy/proc/loadavg")) << "9.00 9.00 9.00 9/100 1000\n";
    fs::create_directories(path("busy/sys/devices/system/cpu"));
    std::ofstream(path("busy/sys/devices/system/cpu/online")) << "0-1\n";
    std::ofstream(path("modes.csv")) << "cores,cpu,gpu,mem,observed_time(ms/batch),bs,observed_power(W)\n"
                                        "12,2201600,1300500000,3199000000,10,1,30\n"
                                        "12,2201600,918000000,3199000000,12,1,20\n";
    // Joules for 10 pJ/FLOP, 100 pJ/B and 20 W, at four intensities and two clocks.
    std::ofstream energy(path("energy.csv"));
    energy << "flops,bytes,seconds,joules,gpu_hz\n";
    for (int i = 0; i < 16; ++i) {
      const double flops = 1e9 * (1 + i), bytes = flops / (5 << (i % 4)), seconds = 1e-3 * (1 + i % 3);
      energy << flops << ',' << bytes << ',' << seconds << ',' << 10e-12 * flops + 100e-12 * bytes + 20 * seconds << ','
             << (i < 8 ? 9e8 : 1.3e9) << '\n';
    }
    REQUIRE(shell("'" + tools.at("onnx-skeleton") + "' --fill " +
                  test::source_path("models/skeletons/linear_64_128.onnx") + " -o net.onnx")
                .code == 0);
    const std::string estimate =
        "'" + tools.at("onnx-estimate") + "' " + test::source_path("models/skeletons/resnet50.onnx");
    REQUIRE(shell(estimate + " --batch 1 --device orin-agx -o r50.json").code == 0);
    REQUIRE(shell(estimate + " --sweep batch=1,4,16,32,64 --device orin-agx -o sweep.json").code == 0);
    std::vector<documents::Result> base = test::made({.repeats = 4, .run = test::Noise(1, 0.01)}),
                                   other = test::made(
                                       {.compile = "inductor", .batch = 2, .repeats = 4, .run = test::Noise(2, 0.02)});
    for (const auto& [name, results] : {std::pair{"base.jsonl", &base}, {"other.jsonl", &other}})
      for (const documents::Result& result : *results) documents::append_result(path(name), result);
  }

  // Everything that a run produces: its exit code, its output, and the files that it writes.
  struct Given {
    int code = -1;
    std::string err, all;
  };
  Given run(const std::string& tool, const std::string& arguments) const {
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().filename().string().starts_with("out")) fs::remove_all(entry.path());
    const test::Outcome outcome = shell("'" + tools.at(tool) + "' " + arguments);
    Given given{.code = outcome.code,
                .err = outcome.err,
                .all = outcome.out + outcome.err + "exit " + std::to_string(outcome.code)};
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && fs::relative(entry.path(), folder).string().starts_with("out"))
        files[entry.path().string()] = test::read_file(entry.path());
    for (const auto& [name, content] : files) given.all += name + content;
    return given;
  }

  std::map<std::string, std::string> tools;
};

std::string name_of(const std::string& option) { return option.substr(0, option.find(' ')); }

std::vector<Walk> all_walks() {
  std::vector<Walk> walks = {
      {"onnx-skeleton", "net.onnx -o out.onnx", {"--fill", "--seed 7", "--weights-location w.bin", "--anonymous", "--list"}},
      {"pagoda-import",
       "profile.json",
       {"-o out.json", "--estimate r50.json", "--csv out.csv", "--table", "--top 3", "--width 60", "--warmup 2",
        "--layers layers.json", "--chip GH100", "--runs 3"},
       {{"--estimate", "--table"}, {"-o", "--table"}}},
      {"pagoda-import",
       "ncu.csv",
       {"-o out.json", "--csv out.csv", "--table", "--top 1", "--width 60", "--chip GA100"},
       {{"-o", "--table"}}},
      {"pagoda-import",
       "trt.json",
       {"-o out.json", "--layers layers.json", "--csv out.csv", "--table", "--top 1", "--chip GH100"},
       {{"-o", "--table"}}},
      {"pagoda-report", "table base.jsonl other.jsonl", {"-o out.svg", "--title T", "--where batch=2"}},
      {"pagoda-report",
       "csv base.jsonl other.jsonl",
       {"-o out.csv", "--columns calibration", "--machine h200", "--models skeletons", "--where batch=2"}},
      {"pagoda-report",
       "compare base.jsonl other.jsonl --without batch,compile",
       {"-o out.html", "--title T", "--tolerance 0.5", "--false-alarm 0.3", "--where batch=2"}},
      {"pagoda-report", "latest base.jsonl other.jsonl", {"-o out.svg", "--title T", "--baseline other"}},
      {"pagoda-report", "history base.jsonl other.jsonl", {"-o out.svg", "--title T", "--baseline other"}},
      {"pagoda-report", "modes modes.csv", {"-o out.svg", "--title T", "--slow-down 50%"}},
      {"pagoda-calibrate",
       "--energy energy.csv",
       {"--device orin-agx", "--each gpu_hz", "--format csv", "--residuals out.csv", "--precision fp16", "--id mine",
        "--regime x", "--source y", "--folds 3", "--coverage 0.5", "--elsewhere runs.csv", "--check rtx-3090-amp-nchw",
        "-o out.json", "--threads 2"}},
  };
  for (const char* format : {"svg", "html", "csv", "json", "text"})
    walks.push_back({"roofline-plot",
                     format == std::string("svg")    ? "--device orin-agx --estimate r50.json -o out.svg"
                     : format == std::string("html") ? "--device orin-agx --estimate r50.json -o out.html"
                     : format == std::string("csv")  ? "--device orin-agx --estimate r50.json -o out.csv"
                     : format == std::string("json") ? "--device orin-agx --estimate r50.json -o out.json"
                                                     : "--device orin-agx --estimate r50.json -o -",
                     {"--title T", "--precision fp16", "--xlim 0.1 1000", "--ylim 1e9 1e15", "--max-dots 3",
                      "--labels 0", "--energy", "--width 85mm", "--font-size 7pt", "--frame machine", "--columns 60",
                      "--lines 20", "--measured runs.csv"},
                     // CSV and JSON always contain joules; no kernel here has joules for dots or labels; a given axis
                     // leaves the other one at the machine's range.
                     format == std::string("csv") || format == std::string("json") ? Implied{{"", "--energy"}}
                                                                                   : Implied{{"--energy", "--labels"},
                                                                                             {"--energy", "--max-dots"},
                                                                                             {"--xlim", "--frame"},
                                                                                             {"--ylim", "--frame"}}});
  // Listed experiments have a key of all measurement settings; --timeout and similar options only act during a run.
  // With more experiments, the smallest may stay the same.
  walks.push_back({"pagoda-bench",
                   "run net.onnx --backend ort,cmd --command x --batch 1,2,4 --list",
                   {"--mode inference,training",
                    "--device cpu,cuda",
                    "--dtype float16",
                    "--compile inductor",
                    "--optimization disable",
                    "--algorithm gemm",
                    "--optimizer adam",
                    "--threads 2",
                    "--data /tmp",
                    "--sequence 64",
                    "--input-size 64",
                    "--set a=some",
                    "--worker a=b",
                    "--repeat 2",
                    "--seed 5",
                    "--budget 3",
                    "--half-width 0.2",
                    "--warmup 2",
                    "--runs 3",
                    "--warmup-runs 3",
                    "--layers",
                    "--verify",
                    "--sanity",
                    "--quick",
                    "--filter batch=2",
                    "--exclude batch=4",
                    "--threshold 0.3",
                    "--dry-run"},
                   {{"--verify", "--threshold"},
                    {"--sanity", "--device"},
                    {"--sanity", "--compile"},
                    {"--sanity", "--algorithm"},
                    {"--sanity", "--exclude"},
                    {"--filter", "--quick"},
                    {"--input-size", "--quick"},  // the model has no image: three commands are left, too few to thin
                    {"--filter", "--exclude"}}});
  walks.push_back({"pagoda-doctor",
                   "--python /none --root busy",
                   {"--need gpu", "--strict", "--json out.json", "--nvml /none.so", "--cuda /none.so"},
                   // Without a device, no driver library is loaded; either of two reasons gives the exit code.
                   {{"", "--cuda"}, {"--need", "--strict"}}});
  return walks;
}

TEST_CASE("of two options of a tool none is dropped") {
  const Shop shop;
  for (const Walk& walk : all_walks()) {
    const std::string start = walk.start;
    const Shop::Given nothing = shop.run(walk.tool, start);
    const std::string at_start = std::string(walk.tool) + " " + start + ": " + nothing.err;
    CHECK_MESSAGE((nothing.code == 0 || nothing.code == 3), at_start);
    for (const char* a : walk.options) {
      const Shop::Given alone = shop.run(walk.tool, start + " " + a);
      const std::string where = std::string(walk.tool) + " " + start + " " + a;
      const auto is_refused = [](const Shop::Given& given, const std::string& x, const std::string& y) {
        const auto is_named = [&](const std::string& option) {  // the axis of a study has no dashes
          return !option.empty() &&
                 given.err.find(name_of(option).substr(option.starts_with("--") ? 2 : 0)) != std::string::npos;
        };
        return given.code != 0 && given.code != 3 && (is_named(x) || is_named(y));
      };
      const auto adds_nothing = [&](const std::string& first, const std::string& second) {
        return std::any_of(walk.implied.begin(), walk.implied.end(), [&](const auto& pair) {
          return second == pair.second && (first == pair.first || *pair.first == '\0');
        });
      };
      CHECK_MESSAGE((is_refused(alone, a, "") || alone.all != nothing.all || adds_nothing("", name_of(a))), where);
      if (alone.code != 0 && alone.code != 3) continue;
      for (const char* b : walk.options) {
        if (std::string(a) == b || adds_nothing(name_of(a), name_of(b))) continue;
        const Shop::Given both = shop.run(walk.tool, start + " " + a + " " + b);
        const std::string with = where + " " + b;
        CHECK_MESSAGE((is_refused(both, a, b) || both.all != alone.all), with);
      }
    }
  }
}

// Tools that measure for seconds: options without effect are refused before anything runs.
struct Case {
  const char* tool;
  const char* arguments;
  const char* said;
};
constexpr Case kRefused[] = {
    {"ert-ceilings", "--cpu --gpu 0", "--cpu"},
    {"ert-ceilings", "--cpu --quick --full", "--quick"},
    {"ert-ceilings", "--cpu --tolerance 0.1", "--check"},
    {"ert-ceilings", "--cpu --resume a.json", "--resume"},
    {"ert-ceilings", "--cpu --audit --json out.json", "--audit answers by itself; it does not go with --json"},
    {"ert-ceilings", "--cpu --audit --only fma", "--audit answers by itself; it does not go with --only"},
    {"ert-ceilings", "--cpu --json - --csv -", "only one of"},
    {"ert-ceilings", "--cpu --csv-ert - --csv-rocprof -", "only one of"},
    {"ert-ceilings", "--json out.json", "--cpu or --gpu"},
    {"roofline-plot", "--measured a.json --against b.json", "--against needs the models that ran"},
    {"roofline-plot", "r50.onnx --against b.json", "give the first, and no other, with --measured"},
    {"roofline-plot", "r50.onnx --measured a.json --against b.json -o out.svg", "--against writes text, csv, json or html"},
    {"roofline-plot", "r50.onnx --measured a.json --against b.json --device h200", "it does not go with --device"},
    {"roofline-plot", "r50.onnx --estimate r50.json --measured a.json --against b.json", "give one kind"},
    {"roofline-plot", "r50.onnx --device h200 -o out.svg", "models are read with --against"},
    {"roofline-plot", "--device h200", "--output is required"},
    {"pagoda-bench", "run net.onnx --backend ort --list-models --batch 2", "--list-models answers by itself"},
    {"pagoda-bench", "run net.onnx --backend ort -o out --runs 3 --budget 1", "--budget"},
    {"pagoda-bench", "run net.onnx --backend ort -o out --no-resume --retry failed", "--retry"},
    {"pagoda-bench", "run net.onnx --backend ort -o out --threshold 0.1", "--threshold needs --verify"},
    {"pagoda-bench", "run net.onnx --backend ort -o out --compile inductor", "compile: found backend ort"},
    {"pagoda-bench", "run net.onnx --backend torch -o out --optimizer adam", "optimizer: found mode inference"},
    {"pagoda-bench", "run net.onnx --backend ort", "--output"},
    {"pagoda-bench", "conv net.onnx --threads 2 --device cuda", "--threads"},
    {"pagoda-bench", "conv net.onnx --math tf32", "--math"},
    {"pagoda-bench", "conv net.onnx --runs 2 --layer-budget 1", "--layer-budget"},
    {"pagoda-bench", "conv net.onnx --runs 2 --budget 1", "--budget"},
    {"pagoda-bench", "conv net.onnx --support --csv out.csv", "--support answers by itself; it does not go with --csv"},
    {"pagoda-bench", "conv --list-algorithms --batch 2", "--list-algorithms answers by itself"},
    {"pagoda-bench", "conv --list-models --batch 2", "--list-models answers by itself"},
    {"pagoda-bench", "matmul --device cuda --threads 2", "--threads"},
    {"pagoda-bench", "matmul --python python3", "--python"},
    {"pagoda-bench", "matmul --baseline torch", "--baseline"},
    {"pagoda-metrics", "--check --list GH100", "answers by itself"},
    {"pagoda-calibrate", "--here onnxruntime-cpu -o out.json --id mine", "--here answers by itself"},
    {"pagoda-metrics", "--cupti none", "say what to do"},
};

TEST_CASE("options that others leave without effect are refused by name") {
  const Shop shop;
  for (const Case& row : kRefused) {
    if (!shop.tools.contains(row.tool)) continue;  // this build lacks it
    CAPTURE(row.tool);
    CAPTURE(row.arguments);
    const Shop::Given given = shop.run(row.tool, row.arguments);
    CHECK((given.code == 1 || given.code == 2));
    CHECK_MESSAGE(given.err.find(row.said) != std::string::npos, given.err);
  }
}

// Options that act whatever else is given, most of them of tools that measure for seconds. A new option belongs here,
// in a walk, or in a rule.
const std::map<std::string, std::string> kIndependent = {
    {"ert-ceilings", "--energy --counters --strict --budget --seed --check"},
    {"pagoda-bench run",
     "--command --backend --batch --dim --input --list --timeout --memory-limit --full --output --strict --print-subprocess"},
    {"pagoda-bench conv",
     "--algorithm --input-size --device --warmup-runs --check --threshold --seed --no-fallback --overall --output"},
    {"pagoda-bench matmul", "--size --shape --library --type --device --budget --ceilings --csv"},
    {"pagoda-metrics", "--write --decode"},
    {"onnx-skeleton", "--keep-stack-traces"},  // of nodes that have any
    {"pagoda-import", "--format"},             // for files that are not recognised
    {"roofline-plot", "--ceilings --format --runs"},  // another roof; the walk takes formats from -o; of profiles alone
};

TEST_CASE("every option is walked, refused beside another, or listed as independent") {
  const Shop shop;
  std::map<std::string, std::string> seen = kIndependent;  // by tool and subcommand
  const auto add = [&](const std::string& tool, const std::string& arguments) {
    const std::string command = tool == "pagoda-bench" ? tool + " " + arguments.substr(0, arguments.find(' ')) : tool;
    seen[command] += " " + arguments;
  };
  for (const Walk& walk : all_walks()) {
    if (std::string_view(walk.tool) == "pagoda-report" || std::string_view(walk.tool) == "pagoda-calibrate") continue;
    std::string all = walk.start;
    for (const char* option : walk.options) all += std::string(" ") + option;
    add(walk.tool, all);
  }
  for (const Case& row : kRefused) add(row.tool, row.arguments);
  for (const auto& [command, options] : seen) {
    const std::string tool = command.substr(0, command.find(' '));
    if (!shop.tools.contains(tool) || tool == "pagoda-calibrate") continue;  // whose other fits take seconds
    const std::string help = shop.run(tool, command.substr(tool.size()) + " --help").all;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find("--");
      if (!line.starts_with("  -") || at > 5) continue;
      const std::string name = line.substr(at, line.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at) - at);
      const bool is_short_given = name == "--output" && (options + " ").find(" -o ") != std::string::npos;
      const bool is_seen = (" " + options + " ").find(" " + name + " ") != std::string::npos || is_short_given;
      const std::string where = command + " " + name;
      CHECK_MESSAGE((is_seen || name == "--help" || name == "--version"), where);
    }
  }
}

TEST_CASE("an output that cannot be written is an error before anything is measured") {
  const Shop shop;
  for (const auto& [tool, arguments] : {std::pair{"pagoda-bench", "matmul --size 64 --csv none/a.csv"},
                                        {"pagoda-bench", "conv skeletons/alexnet.onnx --csv none/a.csv"},
                                        {"pagoda-bench", "matmul --size 64 --ceilings none.json"},
                                        {"ert-ceilings", "--cpu --quick --json none/a.json"}}) {
    const Shop::Given given = shop.run(tool, arguments);
    CHECK(given.code == 1);
    CHECK_MESSAGE(given.err.find("none") != std::string::npos, given.err);
    CHECK(given.all == given.err + "exit 1");  // nothing was printed or written
  }
}

}  // namespace
}  // namespace pagoda
