// The command line of onnx-estimate: exit codes, what goes to which stream, files.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "pagoda/report.h"
#include "support/golden.h"
#include "support/json_schema.h"
#include "support/onnx_file.h"
#include "support/text_graph.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Result {
  int code = -1;
  std::string out, err;
};

// A folder with the models that the tests run on, and the tool.
class Workshop {
 public:
  Workshop() {
    fs::create_directories(folder_);
    save("net.onnx",
         "opset=17 : x:f32[batch,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]} @ conv; y = Relu(c)");
    save("fixed.onnx", "x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]}; y = Relu(c)");
    save("partial.onnx", "x:f32[4,8] -> h = Relu(x); y = my.domain.Secret(h) @ mystery");
    save("conv1d.onnx", "x:f32[1,4,8], w:f32[4,4,3]=const -> y = Conv(x, w) @ conv1d");
    save("hostile.onnx", "x:f32[n,4] -> '\\e[2J' = Relu(x) @ '\\e]0;owned\\x07'; y = 'my.domain.x\\e[31m'('\\e[2J')");
    write_file(path("garbage.onnx"), "this is no model");
    write_file(path("empty.onnx"), "");
  }
  ~Workshop() { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // Runs the tool in the folder. `arguments` is shell text.
  Result run(const std::string& arguments) const {
    const std::string command = "cd '" + folder_ + "' && '" PAGODA_ONNX_ESTIMATE "' " + arguments + " 2>err.txt" +
                                (arguments.find('>') == std::string::npos ? " >out.txt" : "");
    write_file(path("out.txt"), "");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, test::read_file(path("out.txt")),
            test::read_file(path("err.txt"))};
  }

 private:
  void save(const std::string& name, const char* text) const {
    write_file(path(name), test::onnx_bytes(test::graph(text)));
  }

  std::string folder_ = (fs::temp_directory_path() / ("pagoda_estimate_" + std::to_string(getpid()))).string();
};

const Workshop& workshop() {
  static const Workshop instance;
  return instance;
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("a model whose sizes are all known gives a table and says nothing else") {
  const Result result = workshop().run("fixed.onnx");
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  CHECK(result.out.find("6,912") != std::string::npos);  // MACs: 4·8·8·3·3·3
}

TEST_CASE("free dims are said once on stderr, and every format keeps stdout for itself") {
  for (const char* format : {"table", "json", "csv", "markdown"}) {
    const Result result = workshop().run("net.onnx --format " + std::string(format));
    CHECK(result.code == 0);
    CHECK(result.err == "free dims taken as 1: batch; set them with --dim batch=V, or see formulas with --symbolic\n");
    CHECK(result.out.find("free dims taken") == std::string::npos);
  }
}

TEST_CASE("JSON keeps to its schema, with the tool's name and the path as given") {
  const Result result = workshop().run("./net.onnx --format json --symbolic --by node");
  const json report = json::parse(result.out);
  const json schema =
      json::parse(test::read_file(std::string(PAGODA_SOURCE_DIR) + "/data/schemas/estimate.schema.json"));
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
    const Result result = workshop().run(std::string(arguments) + " --format json");
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
      {"net.onnx --nonsense", "--nonsense"},
      {"net.onnx second.onnx", "second.onnx"},
      {"net.onnx --sweep batch=1,2", "--sweep"},
      {"net.onnx --device h200", "--device"},
      {"net.onnx --format html", "html"},
      {"net.onnx --format", "--format"},
      {"net.onnx --by op", "op"},
      {"net.onnx --count gflops", "gflops"},
      {"net.onnx --traffic fused", "fused"},
      {"net.onnx --batch 0", "--batch"},
      {"net.onnx --batch -1", "--batch"},
      {"net.onnx --batch many", "--batch"},
      {"net.onnx --batch 99999999999999999999", "--batch"},
      {"net.onnx --top 0", "--top"},
      {"net.onnx --dim batch", "NAME=V"},
      {"net.onnx --dim =3", "NAME=V"},
      {"net.onnx --dim batch=", "no size"},
      {"net.onnx --dim batch=-1", "no size"},
      {"net.onnx --dim batch=1.5", "no size"},
      {"net.onnx --dim batch=99999999999999999999", "no size"},
      {"net.onnx --dim batch=1 --dim batch=2", "given twice for 'batch'"},
      {"net.onnx --input x=1x3x8x8 --input x=2x3x8x8", "given twice for 'x'"},
      {"net.onnx --input x", "NAME=AxBxC"},
      {"net.onnx --input x=1x3x8x", "no size"},
      {"net.onnx --input x=1x-3", "no size"},
      {"net.onnx --dim '\x1b[2J'", "\\x1b[2J"},
  };
  for (const Row& row : kRows) {
    const Result result = workshop().run(row.arguments);
    CHECK_MESSAGE(result.code == 2, row.arguments, "\n", result.err);
    CHECK_MESSAGE(result.out.empty(), row.arguments);
    CHECK_MESSAGE(lines(result.err) == 1, row.arguments, "\n", result.err);
    CHECK_MESSAGE(result.err.starts_with("onnx-estimate: "), row.arguments, "\n", result.err);
    CHECK_MESSAGE(result.err.find(row.message) != std::string::npos, row.arguments, "\n", result.err);
  }
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
      {"net.onnx --input x=1x5x8x8", "fixed at 3"},
      {"net.onnx --batch 2 --dim batch=3", "batch"},
      {"net.onnx --batch 2 --input x=3x3x8x8", "batch"},
      {"net.onnx -o missing/out.json", "missing/out.json"},
  };
  for (const Row& row : kRows) {
    const Result result = workshop().run(row.arguments);
    CHECK_MESSAGE(result.code == 1, row.arguments, "\n", result.err);
    CHECK_MESSAGE(result.out.empty(), row.arguments);
    CHECK_MESSAGE(result.err.find("onnx-estimate: ") != std::string::npos, row.arguments, "\n", result.err);
    CHECK_MESSAGE(result.err.find(row.message) != std::string::npos, row.arguments, "\n", result.err);
  }
}

TEST_CASE("a partial result is reported in full, and is exit 3 only under --strict") {
  const Result loose = workshop().run("partial.onnx");
  CHECK(loose.code == 0);
  CHECK(loose.err.find("warning: mystery: ") != std::string::npos);
  CHECK(loose.out.find("≥") != std::string::npos);
  const Result strict = workshop().run("partial.onnx --strict");
  CHECK(strict.code == 3);
  CHECK(strict.out == loose.out);
  CHECK(workshop().run("fixed.onnx --strict").code == 0);
}

TEST_CASE("the published count says where the published program gives none") {
  const Result result = workshop().run("conv1d.onnx --count pagoda --format json");
  CHECK(result.code == 0);
  CHECK(result.err.find("node conv1d") != std::string::npos);
  CHECK(json::parse(result.out)["totals"]["flops"].is_null());
  CHECK(workshop().run("conv1d.onnx --count pagoda --strict").code == 3);
  const json fixed = json::parse(workshop().run("fixed.onnx --count pagoda --batch 3 --format json").out);
  CHECK(fixed["totals"]["flops"] == 3 * (2 * 6912 + 256 + 256));
  CHECK(fixed["totals"]["macs"] == 3 * 6912);
}

TEST_CASE("an output file is whole or not there, and its name tells the format") {
  const Result result = workshop().run("fixed.onnx -o report.json");
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
  CHECK(workshop().run("fixed.onnx").out == workshop().run("fixed.onnx | cat >out.txt").out);
  setenv("COLUMNS", "40", 1);
  CHECK(workshop().run("fixed.onnx").out.find("written") != std::string::npos);
  unsetenv("COLUMNS");
}

TEST_CASE("names of a hostile file reach no terminal") {
  for (const char* format : {"table", "json", "csv", "markdown"}) {
    const Result result = workshop().run("hostile.onnx --symbolic --by node --format " + std::string(format));
    CHECK(result.code == 0);
    CHECK(result.out.find('\x1b') == std::string::npos);
    CHECK(result.out.find('\x07') == std::string::npos);
    CHECK(result.err.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("help, version and the list of operators go to stdout") {
  for (const char* option : {"--help", "--version", "--list-ops"}) {
    const Result result = workshop().run(option);
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK_FALSE(result.out.empty());
  }
  CHECK(workshop().run("--version").out.starts_with("onnx-estimate "));
}

}  // namespace
}  // namespace pagoda
