// The recorder on fake counters: batches, overflow, dropped ranges, graphs, filters, turns, contexts, threads, forks;
// and the files that it leaves when a process is killed.
#include "inject/recorder.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "pagoda/base/record_line.h"
#include "pagoda/measured/record.h"
#include "support/comma_locale.h"
#include "support/files.h"

namespace pagoda::tools::profile {
namespace {

using base::escaped;
using measured::profile::parse_record;
using measured::profile::ProcessRecord;

// A sink that collects the lines into a record.
class Lines : public RecordSink {
 public:
  explicit Lines(std::string& text) : text_(text) { text_ = "pagoda.record\t1\n"; }
  void line(const std::vector<std::string>& words) override {
    for (std::size_t i = 0; i < words.size(); ++i) text_ += (i > 0 ? "\t" : "") + escaped(words[i]);
    text_ += '\n';
  }
  void flush() override {}
  void forget() override {}

 private:
  std::string& text_;
};

// A device that counts each launch with its number, and misbehaves as configured.
struct Fake {
  std::vector<std::string> calls = {};
  std::size_t launched = 0, room = 1000, kernels_in_graph = 1;
  std::string fails_at = {};  // "session", "start", "stop"
  int miscounts = 0;          // ranges in excess of launches, per batch

  struct Session : CounterSession {
    Session(Fake& owner, std::vector<std::string> names) : fake(owner), names_(std::move(names)) {}
    ~Session() override { fake.calls.push_back("close"); }
    const std::vector<std::string>& metrics() const override { return names_; }
    void start() override {
      if (fake.fails_at == "start") throw std::runtime_error("HARDWARE_BUSY");
      fake.calls.push_back("start");
      fake.launched = 0;
    }
    Counted stop() override {
      if (fake.fails_at == "stop") throw std::runtime_error("the driver is gone");
      fake.calls.push_back("stop");
      Counted counted;
      const std::size_t ranges = fake.launched + static_cast<std::size_t>(fake.miscounts);
      for (std::size_t i = 0; i < std::min(ranges, fake.room); ++i)
        counted.ranges.push_back(std::vector<double>(names_.size(), static_cast<double>(i + 1)));
      counted.dropped = ranges > fake.room ? ranges - fake.room : 0;
      return counted;
    }
    void push(const std::string& name) override { fake.calls.push_back("push " + name); }
    void pop() override {
      fake.calls.push_back("pop");
      ++fake.launched;
    }
    Fake& fake;
    std::vector<std::string> names_;
  };

  Device device() {
    return {[](Context) { return ContextFacts{.chip = "GH100", .device = "NVIDIA H200", .cupti = "", .notes = {}}; },
            [this](Context, const std::vector<std::string>& metrics) -> std::unique_ptr<CounterSession> {
              if (fails_at == "session") throw std::runtime_error("INSUFFICIENT_PRIVILEGES; run as root");
              calls.push_back("open");
              return std::make_unique<Session>(*this, metrics);
            },
            [] { return Context{1}; }};
  }
};

Settings counting() {
  Settings settings;
  settings.groups["GH100"] = {{"dram__bytes_read.sum"}};
  return settings;
}

class Run {
 public:
  explicit Run(Settings settings, Fake& fake)
      : fake_(fake), recorder_(std::move(settings), fake.device(), std::make_unique<Lines>(text_)) {}
  void launch(const std::string& kernel, Context context = 1, bool is_graph = false) {
    const LaunchSite site{context, ++correlation_, kernel, "grid 1x1x1, block 32x1x1", is_graph};
    recorder_.launch_begins(site);
    fake_.launched += is_graph ? fake_.kernels_in_graph : 1;
    recorder_.launch_ends(site);
  }
  Recorder& recorder() { return recorder_; }
  ProcessRecord finish() {
    recorder_.finish();
    return parse_record(text_, "the record");
  }

 private:
  Fake& fake_;
  std::string text_;
  Recorder recorder_;
  std::uint32_t correlation_ = 0;
};

struct Pushed {
  explicit Pushed(const char* domain, const char* name) : domain_(domain) { push_range(domain, name); }
  ~Pushed() { pop_range(domain_); }
  const char* domain_;
};

TEST_CASE("no counter is touched while any stream is captured, and all go on after the last one") {
  Fake fake;
  Settings settings = counting();
  settings.groups["GH100"].push_back({"dram__bytes_write.sum"});
  settings.iteration = "^run";
  Run run(settings, fake);
  {
    const Pushed first("", "run 0");
    run.recorder().range_opened("", "run 0");
    run.launch("before");
  }
  run.recorder().capture_begins(7);
  CHECK(fake.calls == std::vector<std::string>{"open", "start", "stop"});
  run.launch("meanwhile");
  run.recorder().capture_begins(8);
  run.recorder().capture_ends(7);
  run.launch("still");
  {
    const Pushed second("", "run 1");  // a different group is due; its session waits
    run.recorder().range_opened("", "run 1");
    run.launch("in the second run");
  }
  run.launch("a graph", 1, true);
  CHECK(fake.calls.size() == 3);
  run.recorder().capture_ends(8);
  run.recorder().capture_ends(9);  // a stream that was never captured
  run.launch("after");
  CHECK(fake.calls == std::vector<std::string>{"open", "start", "stop", "close", "open", "start"});
  run.recorder().capture_begins(7);  // still active at the end
  const ProcessRecord record = run.finish();
  std::map<std::string, std::size_t> values;
  for (const auto& launch : record.launches) values[launch.kernel] = launch.values.size();
  CHECK(values ==
        std::map<std::string, std::size_t>{
            {"before", 1}, {"meanwhile", 0}, {"still", 0}, {"in the second run", 0}, {"a graph", 0}, {"after", 1}});
  CHECK(record.lost_launches == 4);
  CHECK(record.has_ended);
}

TEST_CASE("each launch has the values of its range, with the ranges open on its thread") {
  Fake fake;
  Run run(counting(), fake);
  const Pushed model("", "model"), node("pagoda", "conv1");
  run.launch("gemm");
  run.launch("relu");
  const ProcessRecord record = run.finish();
  REQUIRE(record.launches.size() == 2);
  CHECK(record.launches[0].kernel == "gemm");
  CHECK(record.launches[0].nvtx == "model/conv1");
  CHECK(record.launches[0].node == "conv1");
  CHECK(record.launches[0].values == std::vector<double>{1});
  CHECK(record.launches[1].values == std::vector<double>{2});
  CHECK(record.has_ended);
  CHECK(record.metrics == std::vector<std::vector<std::string>>{{"dram__bytes_read.sum"}});
  CHECK(fake.calls == std::vector<std::string>{"open", "start", "stop"});
}

TEST_CASE("a full batch is read and the next one begins") {
  Fake fake;
  Settings settings = counting();
  settings.batch = 3;
  Run run(settings, fake);
  for (int i = 0; i < 7; ++i) run.launch("k" + std::to_string(i));
  const ProcessRecord record = run.finish();
  CHECK(record.launches.size() == 7);
  CHECK(record.launches[3].values == std::vector<double>{1});
  CHECK(fake.calls == std::vector<std::string>{"open", "start", "stop", "start", "stop", "start", "stop"});
}

TEST_CASE("a batch whose ranges are not its launches keeps its launches and loses its values") {
  struct Case {
    const char* why;
    std::size_t room;
    int miscounts;
    const char* fails_at;
  };
  for (const Case& c : {Case{"0 dropped, for 2 launches", 1000, 1, ""}, Case{"1 dropped", 1, 0, ""},
                        Case{"the driver is gone", 1000, 0, "stop"}}) {
    CAPTURE(c.why);
    Fake fake{.room = c.room, .fails_at = c.fails_at, .miscounts = c.miscounts};
    Run run(counting(), fake);
    run.launch("a");
    run.launch("b");
    const ProcessRecord record = run.finish();
    REQUIRE(record.launches.size() == 2);
    for (const auto& launch : record.launches) CHECK(launch.values.empty());
    CHECK(record.lost_launches == 2);
    REQUIRE(record.lost.size() == 1);
    CHECK(record.lost[0].why.find(c.why) != std::string::npos);
  }
}

TEST_CASE("counters that cannot be had are one note with the reason, and the program's launches go on") {
  for (const char* where : {"session", "start"}) {
    CAPTURE(where);
    Fake fake{.fails_at = where};
    Run run(counting(), fake);
    for (int i = 0; i < 100; ++i) run.launch("k");
    const ProcessRecord record = run.finish();
    CHECK(record.launches.size() == 100);
    REQUIRE(record.notes.size() == 1);
    CHECK(record.notes[0].find(std::string(where) == "start" ? "HARDWARE_BUSY" : "run as root") != std::string::npos);
  }
  Fake fake;
  Settings other = counting();
  other.groups = {{"GB100", {{"x"}}}};
  Run run(other, fake);
  run.launch("k");
  CHECK(run.finish().notes[0].find("GH100") != std::string::npos);
}

TEST_CASE("a graph's kernels are summed under its launch, apart from the launches around it") {
  Fake fake{.kernels_in_graph = 3};
  Run run(counting(), fake);
  run.launch("before");
  run.launch("graph", 1, true);
  run.launch("after");
  const ProcessRecord record = run.finish();
  REQUIRE(record.launches.size() == 3);
  CHECK(record.launches[1].kernels == 3);
  CHECK(record.launches[1].values == std::vector<double>{1 + 2 + 3});
  CHECK(record.launches[2].values == std::vector<double>{1});
}

TEST_CASE("launches that are captured into a graph have no range, and count for no filter") {
  Fake fake;
  Settings settings = counting();
  settings.batch = 2;
  settings.count = 3;
  Run run(settings, fake);
  run.launch("a");
  for (std::uint32_t i = 0; i < 5; ++i) {
    LaunchSite site{1, 100 + i, "captured", "", false, true};
    run.recorder().launch_begins(site);
    run.recorder().launch_ends(site);
  }
  run.launch("b");
  run.launch("c");
  run.launch("d");
  const ProcessRecord record = run.finish();
  REQUIRE(record.launches.size() == 3);
  CHECK(record.lost_launches == 0);
  CHECK(record.launches[1].kernel == "b");
  CHECK(record.launches[1].values == std::vector<double>{2});
  REQUIRE(record.notes.size() == 1);
  CHECK(record.notes[0].find("5 launches were captured") == 0);
}

TEST_CASE("filters, skip and count let through what they name, and counters rest meanwhile") {
  Fake fake;
  Settings settings = counting();
  settings.kernel = "^gemm";
  settings.nvtx = "layer[12]";
  settings.skip = 1;
  settings.count = 2;
  Run run(settings, fake);
  run.launch("gemm outside");
  for (const char* layer : {"layer1", "layer2", "layer3"}) {
    const Pushed range("", layer);
    for (const char* kernel : {"gemm a", "relu", "gemm b"}) run.launch(kernel);
  }
  const ProcessRecord record = run.finish();
  REQUIRE(record.launches.size() == 2);
  CHECK(record.launches[0].kernel == "gemm b");
  CHECK(record.launches[0].nvtx == "layer1");
  CHECK(record.launches[1].nvtx == "layer2");
  // The two selected launches are adjacent in one batch; the next launch is not selected.
  CHECK(fake.calls == std::vector<std::string>{"open", "start", "stop"});
}

TEST_CASE("iterations take turns with groups, and their range is no part of a launch's path") {
  Fake fake;
  Settings settings = counting();
  settings.groups["GH100"] = {{"dram__bytes_read.sum"}, {"lts__t_bytes.sum", "l1tex__t_bytes.sum"}};
  settings.iteration = "^pagoda@run [0-9]+$";
  Run run(settings, fake);
  run.launch("prepare");
  for (int i = 0; i < 3; ++i) {
    const std::string name = "run " + std::to_string(i);
    push_range("pagoda", name);
    run.recorder().range_opened("pagoda", name);
    run.launch("gemm");
    run.recorder().range_closes("pagoda");
    pop_range("pagoda");
  }
  const ProcessRecord record = run.finish();
  REQUIRE(record.launches.size() == 4);
  CHECK(record.launches[0].iteration == -1);
  CHECK(record.launches[1].iteration == 0);
  CHECK(record.launches[1].nvtx == "");
  CHECK(record.launches[1].node == "");
  CHECK(record.launches[2].group == 1);
  CHECK(record.launches[2].values.size() == 2);
  CHECK(record.launches[3].group == 0);
}

TEST_CASE("user ranges count as one each, with the launches inside") {
  Fake fake;
  Settings settings = counting();
  settings.collect = Collect::Ranges;
  settings.nvtx = "^pagoda@";
  Run run(settings, fake);
  const auto open = [&](const char* domain, const char* name) {
    push_range(domain, name);
    run.recorder().range_opened(domain, name);
  };
  const auto close = [&](const char* domain) {
    run.recorder().range_closes(domain);
    pop_range(domain);
  };
  open("", "other");
  run.launch("outside");
  open("pagoda", "step");
  run.launch("a");
  open("", "inner");
  run.launch("b");
  close("");
  close("pagoda");
  close("");
  const ProcessRecord record = run.finish();
  REQUIRE(record.launches.size() == 1);
  CHECK(record.launches[0].kernel == "step");
  CHECK(record.launches[0].kernels == 2);
  CHECK(fake.calls == std::vector<std::string>{"open", "start", "push step", "pop", "stop"});
}

TEST_CASE("times come later, on any thread, and find their launch; those that never come are counted") {
  Fake fake;
  Settings settings;
  settings.collect = Collect::Times;
  Run run(settings, fake);
  {
    const Pushed node("pagoda", "conv1");
    run.launch("ignored name");
    run.launch("second");
  }
  std::thread([&] { run.recorder().kernel_timed(1, "gemm", 2e-6); }).join();
  run.recorder().kernel_timed(77, "unknown", 1);
  const ProcessRecord record = run.finish();
  REQUIRE(record.launches.size() == 1);
  CHECK(record.launches[0].kernel == "gemm");
  CHECK(record.launches[0].node == "conv1");
  CHECK(record.launches[0].values == std::vector<double>{2e-6});
  CHECK(record.lost_launches == 1);
  CHECK(fake.calls.empty());
}

TEST_CASE("times of a graph's kernels find its launch until those of thousands of later launches arrived") {
  constexpr std::uint32_t kLaunches = 5000;
  Fake fake;
  Settings settings;
  settings.collect = Collect::Times;
  Run run(settings, fake);
  for (std::uint32_t launch = 1; launch <= kLaunches; ++launch) run.launch("graph", 1, true);
  for (std::uint32_t launch = 1; launch <= kLaunches; ++launch)
    for (const char* kernel : {"first", "second"}) run.recorder().kernel_timed(launch, kernel, 1e-6);
  run.recorder().kernel_timed(kLaunches, "late", 1e-6);
  run.recorder().kernel_timed(1, "forgotten", 1e-6);
  const ProcessRecord record = run.finish();
  REQUIRE(record.launches.size() == 2 * kLaunches + 1);
  CHECK(record.launches.back().kernel == "late");
  CHECK(record.lost_launches == 0);
}

TEST_CASE("times are written with a decimal point in every locale") {
  const test::CommaLocale locale;
  Fake fake;
  Settings settings;
  settings.collect = Collect::Times;
  Run run(settings, fake);
  run.launch("kernel");
  run.recorder().kernel_timed(1, "gemm", 2.5e-6);
  run.recorder().energy(1.5, 0.25);
  const ProcessRecord record = run.finish();
  REQUIRE(record.launches.size() == 1);
  CHECK(record.launches[0].values == std::vector<double>{2.5e-6});
}

TEST_CASE("contexts have sessions of their own, and the end of one reads it") {
  Fake fake;
  Run run(counting(), fake);
  run.launch("a", 1);
  fake.launched = 0;
  run.recorder().context_ends(1);  // nothing was counted: its value is unknown
  run.launch("b", 2);
  const ProcessRecord record = run.finish();
  REQUIRE(record.launches.size() == 2);
  CHECK(record.launches[0].values.empty());
  CHECK(record.launches[1].context == "2");
  CHECK(record.launches[1].values.size() == 1);
  CHECK(std::count(fake.calls.begin(), fake.calls.end(), "open") == 2);
}

TEST_CASE("threads have stacks of their own; a started range ends on any thread") {
  std::atomic<std::uint64_t> id = 0;
  const std::uint64_t mine = start_range("", "process wide");
  const Pushed here("", "here");
  std::thread([&] {
    CHECK(open_ranges().path == "");
    const Pushed there("", "there");
    CHECK(open_ranges().path == "there");
    end_range(mine);
    id = mine;
  }).join();
  CHECK(id != 0);
  CHECK(open_ranges().path == "here");
  CHECK(pop_range("no such domain") == -1);
  end_range(0);
  CHECK(push_range("d", "x") == 0);
  CHECK(push_range("d", "y") == 1);
  CHECK(pop_range("d") == 1);
  CHECK(pop_range("d") == 0);
}

TEST_CASE("a hundred thousand launches from four threads are all there") {
  Fake fake;
  fake.room = 100000;
  Settings settings;
  settings.collect = Collect::Times;
  Run run(settings, fake);
  std::atomic<std::uint32_t> next = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const Pushed range("", "thread");
      for (int i = 0; i < 25000; ++i) {
        const std::uint32_t correlation = next++;
        run.recorder().launch_begins({1, correlation, "k", "", false});
        run.recorder().kernel_timed(correlation, "kernel", 1e-6);
      }
    });
  for (std::thread& thread : threads) thread.join();
  const ProcessRecord record = run.finish();
  CHECK(record.launches.size() == 100000);
  CHECK(record.lost_launches == 0);
}

// ---------------------------------------------------------------------------------------------------------------------

class TestFolder {
 public:
  TestFolder() : path_(PAGODA_TEST_BINARY_DIR "/recorder." + std::to_string(getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::vector<ProcessRecord> records() const {
    std::vector<ProcessRecord> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(parse_record(test::read_file(entry.path().string()), entry.path().string()));
    return all;
  }

 private:
  std::string path_;
};

TEST_CASE("a process that is killed leaves every batch that was read, whole") {
  const TestFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    Fake fake;
    Settings settings = counting();
    settings.batch = 10;
    Recorder recorder(settings, fake.device(), std::make_unique<RecordFile>(folder.path()));
    for (std::uint32_t i = 0; i < 25; ++i) {
      const LaunchSite site{1, i, "kernel", "", false};
      recorder.launch_begins(site);
      ++fake.launched;
      recorder.launch_ends(site);
    }
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  const std::vector<ProcessRecord> records = folder.records();
  REQUIRE(records.size() == 1);
  CHECK(records[0].launches.size() == 20);
  CHECK_FALSE(records[0].has_ended);
}

TEST_CASE("a forked child neither writes into its parent's file nor repeats what is pending there") {
  const TestFolder folder;
  const pid_t outer = fork();
  if (outer == 0) {
    Fake fake;
    Recorder recorder(counting(), fake.device(), std::make_unique<RecordFile>(folder.path()));
    const auto launch = [&](const char* kernel) {
      const LaunchSite site{1, 1, kernel, "", false};
      recorder.launch_begins(site);
      ++fake.launched;
      recorder.launch_ends(site);
    };
    launch("of the parent");
    recorder.before_fork();
    const pid_t inner = fork();
    if (inner == 0) {
      recorder.after_fork_in_child();
      fake.launched = 0;
      launch("of the child");
      recorder.finish();
      _exit(0);
    }
    recorder.after_fork_in_parent();
    int status = 0;
    waitpid(inner, &status, 0);
    recorder.finish();
    _exit(WEXITSTATUS(status));
  }
  int status = 0;
  REQUIRE(waitpid(outer, &status, 0) == outer);
  CHECK(status == 0);
  const std::vector<ProcessRecord> records = folder.records();
  REQUIRE(records.size() == 2);
  for (const ProcessRecord& record : records) {
    CHECK(record.launches.size() == 1);
    CHECK(record.has_ended);
  }
  CHECK(records[0].launches[0].kernel != records[1].launches[0].kernel);
}

TEST_CASE("settings read back as they were written, whatever is in them") {
  Settings settings = counting();
  settings.folder = "/tmp/with\ttab and \\ and\nline";
  settings.collect = Collect::Ranges;
  settings.nvtx = "a|b\\.";
  settings.count = 7;
  settings.keep_raw = settings.replay = settings.list_ranges = true;
  const Settings read = parse_settings(write_settings(settings));
  CHECK(read.folder == settings.folder);
  CHECK(read.collect == Collect::Ranges);
  CHECK(read.nvtx == settings.nvtx);
  CHECK(read.count == 7);
  CHECK(read.keep_raw);
  CHECK(read.replay);
  CHECK(read.list_ranges);
  CHECK(read.groups == settings.groups);
  CHECK(parse_settings("").batch == Settings{}.batch);
}

}  // namespace
}  // namespace pagoda::tools::profile
