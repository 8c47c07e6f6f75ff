// Finds tables with one row per position: the source of their index shows which they are.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/core/decoder.h"

namespace pagoda::inline core {
namespace {

// How the positions that an operator takes follow from the shapes of its outputs.
enum class Taken : std::uint8_t {
  Tokens,  // one for each token of output 0: its axis before the last
  Cache,   // those of the past, too: the cache that it returns in output 1
  Packed,  // sequences of unknown lengths share an axis
};

// Operators that look up rows by position themselves, and the index of their table (of its cosines).
struct Lookup {
  std::string_view domain, op_type;
  std::size_t table;
  Taken taken;
  int ids = -1;  // the input that may name the positions, from 0 on without it
};
// clang-format off
constexpr Lookup kLookups[] = {
    {"",              "RotaryEmbedding",         1, Taken::Tokens, 3},
    {"com.microsoft", "EmbedLayerNormalization", 3, Taken::Tokens, 7},
    {"com.microsoft", "GroupQueryAttention",     7, Taken::Cache},
    {"com.microsoft", "PagedAttention",          8, Taken::Packed},
    {"com.microsoft", "QEmbedLayerNormalization", 3, Taken::Tokens},
    {"com.microsoft", "RotaryEmbedding",         2, Taken::Tokens, 1},
    {"com.microsoft", "SparseAttention",         7, Taken::Tokens},
};
// clang-format on

// Operators that turn lengths, ranges and masks into positions. Any other (such as the logarithm of relative buckets)
// may itself bound an index.
constexpr std::string_view kCounts[] = {
    "Add", "Cast", "Concat", "Constant", "ConstantOfShape", "CumSum",  "Equal", "Expand",    "Gather", "Identity",
    "Mul", "Not",  "Range",  "Reshape",  "Slice",           "Squeeze", "Sub",   "Unsqueeze", "Where"};
constexpr std::string_view kViews[] = {"Cast", "Expand", "Identity", "Mul", "Reshape", "Squeeze", "Unsqueeze"};

bool is_view(std::string_view op_type) { return std::ranges::count(kViews, op_type) > 0; }

struct Place {
  GraphId graph = 0;
  ValueId value = kAbsent;
  auto operator<=>(const Place&) const = default;
};

class Search {
 public:
  Search(const Model& model, const Analysis& analysis) : model_(model), analysis_(analysis) {}

  // Each table once, with the most positions that any reader takes.
  std::vector<PositionTable> tables() {
    std::vector<PositionTable> found;
    for (const NodeReport& row : analysis_.nodes) {
      const Node& node = model_.graph(row.graph).node(row.node);
      for (auto& table : {picked(row.graph, node), looked_up(row, node)}) {
        if (!table) continue;
        const auto same = std::ranges::find_if(found, [&](const PositionTable& each) {
          return each.name == table->name && each.positions == table->positions;
        });
        if (same == found.end())
          found.push_back(*table);
        else if (table->used)
          same->used = same->used ? max(*same->used, *table->used) : *table->used;
      }
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

  std::optional<PositionTable> table_of(Place place, std::int64_t before, std::optional<Dim> used = {}) const {
    const Tensor* tensor = stored(place);
    if (tensor == nullptr || !tensor->type.shape || tensor->type.shape->size() != 2 || !is_float(tensor->type.element))
      return std::nullopt;
    const auto rows = tensor->type.shape->front().value64();
    if (!rows || *rows <= before) return std::nullopt;
    if (used) *used -= before;
    return PositionTable{tensor->name, *rows - before, std::move(used)};
  }

  std::optional<PositionTable> looked_up(const NodeReport& row, const Node& node) {
    for (const Lookup& each : kLookups)
      if (each.op_type == node.op_type && each.domain == plain_domain(node.domain) && node.input(each.table) != kAbsent)
        return table_of(resolved({row.graph, node.input(each.table)}), 0, taken(each, row, node));
    return std::nullopt;
  }

  std::optional<Dim> taken(const Lookup& lookup, const NodeReport& row, const Node& node) {
    const auto from_end = [&](std::size_t output, std::size_t axis) -> std::optional<Dim> {
      if (output >= row.outputs.size() || !row.outputs[output].type.shape) return std::nullopt;
      const Shape& shape = *row.outputs[output].type.shape;
      return shape.size() > axis ? std::optional(shape[shape.size() - 1 - axis]) : std::nullopt;
    };
    if (lookup.taken == Taken::Packed) return std::nullopt;
    const std::optional<Dim> tokens = from_end(0, 1);
    if (lookup.taken == Taken::Cache) {
      // A cache that keeps its size is a buffer, of which a run may use a part.
      constexpr std::size_t kPast = 3;
      const Shape* past = row.graph == 0 ? shape_of(analysis_, node.input(kPast)) : nullptr;
      const std::optional<Dim> present = from_end(1, 1);
      const bool grows = past != nullptr && past->size() == 4 && present && *present != (*past)[2];
      return grows && node.output(1) != kAbsent ? present : tokens;
    }
    const ValueId ids = lookup.ids < 0 ? kAbsent : node.input(static_cast<std::size_t>(lookup.ids));
    if (ids == kAbsent) return tokens;
    std::optional<Dim> end = positions_end(resolved({row.graph, ids}));
    const Shape* shape = row.graph == 0 ? shape_of(analysis_, ids) : nullptr;
    const bool is_first = shape != nullptr && shape->size() < 2;  // the position of the first token
    if (end && is_first) end = tokens ? std::optional(*end + *tokens - 1) : std::nullopt;
    // No rotation takes more tokens than its table has rows, whatever their positions are.
    return end || node.op_type.ends_with("LayerNormalization") ? end : tokens;
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
    // Rows of the table up to the last one that is taken.
    const std::optional<Dim> last = is_slice ? number(index) : positions_end(index);
    return table_of(table, rows_before(resolved({graph, begin})), last);
  }

  // The value of a single integer of the main graph that sizes decide.
  std::optional<Dim> number(Place place) const {
    if (place.graph != 0 || place.value == kAbsent) return std::nullopt;
    const TensorValue* value = analysis_.values[static_cast<std::size_t>(place.value)].get();
    const Dim* dim = value != nullptr && value->size() == 1 ? std::get_if<Dim>(&value->front()) : nullptr;
    return dim == nullptr ? std::nullopt : std::optional(*dim);
  }

  // One more than the largest element of an index that sizes decide, if masks are all ones; empty if it is not known.
  std::optional<Dim> positions_end(Place place, int depth = 0) {
    constexpr int kDeepest = 32;
    if (place.value == kAbsent || depth > kDeepest) return std::nullopt;
    if (const auto constant = known(place.graph, place.value)) return Dim(*constant + 1);
    if (const auto single = number(place)) return *single + 1;
    const Node* node = producer(place);
    if (node == nullptr) return is_mask(place) ? std::optional(Dim(2)) : std::nullopt;
    const auto end_of = [&](std::size_t input) {
      return node->input(input) == kAbsent ? std::nullopt
                                           : positions_end(resolved({place.graph, node->input(input)}), depth + 1);
    };
    const std::string_view op = node->op_type;
    if (op == "Equal" || op == "Not") return Dim(2);
    if (op == "Range") {
      const auto step = known(place.graph, node->input(2));
      return step == 1 ? number(resolved({place.graph, node->input(1)})) : std::nullopt;
    }
    if (op == "Add" || op == "Mul") {
      const auto a = end_of(0), b = end_of(1);
      if (!a || !b) return std::nullopt;
      return op == "Add" ? *a + *b - 1 : (*a - 1) * (*b - 1) + 1;
    }
    if (op == "Sub") {
      const auto a = end_of(0);
      const auto less = known(place.graph, node->input(1));
      return a && less ? std::optional(*a - *less) : std::nullopt;
    }
    if (op == "CumSum") {  // of a mask: at most the size of its axis
      const auto each = end_of(0);
      const auto axis = known(place.graph, node->input(1));
      const Shape* shape = place.graph == 0 ? shape_of(analysis_, place.value) : nullptr;
      if (each != Dim(2) || !axis || shape == nullptr) return std::nullopt;
      const auto at = static_cast<std::size_t>(*axis < 0 ? *axis + static_cast<std::int64_t>(shape->size()) : *axis);
      return at < shape->size() ? std::optional((*shape)[at] + 1) : std::nullopt;
    }
    if (op == "Where") {
      const auto a = end_of(1), b = end_of(2);
      return a && b ? std::optional(max(*a, *b)) : std::nullopt;
    }
    return is_view(op) ? end_of(0) : std::nullopt;
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
      } else if (!is_view(node->op_type)) {
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
      if (!node->bodies().empty() || std::ranges::count(kCounts, std::string_view(node->op_type)) == 0) return false;
      for (const ValueId input : node->inputs) open.push_back({place.graph, input});
    }
    return found;
  }

  bool is_mask(Place place) const {
    return is_count(place) && model_.main().value(place.value).name.find("mask") != std::string::npos;
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

std::vector<PositionTable> position_tables(const Model& model, const Analysis& analysis) {
  return Search(model, analysis).tables();
}

std::optional<PositionTable> position_table(const Model& model, const Analysis& analysis) {
  const std::vector<PositionTable> tables = position_tables(model, analysis);
  const auto shortest = std::ranges::min_element(tables, {}, &PositionTable::positions);
  return shortest == tables.end() ? std::nullopt : std::optional(*shortest);
}

std::string exceeded_table(const std::vector<PositionTable>& tables, const Bindings& bindings) {
  for (const PositionTable& table : tables)
    if (table.used)
      if (const Int used = table.used->evaluate(bindings); used > table.positions)
        return cat(base::printable(table.name), " has rows for ", base::grouped(table.positions),
                   " positions, these sizes take ", base::grouped(used));
  return {};
}

}  // namespace pagoda::inline core
