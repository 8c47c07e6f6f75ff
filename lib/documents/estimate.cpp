// What an estimate says of itself: names of its rows, their bounds, its heaviest rows.
#include "pagoda/documents/estimate.h"

#include <algorithm>
#include <cmath>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/error.h"
#include "pagoda/base/json_writer.h"

namespace pagoda::documents {

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
  if (!flops || !bytes || *bytes == 0) return std::nullopt;
  return static_cast<double>(*flops) / static_cast<double>(*bytes);
}

Count EstimateCounts::plain_flops() const {
  if (!macs || !arith || !special) return std::nullopt;
  return 2 * *macs + *arith + *special;
}

std::string qualified(std::string_view domain, std::string_view op_type) {
  return domain.empty() || domain == "ai.onnx" ? std::string(op_type) : std::string(domain).append(".").append(op_type);
}

std::string EstimateNode::qualified_op() const { return qualified(domain, op_type); }

Name EstimateNode::shown_name() const {
  if (!name.empty()) return name;
  return outputs.empty() || outputs.front().name.empty() ? Name("#" + std::to_string(index)) : outputs.front().name;
}

const RowBound* EstimateDocument::bound_of(const EstimateNode& node) const {
  if (!roofline) return nullptr;
  const std::vector<RowBound>& rows = roofline->rows;
  if (node.index < rows.size() && rows[node.index].row == node.index) return &rows[node.index];
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const RowBound& bound) { return bound.row == node.index; });
  return found == rows.end() ? nullptr : &*found;
}

const RowBound* EstimateDocument::bound_of_group(std::size_t group) const {
  if (!roofline || !traffic) return nullptr;
  return group < roofline->groups.size() ? &roofline->groups[group] : nullptr;
}

bool EstimateDocument::is_complete() const {
  const bool has_no_count = count == Convention::Pagoda && !totals.counts.flops;  // the published program fails
  return !totals.partial && !(training && training->partial) && !has_no_count;
}

std::vector<const EstimateNode*> heaviest(const EstimateDocument& estimate, std::size_t top) {
  std::vector<const EstimateNode*> nodes;
  for (const EstimateNode& node : estimate.nodes) nodes.push_back(&node);
  const auto seconds = [&](const EstimateNode& node) {
    const RowBound* bound = estimate.bound_of(node);
    return bound == nullptr ? 0 : bound->seconds;
  };
  std::stable_sort(nodes.begin(), nodes.end(), [&](const EstimateNode* a, const EstimateNode* b) {
    if (seconds(*a) != seconds(*b)) return seconds(*a) > seconds(*b);
    return a->counts.flops.value_or(-1) > b->counts.flops.value_or(-1);
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

}  // namespace pagoda::documents
