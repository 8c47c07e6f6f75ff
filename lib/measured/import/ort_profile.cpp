// ONNX Runtime's session profile: an array of events, with one "<node>_kernel_time" per execution of a node and one
// "model_run" around each call of Run. Written by its C++ class profiling::Profiler; times are whole microseconds.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/formats.h"
#include "import/runs.h"
#include "import/timeline.h"
#include "import/trace_events.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/json.h"

namespace pagoda::measured::import {
namespace {

using base::JsonField;

constexpr std::string_view kSuffix = "_kernel_time";

// Operators whose time includes the time of the nodes in their bodies.
constexpr std::array<std::string_view, 8> kControlFlow = {
    "BeamSearch", "GreedySearch", "If", "Loop", "Sampling", "Scan", "SequenceMap", "WhisperBeamSearch"};

struct RunEvent {
  std::int64_t start = 0, duration = 0, thread = 0;
};

struct NodeEvent : RunEvent {
  std::size_t kernel = 0;                 // index in Profile::kernels
  std::size_t shapes = 0;                 // hash of its inputs' and outputs'
  std::int64_t gpu = -1;                  // sum over its GPU kernels; -1: none were recorded
  std::int64_t in_body = 0;               // time of nodes in its body
  std::vector<std::size_t> parents = {};  // the nodes around it, outermost first
};

struct Profile {
  std::vector<documents::MeasuredKernel> kernels;
  std::vector<std::string> keys;
  std::unordered_map<std::string, std::size_t> index;
  std::vector<NodeEvent> nodes;
  std::vector<RunEvent> runs;
  std::size_t gpu_kernels = 0;
  bool is_profile = false;
};

// "float[1,3,224,224]" from {"float":[1,3,224,224]}, joined by commas.
std::string shapes_of(const JsonField& arguments, const char* key) {
  std::string result;
  const auto list = arguments.find(key);
  if (!list || !list->value().is_array()) return result;
  for (const JsonField& type : list->array()) {
    if (!type.value().is_object()) continue;
    for (const auto& [name, shape] : type.members())
      (result += result.empty() ? "" : ",") += name + shape.value().dump();
  }
  return result;
}

std::int64_t whole(const JsonField& event, const char* key) {
  const std::optional<std::int64_t> value = event_integer(event, key);
  if (!value || *value < 0) event.fail(std::string("expected \"") + key + "\" as a count of microseconds");
  return *value;
}

// Caps impossible durations, so that their sums do not overflow.
constexpr std::int64_t kLongest = 10'000'000'000'000;  // microseconds: 115 days

// -1 for an event that only begins, until its end is read.
std::int64_t duration_of(const JsonField& event) {
  return event_text(event, "ph") == "B" ? -1 : std::min(kLongest, whole(event, "dur"));
}

// From the difference of two stamps.
std::int64_t microseconds_of(double microseconds) {
  return std::llround(std::clamp(microseconds, 0.0, static_cast<double>(kLongest)));
}

RunEvent read_run(const JsonField& event) {
  return {whole(event, "ts"), duration_of(event), event_integer(event, "tid").value_or(0)};
}

void read_node(const JsonField& event, std::string name, Profile& profile) {
  name.resize(name.size() - kSuffix.size());
  documents::MeasuredKernel kernel;
  kernel.name = kernel.node = name;
  std::string key = name + '\n';
  std::size_t shapes = 0;
  if (const auto arguments = event.find("args"); arguments && arguments->value().is_object()) {
    kernel.op_type = event_text(*arguments, "op_name");
    kernel.provider = event_text(*arguments, "provider");
    const std::string inputs = shapes_of(*arguments, "input_type_shape"),
                      outputs = shapes_of(*arguments, "output_type_shape");
    if (!inputs.empty() || !outputs.empty()) kernel.detail = inputs + " -> " + outputs;
    shapes = std::hash<std::string>()(kernel.detail);
    // Shapes may differ from run to run; the node is the same.
    key += kernel.op_type + '\n' + event_text(*arguments, "node_index");
  }
  const auto [at, is_new] = profile.index.try_emplace(key, profile.kernels.size());
  if (is_new) {
    profile.kernels.push_back(std::move(kernel));
    profile.keys.push_back(key);
  }
  profile.nodes.push_back({read_run(event), at->second, shapes});
}

TraceEvents::SetDuration add_event(const JsonField& event, Profile& profile) {
  const std::string category = event_text(event, "cat"), name = event_text(event, "name");
  profile.is_profile = profile.is_profile || category == "Node" || category == "Session";
  const auto set = [](auto& events) -> TraceEvents::SetDuration {
    return
        [&events, at = events.size() - 1](double microseconds) { events[at].duration = microseconds_of(microseconds); };
  };
  if (category == "Node" && name.ends_with(kSuffix)) {
    read_node(event, name, profile);
    return set(profile.nodes);
  }
  if (category == "Session" && name == "model_run") {
    profile.runs.push_back(read_run(event));
    return set(profile.runs);
  }
  // ONNX Runtime writes GPU kernels directly after the node that launched them.
  if (category != "Kernel" || profile.nodes.empty()) return {};
  ++profile.gpu_kernels;
  const auto add = [&nodes = profile.nodes, at = profile.nodes.size() - 1](double microseconds) {
    nodes[at].gpu = std::max<std::int64_t>(nodes[at].gpu, 0) + microseconds_of(microseconds);
  };
  if (event_text(event, "ph") == "B") return add;
  add(static_cast<double>(duration_of(event)));
  return {};
}

bool is_control_flow(const std::string& op) { return std::ranges::find(kControlFlow, op) != kControlFlow.end(); }

// Sorts the nodes by time. Records their nesting in control-flow nodes, and the time of bodies so that it can be
// subtracted.
void nest(Profile& profile) {
  std::vector<NodeEvent>& nodes = profile.nodes;
  std::ranges::stable_sort(nodes, {}, [](const NodeEvent& node) { return std::pair(node.start, -node.duration); });
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    while (!open.empty() && nodes[open.back()].start + nodes[open.back()].duration < nodes[i].start + nodes[i].duration)
      open.pop_back();
    if (!open.empty()) nodes[open.back()].in_body += nodes[i].duration;
    nodes[i].parents = open;
    if (is_control_flow(profile.kernels[nodes[i].kernel].op_type)) open.push_back(i);
  }
}

// The executions with impossible times. Nodes of a thread follow each other, except for those with bodies, and none
// takes longer than its run.
std::vector<bool> impossible_nodes(const Profile& profile, std::vector<std::string>& notes) {
  std::vector<Stretch> stretches;
  std::optional<double> longest;
  for (const RunEvent& run : profile.runs)
    longest = std::max(longest.value_or(0), static_cast<double>(run.duration) * kMicrosecond);
  const auto name = [&](std::size_t i) { return std::string_view(profile.kernels[profile.nodes[i].kernel].name); };
  for (const NodeEvent& node : profile.nodes)
    stretches.push_back(
        {static_cast<double>(node.start) * kMicrosecond,
         node.duration < 0 ? std::nullopt : std::optional(static_cast<double>(node.duration) * kMicrosecond),
         node.thread, !is_control_flow(profile.kernels[node.kernel].op_type)});
  ImpossibleTimes found;
  check_times(stretches, {.resolution = kMicrosecond, .longest = longest}, name, found);
  found.note("execution of a node", "executions of nodes", notes);
  std::vector<bool> impossible;
  impossible.reserve(stretches.size());
  for (const Stretch& each : stretches) impossible.push_back(!each.seconds);
  // The time of a body is subtracted from the node around it.
  for (std::size_t i = impossible.size(); i-- > 0;)
    if (impossible[i] && !profile.nodes[i].parents.empty()) impossible[profile.nodes[i].parents.back()] = true;
  return impossible;
}

// The run around a node's execution: one on the same thread, else any; -1: none.
std::ptrdiff_t run_of(const NodeEvent& node, const std::vector<RunEvent>& runs) {
  const auto after = std::ranges::upper_bound(runs, node.start, {}, &RunEvent::start);
  std::ptrdiff_t any = -1;
  // Overlapping runs come from one session called by several threads; a few steps back find them all.
  for (std::ptrdiff_t i = after - runs.begin() - 1, steps = 0; i >= 0 && steps < 64; --i, ++steps) {
    const RunEvent& run = runs[static_cast<std::size_t>(i)];
    if (node.start > run.start + run.duration) continue;
    if (run.thread == node.thread) return i;
    if (any < 0) any = i;
  }
  return any;
}

}  // namespace

documents::Measured import_ort(std::string_view text, std::string_view subject, const ImportOptions& options) {
  Profile profile;
  TraceEvents events([&](const JsonField& event) { return add_event(event, profile); });
  base::parse_json_elements(text, subject, "traceEvents",
                            [&](const JsonField& event, std::size_t) { events.read(event); });
  if (!profile.is_profile)
    base::fail(subject,
               "holds no events of ONNX Runtime; expected the file that SessionOptions.enable_profiling writes");
  if (profile.nodes.empty())
    base::fail(subject, "holds no \"…_kernel_time\" event; run the session at least once before its profile is ended");
  std::erase_if(profile.runs, [](const RunEvent& run) { return run.duration < 0; });
  std::ranges::sort(profile.runs, {}, &RunEvent::start);
  nest(profile);

  documents::Measured measured;
  measured.source = "onnxruntime";
  measured.tool = "ONNX Runtime";
  set_runs(profile.runs.size(), options.warmup, measured);

  const std::vector<bool> impossible = impossible_nodes(profile, measured.notes);
  KernelRows rows;
  std::size_t outside = 0;
  std::vector<std::int64_t> on_gpu(std::max<std::size_t>(1, profile.runs.size()), 0);  // by run
  std::map<std::pair<std::ptrdiff_t, std::string>, std::size_t> nameless;              // executions by run and key
  for (std::size_t i = 0; i < profile.nodes.size(); ++i) {
    const NodeEvent& node = profile.nodes[i];
    const std::ptrdiff_t run = profile.runs.empty() ? 0 : run_of(node, profile.runs);
    if (run < 0) {
      ++outside;
      continue;
    }
    documents::MeasuredKernel kernel = profile.kernels[node.kernel];
    std::string key = profile.keys[node.kernel];
    for (const std::size_t parent : node.parents) {
      const std::string& name = profile.kernels[profile.nodes[parent].kernel].name;
      (kernel.nvtx += kernel.nvtx.empty() ? "" : "/") += name;
      key += '\n' + profile.keys[profile.nodes[parent].kernel];
    }
    if (kernel.name.empty()) key += cat("\n", nameless[{run, key}]++);  // each may be another node
    on_gpu[static_cast<std::size_t>(run)] += std::max<std::int64_t>(0, node.gpu);
    const std::int64_t own = node.gpu >= 0 ? node.gpu : std::max<std::int64_t>(0, node.duration - node.in_body);
    LaunchSample sample;
    sample.shapes = node.shapes;
    if (node.gpu >= 0 || !impossible[i]) sample.seconds = static_cast<double>(own) * kMicrosecond;
    rows.add(key, kernel, static_cast<std::size_t>(run), sample);
  }
  std::move(rows).finish(measured);

  if (!profile.runs.empty()) {
    std::vector<double> seconds;
    bool ends_early = false;
    for (const RunEvent& run : profile.runs) {
      const double kernels = static_cast<double>(on_gpu[seconds.size()]) * kMicrosecond;
      seconds.push_back(static_cast<double>(run.duration) * kMicrosecond);
      ends_early |= outlives(kernels, seconds.back(), seconds.back());
    }
    if (ends_early) {
      add_missing(measured, {{"seconds", "model_run is shorter than the kernels in it"}});
      measured.notes.emplace_back(
          "model_run is no time of a run: its kernels add up to more, so it did not wait for them; leave ONNX "
          "Runtime's "
          "synchronisation at the end of a run on");
    } else {
      set_run_seconds(std::move(seconds), measured);
    }
  } else {
    add_missing(measured, {{"seconds", "the profile has no model_run event; all of it is taken as one run"}});
  }
  if (outside > 0)
    measured.notes.push_back(cat(outside, " executions of nodes lie outside every run and were left out"));
  if (profile.gpu_kernels > 0)
    measured.notes.emplace_back(
        "a node with kernels on a GPU takes the sum of their times; they are the ones that follow it in the file");
  measured.notes.emplace_back("ONNX Runtime rounds to microseconds");
  add_missing(measured, {{"flops", "ONNX Runtime counts no operations"},
                         {"bytes", "ONNX Runtime counts no traffic"},
                         {"energy", "ONNX Runtime measures no energy"},
                         {"device", "the profile does not name it"}});
  return measured;
}

}  // namespace pagoda::measured::import
