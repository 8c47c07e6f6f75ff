// The formats of Netron and model-explorer, and annotations of a model. Netron reads an attachment with the class
// metadata.Attachment of its view.js (since 8.2.8); node_data_builder.py of model-explorer describes its node data.
// Neither format has other documentation.
#include "pagoda/present/viewers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "pagoda/base/cat.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/plural.h"
#include "pagoda/measured/join.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using base::JsonWriter;
using documents::EstimateDocument;
using documents::EstimateNode;
using Layout = JsonWriter::Layout;

// Values of one node, summed over all its rows.
struct NodeValues {
  const EstimateNode* node = nullptr;  // the first row
  std::size_t rows = 0;
  documents::EstimateCounts counts = {};
  RowBound time = {};  // the sums of its seconds; the bound is unknown if a part is
  std::optional<double> predicted_seconds = {}, measured_seconds = {};
  std::string bound = {}, problem = {};
  // A measurement of this node together with others: their total time, and their names.
  std::optional<double> together_seconds = {};
  std::string together = {};
};

const Columns& metrics() {
  static const Columns columns = documents::columns_of(documents::RowKind::Node, documents::View::Viewer);
  return columns;
}

Cell cell(const Metric& metric, const NodeValues& values, const EstimateDocument* estimate = nullptr) {
  return metric.cell({.estimate = estimate,
                      .node = values.node,
                      .counts = &values.counts,
                      .bound = &values.time,
                      .predicted_seconds = values.predicted_seconds,
                      .measured_seconds = values.measured_seconds});
}

// "231 M"; empty: unknown.
std::string label_text(const Metric& metric, const NodeValues& values, const EstimateDocument& estimate) {
  const Cell value = cell(metric, values, &estimate);
  // Viewers have no room for the digits of large ratios.
  const double* const ratio = std::get_if<double>(&value);
  return ratio != nullptr && metric.kind == documents::CellKind::Intensity ? base::rounded(*ratio)
                                                                           : shown_text(value, metric.kind);
}

// "conv1; relu1".
std::string joined_names(const EstimateDocument& estimate, const std::vector<std::size_t>& nodes) {
  return base::joined(nodes, "; ", [&](std::size_t node) { return estimate.nodes[node].shown_name(); });
}

// The values of each row of the estimate.
std::vector<NodeValues> row_values(const Viewed& viewed) {
  const EstimateDocument& estimate = viewed.estimate;
  std::vector<NodeValues> values;
  values.reserve(estimate.nodes.size());
  for (const EstimateNode& node : estimate.nodes) {
    const Row row = documents::node_row(estimate, node);
    NodeValues& each = values.emplace_back(
        NodeValues{.node = &node, .rows = 1, .counts = node.counts, .predicted_seconds = row.predicted_seconds});
    each.problem = node.problem;
    each.time.bound = Bound::Unknown;
    if (!row.seconds()) continue;
    each.time = *row.bound;
    each.bound = to_string(row.bound->bound);
  }
  if (viewed.run == nullptr) return values;
  for (const measured::JoinedGroup& group : measured::joined_groups(*viewed.run, estimate)) {
    if (!group.seconds) continue;
    if (group.rows.size() == 1) {
      values[group.rows.front()].measured_seconds = group.seconds;
      continue;
    }
    for (const std::size_t row : group.rows) {
      values[row].together_seconds = group.seconds;
      values[row].together = joined_names(estimate, group.rows);
    }
  }
  return values;
}

// Adds a further row of the same node.
void add(NodeValues& sum, const NodeValues& row) {
  const auto plus = [](auto& to, const auto& part) {
    if (to && part)
      to = *to + *part;
    else
      to = std::nullopt;  // the sum is unknown if a part is unknown
  };
  ++sum.rows;
  for (const auto& [name, member] : documents::kEstimateCounts)
    sum.counts.*member = sum.counts.*member + row.counts.*member;
  plus(sum.predicted_seconds, row.predicted_seconds);
  plus(sum.measured_seconds, row.measured_seconds);
  if (row.time.bound == Bound::Unknown) sum.time.bound = Bound::Unknown;
  for (const auto member : {&RowBound::seconds, &RowBound::compute_seconds, &RowBound::memory_seconds})
    sum.time.*member += row.time.*member;
  if (sum.bound != row.bound) sum.bound.clear();
  if (sum.problem.empty()) sum.problem = row.problem;
  sum.together_seconds.reset();  // it covers only the first row and its neighbours
}

// The values of the whole model.
NodeValues total_values(const Viewed& viewed) {
  const Row row = documents::total_row(viewed.estimate);
  NodeValues total{
      .counts = *row.counts, .predicted_seconds = row.predicted_seconds, .measured_seconds = row.measured_seconds};
  total.time.bound = Bound::Unknown;
  if (const auto& roofline = viewed.estimate.roofline; roofline && roofline->totals.seconds > 0) {
    total.time.bound = roofline->totals.bound();
    total.time.seconds = roofline->totals.seconds;
    total.time.compute_seconds = roofline->totals.compute_seconds;
    total.time.memory_seconds = roofline->totals.memory_seconds;
  }
  return total;
}

const base::Name& output_of(const EstimateNode& node) {
  static const base::Name kNone;
  for (const OutputInfo& output : node.outputs)
    if (!output.name.empty()) return output.name;
  return kNone;
}

// The nodes of the file in the order of the estimate: merges rows of one body with the same first output and name.
std::vector<NodeValues> nodes_of(const Viewed& viewed) {
  std::vector<NodeValues> nodes;
  std::map<std::array<std::string_view, 3>, std::size_t> places;
  for (const NodeValues& row : row_values(viewed)) {
    const auto [at, is_new] = places.emplace(
        std::array<std::string_view, 3>{row.node->body, output_of(*row.node), row.node->name}, nodes.size());
    if (is_new)
      nodes.push_back(row);
    else
      add(nodes[at->second], row);
  }
  return nodes;
}

// Names that identify a node. Viewers do not distinguish bodies: a name identifies its node in the outermost body that
// uses it, provided that only one node there has the name.
std::map<std::string_view, const EstimateNode*> named(const std::vector<NodeValues>& nodes) {
  struct Found {
    const EstimateNode* node;
    bool is_alone;
  };
  std::map<std::string_view, Found> found;
  for (const NodeValues& values : nodes) {
    if (values.node->name.empty()) continue;
    const auto [at, is_new] = found.emplace(values.node->name, Found{values.node, true});
    if (is_new) continue;
    const std::size_t depth = values.node->body.size(), known = at->second.node->body.size();
    if (depth < known)
      at->second = {values.node, true};
    else if (values.node->body == at->second.node->body)
      at->second.is_alone = false;
  }
  std::map<std::string_view, const EstimateNode*> names;
  for (const auto& [name, each] : found)
    if (each.is_alone) names.emplace(name, each.node);
  return names;
}

struct Target {
  const char* kind;
  std::string_view name;
};

// Netron compares only the first line.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// Names and texts that are not empty.
class Texts : public std::vector<std::pair<std::string_view, std::string>> {
 public:
  void add(std::string_view name, std::string text) {
    if (!text.empty()) emplace_back(name, std::move(text));
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void add(std::string_view name, Enum value) { add(name, std::string(to_string(value))); }
};

// The number of a node's kernel, the names of the kernel's nodes, and its seconds; nothing if the node runs in none.
void add_kernel(Texts& texts, const EstimateDocument& estimate, const EstimateNode& node) {
  if (!estimate.traffic || node.group < 0) return;
  const auto id = static_cast<std::size_t>(node.group);
  const RowBound* bound = estimate.bound_of_group(id);
  texts.add("kernel", std::to_string(id));
  texts.add("kernel_nodes", joined_names(estimate, estimate.traffic->groups[id].nodes));
  if (bound != nullptr && bound->bound != Bound::Unknown) texts.add("kernel_seconds", base::shortest(bound->seconds));
}

// The conditions of the numbers: tool, device, precision, sizes …
Texts conditions(const EstimateDocument& estimate) {
  Texts texts;
  texts.add("tool", estimate.tool);
  if (estimate.roofline) texts.add("device", report::device_text(*estimate.roofline));
  if (estimate.precision) texts.add("precision", *estimate.precision);
  texts.add("traffic", estimate.traffic ? estimate.traffic->model : TrafficModel::Unfused);
  texts.add("sizes", base::joined(estimate.bindings, ", ", [](const auto& binding) {
              return cat(binding.first, "=", binding.second ? std::to_string(*binding.second) : "free, taken as 1");
            }));
  if (estimate.roofline && estimate.roofline->predicted)
    texts.add("prediction",
              cat(estimate.roofline->predicted->calibration, " (", estimate.roofline->predicted->engine, ")"));
  if (!estimate.placement.empty())
    texts.add("provider", cat(estimate.placement.front().name, " ", estimate.placement.front().version));
  if (estimate.measured) texts.add("measurement", estimate.measured->source);
  if (estimate.totals.partial)
    texts.add("partial", cat(base::counted(estimate.totals.unmodelled_nodes, "node is", "nodes are"),
                             " not modelled: totals are lower bounds"));
  return texts;
}

// The texts shown at a node, besides its numbers.
Texts words(const EstimateDocument& estimate, const NodeValues& values) {
  Texts texts;
  const EstimateNode& node = *values.node;
  if (values.bound != to_string(Bound::None)) texts.add("bound", values.bound);
  if (node.precision != ElementType::Undefined) texts.add("precision", node.precision);
  if (node.mark != Mark::Compute) texts.add("mark", node.mark);
  texts.add("problem", values.problem);
  if (values.rows > 1) texts.add("runs", std::to_string(values.rows));
  if (const auto* const place = estimate.place_of(node)) {
    texts.add("part", place->part < 0 ? "" : std::to_string(place->part));
    texts.add("reason", place->reason);
  }
  if (values.rows == 1) add_kernel(texts, estimate, node);
  if (values.together_seconds) {
    texts.add("measured_together_seconds", base::shortest(*values.together_seconds));
    texts.add("measured_together", values.together);
  }
  return texts;
}

}  // namespace

const Metric* metric(std::string_view name) {
  const auto found = std::ranges::find(metrics(), name, &Metric::name);
  return found == metrics().end() ? nullptr : *found;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric* each : metrics()) names.emplace_back(each->name);
  return names;
}

std::string refusal(const Metric& metric, const Viewed& viewed) {
  if (metric.remedy == nullptr) return {};
  for (const NodeValues& row : row_values(viewed))
    if (!std::holds_alternative<std::monostate>(cell(metric, row, &viewed.estimate))) return {};
  const std::vector<std::string>& unset = viewed.estimate.unset;
  const bool is_blocked = metric.is_timed() && viewed.estimate.roofline && !viewed.estimate.can_run();
  return "--metric " + std::string(metric.name) + " " +
         (is_blocked && unset.empty()
              ? "is not known: the model cannot run: " + base::printable(viewed.estimate.cannot_run)
          : is_blocked ? "depends on " + base::joined(unset, ", ", base::printable) + "; set them with --dim"
                       : metric.remedy);
}

std::string netron_attachment(const Viewed& viewed, const Metric* only) {
  const std::vector<NodeValues> nodes = nodes_of(viewed);
  const auto names = named(nodes);
  const auto target_of = [&](const EstimateNode& node) -> Target {
    const auto found = names.find(node.name);
    if (found != names.end() && found->second == &node) return {"node", node.name};
    return {"value", output_of(node)};
  };
  const Target model{"model", ""};
  JsonWriter json;
  const auto add_entry = [&](const Target& target, std::string_view name, const std::string& value) {
    if (value.empty()) return;
    json.begin_object(Layout::Line).member("kind", target.kind).member("target", first_line(target.name));
    json.member("name", name).member("value", value).end_object();
  };
  const auto add_numbers = [&](const Target& target, const NodeValues& values) {
    for (const Metric* each : metrics())
      if (only == nullptr || each == only) add_entry(target, each->label, label_text(*each, values, viewed.estimate));
  };
  const auto add_texts = [&](const Target& target, const Texts& texts) {
    for (const auto& [name, value] : texts) add_entry(target, cat("pagoda.", name), value);
  };
  json.begin_object().member("signature", "netron:attachment").key("metrics").begin_array();
  add_numbers(model, total_values(viewed));
  for (const NodeValues& values : nodes) add_numbers(target_of(*values.node), values);
  json.end_array().key("metadata").begin_array();
  add_texts(model, conditions(viewed.estimate));
  for (const NodeValues& values : nodes) add_texts(target_of(*values.node), words(viewed.estimate, values));
  json.end_array().end_object();
  return std::move(json).text();
}

std::string model_explorer_data(const Viewed& viewed, const Metric& metric) {
  const std::vector<NodeValues> nodes = nodes_of(viewed);
  const auto names = named(nodes);
  JsonWriter json;
  // model-explorer shows a main graph without a name as "<main>".
  const std::string& graph = viewed.estimate.model.name;
  json.begin_object()
      .key(graph.empty() ? "<main>" : graph)
      .begin_object()
      .member("name", std::string_view(metric.name));
  json.key("results").begin_object();
  bool is_text = false;  // texts bring their colours
  for (const NodeValues& values : nodes) {
    const auto found = names.find(values.node->name);
    if (found == names.end() || found->second != values.node) continue;
    const Cell value = cell(metric, values, &viewed.estimate);
    if (const std::optional<double> number = documents::number(value)) {
      json.key(values.node->name).begin_object(Layout::Line).member("value", *number).end_object();
    } else if (const auto* const text = std::get_if<std::string>(&value)) {
      json.key(values.node->name).begin_object(Layout::Line).member("value", *text);
      json.member("bgColor", *text == "cpu" ? "#d55e00" : *text == "provider" ? "#0072b2" : "#999999").end_object();
      is_text = true;
    }
  }
  json.end_object();
  if (is_text) return std::move(json.end_object().end_object()).text();
  // White for the least value, red for the greatest.
  json.key("gradient").begin_array();
  constexpr std::pair<int, const char*> kStops[] = {{0, "#fff"}, {1, "#d00"}};
  for (const auto& [stop, color] : kStops)
    json.begin_object(Layout::Line).member("stop", stop).member("bgColor", color).end_object();
  json.end_array().end_object().end_object();
  return std::move(json).text();
}

Annotations annotations(const Viewed& viewed, const Analysis& analysis) {
  if (analysis.nodes.size() != viewed.estimate.nodes.size())
    throw Error(cat("annotations: the estimate has ", viewed.estimate.nodes.size(), " nodes and the analysis ",
                    analysis.nodes.size(), ", expected those of one request"));
  std::map<std::pair<GraphId, std::int32_t>, NodeValues> nodes;
  const std::vector<NodeValues> rows = row_values(viewed);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [at, is_new] = nodes.emplace(std::pair(analysis.nodes[i].graph, analysis.nodes[i].node), rows[i]);
    if (!is_new) add(at->second, rows[i]);
  }
  Annotations notes;
  const auto note = [&](Annotations::Entries& entries, std::string_view name, const std::string& value) {
    if (!value.empty()) entries.emplace_back(cat(notes.prefix, name), value);
  };
  for (const auto& [name, value] : conditions(viewed.estimate)) note(notes.model, name, value);
  const NodeValues total = total_values(viewed);
  for (const Metric* each : metrics()) note(notes.model, each->name, exact_text(cell(*each, total)));
  for (const auto& [place, values] : nodes) {
    Annotations::Entries& entries = notes.nodes[place];
    for (const Metric* each : metrics()) note(entries, each->name, exact_text(cell(*each, values, &viewed.estimate)));
    for (const auto& [name, value] : words(viewed.estimate, values)) note(entries, name, value);
  }
  return notes;
}

}  // namespace pagoda::present
