// Exact numbers for spreadsheets and scripts (RFC 4180).
#include "report/cells.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using documents::EstimateDocument;
using documents::View;

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
  return csv_line(columns, row);
}

}  // namespace

std::string csv_report(const EstimateDocument& estimate, const ReportOptions& options) {
  if (!estimate.variants.empty()) {
    const Columns columns = documents::columns_of(documents::RowKind::Variant, View::Csv, estimate);
    std::string text = csv_header(columns);
    for (const Row& row : documents::rows_of(estimate, documents::RowKind::Variant)) text += csv_line(columns, row);
    return text;
  }
  ReportOptions chosen = options;
  if (chosen.rows == Rows::None) chosen.rows = Rows::Node;
  const report::Data data = report::collect(estimate, chosen);
  const Columns columns = documents::columns_of(data.kind, View::Csv, estimate, options.row_formulas);
  constexpr std::size_t kUsualLine = 384;  // most are shorter
  std::string text = csv_header(columns);
  text.reserve(kUsualLine * (1 + data.rows.size()));
  for (const Row& row : data.rows) text += csv_line(columns, row);
  if (estimate.training && data.kind == documents::RowKind::Node && !data.rows.empty())
    text += optimizer_line(estimate, columns);
  return text;
}

}  // namespace pagoda::present
