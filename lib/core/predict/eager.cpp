// Lowers a graph to the kernels that an engine launches one by one. For eager PyTorch, tracks each tensor's type and
// strides.
#include <algorithm>
#include <iterator>

#include "pagoda/base/error.h"
#include "pagoda/base/text.h"
#include "predict/eager_state.h"
#include "predict/merged_branches.h"
#include "predict/ort_cuda.h"

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
  for (const ValueId output : graph->nodes[static_cast<std::size_t>(row.node)].outputs) {
    Tile tile = state.declared(output);
    if (!tile.known) continue;
    if (tile.type == ElementType::Float32) tile.type = state.product_type();
    state.set(output, std::move(tile));
  }
}

}  // namespace

const EagerEngine& eager_engine(std::string_view id) {
  const auto* found = std::find_if(std::begin(kEagerEngines), std::end(kEagerEngines),
                                   [&](const EagerEngine& engine) { return engine.id == id; });
  if (found == std::end(kEagerEngines)) {
    std::vector<std::string_view> ids;
    for (const EagerEngine& engine : kEagerEngines) ids.push_back(engine.id);
    throw Error("engine \"" + std::string(id) + "\" is not known; expected " + base::joined(ids, " or "));
  }
  return *found;
}

EagerKernels eager_kernels(const Model& model, const Analysis& analysis, const EagerOptions& options) {
  if (options.engine.optimizes) return ort_cuda_kernels(model, analysis);
  EagerKernels result;
  EagerState state(model, analysis, options);
  const std::vector<Idiom> idioms = find_idioms(model, analysis);
  // By node of the main graph: the merged convolution that it is the root of; kPart for its other nodes.
  constexpr std::int32_t kNone = -1, kPart = -2;
  std::vector<std::int32_t> merged(model.main().nodes.size(), kNone);
  if (options.merges_branches)
    for (const MergedBranches& sum : find_merged_branches(model, analysis)) {
      for (const std::int32_t part : sum.parts) merged[static_cast<std::size_t>(part)] = kPart;
      merged[static_cast<std::size_t>(sum.root)] = sum.convolution;
      result.merged_branches += sum.convolutions;
    }
  for (std::size_t i = 0; i < analysis.nodes.size(); ++i) {
    const NodeReport& row = analysis.nodes[i];
    state.at_row(static_cast<std::int32_t>(i));
    result.unknown_rows += row.unmodelled_inside;
    if (row.graph != 0) {
      if (row.cost.mark == Mark::Compute) lower_counted(state, nullptr, row);
      result.unknown_rows += row.cost.mark == Mark::Unmodelled ? 1 : 0;
      continue;
    }
    const Node& node = model.main().nodes[static_cast<std::size_t>(row.node)];
    const Idiom& idiom = idioms[static_cast<std::size_t>(row.node)];
    switch (row.cost.mark) {
      case Mark::Unmodelled:
        ++result.unknown_rows;
        break;
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
        if (const std::int32_t one = merged[static_cast<std::size_t>(row.node)]; one != kNone) {
          if (one >= 0 && !lower_merged_conv(state, one, node.outputs[0]))
            lower_counted(state, &model.main(), state.row_of(one));
          break;
        }
        if (idiom.call == Call::Part) break;
        if (idiom.call != Call::Own ? !lower_call(state, idiom) : !lower_node(state, node, row))
          lower_counted(state, &model.main(), row);
        break;
    }
  }
  result.kernels = state.take();
  return result;
}

}  // namespace pagoda::inline core
