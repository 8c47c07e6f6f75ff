// torch.profiler's Chrome trace (kineto). If it contains GPU kernels, a row is a kernel, linked by its correlation id
// to the call that launched it, and so to the operator and the record_function ranges around that call. Otherwise, a
// row is a CPU operator that no other operator called, including the time of inner ones. Times are in microseconds.
//
// "ProfilerStep#n" ranges, which profiler.step() writes, delimit runs; the k-th execution of a name in the same ranges
// of each run is one row.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/formats.h"
#include "import/runs.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/json.h"
#include "pagoda/base/plural.h"

namespace pagoda::measured::import {
namespace {

using base::JsonField;

constexpr std::string_view kStep = "ProfilerStep#", kModule = "nn.Module: ";

enum class Kind : std::uint8_t { Range, Op, Launch, Kernel };

struct Event {
  double start = 0, duration = 0;
  std::int64_t correlation = -1;
  std::uint32_t name = 0, detail = 0, lane = 0;  // indices in Trace::texts; lane: the thread, or the stream
  Kind kind = Kind::Op;
};

// The ranges and the operator around an operator or a launch on its thread.
struct Context {
  std::uint32_t path = 0, op = 0;
};

struct Trace {
  std::vector<std::string> texts;
  std::unordered_map<std::string, std::uint32_t> index;
  std::vector<Event> host, kernels, steps;
  std::size_t events = 0, without_time = 0;

  std::uint32_t intern(std::string text) {
    const auto [found, is_new] = index.try_emplace(std::move(text), static_cast<std::uint32_t>(texts.size()));
    if (is_new) texts.push_back(found->first);
    return found->second;
  }
};

std::optional<Kind> kind_of(const std::string& category, const std::string& name) {
  if (category == "cpu_op") return Kind::Op;
  if (category == "user_annotation") return Kind::Range;
  if (category == "python_function" && name.starts_with(kModule)) return Kind::Range;
  if (category == "cuda_runtime" || category == "cuda_driver" || category == "hip_runtime") return Kind::Launch;
  if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") return Kind::Kernel;
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

// The member's text; empty if there is none.
std::string label_of(const JsonField& event, const char* key) {
  const auto found = event.find(key);
  return found && found->value().is_text() ? found->text() : "";
}

void read_event(const JsonField& json, Trace& trace) {
  const auto name = json.find("name");
  if (label_of(json, "ph") != "X" || !name || !name->value().is_text()) return;
  const std::string label = name->text();
  const std::optional<Kind> kind = kind_of(label_of(json, "cat"), label);
  if (!kind) return;
  const std::optional<double> start = json.number("ts"), duration = json.number("dur");
  ++trace.events;
  if (!start || !duration || *duration < 0) {
    ++trace.without_time;
    return;
  }
  // kineto writes threads and streams as numbers or strings.
  const std::uint32_t lane = trace.intern(cat(printed(json, "pid"), ":", printed(json, "tid")));
  Event event{*start, *duration, -1, trace.intern(label), 0, lane, *kind};
  if (const auto arguments = json.find("args"); arguments && arguments->value().is_object()) {
    event.correlation = arguments->integer("correlation").value_or(-1);
    event.detail = trace.intern(detail_of(*arguments, *kind));
    if (*kind == Kind::Kernel && arguments->find("stream"))
      event.lane = trace.intern("stream " + printed(*arguments, "stream"));
  }
  if (*kind == Kind::Range && label.starts_with(kStep))
    trace.steps.push_back(event);
  else
    (*kind == Kind::Kernel ? trace.kernels : trace.host).push_back(event);
}

// The run that contains a time; -1: none.
std::ptrdiff_t run_at(double time, const std::vector<Event>& steps) {
  if (steps.empty()) return 0;
  const auto after = std::ranges::upper_bound(steps, time, {}, &Event::start);
  if (after == steps.begin()) return -1;
  const Event& step = *std::prev(after);
  return time <= step.start + step.duration ? after - steps.begin() - 1 : -1;
}

// Walks each thread's events in time order and calls `visit` with every outermost operator and every launch, and its
// context.
template <typename Visit>
void walk(Trace& trace, Visit visit) {
  std::ranges::stable_sort(trace.host, {}, [](const Event& e) { return std::tuple(e.lane, e.start, -e.duration); });
  struct Open {
    double end;
    std::uint32_t path;  // includes this event if it is a range
    std::uint32_t op;    // outermost operator; 0: none
  };
  std::vector<Open> open;
  std::uint32_t lane = 0;
  for (const Event& event : trace.host) {
    if (event.lane != std::exchange(lane, event.lane)) open.clear();
    while (!open.empty() && open.back().end <= event.start) open.pop_back();
    const std::uint32_t path = open.empty() ? 0 : open.back().path, op = open.empty() ? 0 : open.back().op;
    if (event.kind == Kind::Range) {
      const std::string before = trace.texts[path];
      std::string label = trace.texts[event.name];
      if (label.starts_with(kModule)) label.erase(0, kModule.size());
      open.push_back({event.start + event.duration, trace.intern(before.empty() ? label : before + "/" + label), op});
    } else if (event.kind == Kind::Op) {
      if (op == 0) visit(event, Context{path, event.name});
      open.push_back({event.start + event.duration, path, op == 0 ? event.name : op});
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

// In order of time.
std::vector<Pick> picks_of(Trace& trace, documents::Measured& measured) {
  std::vector<Pick> picks;
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
  return picks;
}

std::string device_of(const JsonField& rest) {
  const auto devices = rest.find("deviceProperties");
  if (!devices || !devices->value().is_array()) return "";
  const std::vector<JsonField> all = devices->array();
  return all.empty() || !all.front().value().is_object() ? "" : all.front().text("name");
}

}  // namespace

documents::Measured import_kineto(std::string_view content, std::string_view subject, const ImportOptions& options) {
  Trace trace;
  trace.intern("");
  const base::JsonDocument rest = base::parse_json_elements(
      content, subject, "traceEvents", [&](const JsonField& event, std::size_t) { read_event(event, trace); });
  std::ranges::sort(trace.steps, {}, &Event::start);

  documents::Measured measured;
  measured.source = "kineto";
  measured.tool = "torch.profiler";
  measured.device = device_of(rest.root());
  const std::vector<Pick> picks = picks_of(trace, measured);
  if (picks.empty())
    base::fail(subject, "holds no operator and no kernel with a time; profile with activities CPU or CUDA");

  const bool has_steps = !trace.steps.empty();
  const std::size_t per_run =
      has_steps ? 0 : launches_per_run(picks.size(), options, subject, "launch", [&](std::size_t i) {
        return std::pair<std::string_view, std::string_view>(trace.texts[picks[i].event.name], "");
      });
  set_runs(has_steps ? trace.steps.size() : picks.size() / per_run, options.warmup, measured);

  KernelRows rows;
  std::map<std::array<std::size_t, 4>, std::size_t> occurrences;  // of a name, operator and path in a run
  std::size_t outside = 0;
  double outside_microseconds = 0;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    const auto& [event, context, launched] = picks[i];
    const std::ptrdiff_t at = has_steps ? run_at(launched, trace.steps) : static_cast<std::ptrdiff_t>(i / per_run);
    if (at < 0) {
      ++outside;
      outside_microseconds += event.duration;
      continue;
    }
    documents::MeasuredKernel kernel;
    kernel.name = trace.texts[event.name];
    kernel.op_type = trace.texts[context.op];
    kernel.nvtx = trace.texts[context.path];
    if (event.kind == Kind::Kernel) kernel.provider = trace.texts[event.lane];
    kernel.detail = trace.texts[event.detail];
    const auto run = static_cast<std::size_t>(at);
    const std::size_t occurrence = occurrences[{run, event.name, context.op, context.path}]++;
    rows.add(cat(event.name, " ", context.op, " ", context.path, " ", occurrence), kernel, run,
             {event.duration * kMicrosecond});
  }
  std::move(rows).finish(measured);

  if (has_steps) {
    std::vector<double> seconds;
    for (const Event& step : trace.steps) seconds.push_back(step.duration * kMicrosecond);
    set_run_seconds(std::move(seconds), measured);
  } else {
    add_missing(measured, {{"seconds", "the trace has no ProfilerStep range; call profiler.step() after each run"}});
  }
  if (outside > 0)
    measured.notes.push_back(cat(base::counted(outside, "launch", "launches"), " (",
                                 static_cast<std::int64_t>(outside_microseconds),
                                 " µs in all) outside every ProfilerStep range left out"));
  if (trace.without_time > 0)
    measured.notes.push_back(cat(base::counted(trace.without_time, "event"), " without a time left out"));
  add_missing(measured, {{"flops", "torch.profiler counts none in hardware"},
                         {"bytes", "torch.profiler counts no traffic"},
                         {"energy", "torch.profiler measures no energy"}});
  if (measured.device.empty()) add_missing(measured, {{"device", "the trace names no GPU"}});
  return measured;
}

}  // namespace pagoda::measured::import
