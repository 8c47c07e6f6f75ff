// The estimate of a model, schema pagoda.estimate/1 (data/schemas/estimate.schema.json): the estimator's results as
// values. Tables, charts, pages and joins all read this type; files are its JSON form.
//
//   EstimateDocument estimate = load_estimate("resnet50.json");
//   estimate.totals.counts.flops;                      // empty: not known, never 0
//   std::ofstream("copy.json") << write_estimate(estimate);
//
// Counts are exact integers. If dims are free, counts take every free dim and every data-dependent size as 1; formulas
// give the general case.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/base/integer.h"
#include "pagoda/base/name.h"
#include "pagoda/base/small_vector.h"
#include "pagoda/core/analysis.h"
#include "pagoda/core/budget.h"
#include "pagoda/core/conventions.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/device.h"
#include "pagoda/core/engine.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/parallel.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/sweep.h"
#include "pagoda/core/traffic.h"
#include "pagoda/core/train.h"

#pragma GCC visibility push(default)
namespace pagoda::base {
class CsvLine;
class JsonWriter;
}  // namespace pagoda::base

namespace pagoda::documents {

using base::Name;

// A count, or empty where it is not known: a std::optional<Int> in half its size, since documents hold millions of
// them. It knows whether it is only a lower bound, because a size that the data decide was taken as 1: people then read
// "≥ 5".
class Count {
 public:
  constexpr Count() = default;
  constexpr Count(std::nullopt_t) {}
  template <typename Integer>
  requires(std::integral<Integer> || std::same_as<Integer, Int>) constexpr Count(Integer value)
      : code_(code_of(value)) {}
  constexpr Count(const std::optional<Int>& value) : code_(value ? code_of(*value) : kUnknown) {}
  constexpr operator std::optional<Int>() const { return has_value() ? std::optional(**this) : std::nullopt; }

  constexpr bool has_value() const { return code_ != kUnknown; }
  constexpr explicit operator bool() const { return has_value(); }
  constexpr Int operator*() const { return code_ >> 1; }
  constexpr Int value_or(Int otherwise) const { return has_value() ? **this : otherwise; }
  // Whether the value is only a lower bound.
  constexpr bool is_at_least() const { return has_value() && (code_ & 1) != 0; }
  // The same value as a lower bound; with `is_bound` false, as it is.
  constexpr Count at_least(bool is_bound = true) const {
    Count bound = *this;
    if (is_bound && has_value()) bound.code_ |= 1;
    return bound;
  }
  // Not known unless both are; a lower bound if either is.
  friend constexpr Count operator+(const Count& a, const Count& b) {
    return a && b ? Count(*a + *b).at_least(a.is_at_least() || b.is_at_least()) : Count();
  }
  friend constexpr bool operator==(const Count&, const Count&) = default;
  friend constexpr auto operator<=>(const Count&, const Count&) = default;  // empty before all numbers

 private:
  static constexpr Int kLimit = Int{1} << 126;  // counts beyond it are not known
  static constexpr Int kUnknown = -kLimit * 2;
  static constexpr Int code_of(Int value) { return value > -kLimit && value < kLimit ? value * 2 : kUnknown; }

  Int code_ = kUnknown;  // twice the value, + 1 if it is a lower bound
};

void write_json(base::JsonWriter& json, const Count& count);  // null where it is not known
void write_csv(base::CsvLine& line, const Count& count);      // "" where it is not known

// The value with every free symbol at 1; empty if that is not a valid count (negative, or a division by 0).
Count count(const Dim& dim);
std::optional<double> real(const Count& count);

// In the order of reports.
struct EstimateCounts {
  Count macs, arith, special, comparisons, flops, params, param_bytes, bytes_read, bytes_written, bytes;

  // flops / bytes; empty if either is unknown or only a lower bound, or bytes is 0.
  std::optional<double> intensity() const;
  // `flops` by Convention::Flops, whatever the estimate's convention.
  Count plain_flops() const;
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
  Name macs, flops, bytes;  // flops is empty under Convention::Pagoda
};

// The file.
struct EstimateModel {
  std::string path, name;  // path as given; name of the main graph
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets = {};  // the default domain is spelled ai.onnx
  std::string producer;                             // name and version
  std::size_t nodes = 0, functions = 0;             // nodes of the main graph; model-local functions
};

struct EstimateTotals {
  EstimateCounts counts;
  std::optional<double> intensity;  // empty if counts are only lower bounds
  Count weight_bytes;               // of counts.param_bytes, what an engine holds after folding
  Count activation_peak_bytes;
  std::int64_t unmodelled_nodes = 0;
  std::vector<std::string> unmodelled_ops;
  bool partial = false;  // some nodes are not modelled: counts are lower bounds
  // Work that an engine does once, when it loads the model: that of nodes whose inputs are all stored tensors. Not
  // included in any other count; empty: none.
  std::optional<EstimateCounts> at_load;
};

struct EstimateNode {
  std::size_t index = 0;              // place in the order of execution
  Name name, op_type, domain;         // as in the file; the name may be empty or not unique
  Name scope;                         // enclosing bodies, then the module path that the exporter recorded
  Name body;                          // the enclosing bodies only; empty in the main graph
  base::SmallVector<Name, 2> inputs;  // of values; empty for an omitted one
  base::SmallVector<OutputInfo, 1> outputs;
  EstimateCounts counts;
  ElementType precision = ElementType::Undefined;         // of the work; Undefined: no work
  ElementType dequantized_from = ElementType::Undefined;  // see NodeReport
  Mark mark = Mark::Compute;
  std::int32_t group = -1;  // index in EstimateTraffic::groups; -1 for nodes that run nothing
  Name problem;             // why counts are empty
  std::optional<EstimateFormulas> symbolic;

  bool runs_nothing() const { return mark == Mark::View || mark == Mark::Host || mark == Mark::Folded; }
  // Its own name, else the name of its first output, else "#3".
  Name shown_name() const;
  // "Conv", "com.microsoft.FusedMatMul".
  std::string qualified_op() const;
};

// "Conv" for the default domain ("ai.onnx" or empty); "com.microsoft.FusedMatMul" for other domains.
std::string qualified(std::string_view domain, std::string_view op_type);

// "float32", "optional(sequence(float32))".
std::string type_name(const TensorType& type);

// The sizes of a tensor with free dims at 1; empty if the rank or a size is not known.
std::optional<std::vector<Int>> sizes(const TensorType& type);
// Stored bytes of a tensor; empty if its type has no fixed width or a size is not known.
std::optional<double> stored_bytes(const TensorType& type);

// Sums over the modelled nodes of one operator; counts are empty if none is modelled.
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

// The memory plan. Files have no `peak_formula` but its text, since formulas can be too long to be read back.
struct EstimateMemory : MemoryPlan {
  std::string excludes;
  std::string peak_text;              // peak_formula, factored; empty: not known
  std::vector<Name> names, op_types;  // by step, of the node of the main graph: the name in reports, the operator
  bool is_at_least = false;           // the peak depends on a size that the data decide
};

// A step that verifies `tokens` draft tokens and adds one. If each is accepted with probability a given that the one
// before it was, the expected number of tokens per step is (1 − a^(tokens + 1)) / (1 − a) (Leviathan et al., arXiv
// 2211.17192). The draft model's own time is not included.
struct Speculation {
  std::int64_t tokens = 0;
  double acceptance = 0;
  double tokens_per_step = 1;  // set by make_estimate()
};

// A run of a language model.
struct EstimatePhase {
  Phase phase = Phase::Decode;
  Count tokens;                           // new tokens of the whole batch
  Count cache_bytes_per_token;            // growth of the cache, for the whole batch
  std::optional<double> bytes_per_token;  // moved
  bool is_timed = false;
  std::optional<double> tokens_per_second;  // at most, on the device
  Count sequence_tokens;                    // new tokens of each sequence
  // Upper bounds: the rate of one sequence, and the rate per device of several devices.
  std::optional<double> user_tokens_per_second, device_tokens_per_second;
  std::optional<Speculation> speculated;
};

struct EstimateGroup {
  Fusion rule = Fusion::None;
  std::vector<std::size_t> nodes;  // indices of nodes
  std::vector<Fusion> joined_by;   // for each node; None for the node that the others joined
  EstimateCounts counts;
  Count saved_bytes;
  std::optional<EstimateFormulas> symbolic = {};
};

struct EstimateTraffic {
  TrafficModel model = TrafficModel::Fused;
  Count bytes_read, bytes_written, bytes;
  std::string bytes_formula = {};  // set where EstimateDocument::symbolic is
  std::vector<EstimateGroup> groups = {};
  std::vector<ResidentTensor> stayed;
};

// The time of a run as a calibration predicts it, whose `seconds` are set.
struct EstimatePrediction : Prediction {
  std::string engine;       // pytorch-amp, llm-serving
  std::string calibration;  // its name and what it was fitted to; not stored for variants
  // As in EstimateEnergy, with constant power over the predicted time; empty if the device has no energy constants.
  std::optional<double> joules = {}, joules_per_item = {};
  // Of variants: items, or tokens, of all devices and of each one.
  std::optional<double> items_per_second = {}, device_items_per_second = {};
};

// The work of several devices, and of each one. See core/parallel.h.
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
  std::vector<Collective> collectives = {};
  ParallelTime time;
  // Of one device; with a pipeline, summed over all stages.
  Count macs, bytes, weight_bytes, cache_bytes;
  std::int64_t column_products = 0, row_products = 0, whole_products = 0;
  Count whole_weight_bytes;  // of products that are replicated on every device
  std::string whole_reason;
  std::vector<Stage> stages = {};  // of a pipeline
};

// The energy of a run at its time bound, by the device's constants. Not a bound itself, since constants are fitted.
struct EstimateEnergy {
  Precision precision = Precision::Float32;  // the precision of most of the work; selects joules_per_flop
  double joules_per_flop = 0, joules_per_byte = 0, constant_watts = 0;
  double joules = 0;
  double work_joules = 0, traffic_joules = 0, constant_joules = 0;  // its parts
  std::optional<double> flops_per_joule, joules_per_item;           // items as in EstimateRoofline::items
  double time_balance = 0, energy_balance = 0;                      // FLOP/B (core/energy.h)
  bool race_to_idle = false;                                        // race_to_halt() of core/energy.h
};

// A prompt's cache handed to a second group of devices, which decodes.
struct EstimateHandover {
  std::string device;
  Count cache_bytes;            // of the whole group
  LinkRate link;                // the slower of the two devices' fastest links, or as given
  double transfer_seconds = 0;  // lower bound: each device sends its part
  double decode_seconds = 0;    // lower bound for the first decode step
};

// The lower bound on the time on a device. Files state neither `missing` nor `assumed`.
struct EstimateRoofline : Roofline {
  std::string device, device_name, power_mode;
  bool measured = false;                         // read from a ceilings file
  std::optional<Precision> precision;            // requested in place of the model's float types
  TrafficModel traffic = TrafficModel::Unfused;  // that of `totals`, `rows` and `groups`
  // The bounds for engines that fuse, and for those that fuse nothing, whatever `traffic` is. Empty: not known.
  std::optional<double> fused_seconds, unfused_seconds;
  Count items;  // per run: the batch size, or tokens in a phase; empty: not set
  std::optional<double> launch_overhead_seconds;
  bool launch_is_assumed = false;  // no published or measured value for this device
  std::optional<EstimatePrediction> predicted;
  // For several devices: totals are of one step on all of them, times of nodes and groups are of one device.
  std::optional<EstimateParallel> parallel;
  std::optional<EstimateEnergy> energy;  // of the training step if one is requested; empty: no constants known
  std::optional<EstimateHandover> handover;
};

// Memory on the device: what a run needs, and the largest sizes that still fit. See core/fit.h.
// What an engine takes of a device's memory for a run.
struct EngineFit {
  struct Option {
    std::string option;  // as the engine spells it: "arena_extend_strategy=kSameAsRequested"
    Count total_bytes;
  };
  std::string engine;                           // "onnxruntime-cuda"
  Count weight_bytes;                           // of tensors that nodes on the device read, and of copies it keeps
  Count arena_bytes;                            // what its arena requests for them
  Count workspace_bytes = {}, pool_bytes = {};  // empty: not known, or the engine has none
  Count total_bytes = {};                       // of the arena with the activations, without what is not known
  Count total_low_bytes = {}, total_high_bytes = {};  // by the order of loading, which differs from run to run
  std::vector<Option> options;  // that take less
  // Of a pool: what is left for a cache, in blocks, and sequences of `context` tokens that fit. Empty: no such pool, or
  // no phase is asked for.
  Count cache_bytes = {}, blocks = {}, tokens = {}, context = {}, users = {};
};

struct EstimateFit {
  Count device_bytes;
  Count weight_bytes, activation_bytes, cache_bytes, gradient_bytes, optimizer_bytes, total_bytes;
  bool at_least = false;     // some tensor's size is not known or up to the data: the total is a lower bound
  Count most_bytes = {};     // if it is up to the data alone: the largest total
  std::optional<bool> fits;  // empty: the device's memory or a tensor's size is not known
  Count largest_batch = {}, longest_context = {};  // empty: no such dim, its size has no effect, or at_least
  // Limits of the context: by memory, and by a position table; longest_context is the smaller of the two.
  Count memory_context = {};
  std::optional<PositionTable> position_table = {};
  std::optional<EngineFit> engine = {};
};
inline constexpr std::pair<const char*, Count EstimateFit::*> kEstimateFit[] = {
    {"device_bytes", &EstimateFit::device_bytes},         {"weight_bytes", &EstimateFit::weight_bytes},
    {"activation_bytes", &EstimateFit::activation_bytes}, {"cache_bytes", &EstimateFit::cache_bytes},
    {"gradient_bytes", &EstimateFit::gradient_bytes},     {"optimizer_bytes", &EstimateFit::optimizer_bytes},
    {"total_bytes", &EstimateFit::total_bytes},
};

// The meaning of the seconds of a measured run.
enum class MeasuredBasis : std::uint8_t {
  Run,      // wall time of a whole run
  Busy,     // at least one of its kernels ran; the run takes longer
  Kernels,  // the sum of its kernels, which may be more or less than the run takes
};
std::string_view to_string(MeasuredBasis basis);  // "run", "busy", "kernels"

// A measured run at these sizes.
struct EstimateMeasured {
  std::string source;
  MeasuredBasis basis = MeasuredBasis::Run;
  double seconds = 0;
  bool at_least = false;                    // the times of some kernels are not known
  std::optional<double> shortest, longest;  // of repeated runs
  std::optional<double> joules;
  std::optional<double> bound_share;   // the time bound / the measured time; none of a time with `at_least`
  std::optional<Precision> precision;  // of its products, if they ran in another format than the file's
};

// What a change is for: making the run fit the device, or lowering its time.
enum class AdviceKind : std::uint8_t {
  Fit,        // `precision`, `batch` or `devices`: memory is too small for the run as requested
  Launch,     // launches take longer than the work: capture the run, for example as a CUDA graph
  Traffic,    // `traffic`
  Precision,  // `precision`
  Batch,      // `batch`
};
std::string_view to_string(AdviceKind kind);  // "fit", "launch", "traffic", "precision", "batch"

// A change that would make the run fit, or lower its time per item. At most one of the optional members is set.
struct EstimateAdvice {
  AdviceKind kind = AdviceKind::Traffic;
  std::optional<TrafficModel> traffic = std::nullopt;
  std::optional<Precision> precision = std::nullopt;
  std::optional<std::int64_t> batch = std::nullopt, devices = std::nullopt;  // devices: tensor-parallel
  bool needs_export = false;  // the file fixes the batch: nodes may mix the items of another one
  // The time bound of a run after the change. It includes launches, unless the change is to capture them.
  double seconds = 0;
  double gain = 1;  // time per item before / after the change, both with launches

  std::string change = {};  // as the front end of the estimate spells it: "--traffic fused"
};

// The prefill of a prompt by the device or devices of a decode step.
struct EstimatePrompt {
  std::int64_t tokens = 0, sequences = 1;  // one sequence, or one for each group of experts
  std::optional<double> seconds;           // lower bound
  bool at_least = false;                   // some rows are not known
  std::optional<EstimatePrediction> predicted;
};

// The same model with a different device, number of devices, precision or traffic model. Its memory is that of the
// device that needs the most: the total, and of several devices (or of one beside several) weights and cache. Its
// largest sizes are set in a language model's phase.
struct EstimateVariant : EstimateFit {
  std::string device;  // "orin-agx:30w" in a power mode
  std::optional<Precision> precision;
  TrafficModel traffic = TrafficModel::Unfused;
  std::optional<double> seconds, floor_seconds;  // empty: no row is known
  std::optional<double> launched_seconds;        // one launch a kernel; empty: the device states no launch overhead
  bool is_part = false;  // some rows are not known, or sizes up to the data: the times are of a part of the work
  Bound bound = Bound::Unknown;                   // the bound that accounts for the most time
  std::optional<double> items_per_second;         // at most
  std::optional<double> joules;                   // by the device's constants at the time bound
  std::optional<double> price_per_million;        // per million items or tokens, lower bound; if price_per_hour is set
  std::optional<EstimatePrediction> predicted;    // under the requested engine
  std::optional<ParallelOptions> parallel;        // how several devices share the model; set for one beside several
  std::optional<double> device_items_per_second;  // of each device, at most
  std::string refused;  // why these devices cannot share the model; the numbers are then unknown
  std::optional<EstimatePrompt> prompt;

  std::int64_t devices() const { return parallel ? parallel->devices() : 1; }
  // With launches, which an engine that captures no graph waits for.
  std::optional<double> least_seconds() const {
    return seconds ? std::max(*seconds, launched_seconds.value_or(0)) : seconds;
  }
};

struct EstimateTraining {
  struct Saved {
    SavedKind kind = SavedKind::Input;
    std::string what;
    Count bytes;
  };
  struct Node {
    std::size_t index = 0;
    EstimateCounts dx, dw;  // without flops
    Count gradient_bytes, parameter_gradient_bytes, saved_bytes;
    std::vector<Saved> saved;
    bool recomputed = false;
    std::string problem;
  };
  // A separately executed part of the step, in order: forward, recomputation, dx and dw of each node, the optimizer.
  struct Row {
    std::size_t node = 0;  // index in nodes; for the optimizer the last one
    std::string part;      // "forward", "recomputed", "dx", "dw", "optimizer"
    RowBound bound;        // its flops and bytes, and its time bound; Unknown without a device
  };
  Optimizer optimizer = Optimizer::Sgd;
  Recompute recompute = Recompute::None;
  Count trained_params;
  EstimateCounts forward, backward, dx, dw, recomputed, optimizer_work, step;  // without params
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

// In the order of reports: backward is dx (gradients of activations) plus dw (gradients of parameters); step is the
// total.
inline constexpr std::pair<const char*, EstimateCounts EstimateTraining::*> kTrainingParts[] = {
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

// One size of a sweep. Unknown numbers are empty, and all are where the model does not work at the size.
struct EstimatePoint {
  std::vector<std::int64_t> sizes;  // in the order of EstimateSweep::dims
  EstimateCounts counts;
  std::optional<double> intensity;
  Count activation_peak_bytes, memory_bytes;
  Count items;                         // of one run; empty without a swept batch or requested items
  std::optional<RooflineTotals> time;  // on the device
  Bound bound = Bound::Unknown;
  std::optional<double> joules;                                            // as EstimateEnergy::joules
  std::optional<double> predicted_seconds, predicted_low, predicted_high;  // as in EstimatePrediction
  std::optional<double> measured_seconds, measured_joules;                 // of the fastest run
};

// A size of a sweep at which something ends that the time or the memory of an engine depends on.
struct EstimateCliff {
  std::int64_t size = 0;
  std::string cause;
};

// The smallest size of a sweep whose rate is within 5 % of the best.
struct EstimateBest {
  std::int64_t size = 0;
  double share = 1;  // of the best rate
};

struct EstimateSweep {
  std::vector<std::string> dims;
  std::vector<std::string> symbols;  // the symbols of the dims in formulas
  Count device_bytes;                // memory capacity; empty: not known, or no device
  TrafficModel traffic = TrafficModel::Unfused;
  std::optional<RidgeCrossing> ridge;
  // Of one swept dim on which the items of a run depend. Rates are predicted, or bounds with launches; sizes that do not
  // fit do not count.
  std::optional<EstimateBest> best;
  std::vector<EstimateCliff> cliffs;  // of one swept dim on a device, in order
  std::vector<EstimatePoint> points;
  bool has_joules = false;          // energy constants are known
  bool has_predictions = false;     // a prediction was requested
  bool has_measurements = false;    // measured runs were given
  std::string engine, calibration;  // of the predictions, as in EstimatePrediction
};

// Predicted times by the engines of both sides: nodes one after another, each on its side, and then the copies.
struct PlacementPrediction {
  struct Time {
    std::optional<double> seconds, low, high;  // no interval where an engine states none
  };
  std::optional<Time> on_provider, on_cpu;  // all nodes on one side; empty: see `missing`
  std::optional<Time> placed, cured;
  std::vector<std::string> missing;  // why times are not known
};

// Lower bounds on a run, if the CPU has a device of its own: nodes one after another, each on its side. Copies
// overlap with work.
struct PlacementTimes {
  std::string host_device;
  std::string link;                                    // of the device; empty: none is known
  double on_provider_seconds = 0, on_cpu_seconds = 0;  // all nodes on one side
  double placed_seconds = 0;
  std::optional<double> copy_seconds;   // of all copies, in placed_seconds; empty: some size or the link is not known
  std::optional<double> cured_seconds;  // empty: nothing is cured
  std::optional<PlacementPrediction> predicted;  // if the request predicts
};
// A placement once the cures of all reasons are applied.
struct PlacementCured {
  std::int64_t nodes = 0;  // still on the CPU
  std::int64_t parts = 0, copies = 0;
  Count copied_bytes;
};

// Where an execution provider of ONNX Runtime puts the nodes of the main graph: on itself or on the CPU.
struct EstimatePlacement {
  struct Node {
    std::size_t index = 0;   // EstimateNode::index
    std::string on;          // "provider", "cpu", "folded", "fused" or "unknown": core::PlacedOn
    std::int64_t part = -1;  // its part, from 0; -1: not on the provider
    std::string reason;      // why it is not; on the provider: why it may be refused
  };
  // Nodes that stay on the CPU, and what they take of the estimate.
  struct Left {
    std::int64_t nodes = 0;
    Count flops, bytes;             // unfused
    std::optional<double> seconds;  // of the bound on the estimate's device; empty without one
  };
  struct Reason : Left {
    std::string reason;
    std::string cure;                    // what lets the provider take them; empty: nothing known
    std::vector<std::string> operators;  // most nodes first
    // Of a reason that only the provider's closed check knows: such nodes that it refused in answers, and of how many.
    std::optional<std::int64_t> refused, answers;
  };
  // A tensor that a run copies between memories. Inputs and outputs of the model are not listed unless both sides read
  // them.
  struct Copy {
    base::Name tensor;
    Count bytes;
    bool is_to_host = false;
  };
  std::string provider, name, version;  // "cuda", "ONNX Runtime, CUDA", "1.31.1"
  bool is_judged = false;               // its rules were compared with answers of the runtime
  std::string form;                     // "plain": the nodes of the file; "default": as the runtime runs it
  std::int64_t on_provider = 0, folded = 0, fused = 0, unknown = 0;  // nodes
  std::int64_t in_bodies = 0;  // nodes in bodies of If, Loop and Scan, which are not judged
  std::int64_t parts = 0;      // of nodes on the provider that no path through the CPU separates
  // Why the runtime refuses the model: a node for which neither side has a kernel. Empty: nothing speaks against it.
  std::string refused;
  Left off;  // nodes on the CPU
  std::vector<Copy> copies;
  Count copied_bytes;
  std::vector<Reason> reasons;          // the most seconds first, then FLOPs, bytes and nodes
  std::vector<Reason> doubts;           // why nodes on the provider may be refused
  std::optional<PlacementCured> cured;  // empty: no reason has a cure
  std::optional<PlacementTimes> times;
  std::vector<Node> nodes;  // by index; nodes of bodies go with theirs, and have none

  // The part of the nodes that run which is not on the provider, or is not known to be, 0 … 1.
  double off_provider() const {
    const std::int64_t open = unknown + in_bodies, run = on_provider + off.nodes + open;
    return run > 0 ? static_cast<double>(off.nodes + open) / static_cast<double>(run) : 0;
  }
  // The model runs, with no more than this part off the provider.
  bool keeps(double most_off) const { return refused.empty() && off_provider() <= most_off; }
};

// Nodes that ONNX Runtime makes one node, by a pattern that has its name.
struct EstimateFused {
  std::string pattern;             // "BiasGelu"
  std::vector<std::size_t> nodes;  // EstimateNode::index
};
// Nodes that nearly match a pattern.
struct EstimateUnfused {
  std::string pattern;
  std::vector<std::size_t> nodes;
  std::string condition;            // the first one that fails, in words
  std::vector<std::string> others;  // that fail, too
  std::optional<double> seconds;    // what one kernel would save on the device; empty: no device, or a size is open
  std::string cure;                 // empty: none is known
};

struct EstimateDocument {
  std::string tool;
  EstimateModel model;
  std::map<std::string, std::optional<std::int64_t>> bindings;  // by dim of the inputs; empty: the dim is free
  // Dims without a value, as the file names them, other than the batch and those that the phase or a sweep sets. If
  // there are any, counts are those at 1, and times, fits and largest sizes are not known.
  std::vector<std::string> unset;
  // The table of positions that has fewer rows than the sizes take, with both numbers: the model cannot run so. Empty:
  // none has.
  std::string exceeded_table;
  // Why no engine can run the model at the sizes that were asked for: the table, or a node and its reason. Empty:
  // nothing speaks against it. Times are not known then.
  std::string cannot_run;
  std::map<std::string, std::string> renamed;  // names that are not identifiers → their symbols in formulas
  Convention count = Convention::Flops;
  std::optional<Precision> precision;  // requested in place of the model's own, for all floats
  EstimateTotals totals;
  std::vector<EstimateNode> nodes;
  std::optional<std::vector<EstimateType>> types;  // by operator; a file with types has no nodes
  std::optional<EstimateSymbolic> symbolic;
  std::vector<Symbol> symbols;
  std::optional<EstimateMemory> memory;
  std::optional<EstimatePhase> phase;
  std::optional<EstimateTraffic> traffic;
  std::optional<EstimateRoofline> roofline;
  std::optional<EstimateFit> fit;
  std::optional<EstimateMeasured> measured;
  std::vector<EstimateAdvice> advice;  // what makes the run fit, then the largest gain first
  std::vector<EstimateVariant> variants;
  std::optional<EstimateTraining> training;
  std::optional<EstimateSweep> sweep;
  std::vector<EstimatePlacement> placement;          // by requested provider
  std::string fused_by;                              // "ONNX Runtime, CUDA 1.31.1"; empty: it was not asked
  std::vector<EstimateFused> fused;
  std::vector<EstimateUnfused> unfused;              // the most seconds first
  std::optional<std::vector<BudgetResult>> budgets;  // files store the limits as text
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> unknown;  // members that this version does not know, each listed once: "nodes.colour"

  // The totals with the bytes of `traffic`, which times hold; without it those of `totals`, which are always unfused.
  EstimateCounts moved() const;
  // FLOPs per byte moved; empty if counts are only lower bounds.
  std::optional<double> moved_intensity() const;
  // The bound of a node on the device; null without a device.
  const RowBound* bound_of(const EstimateNode& node) const;
  // Where the first provider puts the node; null if it was not asked, or not about this node.
  const EstimatePlacement::Node* place_of(const EstimateNode& node) const;
  // The bound of a kernel of EstimateDocument::traffic; null without a device.
  const RowBound* bound_of_group(std::size_t group) const;
  // Whether all requested numbers are present, and the model can run so.
  bool is_complete() const;
  // Whether the sizes are given and the model can run so: what depends on time is known where there is a device.
  bool can_run() const { return unset.empty() && cannot_run.empty(); }
};

// Up to `top` nodes, most time on the device first; without a device, most FLOPs first.
std::vector<const EstimateNode*> heaviest(const EstimateDocument& estimate, std::size_t top);

// Writes only the `top` heaviest rows; 0: all.
std::string write_estimate(const EstimateDocument& estimate, std::size_t top = 0);

// Throws Error for any other document, naming the member and what was expected. Absent and null members are left empty;
// members unknown to this version are listed in `unknown`. Counts beyond 64 bits are read as doubles.
EstimateDocument parse_estimate(std::string_view json, std::string_view subject);
EstimateDocument load_estimate(const std::string& path);

}  // namespace pagoda::documents
#pragma GCC visibility pop
