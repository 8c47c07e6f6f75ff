// Rows of a report: selected and sorted once, then shown by every format.
#include "report/rows.h"

#include <algorithm>
#include <cmath>

namespace pagoda::present::report {
namespace {

double seconds_of(const RowBound* bound) { return bound == nullptr ? 0 : bound->seconds; }

// Sorts by predicted time, else by the bound if a device is known, then by FLOPs, largest first and unknown last; ties keep execution order.
template <typename Row, typename Seconds, typename Flops>
void keep_heaviest(std::vector<Row>& rows, std::size_t top, const Seconds& seconds, const Flops& flops) {
  if (top == 0) return;
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    if (seconds(a) != seconds(b)) return seconds(a) > seconds(b);
    return flops(a).value_or(-1) > flops(b).value_or(-1);
  });
  if (rows.size() > top) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(top), rows.end());
}

}  // namespace

const EstimateNode* heaviest_node(const std::vector<const EstimateNode*>& nodes) {
  const auto weight = [](const EstimateNode* node) {
    const Count bytes = node->runs_nothing() ? 0 : node->counts.bytes;
    return std::pair(node->counts.macs.value_or(0), bytes.value_or(0));
  };
  const auto heaviest = std::max_element(nodes.begin(), nodes.end(), [&](const EstimateNode* a, const EstimateNode* b) {
    return weight(a) < weight(b);
  });
  return heaviest == nodes.end() ? nullptr : *heaviest;
}

bool has_predicted_rows(const EstimateDocument& estimate) {
  return estimate.roofline && estimate.roofline->predicted && !estimate.roofline->predicted->nodes.empty();
}

double predicted_of(const EstimateDocument& estimate, const EstimateNode& node) {
  return has_predicted_rows(estimate) ? estimate.roofline->predicted->nodes[node.index] : 0;
}

double predicted_of(const EstimateDocument& estimate, const documents::EstimateGroup& group) {
  double seconds = 0;
  for (const std::size_t member : group.nodes) seconds += predicted_of(estimate, estimate.nodes[member]);
  return seconds;
}

double predicted_of(const EstimateDocument& estimate, const EstimateType& type) {
  double seconds = 0;
  for (const EstimateNode& node : estimate.nodes)
    if (node.op_type == type.op_type && node.domain == type.domain) seconds += predicted_of(estimate, node);
  return seconds;
}

GroupRow group_row(const EstimateDocument& estimate, std::size_t id) {
  const documents::EstimateGroup& group = estimate.traffic->groups[id];
  GroupRow row{.index = id, .group = &group, .name = {}, .ops = {}, .bound = estimate.bound_of_group(id)};
  std::vector<const EstimateNode*> nodes;
  nodes.reserve(group.nodes.size());
  for (const std::size_t member : group.nodes) {
    nodes.push_back(&estimate.nodes[member]);
    row.ops += (row.ops.empty() ? "" : "+") + nodes.back()->qualified_op();
  }
  row.main = heaviest_node(nodes);
  if (row.main != nullptr) row.name = row.main->shown_name();
  return row;
}

Data collect(const EstimateDocument& estimate, const ReportOptions& options) {
  Data data{.estimate = estimate, .options = options, .nodes = {}, .types = {}, .groups = {}};
  switch (options.rows) {
    case Rows::None:
      break;
    case Rows::Type:
      for (const EstimateType& type : *estimate.types) data.types.push_back(&type);
      if (options.top > 0 && data.types.size() > options.top) data.types.resize(options.top);  // heaviest first
      break;
    case Rows::Group:
      for (std::size_t id = 0; estimate.traffic && id < estimate.traffic->groups.size(); ++id)
        data.groups.push_back(group_row(estimate, id));
      keep_heaviest(
          data.groups, options.top,
          [&](const GroupRow& row) {
            return has_predicted_rows(estimate) ? predicted_of(estimate, *row.group) : seconds_of(row.bound);
          },
          [](const GroupRow& row) { return row.group->counts.flops; });
      break;
    case Rows::Node:
      for (const EstimateNode& node : estimate.nodes) data.nodes.push_back(&node);
      keep_heaviest(
          data.nodes, options.top,
          [&](const EstimateNode* node) {
            return has_predicted_rows(estimate) ? predicted_of(estimate, *node) : seconds_of(estimate.bound_of(*node));
          },
          [](const EstimateNode* node) { return node->counts.flops; });
  }
  return data;
}

std::string type_text(const TensorType& type) {
  std::string text = type_name(type);
  if (!type.shape) return text;
  text += '[';
  for (const Dim& dim : *type.shape) text.append(text.back() == '[' ? "" : ",").append(dim.to_string());
  text += ']';
  return text;
}

std::string device_text(const documents::EstimateRoofline& roofline) {
  std::string text = base::printable(roofline.device_name.empty() ? roofline.device : roofline.device_name);
  if (!roofline.power_mode.empty()) text += ", mode " + base::printable(roofline.power_mode);
  return text;
}

std::string_view meaning(Convention count) {
  switch (count) {
    case Convention::Flops:
      return "2·MACs + arith + special";
    case Convention::Macs:
      return "MACs";
    case Convention::Contraction:
      return "2·MACs";
    case Convention::Hardware:
      return "2·MACs + arith − comparisons";
    case Convention::Pagoda:
      return "the published Pagoda rules";
  }
  return "";
}

std::string operation(Convention count) { return count == Convention::Macs ? "MAC" : "FLOP"; }

std::string interval_text(const documents::EstimateRoofline& time) {
  const documents::EstimatePrediction& predicted = *time.predicted;
  if (!predicted.low || !predicted.high || !predicted.coverage)
    return "no interval" + (predicted.no_interval.empty() ? "" : ": " + base::printable(predicted.no_interval));
  return base::si_seconds(*predicted.low) + " … " + base::si_seconds(*predicted.high) + " for " +
         base::rounded(100 * *predicted.coverage) + (predicted.engine == "pytorch-amp" ? " % of models" : " %");
}

std::string placement_text(const documents::EstimatePlacement& placement) {
  return std::string("while the host has the processors on ") + (placement.is_apart ? "different caches" : "one cache") +
         ", as in " + base::rounded(100 * placement.share) + " % of the calibration's rounds";
}

std::string share_cell(double share) { return share > 0 && share < 0.0005 ? "<0.1" : base::rounded(100 * share); }
std::string intensity_text(double value) {
  constexpr double kGrouped = 999.5, kMost = 1e6;  // rounded() writes larger numbers with an exponent
  return value >= kGrouped && value < kMost ? base::grouped(std::llround(value)) : base::rounded(value);
}

std::string memory_share(double used, double whole) {
  std::string text = share_cell(whole > 0 ? used / whole : 0);
  for (int digits = 4; digits <= 9 && used != whole && text == share_cell(1); ++digits) {
    const std::string longer = base::rounded(100 * used / whole, digits);
    if (longer != "100") text = longer;
  }
  return text + " %";
}

std::string cell(const Count& value, std::string_view unit) { return value ? base::si(*value, unit) : "?"; }

}  // namespace pagoda::present::report
