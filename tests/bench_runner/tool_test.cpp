// pagoda-bench as people use it: flags, lists, resuming after kill -9, one, status.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "pagoda/documents/result.h"
#include "pagoda/present/report.h"
#include "support/onnx_file.h"
#include "support/text_graph.h"
#include "support/workshop.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;

using test::Outcome;

struct Workshop : test::Workshop {
  Workshop() {
    base::write_file(path("study.toml"), R"(
      backend = "fake"
      batch = [1, 2, 3, 4, 5, 6]
      repeats = 2
      [options]
      pid_file = ")" + path("pids") + R"("
      prepare_seconds = 0.05
      [backends.fake]
      command = [")" PAGODA_FAKE_WORKER R"("]
      [measure]
      budget_seconds = 0.1
      warmup_seconds = 0.1
    )");
  }

  Outcome run(const std::string& arguments) const { return shell("'" PAGODA_BENCH "' " + arguments); }

  // Starts a run in the background.
  pid_t start(const std::vector<const char*>& arguments) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const int nothing = ::open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) ::dup2(nothing, fd);
    std::vector<char*> argv = {const_cast<char*>(PAGODA_BENCH)};
    for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));
    argv.push_back(nullptr);
    if (::chdir(folder.c_str()) == 0) ::execv(PAGODA_BENCH, argv.data());
    ::_exit(127);
  }

  std::size_t lines() const {
    std::ifstream file(folder + "/out/results.jsonl");
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }
};

// Whether the process is gone or a zombie: reaping what the runner left is its parent's business.
bool ends(pid_t pid) {
  for (int i = 0; i < 200; ++i) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    if (!std::getline(file, line)) return true;
    const std::size_t name_end = line.rfind(')');
    if (name_end != std::string::npos && name_end + 2 < line.size() &&
        (line[name_end + 2] == 'Z' || line[name_end + 2] == 'X'))
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_CASE("a study that is killed three times resumes and has every record exactly once") {
  const Workshop shop;
  for (const std::size_t until : {1U, 4U, 8U}) {
    const pid_t runner = shop.start({"run", "study.toml", "-o", "out"});
    for (int i = 0; i < 2000 && shop.lines() < until; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(runner, SIGKILL);
    ::waitpid(runner, nullptr, 0);
    CHECK(shop.lines() >= until);
    CHECK(shop.lines() < 12);
  }
  const Outcome last = shop.run("run study.toml -o out --strict");
  CHECK(last.code == 0);
  CHECK(last.out.ends_with("\n\nexperiments  12\nok           12\nleft         0\n"));
  // One row per configuration, from two repeats each.
  CHECK(last.out.starts_with("batch      p50      p95      p99  items/s   memory  runs\n"
                             "    1  10.0 ms  10.0 ms  10.0 ms      100  4.10 kB    20\n"));
  const documents::ResultSet set = documents::load_results(shop.folder + "/out");
  CHECK(set.results.size() == 12);
  CHECK(set.torn == 0);
  CHECK(set.duplicates == 0);
  CHECK(shop.lines() == 12);
  // No worker outlived its runner.
  std::ifstream pids(shop.folder + "/pids");
  int seen = 0;
  for (pid_t pid; pids >> pid; ++seen) CHECK(ends(pid));
  CHECK(seen >= 12);
}

TEST_CASE("a crash, a hang and a memory blow-up are records, and the study goes on") {
  const Workshop shop;
  const Outcome r = shop.run(
      "run --backend fake --worker 'fake=" PAGODA_FAKE_WORKER
      "' --set behave=crash --set behave=hang --set behave=eat --set behave=well --budget 0.1 --warmup 0.1 --timeout 4 "
      "--memory-limit 100MB -o out --strict");
  CHECK(r.code == 3);
  const std::string status = r.out.substr(r.out.find("experiments"));
  CHECK(status.starts_with("experiments  4\nok           1\nfailed       1\nout_of_memory 1\ntimeout      1\nleft         "
                           "0\nnot ok       "));
  for (const char* reason :
       {"behave=crash device=cpu mode=inference: crashed with signal 11",
        "behave=hang device=cpu mode=inference: not done after 4 s\n", "behave=eat device=cpu mode=inference: held "})
    CHECK_MESSAGE(r.out.find(reason) != std::string::npos, r.out);
  CHECK(shop.run("status out").out == status);
  // These results are final until requested again.
  CHECK(shop.run("run --backend fake --worker 'fake=" PAGODA_FAKE_WORKER
                 "' --set behave=crash --set behave=hang --set behave=eat --set behave=well --budget 0.1 --warmup 0.1 "
                 "--timeout 4 --memory-limit 100MB -o out")
            .code == 0);
  CHECK(shop.lines() == 4);
  shop.run("run --backend fake --worker 'fake=" PAGODA_FAKE_WORKER
           "' --set behave=crash --budget 0.1 --warmup 0.1 -o out --retry failed");
  CHECK(shop.lines() == 5);
  CHECK(documents::load_results(shop.folder + "/out").results.size() == 4);
}

TEST_CASE("--list names what would run and what is unsupported, --dry-run what is left") {
  const Workshop shop;
  const Outcome list = shop.run("run resnet18 --backend torch,ort --batch 1,2 --list");
  CHECK(list.code == 0);
  CHECK(list.out.find("resnet18 torch batch=2 compile=eager device=cpu mode=inference") != std::string::npos);
  CHECK(list.out.find("unsupported  resnet18 ort batch=1 device=cpu mode=inference optimization=all: \"resnet18\" is a "
                      "name") != std::string::npos);
  CHECK(list.out.ends_with("2 experiments, 2 unsupported\n"));
  shop.run("run study.toml -o out --filter batch=3");
  CHECK(shop.lines() == 2);
  CHECK(shop.run("run study.toml -o out --dry-run").out.ends_with("10 experiments, 0 unsupported\n"));
  CHECK(shop.run("run study.toml -o out --dry-run --no-resume").out.ends_with("12 experiments, 0 unsupported\n"));
  CHECK(shop.run("run study.toml --list --sanity").out.ends_with("2 experiments, 0 unsupported\n"));
}

TEST_CASE("cmd times whole commands, or reads the times that they print") {
  const Workshop shop;
  const Outcome whole = shop.run(
      "one --config '{\"backend\":\"cmd\",\"command\":\"sleep 0.0{batch}\",\"batch\":2,"
      "\"measure.budget_seconds\":0.3,\"measure.warmup_seconds\":0.1}'");
  REQUIRE(whole.code == 0);
  const documents::Result slept = documents::parse_result(whole.out, "one");
  CHECK(slept.timing->latency.min >= 0.02);
  CHECK(slept.items == 2.0);
  const Outcome printed = shop.run(
      "one --config '{\"backend\":\"cmd\",\"command\":\"echo took 3.5 ms, took 4.5 ms\",\"pattern\":\"([0-9.]+) "
      "ms\",\"scale\":0.001,\"measure.budget_seconds\":0.01,\"measure.warmup_seconds\":0}'");
  REQUIRE(printed.code == 0);
  const documents::Result read = documents::parse_result(printed.out, "one");
  CHECK(read.timing->latency.mean == doctest::Approx(0.004));
  CHECK(read.clock == "as printed");
  const Outcome failing = shop.run("one --config '{\"backend\":\"cmd\",\"command\":\"echo no >&2; exit 4\"}'");
  CHECK(failing.code == 3);
  const documents::Result failed = documents::parse_result(failing.out, "one");
  CHECK(failed.status == documents::ResultStatus::Failed);
  CHECK(failed.reason == "the command exited with 4");
  CHECK(failed.stderr_tail == "no\n");
}

TEST_CASE("two runners do not share a folder") {
  const Workshop shop;
  const pid_t runner = shop.start({"run", "study.toml", "-o", "out"});
  for (int i = 0; i < 2000 && shop.lines() < 1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Outcome second = shop.run("run study.toml -o out");
  ::kill(runner, SIGKILL);
  ::waitpid(runner, nullptr, 0);
  CHECK(second.code == 1);
  CHECK(second.err.find("another pagoda-bench writes results.jsonl there") != std::string::npos);
}

TEST_CASE("tasks of a cluster write a file each, and nothing when run again") {
  const Workshop shop;
  shop.run("run study.toml -o out --filter batch=1");
  fs::remove(shop.folder + "/out/results.jsonl");
  for (const char* index : {"0", "1", "0"}) CHECK(shop.run(std::string("task out --index ") + index).code == 0);
  CHECK(documents::load_results(shop.folder + "/out").results.size() == 2);
  CHECK(documents::load_results(shop.folder + "/out").duplicates == 0);
  CHECK(shop.run("task out --index 2").code == 1);
}

TEST_CASE("a list of models is its names, and the device auto is one that is here") {
  const Workshop shop;
  base::write_file(shop.path("nets.txt"), "# two\nresnet18\n\n  vgg11  # the smallest\n");
  const Outcome list = shop.run("run nets.txt --backend torch --device auto --list");
  CHECK(list.code == 0);
  CHECK(list.out.find("vgg11 torch batch=1 compile=eager device=") != std::string::npos);
  CHECK(list.out.find("device=auto") == std::string::npos);
  CHECK(list.out.ends_with("2 experiments, 0 unsupported\n"));
  CHECK(shop.run("run suite:timm --backend torch --list").out.find("timm:convnext_base torch") != std::string::npos);
  const Outcome names = shop.run("run --backend ort,cmd --list-models");
  CHECK(names.code == 0);
  CHECK(names.out.find("# ort\n") != std::string::npos);
  CHECK(names.out.find("# cmd\n") != std::string::npos);
}

TEST_CASE("lists of a study and the files that they name are relative to where they stand") {
  const Workshop shop;
  fs::create_directory(shop.path("nets"));
  base::write_file(shop.path("nets/two.txt"), "net.onnx\nvgg11\n");
  base::write_file(shop.path("nets/study.toml"), "model = 'two.txt'\nbackend = 'cmd'\ncommand = 'true'\n");
  const Outcome list = shop.run("run nets/study.toml --list");
  CHECK_MESSAGE(list.out.ends_with("1 experiments, 1 unsupported\n"), list.out);
  const Outcome run = shop.run("run nets/study.toml --runs 1 -o out");
  CHECK_MESSAGE(run.code == 0, run.err);
  const std::string plan = base::read_file(shop.path("out/plan.json"), "a plan");
  CHECK(plan.find("nets/net.onnx") != std::string::npos);
  CHECK(plan.find("nets/vgg11") == std::string::npos);
}

TEST_CASE("a folder's plan goes on by resume, and what workers print can be seen") {
  const Workshop shop;
  shop.run("run study.toml -o out --filter batch=1");
  fs::remove(shop.folder + "/out/results.jsonl");
  const Outcome resumed = shop.run("resume out --print-subprocess");
  CHECK(resumed.code == 0);
  CHECK(shop.lines() == 2);
  const std::string loud = "run --backend fake --worker 'fake=" PAGODA_FAKE_WORKER
                           "' --set behave=chatter --runs 3 --warmup-runs 2 -o loud";
  CHECK(shop.run(loud).err.find("Loading weights") == std::string::npos);
  const Outcome printed = shop.run(loud + " --no-resume --print-subprocess");
  CHECK(printed.err.find("Loading weights") != std::string::npos);
  CHECK(printed.out.find("Loading weights") == std::string::npos);
  const documents::Result counted = documents::load_results(shop.folder + "/loud").results.front();
  CHECK(counted.timing->latency.n == 3);
  CHECK(counted.timing->warmup_iterations == 2);
}

TEST_CASE("wrong usage says what is expected") {
  const Workshop shop;
  base::write_file(shop.path("open.onnx"), test::onnx_bytes(test::graph("x:f32[n,3,height,width] -> y = Relu(x)")));
  struct Case {
    const char* arguments;
    int code;
    const char* message;
  };
  // clang-format off
  const Case cases[] = {
      {"", 2, "A subcommand is required"},
      {"--python python3 conv", 2, "conv: expected it as the first argument"},
      {"--python python3 matmul", 2, "matmul: expected it as the first argument"},
      {"run a.onnx -o out", 2, "say what is to run the models"},
      {"run a.onnx --backend ort", 2, "say where results go"},
      {"run study.toml --batch 3 -o out", 2, "the study's lists say that"},
      {"run study.toml other -o out", 2, "a study runs alone"},
      {"run a --backend torch --batch x -o out", 2, "found x, expected integers"},
      {"run a --backend torch --batch 4..2 -o out", 2, "found 4..2, expected integers"},
      {"run a.onnx --backend ort --dim height -o out", 2, "--dim: found \"height\", expected NAME=VALUE"},
      {"run a.onnx --backend ort --dim height=x -o out", 2, "--dim: found \"height=x\", expected NAME=V"},
      {"run a.onnx --backend ort --dim device=2 -o out", 2, "\"device\" has a meaning of its own"},
      {"run a.onnx --backend ort --batch 2 --dim batch=4 -o out", 2, "\"batch\" is also given as an axis"},
      {"run open.onnx --backend ort --dim height=8 -o out", 1, "open sizes: x is float32[1,3,8,width]; set them, for example --dim width="},
      {"run open.onnx --backend ort --batch 4 --dim height=8 --dim width=8,16 --list", 0, "2 experiments, 0 unsupported"},
      {"run open.onnx --backend ort --dim height=8 --dim width=8 --dim width=16 --list", 0, "2 experiments, 0 unsupported"},
      {"run open.onnx --backend ort --input x=2x3x8x8 --list", 0, "open ort batch=2 device=cpu input.x=2x3x8x8"},
      {"one --config '{\"backend\":\"ort\",\"model\":\"open\",\"model_file\":\"open.onnx\"}'", 3, "open sizes: x is float32[1,3,height,width]"},
      {"run suite:nothing --backend torch -o out", 1, "suite:nothing: no such suite; there are "},
      {"submit --slurm a --backend torch --device auto -o out", 2, "auto is this host's"},
      {"run missing.toml -o out", 1, "missing.toml: cannot be opened: No such file or directory"},
      {"run missing.onnx --backend ort -o out", 1, "there is nothing to run"},
      {"status nowhere", 1, "nowhere/plan.json: cannot be opened: No such file or directory; expected the folder that"},
      {"one --config '{'", 1, "--config: not JSON, byte 2"},
      {"one --config '{\"backend\":\"tvm\"}'", 1, "there is no backend \"tvm\""},
  };
  // clang-format on
  for (const Case& c : cases) {
    CAPTURE(c.arguments);
    const Outcome r = shop.run(c.arguments);
    CHECK(r.code == c.code);
    CHECK_MESSAGE((r.out + r.err).find(c.message) != std::string::npos, r.err);
  }
}

}  // namespace
}  // namespace pagoda
