// One experiment in a process: however it ends, it leaves a record with the right status.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "experiment_run.h"
#include "machine_state.h"
#include "pagoda/base/files.h"
#include "pagoda/present/report.h"

namespace pagoda::tools::bench {
namespace {

namespace fs = std::filesystem;
using documents::Config;
using documents::Result;
using documents::ResultStatus;

struct Bench {
  Bench() {
    fs::create_directories(folder);
    watch_interrupts();
  }
  ~Bench() { fs::remove_all(folder); }

  Result run(Config config, lab::ExperimentLimits limits = {.seconds = 20, .memory_bytes = 0}) const {
    config.try_emplace("backend", "fake");
    config.try_emplace("measure.budget_seconds", 0.2);
    config.try_emplace("measure.warmup_seconds", 0.2);
    Workers all;
    all["fake"] = {PAGODA_FAKE_WORKER};
    all["ort"] = {PAGODA_FAKE_WORKER};
    all["missing"] = {"/nowhere/worker"};
    const documents::Experiment experiment{documents::config_key(config), config};
    const auto result = run_experiment(
        experiment, all, {.limits = limits, .folder = folder, .shows_stage = shows_stage, .metadata = {{"m", "1"}}});
    REQUIRE(result);
    // Every outcome can be written and read.
    return documents::parse_result(documents::write_result(*result), "line");
  }

  std::string folder = (fs::temp_directory_path() / ("pagoda_run_" + std::to_string(getpid()))).string();
  std::function<void(const std::string&)> shows_stage = {};
};

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0; }

TEST_CASE("a run that goes well is a record with all that the worker said") {
  const Bench bench;
  const Result r = bench.run({{"batch", std::int64_t{4}}, {"latency", 0.002}, {"layers", true}});
  CHECK(r.status == ResultStatus::Ok);
  CHECK(r.reason.empty());
  REQUIRE(r.timing);
  CHECK(r.timing->latency.p50 == 0.002);
  CHECK(r.timing->settled);
  CHECK(r.timing->latency.converged);
  CHECK(r.clock == "made up");
  CHECK(r.items == 4.0);
  CHECK(r.load_seconds == 0.5);
  CHECK_FALSE(r.compile_seconds);
  CHECK(r.device_peak_bytes == 4096.0);
  REQUIRE(r.host_peak_bytes);
  CHECK(*r.host_peak_bytes > 1e6);
  REQUIRE(r.layers.size() == 2);
  CHECK(r.layers[0].seconds == 0.004);
  CHECK(r.layers[0].facts == base::Settings{{"channels", std::int64_t{3}}});
  CHECK(r.layers[1].note == "refused");
  CHECK(std::get<std::string>(r.metadata.at("version.fake")) == "1.2");
  CHECK(std::get<std::string>(r.metadata.at("m")) == "1");
  CHECK(r.metadata.contains("time"));
  CHECK(r.exit_code == 0);
  CHECK(r.wall_seconds > 0);
}

TEST_CASE("what a worker is doing is shown, with the seconds of what lasts, but not while it is timed") {
  Bench bench;
  std::vector<std::string> stages;
  bench.shows_stage = [&](const std::string& stage) { stages.push_back(stage); };
  const Result r = bench.run({{"stage", "compiling"}, {"prepare_seconds", 2.5}, {"latency", 0.3}, {"really", true},
                              {"measure.budget_seconds", 1.5}});
  CHECK(r.status == ResultStatus::Ok);
  REQUIRE(stages.size() > 3);
  CHECK(stages[0] == "preparing");
  const auto compiling = std::find(stages.begin(), stages.end(), "compiling");
  REQUIRE(compiling != stages.end());
  REQUIRE(compiling + 1 != stages.end());
  CHECK(compiling[1].starts_with("compiling, "));
  CHECK(compiling[1].ends_with(" s"));
  CHECK(stages.back() == "measuring");
}

TEST_CASE("every way to end is told apart") {
  struct Case {
    const char* behave;
    ResultStatus status;
    const char* reason;
  };
  // clang-format off
  const Case cases[] = {
      {"crash",          ResultStatus::Failed,       "crashed with signal 11 (Segmentation fault)"},
      {"hang",           ResultStatus::Timeout,      "not done after 1 s"},
      {"eat",            ResultStatus::OutOfMemory,  "held "},
      {"killed",         ResultStatus::Killed,       "ended by signal 9 (Killed)"},
      {"exit",           ResultStatus::Failed,       "exited with 3 before it had answered"},
      {"unavailable",    ResultStatus::NotAvailable, "not available: install fake"},
      {"no_memory_said", ResultStatus::OutOfMemory,  "cudaErrorMemoryAllocation"},
      {"lazy",           ResultStatus::Failed,       "the worker made no runs"},
      {"chatter",        ResultStatus::Ok,           ""},
  };
  // clang-format on
  const Bench bench;
  for (const Case& c : cases) {
    CAPTURE(c.behave);
    const std::int64_t limit = std::string(c.behave) == "eat" ? 100 << 20 : 0;
    const Result r = bench.run({{"behave", c.behave}}, {.seconds = 1, .memory_bytes = limit});
    CHECK(to_string(r.status) == to_string(c.status));
    CHECK(r.reason.rfind(c.reason, 0) == 0);
  }
}

TEST_CASE("the end of standard error is kept, and no more") {
  const Bench bench;
  const Result r = bench.run({{"behave", "crash"}});
  CHECK(r.signal == SIGSEGV);
  CHECK(r.stderr_tail.size() <= 4096);
  CHECK(r.stderr_tail.ends_with("last words\n"));
}

TEST_CASE("a worker that cannot be started is not available") {
  const Bench bench;
  const Result r = bench.run({{"backend", "missing"}});
  CHECK(r.status == ResultStatus::NotAvailable);
  CHECK(r.reason == "/nowhere/worker: cannot be started: No such file or directory");
  CHECK(bench.run({{"backend", "tvm"}}).status == ResultStatus::NotAvailable);
}

TEST_CASE("processes that left the group end with the experiment") {
  const Bench bench;
  const std::string file = bench.folder + "/stray.pid";
  const Result r = bench.run({{"behave", "stray"}, {"stray_file", file}});
  CHECK(r.status == ResultStatus::Ok);
  pid_t stray = 0;
  std::ifstream(file) >> stray;
  REQUIRE(stray > 0);
  CHECK_FALSE(is_alive(stray));
}

TEST_CASE("an interrupt ends the worker and leaves no record") {
  const Bench bench;
  const std::string file = bench.folder + "/worker.pid";
  Workers all;
  all["fake"] = {PAGODA_FAKE_WORKER};
  const Config config = {{"backend", "fake"}, {"behave", "hang"}, {"pid_file", file}};
  std::thread interrupter([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(::getpid(), SIGINT);
  });
  const auto result = run_experiment(
      {"k", config}, all, {.limits = {.seconds = 20, .memory_bytes = 0}, .folder = bench.folder, .metadata = {}});
  interrupter.join();
  interrupted = 0;
  CHECK_FALSE(result);
  pid_t worker = 0;
  std::ifstream(file) >> worker;
  REQUIRE(worker > 0);
  CHECK_FALSE(is_alive(worker));
}

TEST_CASE("outputs are held against a reference run") {
  struct Case {
    double scale;
    documents::VerificationCode code;
    double error;
  };
  for (const Case& c :
       {Case{1, documents::VerificationCode::Pass, 0}, Case{1.01, documents::VerificationCode::Pass, 0.01},
        Case{1.05, documents::VerificationCode::Fail, 0.05}}) {
    const Bench bench;
    const Result r =
        bench.run({{"backend", "ort"}, {"verify", true}, {"output_scale", c.scale}, {"batch", std::int64_t{1}}});
    REQUIRE(r.verification);
    CHECK(r.verification->code == c.code);
    CHECK(*r.verification->error == doctest::Approx(c.error).epsilon(1e-4));
    CHECK(r.verification->reference == "ort batch=1 device=cpu optimization=disable");
  }
  const Bench bench;
  CHECK(bench.run({{"verify", true}}).verification->code == documents::VerificationCode::NoReference);
}

OutputTensor tensor(std::vector<double> values, std::vector<std::int64_t> shape) {
  return {.name = "y", .type = "float32", .shape = std::move(shape), .values = std::move(values), .readable = true};
}

TEST_CASE("every reason why outputs cannot be compared has a code") {
  using documents::VerificationCode;
  const OutputTensor reference = tensor({1, -1, 2}, {3});
  OutputTensor unreadable = reference;
  unreadable.readable = false;
  struct Case {
    std::vector<OutputTensor> got;
    documents::VerificationCode code;
  };
  const Case cases[] = {
      {{tensor({1, -1, 2}, {3})}, documents::VerificationCode::Pass},
      {{tensor({1, -1, 2.2}, {3})}, documents::VerificationCode::Fail},  // 0.2 / 4 = 5 %
      {{tensor({1, -1, 2.04}, {3})}, documents::VerificationCode::Pass},
      {{}, documents::VerificationCode::CountDiffers},
      {{tensor({1, -1, 2}, {1, 3})}, documents::VerificationCode::ShapesDiffer},
      {{tensor({1, HUGE_VAL, 2}, {3})}, documents::VerificationCode::NonFinite},
      {{tensor({1, std::nan(""), 2}, {3})}, documents::VerificationCode::NonFinite},
      {{unreadable}, documents::VerificationCode::UnsupportedOutput},
  };
  for (const Case& c : cases) CHECK(to_string(compare_outputs(c.got, {reference}, 0.02).code) == to_string(c.code));
  CHECK(compare_outputs({reference}, {}, 0.02).code == documents::VerificationCode::UnsupportedOutput);
  const auto zeros = compare_outputs({tensor({0, 1}, {2})}, {tensor({0, 0}, {2})}, 0.02);
  CHECK(zeros.code == documents::VerificationCode::Fail);
  CHECK_FALSE(zeros.error);
  CHECK(compare_outputs({tensor({0, 0}, {2})}, {tensor({0, 0}, {2})}, 0.02).code == documents::VerificationCode::Pass);
}

TEST_CASE("the machine's counters are read from its files, and absent where there are none") {
  const Bench bench;
  const std::string root = bench.folder;
  const MachineState none = machine_state(root);
  CHECK_FALSE(none.steal_seconds);
  CHECK_FALSE(none.clock_hz);
  for (const char* part : {"/proc", "/sys/class/thermal/thermal_zone0"}) fs::create_directories(root + part);
  base::write_file(root + "/proc/stat", "cpu  1 2 3 4 5 6 7 250 9 10\ncpu0 1\n");
  base::write_file(root + "/proc/loadavg", "1.50 1 1 1/1 1\n");
  base::write_file(root + "/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2500.5\n");
  base::write_file(root + "/sys/class/thermal/thermal_zone0/temp", "61000\n");
  const MachineState some = machine_state(root);
  CHECK(some.steal_seconds == 250.0 / static_cast<double>(sysconf(_SC_CLK_TCK)));
  CHECK(some.load == 1.5);
  CHECK(some.clock_hz == 2500.5e6);
  CHECK(some.temperature_celsius == 61.0);
  documents::Interference around;
  note_machine(none, some, false, around);
  CHECK(around.steal_seconds.has_value() == false);
  CHECK(around.temperature_celsius == 61.0);
}

TEST_CASE("what one processor writes reaches another within a microsecond, and says which caches they have") {
  if (const auto seconds = handoff_seconds()) {  // empty on one processor, and where the others are busy
    CHECK(*seconds > 1e-9);
    CHECK(*seconds < 1e-5);
  }
  using documents::CachePlacement;
  const auto placement = [](std::vector<double> seconds) {
    documents::Interference around;
    around.handoff_seconds = std::move(seconds);
    return documents::placement(around);
  };
  CHECK(placement({}) == CachePlacement::Unknown);
  CHECK(placement({2.5e-8, 3e-8}) == CachePlacement::Together);
  CHECK(placement({9e-8, 1.6e-7}) == CachePlacement::Apart);
  CHECK(placement({2.5e-8, 1.6e-7}) == CachePlacement::Moved);
}

}  // namespace
}  // namespace pagoda::tools::bench
