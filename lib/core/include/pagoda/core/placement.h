// Where ONNX Runtime puts the nodes of a model: on an execution provider or, where that refuses them, on the CPU.
//
//   Model model = load_model("resnet50_qdq_int8.onnx");
//   Provider cuda;  // of data/providers/cuda.json: estimate::set_providers() of engines.h reads it
//   GraphPlacement placed = place(model, analyze(model), cuda, {.form = PlacementForm::Plain});
//   placed.nodes[4].on;      // PlacedOn::Cpu
//   placed.nodes[4].reason;  // "no kernel: float64"
//
// A provider of kernels refuses a node, in this order,
//   1. if no kernel fits: a kernel states its operator, a range of operator versions and the types of each constraint.
//      A range with an end fits every version in it. A range without an end fits only the version that it begins with,
//      so a new opset that revises an operator has no kernel until the runtime registers one.
//   2. if a condition of the provider holds for the node (ProviderCondition).
//   3. if the node only computes with tensors in host memory: sizes, and what follows from them. The runtime walks from
//      the readers of such tensors, in topological order. It moves a node to the CPU if each input is in host memory
//      and not wanted there by the kernel, a stored tensor of few elements, or an input of the model, and none is a
//      float of 16 bits or fewer. Its outputs are then in host memory, too.
// Source: onnxruntime/core/framework/{kernel_registry,fallback_cpu_capability}.cc and
// onnxruntime/core/providers/cuda/cuda_execution_provider.cc, release 1.31; compared with the runtime's own answers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/model.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Bit e: tensors of ElementType e; bit 32 + e: sequences of them.
using TypeSet = std::uint64_t;

// A version of an operator, with the type constraint of each operand; the last one holds for all further operands.
struct OperatorVersion {
  std::int64_t since = 1;
  std::vector<std::string> inputs, outputs;
};

struct ProviderKernel {
  struct Types {
    std::string constraint;  // as the operator names it: "T"
    TypeSet types = 0;
  };
  std::int64_t first = 1;
  std::optional<std::int64_t> last;  // empty: no end
  std::vector<Types> types;
};

struct ProviderOperator {
  std::vector<OperatorVersion> versions;                // sorted; empty: the imported opset is the version
  std::vector<ProviderKernel> kernels;                  // empty: the provider has none
  std::vector<std::int32_t> host_inputs, host_outputs;  // operands that a kernel keeps in host memory
};

// What a condition asks about: an attribute, an operand, or each operand, of which one suffices.
enum class PlacementSubject : std::uint8_t { Attribute, Input, Output, AnyInput, AnyOutput, AnyOperand };

enum class PlacementTest : std::uint8_t {
  Present,
  In,        // each element of the attribute, or of the stored tensor, is one of the values
  Repeated,  // a list of texts that are the values, repeated; upper and lower case are the same
  Even,      // a list whose two halves are equal: begins and ends of padding
  Above,     // an element is above the value
  Below,
  // Of operands only.
  Constant,    // the tensor is stored, in the graph that the provider is asked about
  TypeIn,      // its element type is one of these
  RankIn,      // it has one of these ranks
  Free,        // a dim is not a number, or the rank is not known
  WrittenBy,   // one of these operators computes it
  ReadBy,      // one of these operators reads it
  OnlyReadBy,  // these operators read it, and nothing else
  ReadOnCpu,   // one of these operators reads it, and stays on the CPU
  GraphInput,  // an input of the model
  GraphOutput,
  Empty,       // a dim is zero
  Named,       // it has one of these names
  LastAxis,    // of an attribute: the last axis of the first input
  CountAbove,  // the operand has more elements than the value
  DimIn,       // one of its dims is one of these sizes
};

// A reason to refuse a node.
struct ProviderCondition {
  struct Part {
    PlacementSubject subject = PlacementSubject::Attribute;
    PlacementTest test = PlacementTest::Present;
    bool is_negated = false;
    bool skips_stored = false;  // of AnyInput, AnyOutput and AnyOperand: asks no stored tensors
    std::string attribute;      // of Attribute
    std::int32_t operand = 0;   // of Input and Output
    std::vector<std::string> values;
    std::optional<std::string> otherwise;  // the attribute's value where the node states none
  };
  std::vector<std::string> operators;  // "LSTM", "com.microsoft.Gelu"; "*": all
  std::vector<std::string> except;     // but these
  std::vector<Part> when;              // all hold
  std::string reason;                  // why the provider then refuses the node
  // Of a condition that only the provider's closed check knows: nodes that it refused, of those for which it holds.
  struct Answers {
    std::int64_t refused = 0, of = 0;
  };
  std::optional<Answers> answers = {};
  // A few answers that differ come from details that no condition names.
  bool decides() const { return !answers || 10 * answers->refused >= 9 * answers->of; }
};

// A node that the provider judges together with the DequantizeLinear nodes before it and the QuantizeLinear nodes
// behind it: conditions then see the quantised tensors, whose types are "quantised uint8" and so on.
struct ProviderUnit {
  std::vector<std::string> operators;
  std::int32_t least = 1, most = 1;       // dequantised inputs; -1: each input
  std::vector<std::int32_t> dequantised;  // these inputs at least
  std::vector<std::int32_t> typed;        // inputs with the outputs' type; empty: each that is dequantised
  bool has_free_outputs = false;          // its outputs need not be quantised
  bool has_one_scale = false;             // outputs are quantised as the input is
  bool takes_activation = true;           // a Relu or Clip before QuantizeLinear, which it makes needless
};

// What lets the provider take nodes that it leaves for a reason: seen in answers of the runtime before and after.
struct ProviderCure {
  std::string reason;                  // PlacedNode::reason
  std::vector<std::string> operators;  // of these only; empty: of all
  bool of_free_dims = false;           // only where the file leaves dims open
  std::string cure;
};

// How a provider forms its parts.
enum class PartKind : std::uint8_t {
  Connected,  // connected nodes that no path through the CPU separates
  Joined,     // all nodes that no path through the CPU separates, connected or not
  // A graph that the provider takes as a whole is one part. In others, the nodes of a part are connected, and no node
  // on the CPU is between them in the runtime's order. Of one node, only the last part is compiled; earlier ones join
  // the next part that reads or feeds them.
  Runs,
};

struct ProviderParts {
  struct SmallGraph {
    std::int64_t nodes = 0;
    ProviderCondition first;
  };
  PartKind kind = PartKind::Connected;
  std::vector<std::string>
      never_alone;  // of Joined: operators that stay on the CPU where one such node would be a part
  // Of Runs:
  std::vector<std::string> breaks;  // operators that are left to the CPU if any other node is
  std::vector<std::string> no_end;  // a part is dropped if nodes outside read the result of one of these operators
  std::vector<SmallGraph> small;    // graphs this small stay on the CPU if the condition holds for their first node
};

struct Provider {
  std::string id, name, version, source;
  bool is_judged = false;  // its rules were compared with answers of the runtime
  // By name: "Add", "com.microsoft.Gelu". place() asks once for each that the model has.
  std::function<std::optional<ProviderOperator>(std::string_view)> operators =
      [](std::string_view) { return std::nullopt; };
  std::vector<ProviderCondition> conditions;
  std::vector<ProviderCure> cures;
  bool passes_unsupported = false;  // the walk of step 3 goes on behind nodes without a kernel
  // The runtime asks it again once it has changed the layout of what it took: step 3 then only decides nodes that it
  // moved the first time.
  bool is_asked_twice = false;
  std::vector<std::string> channels_last;  // operators that it runs in that layout
  std::vector<std::string> fusions;        // of what it took, in order: "QuickGelu"; place/fusions.cpp lists them
  bool names_what_runs = false;            // the runtime's answers name nodes after those fusions
  // It compiles each part as a whole: no node is moved for its operands, and parts hand tensors over through the host.
  bool compiles_parts = false;
  bool is_on_host = false;  // its tensors are in host memory: nothing is copied, and no node moved for its operands
  std::string arena_of;             // the engine whose arena holds its tensors: "onnxruntime-cuda"; empty: not known
  std::vector<std::string> packs_weights;  // operators that keep a second copy of their stored operands
  std::vector<std::string> device_kinds, device_vendors;  // it runs on these: DeviceSpec::kind and vendor; none: on all
  ProviderParts parts;
  std::vector<ProviderUnit> units;
};

enum class PlacedOn : std::uint8_t {
  Provider,
  Cpu,
  Folded,   // gone before the provider is asked: constant, without effect, or a duplicate
  Fused,    // part of another node
  Unknown,  // nothing decides it
};
std::string_view to_string(PlacedOn on);  // "provider", "cpu", "folded", "fused", "unknown"

enum class PlacementForm : std::uint8_t {
  Plain,    // the nodes of the file
  Default,  // after the runtime's first level of optimisation
};

struct PlaceOptions {
  PlacementForm form = PlacementForm::Default;
  // As if every cure of the provider had been applied but that of free dims: give an analysis with sizes for that.
  bool with_cures = false;
  bool with_fusions = false;  // GraphPlacement::fused and unfused, of the default form
};

struct PlacedNode {
  PlacedOn on = PlacedOn::Unknown;
  std::int32_t part = -1;  // of connected nodes on the provider that no path through the CPU separates; -1: none
  std::string reason;      // why it is not on the provider; on it: why it may be refused
  std::optional<ProviderCondition::Answers> answers = {};  // behind the reason
};

struct PlacedCopy {
  ValueId value = kAbsent;
  bool is_to_host = false;
};

// Nodes of the file that the runtime made one node by a pattern of place/fusions.cpp.
struct FusedNodes {
  std::string_view pattern;         // "BiasGelu"
  std::vector<std::int32_t> nodes;  // sorted
  ValueId result = kAbsent;         // what the node computes
};
// Nodes that nearly match a pattern.
struct UnfusedNodes {
  std::string_view pattern;
  std::vector<std::int32_t> nodes;
  std::vector<std::string> conditions;  // that fail, in words; the first one first
  std::vector<ValueId> passes;          // tensors between them, once for each write or read that one node saves
  std::int64_t launches = 0;            // that it saves
  std::string_view cure;                // the export that makes them match, or one node of them; empty: none is known
};

struct GraphPlacement {
  std::vector<PlacedNode> nodes;   // by node of the main graph
  std::vector<PlacedCopy> copies;  // one for each tensor and direction; inputs and outputs of the model are not listed
  std::int32_t parts = 0;
  // Bytes of each stored tensor that a node on the provider reads from its memory, and of each packed copy. Empty for
  // providers that compile their parts, or that share the host's memory. Weights of bodies are not listed.
  std::vector<std::int64_t> weight_bytes;
  std::vector<FusedNodes> fused;  // with those of the first level; of what it fuses there, only rows of the table
  std::vector<UnfusedNodes> unfused;
};

// A node whose types decide, and are not known, is Unknown, as is a call of a function of the file. Copies from and to
// such nodes are not listed. Throws nothing.
GraphPlacement place(const Model& model, const Analysis& analysis, const Provider& provider,
                     const PlaceOptions& options = {});

// The cure of a node of this operator that the provider leaves for this reason; null: none is known. `has_open_sizes`:
// some dims have no size yet, and the runtime folds what follows from known ones.
const ProviderCure* cure_of(const Provider& provider, std::string_view reason, std::string_view op,
                            bool has_open_sizes);
bool has_open_sizes(const Analysis& analysis, PlacementForm form);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
