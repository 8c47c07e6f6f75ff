// One run on several devices: the work, memory and traffic of each, derived from the graph alone.
//
//   Share share = share_of_device(model, analysis, {.tensor = 8});
//   share.analysis.totals.cost.macs;      // of one device, exact
//   share.collectives[0].bytes;           // that an all-reduce sums over the devices
//   sent_bytes(CollectiveKind::AllReduce, 1e6, 8);  // by each of 8 devices for a tensor of 1 MB: 1.75e6
//
// Tensor parallelism follows Megatron-LM (Shoeybi et al., arXiv 1909.08053, section 3): a product with a weight is
// split by columns, every node after it works on its part (element by element, or head by head), and the product that
// contracts the parts is split by rows; an all-reduce sums its results. Which products these are follows from the
// data flow, not from names: a split is pushed forward from a product until every path ends in a product that contracts
// it; a node that needs the whole tensor stops the split, and every device then runs the product in full. Heads are
// never split: with fewer key heads than devices, each key head is kept on several devices. The last product before an
// output is split by its columns, the vocabulary, rounded up; so is the embedding of the same vocabulary. Expert
// parallelism gives each device its part of the experts of every mixture; tokens travel by two all-to-alls. Pipeline
// parallelism cuts the rows, in order, into stages of about equal time at the places where the fewest activations pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/device.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/roofline.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct ParallelOptions {
  std::int64_t tensor = 1, pipeline = 1, expert = 1;

  std::int64_t devices() const { return tensor * pipeline * expert; }
};

enum class CollectiveKind : std::uint8_t {
  AllReduce,  // sums a tensor over all devices; each gets the sum
  AllGather,  // concatenates the parts of all devices
  AllToAll,   // sends each token to the devices of its experts, or back
  Send,       // from one stage to the next
};
std::string_view to_string(CollectiveKind kind);  // "all_reduce"

struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::int32_t row = 0;  // in Analysis::nodes: the row that writes the tensor
  Dim bytes;             // of the tensor on one device: summed, joined, or sent and received
  std::int64_t devices = 1;
};

// Bytes that one device's links carry in one direction, for `bytes` in a collective: a ring all-reduce sends
// 2·(N − 1)/N of them, an all-gather and an all-to-all (N − 1)/N (Thakur et al. 2005; NCCL's bus bandwidth). No
// algorithm that only moves data between devices sends fewer. Where switches sum, each device sends its tensor once and
// receives the sum once.
double sent_bytes(CollectiveKind kind, double bytes, std::int64_t devices, bool sums_in_switch = false);

// The work of one device of a group.
struct Share {
  // The same rows as the full analysis, with the types, work, traffic and weights of one device.
  Analysis analysis;
  std::vector<Collective> collectives;  // by row
  std::int64_t columns = 0, rows = 0;   // products split by columns and by rows
  std::int64_t whole = 0;               // products with weights that every device runs in full
  Dim whole_param_bytes;                // their weights
  std::string whole_reason;             // why the first of them is not split
};

// Throws Error where the model has no product that can be split, or the devices do not divide its heads or experts.
Share share_of_device(const Model& model, const Analysis& analysis, const ParallelOptions& options);

// A stage of a pipeline: rows [begin, end) of the analysis.
struct Stage {
  std::int32_t begin = 0, end = 0;
  double seconds = 0;       // of its rows
  Dim received_bytes = {};  // from the previous stage; 0 for the first
};

// The rows in `count` stages, cut where few activations pass so that the longest stage is as short as possible; `bound`
// is for the same rows. Throws Error where there are too few places to cut.
std::vector<Stage> pipeline_stages(const Model& model, const Analysis& analysis, const Roofline& bound,
                                   std::int64_t count);
// The analysis reduced to the rows of a stage, its weights and its part of the cache.
Analysis analysis_of_stage(const Model& model, const Analysis& analysis, const Stage& stage);

// A connection between devices.
struct LinkRate {
  std::string name;
  double bytes_per_second = 0;
  std::string source;
  bool sums_in_switch = false;

  bool is_bus() const { return name == "pcie"; }
};
// The device's link of that name, or for an empty name the fastest one that joins `devices` devices. Throws Error if
// there is none.
LinkRate link_of(const DeviceSpec& device, std::string_view name, std::int64_t devices);

// A step on all devices.
struct ParallelTime {
  double seconds = 0;       // lower bound
  double work_seconds = 0;  // work of one device, over all stages in turn
  double link_seconds = 0;  // time that its links are busy
  // For a pipeline, with the number of micro-batches that makes the step shortest:
  std::int64_t parts = 1;       // micro-batches
  double bubble = 0;            // share of the time that a stage waits
  double interval_seconds = 0;  // from one step to the next, with as many steps in flight as stages
};
// Work and links overlap, so the longer one counts. A step may be split into up to `most_parts` micro-batches: each
// does its share of the arithmetic and activations, and reads all weights of the stage again. With S stages and m
// micro-batches the step takes m + S − 1 times the longest stage of a micro-batch, or less where stages differ.
ParallelTime parallel_time(const Analysis& analysis, const Roofline& bound, const std::vector<Collective>& collectives,
                           const std::vector<Stage>& stages, const LinkRate& link, double most_parts);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
