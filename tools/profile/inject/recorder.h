// What happens between a launch and its line in the record: which launches are wanted, when counters run, and that the
// ranges that were counted are the launches that were seen.
//
// All that touches the device is behind CounterSession, so everything here runs without one.
#pragma once

#include <regex.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ranges.h"
#include "record_file.h"
#include "settings.h"

namespace pagoda::tools::profile {

using Context = std::uint64_t;

// Counters of one context and one group of metrics. Each call may throw std::exception.
class CounterSession {
 public:
  struct Counted {
    std::vector<std::vector<double>> ranges;  // in order of launch, each in the order of metrics()
    std::size_t dropped = 0;                  // ranges for which there was no room
    // The chip's peaks by metric, sent once per session.
    std::vector<std::pair<std::string, double>> constants = {};
  };
  virtual ~CounterSession() = default;
  virtual const std::vector<std::string>& metrics() const = 0;  // those that the device has
  virtual void start() = 0;
  virtual Counted stop() = 0;
  // Where the program's ranges are counted instead of launches.
  virtual void push(const std::string& name) = 0;
  virtual void pop() = 0;
};

struct ContextFacts {
  std::string chip, device;
  std::string cupti;  // version and place; empty where another library counts
  std::vector<std::string> notes;
};

// What the recorder asks of the device.
struct Device {
  std::function<ContextFacts(Context)> facts;
  std::function<std::unique_ptr<CounterSession>(Context, const std::vector<std::string>& metrics)> session;
  std::function<Context()> current;  // 0: no context on this thread
};

struct LaunchSite {
  Context context = 0;
  std::uint32_t correlation = 0;
  std::string kernel;  // demangled; empty: a graph
  std::string detail;  // "grid 8x1x1, block 256x1x1"
  bool is_graph = false;
  bool is_captured = false;             // into a graph; nothing runs
  std::uint32_t outer_correlation = 0;  // of the runtime's call around the driver's; 0: none
};

class Recorder {
 public:
  Recorder(Settings settings, Device device, std::unique_ptr<RecordSink> sink);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // On the launching thread, before and after the launch.
  void launch_begins(const LaunchSite& site);
  void launch_ends(const LaunchSite& site);
  // A kernel's time, at any later time, on any thread.
  void kernel_timed(std::uint32_t correlation, const std::string& kernel, double seconds);

  // On the thread that does it, after ranges.h knows.
  void range_opened(std::string_view domain, std::string_view name);
  void range_closes(std::string_view domain);

  // Around each capture of a stream into a graph, of any thread. While one is open, CUDA refuses whatever could wait
  // for the device, in most modes to every thread, and refusing ends the capture in error: so counters are read and
  // stopped before it, and start again after the last one.
  void capture_begins(std::uint64_t stream);
  void capture_ends(std::uint64_t stream);

  void context_ends(Context context);
  void note(const std::string& text);
  void lost(std::size_t launches, const std::string& why);
  void energy(double joules, double seconds);
  // All that is pending is read and written; later launches are too, with another end.
  void finish();

  // Around fork: the child forgets everything that is its parent's.
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child();

 private:
  struct Pending {
    LaunchSite site;
    OpenRanges ranges;
    std::int64_t iteration = 0, launches = 1;
    const char* uncounted = nullptr;  // why its values are not its own
  };
  struct State {
    std::unique_ptr<CounterSession> session;
    std::string chip;
    std::size_t group = 0;
    bool has_facts = false, is_running = false, has_failed = false;
    bool is_of_other_group = false;  // the session is; it closes when no capture can be harmed
    std::vector<Pending> pending;
    int open_user_range = 0;  // depth of ranges below the one that is counted; 0: none
  };
  class Expression {
   public:
    explicit Expression(const std::string& text);
    ~Expression();
    Expression(const Expression&) = delete;
    Expression& operator=(const Expression&) = delete;
    bool is_set() const { return is_set_; }
    bool matches(const std::string& text) const;

   private:
    regex_t compiled_ = {};
    bool is_set_ = false;
  };

  OpenRanges here() const;
  bool is_wanted(const LaunchSite& site, const OpenRanges& ranges);
  bool ready(State& state, Context context);
  void read(State& state, Context context);
  void leave_uncounted(Context context, const Pending& pending, const char* why);
  void write(Context context, const State& state, const Pending& pending, const std::vector<double>& values);
  void iteration_begins();
  void fail(State& state, Context context, const std::string& why);

  const Settings settings_;
  const Device device_;
  const std::unique_ptr<RecordSink> sink_;
  const Expression nvtx_, kernel_, iteration_;
  std::mutex mutex_;
  std::map<Context, State> contexts_;
  std::map<std::uint32_t, Pending> untimed_;
  std::set<std::uint64_t> captures_;              // streams
  std::map<std::uint32_t, std::uint32_t> inner_;  // the driver's correlation of a launch, by the runtime's
  std::uint64_t wanted_ = 0, written_ = 0, ranges_ = 0, captured_ = 0;
  std::int64_t iteration_index_ = 0;
};

}  // namespace pagoda::tools::profile
