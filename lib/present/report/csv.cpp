// Exact numbers for spreadsheets and scripts (RFC 4180).
#include "pagoda/base/csv_line.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/dim_json.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using documents::EstimateDocument;
using documents::View;

std::string row_line(const Columns& columns, const Row& row) {
  base::CsvLine line;
  add_cells(line, columns, row);
  return std::move(line).end();
}

// The header and the rows.
std::string rows_text(const Columns& columns, const std::vector<Row>& rows) {
  constexpr std::size_t kUsualLine = 384;  // most are shorter
  base::CsvLine header;
  for (const documents::ResultColumn* column : columns) header.add(column->name);
  std::string text = std::move(header).end();
  text.reserve(kUsualLine * (1 + rows.size()));
  for (const Row& row : rows) text += row_line(columns, row);
  return text;
}

// A line below the nodes: the optimizer belongs to no node.
std::string optimizer_line(const EstimateDocument& estimate, const Columns& columns) {
  const documents::EstimateTraining& training = *estimate.training;
  report::EstimateNode node;
  node.name = "optimizer";
  node.op_type = to_string(training.optimizer);
  report::EstimateCounts counts = training.optimizer_work;  // parameters are counted at the nodes
  counts.flops = counts.plain_flops();
  if (counts.bytes_read && counts.bytes_written) counts.bytes = *counts.bytes_read + *counts.bytes_written;
  Row row{.estimate = &estimate, .kind = documents::RowKind::Part, .node = &node, .counts = &counts};
  for (const documents::EstimateTraining::Row& part : training.rows)
    if (part.part == "optimizer" && part.bound.bound != Bound::Unknown) row.bound = &part.bound;
  return row_line(columns, row);
}

}  // namespace

std::string csv_report(const EstimateDocument& estimate, const ReportOptions& options) {
  if (!estimate.variants.empty())
    return rows_text(documents::columns_of(documents::RowKind::Variant, View::Csv, estimate),
                     documents::rows_of(estimate, documents::RowKind::Variant));
  ReportOptions chosen = options;
  if (chosen.rows == Rows::None) chosen.rows = Rows::Node;
  const report::Data data = report::collect(estimate, chosen);
  const Columns columns = documents::columns_of(data.kind, View::Csv, estimate, options.row_formulas);
  std::string text = rows_text(columns, data.rows);
  if (estimate.training && data.kind == documents::RowKind::Node && !data.rows.empty())
    text += optimizer_line(estimate, columns);
  return text;
}

std::string structure_report(Format format, const StructureProfile& profile, const std::string& tool) {
  const std::vector<Feature> row = features(profile);
  if (format == Format::Json) {
    base::JsonWriter json;
    json.begin_object().member("schema", "pagoda.structure/1").member_if_any("tool", tool);
    json.member("model", profile.model);
    for (const Feature& feature : row) json.member(feature.name, feature.value);
    json.key("precision_bytes_share").begin_object(base::JsonWriter::Layout::Line);
    for (const auto& [type, share] : profile.precision_bytes_share) json.member(type, share);
    json.end_object().key("op_counts").begin_object(base::JsonWriter::Layout::Line);
    for (const auto& [op, count] : profile.op_counts) json.member(op, count);
    json.end_object().end_object();
    return std::move(json).text();
  }
  base::CsvLine header, line;
  header.add("model");
  line.name(profile.model);
  for (const Feature& feature : row) {
    header.add(feature.name);
    line.add(feature.value);
  }
  return std::move(header).end() + std::move(line).end();
}

}  // namespace pagoda::present
