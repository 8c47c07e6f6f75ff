// Exact numbers for spreadsheets and scripts (RFC 4180). Columns: report.h.
#include "pagoda/base/csv_line.h"

#include "report/rows.h"

namespace pagoda::present {
namespace {

using base::CsvLine;

void add_counters(CsvLine& line, const report::Counters& counters) {
  for (const auto& [name, member] : documents::kEstimateCounts) line.add(counters.*member);
  line.add(counters.intensity());
}

void add_formulas(CsvLine& line, const report::Formulas& formulas) {
  line.add(formulas.macs).add(formulas.flops).add(formulas.bytes);
}

base::CsvLine& add_counter_header(base::CsvLine& line) {
  for (const auto& [name, member] : documents::kEstimateCounts) line.add(std::string_view(name));
  return line.add(std::string_view("intensity"));
}

void add_formula_header(base::CsvLine& line) {
  for (const char* name : {"macs_formula", "flops_formula", "bytes_formula"}) line.add(std::string_view(name));
}

std::string node_line(const report::NodeRow& row, const ReportOptions& options) {
  const Graph& graph = *row.graph;
  std::string inputs, outputs;
  for (std::size_t i = 0; i < row.node->inputs.size(); ++i) {
    const ValueId id = row.node->inputs[i];
    inputs += (i == 0 ? "" : ";") + (id == kAbsent ? "" : graph.values[static_cast<std::size_t>(id)].name);
  }
  for (const OutputInfo& output : row.report->outputs)
    outputs += (outputs.empty() ? "" : ";") + output.name + ":" + report::type_text(output.type);
  const OpCost& cost = row.report->cost;
  base::CsvLine line;
  line.add(std::to_string(row.index)).name(row.node->name).name(row.node->op_type);
  line.name(report::domain_name(row.node->domain)).name(row.scope()).name(inputs).name(outputs);
  add_counters(line, row.counters);
  line.add(cost.precision == ElementType::Undefined ? std::string() : std::string(to_string(cost.precision)));
  line.add(std::string(to_string(cost.mark))).name(row.problem());
  if (options.node_formulas)
    add_formulas(line, row.problem().empty() ? documents::formulas_of(cost, options.count) : report::Formulas{});
  return std::move(line).end();
}

std::string type_line(const report::TypeRow& row, const ReportOptions& options) {
  base::CsvLine line;
  line.name(row.op_type).name(report::domain_name(row.domain));
  line.add(std::to_string(row.nodes)).add(std::to_string(row.unmodelled_nodes));
  add_counters(line, row.counters);
  if (options.node_formulas) add_formulas(line, documents::formulas_of(row.cost, options.count));
  return std::move(line).end();
}

}  // namespace

std::string csv_report(const Model& model, const Analysis& analysis, const ReportOptions& options) {
  const report::Data data = report::collect(model, analysis, options);
  const bool by_type = options.rows == Rows::Type;
  base::CsvLine header;
  if (by_type) {
    for (const char* name : {"op_type", "domain", "nodes", "unmodelled_nodes"}) header.add(std::string_view(name));
    add_counter_header(header);
  } else {
    for (const char* name : {"index", "name", "op_type", "domain", "scope", "inputs", "outputs"})
      header.add(std::string_view(name));
    add_counter_header(header);
    for (const char* name : {"precision", "mark", "problem"}) header.add(std::string_view(name));
  }
  if (options.node_formulas) add_formula_header(header);
  std::string text = std::move(header).end();
  for (const report::NodeRow& row : data.nodes) text += node_line(row, options);
  for (const report::TypeRow& row : data.types) text += type_line(row, options);
  return text;
}

}  // namespace pagoda::present
