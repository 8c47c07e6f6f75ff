// Lowers a graph to the kernels that an engine launches one by one. For eager PyTorch, tracks each tensor's type and
// strides.
#include "graph/index.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"
#include "predict/eager_state.h"
#include "predict/merged_branches.h"
#include "predict/ort_provider.h"

namespace pagoda::inline core {
namespace {

constexpr EagerEngine kEagerEngines[] = {
    {},
    {"pytorch-cpu", Precision::Float32, Precision::Float32, true, false, true},
    // torch.backends.cudnn.allow_tf32 is on by default, that of cuda.matmul off.
    {"pytorch-cuda", Precision::Float32, Precision::Tf32, false, false, true},
    // use_tf32 is on by default, of products and of convolutions (microsoft/onnxruntime#19357, #19426).
    {"onnxruntime-cuda", Precision::Tf32, Precision::Tf32, false, true, true},
};

// Lowers a row without a rule to its counted work and bytes; under autocast bytes are halved if the row computes in
// float32.
void lower_counted(EagerState& state, const Graph* graph, const NodeReport& row) {
  const bool is_halved = row.cost.precision == ElementType::Float32 && state.product_type() == ElementType::Float16;
  KernelLaunch kernel{.kind = KernelClass::Other};
  kernel.macs = state.number(row.cost.macs);
  kernel.bytes = state.number(row.cost.bytes()) * (is_halved ? 0.5 : 1.0);
  if (row.cost.mark == Mark::Compute) state.launch(kernel);
  if (graph == nullptr) return;
  for (const ValueId output : graph->node(row.node).outputs) {
    Tile tile = state.declared(output);
    if (!tile.known) continue;
    if (tile.type == ElementType::Float32) tile.type = state.product_type();
    state.set(output, std::move(tile));
  }
}

}  // namespace

const EagerEngine& eager_engine(std::string_view id) {
  for (const EagerEngine& engine : kEagerEngines)
    if (engine.id == id) return engine;
  throw Error(cat("engine \"", id, "\" does not run kernels one by one; expected ",
                  base::joined(kEagerEngines, " or ", &EagerEngine::id)));
}

EagerKernels eager_kernels(const Model& model, const Analysis& analysis, const EagerOptions& options) {
  if (options.engine.optimizes) return ort_cuda_kernels(model, analysis);
  EagerKernels result;
  EagerState state(model, analysis, options);
  const Graph& graph = model.main();
  const std::vector<Idiom> idioms = find_idioms(model, analysis);
  // By node of the main graph: the merged convolution that it is the root of; kPart for its other nodes.
  constexpr std::int32_t kNone = -1, kPart = -2;
  std::vector<std::int32_t> merged(graph.nodes.size(), kNone);
  if (options.merges_branches)
    for (const MergedBranches& sum : find_merged_branches(model, analysis)) {
      for (const std::int32_t part : sum.parts) merged[index(part)] = kPart;
      merged[index(sum.root)] = sum.convolution;
      result.merged_branches += sum.convolutions;
    }
  for (std::size_t i = 0; i < analysis.nodes.size(); ++i) {
    const NodeReport& row = analysis.nodes[i];
    state.at_row(static_cast<std::int32_t>(i));
    result.unknown_rows += row.unmodelled_inside + (row.cost.mark == Mark::Unmodelled ? 1 : 0);
    if (row.graph != 0) {
      if (row.cost.mark == Mark::Compute) lower_counted(state, nullptr, row);
      continue;
    }
    const Node& node = graph.node(row.node);
    const Idiom& idiom = idioms[index(row.node)];
    switch (row.cost.mark) {
      case Mark::Unmodelled:
      case Mark::Host:
        break;
      case Mark::Folded:  // weights: a view, or work done once per step for all samples
        for (const ValueId output : node.outputs) {
          Tile tile = state.declared(output);
          tile.is_constant = true;
          if (tile.known) state.set(output, std::move(tile));
        }
        break;
      case Mark::View:
      case Mark::Compute:
        if (const std::int32_t one = merged[index(row.node)]; one != kNone) {
          if (one >= 0 && !lower_merged_conv(state, one, node.outputs[0]))
            lower_counted(state, &graph, state.row_of(one));
        } else if (idiom.call == Call::Own ? !lower_node(state, node, row) : !lower_call(state, idiom)) {
          lower_counted(state, &graph, row);
        }
        break;
    }
  }
  result.kernels = state.take();
  return result;
}

}  // namespace pagoda::inline core
