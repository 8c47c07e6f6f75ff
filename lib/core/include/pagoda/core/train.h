// The cost and memory of a training step, derived from the inference graph: forward, backward, optimizer.
//
//   Analysis analysis = analyze(model, {.symbolic_batch = true});
//   Training training = train(model, analysis, {.optimizer = Optimizer::AdamW});
//   flops(training.totals.step);                        // a formula in "batch"
//   training.memory.saved_activation_bytes;             // what forward keeps for backward
//   train(model, analysis, {.recompute = Recompute::Pointwise}).memory.activation_peak_bytes;
//
// The rules. The trained parameters are the floating-point initializers of rank 1 or more that reach an output through
// differentiable operators (an initializer of rank 0 is a literal; BatchNormalization's running statistics are not
// parameters; Constant nodes and integers are not trained; a mask stored as such an initializer looks like a parameter,
// so name it in `frozen`). Every floating-point output that depends on a parameter receives a gradient; the loss after
// the outputs is not counted. An operator computes the gradient of an input only where that input leads to a trained
// parameter (or to an input named in `inputs_with_gradient`): the first layer has none. A contraction's gradients cost
// its forward multiply-accumulates each. A broadcast operand's gradient is summed: n elements into m take n − m
// additions. A value that k operators read has k gradients: k − 1 additions of all its elements. Bytes are those of
// "unfused": each part of a row's backward, that for activations (dx) and that for parameters (dw), reads every
// distinct byte it needs once and writes its gradients once. Renamed gradients (of views, of an addition) move nothing.
//
// BatchNormalization and Dropout run in training mode whatever the file says: batch statistics, a mask of one byte per
// element. Values that depend only on parameters are computed in every step, although inference does it once
// (`folded`).
//
// An operator without a backward rule is reported; its own backward counts as 0 and the totals are lower bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/cost.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class Optimizer : std::uint8_t { Sgd, Momentum, Adam, AdamW };
std::optional<Optimizer> optimizer(std::string_view name);  // "sgd", "momentum", "adam", "adamw"
std::vector<std::string_view> optimizer_names();
std::string_view to_string(Optimizer optimizer);

// The activations that forward discards and backward recomputes from the kept ones.
enum class Recompute : std::uint8_t {
  None,
  Pointwise,  // keeps inputs, outputs of contractions and sums that join branches; recomputes all else
  Segments,   // keeps tensors that cross segments of the graph; see TrainingOptions::segment_starts
  Sqrt,       // √n segments of equal length, for n nodes that keep something
};
std::optional<Recompute> recompute(std::string_view name);  // "none", "pointwise", "segments", "sqrt"
// Without "segments", which needs TrainingOptions::segment_starts.
std::vector<std::string_view> recompute_names();
std::string_view to_string(Recompute recompute);

struct TrainingOptions {
  Optimizer optimizer = Optimizer::Sgd;
  ElementType state_type = ElementType::Float32;  // of the optimizer's states and of master weights
  std::optional<ElementType> gradient_type = {};  // of parameters' gradients; empty: the parameter's type
  // A copy of each parameter in `state_type` that the optimizer updates; empty: for parameters of fewer bits.
  std::optional<bool> master_weights = {};
  std::vector<std::string> frozen = {};                 // prefixes of names of parameters that are not trained
  std::vector<std::string> inputs_with_gradient = {};   // names of graph inputs whose gradient is wanted
  std::vector<std::string> outputs_with_gradient = {};  // names of graph outputs; empty: all of floating point
  Recompute recompute = Recompute::None;
  std::vector<std::string> segment_starts = {};  // names of the nodes that begin a segment
  // Attention operators keep one number per softmax instead of its probabilities, and recompute the product of Q and K.
  bool recompute_attention = false;
};

enum class SavedKind : std::uint8_t { Input, Output, Statistic };
std::string_view to_string(SavedKind kind);

// A tensor that a row's backward needs.
struct SavedTensor {
  SavedKind kind = SavedKind::Input;
  ValueId value = kAbsent;  // kAbsent for a statistic
  std::string what;         // the value's name, or the kind of statistic ("mean and rstd", "mask")
  Dim bytes;                // 0 for a parameter, and where an earlier row counts the same bytes
};

// One row of the analysis (the same index), in training.
struct TrainingRow {
  OpCost forward;                // in training mode; for folded rows, their cost per step
  OpCost dx;                     // gradients of activations
  OpCost dw;                     // gradients of parameters, and of values computed only from parameters
  Dim gradient_bytes;            // of activations, as written
  Dim parameter_gradient_bytes;  // of parameters
  std::vector<SavedTensor> saved;
  bool recomputed = false;  // runs forward twice
  std::string problem;      // why its backward is unknown; empty otherwise

  Dim saved_bytes() const;
};

// A parameter that the optimizer updates.
struct TrainedParameter {
  ValueId value = kAbsent;  // of the main graph
  std::string name;
  ElementType element = ElementType::Undefined;
  Dim elements;
};

struct TrainingTotals {
  OpCost forward, dx, dw, recomputed, optimizer;
  OpCost backward;  // dx + dw
  OpCost step;      // all of them
  std::int64_t unmodelled_nodes = 0;
  std::vector<std::string> unmodelled_ops;  // sorted, without duplicates; with the domain unless it is ai.onnx
};

// Bytes at the peak of a step. Gradients of parameters are assumed to be allocated throughout. Not counted: kernel
// workspace, allocator overhead, the loss.
struct TrainingMemory {
  Dim weight_bytes;         // as stored, trained or not
  Dim master_weight_bytes;  // copies of higher precision
  Dim gradient_bytes;       // of parameters
  Dim optimizer_state_bytes;
  Dim saved_activation_bytes;  // kept from forward to backward; tensors that share bytes count once
  // The largest set of activations and their gradients that is alive at once, in the file's order forward and back.
  // Empty when a size is unknown or the formula grows too complex. Exact, except when free dims are later bound to 1
  // and so remove a broadcast: then the gradient's own bytes count, although it could share its buffer.
  std::optional<Dim> activation_peak_bytes;

  Dim static_bytes() const { return weight_bytes + master_weight_bytes + gradient_bytes + optimizer_state_bytes; }
  std::optional<Dim> peak_bytes() const;
};

struct Training {
  std::vector<TrainingRow> rows;  // by index of Analysis::nodes
  std::vector<TrainedParameter> parameters;
  Dim trained_elements;
  TrainingTotals totals;
  TrainingMemory memory;
  bool partial = false;  // some backward (or forward) is unmodelled: counts are lower bounds
};

// Throws Error for names in the options that are not in the model.
Training train(const Model& model, const Analysis& analysis, const TrainingOptions& options = {});

// The same with symbols replaced by values; the result equals binding the analysis first.
Training bind_dims(const Training& training, const Bindings& bindings);

// The step as a separate analysis: rows of forward, then of backward (`scope` begins with "dx" or "dw"), with the
// recomputed rows, and last the optimizer. Totals and activation peak are the step's; `param_bytes` is everything
// allocated throughout. For time bounds, sweeps and budgets; its rows are not a graph, so only unfused traffic applies.
Analysis step_analysis(const Analysis& analysis, const Training& training);

// For each row of step_analysis(), in its order: the row of the original analysis, and the part: "forward",
// "recomputed", "dx" or "dw". The last part is "optimizer", which has no single original row.
struct StepRow {
  std::size_t row = 0;
  const char* part = "forward";
};
std::vector<StepRow> step_rows(const Analysis& analysis, const Training& training);

// The optimizer's cost for `elements` elements of a parameter of type `weight`, with the types in `options`.
OpCost optimizer_cost(const TrainingOptions& options, ElementType weight, const Dim& elements);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
