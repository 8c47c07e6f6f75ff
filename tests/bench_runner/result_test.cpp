// Results: JSON and its schema, append-only files, torn lines, merging, status.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pagoda/base/files.h"
#include "pagoda/documents/result.h"
#include "pagoda/lab/study.h"
#include "pagoda/present/report.h"
#include "support/files.h"
#include "support/json_schema.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Folder {
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string path = (fs::temp_directory_path() / ("pagoda_result_" + std::to_string(getpid()))).string();
};

documents::Result sample(std::int64_t batch) {
  documents::Result r;
  r.config = {{"model", "net"}, {"backend", "ort"}, {"batch", batch}, {"half", 0.5}};
  r.key = documents::config_key(r.config);
  base::Timing timing;
  timing.latency = base::summarize_latency(std::vector<double>{0.1, 0.11, 0.12, 0.1, 0.13, 0.1, 0.11}, 0.05);
  timing.first_call_seconds = 0.5;
  timing.warmup_iterations = 11;
  timing.warmup_seconds = 1.5;
  timing.settled = true;
  r.timing = timing;
  r.clock = "steady";
  r.items = 2;
  r.load_seconds = 0.25;
  r.host_peak_bytes = 1e9;
  r.energy = {.joules = 0.4,
              .watts = 4,
              .source = "made up",
              .samples = 50,
              .period_seconds = 0.02,
              .rails = {{.name = "VDD_IN", .watts = 4, .is_counted = true}, {.name = "VDD_SOC", .watts = {}}}};
  r.interference.load = 0.5;
  r.interference.throttle = {"thermal"};
  r.interference.handoff_seconds = {2.5e-8, 2.6e-8, 1.6e-7};
  r.layers = {{.name = "conv1", .op_type = "Conv", .seconds = 0.01, .facts = {{"algorithm", "direct"}}, .note = ""},
              {.name = "conv2", .op_type = "Conv", .seconds = {}, .facts = {}, .note = "refused"}};
  r.verification = documents::Verification{.code = documents::VerificationCode::ShapesDiffer,
                                           .reference = "net ort",
                                           .error = {},
                                           .threshold = 0.02,
                                           .detail = "[1] and [2]"};
  r.wall_seconds = 3;
  r.metadata = {{"host", "here"}, {"cpus", std::int64_t{2}}};
  return r;
}

documents::Result crash() {
  documents::Result r;
  r.config = {{"backend", "cmd"}};
  r.key = documents::config_key(r.config);
  r.status = documents::ResultStatus::Killed;
  r.reason = "ended by signal 11";
  r.stderr_tail = "line\n\xff\x1b[2Jend";
  r.signal = 11;
  r.wall_seconds = 1;
  return r;
}

TEST_CASE("results are written as their schema says and read back") {
  for (const documents::Result& result : {sample(1), crash()}) {
    const std::string line = documents::write_result(result);
    CHECK(line.find('\n') == std::string::npos);
    test::check_schema(line, "result");
    CHECK(documents::write_result(documents::parse_result(line, "line")) == line);
  }
  const json written = json::parse(documents::write_result(sample(1)));
  CHECK(written["items_per_second"].get<double>() == doctest::Approx(2 / 0.11));
  CHECK(written["latency"]["p50"] == 0.11);
  CHECK(written["memory"]["device_peak_bytes"].is_null());
}

TEST_CASE("what is not a result is refused") {
  const std::string line = documents::write_result(sample(1));
  for (const std::string& bad :
       {std::string("{}"), std::string("[]"), std::string("null"), line.substr(0, line.size() / 2),
        std::string(R"({"schema":"pagoda.result/2","key":"a","config":{}})"),
        std::string(R"({"schema":"pagoda.result/1","key":"a","config":{},"status":"fine"})"),
        std::string(R"({"schema":"pagoda.result/1","key":"a","config":[],"status":"ok"})"),
        std::string(R"({"schema":"pagoda.result/1","config":{},"status":"ok"})")})
    CHECK_THROWS_AS(documents::parse_result(bad, "line"), Error);
}

TEST_CASE("a line torn at any byte is recognised, and the next append starts a line of its own") {
  const Folder folder;
  const std::string path = folder / "results.jsonl";
  documents::append_result(path, sample(1));
  const std::string first = test::read_file(path);
  documents::append_result(path, sample(2));
  const std::string both = test::read_file(path);
  for (std::size_t cut = first.size(); cut < both.size(); cut += cut + 60 < both.size() ? 59 : 1) {
    CAPTURE(cut);
    base::write_file(path, both.substr(0, cut));
    documents::ResultSet torn = documents::load_results(path);
    REQUIRE(torn.results.size() == 1);
    CHECK(torn.torn == (cut == first.size() ? 0 : 1));
    documents::append_result(path, sample(2));
    torn = documents::load_results(path);
    CHECK(torn.results.size() == 2);
    CHECK(torn.results[1].key == sample(2).key);
    // The last byte of a line is its newline: without it even complete text counts as torn, and is repeated later.
    CHECK(torn.torn + torn.duplicates == (cut == first.size() ? 0 : 1));
  }
}

TEST_CASE("whole lines that are no results are not called torn, and the first one says why") {
  const documents::ResultSet set =
      documents::parse_results(documents::write_result(sample(1)) +
                                   "\n{\"schema\":\"pagoda.result/9\",\"key\":\"a\"}\n[1]\n{\"schema\": \"pago\n",
                               "results.jsonl");
  CHECK(set.results.size() == 1);
  CHECK(set.torn == 1);
  CHECK(set.unreadable == 2);
  CHECK(set.unreadable_reason.find("expected a result of schema pagoda.result/1") != std::string::npos);
}

TEST_CASE("files of several hosts merge by key, the last line of a key counting") {
  const Folder folder;
  documents::Result again = sample(1);
  again.status = documents::ResultStatus::Failed;
  documents::append_result(folder / "results-host1.jsonl", again);
  documents::append_result(folder / "results-host1.jsonl", sample(2));
  documents::append_result(folder / "results-host2.jsonl", sample(1));
  base::write_file(folder / "notes.txt", "not a result");
  const documents::ResultSet set = documents::load_results(folder.path);
  CHECK(set.results.size() == 2);
  CHECK(set.duplicates == 1);
  CHECK(set.torn == 0);
  CHECK(set.results[0].status == documents::ResultStatus::Ok);
  fs::remove_all(folder.path);
  CHECK_THROWS_AS(documents::load_results(folder / "results.jsonl"), Error);
  fs::create_directories(folder.path);
  CHECK(documents::load_results(folder.path).results.empty());
}

TEST_CASE("the status of a study counts what is done, not ok and left, and foresees the time") {
  std::vector<documents::Experiment> experiments;
  for (std::int64_t batch = 1; batch <= 4; ++batch)
    experiments.push_back({documents::config_key(sample(batch).config), sample(batch).config});
  documents::ResultSet done;
  lab::StudyStatus status = lab::study_status(experiments, done);
  CHECK(status.left == 4);
  CHECK_FALSE(status.seconds_left);
  done.results = {sample(1), sample(2), crash()};
  done.results[1].status = documents::ResultStatus::Timeout;
  done.results[1].wall_seconds = 5;
  status = lab::study_status(experiments, done);
  CHECK(status.total == 4);
  CHECK(status.ok == 1);
  CHECK(status.not_ok == std::map<std::string, std::int64_t>{{"timeout", 1}});
  CHECK(status.left == 2);
  CHECK(status.seconds_left == 8.0);  // twice the median of 3 and 5
}

TEST_CASE("a file that cannot be written is an error that names it") {
  CHECK_THROWS_WITH_AS(documents::append_result("/nowhere/results.jsonl", sample(1)),
                       "/nowhere/results.jsonl: cannot be opened: No such file or directory", Error);
}

}  // namespace
}  // namespace pagoda
