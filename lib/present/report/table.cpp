// The table report: rows, totals, and formulas if dims are free.
#include "pagoda/estimate/make_estimate.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using report::Data;

std::string formula_block(const Data& data) {
  std::string text = "\nformulas (floor_div(a, b) is a // b)\n";
  base::Grid grid{.columns = {{.header = "  total"}, {.header = "formula"}}, .rows = {}};
  for (const auto& [what, formula] : report::total_formulas(data.estimate)) grid.rows.push_back({"  " + what, formula});
  text += base::aligned(grid, 0);
  for (const Symbol& symbol : estimate::unset_symbols(data.estimate))
    text += "  where " + report::symbol_text(symbol) + "\n";
  for (const report::RowFormulas& row : report::row_formulas(data)) {
    text += "\n" + row.row + "\n  MACs   " + row.formulas.macs + "\n";
    if (!row.formulas.flops.empty()) text += "  FLOPs  " + row.formulas.flops + "\n";
    text += "  bytes  " + row.formulas.bytes + "\n";
  }
  return text;
}

}  // namespace

std::string table_report(const documents::EstimateDocument& estimate, const ReportOptions& options) {
  const Data data = report::collect(estimate, options);
  std::string text = report::title(estimate) + "\n" + report::subtitle(estimate) + "\n\n";
  if (!estimate.variants.empty()) {
    text += report::above_variants(estimate) +
            base::aligned(rows_grid(documents::RowKind::Variant, estimate), options.width) + "\n" +
            report::decisive(estimate);
  } else if (options.rows == Rows::None) {
    text += report::answer(data);
    if (estimate.memory) text += "\n" + base::aligned(report::memory_grid(*estimate.memory), 0);
  } else {
    text += base::aligned(rows_grid(data.kind, estimate, data.rows), options.width) + "\n";
    text += base::aligned(report::totals_grid(data), 0);
  }
  if (estimate.training)
    text += "\n" + base::aligned(rows_grid(documents::RowKind::Part, estimate), 0) + "\n" +
            base::aligned(report::training_memory_grid(*estimate.training), 0);
  text += report::kSiUnits;
  if (options.formulas) text += formula_block(data);
  return text;
}

}  // namespace pagoda::present
