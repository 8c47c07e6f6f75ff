// Collects launches into batches and writes batches as lines. If the counted ranges of a batch do not match its
// launches, its values are dropped but its rows are kept.
#include "recorder.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

#include "pagoda/base/cat.h"

namespace pagoda::tools::profile {
namespace {

// Not by printf(): the program may have set a locale whose decimal point is a comma.
std::string text_of(double value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 17).ptr};
}

// The words of a line, numbers as decimals.
template <typename... Words>
std::vector<std::string> words_of(const Words&... words) {
  return {cat(words)...};
}

constexpr const char* kDuringCapture =
    "while a stream is captured into a graph, reading counters would break the capture; only the graph's launch is "
    "counted";

// Sums each counter over a graph's kernels. Their names are unknown: the order within a graph is undocumented.
std::vector<double> summed(const std::vector<std::vector<double>>& ranges, std::size_t metrics) {
  std::vector<double> sum(metrics);
  for (const std::vector<double>& range : ranges)
    for (std::size_t i = 0; i < metrics && i < range.size(); ++i) sum[i] += range[i];
  return sum;
}

}  // namespace

Recorder::Expression::Expression(const std::string& text) {
  is_set_ = !text.empty() && regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
}
Recorder::Expression::~Expression() {
  if (is_set_) regfree(&compiled_);
}
bool Recorder::Expression::matches(const std::string& text) const {
  return is_set_ && regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
}

Recorder::Recorder(Settings settings, Device device, std::unique_ptr<RecordSink> sink)
    : settings_(std::move(settings)),
      device_(std::move(device)),
      sink_(std::move(sink)),
      nvtx_(settings_.nvtx),
      kernel_(settings_.kernel),
      iteration_(settings_.iteration),
      iteration_index_(iteration_.is_set() ? -1 : 0) {}

Recorder::~Recorder() = default;

// Leaves out the range of the iteration: launches have the same ranges in every iteration.
OpenRanges Recorder::here() const {
  if (!iteration_.is_set()) return open_ranges();
  return open_ranges([&](const std::string& name) { return iteration_.matches(name); });
}

bool Recorder::is_wanted(const LaunchSite& site, const OpenRanges& ranges) {
  if (nvtx_.is_set() && settings_.collect != Collect::Ranges && !nvtx_.matches(ranges.path)) return false;
  if (kernel_.is_set() && !kernel_.matches(site.kernel)) return false;
  const std::uint64_t index = wanted_++;
  return index >= settings_.skip && (!settings_.count || index < settings_.skip + *settings_.count);
}

void Recorder::fail(State& state, Context context, const std::string& why) {
  if (!state.has_failed) sink_->line({"note", cat("context ", context, ": no counters: ", why)});
  state.has_failed = true;
  state.is_running = false;
}

template <typename Action>
void Recorder::attempt(State& state, Context context, const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    fail(state, context, error.what());
  }
}

// Starts the counters of a context unless they run; true if they run. Do not call while a stream is being captured.
bool Recorder::ready(State& state, Context context) {
  if (state.is_of_other_group) state.session.reset();
  state.is_of_other_group = false;
  if (!state.has_facts) {
    state.has_facts = true;
    if (settings_.collect == Collect::Times) sink_->line(words_of("group", context, 0, "seconds"));
    attempt(state, context, [&] {
      const ContextFacts facts = device_.facts(context);
      state.chip = facts.chip;
      sink_->line(words_of("device", context, facts.chip, facts.device));
      if (!facts.cupti.empty()) sink_->line({"cupti", facts.cupti});
      for (const std::string& text : facts.notes) sink_->line({"note", text});
    });
  }
  if (settings_.collect == Collect::Times || state.has_failed) return false;
  if (state.is_running) return true;
  attempt(state, context, [&] {
    if (!state.session) {
      const auto found = settings_.groups.find(state.chip);
      if (found == settings_.groups.end() || found->second.empty())
        return fail(state, context, "no metrics were chosen for the chip \"" + state.chip + "\"");
      const std::int64_t turn = std::max<std::int64_t>(0, iteration_index_);
      state.group = static_cast<std::size_t>(turn) % found->second.size();
      state.session = device_.session(context, found->second[state.group]);
      std::vector<std::string> words = words_of("group", context, state.group);
      words.insert(words.end(), state.session->metrics().begin(), state.session->metrics().end());
      sink_->line(words);
    }
    state.session->start();
    state.is_running = true;
  });
  return state.is_running;
}

void Recorder::write(Context context, const State& state, const Pending& pending, const std::vector<double>& values) {
  std::vector<std::string> words =
      words_of("launch", context, state.group, pending.iteration, pending.launches, pending.site.kernel,
               pending.ranges.path, pending.ranges.node, pending.site.detail);
  for (const double value : values) words.push_back(text_of(value));
  sink_->line(words);
  written_ += static_cast<std::uint64_t>(pending.launches);
}

// Stops the counters and writes each pending launch, with values if these can be attributed without doubt.
void Recorder::read(State& state, Context context) {
  CounterSession::Counted counted;
  std::string why;
  if (state.is_running) {
    state.is_running = false;
    try {
      counted = state.session->stop();
    } catch (const std::exception& error) {
      why = error.what();
    }
  }
  for (const auto& [metric, value] : counted.constants) sink_->line(words_of("peak", context, metric, text_of(value)));
  std::vector<Pending> pending = std::move(state.pending);
  state.pending.clear();
  if (pending.empty()) return;
  const bool is_graph = pending.size() == 1 && pending.front().site.is_graph;
  const bool is_sure = why.empty() && counted.dropped == 0 &&
                       (is_graph ? !counted.ranges.empty() : counted.ranges.size() == pending.size());
  if (!is_sure && why.empty() && !state.has_failed)
    why = cat(counted.ranges.size(), " ranges were counted and ", counted.dropped, " dropped, for ", pending.size(),
              " launches");
  if (!is_sure && !why.empty()) sink_->line(words_of("lost", pending.size(), why));
  if (is_sure && is_graph) {
    pending.front().launches = static_cast<std::int64_t>(counted.ranges.size());
    counted.ranges = {summed(counted.ranges, state.session->metrics().size())};
  }
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (pending[i].uncounted != nullptr) sink_->line({"lost", "1", pending[i].uncounted});
    const bool is_own = is_sure && pending[i].uncounted == nullptr;
    write(context, state, pending[i], is_own ? counted.ranges[i] : std::vector<double>{});
  }
  sink_->flush();
}

void Recorder::leave_uncounted(Context context, const Pending& pending, const char* why) {
  sink_->line({"lost", "1", why});
  write(context, contexts_[context], pending, {});
}

void Recorder::launch_begins(const LaunchSite& site) {
  const OpenRanges ranges = here();
  const std::lock_guard lock(mutex_);
  if (site.is_captured) {
    ++captured_;
    return;
  }
  State& state = contexts_[site.context];
  if (settings_.collect == Collect::Ranges) {
    if (state.open_user_range > 0 && !state.pending.empty()) ++state.pending.back().launches;
    return;
  }
  if (!is_wanted(site, ranges)) {
    if (state.is_running) read(state, site.context);
    return;
  }
  Pending pending{site, ranges, iteration_index_, 1, nullptr};
  if (!captures_.empty() && settings_.collect != Collect::Times) {
    leave_uncounted(site.context, pending, kDuringCapture);
    return;
  }
  if (site.is_graph && !state.pending.empty()) read(state, site.context);
  ready(state, site.context);
  if (settings_.collect != Collect::Times) {
    state.pending.push_back(std::move(pending));
    return;
  }
  untimed_[site.correlation] = std::move(pending);
  if (site.outer_correlation != 0 && site.outer_correlation != site.correlation)
    inner_[site.outer_correlation] = site.correlation;
}

void Recorder::launch_ends(const LaunchSite& site) {
  // Reading counters waits for the device, which would invalidate a capture.
  if (settings_.collect != Collect::Launches || site.is_captured) return;
  const std::lock_guard lock(mutex_);
  State& state = contexts_[site.context];
  if (state.pending.size() >= settings_.batch || (site.is_graph && !state.pending.empty())) read(state, site.context);
}

void Recorder::kernel_timed(std::uint32_t correlation, const std::string& kernel, double seconds) {
  const std::lock_guard lock(mutex_);
  auto found = untimed_.find(correlation);
  // A kernel has the correlation of the outermost call that CUPTI traces.
  const auto inner = found == untimed_.end() ? inner_.find(correlation) : inner_.end();
  if (inner != inner_.end()) found = untimed_.find(inner->second);
  if (found == untimed_.end()) return;  // not wanted
  Pending timed = found->second;
  timed.site.kernel = kernel;
  // The last kernel of a graph launch is not marked: its times count until those of many later launches began.
  constexpr std::size_t kMostGraphs = 4096;
  if (!timed.site.is_graph) {
    forget(found->first);
  } else if (!std::exchange(found->second.is_timed, true)) {
    timed_graphs_.push_back(found->first);
    if (timed_graphs_.size() > kMostGraphs) {
      forget(timed_graphs_.front());
      timed_graphs_.pop_front();
    }
  }
  const State& state = contexts_[timed.site.context];
  write(timed.site.context, state, timed, {seconds});
}

void Recorder::forget(std::uint32_t correlation) {
  const auto found = untimed_.find(correlation);
  if (found == untimed_.end()) return;
  inner_.erase(found->second.site.outer_correlation);
  untimed_.erase(found);
}

void Recorder::iteration_begins() {
  for (auto& [context, state] : contexts_) {
    read(state, context);
    const auto found = settings_.groups.find(state.chip);
    if (found != settings_.groups.end() && found->second.size() > 1) state.is_of_other_group = true;
  }
  ++iteration_index_;
}

void Recorder::range_opened(std::string_view domain, std::string_view name) {
  if (!iteration_.is_set() && settings_.collect != Collect::Ranges && !settings_.list_ranges) return;
  const std::string full = qualified(domain, name);
  const std::lock_guard lock(mutex_);
  if (settings_.list_ranges) {
    sink_->line({"range", full, open_ranges().path});
    ++ranges_;
  }
  if (iteration_.is_set() && iteration_.matches(full)) iteration_begins();
  if (settings_.collect != Collect::Ranges) return;
  const Context context = device_.current ? device_.current() : 0;
  if (context == 0) return;
  State& state = contexts_[context];
  if (state.open_user_range > 0) {
    ++state.open_user_range;
    return;
  }
  LaunchSite site;
  site.context = context;
  site.kernel = name;
  if ((nvtx_.is_set() && !nvtx_.matches(full)) || !is_wanted(site, {})) return;
  if (!captures_.empty()) {
    leave_uncounted(context, {site, here(), iteration_index_, 0, nullptr}, kDuringCapture);
    return;
  }
  if (!ready(state, context)) return;
  attempt(state, context, [&] {
    state.session->push(site.kernel);
    state.open_user_range = 1;
    state.pending.push_back({site, here(), iteration_index_, 0, nullptr});
  });
}

void Recorder::range_closes(std::string_view) {
  if (settings_.collect != Collect::Ranges) return;
  const std::lock_guard lock(mutex_);
  const Context context = device_.current ? device_.current() : 0;
  const auto found = contexts_.find(context);
  if (found == contexts_.end() || found->second.open_user_range == 0) return;
  State& state = found->second;
  if (--state.open_user_range > 0) return;
  attempt(state, context, [&] { state.session->pop(); });
  if (state.pending.size() >= settings_.batch) read(state, context);
}

void Recorder::capture_begins(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  for (auto& [context, state] : contexts_) {
    if (!captures_.empty()) break;
    if (state.open_user_range > 0) {  // counts of a range cut short would be too low
      state.open_user_range = 0;
      state.pending.back().uncounted = "a stream was captured into a graph within the range, which ends its counting";
      attempt(state, context, [session = state.session.get()] { session->pop(); });
    }
    read(state, context);
  }
  captures_.insert(stream);
}

void Recorder::capture_ends(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  captures_.erase(stream);
}

void Recorder::context_ends(Context context) {
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return;
  read(found->second, context);
  contexts_.erase(found);
}

void Recorder::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  sink_->line({"note", text});
}

void Recorder::lost(std::size_t launches, const std::string& why) {
  const std::lock_guard lock(mutex_);
  sink_->line(words_of("lost", launches, why));
}

void Recorder::energy(double joules, double seconds) {
  const std::lock_guard lock(mutex_);
  sink_->line({"energy", text_of(joules), text_of(seconds)});
}

void Recorder::finish() {
  const std::lock_guard lock(mutex_);
  for (auto& [context, state] : contexts_) read(state, context);
  std::size_t untimed = 0;
  for (const auto& [correlation, pending] : untimed_) untimed += pending.site.is_graph ? 0 : 1;
  if (untimed > 0) sink_->line(words_of("lost", untimed, "no time of them arrived before the process ended"));
  untimed_.clear();
  timed_graphs_.clear();
  inner_.clear();
  if (captured_ > 0)
    sink_->line({"note", cat(captured_,
                             " launches were captured into graphs, which runs nothing; each launch of such "
                             "a graph is one row")});
  captured_ = 0;
  // A process that launched nothing writes no end line.
  if (!contexts_.empty() || ranges_ > 0) sink_->line(words_of("end", written_));
  sink_->flush();
}

void Recorder::after_fork_in_child() {
  sink_->forget();
  // Leak the sessions: their destructors would call a driver that belongs to the parent.
  for (auto& [context, state] : contexts_) static_cast<void>(state.session.release());
  contexts_.clear();
  untimed_.clear();
  timed_graphs_.clear();
  captures_.clear();
  inner_.clear();
  wanted_ = written_ = ranges_ = captured_ = 0;
  mutex_.unlock();
}

}  // namespace pagoda::tools::profile
