// Names of nodes, their bounds and counts, the heaviest nodes; and the rows of an estimate, which join its parts once
// for all outputs.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/error.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/core/conventions.h"
#include "pagoda/documents/columns.h"

namespace pagoda::documents {
namespace {

constexpr base::EnumNames<MeasuredBasis::Kernels> kMeasuredBases("run", "busy", "kernels");
constexpr base::EnumNames<AdviceKind::Batch> kAdviceKinds("fit", "launch", "traffic", "precision", "batch");
constexpr const char* kStepParts[] = {"forward", "dx", "dw"};  // in the order of Row::step

// The element with this index: usually the one at that place, but files may leave some out. Null if there is none.
template <typename T>
const T* with_index(const std::vector<T>& list, std::size_t T::*member, std::size_t index) {
  if (index < list.size() && list[index].*member == index) return &list[index];
  const auto found = std::ranges::find(list, index, member);
  return found == list.end() ? nullptr : &*found;
}

// Files may leave nodes out.
std::optional<double> predicted_seconds(const EstimateDocument& estimate, std::size_t node) {
  const bool has = has_predicted_rows(estimate) && node < estimate.roofline->predicted->row_seconds.size();
  return has ? std::optional(estimate.roofline->predicted->row_seconds[node]) : std::nullopt;
}

void set_predicted(std::vector<Row>& types, const EstimateDocument& estimate) {
  std::map<std::pair<std::string_view, std::string_view>, std::optional<double>> seconds;
  for (const EstimateNode& node : estimate.nodes)
    if (const std::optional<double> of_node = predicted_seconds(estimate, node.index)) {
      std::optional<double>& sum = seconds[{node.domain.view(), node.op_type.view()}];
      sum = sum.value_or(0) + *of_node;
    }
  for (Row& row : types) row.predicted_seconds = seconds[{row.type->domain, row.type->op_type}];
}

}  // namespace

std::string_view to_string(MeasuredBasis basis) { return kMeasuredBases[basis]; }
std::string_view to_string(AdviceKind kind) { return kAdviceKinds[kind]; }

void write_json(base::JsonWriter& json, const Count& count) { count ? json.value(*count) : json.null(); }

void write_csv(base::CsvLine& line, const Count& count) { count ? line.add(*count) : line.add(""); }

Count count(const Dim& dim) {
  if (const auto value = dim.value64()) return *value < 0 ? Count() : Count(*value);
  try {
    const Int value = dim.evaluate({}, 1);
    return value < 0 ? Count() : value;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<double> real(const Count& count) {
  return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
}

std::optional<double> EstimateCounts::intensity() const {
  if (!flops || !bytes || *bytes == 0 || flops.is_at_least() || bytes.is_at_least()) return std::nullopt;
  return static_cast<double>(*flops) / static_cast<double>(*bytes);
}

Count EstimateCounts::plain_flops() const { return macs + macs + arith + special; }

std::string qualified(std::string_view domain, std::string_view op_type) {
  return domain.empty() || domain == "ai.onnx" ? std::string(op_type) : std::string(domain).append(".").append(op_type);
}

std::string EstimateNode::qualified_op() const { return qualified(domain, op_type); }

Name EstimateNode::shown_name() const {
  if (!name.empty()) return name;
  return outputs.empty() || outputs.front().name.empty() ? Name("#" + std::to_string(index)) : outputs.front().name;
}

EstimateCounts EstimateDocument::moved() const {
  EstimateCounts counts = totals.counts;
  if (traffic) {
    counts.bytes_read = traffic->bytes_read;
    counts.bytes_written = traffic->bytes_written;
    counts.bytes = traffic->bytes;
  }
  return counts;
}

std::optional<double> EstimateDocument::moved_intensity() const {
  return totals.intensity ? moved().intensity() : std::nullopt;
}

const RowBound* EstimateDocument::bound_of(const EstimateNode& node) const {
  return roofline ? with_index(roofline->rows, &RowBound::row, node.index) : nullptr;
}

const EstimatePlacement::Node* EstimateDocument::place_of(const EstimateNode& node) const {
  if (placement.empty()) return nullptr;
  const std::vector<EstimatePlacement::Node>& places = placement.front().nodes;  // sorted
  const auto found = std::ranges::lower_bound(places, node.index, {}, &EstimatePlacement::Node::index);
  return found != places.end() && found->index == node.index ? &*found : nullptr;
}

const RowBound* EstimateDocument::bound_of_group(std::size_t group) const {
  if (!roofline || !traffic) return nullptr;
  return group < roofline->groups.size() ? &roofline->groups[group] : nullptr;
}

bool EstimateDocument::is_complete() const {
  // A program that fails, or sizes at which the model does not run; with a sweep, only its points count.
  const auto is_counted = [](const EstimatePoint& point) { return point.counts.flops.has_value(); };
  const bool has_counts = sweep ? std::ranges::all_of(sweep->points, is_counted) : totals.counts.flops.has_value();
  return !totals.partial && !(training && training->partial) && has_counts && cannot_run.empty();
}

std::vector<const EstimateNode*> heaviest(const EstimateDocument& estimate, std::size_t top) {
  std::vector<const EstimateNode*> nodes;
  for (const EstimateNode& node : estimate.nodes) nodes.push_back(&node);
  std::ranges::stable_sort(nodes, std::ranges::greater(), [&](const EstimateNode* node) {
    const RowBound* bound = estimate.bound_of(*node);
    return std::pair(bound == nullptr ? 0 : bound->seconds, node->counts.flops.value_or(-1));
  });
  if (nodes.size() > top) nodes.resize(top);
  return nodes;
}

std::optional<std::vector<Int>> sizes(const TensorType& type) {
  if (!type.shape) return std::nullopt;
  std::vector<Int> result;
  for (const Dim& dim : *type.shape) {
    const Count size = count(dim);
    if (!size) return std::nullopt;
    result.push_back(*size);
  }
  return result;
}

std::optional<double> stored_bytes(const TensorType& type) {
  const std::optional<std::vector<Int>> shape = sizes(type);
  if (!shape || type.container != Container::Tensor || bits(type.element) == 0) return std::nullopt;
  double elements = 1;
  for (const Int size : *shape) elements *= static_cast<double>(size);
  return std::ceil(elements * bits(type.element) / 8);
}

std::optional<double> Row::seconds() const {
  return bound == nullptr || bound->bound == Bound::Unknown ? std::nullopt : std::optional(bound->seconds);
}

std::vector<const EstimateNode*> Row::nodes() const {
  if (kernel == nullptr) return {node};
  std::vector<const EstimateNode*> found;
  found.reserve(kernel->nodes.size());
  for (const std::size_t wanted : kernel->nodes)
    if (const EstimateNode* const at = with_index(estimate->nodes, &EstimateNode::index, wanted)) found.push_back(at);
  return found;
}

const EstimateNode* Row::main_node() const { return kernel == nullptr ? node : heaviest_node(nodes()); }

std::string Row::shown_name() const {
  if (type != nullptr) return operators();
  const EstimateNode* const main = main_node();
  return main == nullptr ? std::string() : std::string(main->shown_name());
}

std::string Row::operators() const {
  if (type != nullptr) return qualified(type->domain, type->op_type);
  if (kernel == nullptr) return node->qualified_op();
  std::string text;
  for (const EstimateNode* each : nodes()) text += (text.empty() ? "" : "+") + each->qualified_op();
  return text;
}

Row node_row(const EstimateDocument& estimate, const EstimateNode& node) {
  Row row{.estimate = &estimate, .kind = RowKind::Node, .index = node.index, .node = &node, .counts = &node.counts};
  if (node.symbolic) row.symbolic = &*node.symbolic;
  row.bound = estimate.bound_of(node);
  if (estimate.training && node.index < estimate.training->nodes.size())
    row.training = &estimate.training->nodes[node.index];
  row.predicted_seconds = predicted_seconds(estimate, node.index);
  return row;
}

Row kernel_row(const EstimateDocument& estimate, std::size_t index) {
  const EstimateGroup& kernel = estimate.traffic->groups[index];
  Row row{.estimate = &estimate, .kind = RowKind::Kernel, .index = index, .kernel = &kernel, .counts = &kernel.counts};
  if (kernel.symbolic) row.symbolic = &*kernel.symbolic;
  row.bound = estimate.bound_of_group(index);
  for (const std::size_t node : kernel.nodes)
    if (const std::optional<double> seconds = predicted_seconds(estimate, node))
      row.predicted_seconds = row.predicted_seconds.value_or(0) + *seconds;
  return row;
}

Row total_row(const EstimateDocument& estimate) {
  Row row{.estimate = &estimate, .kind = RowKind::Total, .counts = &estimate.totals.counts};
  if (estimate.roofline && estimate.roofline->predicted) row.predicted_seconds = estimate.roofline->predicted->seconds;
  if (estimate.measured && !estimate.measured->at_least) row.measured_seconds = estimate.measured->seconds;
  return row;
}

std::vector<Row> rows_of(const EstimateDocument& estimate, RowKind kind) {
  std::vector<Row> rows;
  switch (kind) {
    case RowKind::Node:
      rows.reserve(estimate.nodes.size());
      for (const EstimateNode& node : estimate.nodes) rows.push_back(node_row(estimate, node));
      if (!estimate.training) break;
      for (const EstimateTraining::Row& part : estimate.training->rows)
        for (std::size_t i = 0; i < std::size(kStepParts); ++i)
          if (part.part == kStepParts[i] && part.node < rows.size()) rows[part.node].step[i] = &part.bound;
      break;
    case RowKind::Kernel:
      for (std::size_t i = 0; estimate.traffic && i < estimate.traffic->groups.size(); ++i)
        rows.push_back(kernel_row(estimate, i));
      break;
    case RowKind::Type:
      for (const EstimateType& type : *estimate.types) {
        rows.push_back({.estimate = &estimate,
                        .kind = kind,
                        .index = rows.size(),
                        .type = &type,
                        .counts = &type.counts,
                        .symbolic = type.symbolic ? &*type.symbolic : nullptr});
      }
      if (has_predicted_rows(estimate)) set_predicted(rows, estimate);
      break;
    case RowKind::Part:
      for (const auto& [name, member] : kTrainingParts)
        rows.push_back(
            {.estimate = &estimate, .kind = kind, .index = rows.size(), .counts = &((*estimate.training).*member)});
      break;
    case RowKind::Point:
    case RowKind::PublishedPoint:
      for (const EstimatePoint& point : estimate.sweep->points)
        rows.push_back({.estimate = &estimate,
                        .kind = kind,
                        .index = rows.size(),
                        .counts = &point.counts,
                        .run = point.time ? &*point.time : nullptr,
                        .point = &point});
      break;
    case RowKind::Variant:
      for (const EstimateVariant& variant : estimate.variants)
        rows.push_back({.estimate = &estimate, .kind = kind, .index = rows.size(), .variant = &variant});
      break;
    case RowKind::Total:
    case RowKind::AtLoad:
    case RowKind::Backward:
    case RowKind::Run:
    case RowKind::NodeTime:
    case RowKind::KernelTime:
    case RowKind::StepTime:
    case RowKind::Dot:
      break;
  }
  return rows;
}

const EstimateNode* heaviest_node(std::span<const EstimateNode* const> nodes) {
  const auto weight = [](const EstimateNode* node) {
    const Count bytes = node->runs_nothing() ? 0 : node->counts.bytes;
    return std::pair(node->counts.macs.value_or(0), bytes.value_or(0));
  };
  const auto heaviest = std::ranges::max_element(nodes, {}, weight);
  return heaviest == nodes.end() ? nullptr : *heaviest;
}

std::optional<double> compared_seconds(const std::vector<EstimateVariant>& variants, const EstimateVariant& variant) {
  const bool are_launched = std::ranges::all_of(
      variants, [](const EstimateVariant& each) { return !each.seconds || each.launched_seconds.has_value(); });
  return are_launched ? variant.least_seconds() : variant.seconds;
}

std::string precision_text(Precision asked, std::string_view of_most_work) {
  const auto is_narrow = [](std::string_view format) {
    constexpr std::string_view kNarrow[] = {"int", "uint", "float8", "float4"};
    return std::ranges::any_of(kNarrow, [&](std::string_view each) { return format.starts_with(each); });
  };
  const std::string own(to_string(asked));
  if (!is_narrow(of_most_work) || of_most_work.starts_with(own)) return own;
  return cat(of_most_work, is_narrow(own) ? ", other products in " : ", floats as ", own);
}

std::string precision_text(const EstimateDocument& estimate, TrafficModel traffic,
                           const std::optional<Precision>& asked) {
  // The type of most operations, else of most nodes that work.
  std::map<ElementType, std::pair<double, std::size_t>> work;
  for (const EstimateNode& node : estimate.nodes) {
    const bool is_folded = traffic != TrafficModel::Unfused && node.dequantized_from != ElementType::Undefined;
    const ElementType type = is_folded ? node.dequantized_from : node.precision;
    if (type == ElementType::Undefined) continue;
    auto& [flops, nodes] = work[type];
    flops += real(node.counts.flops).value_or(0);
    ++nodes;
  }
  const auto most = std::ranges::max_element(work, {}, [](const auto& each) { return each.second; });
  if (asked) return precision_text(*asked, most == work.end() ? "" : to_string(most->first));
  return most == work.end() ? "the file's" : std::string(to_string(most->first)) + " (file)";
}

bool has_predicted_rows(const EstimateDocument& estimate) {
  return estimate.roofline && estimate.roofline->predicted && !estimate.roofline->predicted->row_seconds.empty();
}

}  // namespace pagoda::documents
