// What every tool must provide: a version, help, and errors that name the file and end with the documented exit code.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "pagoda/base/text.h"
#include "pagoda/present/report.h"
#include "support/files.h"
#include "support/onnx_file.h"
#include "support/text_graph.h"
#include "support/workshop.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;

using test::Outcome;

// A folder with inputs that no tool accepts, and the tools by name.
struct Shop : test::Workshop {
  Shop() {
    fs::create_directories(path("folder"));
    base::write_file(path("empty"), "");
    base::write_file(path("text"), "this is no input of any tool\n");
    std::istringstream paths(PAGODA_EVERY_TOOL);
    for (std::string path; paths >> path;) tools[fs::path(path).filename()] = path;
  }

  // `arguments` is shell text.
  Outcome run(const std::string& tool, const std::string& arguments) const {
    return shell("'" + tools.at(tool) + "' " + arguments);
  }

  std::map<std::string, std::string> tools;
};

TEST_CASE("pagoda-calibrate --here says what it needs before it measures") {
  const Shop shop;
  const std::pair<std::string, std::string> misuses[] = {
      {"", "give a table of RUNS, or --here ENGINE"},
      {"--here onnxruntime-cpu", "needs -o FILE"},
      {"--here tvm -o here.json", "onnxruntime-cpu"},
      {"--threads 2 runs.csv", "--here"},
  };
  for (const auto& [arguments, message] : misuses) {
    const Outcome result = shop.run("pagoda-calibrate", arguments);
    CHECK(result.code == 2);
    CHECK(result.err.find(message) != std::string::npos);
  }
}

TEST_CASE("an option with an empty value is refused, not ignored") {
  const Shop shop;
  const Outcome result = shop.run("onnx-estimate", "text --device ''");
  CHECK(result.code == 2);
  CHECK(result.err.find("--device is given an empty value") != std::string::npos);
}

TEST_CASE("every tool names itself with its version, and prints help") {
  const Shop shop;
  REQUIRE(shop.tools.size() == PAGODA_TOOLS);
  for (const auto& entry : shop.tools) {
    const std::string tool = entry.first;  // clang 14 cannot capture structured bindings
    CAPTURE(tool);
    const Outcome version = shop.run(tool, "--version");
    CHECK(version.code == 0);
    CHECK(version.out.starts_with(tool + " 0."));
    const Outcome help = shop.run(tool, "--help");
    CHECK(help.code == 0);
    CHECK(help.out.find("Usage:") != std::string::npos);
    const Outcome misuse = shop.run(tool, "--no-such-option");
    CHECK(misuse.code == 2);
    CHECK(misuse.err.starts_with(tool + ": "));
    CHECK(misuse.err.ends_with("; see " + tool + " --help\n"));
  }
}

TEST_CASE("an input of the wrong kind is named, with what was expected, and leaves no output") {
  const Shop shop;
  struct Case {
    const char* tool;
    const char* before;
    const char* after;
  };
  const Case cases[] = {
      {"onnx-estimate", "", "-o made.json"},
      {"onnx-skeleton", "", "-o made.onnx"},
      {"roofline-plot", "--device h200 --estimate", "-o made.svg"},
      {"roofline-plot", "--ceilings", "-o made.svg"},
      {"pagoda-import", "", "-o made.json"},
      {"pagoda-report", "csv", "-o made.csv"},
      {"pagoda-calibrate", "", "--check rtx-3090-amp-nchw"},
  };
  for (const Case& row : cases) {
    for (const std::string input : {"empty", "text", "folder", "missing"}) {
      const Outcome result = shop.run(row.tool, std::string(row.before) + " " + input + " " + row.after);
      CAPTURE(std::string(row.tool) + " " + row.before + " " + input + ": " + result.err);
      CHECK(result.code == 1);
      CHECK(result.err.starts_with(std::string(row.tool) + ": "));
      CHECK(result.err.find(input) != std::string::npos);
      CHECK(result.err.find("basic_filebuf") == std::string::npos);
      CHECK(result.err.find("json.exception") == std::string::npos);
    }
  }
  for (const char* made : {"made.json", "made.onnx", "made.svg", "made.csv"}) CHECK_FALSE(fs::exists(shop.path(made)));
}

TEST_CASE("options with a unit take the same spellings in every tool, and refuse the rest by name") {
  const Shop shop;
  base::write_file(shop.path("net.onnx"), test::onnx_bytes(test::graph("x:f32[1,8] -> y = Relu(x)")));
  struct Option {
    const char* tool;
    const char* before;  // with it and no mistake the tool exits 0 soon; empty: only mistakes are tried
    const char* name;
    const char* taken;  // spellings of the same amount, with commas
    const char* refused;
  };
  constexpr const char *kSeconds = "2,2s,2000ms,2000 MS,2e9ns", *kNoSeconds = "2 apples;1,5;2GB",
                       *kShares = "0.1,10%,10 %", *kNoShares = "0,1;10 percent";
  constexpr const char* kList = "run --backend cmd --command true --list -o out";
  // clang-format off
  constexpr Option kOptions[] = {
      {"pagoda-bench",   kList,                                   "--budget",       kSeconds, kNoSeconds},
      {"pagoda-bench",   kList,                                   "--warmup",       kSeconds, kNoSeconds},
      {"pagoda-bench",   kList,                                   "--timeout",      kSeconds, kNoSeconds},
      {"pagoda-bench",   kList,                                   "--half-width",   kShares,  kNoShares},
      {"pagoda-bench",   "run --backend cmd --command true --list --verify -o out", "--threshold", kShares, kNoShares},
      {"pagoda-bench",   kList,                                   "--memory-limit", "1GiB,1gib,1024 MiB,1073741824", "1 Gb;1 gig;1,5GB;0"},
      {"pagoda-bench",   "",                                      "conv net.onnx --budget", "", kNoSeconds},
      {"pagoda-bench",   "",                                      "conv net.onnx --layer-budget", "", kNoSeconds},
      {"pagoda-bench",   "",                                      "conv net.onnx --threshold", "", kNoShares},
      {"pagoda-bench",   "",                                      "matmul --budget", "",      kNoSeconds},
      {"ert-ceilings",   "",                                      "--cpu --budget", "",       kNoSeconds},
      {"ert-ceilings",   "",                                      "--cpu --check text --tolerance", "", kNoShares},
      {"pagoda-report",  "",                                      "compare text text --tolerance", "", kNoShares},
      {"pagoda-report",  "",                                      "compare text text --false-alarm", "", kNoShares},
      {"onnx-estimate",  "net.onnx",                              "--max-flops",    "1GFLOP,1 gflops,1GMAC,1 gmacs,1G,1e9", "1GB;1,5GFLOP;1m"},
      {"onnx-estimate",  "net.onnx",                              "--max-bytes",    "1GB,1gb,1 GiB,1e9", "1Gb;1GFLOP;1,5GB"},
      {"onnx-estimate",  "net.onnx",                              "--max-memory",   "1GB,1gb,1 GiB,1e9", "1Gb;1GFLOP;1,5GB"},
      {"onnx-estimate",  "net.onnx",                              "--max-params",   "1M,1k,1B,1b,1e6", "1GFLOP;1,5M;1m"},
      {"onnx-estimate",  "",                                      "net.onnx --device h200 --max-seconds", "", "5;1,5s;5 apples;5MB"},
      {"onnx-estimate",  "",                                      "net.onnx --provider cuda --max-off-provider", "", "2;1,5%;120%"},
      {"onnx-estimate",  "",                                      "net.onnx --device h200 --tensor-parallel 2 --link", "", "450Gb/s;4,5GB/s;450 GFLOP"},
      {"onnx-estimate",  "net.onnx --device h200 -o x.svg",       "--width",        "150mm,15cm,15 CM,425pt,6in,570px", "3,35in;150;150m"},
      {"onnx-estimate",  "net.onnx --device h200 -o x.svg",       "--font-size",    "7pt,7 PT", "7;7,5pt"},
      {"roofline-plot",  "",                                      "--device h200 -o x.svg --width", "", "3,35in;150;150m"},
      {"roofline-plot",  "",                                      "--device h200 -o x.svg --ylim 1e12", "", "2TB/s;2,5e12"},
  };
  // clang-format on
  for (const Option& option : kOptions) {
    const auto run = [&](const std::string& value) {
      return shop.run(option.tool, std::string(option.before) + " " + option.name + " '" + value + "'");
    };
    CAPTURE(option.tool);
    CAPTURE(option.name);
    if (*option.taken != '\0')
      for (const std::string& value : base::split(option.taken, ",")) CHECK_MESSAGE(run(value).code == 0, run(value).err);
    const std::string name = base::split(option.name, " ").back();
    for (const std::string& value : base::split(option.refused, ";")) {
      const Outcome result = run(value);
      CAPTURE(value);
      CHECK_MESSAGE(result.code == 2, result.err);
      CHECK_MESSAGE(result.err.find(name.starts_with("--") ? name : "--ylim") != std::string::npos, result.err);
      CHECK_MESSAGE(result.err.find(value) != std::string::npos, result.err);
    }
  }
}

TEST_CASE("runs take the estimate of their name, else the only one, else that of their place; never another's") {
  const Shop shop;
  const auto runs = [](int batch) {
    std::string rows;
    for (int i = 1; i <= 5; ++i)
      rows += R"({"config": {"batch": )" + std::to_string(batch) + R"(}, "seconds": 0.00)" + std::to_string(i) +
              R"(, "watts": 5)" + std::to_string(i * i % 7) + R"(, "energy_joules": null, "note": null},)";
    rows.pop_back();
    return R"({"schema": "pagoda.measured/1", "source": "jetson", "tool": null, "device": null, "clocks": {}, "env": {},)"
           R"( "repeats": 1, "warmup": 0, "seconds": null, "seconds_spread": null, "missing": [], "notes": [],)"
           R"( "kernels": [], "runs": [)" +
           rows + "]}";
  };
  for (const char* model : {"alexnet", "resnet50"})
    REQUIRE(shop.run("onnx-estimate", test::source_path("models/skeletons/" + std::string(model) + ".onnx") +
                                          " --sweep batch=1,2 -o " + model + ".json")
                .code == 0);
  for (const char* name : {"a", "b"}) base::write_file(shop.path(std::string(name) + "_runs.json"), runs(1));
  base::write_file(shop.path("alexnet.measured"), runs(2));
  const auto labels = [&](const std::string& arguments) {
    const Outcome result = shop.run("pagoda-calibrate", "--energy " + arguments + " --residuals residuals.csv");
    if (result.code != 0) return result.err;
    std::istringstream lines(test::read_file(shop.path("residuals.csv")));
    std::string text, line;
    std::getline(lines, line);
    for (std::string last; std::getline(lines, line);)
      if (const std::string label = line.substr(0, line.find(' ')); label != last) text += (last = label) + " ";
    return text;
  };
  const std::string both = " --estimate resnet50.json --estimate alexnet.json";
  CHECK(labels("alexnet.measured" + both) == "alexnet ");
  CHECK(labels("a_runs.json --estimate resnet50.json") == "resnet50 ");
  CHECK(labels("a_runs.json b_runs.json" + both) == "resnet50 alexnet ");
  CHECK(labels("a_runs.json alexnet.measured" + both).find("a_runs.json: no --estimate has its name") !=
        std::string::npos);
  CHECK(labels("a_runs.json" + both).find("no --estimate has its name") != std::string::npos);
}

TEST_CASE("TensorRT's calibration is what pagoda-calibrate fits to its table") {
  const Shop shop;
  const nlohmann::json built_in =
      nlohmann::json::parse(test::read_file(test::source_path("data/calibration/tensorrt/tensorrt.json")));
  const auto quoted = [&](const char* key) {
    return " --" + std::string(key) + " '" + built_in.at(key).get<std::string>() + "'";
  };
  const Outcome fit = shop.run("pagoda-calibrate", test::source_path("data/calibration/tensorrt/bert.csv") +
                                                       " --engine tensorrt -o fitted.json" + quoted("id") +
                                                       quoted("regime") + quoted("source"));
  REQUIRE(fit.code == 0);
  const nlohmann::json fitted = nlohmann::json::parse(test::read_file(shop.path("fitted.json")));
  for (const auto& [key, value] : built_in.at("coefficients").items())
    CHECK(fitted.at("coefficients").at(key).get<double>() == doctest::Approx(value.get<double>()).epsilon(0.002));
  CHECK(fitted.at("pairs") == built_in.at("pairs"));
  CHECK(fit.out.find("left out  t4") != std::string::npos);
  CHECK(shop.run("pagoda-calibrate", "text --engine tensorrt").code == 1);
  CHECK(shop.run("pagoda-calibrate", "text --engine tensorrt --check it").code == 2);
}

TEST_CASE("standard output that is full is an error, not a success") {
  const Shop shop;
  for (const auto& [tool, arguments] : std::map<std::string, std::string>{
           {"onnx-estimate", test::source_path("models/skeletons/linear_64_128.onnx")},
           {"roofline-plot", "--device h200 -o -"},
           {"pagoda-import", test::source_path("tests/import/data/ort_resnet50_all.json")},
           {"pagoda-doctor", ""}}) {
    const Outcome result = shop.run(tool, arguments + " >/dev/full");
    const std::string seen = tool + ": " + result.err;
    CAPTURE(seen);
    CHECK(result.code == 1);
    CHECK(result.err.find("standard output") != std::string::npos);
  }
}

}  // namespace
}  // namespace pagoda
