// torch.profiler's Chrome trace (kineto). If it contains GPU kernels, a row is a kernel, linked by its correlation id
// to the call that launched it, and so to the operator and the record_function ranges around that call. Otherwise, a
// row is a CPU operator that no other operator called, including the time of inner ones. Times are in microseconds.
// An event that encloses operators but is none, such as "forward" of a TorchScript module, is a range.
//
// Runs are delimited by the "ProfilerStep#n" ranges that profiler.step() writes, else by a range of the user that
// repeats. The k-th execution of a name in the same ranges of each run is one row.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/engine_names.h"
#include "import/formats.h"
#include "import/runs.h"
#include "import/timeline.h"
#include "import/trace_events.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/json.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"

namespace pagoda::measured::import {
namespace {

using base::JsonField;

constexpr std::string_view kStep = "ProfilerStep#", kModule = "nn.Module: ", kRegion = "Torch-Compiled Region",
                           kOldProcess = " functions";  // "CPU functions": of the profiler before Kineto

enum class Kind : std::uint8_t { Range, Op, Launch, Kernel, Trace };

struct Event {
  double start = 0;
  std::optional<double> duration = std::nullopt;
  std::int64_t correlation = -1;
  std::uint32_t name = 0, detail = 0, lane = 0;  // indices in Trace::texts; lane: the thread, or the stream
  std::uint32_t device = 0;                      // of a kernel; index in Trace::texts
  Kind kind = Kind::Op;
  bool has_start = true, is_unread = false;  // is_unread: its time is not a number, which is noted apart

  double end() const { return start + duration.value_or(0); }
};

// The ranges and the operator around an operator or a launch on its thread.
struct Context {
  std::uint32_t path = 0, op = 0;
};

struct Trace {
  std::vector<std::string> texts;
  std::unordered_map<std::string, std::uint32_t> index;
  std::vector<Event> host, kernels, steps;
  std::vector<Event> ranges;      // of the user, outside all others; set by walk()
  std::vector<Event> regions;     // of torch.compile around calls; set by find_wrappers()
  std::optional<double> longest;  // microseconds that the profiler ran; empty: not known
  std::size_t without_time = 0;
  std::size_t unread = 0;  // times that are not numbers
  std::string unread_example = {};
  bool is_without_kineto = false;
  bool has_lost_digits = false;  // of the kernels' stamps
  ImpossibleTimes impossible = {};

  std::uint32_t intern(std::string text) {
    const auto [found, is_new] = index.try_emplace(std::move(text), static_cast<std::uint32_t>(texts.size()));
    if (is_new) texts.push_back(found->first);
    return found->second;
  }
};

// Categories in lower case, as PyTorch 1.8 to 1.11 and later ones spell them.
// clang-format off
constexpr std::pair<std::string_view, Kind> kCategories[] = {
    {"cpu_op",          Kind::Op},
    {"cuda_driver",     Kind::Launch},
    {"cuda_runtime",    Kind::Launch},
    {"gpu_memcpy",      Kind::Kernel},
    {"gpu_memset",      Kind::Kernel},
    {"hip_runtime",     Kind::Launch},
    {"kernel",          Kind::Kernel},
    {"memcpy",          Kind::Kernel},
    {"memset",          Kind::Kernel},
    {"operator",        Kind::Op},
    {"runtime",         Kind::Launch},
    {"trace",           Kind::Trace},
    {"user_annotation", Kind::Range},
    {"xpu_runtime",     Kind::Launch},
};
// clang-format on

std::optional<Kind> kind_of(const std::string& category, const std::string& name) {
  if (category == "python_function") return name.starts_with(kModule) ? std::optional(Kind::Range) : std::nullopt;
  for (const auto& [spelled, kind] : kCategories)
    if (category == spelled) return kind;
  return std::nullopt;
}

std::string printed(const JsonField& object, const char* key) {
  const auto found = object.find(key);
  return found ? found->value().dump() : "";
}

std::string detail_of(const JsonField& arguments, Kind kind) {
  if (kind == Kind::Op) return printed(arguments, "Input Dims");
  if (kind != Kind::Kernel || !arguments.find("grid")) return "";
  return cat("grid ", printed(arguments, "grid"), ", block ", printed(arguments, "block"));
}

TraceEvents::SetDuration add_event(const JsonField& json, Trace& trace) {
  const auto name = json.find("name");
  if (!name || !name->value().is_text()) return {};
  const std::string label = name->text();
  const std::optional<Kind> kind = kind_of(base::lower(event_text(json, "cat")), label);
  if (!kind) {
    trace.is_without_kineto = trace.is_without_kineto || event_text(json, "pid").ends_with(kOldProcess);
    return {};
  }
  for (const char* key : {"ts", "dur"})
    if (json.has(key) && !event_number(json, key) && trace.unread++ == 0)
      trace.unread_example = cat("\"", key, "\": ", json.find(key) ? printed(json, key) : "null", " of \"", label, "\"");
  const std::optional<double> start = event_number(json, "ts");
  if (*kind == Kind::Trace) {
    if (const auto duration = event_number(json, "dur"); duration.value_or(0) > 0)
      trace.longest = std::max(trace.longest.value_or(0), *duration);
    return {};
  }
  if (!start && *kind != Kind::Kernel) {
    ++trace.without_time;
    return {};
  }
  // kineto writes threads and streams as numbers or strings.
  const std::uint32_t lane = trace.intern(cat(event_text(json, "pid"), ":", event_text(json, "tid")));
  Event event{start.value_or(0), event_number(json, "dur"), -1, trace.intern(label), 0, lane, 0, *kind};
  event.has_start = start.has_value();
  event.is_unread = json.has("dur") && !event.duration;
  if (const auto arguments = json.find("args"); arguments && arguments->value().is_object()) {
    event.correlation = event_integer(*arguments, "correlation").value_or(-1);
    event.detail = trace.intern(detail_of(*arguments, *kind));
    if (*kind == Kind::Kernel && arguments->find("stream"))
      event.lane = trace.intern("stream " + event_text(*arguments, "stream"));
    if (*kind == Kind::Kernel)
      event.device = trace.intern(
          event_text(arguments->has("device") ? *arguments : json, arguments->has("device") ? "device" : "pid"));
  }
  const bool is_step = label.starts_with(kStep);  // an operator before PyTorch 1.12
  std::vector<Event>& events = is_step ? trace.steps : *kind == Kind::Kernel ? trace.kernels : trace.host;
  events.push_back(event);
  return [&events, at = events.size() - 1](double duration) { events[at].duration = duration; };
}

// Clears impossible times. Leaves out calls of the host without a time, since what they enclose is not known.
void check_events(Trace& trace, std::vector<std::string>& notes) {
  for (std::vector<Event>* events : {&trace.host, &trace.steps})
    trace.without_time += std::erase_if(*events, [](const Event& each) { return each.duration.value_or(-1) < 0; });
  // Kernels end before the call that waits for the device at the end of the trace.
  double first = std::numeric_limits<double>::infinity(), last = -first, call = -first;
  bool has_waited = false;
  for (const Event& event : trace.host) {
    first = std::min(first, event.start), last = std::max(last, event.end());
    if (event.kind != Kind::Launch || event.start < call) continue;
    call = event.start;
    has_waited = trace.texts[event.name].find("DeviceSynchronize") != std::string::npos;
  }
  if (!trace.longest && has_waited) trace.longest = last - first;
  TimelineRules rules{.longest = trace.longest ? std::optional(*trace.longest * kMicrosecond) : std::nullopt};
  const auto check = [&](std::vector<Event>& events, bool are_alone) {
    const bool is_whole = std::ranges::all_of(events, [](const Event& event) {
      return event.start == std::floor(event.start) && event.duration == std::floor(event.duration.value_or(0));
    });
    rules.resolution = is_whole ? kMicrosecond : 0;
    rules.are_kernels = are_alone;
    std::vector<Stretch> stretches;
    std::vector<Event*> checked;
    for (Event& event : events) {
      if ((event.kind != Kind::Op && event.kind != Kind::Kernel) || !event.has_start || event.is_unread) continue;
      checked.push_back(&event);
      stretches.push_back({event.start * kMicrosecond,
                           event.duration ? std::optional(*event.duration * kMicrosecond) : std::nullopt,
                           std::int64_t{event.device} << 32 | event.lane, are_alone});
    }
    const auto name = [&](std::size_t i) { return std::string_view(trace.texts[checked[i]->name]); };
    if (are_alone && has_lost_digits(stretches, name)) {
      trace.has_lost_digits = true;
      for (Stretch& each : stretches) each.is_alone = false;
      note_lost_digits(notes);
    }
    const std::size_t dependent = check_times(stretches, rules, name, trace.impossible);
    for (std::size_t i = 0; i < checked.size(); ++i) {
      const auto& [start, seconds, lane, is_alone] = stretches[i];
      Event& event = *checked[i];
      if (!seconds)
        event.duration.reset();
      else if (start != event.start * kMicrosecond)
        event.start = start / kMicrosecond, event.duration = *seconds / kMicrosecond;
    }
    return dependent;
  };
  if (const auto without = std::ranges::count(trace.kernels, false, &Event::has_start); without > 0)
    notes.push_back(cat(base::counted(static_cast<base::Int>(without), "kernel has", "kernels have"),
                        " no stamp of the start: overlap is not known"));
  note_dependent(check(trace.kernels, true), "launch", notes);
  if (trace.kernels.empty()) check(trace.host, false);
}

// The run that contains a time; -1: none.
std::ptrdiff_t run_at(double time, const std::vector<Event>& steps) {
  if (steps.empty()) return 0;
  const auto after = std::ranges::upper_bound(steps, time, {}, &Event::start);
  if (after == steps.begin()) return -1;
  const Event& step = *std::prev(after);
  return time <= step.end() ? after - steps.begin() - 1 : -1;
}

// Calls of a thread nest. Old traces round to whole microseconds: a call may begin where the one around it ends.
bool is_within(const Event& event, double end) { return event.start < end || event.end() <= end; }

// Operators have a namespace ("aten::relu"), or are kernels of Triton.
bool is_operator(std::string_view name) { return has_any(name, {"::"}) || name.starts_with("triton_"); }

// Turns events that enclose operators but are none into ranges. Sorts the events by thread and time.
void find_wrappers(Trace& trace) {
  std::ranges::stable_sort(trace.host, {},
                           [](const Event& e) { return std::tuple(e.lane, e.start, -e.duration.value_or(0)); });
  const auto holds = [](const Event* outer, const Event& event) {
    return outer->lane == event.lane && is_within(event, outer->end());
  };
  const Event* outermost = nullptr;  // the outermost operator so far
  std::vector<Event*> around;        // open events that hold no operator so far
  for (Event& event : trace.host) {
    if (event.kind != Kind::Op || (outermost != nullptr && holds(outermost, event))) continue;
    while (!around.empty() && !holds(around.back(), event)) around.pop_back();
    if (!is_operator(trace.texts[event.name])) {
      around.push_back(&event);
      continue;
    }
    for (Event* wrapper : around) wrapper->kind = Kind::Range;
    around.clear();
    outermost = &event;
  }
  for (Event& event : trace.host) {
    if (event.kind != Kind::Range || !has_any(trace.texts[event.name], {kRegion})) continue;
    const bool is_inner = !trace.regions.empty() && trace.regions.back().lane == event.lane &&
                          is_within(event, trace.regions.back().end());
    if (!is_inner) trace.regions.push_back(event);
    // The slash in a region's number, "0/0", separates no ranges.
    std::string label = trace.texts[event.name];
    std::ranges::replace(label, '/', '.');
    event.name = trace.intern(label);
  }
}

// Walks each thread's events in time order and calls `visit` with every outermost operator, every launch, and their
// contexts. Calls of a thread nest: an operator that outlasts the one around it has an impossible time.
template <typename Visit>
void walk(Trace& trace, Visit visit) {
  constexpr double kResolution = 1;  // microseconds: old traces round both stamps
  struct Open {
    double end;
    std::uint32_t path;  // includes this event if it is a range
    std::uint32_t op;    // outermost operator; 0: none
  };
  std::vector<Open> open;
  std::uint32_t lane = 0;
  for (Event& event : trace.host) {
    if (event.lane != std::exchange(lane, event.lane)) open.clear();
    while (!open.empty() && !is_within(event, open.back().end)) open.pop_back();
    if (event.kind == Kind::Op && !open.empty() && open.back().op != 0 && event.duration &&
        event.end() > open.back().end + kResolution) {
      trace.impossible.add(Fault::Overlapping, trace.texts[event.name], *event.duration * kMicrosecond);
      event.duration.reset();
    }
    const std::uint32_t path = open.empty() ? 0 : open.back().path, op = open.empty() ? 0 : open.back().op;
    if (event.kind == Kind::Range) {
      const std::string before = trace.texts[path];
      std::string label = trace.texts[event.name];
      if (label.starts_with(kModule))
        label.erase(0, kModule.size());
      else if (before.empty())
        trace.ranges.push_back(event);
      open.push_back({event.end(), trace.intern(before.empty() ? label : before + "/" + label), op});
    } else if (event.kind == Kind::Op) {
      if (op == 0) visit(event, Context{path, event.name});
      open.push_back({event.end(), path, op == 0 ? event.name : op});
    } else {
      visit(event, Context{path, op});
    }
  }
}

// An event that becomes a row.
struct Pick {
  Event event;
  Context context;
  double launched = 0;  // host time of its launch, which determines its run
};

// Adds the time of a compiled region between its calls: loops that torch.compile fused, which have no events.
void add_fused_loops(Trace& trace, std::vector<Pick>& picks) {
  if (trace.regions.empty()) return;
  std::unordered_map<std::uint32_t, std::vector<Pick>> by_lane;
  for (const Pick& pick : picks) by_lane[pick.event.lane].push_back(pick);
  for (const Event& region : trace.regions) {
    Event loop = region;
    loop.kind = Kind::Range;
    loop.name = trace.intern(trace.texts[region.name] + " (fused loops)");
    loop.detail = 0;
    std::optional<Context> context;
    const auto add_until = [&](double end) {
      loop.duration = std::max(0.0, end - loop.start);
      picks.push_back({loop, Context{context->path, loop.name}, loop.start});
    };
    const std::vector<Pick>& lane = by_lane[region.lane];
    auto pick = std::ranges::lower_bound(lane, region.start, {}, &Pick::launched);
    for (; pick != lane.end() && pick->launched < region.end(); ++pick) {
      if (!context) context = pick->context;
      add_until(pick->event.start);
      loop.start = pick->event.end();
    }
    if (context) add_until(region.end());
  }
  std::ranges::stable_sort(picks, {}, &Pick::launched);
}

// In order of time.
std::vector<Pick> picks_of(Trace& trace, documents::Measured& measured) {
  std::vector<Pick> picks;
  find_wrappers(trace);
  if (trace.kernels.empty()) {
    walk(trace, [&](const Event& event, const Context& context) {
      if (event.kind == Kind::Op) picks.push_back({event, context, event.start});
    });
  } else {
    std::unordered_map<std::int64_t, std::pair<Context, double>> launches;
    walk(trace, [&](const Event& event, const Context& context) {
      if (event.kind == Kind::Launch && event.correlation >= 0)
        launches.emplace(event.correlation, std::pair{context, event.start});
    });
    std::size_t unlinked = 0;
    for (const Event& kernel : trace.kernels) {
      const auto found = launches.find(kernel.correlation);
      if (found == launches.end()) ++unlinked;
      picks.push_back(found == launches.end() ? Pick{kernel, {}, kernel.start}
                                              : Pick{kernel, found->second.first, found->second.second});
    }
    if (unlinked > 0)
      measured.notes.push_back(
          cat(base::counted(unlinked, "kernel has", "kernels have"), " no launch in the trace, and so no range"));
    measured.notes.push_back("operators of the CPU are left out: the trace holds kernels of a GPU");
  }
  std::ranges::stable_sort(picks, {}, &Pick::launched);
  if (trace.kernels.empty()) add_fused_loops(trace, picks);
  return picks;
}

std::string device_of(const JsonField& rest) {
  const auto devices = rest.find("deviceProperties");
  if (!devices || !devices->value().is_array()) return "";
  const std::vector<JsonField> all = devices->array();
  return all.empty() || !all.front().value().is_object() ? "" : all.front().text("name");
}

// Takes the user's ranges as runs if they are one range that repeats, each time with the same launches.
void find_runs_by_range(const std::vector<Pick>& picks, Trace& trace, std::vector<std::string>& notes) {
  std::vector<Event> ranges = std::exchange(trace.ranges, {});
  std::ranges::sort(ranges, {}, &Event::start);
  if (ranges.size() < 2) return;
  std::vector<std::vector<std::uint32_t>> launches(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i)
    if (ranges[i].name != ranges[0].name || (i > 0 && ranges[i].start < ranges[i - 1].end())) return;
  for (const Pick& pick : picks)
    if (const std::ptrdiff_t run = run_at(pick.launched, ranges); run >= 0)
      launches[static_cast<std::size_t>(run)].push_back(pick.event.name);
  if (launches[0].empty() || !std::ranges::all_of(launches, [&](const auto& each) { return each == launches[0]; }))
    return;
  notes.push_back(cat("the range \"", trace.texts[ranges[0].name], "\" repeats ", ranges.size(),
                      " times with the same launches: each is taken as a run; give ", base::field("runs", "1"),
                      " if they are one run"));
  trace.steps = std::move(ranges);
}

}  // namespace

documents::Measured import_kineto(std::string_view content, std::string_view subject, const ImportOptions& options) {
  Trace trace;
  trace.intern("");
  TraceEvents events([&](const JsonField& event) { return add_event(event, trace); });
  const base::JsonDocument rest = base::parse_json_elements(
      content, subject, "traceEvents", [&](const JsonField& event, std::size_t) { events.read(event); });

  documents::Measured measured;
  measured.source = "kineto";
  measured.tool = "torch.profiler";
  measured.device = device_of(rest.root());
  check_events(trace, measured.notes);
  std::ranges::sort(trace.steps, {}, &Event::start);
  const std::vector<Pick> picks = picks_of(trace, measured);
  const bool is_of_host = trace.kernels.empty();
  if (picks.empty() && trace.is_without_kineto)
    base::fail(subject,
               "is a trace of PyTorch's profiler without Kineto, which has no categories and no threads; profile with "
               "torch.profiler.profile() of PyTorch 1.8.1 or later");
  trace.impossible.note(is_of_host ? "call" : "launch", is_of_host ? "calls" : "launches", measured.notes);
  if (picks.empty())
    base::fail(subject, "holds no operator and no kernel with a time; profile with activities CPU or CUDA");

  if (options.runs && !trace.steps.empty() && *options.runs != static_cast<std::int64_t>(trace.steps.size()))
    base::fail(subject, cat("has ", base::counted(trace.steps.size(), "ProfilerStep range"), ", and `runs` is ",
                            *options.runs, "; leave `runs` out"));
  const bool has_profiler_steps = !trace.steps.empty();
  if (!has_profiler_steps && !options.runs) find_runs_by_range(picks, trace, measured.notes);
  const bool has_steps = !trace.steps.empty();
  RunLength length;
  if (!has_steps)
    length = launches_per_run(picks.size(), options, subject, "launch", [&](std::size_t i) {
      const auto& [event, context, launched] = picks[i];
      return LaunchLabel{trace.texts[event.name], trace.texts[context.path], trace.texts[event.detail]};
    });
  set_runs(has_steps ? trace.steps.size() : picks.size() / length.launches, options.warmup, measured);

  std::set<std::uint32_t> devices, lanes;
  for (const Event& step : trace.steps) lanes.insert(step.lane);
  if (has_profiler_steps && lanes.size() > 1)
    measured.notes.push_back(cat("ProfilerStep ranges are of ", lanes.size(), " threads or processes, as in merged "
                                 "traces of several ranks, and each counts as a run; import the trace of one rank"));
  for (const Event& kernel : trace.kernels) devices.insert(kernel.device);
  KernelRows rows;
  std::map<std::array<std::size_t, 5>, std::size_t> occurrences;  // of a name, operator and path on a device in a run
  std::size_t outside = 0;
  double outside_microseconds = 0;
  bool ends_early = false;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    const auto& [event, context, launched] = picks[i];
    const std::ptrdiff_t at =
        has_steps ? run_at(launched, trace.steps) : static_cast<std::ptrdiff_t>(i / length.launches);
    if (at < 0) {
      ++outside;
      outside_microseconds += event.duration.value_or(0);
      continue;
    }
    documents::MeasuredKernel kernel;
    kernel.name = trace.texts[event.name];
    kernel.op_type = trace.texts[context.op];
    kernel.nvtx = trace.texts[context.path];
    if (event.kind == Kind::Kernel)
      kernel.provider =
          cat(devices.size() > 1 ? cat("device ", trace.texts[event.device], ", ") : "", trace.texts[event.lane]);
    kernel.detail = trace.texts[event.detail];
    const auto run = static_cast<std::size_t>(at);
    // The loops of a region are one kernel.
    const std::size_t occurrence =
        event.kind == Kind::Range ? 0 : occurrences[{run, event.device, event.name, context.op, context.path}]++;
    LaunchSample sample{event.duration ? std::optional(*event.duration * kMicrosecond) : std::nullopt};
    if (event.has_start && !trace.has_lost_digits) sample.start = event.start * kMicrosecond;
    if (const Event* step = has_steps ? &trace.steps[run] : nullptr; step && sample.start && event.kind == Kind::Kernel)
      ends_early |= outlives(event.end() * kMicrosecond, step->end() * kMicrosecond, *step->duration * kMicrosecond);
    sample.shapes = event.detail;
    rows.add(cat(event.device, " ", event.name, " ", context.op, " ", context.path, " ", occurrence), kernel, run,
             sample);
  }
  std::move(rows).finish(measured);
  note_devices(devices.size(), measured.notes);
  if (!length.note.empty()) measured.notes.push_back(length.note);

  if (has_profiler_steps && ends_early) {
    add_missing(measured, {{"seconds", "the range ends before its kernels do"}});
    measured.notes.emplace_back(
        "a ProfilerStep range is no time of a run: the range ends before its kernels do; synchronise inside it");
  } else if (has_profiler_steps || (has_steps && trace.kernels.empty())) {
    std::vector<double> seconds;
    for (const Event& step : trace.steps) seconds.push_back(*step.duration * kMicrosecond);
    set_run_seconds(std::move(seconds), measured);
  } else if (has_steps) {
    add_missing(measured, {{"seconds", "ranges of the host do not wait for the kernels that they launch"}});
  } else {
    add_missing(measured, {{"seconds", "the trace has no ProfilerStep range; call profiler.step() after each run"}});
  }
  if (outside > 0)
    measured.notes.push_back(cat(base::counted(outside, "launch", "launches"), " (",
                                 static_cast<std::int64_t>(outside_microseconds), " µs in all) outside every ",
                                 has_profiler_steps ? "ProfilerStep range" : "run", " left out"));
  if (trace.unread > 0)
    measured.notes.push_back(cat(base::counted(trace.unread, "time is no number and", "times are no numbers and"),
                                 " unknown; the first is ", trace.unread_example));
  if (trace.without_time > 0)
    measured.notes.push_back(cat(base::counted(trace.without_time, "event"), " without a time left out"));
  add_missing(measured, {{"flops", "torch.profiler counts none in hardware"},
                         {"bytes", "torch.profiler counts no traffic"},
                         {"energy", "torch.profiler measures no energy"}});
  if (measured.device.empty()) add_missing(measured, {{"device", "the trace names no GPU"}});
  return measured;
}

}  // namespace pagoda::measured::import
