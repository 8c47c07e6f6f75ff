// The peak of activations as a number, and what it leaves out.
#include <algorithm>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"

namespace pagoda::estimate {
namespace {

// Why a tensor has no bytes.
std::string_view why_unsized(const TensorType& type) {
  if (type.element == ElementType::String) return "strings have any length";
  if (type.container != Container::Tensor && type.container != Container::Optional)
    return "its members are not counted";
  return type.shape ? "its element type is not known" : "its rank is not known";
}

// Warnings of their own name unmodelled nodes.
void leave_out_unmodelled(const Analysis& analysis, MemoryPlan& plan) {
  for (const NodeReport& row : analysis.nodes) {
    if (row.cost.mark != Mark::Unmodelled) continue;
    for (const OutputInfo& output : row.outputs) std::erase(plan.unsized, output.name);
    if (row.graph == 0) std::erase(plan.unsized_bodies, row.node);
  }
}

std::string unsized_text(const Model& model, const Analysis& analysis, const MemoryPlan& plan) {
  const auto& values = model.main().values;
  std::vector<std::string> names;
  for (const Name& name : plan.unsized) {
    const auto value = std::ranges::find(values, name, &Value::name);
    const auto at = static_cast<std::size_t>(value - values.begin());
    names.push_back(at < analysis.types.size() ? cat(base::printable(name), " (", why_unsized(analysis.types[at]), ")")
                                               : std::string(base::printable(name)));
  }
  for (const std::int32_t node : plan.unsized_bodies)
    names.push_back(cat("the body of ", base::printable(display_name(model.main(), model.main().node(node)))));
  constexpr std::size_t kShown = 3;
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  return cat(base::joined(names, ", "), more > 0 ? cat(" and ", more, " more") : "");
}

}  // namespace

Count activation_peak(const Model& model, Analysis& analysis) {
  if (const auto& peak = analysis.totals.activation_peak_bytes) return count(*peak);
  if (!impossible_size(analysis, {}).empty()) return {};
  MemoryPlan plan = plan_memory(model, analysis, {.reorder = false, .arena = false});
  if (plan.unsized.empty() && plan.unsized_bodies.empty()) return plan.peak_bytes;
  leave_out_unmodelled(analysis, plan);
  if (!plan.unsized.empty() || !plan.unsized_bodies.empty())
    warn(analysis, "memory is a lower bound, without " + unsized_text(model, analysis, plan));
  return Count(plan.peak_bytes).at_least();
}

}  // namespace pagoda::estimate
