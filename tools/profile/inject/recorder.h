// Turns launches into lines of the record: selects the wanted launches, starts and stops counters, and checks that the
// counted ranges match the launches that were seen.
//
// All access to the device is behind CounterSession and Device, so this code runs without a GPU.
#pragma once

#include <regex.h>

#include <cstdint>
#include <deque>
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
    std::vector<std::vector<double>> ranges;  // in launch order, each in the order of metrics()
    std::size_t dropped = 0;                  // ranges that did not fit into the image
    // The chip's peaks by metric, returned once per session.
    std::vector<std::pair<std::string, double>> constants = {};
  };
  virtual ~CounterSession() = default;
  virtual const std::vector<std::string>& metrics() const = 0;  // the requested ones that the device has
  virtual void start() = 0;
  virtual Counted stop() = 0;
  // Used when the program's ranges are counted instead of launches.
  virtual void push(const std::string& name) = 0;
  virtual void pop() = 0;
};

struct ContextFacts {
  std::string chip, device;
  std::string cupti;  // version and path; empty if another library counts
  std::vector<std::string> notes;
};

// The device access that the recorder needs.
struct Device {
  std::function<ContextFacts(Context)> facts;
  std::function<std::unique_ptr<CounterSession>(Context, const std::vector<std::string>& metrics)> session;
  std::function<Context()> current;  // 0: no context on this thread
};

struct LaunchSite {
  Context context = 0;
  std::uint32_t correlation = 0;
  std::string kernel;  // demangled; "graph" for a graph
  std::string detail;  // "grid 8x1x1, block 256x1x1"
  bool is_graph = false;
  bool is_captured = false;             // captured into a graph; nothing runs
  std::uint32_t outer_correlation = 0;  // of the runtime call around the driver call; 0: none
};

class Recorder {
 public:
  Recorder(Settings settings, Device device, std::unique_ptr<RecordSink> sink);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Call on the launching thread, before and after the launch.
  void launch_begins(const LaunchSite& site);
  void launch_ends(const LaunchSite& site);
  // Reports a kernel's time; may be called at any later time, on any thread.
  void kernel_timed(std::uint32_t correlation, const std::string& kernel, double seconds);

  // Call on the thread that opens or closes the range, after the function of ranges.h.
  void range_opened(std::string_view domain, std::string_view name);
  void range_closes(std::string_view domain);

  // Call around each capture of a stream into a graph, on any thread. While a capture is open, CUDA refuses every call
  // that could wait for the device (in most modes on all threads) and such a call invalidates the capture. Counters are
  // therefore read and stopped before a capture, and start again after the last one.
  void capture_begins(std::uint64_t stream);
  void capture_ends(std::uint64_t stream);

  void context_ends(Context context);
  void note(const std::string& text);
  void lost(std::size_t launches, const std::string& why);
  void energy(double joules, double seconds);
  // Reads and writes everything pending. Later launches are still recorded; a second call writes another "end" line.
  void finish();

  // Call around fork: the child discards all state of its parent.
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child();

 private:
  struct Pending {
    LaunchSite site;
    OpenRanges ranges;
    std::int64_t iteration = 0, launches = 1;
    const char* uncounted = nullptr;  // why its values are not valid
    bool is_timed = false;            // a graph launch: the time of one of its kernels arrived
  };
  struct State {
    std::unique_ptr<CounterSession> session;
    std::string chip;
    std::size_t group = 0;
    bool has_facts = false, is_running = false, has_failed = false;
    bool is_of_other_group = false;  // of the session; it closes once no capture is open
    std::vector<Pending> pending;
    int open_user_range = 0;  // nesting depth, with the counted range as 1; 0: none is open
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
  void forget(std::uint32_t correlation);  // of a launch in untimed_
  void fail(State& state, Context context, const std::string& why);
  // Runs `action`; if it throws, the context has no counters from then on.
  template <typename Action>
  void attempt(State& state, Context context, const Action& action);

  const Settings settings_;
  const Device device_;
  const std::unique_ptr<RecordSink> sink_;
  const Expression nvtx_, kernel_, iteration_;
  std::mutex mutex_;
  std::map<Context, State> contexts_;
  std::map<std::uint32_t, Pending> untimed_;
  std::deque<std::uint32_t> timed_graphs_;        // of untimed_, in the order of their first times
  std::set<std::uint64_t> captures_;              // streams
  std::map<std::uint32_t, std::uint32_t> inner_;  // the driver's correlation of a launch, by the runtime's
  std::uint64_t wanted_ = 0, written_ = 0, ranges_ = 0, captured_ = 0;
  std::int64_t iteration_index_ = 0;
};

}  // namespace pagoda::tools::profile
