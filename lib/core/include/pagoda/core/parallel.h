// One run on several devices: what each of them does, holds and sends, derived from the graph alone.
//
//   Share share = share_of_device(model, analysis, {.tensor = 8});
//   share.analysis.totals.cost.macs;      // of one device, exact
//   share.collectives[0].bytes;           // that an all-reduce sums over the devices
//   sent_bytes(CollectiveKind::AllReduce, 1e6, 8);  // by each of 8 devices for a tensor of 1 MB: 1.75e6
//
// Tensor parallelism follows Megatron-LM (Shoeybi et al., arXiv 1909.08053, section 3): a product with a weight is
// split by columns, every node behind it works on its part (element by element, or head by head), and the product that
// contracts the parts is split by rows; an all-reduce sums what it writes. Which products these are follows from the
// data flow, not from names: a split is pushed forward from a product until every path ends in a product that contracts
// it; a node that needs the whole stops it, and the product stays whole on every device. Heads are never cut: where
// there are fewer key heads than devices, each key head lives on several devices. The last product before an output is
// split by its columns, the vocabulary, rounded up, and so is the embedding of the same vocabulary.
// Expert parallelism gives each device its part of the experts of every mixture; tokens travel by two all-to-alls.
// Pipeline parallelism cuts the rows, in order, into stages of about equal time where the fewest activations pass.
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
  AllReduce,  // sums a tensor over the devices, which all get the sum
  AllGather,  // joins the parts that the devices hold
  AllToAll,   // sends each token to the devices of its experts, or back
  Send,       // from one stage to the next
};
std::string_view to_string(CollectiveKind kind);  // "all_reduce"

struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::int32_t row = 0;  // in Analysis::nodes: what writes the tensor
  Dim bytes;             // of the tensor on one device: summed, joined, or sent and received
  std::int64_t devices = 1;
};

// The bytes that pass one device's links in one direction, of `bytes` in a collective: a ring all-reduce sends
// 2·(N − 1)/N of them, an all-gather and an all-to-all (N − 1)/N (Thakur et al. 2005; NCCL's bus bandwidth). No
// algorithm that only moves data between devices sends fewer. Where switches sum, each device sends its tensor once
// and gets the sum once.
double sent_bytes(CollectiveKind kind, double bytes, std::int64_t devices, bool sums_in_switch = false);

// What one device of a group does.
struct Share {
  // Rows as in the analysis of the whole, with the types, work, traffic and weights of one device.
  Analysis analysis;
  std::vector<Collective> collectives;  // by row
  std::int64_t columns = 0, rows = 0;   // products split by columns and by rows
  std::int64_t whole = 0;               // products with weights that every device does in full
  Dim whole_param_bytes;                // their weights
  std::string whole_reason;             // why the first of them is not split
};

// Throws Error where the model has no product that can be split so, or the devices do not divide its heads or experts.
Share share_of_device(const Model& model, const Analysis& analysis, const ParallelOptions& options);

// A stage of a pipeline: rows [begin, end) of the analysis.
struct Stage {
  std::int32_t begin = 0, end = 0;
  double seconds = 0;       // of its rows
  Dim received_bytes = {};  // that the stage before sends; 0 of the first
};

// The rows cut into `count` stages so that the longest is as short as possible, where few activations pass; `bound` is
// of the same rows. Throws Error where there are fewer places than cuts.
std::vector<Stage> pipeline_stages(const Model& model, const Analysis& analysis, const Roofline& bound,
                                   std::int64_t count);
// The analysis with nothing but the rows of a stage, its weights and its part of the cache.
Analysis analysis_of_stage(const Model& model, const Analysis& analysis, const Stage& stage);

// A way between devices.
struct LinkRate {
  std::string name;
  double bytes_per_second = 0;
  std::string source;
  bool sums_in_switch = false;
};
// The device's link of that name, or for an empty name the fastest that joins as many devices. Throws Error where there
// is none.
LinkRate link_of(const DeviceSpec& device, std::string_view name, std::int64_t devices);

// A step on all devices.
struct ParallelTime {
  double seconds = 0;       // at least
  double work_seconds = 0;  // of the work of one device, of all stages in turn
  double link_seconds = 0;  // that its links are busy
  // Of a pipeline, with the number of micro-batches that makes the step shortest:
  std::int64_t parts = 1;       // micro-batches
  double bubble = 0;            // part of the time in which a stage waits
  double interval_seconds = 0;  // from one step to the next, with as many steps under way as there are stages
};
// Work and links overlap, and the longer counts. A step may go through the stages in up to `most_parts` parts: a part
// takes its share of the arithmetic and of the activations, and reads all weights of the stage anew; with S stages and
// m parts the step takes m + S − 1 times the longest stage of a part, or less where stages differ.
ParallelTime parallel_time(const Analysis& analysis, const Roofline& bound, const std::vector<Collective>& collectives,
                           const std::vector<Stage>& stages, const LinkRate& link, double most_parts);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
