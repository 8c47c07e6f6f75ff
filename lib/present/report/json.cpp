// "pagoda.estimate/1": the machine-readable report. data/schemas/estimate.schema.json describes it.
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/dim_json.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using base::JsonWriter;
using report::Data;

void write_model(base::JsonWriter& json, const Model& model) {
  json.key("model").begin_object();
  json.member("path", model.path).member("name", model.graph_name).member("ir_version", model.ir_version);
  json.key("opsets").begin_object(base::JsonWriter::Layout::Line);
  for (const auto& [domain, version] : model.opsets) json.member(report::domain_name(domain), version);
  json.end_object();
  const std::string version = model.producer_version.empty() ? "" : " " + model.producer_version;
  json.member("producer", model.producer + version);
  json.member("nodes", model.main().nodes.size()).member("functions", model.functions.size());
  json.end_object();
}

// A dim's number, null while it is free, or the identifier that stands for its name in formulas.
void write_bindings(base::JsonWriter& json, const Analysis& analysis) {
  json.key("bindings").begin_object(base::JsonWriter::Layout::Line);
  std::map<std::string, std::optional<std::int64_t>> sizes;
  for (const std::string& name : analysis.free_dims) sizes.emplace(name, std::nullopt);
  for (const auto& [name, size] : analysis.bindings) sizes.insert_or_assign(name, size);
  for (const auto& [name, size] : sizes) json.member(name, size);
  for (const auto& [name, identifier] : analysis.renamed)
    if (!sizes.contains(name)) json.member(name, identifier);
  json.end_object();
}

void write_counters(base::JsonWriter& json, const report::Counters& counters) {
  for (const auto& [name, counter] : report::kCounters) json.member(name, counters.*counter);
}

void write_totals(base::JsonWriter& json, const Data& data) {
  const Totals& totals = data.analysis.totals;
  json.key("totals").begin_object();
  write_counters(json, data.totals);
  json.member("intensity", data.intensity);
  json.member("activation_peak_bytes", data.activation_peak_bytes);
  json.member("unmodelled_nodes", totals.unmodelled_nodes);
  json.key("unmodelled_ops").begin_array(base::JsonWriter::Layout::Line);
  for (const std::string& op : totals.unmodelled_ops) json.value(op);
  json.end_array();
  json.member("partial", data.analysis.partial);
  json.end_object();
}

void write_type(base::JsonWriter& json, const OutputInfo& output) {
  json.begin_object();
  json.member("name", output.name).member("type", report::type_name(output.type));
  json.key("shape");
  if (output.type.shape) {
    json.begin_array();
    for (const Dim& dim : *output.type.shape) json.value(dim);
    json.end_array();
  } else {
    json.null();
  }
  json.end_object();
}

void write_formulas(base::JsonWriter& json, const report::Formulas& formulas) {
  json.member("macs", formulas.macs);
  if (!formulas.flops.empty()) json.member("flops", formulas.flops);
  json.member("bytes", formulas.bytes);
}

void write_node(base::JsonWriter& json, const report::NodeRow& row, const ReportOptions& options) {
  const Graph& graph = *row.graph;
  const OpCost& cost = row.report->cost;
  json.begin_object(base::JsonWriter::Layout::Line);
  json.member("index", row.index).member("name", row.node->name).member("op_type", row.node->op_type);
  json.member("domain", report::domain_name(row.node->domain)).member("scope", row.scope());
  json.key("inputs").begin_array();
  for (const ValueId input : row.node->inputs)
    json.value(input == kAbsent ? std::string() : graph.values[static_cast<std::size_t>(input)].name);
  json.end_array();
  json.key("outputs").begin_array();
  for (const OutputInfo& output : row.report->outputs) write_type(json, output);
  json.end_array();
  write_counters(json, row.counters);
  json.member("intensity", row.counters.intensity());
  json.key("precision");
  if (cost.precision == ElementType::Undefined) {
    json.null();
  } else {
    json.value(to_string(cost.precision));
  }
  if (row.report->dequantized_from != ElementType::Undefined)
    json.member("dequantized_from", to_string(row.report->dequantized_from));
  if (options.sections.traffic != nullptr) {
    const std::int32_t group = options.sections.traffic->group_of[row.index];
    json.key("group").value(group < 0 ? std::optional<Int>() : std::optional<Int>(group));
  }
  json.member("mark", to_string(cost.mark));
  const std::string problem = row.problem();
  if (!problem.empty()) json.member("problem", problem);
  if (options.node_formulas && problem.empty()) {
    json.key("symbolic").begin_object();
    write_formulas(json, report::formulas(cost, options.count));
    json.end_object();
  }
  json.end_object();
}

void write_type_row(base::JsonWriter& json, const report::TypeRow& row, const ReportOptions& options) {
  json.begin_object(base::JsonWriter::Layout::Line);
  json.member("op_type", row.op_type).member("domain", report::domain_name(row.domain));
  json.member("nodes", row.nodes).member("unmodelled_nodes", row.unmodelled_nodes);
  write_counters(json, row.counters);
  json.member("intensity", row.counters.intensity());
  if (options.node_formulas) {
    json.key("symbolic").begin_object();
    write_formulas(json, report::formulas(row.cost, options.count));
    json.end_object();
  }
  json.end_object();
}

void write_symbolic(base::JsonWriter& json, const Data& data) {
  const Totals& totals = data.analysis.totals;
  json.key("symbolic").begin_object();
  write_formulas(json, report::formulas(data.cost, data.options.count));
  if (totals.activation_peak_bytes) json.member("activation_peak_bytes", totals.activation_peak_bytes->factored());
  json.end_object();
}

void write_symbols(base::JsonWriter& json, const Analysis& analysis) {
  json.key("symbols").begin_array();
  for (const Symbol& symbol : analysis.symbols) {
    json.begin_object(base::JsonWriter::Layout::Line);
    json.member("name", symbol.name).member("node", symbol.node).member("cause", symbol.cause);
    json.member("upper", symbol.upper);
    json.end_object();
  }
  json.end_array();
}

void write_diagnostics(base::JsonWriter& json, const Analysis& analysis) {
  json.key("diagnostics").begin_array();
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    json.begin_object(base::JsonWriter::Layout::Line);
    json.member("severity", to_string(diagnostic.severity));
    json.member("node", diagnostic.node).member("message", diagnostic.message);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string json_report(const Model& model, const Analysis& analysis, const ReportOptions& asked) {
  ReportOptions options = asked;
  if (options.rows == Rows::Group) options.rows = Rows::Node;  // groups are in "traffic"
  const Data data = report::collect(model, analysis, options);
  base::JsonWriter json;
  json.begin_object();
  json.member("schema", "pagoda.estimate/1");
  if (!options.tool.empty()) json.member("tool", options.tool);
  write_model(json, model);
  write_bindings(json, analysis);
  json.member("count", to_string(options.count));
  write_totals(json, data);
  if (options.rows == Rows::Node) {
    json.key("nodes").begin_array();
    for (const report::NodeRow& row : data.nodes) write_node(json, row, options);
    json.end_array();
  } else {
    json.key("types").begin_array();
    for (const report::TypeRow& row : data.types) write_type_row(json, row, options);
    json.end_array();
  }
  if (data.has_formulas()) write_symbolic(json, data);
  if (!analysis.symbols.empty()) write_symbols(json, analysis);
  write_sections(json, data);
  write_diagnostics(json, analysis);
  json.end_object();
  return std::move(json).text();
}

}  // namespace pagoda::present
