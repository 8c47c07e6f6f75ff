// Finds tables with one row per position: the source of their index shows which they are.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "pagoda/core/decoder.h"

namespace pagoda::inline core {
namespace {

// Operators that take sines and cosines by position, and the index of the input with the cosines.
struct Rotation {
  std::string_view domain, op_type;
  std::size_t cosines;
};
constexpr Rotation kRotations[] = {
    {"", "RotaryEmbedding", 1},
    {"com.microsoft", "GroupQueryAttention", 7},
    {"com.microsoft", "PagedAttention", 8},
    {"com.microsoft", "RotaryEmbedding", 2},
    {"com.microsoft", "SparseAttention", 7},
};

// Operators that turn lengths, ranges and masks into positions. Any other (such as the logarithm of relative buckets)
// may itself bound an index.
constexpr std::string_view kCounts[] = {
    "Add", "Cast", "Concat", "Constant", "ConstantOfShape", "CumSum",  "Equal", "Expand",    "Gather", "Identity",
    "Mul", "Not",  "Range",  "Reshape",  "Slice",           "Squeeze", "Sub",   "Unsqueeze", "Where"};
constexpr std::string_view kViews[] = {"Cast", "Expand", "Identity", "Mul", "Reshape", "Squeeze", "Unsqueeze"};

template <std::size_t N>
bool holds(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

struct Place {
  GraphId graph = 0;
  ValueId value = kAbsent;
  auto operator<=>(const Place&) const = default;
};

class Search {
 public:
  Search(const Model& model, const Analysis& analysis) : model_(model), analysis_(analysis) {}

  std::optional<PositionTable> shortest() {
    std::optional<PositionTable> found;
    for (const NodeReport& row : analysis_.nodes) {
      const Node& node = model_.graph(row.graph).node(row.node);
      for (const auto& table : {picked(row.graph, node), rotated_by(row.graph, node)})
        if (table && (!found || table->positions < found->positions)) found = table;
    }
    return found;
  }

 private:
  Place resolved(Place place) const {
    for (;;) {
      const Graph& graph = model_.graph(place.graph);
      const ValueId outer = place.value == kAbsent ? kAbsent : graph.value(place.value).outer;
      if (outer == kAbsent || graph.parent < 0) return place;
      place = {graph.parent, outer};
    }
  }

  // Null if the value is not stored.
  const Tensor* stored(Place place) const {
    if (place.value == kAbsent) return nullptr;
    const Graph& graph = model_.graph(place.graph);
    return graph.is_stored(place.value) ? &graph.initializer(graph.value(place.value).initializer) : nullptr;
  }

  const Node* producer(Place place) {
    auto& made = producers_[place.graph];
    if (made.empty())
      for (const Node& node : model_.graph(place.graph).nodes)
        for (const ValueId output : node.outputs)
          if (output != kAbsent) made[output] = &node;
    const auto found = made.find(place.value);
    return found == made.end() ? nullptr : found->second;
  }

  std::optional<PositionTable> table_of(Place place, std::int64_t before) const {
    const Tensor* tensor = stored(place);
    if (tensor == nullptr || !tensor->type.shape || tensor->type.shape->size() != 2 || !is_float(tensor->type.element))
      return std::nullopt;
    const auto rows = tensor->type.shape->front().value64();
    if (!rows || *rows <= before) return std::nullopt;
    return PositionTable{tensor->name, *rows - before};
  }

  std::optional<PositionTable> rotated_by(GraphId graph, const Node& node) const {
    for (const Rotation& each : kRotations)
      if (each.op_type == node.op_type && each.domain == plain_domain(node.domain) &&
          node.input(each.cosines) != kAbsent)
        return table_of(resolved({graph, node.input(each.cosines)}), 0);
    return std::nullopt;
  }

  // A Gather of rows, or a Slice of rows from one position to another.
  std::optional<PositionTable> picked(GraphId graph, const Node& node) {
    constexpr std::size_t kAxes = 3;  // of a Slice
    const bool is_slice = node.op_type == "Slice";
    if (!is_slice && (node.op_type != "Gather" || node.integer("axis", 0) != 0)) return std::nullopt;
    if (is_slice && node.input(kAxes) != kAbsent && known(graph, node.input(kAxes)) != 0) return std::nullopt;
    const ValueId begin = node.input(1), end = node.input(is_slice ? 2 : 1);
    if (node.input(0) == kAbsent || begin == kAbsent || end == kAbsent) return std::nullopt;
    const Place table = resolved({graph, node.input(0)}), index = resolved({graph, end});
    if (!table_of(table, 0) || stored(index) != nullptr || !counts(index)) return std::nullopt;
    return table_of(table, rows_before(resolved({graph, begin})));
  }

  // Rows of the table before the row of the first position: the offset that is added to the index.
  std::int64_t rows_before(Place index) {
    std::int64_t rows = 0;
    for (int looks = 0; looks < 32; ++looks) {
      const Node* node = producer(index);
      if (node == nullptr) break;
      ValueId next = node->input(0);
      if (node->op_type == "Add" || node->op_type == "Sub") {
        const std::size_t constant = node->op_type == "Add" && known(index.graph, node->input(0)) ? 0 : 1;
        const auto by = known(index.graph, node->input(constant));
        if (!by) break;
        rows += node->op_type == "Add" ? *by : -*by;
        next = node->input(1 - constant);
      } else if (node->op_type == "CumSum") {
        return rows + 1;  // it counts from 1
      } else if (!holds(kViews, node->op_type)) {
        break;
      }
      index = resolved({index.graph, next});
    }
    return std::max<std::int64_t>(rows, 0);
  }

  // The value of a constant that is a single integer.
  std::optional<std::int64_t> known(GraphId graph, ValueId value) {
    if (value == kAbsent) return std::nullopt;
    const Place place = resolved({graph, value});
    const Tensor* tensor = stored(place);
    if (const Node* node = tensor == nullptr ? producer(place) : nullptr; node != nullptr) tensor = node->constant();
    if (tensor == nullptr || !tensor->value || tensor->value->size() != 1) return std::nullopt;
    const Dim* number = std::get_if<Dim>(&tensor->value->front());
    return number == nullptr ? std::nullopt : number->value64();
  }

  // True if an index comes from sizes, masks and positions alone, and from at least one of them.
  bool counts(Place index) {
    std::vector<Place> open = {index};
    std::set<Place> seen;
    bool found = false;
    while (!open.empty()) {
      const Place place = resolved(open.back());
      open.pop_back();
      if (place.value == kAbsent || stored(place) != nullptr || !seen.insert(place).second) continue;
      const Node* node = producer(place);
      if (node == nullptr) {
        if (!is_count(place)) return false;
        found = true;
        continue;
      }
      if (node->op_type == "Shape" || node->op_type == "Size") {
        found = true;
        continue;
      }
      if (!node->bodies().empty() || !holds(kCounts, node->op_type)) return false;
      for (const ValueId input : node->inputs) open.push_back({place.graph, input});
    }
    return found;
  }

  // True if the input holds positions or masks, by exporters' names; token ids and token types do not count.
  bool is_count(Place place) const {
    if (place.graph != 0) return false;
    const base::Name& name = model_.main().value(place.value).name;
    return name.find("position") != std::string::npos || name.find("mask") != std::string::npos ||
           name.find("past") != std::string::npos;
  }

  const Model& model_;
  const Analysis& analysis_;
  std::map<GraphId, std::map<ValueId, const Node*>> producers_;
};

}  // namespace

std::optional<PositionTable> position_table(const Model& model, const Analysis& analysis) {
  return Search(model, analysis).shortest();
}

}  // namespace pagoda::inline core
