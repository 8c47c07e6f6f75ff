// Nsight Compute as a process (a stand-in), its command lines, and its counts compared with ours.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "ncu_run.h"
#include "pagoda/documents/metrics.h"
#include "support/files.h"
#include "support/sometimes.h"
#include "support/workshop.h"

namespace pagoda::measured::profile {
namespace {

using tools::profile::NcuOutcome, tools::profile::run_ncu, tools::profile::run_ncu_study,
    tools::profile::study_exit_code;

namespace fs = std::filesystem;
using test::read_file;

// A folder for the stand-in, and the answer that it gives.
struct FakeNcu : test::Workshop {
  explicit FakeNcu(const char* says) {
    setenv("FAKE_NCU_FOLDER", folder.c_str(), 1);
    setenv("FAKE_NCU_SAYS", says, 1);
  }

  NcuRequest request() const {
    NcuRequest request;
    request.ncu = test::source_path("tests/profile_join/fake_ncu.sh");
    request.metrics = {"dram__bytes_read.sum", "sm__ops_path_tensor_src_fp16_dst_fp32.sum"};
    request.command = {"/bin/sh", "-c", "echo ran > '" + path("program") + "'"};
    return request;
  }

  // Exit code and message of a run that must fail.
  std::pair<int, std::string> failure() const {
    try {
      run_ncu(request());
    } catch (const tools::ToolError& error) {
      return {error.exit_code, error.what()};
    }
    return {0, "it did not fail"};
  }
};

bool follows(const std::vector<std::string>& words, const std::string& option, const std::string& value) {
  const auto found = std::find(words.begin(), words.end(), option);
  return found != words.end() && found + 1 != words.end() && *(found + 1) == value;
}

std::string error_of(const NcuRequest& request) {
  return test::error_of([&] { ncu_arguments(request, "log"); });
}

documents::MeasuredKernel kernel(const char* name, std::int64_t launches, double fp16, double dram_read) {
  documents::MeasuredKernel k;
  k.name = name;
  k.launches = launches;
  k.flops["float16.tensor"] = fp16;
  k.bytes.dram_read = dram_read;
  return k;
}

documents::Measured measured_of(std::vector<documents::MeasuredKernel> kernels) {
  documents::Measured m;
  m.kernels = std::move(kernels);
  return m;
}

}  // namespace

TEST_CASE("ncu's command line: the metrics asked for, base units, warm caches, free clocks, filters") {
  NcuRequest request{.metrics = {"a__b.sum", "c__d.max"}, .command = {"prog", "--flag", "x y"}};
  std::vector<std::string> words = ncu_arguments(request, "/tmp/log");
  CHECK(words.front() == "ncu");
  CHECK(follows(words, "--metrics", "a__b.sum,c__d.max"));
  CHECK(follows(words, "--page", "raw"));
  CHECK(follows(words, "--print-units", "base"));
  CHECK(follows(words, "--cache-control", "none"));
  CHECK(follows(words, "--clock-control", "none"));
  CHECK(follows(words, "--log-file", "/tmp/log"));
  CHECK(std::count(words.begin(), words.end(), "--csv") == 1);
  CHECK(std::count(words.begin(), words.end(), "--launch-count") == 0);
  CHECK(std::vector<std::string>(words.end() - 3, words.end()) == request.command);

  request.kernel_regex = "gemm.*";
  request.nvtx_include = "pagoda@conv1/";
  request.launch_skip = 3;
  request.launch_count = 5;
  request.flush_caches = request.lock_clocks = true;
  words = ncu_arguments(request, "/tmp/log");
  CHECK(follows(words, "--kernel-name", "regex:gemm.*"));
  CHECK(follows(words, "--nvtx-include", "pagoda@conv1/"));
  CHECK(follows(words, "--launch-skip", "3"));
  CHECK(follows(words, "--launch-count", "5"));
  CHECK(follows(words, "--cache-control", "all"));
  CHECK(follows(words, "--clock-control", "base"));
}

TEST_CASE("a request without a program, without metrics, or with a name that is none is refused") {
  CHECK(error_of({.metrics = {"a.sum"}, .command = {}}).find("no program") != std::string::npos);
  CHECK(error_of({.metrics = {}, .command = {"p"}}).find("no metric") != std::string::npos);
  for (const char* name : {"", "a.sum,b.sum", "regex:.*", "a b", "a;b"})
    CHECK(error_of({.metrics = {name}, .command = {"p"}}).find("expected a name") != std::string::npos);
}

TEST_CASE("every chip of the catalogue has its own metrics, and ncu's table of them is read by its own formulas") {
  std::set<std::vector<std::string>> lists;
  test::Sometimes is_dram("traffic of memory");
  for (const documents::ChipMetrics& family : documents::metric_catalogue()) {
    const std::string& chip = family.chips.front();
    const std::vector<std::string> metrics = ncu_metrics(chip);
    REQUIRE_MESSAGE(!metrics.empty(), chip);
    for (const std::string& metric : metrics) CHECK(metric.find(".peak_sustained") == std::string::npos);
    lists.insert(metrics);
    CHECK(ncu_arguments({.metrics = metrics, .command = {"p"}}, "log").size() > 10);  // ncu accepts all names
    // A table in which the k-th metric is 1000 + k; time in ns.
    std::string header = R"("ID","Process ID","Kernel Name","Grid Size","Block Size")", units = R"("","","","","")",
                row = R"csv("0","7","f(int)","(1, 1, 1)","(1, 1, 1)")csv";
    std::map<std::string, double> values;
    for (std::size_t k = 0; k < metrics.size(); ++k) {
      header += ",\"" + metrics[k] + "\"";
      units += metrics[k].starts_with("gpu__time")             ? ",\"ns\""
               : metrics[k].find("bytes") != std::string::npos ? ",\"byte\""
                                                               : ",\"\"";
      row += ",\"" + std::to_string(1000 + k) + "\"";
      values[metrics[k]] = 1000 + static_cast<double>(k);
    }
    const documents::Measured measured =
        measured::import_profile(header + "\n" + units + "\n" + row + "\n", "table", {.chip = chip});
    REQUIRE(measured.kernels.size() == 1);
    const documents::MeasuredKernel& kernel = measured.kernels.front();
    const std::map<std::string, double> expected = documents::evaluate_metrics(family, values);
    std::size_t compared = 0;
    test::Sometimes is_time("a time"), is_l2("traffic of L2");
    for (const auto& [quantity, amount] : expected) {
      const std::string& id = quantity;
      if (id.starts_with("flops.")) {
        const auto found = kernel.flops.find(id.substr(6));
        REQUIRE_MESSAGE(found != kernel.flops.end(), chip << " " << id);
        REQUIRE_MESSAGE(found->second, chip << " " << id);
        CHECK_MESSAGE(*found->second == amount, chip << " " << id);
        ++compared;
      }
      if (is_time(id == "seconds")) CHECK(*kernel.seconds == doctest::Approx(amount));
      if (is_l2(id == "bytes.l2")) CHECK_MESSAGE(kernel.bytes.l2 == amount, chip);
      if (is_dram(id == "bytes.dram_read")) CHECK_MESSAGE(kernel.bytes.dram_read == amount, chip);
    }
    CHECK_MESSAGE(compared >= 2, chip);
  }
  CHECK(lists.size() >= 10);  // not one fixed list
  CHECK_THROWS_AS(ncu_metrics("GX999"), Error);
  CHECK_THROWS_AS(measured::load_profile(test::source_path("tests/import/data/ncu_raw.csv"), {.chip = "GX999"}), Error);
}

TEST_CASE("a precision that the chip can count and the table does not hold has no value") {
  const documents::Measured measured =
      measured::load_profile(test::source_path("tests/import/data/ncu_raw.csv"), {.runs = 2, .chip = "GH100"});
  const documents::MeasuredKernel& gemm = measured.kernels.front();
  CHECK(*gemm.flops.at("bfloat16.tensor") == 2 * 8192);
  CHECK(*gemm.flops.at("float32") == 2 * (100 + 50 + 2 * 1000));
  REQUIRE(gemm.flops.count("float64") == 1);
  CHECK(!gemm.flops.at("float64"));
}

TEST_CASE("a study is models times batches, with places in the command and names for files") {
  const std::vector<std::string> command = {"run", "{model}", "--batch={batch}", "{model}.log"};
  const std::vector<NcuPoint> points = ncu_points(command, {"m/a.onnx", "b c.onnx"}, {"1", "8"});
  REQUIRE(points.size() == 4);
  CHECK(points[1].command == std::vector<std::string>{"run", "m/a.onnx", "--batch=8", "m/a.onnx.log"});
  CHECK(points[1].name() == "a-batch8");
  CHECK(points[2].name() == "b_c-batch1");
  CHECK(ncu_points({"run"}, {}, {}).size() == 1);
  CHECK(ncu_points({"run"}, {}, {}).front().name() == "run");
  CHECK_THROWS_AS(ncu_points({"run"}, {"a"}, {}), Error);
  CHECK_THROWS_AS(ncu_points({"run", "{batch}"}, {}, {}), Error);
  // A value that looks like a placeholder is not replaced again.
  CHECK(ncu_points({"{model}"}, {"{model}"}, {}).front().command.front() == "{model}");
}

TEST_CASE("ncu runs the program and its table becomes a measurement") {
  const FakeNcu fake("table");
  const documents::Measured measured = run_ncu(fake.request());
  CHECK(fs::exists(fake.path("program")));
  CHECK(measured.source == "ncu");
  CHECK(measured.device == "NVIDIA H200");
  REQUIRE(measured.kernels.size() == 1);
  CHECK(measured.kernels[0].launches == 2);
  CHECK(measured.kernels[0].flops.at("float16.tensor") == 2 * 4096);
  CHECK(measured.kernels[0].bytes.dram_read == 2e6);
  CHECK(std::get<std::string>(measured.env.at("clock control")) == "none");
  const std::string arguments = read_file(fake.path("arguments"));
  CHECK(arguments.find("dram__bytes_read.sum,sm__ops_path_tensor_src_fp16_dst_fp32.sum") != std::string::npos);
  // The scratch folder has been removed.
  const std::size_t log = arguments.find("pagoda-ncu-");
  REQUIRE(log != std::string::npos);
  CHECK(!fs::exists(fs::temp_directory_path() / arguments.substr(log, arguments.find('/', log) - log)));
}

TEST_CASE("each failure of ncu has its remedy and the exit code of its kind") {
  struct Row {
    const char* says;
    int code;
    const char* remedy;
  };
  for (const Row& row : {Row{"permission", 4, "--cap-add=SYS_ADMIN"}, Row{"busy", 4, "dcgmi profile --pause"},
                         Row{"metric", 1, "dram__bytes_read.sum"}, Row{"nothing", 1, "check the filters"},
                         Row{"strange", 1, "Something new went wrong"}, Row{"killed", 1, "signal 9"}}) {
    const FakeNcu fake(row.says);
    const auto [code, said] = fake.failure();
    const std::string& message = said;
    CHECK_MESSAGE(code == row.code, row.says);
    CHECK_MESSAGE(message.find(row.remedy) != std::string::npos, message);
  }
  NcuRequest absent{.ncu = "/no/such/ncu", .metrics = {"a.sum"}, .command = {"p"}};
  try {
    run_ncu(absent);
    FAIL("it ran");
  } catch (const tools::ToolError& error) {
    CHECK(error.exit_code == 4);
    CHECK(std::string(error.what()).find("install Nsight Compute") != std::string::npos);
  }
}

TEST_CASE("a program that fails under ncu is an error even where a table was written") {
  const FakeNcu fake("table");
  NcuRequest request = fake.request();
  request.command = {"/bin/sh", "-c", "exit 5"};
  CHECK_THROWS_WITH_AS(run_ncu(request), doctest::Contains("exited with 5"), tools::ToolError);
}

TEST_CASE("a study goes on after a point that fails, names its points apart, and stops where no point can run") {
  NcuRequest request;
  {
    const FakeNcu fake("table");
    request = fake.request();
    request.command = {"/bin/sh", "-c", "test {model}{batch} != bad2"};
    std::vector<std::string> seen;
    const std::vector<NcuOutcome> outcomes = run_ncu_study(request, {"good", "bad", "x/good"}, {"1", "2"},
                                                           [&](const NcuOutcome& o) { seen.push_back(o.name); });
    CHECK(seen == std::vector<std::string>{"good-batch1", "good-batch2", "bad-batch1", "bad-batch2", "good-batch1-2",
                                           "good-batch2-2"});
    REQUIRE(outcomes.size() == 6);
    REQUIRE(outcomes[0].measured);
    CHECK(std::get<std::string>(outcomes[0].measured->env.at("batch")) == "1");
    CHECK(!outcomes[3].measured);
    CHECK(outcomes[3].failure.find("exited with 1") != std::string::npos);
    CHECK(outcomes[4].measured);
    CHECK(study_exit_code(outcomes) == 3);
    CHECK(study_exit_code({outcomes[0]}) == 0);
    CHECK(study_exit_code({outcomes[3]}) == 1);
  }
  const FakeNcu closed("permission");
  const std::vector<NcuOutcome> none = run_ncu_study(request, {"a", "b"}, {"1"});
  REQUIRE(none.size() == 2);
  CHECK(none[1].failure.find("not started: ") == 0);
  CHECK(none[1].failure.find("--cap-add=SYS_ADMIN") != std::string::npos);
  CHECK(study_exit_code(none) == 4);
}

TEST_CASE("pagoda-profile --mode ncu: one program, a study of models and batches, and what cannot be") {
  const FakeNcu fake("table");
  std::string errors;
  const auto run = [&](const std::string& arguments) {
    const test::Outcome outcome =
        fake.shell("'" PAGODA_PROFILE "' --mode ncu --ncu '" + fake.request().ncu + "' " + arguments);
    errors = outcome.err;
    return outcome.code;
  };
  CHECK(run("--chip GH100 -o '" + fake.path("one.json") + "' -- true") == 0);
  CHECK(documents::load_measured(fake.path("one.json")).kernels.front().launches == 2);
  // The chip's own metrics were requested.
  CHECK(read_file(fake.path("arguments")).find("sm__ops_path_tensor_src_fp8.sum") != std::string::npos);
  CHECK(run("--chip TU102 -o '" + fake.path("one.json") + "' -- true") == 0);
  CHECK(read_file(fake.path("arguments")).find("src_fp8") == std::string::npos);

  const std::string study = "--chip GH100 --models a.onnx,b.onnx --batches 1,8 -o '" + fake.path("study") + "' -- ";
  CHECK(run(study + "test {model} != {batch}") == 0);
  for (const char* name : {"a-batch1", "a-batch8", "b-batch1", "b-batch8"})
    CHECK_MESSAGE(fs::exists(fake.path("study") + "/" + name + ".json"), name);
  CHECK(run(study + "test {model}{batch} != b.onnx8") == 3);
  CHECK(errors.find("b-batch8: ") != std::string::npos);
  CHECK(run("--chip GH100 --models a.onnx -o x -- true") == 1);  // no placeholder for it
  CHECK(run("--chip GX999 -- true") == 1);
  setenv("FAKE_NCU_SAYS", "permission", 1);
  CHECK(run(study + "test {model} != {batch}") == 4);
  CHECK(run("--chip GH100 -- true") == 4);
  CHECK(fake.shell("'" PAGODA_PROFILE "' --batches 1 -- true").code == 2);
}

TEST_CASE("bytes are judged where a tolerance is given, since two runs find caches in two states") {
  const documents::Measured ours = measured_of({kernel("f(int)", 2, 8192, 3e5)});
  const documents::Measured theirs = measured_of({kernel("f(int)", 2, 8192, 1e6)});
  const CountComparison shown = verify_counts(ours, theirs);
  CHECK(shown.passed());
  const std::string text = verification_report(shown);
  CHECK_MESSAGE(text.find("bytes.dram_read: ours 3e+05, ncu 1e+06, -70.0 %, not compared") != std::string::npos, text);
  CHECK(verification_report(shown).find("bytes not judged") != std::string::npos);
  CHECK(!verify_counts(ours, theirs, 0.02).passed());
  CHECK(!verify_counts(measured_of({kernel("f(int)", 2, 8193, 3e5)}), theirs).passed());
}

TEST_CASE("counts that agree confirm: names differ in casts and spaces, bytes within two percent") {
  const documents::Measured ours = measured_of({kernel("void gemm<128, true>(float*)", 2, 8192, 1.01e6),
                                                kernel("void (anonymous namespace)::relu(float*)", 1, 0, 500)});
  const documents::Measured theirs = measured_of({kernel("void <unnamed>::relu(float *)", 1, 0, 500),
                                                  kernel("void gemm<(int)128, (bool)1>(float *)", 2, 8192, 1e6)});
  const CountComparison verification = verify_counts(ours, theirs, 0.02);
  CHECK(verification.passed());
  REQUIRE(verification.kernels.size() == 2);
  REQUIRE(verification.kernels[0].counts.size() == 2);
  CHECK(*verification.kernels[0].counts[0].relative() == doctest::Approx(0.01));
  CHECK(verification_report(verification).find("2 of 2 kernels agree") != std::string::npos);
}

TEST_CASE("one operation more, three percent more bytes, or another number of launches does not confirm") {
  const documents::Measured theirs = measured_of({kernel("f(int)", 2, 8192, 1e6)});
  CHECK(!verify_counts(measured_of({kernel("f(int)", 2, 8193, 1e6)}), theirs).passed());
  CHECK(!verify_counts(measured_of({kernel("f(int)", 2, 8192, 1.03e6)}), theirs, 0.02).passed());
  CHECK(verify_counts(measured_of({kernel("f(int)", 2, 8192, 1.03e6)}), theirs, 0.05).passed());
  const CountComparison launches = verify_counts(measured_of({kernel("f(int)", 3, 8192, 1e6)}), theirs);
  CHECK(!launches.passed());
  CHECK(launches.kernels[0].counts.empty());
  const CountComparison missed = verify_counts(measured_of({kernel("g(int)", 2, 8192, 1e6)}), theirs);
  CHECK(!missed.passed());
  CHECK(missed.kernels.size() == 2);
  CHECK(verification_report(missed).find("launches differ: ours none known, ncu 2") != std::string::npos);
}

TEST_CASE("a kernel's own bytes may differ where the sum agrees; its operations may not") {
  // 100 bytes stay in L2 and are written back during the next kernel.
  const documents::Measured ours = measured_of({kernel("f(int)", 1, 10, 900), kernel("g(int)", 1, 10, 1100)});
  const documents::Measured theirs = measured_of({kernel("f(int)", 1, 10, 1000), kernel("g(int)", 1, 10, 1000)});
  const CountComparison verification = verify_counts(ours, theirs, 0.02);
  CHECK(verification.passed());
  CHECK(verification.kernels[0].counts[0].verdict == CountVerdict::Differs);
  const documents::Measured shifted = measured_of({kernel("f(int)", 1, 9, 1000), kernel("g(int)", 1, 11, 1000)});
  CHECK(!verify_counts(shifted, theirs).passed());
}

TEST_CASE("what one side did not collect is not compared, and nothing compared confirms nothing") {
  documents::Measured ours = measured_of({kernel("f(int)", 1, 10, 100)});
  ours.kernels[0].flops.clear();
  ours.kernels[0].bytes.dram_read.reset();
  const CountComparison verification = verify_counts(ours, measured_of({kernel("f(int)", 1, 10, 100)}));
  REQUIRE(verification.totals.size() == 2);
  CHECK(verification.totals[0].verdict == CountVerdict::NotCompared);
  CHECK(!verification.totals[0].ours);
  CHECK(!verification.passed());
}

TEST_CASE("template arguments that the demanglers spell differently: compared by name without them") {
  const documents::Measured ours =
      measured_of({kernel("void k<A, 1>(int)", 1, 10, 100), kernel("void k<B, 2>(int)", 1, 20, 100)});
  const documents::Measured theirs =
      measured_of({kernel("void k<ns::A, 1>(int)", 1, 10, 100), kernel("void k<B, 2>(int)", 1, 20, 100)});
  const CountComparison verification = verify_counts(ours, theirs);
  REQUIRE(verification.kernels.size() == 1);
  CHECK(*verification.kernels[0].our_launches == 2);
  CHECK(verification.passed());
}

}  // namespace pagoda::measured::profile
