// What ONNX Runtime fuses, what nearly matches one of its patterns, and what that costs.
#include <algorithm>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/core/placement.h"
#include "pagoda/documents/provider.h"

namespace pagoda::estimate {
namespace {

// What one kernel would save: passes of tensors through memory, or launches; the longer of both, as launches overlap
// with work. Empty: not known.
std::optional<double> missed_seconds(const EstimateRequest& request, const Analysis& analysis,
                                     const UnfusedNodes& missed) {
  const MemoryLevel* const memory = request.device ? request.device->level("dram") : nullptr;
  if (memory == nullptr || !memory->bytes_per_second.known() || !analysis.free_dims.empty()) return std::nullopt;
  Dim bytes = 0;
  for (const ValueId value : missed.passes) {
    const TensorType& type = analysis.types[static_cast<std::size_t>(value)];
    if (!type.shape) return std::nullopt;
    bytes += byte_size(element_count(*type.shape), type.element);
  }
  const std::optional<Int> moved = bytes.value();
  if (!moved) return std::nullopt;
  return std::max(static_cast<double>(*moved) / *memory->bytes_per_second.value,
                  static_cast<double>(missed.launches) * request.device->launch_overhead_seconds.value.value_or(0));
}

}  // namespace

void add_unfused(const Model& model, const EstimateRequest& request, Findings& findings) {
  const bool is_nvidia = request.device && request.device->vendor == "NVIDIA";
  const Provider provider =
      request.providers.empty() ? find_provider(is_nvidia ? "cuda" : "cpu") : request.providers.front();
  const Analysis& analysis = findings.analysis;
  const GraphPlacement placed = place(model, analysis, provider, {.with_fusions = true});
  EstimateDocument& estimate = findings.estimate;
  estimate.fused_by = cat(provider.name, " ", provider.version);
  const auto rows = [&](const std::vector<std::int32_t>& nodes) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < analysis.nodes.size(); ++i)
      if (analysis.nodes[i].graph == 0 && std::ranges::binary_search(nodes, analysis.nodes[i].node)) found.push_back(i);
    return found;
  };
  for (const FusedNodes& each : placed.fused)
    estimate.fused.push_back({.pattern = std::string(each.pattern), .nodes = rows(each.nodes)});
  for (const UnfusedNodes& each : placed.unfused)
    estimate.unfused.push_back({.pattern = std::string(each.pattern),
                                .nodes = rows(each.nodes),
                                .condition = each.conditions.front(),
                                .others = {each.conditions.begin() + 1, each.conditions.end()},
                                .seconds = missed_seconds(request, analysis, each),
                                .cure = std::string(each.cure)});
  std::ranges::stable_sort(estimate.unfused, std::ranges::greater(),
                           [](const EstimateUnfused& each) { return each.seconds.value_or(0); });
}

}  // namespace pagoda::estimate
