// "pagoda.estimate/1": the machine-readable report. data/schemas/estimate.schema.json describes it.
#include "report/rows.h"

namespace pagoda::present {

documents::EstimateDocument estimate_document(const Model& model, const Analysis& analysis,
                                              const ReportOptions& options) {
  return documents::describe(model, analysis,
                             {.count = options.count,
                              .published = options.published ? &*options.published : nullptr,
                              .by_type = options.rows == Rows::Type,  // groups are in "traffic"
                              .formulas = options.formulas,
                              .row_formulas = options.node_formulas,
                              .tool = options.tool,
                              .sections = options.sections});
}

std::string json_report(const Model& model, const Analysis& analysis, const ReportOptions& options) {
  return documents::write_estimate(estimate_document(model, analysis, options), options.top);
}

}  // namespace pagoda::present
