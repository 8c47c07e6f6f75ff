// Which nodes a provider of ONNX Runtime leaves to the CPU, why, and what they cost.
#include <algorithm>
#include <map>

#include "describe.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"
#include "pagoda/core/placement.h"
#include "pagoda/documents/provider.h"
#include "pagoda/estimate/engines.h"

namespace pagoda::estimate {
namespace {

// Sums over nodes that stay on the CPU.
struct Left {
  std::int64_t nodes = 0;
  Dim flops = 0, bytes = 0;
  std::map<std::string, std::int64_t> operators;

  void add(const NodeReport& row, const Node& node, Convention convention) {
    ++nodes;
    flops += core::flops(row.cost, convention);
    bytes += row.cost.bytes();
    ++operators[qualified(node.domain, node.op_type)];
  }
};

}  // namespace

void set_providers(std::string_view names, std::string_view form, EstimateRequest& request) {
  for (const std::string& name : base::split(std::string(names), ","))
    if (!name.empty()) request.providers.push_back(find_provider(name));
  if (form != "plain" && form != "default")
    throw Error(cat(base::field("placement_form", form), " is not known; expected default or plain"));
  request.placement_form = form == "plain" ? PlacementForm::Plain : PlacementForm::Default;
}

EstimatePlacement placement_of(const Model& model, const EstimateRequest& request, const Analysis& analysis,
                               const Provider& provider) {
  const GraphPlacement placed = place(model, analysis, provider, request.placement_form);
  const Counter number(analysis);
  EstimatePlacement result{.provider = provider.id,
                           .name = provider.name,
                           .version = provider.version,
                           .is_judged = provider.is_judged,
                           .form = request.placement_form == PlacementForm::Plain ? "plain" : "default",
                           .parts = placed.parts,
                           .to_host_bytes = Int{0},
                           .to_provider_bytes = Int{0},
                           .flops_on_cpu = {},
                           .bytes_on_cpu = {},
                           .reasons = {},
                           .nodes = {}};
  for (const PlacedNode& node : placed.nodes) {
    std::int64_t EstimatePlacement::*const counts[] = {&EstimatePlacement::on_provider, &EstimatePlacement::on_cpu,
                                                       &EstimatePlacement::folded, &EstimatePlacement::fused,
                                                       &EstimatePlacement::unknown};
    ++(result.*counts[static_cast<std::size_t>(node.on)]);
  }
  // The graph of the file folds nothing, and known sizes are known.
  const bool is_curable_by_sizes =
      request.placement_form == PlacementForm::Default && !analysis.free_dims.empty() && analysis.symbols.empty();
  Left all;
  std::map<std::string, Left> by_reason;
  for (std::size_t i = 0; i < analysis.nodes.size(); ++i) {
    const NodeReport& row = analysis.nodes[i];
    if (row.graph != 0) continue;
    const PlacedNode& node = placed.nodes[static_cast<std::size_t>(row.node)];
    result.nodes.push_back(
        {.index = i, .on = std::string(to_string(node.on)), .part = node.part, .reason = node.reason});
    if (node.on != PlacedOn::Cpu) continue;
    all.add(row, model.main().node(row.node), request.count);
    by_reason[node.reason].add(row, model.main().node(row.node), request.count);
  }
  result.flops_on_cpu = number(all.flops);
  result.bytes_on_cpu = number(all.bytes);
  for (const auto& entry : by_reason) {
    const std::string& reason = entry.first;
    const Left& left = entry.second;
    EstimatePlacement::Reason& each = result.reasons.emplace_back();
    each.reason = reason;
    each.nodes = left.nodes;
    each.flops = number(left.flops);
    each.bytes = number(left.bytes);
    std::vector<std::pair<std::int64_t, std::string>> operators;
    for (const auto& [name, nodes] : left.operators) operators.emplace_back(-nodes, name);
    std::ranges::sort(operators);
    for (auto& [nodes, name] : operators) each.operators.push_back(std::move(name));
    for (const ProviderCure& cure : provider.cures) {
      const bool is_of_one =
          std::ranges::any_of(cure.operators, [&](const auto& of) { return left.operators.contains(of); });
      if (cure.reason == reason && (cure.operators.empty() || is_of_one) && (!cure.of_free_dims || is_curable_by_sizes))
        each.cures.push_back(cure.cure);
    }
  }
  std::ranges::stable_sort(result.reasons, std::ranges::greater(), [](const EstimatePlacement::Reason& each) {
    return std::tuple(each.flops.value_or(0), each.bytes.value_or(0), each.nodes);
  });
  Dim to_host = 0, to_provider = 0;
  bool is_known = true;
  for (const PlacedCopy& copy : placed.copies) {
    ++(copy.is_to_host ? result.to_host : result.to_provider);
    const TensorType& type = analysis.types[static_cast<std::size_t>(copy.value)];
    is_known = is_known && type.shape.has_value();
    if (type.shape) (copy.is_to_host ? to_host : to_provider) += byte_size(element_count(*type.shape), type.element);
  }
  result.to_host_bytes = is_known ? number(to_host) : Count();
  result.to_provider_bytes = is_known ? number(to_provider) : Count();
  return result;
}

}  // namespace pagoda::estimate
