// The estimate of a model, schema pagoda.estimate/1 (data/schemas/estimate.schema.json): what the estimator found, as
// values. Tables, charts, pages and joins all read this type; files are it, written.
//
//   EstimateDocument estimate = load_estimate("resnet50.json");
//   estimate.totals.counts.flops;                      // empty: not known, never 0
//   base::write_file("copy.json", write_estimate(estimate));
//
// Counts are exact integers. Where dims are free they are those with every free dim, and every size that the data
// decide, at 1; formulas say the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/base/integer.h"
#include "pagoda/core/analysis.h"
#include "pagoda/core/budget.h"
#include "pagoda/core/conventions.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/device.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/parallel.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/sweep.h"
#include "pagoda/core/traffic.h"
#include "pagoda/core/train.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

using Count = std::optional<Int>;  // empty: not known

// The value with every free symbol at 1; empty where that is not a count (negative, a division by 0).
Count count(const Dim& dim);
std::optional<double> real(const Count& count);

// In the order of reports.
struct EstimateCounts {
  Count macs, arith, special, comparisons, flops, params, param_bytes, bytes_read, bytes_written, bytes;

  // flops / bytes; empty where either is unknown or there are no bytes.
  std::optional<double> intensity() const;
  bool operator==(const EstimateCounts&) const = default;
};
inline constexpr std::pair<const char*, Count EstimateCounts::*> kEstimateCounts[] = {
    {"macs", &EstimateCounts::macs},
    {"arith", &EstimateCounts::arith},
    {"special", &EstimateCounts::special},
    {"comparisons", &EstimateCounts::comparisons},
    {"flops", &EstimateCounts::flops},
    {"params", &EstimateCounts::params},
    {"param_bytes", &EstimateCounts::param_bytes},
    {"bytes_read", &EstimateCounts::bytes_read},
    {"bytes_written", &EstimateCounts::bytes_written},
    {"bytes", &EstimateCounts::bytes},
};

struct EstimateFormulas {
  std::string macs, flops, bytes;  // flops is empty under Convention::Pagoda
};

// The file.
struct EstimateModel {
  std::string path, name;  // as given; of the main graph
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;  // the default domain is spelled ai.onnx
  std::string producer;                        // name and version
  std::size_t nodes = 0, functions = 0;        // of the main graph; model-local
};

// What an engine does once, when it loads the model: the work of nodes that compute on stored tensors alone.
struct EstimateAtLoad {
  Count macs, arith, special, flops;
};

struct EstimateTotals {
  EstimateCounts counts;
  std::optional<double> intensity;  // empty where counts are only lower bounds
  Count activation_peak_bytes;
  std::int64_t unmodelled_nodes = 0;
  std::vector<std::string> unmodelled_ops;
  bool partial = false;                   // some node is not modelled: counts are lower bounds
  std::optional<EstimateAtLoad> at_load;  // part of no count; empty: none
};

struct EstimateNode {
  std::size_t index = 0;              // place in the order of execution
  std::string name, op_type, domain;  // in the file; the name may be empty or repeat
  std::string scope;                  // bodies entered, then the module path that the exporter recorded
  std::string body;                   // the bodies alone; empty in the main graph
  std::vector<std::string> inputs;    // names of values; empty for an omitted one
  std::vector<OutputInfo> outputs;
  EstimateCounts counts;
  ElementType precision = ElementType::Undefined;         // of the work; Undefined: none
  ElementType dequantized_from = ElementType::Undefined;  // see NodeReport
  Mark mark = Mark::Compute;
  std::int32_t group = -1;  // index in EstimateTraffic::groups; -1 for what runs nothing
  std::string problem;      // why counts are empty
  std::optional<EstimateFormulas> symbolic;

  bool runs_nothing() const { return mark == Mark::View || mark == Mark::Host || mark == Mark::Folded; }
  // Its own name, else that of its first output, else "#3".
  std::string shown_name() const;
  // "Conv", "com.microsoft.FusedMatMul".
  std::string qualified_op() const;
};

// "Conv" of the default domain, spelled "ai.onnx" or left empty; "com.microsoft.FusedMatMul" of another.
std::string qualified(const std::string& domain, const std::string& op_type);

// "float32", "optional(sequence(float32))".
std::string type_name(const TensorType& type);

// The sizes of a tensor with free dims at 1; empty where the rank or a size is not known.
std::optional<std::vector<Int>> sizes(const TensorType& type);
// Stored bytes of a tensor; empty where its type has no width or a size is not known.
std::optional<double> stored_bytes(const TensorType& type);

// Sums over the modelled nodes of one operator; empty where none is modelled.
struct EstimateType {
  std::string op_type, domain;
  std::int64_t nodes = 0, unmodelled_nodes = 0;
  EstimateCounts counts;
  std::optional<double> seconds;  // at least, on the device
  std::optional<EstimateFormulas> symbolic;
};

struct EstimateSymbolic {
  EstimateFormulas totals;
  std::string activation_peak_bytes;  // empty: not known
};

// The key-value cache of a decoder.
struct EstimateCache {
  Dim bytes_per_token, past_bytes;
  Dim shared_bytes, separate_bytes;  // past and present in one buffer, as serving engines bind them; in two
  Dim written_bytes, copied_bytes;   // by a run in place; and on top where each present is a copy
  std::size_t pairs = 0;
};

// The plan in another order of nodes, where that lowers the peak.
struct EstimateReordered {
  Int peak_bytes = 0;
  Count arena_bytes;
  std::vector<std::int64_t> order;
};

// The memory plan. Steps are places in `order`; names are of values, empty for what lives inside a body.
struct EstimateMemory {
  struct Tensor {
    std::string name;
    Int bytes = 0;
    std::int64_t first_step = 0, last_step = 0;
    Count offset;
    std::vector<std::string> shared_by;
  };
  struct Weights {
    ElementType type = ElementType::Undefined;
    std::int64_t tensors = 0;
    Int elements = 0, bytes = 0;
  };
  std::string excludes;
  Int peak_bytes = 0;
  std::size_t peak_step = 0;
  std::string peak_formula;
  std::vector<std::size_t> peak_tensors;  // in `tensors`, largest first
  Count arena_bytes;
  // By step: bytes alive, and the node of the main graph: its place in the file, the name that reports show, operator.
  std::vector<Int> timeline;
  std::vector<std::int64_t> order;
  std::vector<std::string> names, op_types;
  std::vector<Tensor> tensors;
  std::vector<Weights> weights;
  std::optional<EstimateCache> kv_cache;
  std::optional<EstimateReordered> reordered;
  std::vector<std::string> unsized;
};

// A step that checks `tokens` that a draft proposed, and adds one: the expected number that stays, where each is
// accepted with the same chance after the one before it, is (1 − a^(tokens + 1)) / (1 − a) (Leviathan et al., arXiv
// 2211.17192). The draft's own time is not in it.
struct EstimateSpeculation {
  std::int64_t tokens = 0;
  double acceptance = 0;
  double tokens_per_step = 1;
};

// A run of a language model.
struct EstimatePhase {
  Phase phase = Phase::Decode;
  Count tokens;                           // new ones of the whole batch
  Count cache_bytes_per_token;            // that the cache grows by, for the whole batch
  std::optional<double> bytes_per_token;  // moved
  bool is_timed = false;
  std::optional<double> tokens_per_second;  // at most, on the device
  Count sequence_tokens;                    // new ones of each sequence
  // At most: what one sequence gets, and what one of several devices gives.
  std::optional<double> user_tokens_per_second, device_tokens_per_second;
  std::optional<EstimateSpeculation> speculated;
};

struct EstimateGroup {
  Fusion rule = Fusion::None;
  std::vector<std::size_t> nodes;  // indices of nodes
  std::vector<Fusion> joined_by;   // for each, None for the one that the others joined
  EstimateCounts counts;
  Count saved_bytes;
  std::optional<EstimateFormulas> symbolic;
};

struct EstimateTraffic {
  struct Stayed {
    std::string value;
    Int bytes = 0, saved_bytes = 0;
    bool in_memory = false;
  };
  TrafficModel model = TrafficModel::Fused;
  Count bytes_read, bytes_written, bytes;
  std::vector<EstimateGroup> groups;
  std::vector<Stayed> stayed;  // of a resident traffic
};

// Resident bytes that an engine adds to a process: while it loads the model, while it runs it, and at their peak.
struct EstimateEngineMemory {
  Count bytes, low, high;
  double coverage = 0;  // part of networks whose peak the interval is to hold
  Count load_bytes, run_bytes;
};

// What a calibration expects a run to take.
struct EstimatePrediction {
  double seconds = 0;
  std::optional<double> low, high;  // empty when no interval is known
  std::optional<double> coverage;   // part of runs that the interval is to hold
  std::string engine;               // pytorch-amp, llm-serving
  std::string calibration;          // which, and from what
  std::vector<double> nodes;        // seconds by EstimateDocument::nodes; empty where it is of the whole alone
  std::optional<EstimateEngineMemory> memory = {};  // empty: no source states what the engine takes
  // As EstimateEnergy's, with constant power over the predicted time; empty where the device has no constants.
  std::optional<double> joules = {}, joules_per_item = {};
};

// What several devices do together, and one of them alone. See core/parallel.h.
struct EstimateParallel {
  struct Collective {
    CollectiveKind kind = CollectiveKind::AllReduce;
    std::string node;
    Count bytes;
    double seconds = 0;  // at least, over the link
  };
  struct Stage {
    std::size_t begin = 0, end = 0;  // rows
    double seconds = 0;
    Count weight_bytes, cache_bytes, received_bytes;
  };
  ParallelOptions devices;
  LinkRate link;
  std::vector<Collective> collectives;
  ParallelTime time;
  // Of one device; with a pipeline of all its stages.
  Count macs, bytes, weight_bytes, cache_bytes;
  std::int64_t column_products = 0, row_products = 0, whole_products = 0;
  Count whole_weight_bytes;  // of products that every device does in full
  std::string whole_reason;
  std::vector<Stage> stages;  // of a pipeline
};

// The energy of a run by the device's constants, where it takes its least time: no bound, since constants are fitted.
struct EstimateEnergy {
  Precision precision = Precision::Float32;  // whose joules per FLOP are taken: that of most of the work
  double joules_per_flop = 0, joules_per_byte = 0, constant_watts = 0;
  double joules = 0;
  double work_joules = 0, traffic_joules = 0, constant_joules = 0;  // its parts
  std::optional<double> flops_per_joule, joules_per_item;           // an item as in EstimateRoofline::items
  double time_balance = 0, energy_balance = 0;                      // FLOP/B (core/energy.h)
  bool race_to_idle = false;                                        // race_to_halt() of core/energy.h
};

// A prompt's cache handed to a second group of devices, which decodes.
struct EstimateHandover {
  std::string device;
  Count cache_bytes;            // of the whole group
  LinkRate link;                // the slower of the two devices' fastest links, or as given
  double transfer_seconds = 0;  // at least: each device sends its part
  double decode_seconds = 0;    // at least, of the first step there
};

// The least time on a device.
struct EstimateRoofline {
  std::string device, device_name, power_mode;
  bool measured = false;               // read from a ceilings file
  std::optional<Precision> precision;  // asked for instead of the floats' own
  TrafficModel traffic = TrafficModel::Unfused;
  RooflineTotals totals;
  Count items;  // that a run processes: of the batch, in a phase tokens; empty: none is set
  std::optional<double> launch_overhead_seconds;
  bool launch_is_assumed = false;  // nobody published or measured it for this device
  std::optional<EstimatePrediction> predicted;
  // Of several devices: all times are of one step on all of them, those of nodes and groups of one device.
  std::optional<EstimateParallel> parallel;
  std::optional<EstimateEnergy> energy;  // of a training step where one is asked for; empty: no constants are known
  std::optional<EstimateHandover> handover;
  std::vector<RowBound> nodes;   // all, in order of execution
  std::vector<RowBound> groups;  // by index in EstimateTraffic::groups
};

// Memory on the device: what a run needs, and the largest sizes with which it still does. See core/fit.h.
struct EstimateFit {
  Count device_bytes;
  Count weight_bytes, activation_bytes, cache_bytes, gradient_bytes, optimizer_bytes, total_bytes;
  bool at_least = false;                 // a tensor's size is not known: the total is a lower bound
  std::optional<bool> fits;              // empty: the device's memory, or a tensor's size, is not known
  Count largest_batch, longest_context;  // empty: there is no such dim, its size changes nothing, or at_least
  // Of a context: what memory holds, and the table that ends positions; the longest is the smaller of the two.
  Count memory_context = {};
  std::optional<PositionTable> position_table = {};
};
inline constexpr std::pair<const char*, Count EstimateFit::*> kEstimateFit[] = {
    {"device_bytes", &EstimateFit::device_bytes},         {"weight_bytes", &EstimateFit::weight_bytes},
    {"activation_bytes", &EstimateFit::activation_bytes}, {"cache_bytes", &EstimateFit::cache_bytes},
    {"gradient_bytes", &EstimateFit::gradient_bytes},     {"optimizer_bytes", &EstimateFit::optimizer_bytes},
    {"total_bytes", &EstimateFit::total_bytes},
};

// A measured run of these sizes.
struct EstimateMeasured {
  std::string source;
  double seconds = 0;
  std::optional<double> shortest, longest;  // of repeated runs
  std::optional<double> joules;
  std::optional<double> bound_share;  // the least time over the measured one
};

// A change of the request that would shorten the least time of an item: of one of its traffic, precision or batch.
struct EstimateAdvice {
  std::optional<TrafficModel> traffic = std::nullopt;
  std::optional<Precision> precision = std::nullopt;
  std::optional<std::int64_t> batch = std::nullopt;
  double seconds = 0;  // the least time of a run then
  double gain = 1;     // the time of an item now over that then

  std::string change() const;  // as onnx-estimate spells it: "--traffic fused"
};

// The time of a variant under an engine, and which parts of a quantised form the engine does not run quantised.
struct EstimateEngineTime {
  std::string engine;
  double seconds = 0;
  std::optional<double> low, high;                    // empty when no interval is known
  std::vector<std::string> float_products = {};       // nodes that multiply in float16 all the same
  std::vector<std::string> unfused_conversions = {};  // QuantizeLinear and DequantizeLinear that stay kernels
};

// The same model under another device, precision or traffic.
struct EstimateVariant {
  std::string device;  // "orin-agx:30w" in a power mode
  std::optional<Precision> precision;
  TrafficModel traffic = TrafficModel::Unfused;
  Count total_bytes, device_bytes;
  std::optional<bool> fits;
  std::optional<double> seconds, floor_seconds;  // empty: not a row is known
  bool at_least = false;                         // the times are of a part
  Bound bound = Bound::Unknown;                  // of the most time
  std::optional<double> items_per_second;        // at most
  Count largest_batch, longest_context;          // with which it still fits; of a language model's phase
  std::optional<double> joules;                  // by the device's constants at the least time
  std::optional<double> price_per_million;       // items or tokens, at least; where the hour has a price
  std::optional<EstimateEngineTime> predicted;   // under the engine asked for
};

// One part of a training step.
struct EstimateWork {
  Count macs, arith, special, flops, bytes_read, bytes_written;
};

struct EstimateTraining {
  struct Saved {
    SavedKind kind = SavedKind::Input;
    std::string what;
    Count bytes;
  };
  struct Node {
    std::size_t index = 0;
    EstimateWork dx, dw;  // without flops
    Count gradient_bytes, parameter_gradient_bytes, saved_bytes;
    std::vector<Saved> saved;
    bool recomputed = false;
    std::string problem;
  };
  // A piece of the step that runs by itself, in order: forward, what is recomputed, dx and dw of each node, the
  // optimizer.
  struct Row {
    std::size_t node = 0;  // index in nodes; of the optimizer the last
    std::string part;      // "forward", "recomputed", "dx", "dw", "optimizer"
    RowBound bound;        // its flops and bytes, and on a device its least time; Unknown without one
  };
  Optimizer optimizer = Optimizer::Sgd;
  Recompute recompute = Recompute::None;
  Count trained_params;
  EstimateWork forward, backward, dx, dw, recomputed, optimizer_work, step;
  std::optional<RooflineTotals> time;
  Count weight_bytes, master_weight_bytes, gradient_bytes, optimizer_state_bytes, saved_activation_bytes,
      activation_peak_bytes, peak_bytes;
  std::string macs_formula, bytes_formula, saved_activation_formula;
  std::int64_t unmodelled_nodes = 0;
  std::vector<std::string> unmodelled_ops;
  bool partial = false;
  std::vector<Node> nodes;
  std::vector<Row> rows;
};

// In the order of reports: backward is dx (gradients of activations) and dw (of parameters), step is all of them.
inline constexpr std::pair<const char*, EstimateWork EstimateTraining::*> kTrainingParts[] = {
    {"forward", &EstimateTraining::forward},
    {"backward", &EstimateTraining::backward},
    {"dx", &EstimateTraining::dx},
    {"dw", &EstimateTraining::dw},
    {"recomputed", &EstimateTraining::recomputed},
    {"optimizer", &EstimateTraining::optimizer_work},
    {"step", &EstimateTraining::step},
};
inline constexpr std::pair<const char*, Count EstimateTraining::*> kTrainingMemory[] = {
    {"weight_bytes", &EstimateTraining::weight_bytes},
    {"master_weight_bytes", &EstimateTraining::master_weight_bytes},
    {"gradient_bytes", &EstimateTraining::gradient_bytes},
    {"optimizer_state_bytes", &EstimateTraining::optimizer_state_bytes},
    {"saved_activation_bytes", &EstimateTraining::saved_activation_bytes},
    {"activation_peak_bytes", &EstimateTraining::activation_peak_bytes},
    {"peak_bytes", &EstimateTraining::peak_bytes},
};

// A point of a sweep as it was measured.
struct EstimateMeasuredPoint {
  std::optional<double> seconds, joules;
};

struct EstimateSweep {
  std::vector<std::string> dims;
  std::vector<std::string> symbols;  // that stand for the dims in formulas
  Count device_bytes;                // of memory; empty: not known, or no device
  TrafficModel traffic = TrafficModel::Unfused;
  std::optional<RidgeCrossing> ridge;
  std::vector<SweepPoint> points;               // sizes in the order of dims
  std::vector<EstimateMeasuredPoint> measured;  // by point; empty where no measurement was given
  std::vector<std::optional<double>> joules;  // by point, as EstimateEnergy::joules; empty where no constants are known
};

// Of a BudgetResult.
struct EstimateBudget {
  BudgetKind budget = BudgetKind::Flops;
  std::string limit;  // as it was given
  Verdict verdict = Verdict::CannotTell;
  std::optional<double> value;
  std::vector<std::string> causes;
};

struct EstimateDocument {
  std::string tool;
  EstimateModel model;
  std::map<std::string, std::optional<std::int64_t>> bindings;  // by dim of the inputs; empty while it is free
  std::map<std::string, std::string> renamed;  // names that are no identifiers, and what stands for them in formulas
  Convention count = Convention::Flops;
  std::optional<Precision> precision;  // asked for instead of the file's: of all numbers
  EstimateTotals totals;
  std::vector<EstimateNode> nodes;
  std::optional<std::vector<EstimateType>> types;  // by operator: such a file has no nodes
  std::optional<EstimateSymbolic> symbolic;
  std::vector<Symbol> symbols;
  std::optional<EstimateMemory> memory;
  std::optional<EstimatePhase> phase;
  std::optional<EstimateTraffic> traffic;
  std::optional<EstimateRoofline> roofline;
  std::optional<EstimateFit> fit;
  std::optional<EstimateMeasured> measured;
  std::vector<EstimateAdvice> advice;  // the most gain first
  std::vector<EstimateVariant> variants;
  std::optional<EstimateTraining> training;
  std::optional<EstimateSweep> sweep;
  std::optional<std::vector<EstimateBudget>> budgets;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> unknown;  // members of a file that this version does not know, each once: "nodes.colour"

  // The bound of a node on the device; null without one.
  const RowBound* bound_of(const EstimateNode& node) const;
  // Of a kernel of EstimateDocument::traffic; null without a device.
  const RowBound* bound_of_group(std::size_t group) const;
  // Nothing is missing from the numbers that were asked for.
  bool is_complete() const;
};

// The nodes with the most time on the device, else with the most FLOPs, those first; at most `top`.
std::vector<const EstimateNode*> heaviest(const EstimateDocument& estimate, std::size_t top);

// Of the rows only the `top` heaviest; 0: all.
std::string write_estimate(const EstimateDocument& estimate, std::size_t top = 0);

// Throws Error for any other document, naming the member and what was expected. Members that are absent or null
// are empty; those that this version does not know are named in `unknown`. Counts beyond 64 bits are read as doubles.
EstimateDocument parse_estimate(std::string_view json, std::string_view subject);
EstimateDocument load_estimate(const std::string& path);

}  // namespace pagoda::documents
#pragma GCC visibility pop
