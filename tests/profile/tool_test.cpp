// pagoda-profile from the command line to its files, with the real injection and the real NVTX in a real C program; the
// driver and CUPTI are fakes. Also every way in which a driver can be missing: exit 4 with a remedy, never a crash.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"
#include "pagoda/documents/metrics.h"
#include "profile/profiled_program.h"
#include "support/files.h"
#include "support/sometimes.h"

namespace pagoda::measured {
namespace {

namespace fs = std::filesystem;

using test::Outcome;
using Workshop = test::ProfiledProgram;

TEST_CASE("every way of having no driver ends with 4 and a remedy, one older than CUPTI with 6") {
  const Workshop shop;
  struct Case {
    const char *trouble, *mode, *remedy;
  };
  // clang-format off
  const Case cases[] = {
      {"stub",           "quick",  "LD_LIBRARY_PATH"},
      {"no device",      "quick",  "CUDA_VISIBLE_DEVICES"},
      {"no devices",     "time",   "CUDA_VISIBLE_DEVICES"},
      {"mismatch",       "exact",  "restart"},
      {"unknown",        "quick",  "nvidia-modprobe"},
      {"crash at start", "quick",  "pagoda-doctor"},
      {"crash in CUPTI", "quick",  "pagoda-doctor"},
      {"new CUPTI",      "time",   "not newer"},
      {"old driver",     "quick",  "not newer than the driver"},
      {"virtual",        "exact",  "enable_profiling"},
      {"unknown CUPTI",  "quick",  "FAKE_ERROR"},
      {"no memory",      "quick",  "memory is full"},
      {"privilege",      "quick",  "NVreg_RestrictProfilingToAdminUsers"},
      {"privilege",      "rotate", "SYS_ADMIN"},
      {"busy",           "range",  "dcgmi profile --pause"},
      {"none",           "quick",  "there is no NVIDIA driver"},
      {"none",           "ncu",    "there is no NVIDIA driver"},
      {"none",           "time",   "--gpus all"},
  };
  // clang-format on
  for (const Case& c : cases) {
    CAPTURE(c.trouble);
    CAPTURE(c.mode);
    const Outcome result = shop.run(c.trouble, std::string("--mode ") + c.mode + " --nvtx . -o m.json -- $P 1");
    const std::string trouble = c.trouble;
    CHECK(result.code == (trouble == "new CUPTI" || trouble == "old driver" ? 6 : 4));
    CHECK_MESSAGE(test::contains(result.err, c.remedy), result.err);
    CHECK_FALSE(test::contains(result.out, "ready"));  // the program never started
    CHECK_FALSE(fs::exists(shop.path("m.json")));
  }
}

TEST_CASE("an empty session that cannot be decoded is no reason to refuse") {
  const Workshop shop;
  const Outcome result = shop.run("nothing to decode", "--mode exact -o m.json -- $P 3");
  CHECK_MESSAGE(result.code == 0, result.err);
  CHECK(documents::load_measured(shop.path("m.json")).kernels.size() == 2);
}

TEST_CASE("kernels that carry the number of the runtime's call are timed, too") {
  const Workshop shop;
  const Outcome result = shop.run("runtime", "--mode time -o m.json -- $P 3");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.kernels[0].launches == 3);
  CHECK(*measured.kernels[0].seconds == doctest::Approx(3 * 2e-6));
}

TEST_CASE("neither privilege nor the profiler's own part of CUPTI matter where no counters are read") {
  const Workshop shop;
  const std::string trouble = "privilege";
  for (const char* other : {"crash in CUPTI", "unknown CUPTI", "old driver", "virtual"})
    CHECK(shop.run(other, "--mode time -o other.json -- $P 3").code == 0);
  const Outcome result = shop.run("privilege", "--mode time -o m.json -- $P 3");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() == 2);
  CHECK(measured.kernels[0].name == "void gemm<128>(float*, int)");
  CHECK(measured.kernels[0].launches == 3);
  CHECK(*measured.kernels[0].seconds == doctest::Approx(3 * 2e-6));
  CHECK(measured.kernels[0].flops.empty());
  CHECK(std::any_of(measured.missing.begin(), measured.missing.end(), [](const documents::Missing& m) {
    return m.what == "flops" && test::contains(m.why, "--mode time");
  }));
}

TEST_CASE("range counts the ranges that are asked for") {
  const Workshop shop;
  const Outcome result = shop.run("", "--mode range --nvtx ^pagoda@conv -o m.json -- $P 5");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() == 1);
  CHECK(measured.kernels[0].name == "conv1");
  CHECK(measured.kernels[0].bytes.dram_read == 1020);
  CHECK(shop.run("", "--mode range -- $P 5").code == 2);
}

TEST_CASE("the program's exit code and signals are passed on, with what was recorded") {
  const Workshop shop;
  CHECK(shop.run("", "-o a.json -- $P 2 exit 7").code == 7);
  CHECK(documents::load_measured(shop.path("a.json")).kernels.size() == 2);
  // A signal that would end the program does so only after its record is complete; after a signal that cannot be
  // caught, what was already read remains.
  CHECK(shop.run("", "-o b.json -- $P 2 signal 15").code == 128 + 15);
  CHECK(documents::load_measured(shop.path("b.json")).kernels.size() == 2);
  CHECK(shop.run("", "--batch 1 -o c.json -- $P 2 signal 9").code == 128 + 9);
  const documents::Measured killed = documents::load_measured(shop.path("c.json"));
  CHECK(killed.kernels.size() == 2);
  CHECK(std::any_of(killed.notes.begin(), killed.notes.end(),
                    [](const std::string& note) { return test::contains(note, "did not end in order"); }));
  CHECK(shop.run("", "-- ./no-such-program").code == 127);
}

TEST_CASE("a signal to pagoda-profile goes to the program; a kill leaves no half a file") {
  const Workshop shop;
  for (const int number : {SIGTERM, SIGKILL}) {
    CAPTURE(number);
    base::write_file(shop.path("log.txt"), "");
    const pid_t child = fork();
    if (child == 0) {
      setenv("FAKE_CUDA", "", 1);
      setenv("PAGODA_CUPTI", shop.path("driver/libcuda.so.1").c_str(), 1);
      setenv("LD_LIBRARY_PATH", shop.path("driver").c_str(), 1);
      setenv("TMPDIR", shop.path("driver").c_str(), 1);
      const std::string output = shop.path("s" + std::to_string(number) + ".json"), log = shop.path("log.txt");
      if (std::freopen(log.c_str(), "w", stdout) == nullptr) _exit(1);
      execl(PAGODA_PROFILE, PAGODA_PROFILE, "-o", output.c_str(), "--", PAGODA_NVTX_PROGRAM, "2", "wait", nullptr);
      _exit(1);
    }
    for (int i = 0; i < 300 && !test::contains(test::read_file(shop.path("log.txt")), "ready"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill(child, number);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
    const std::string output = shop.path("s" + std::to_string(number) + ".json");
    if (number == SIGTERM)
      CHECK(documents::load_measured(output).kernels.size() == 2);
    else
      CHECK_FALSE(fs::exists(output));
  }
}

TEST_CASE("NVTX ranges of a C program are listed without a driver: domains, registered strings, wide texts, threads") {
  const Workshop shop;
  const Outcome result = shop.run("none", "--list-ranges -- $P 0 exit 3");
  CHECK(result.code == 3);
  CHECK(
      result.out ==
      "ready\n       1  model\n       1  epoch\n       1  pagoda@conv1\n       1  pagoda@relu2\n       1  \u00fcber\n");
}

TEST_CASE("a forked child has a file of its own, and its parent's launches only once") {
  const Workshop shop;
  const Outcome result = shop.run("", "-o m.json -- $P 2 fork");
  CHECK_MESSAGE(result.code == 0, result.err);
  const documents::Measured measured = documents::load_measured(shop.path("m.json"));
  REQUIRE(measured.kernels.size() >= 2);
  CHECK(measured.kernels[0].launches == 2);
  CHECK(measured.kernels[1].launches == 2);
}

TEST_CASE("another profiler in the program is named, and the program runs on") {
  const Workshop shop;
  const Outcome result = shop.run("subscriber", "-o m.json -- $P 2 exit 0");
  CHECK(result.code == 1);
  CHECK(test::contains(result.out, "ready"));
  CHECK(test::contains(result.err, "no kernel was recorded"));
}

TEST_CASE("a chip that the catalogue does not know is an error that says what to do") {
  const Workshop shop;
  const Outcome result = shop.run("new chip", "-- $P 2");
  CHECK(result.code == 1);
  CHECK(test::contains(result.err, "XX100"));
  CHECK(test::contains(result.err, "pagoda-metrics"));
}

TEST_CASE("records are kept where that is asked for") {
  const Workshop shop;
  CHECK(shop.run("", "--keep-raw -o m.json -- $P 2").code == 0);
  std::size_t images = 0, records = 0;
  test::Sometimes is_text("notes of an image");
  for (const auto& entry : fs::recursive_directory_iterator(shop.path("m.json.raw"))) {
    if (is_text(entry.path().extension() == ".txt"))
      CHECK(test::contains(test::read_file(entry.path().string()), "\npasses\t1\n"));
    images += entry.path().extension() == ".counters" ? 1 : 0;
    records += entry.path().extension() == ".record" ? 1 : 0;
  }
  CHECK(images == 1);
  CHECK(records == 1);
}

TEST_CASE("a program measures itself, and goes on where it cannot") {
  const Workshop shop;
  const std::string program = "'" PAGODA_MEASURE_PROGRAM "'";
  const Outcome measured = shop.shell(shop.driver() + program);
  CHECK(measured.code == 0);
  CHECK(measured.out == "model/gemm gemm 3\n");
  CHECK(documents::load_measured(shop.path("session.json")).kernels.size() == 1);
  const Outcome alone = shop.shell(program);
  CHECK(alone.code == 0);
  CHECK(test::contains(alone.out, "problem: there is no NVIDIA driver"));
  // Under pagoda-profile, the session leaves the work to it.
  CHECK(shop.run("", "-o m.json -- " PAGODA_MEASURE_PROGRAM).code == 0);
  CHECK(documents::load_measured(shop.path("m.json")).kernels.at(0).nvtx == "model/gemm");
}

TEST_CASE("wrong options end with 2") {
  const Workshop shop;
  CHECK(shop.run("", "").code == 2);
  CHECK(shop.run("", "--mode fast -- $P").code == 2);
  CHECK(shop.run("", "--no-such-option -- $P").code == 2);
  CHECK(shop.run("none", "--version").code == 0);
  struct Case {
    const char *options, *said;
  };
  // clang-format off
  const Case cases[] = {
      {"-o a.json -o b.json",             "--output"},
      {"--count -3",                      "--count"},
      {"--skip -1",                       "--skip"},
      {"--batch 0",                       "--batch"},
      {"--by colour",                     "--by"},
      {"--kernel [",                      "--kernel [ is not an extended regular expression"},
      {"--mode range --nvtx [",           "--nvtx [ is no"},
      {"--iteration [",                   "--iteration"},
      {"--mode range",                    "needs --nvtx"},
      {"--mode time --verify ncu",        "--verify: found --mode time, expected quick, exact or rotate"},
      {"--mode exact --precision tf32",   "--precision: found --mode exact, expected quick or range"},
      {"--mode ncu --csv a.csv",          "--csv: found --mode ncu"},
      {"--mode ncu --iteration i",        "--iteration: found --mode ncu"},
      {"--mode ncu --warmup 1",           "--warmup: found --mode ncu"},
      {"--mode ncu --keep-raw",           "--keep-raw: found --mode ncu"},
      {"--mode ncu --batch 4",            "--batch: found --mode ncu"},
      {"--mode time --safe",              "--safe: found --mode time"},
      {"--mode time --batch 4",           "--batch: found --mode time"},
      {"--mode time --strict",            "--strict: found --mode time"},
      {"-o - --csv -",                    "both be standard output"},
      {"--chip GH100",                    "--chip: found --mode quick, expected ncu"},
      {"--mode ncu --chip GH100 --cupti c", "--chip"},
      {"--mode ncu --models a --top 3",   "--top does not go with --models"},
      {"--mode ncu --batches 1 --estimate e", "--estimate does not go with --models"},
      {"--batches 1",                     "--batches: found --mode quick"},
      {"--ncu ./ncu",                     "--ncu needs --mode ncu or --verify ncu"},
      {"--verify ncu --nvtx a",           "--verify does not go with --nvtx"},
      {"--verify-bytes 5",                "--verify"},
      {"--safe --batch 4",                "--batch"},
      {"--list-ranges --mode time",       "--list-ranges answers by itself; it does not go with --mode"},
      {"--list-ranges -o m.json",         "--list-ranges answers by itself; it does not go with --output"},
      {"--list-ranges --kernel a",        "--list-ranges answers by itself; it does not go with --kernel"},
  };
  // clang-format on
  for (const Case& c : cases) {
    CAPTURE(c.options);
    const Outcome result = shop.run("", std::string(c.options) + " -- $P 1");
    CHECK(result.code == 2);
    CHECK_MESSAGE(test::contains(result.err, c.said), result.err);
    CHECK_FALSE(test::contains(result.out, "ready"));
  }
}

TEST_CASE("what cannot work is said before the program runs") {
  const Workshop shop;
  fs::create_directories(shop.path("folder"));
  base::write_file(shop.path("plain"), "no program");
  struct Case {
    const char* arguments;
    int code;
    const char* said;
  };
  // clang-format off
  const Case cases[] = {
      {"-o no/such/folder/m.json -- $P 1",    1, "cannot write no/such/folder/m.json"},
      {"--csv no/such/m.csv -- $P 1",         1, "cannot write no/such/m.csv"},
      {"-o folder -- $P 1",                   1, "Is a directory"},
      {"--estimate none.json -- $P 1",        1, "none.json"},
      {"--precision none -- $P 1",            1, "GH100 counts"},
      {"-- ./plain",                        126, "permission"},
      {"-- ./folder",                       126, "permission"},
      {"-- no-such-program",                127, "in PATH"},
      {"-- ./no-such-program",              127, "no such program"},
  };
  // clang-format on
  for (const Case& c : cases) {
    CAPTURE(c.arguments);
    const Outcome result = shop.run("", c.arguments);
    CHECK(result.code == c.code);
    CHECK_MESSAGE(test::contains(result.err, c.said), result.err);
    CHECK_FALSE(test::contains(result.out, "ready"));
  }
}

TEST_CASE("programs without CUDA keep their input, output and exit code, and the reason is told") {
  const Workshop shop;
  const Outcome none = shop.run("", "-o m.json -- /bin/true");
  CHECK(none.code == 1);  // nothing to report
  CHECK(test::contains(none.err, "no kernel was recorded"));
  CHECK_FALSE(test::contains(none.out, "launches"));
  CHECK(shop.run("", "-- /bin/sh -c \"exit 3\"").code == 3);
  CHECK(shop.run("", "-- /bin/sh -c \"kill -SEGV \\$\\$\"").code == 128 + SIGSEGV);
  base::write_file(shop.path("input"), "from standard input\n");
  CHECK(test::contains(shop.run("", "-- cat < input").out, "from standard input"));
  CHECK(shop.run("", "-- seq 200000").out.size() > 1000000);
  // The record notes how the program ended.
  CHECK(shop.run("", "-o m.json -- $P 1 exit 3").code == 3);
  const auto notes = documents::load_measured(shop.path("m.json")).notes;
  CHECK(std::find(notes.begin(), notes.end(), "the program exited with 3") != notes.end());
  // It replaces another profiler's injection, and reports that.
  setenv("CUDA_INJECTION64_PATH", "/opt/other.so", 1);
  const Outcome taken = shop.run("", "-o m.json -- $P 1");
  unsetenv("CUDA_INJECTION64_PATH");
  CHECK(taken.code == 0);
  CHECK_MESSAGE(test::contains(taken.err, "CUDA_INJECTION64_PATH was /opt/other.so"), taken.err);
  CHECK(documents::load_measured(shop.path("m.json")).kernels.size() == 2);
}

TEST_CASE("a program that runs as another user is refused" * doctest::skip(geteuid() != 0)) {  // root changes owners
  const Workshop shop;
  const std::string other = shop.path("other");
  fs::copy_file(PAGODA_NVTX_PROGRAM, other);
  REQUIRE(chown(other.c_str(), 65534, 65534) == 0);
  fs::permissions(other, fs::perms::set_uid | fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
  CHECK(test::contains(shop.run("", "-- ./other 0").err, "set-user-ID"));
}

TEST_CASE("a program without a dynamic loader is refused" * doctest::skip(!fs::exists("/sbin/ldconfig"))) {
  const Workshop shop;
  CHECK(test::contains(shop.run("", "-- /sbin/ldconfig --version").err, "linked statically"));
}

}  // namespace
}  // namespace pagoda::measured
