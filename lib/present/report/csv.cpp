// Exact numbers for spreadsheets and scripts (RFC 4180). Columns: report.h.
#include "pagoda/base/csv_line.h"

#include "report/rows.h"

namespace pagoda::present {
namespace {

using base::CsvLine;

void add_counters(CsvLine& line, const report::EstimateCounts& counters) {
  for (const auto& [name, member] : documents::kEstimateCounts) line.add(counters.*member);
  line.add(counters.intensity());
}

void add_formulas(CsvLine& line, const report::EstimateFormulas& formulas) {
  line.add(formulas.macs).add(formulas.flops).add(formulas.bytes);
}

base::CsvLine& add_counter_header(base::CsvLine& line) {
  for (const auto& [name, member] : documents::kEstimateCounts) line.add(std::string_view(name));
  return line.add(std::string_view("intensity"));
}

void add_formula_header(base::CsvLine& line) {
  for (const char* name : {"macs_formula", "flops_formula", "bytes_formula"}) line.add(std::string_view(name));
}

std::string node_line(const report::EstimateNode& node, const ReportOptions& options) {
  std::string inputs, outputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs += (i == 0 ? "" : ";") + node.inputs[i];
  for (const OutputInfo& output : node.outputs)
    outputs += (outputs.empty() ? "" : ";") + output.name + ":" + report::type_text(output.type);
  base::CsvLine line;
  line.add(std::to_string(node.index)).name(node.name).name(node.op_type).name(node.domain).name(node.scope);
  line.name(inputs).name(outputs);
  add_counters(line, node.counts);
  line.add(node.precision == ElementType::Undefined ? std::string() : std::string(to_string(node.precision)));
  line.add(std::string(to_string(node.mark))).name(node.problem);
  if (options.row_formulas) add_formulas(line, node.symbolic.value_or(report::EstimateFormulas{}));
  return std::move(line).end();
}

std::string type_line(const report::EstimateType& type, const ReportOptions& options) {
  base::CsvLine line;
  line.name(type.op_type).name(type.domain);
  line.add(std::to_string(type.nodes)).add(std::to_string(type.unmodelled_nodes));
  add_counters(line, type.counts);
  if (options.row_formulas) add_formulas(line, type.symbolic.value_or(report::EstimateFormulas{}));
  return std::move(line).end();
}

}  // namespace

std::string csv_report(const documents::EstimateDocument& estimate, const ReportOptions& options) {
  const report::Data data = report::collect(estimate, options);
  base::CsvLine header;
  if (options.rows == Rows::Type) {
    for (const char* name : {"op_type", "domain", "nodes", "unmodelled_nodes"}) header.add(std::string_view(name));
    add_counter_header(header);
  } else {
    for (const char* name : {"index", "name", "op_type", "domain", "scope", "inputs", "outputs"})
      header.add(std::string_view(name));
    add_counter_header(header);
    for (const char* name : {"precision", "mark", "problem"}) header.add(std::string_view(name));
  }
  if (options.row_formulas) add_formula_header(header);
  std::string text = std::move(header).end();
  for (const report::EstimateNode* node : data.nodes) text += node_line(*node, options);
  for (const report::EstimateType* type : data.types) text += type_line(*type, options);
  return text;
}

}  // namespace pagoda::present
