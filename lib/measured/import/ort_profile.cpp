// ONNX Runtime's session profile: an array of events, with one "<node>_kernel_time" per execution of a node and one
// "model_run" around each call of Run. Written by its C++ class profiling::Profiler; times are whole microseconds.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/formats.h"
#include "import/runs.h"
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
std::string shapes(const JsonField& arguments, const char* key) {
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
  const std::optional<std::int64_t> value = event.integer(key);
  if (!value || *value < 0) event.fail(std::string("expected \"") + key + "\" as a count of microseconds");
  return *value;
}

RunEvent read_run(const JsonField& event) {
  const auto thread = event.find("tid");
  return {whole(event, "ts"), whole(event, "dur"), thread && thread->value().is_integer() ? thread->integer() : 0};
}

void read_node(const JsonField& event, std::string name, Profile& profile) {
  name.resize(name.size() - kSuffix.size());
  documents::MeasuredKernel kernel;
  kernel.name = kernel.node = name;
  std::string key = name + '\n';
  if (const auto arguments = event.find("args"); arguments && arguments->value().is_object()) {
    kernel.op_type = arguments->text("op_name");
    kernel.provider = arguments->text("provider");
    const std::string inputs = shapes(*arguments, "input_type_shape"),
                      outputs = shapes(*arguments, "output_type_shape");
    if (!inputs.empty() || !outputs.empty()) kernel.detail = inputs + " -> " + outputs;
    // Shapes may differ from run to run; the node is the same.
    key += kernel.op_type + '\n' + arguments->text("node_index");
  }
  const auto [at, is_new] = profile.index.try_emplace(key, profile.kernels.size());
  if (is_new) {
    profile.kernels.push_back(std::move(kernel));
    profile.keys.push_back(key);
  }
  profile.nodes.push_back({read_run(event), at->second});
}

void read_event(const JsonField& event, Profile& profile) {
  if (!event.value().is_object()) event.fail("expected an event object");
  const std::string category = event.text("cat"), name = event.text("name");
  if (category == "Node" && name.ends_with(kSuffix)) {
    read_node(event, name, profile);
  } else if (category == "Kernel") {
    // ONNX Runtime writes GPU kernels directly after the node that launched them.
    if (profile.nodes.empty()) return;
    NodeEvent& node = profile.nodes.back();
    node.gpu = std::max<std::int64_t>(node.gpu, 0) + whole(event, "dur");
    ++profile.gpu_kernels;
  } else if (category == "Session" && name == "model_run") {
    profile.runs.push_back(read_run(event));
  }
  profile.is_profile = profile.is_profile || category == "Node" || category == "Session";
}

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
    const std::string& op = profile.kernels[nodes[i].kernel].op_type;
    if (std::ranges::find(kControlFlow, op) != kControlFlow.end()) open.push_back(i);
  }
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
  base::parse_json_elements(text, subject, "traceEvents",
                            [&](const JsonField& event, std::size_t) { read_event(event, profile); });
  if (!profile.is_profile)
    base::fail(subject,
               "holds no events of ONNX Runtime; expected the file that SessionOptions.enable_profiling writes");
  if (profile.nodes.empty())
    base::fail(subject, "holds no \"…_kernel_time\" event; run the session at least once before its profile is ended");
  std::ranges::sort(profile.runs, {}, &RunEvent::start);
  nest(profile);

  documents::Measured measured;
  measured.source = "onnxruntime";
  measured.tool = "ONNX Runtime";
  set_runs(profile.runs.size(), options.warmup, measured);

  KernelRows rows;
  std::size_t outside = 0;
  for (const NodeEvent& node : profile.nodes) {
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
    const std::int64_t own = node.gpu >= 0 ? node.gpu : std::max<std::int64_t>(0, node.duration - node.in_body);
    rows.add(key, kernel, static_cast<std::size_t>(run), {static_cast<double>(own) * kMicrosecond});
  }
  std::move(rows).finish(measured);

  if (!profile.runs.empty()) {
    std::vector<double> seconds;
    for (const RunEvent& run : profile.runs) seconds.push_back(static_cast<double>(run.duration) * kMicrosecond);
    set_run_seconds(std::move(seconds), measured);
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
