// Compares two measured runs of one network, node by node, although names, kernels and fusions differ: float32 against
// its int8 form, one release of an engine against the next, two exports.
//
//   const RunComparison change = compare_runs({"fp32.json", a, &estimate}, {"int8.json", b, &quantised});
//   change.joined_seconds[1] / change.kernel_seconds[1];  // share of the second run that is compared
//
// Kernels join the nodes of their own estimate (join.h); nodes of two models match by name, output and structure
// (estimate/compare.h). A block is the smallest set of nodes that kernels of both runs cover wholly: a fused kernel
// stands against all kernels that do its nodes in the other run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/estimate/compare.h"
#include "pagoda/measured/join.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

// A run, and the estimate of the model that ran.
struct ModelRun {
  std::string name;  // for messages
  documents::Measured measured;
  const EstimateDocument* estimate = nullptr;  // must outlive the comparison
};

template <typename Value>
using Both = std::array<Value, 2>;  // of the first run, and of the second

struct RunBlock {
  std::string name;  // of the node with most work
  // Its module: "layer1", "encoder/layer.*/attention" for layers that are alike; without modules the operator. As
  // coarse as lets no part take more than half of the time, where the names allow it.
  std::string part;
  Both<std::vector<std::size_t>> nodes, kernels;  // rows of the estimates; indices of kernels
  Both<std::vector<std::string>> types;           // of the kernels: "QLinearConv uint8"
  Both<documents::Amount> seconds;                // empty: it has no kernel there, or one without a time
  std::string cause;                              // why it is not compared; empty: it is

  bool is_joined() const { return cause.empty(); }
  double change() const { return seconds[1].value_or(0) - seconds[0].value_or(0); }
};

// Kernels of one run that are not compared.
struct UnjoinedRunTime : documents::UnjoinedTime {
  std::size_t run = 0;
  std::string example;  // the longest of them
  double longest = -1;
};

struct RunComparison {
  Both<ModelRun> runs;  // joined
  documents::MeasuredBasis basis = documents::MeasuredBasis::Kernels;
  Both<double> seconds = {};         // of a whole run, by `basis`
  Both<double> kernel_seconds = {};  // sum over kernels that have a time
  Both<double> joined_seconds = {};  // of these, in blocks that are compared
  // In blocks by their place alone: kernels that the engine put between others (changes of layout or type, moved
  // transposes) belong to the kernel before them if it has a result of as many elements, else to the one after.
  Both<double> between_seconds = {};
  std::optional<bool> are_apart;  // no run of one took as long as any of the other; empty: not known
  std::vector<RunBlock> blocks;   // largest change first, then those that are not compared
  std::vector<UnjoinedRunTime> unjoined;
  std::vector<std::string> remarks;  // device and profiler, if they differ; numbers of runs; notes of the profiles
};

// The rows of each kernel that joined.
estimate::RanRows ran_rows(const documents::Measured& measured);

// Throws Error if a run has no kernels with times, if the two are of different sizes or batches, or if less than half
// of the work of the models matches.
RunComparison compare_runs(ModelRun first, ModelRun second);

}  // namespace pagoda::measured
#pragma GCC visibility pop
