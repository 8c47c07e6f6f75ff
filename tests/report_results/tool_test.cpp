// pagoda-report as people and CI run it: files, formats, exit codes.
#include <doctest/doctest.h>

#include <fstream>

#include "pagoda/base/cat.h"
#include "sample.h"
#include "support/files.h"
#include "support/workshop.h"

namespace pagoda::lab {
namespace {

using test::append;
using test::made;
using test::Noise;

void write(const std::string& path, const std::vector<documents::Result>& results) {
  for (const documents::Result& result : results) documents::append_result(path, result);
}

int report(const std::string& arguments) { return test::Workshop().shell("'" PAGODA_REPORT "' " + arguments).code; }

}  // namespace

TEST_CASE("what is no file of results is named") {
  const test::Workshop shop;
  base::write_file(shop.path("runs.csv"), "model,seconds\na,1\n");
  const auto said = [&](const std::string& of) {
    const test::Outcome outcome = shop.shell("'" PAGODA_REPORT "' table " + of);
    CHECK(outcome.code == 1);
    return outcome.err;
  };
  CHECK(said("https://example.org/r.jsonl").find("is a URL; download it first") != std::string::npos);
  CHECK(said("'r*.jsonl'").find("is a pattern that the shell did not expand") != std::string::npos);
  CHECK(said("nowhere.jsonl").find("cannot be opened: No such file") != std::string::npos);
  CHECK(said(shop.path("runs.csv")).find("is a table (CSV); expected lines of pagoda.result/1") != std::string::npos);
}

TEST_CASE("compare exits 3 where something is slower beyond noise, and 0 where nothing is") {
  const test::Workshop shop;
  const std::string base = shop.path("base.jsonl"), same = shop.path("same.jsonl"), slow = shop.path("slow.jsonl");
  write(base, made({.repeats = 4, .run = Noise(1, 0.01)}));
  write(same, made({.repeats = 4, .run = Noise(2, 0.01)}));
  write(slow, made({.repeats = 4, .process = [] { return 1.2; }, .run = Noise(3, 0.01)}));
  CHECK(report("compare " + base + " " + same) == 0);
  CHECK(report("compare " + base + " " + slow) == 3);
  CHECK(report("compare " + slow + " " + base) == 0);
  CHECK(report("compare --no-gate " + base + " " + slow) == 0);
  CHECK(report("compare " + base + " " + shop.path("nowhere.jsonl")) == 1);
  CHECK(report("compare --tolerance two " + base + " " + same) == 2);
  CHECK(report("compare " + base + " " + slow + " -o " + shop.path("out.docx")) == 1);
  CHECK(report("compare " + base + " " + slow + " -o " + shop.path("out.html")) == 3);
  CHECK(test::read_file(shop.path("out.html")).find("SLOWER") != std::string::npos);
}

TEST_CASE("modes of a run that differ by test are compared without their mode") {
  const test::Workshop shop;
  const std::string path = shop.path("both.jsonl");
  std::vector<documents::Result> training = made({.repeats = 3});
  for (documents::Result& r : training) {
    r.config["mode"] = std::string("training");
    r.key = documents::config_key(r.config);
  }
  write(path, made({.repeats = 3}));
  write(path, training);
  CHECK(report("compare " + path + " --base test=eval --new test=train") == 0);
}

TEST_CASE("a slow-down is a part of 0 or more, as a number or in percent") {
  const test::Workshop shop;
  base::write_file(shop.path("modes.csv"),
                   "cores,cpu,gpu,mem,observed_time(ms/batch),bs,observed_power(W)\n"
                   "12,2201600,1300000000,3199000000,100,32,50\n");
  const std::string modes = "modes " + shop.path("modes.csv") + " --slow-down ";
  for (const char* good : {"5%", "0.05", "0", "0%"}) CHECK_MESSAGE(report(modes + good) == 0, good);
  CHECK(report(modes + "5% --where batch=32") == 0);
  CHECK(report(modes + "5% --where batch=2") == 1);
  for (const char* bad : {"5x%", "-5%", "-0.05", "%", "nan", "5%%"}) CHECK_MESSAGE(report(modes + bad) == 2, bad);
}

TEST_CASE("a torn last line is left out, and the rest is a table") {
  const test::Workshop shop;
  const std::string path = shop.path("results.jsonl");
  write(path, made({}));
  std::ofstream(path, std::ios::app) << "{\"schema\": \"pagoda.res";
  CHECK(report("csv " + path + " -o " + shop.path("tidy.csv")) == 0);
  const std::string csv = test::read_file(shop.path("tidy.csv"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 2);
  CHECK(report("csv " + path + " --columns others") == 1);
  CHECK(report("measured " + path + " -o " + shop.path("measured.json")) == 0);
  CHECK(test::read_file(shop.path("measured.json")).find("pagoda.measured/1") != std::string::npos);
}

TEST_CASE("one command says which models a compiler does not help, and what goes with it") {
  const test::Workshop shop;
  const std::string path = shop.path("results.jsonl");
  std::uint64_t seed = 1;
  for (const char* model : {"alexnet", "vgg16", "resnet50", "densenet121", "mobilenet_v3_large", "efficientnet_b0"}) {
    // Deep networks gain.
    const bool is_deep = std::string(model) != "alexnet" && std::string(model) != "vgg16";
    write(path, made({.model = model, .run = Noise(++seed, 0.01)}));
    write(path, made({.model = model,
                      .compile = "inductor",
                      .process = [&] { return is_deep ? 0.5 : 1.0; },
                      .run = Noise(++seed, 0.01)}));
  }
  const std::string command = "explain " + path + " --base compile=eager --new compile=inductor --leaf 2 --models " +
                              test::source_path("models/skeletons") + " -o " + shop.path("why.txt");
  CHECK(report(command) == 0);
  const std::string text = test::read_file(shop.path("why.txt"));
  CHECK(text.find("Models by speed-up") != std::string::npos);
  CHECK(text.find(": alexnet, vgg16") != std::string::npos);  // a leaf
  CHECK(text.find("features were looked at") != std::string::npos);
}

TEST_CASE("explain and csv --models read the model files that the records name") {
  const test::Workshop shop;
  const std::string path = shop.path("results.jsonl");
  double seconds = 1;
  for (const char* file : {"alexnet", "vgg16", "resnet50", "densenet121"}) {
    std::vector<documents::Result> records = made({.model = cat("my ", file), .run = [&] { return seconds; }});
    records.front().config["model_file"] = test::source_path(cat("models/skeletons/", file, ".onnx"));
    write(path, records);
    seconds *= 2;
  }
  CHECK(report("explain " + path + " --leaf 2 -o " + shop.path("why.txt")) == 0);
  CHECK(test::read_file(shop.path("why.txt")).find("features were looked at") != std::string::npos);
  CHECK(report("csv " + path + " --models " + shop.path("none") + " -o " + shop.path("joined.csv")) == 0);
  CHECK(test::read_file(shop.path("joined.csv")).find(",structure_") != std::string::npos);
}

}  // namespace pagoda::lab
