#include "outputs.h"

#include "pagoda/base/sha256.h"
#include "pagoda/core/structure.h"
#include "pagoda/present/plot.h"

namespace pagoda::tools {
namespace {

using documents::EstimateDocument;
using documents::EstimateRequest;

// The roofline of this very report.
std::string chart(const Arguments& arguments, const EstimateRequest& request, EstimateDocument estimate) {
  const std::string sha256 = base::hex(base::sha256(documents::write_estimate(estimate)));
  const present::PlotOptions options{.tool = estimate.tool};
  const present::PlotInput input{.device = *request.device,
                                 .estimates = {{arguments.model, sha256, std::move(estimate)}}};
  const std::string format = format_of(arguments);
  if (format == "html") return present::plot_html(input, options);
  if (format == "svg") return present::plot_svg(input, options);
  return format == "png" ? present::plot_png(input, options) : present::plot_pdf(input, options);
}

}  // namespace

std::string output(const Arguments& arguments, const EstimateRequest& request, EstimateDocument estimate) {
  if (is_chart(format_of(arguments))) return chart(arguments, request, std::move(estimate));
  const present::ReportOptions options = report_options(arguments);
  const present::Format format = *present::format(format_of(arguments));
  if (estimate.sweep) return present::sweep_report(format, estimate, options);
  switch (format) {
    case present::Format::Json:
      return documents::write_estimate(estimate, options.top);
    case present::Format::Csv:
      return present::csv_report(estimate, options);
    case present::Format::Markdown:
      return present::markdown_report(estimate, options);
    case present::Format::Table:
      break;
  }
  return present::table_report(estimate, options);
}

std::string structure(const Arguments& arguments, const EstimateRequest& request, const Model& model,
                      const EstimateDocument& estimate) {
  if (const std::string problem = documents::impossible_size(estimate); !problem.empty()) throw Error(problem);
  return present::structure_report(*present::format(arguments.profile_structure),
                                   structure_profile(model, documents::analysis_of(model, request)), request.tool);
}

std::string comparison(const Arguments& arguments, const EstimateRequest& request, const EstimateDocument& estimate,
                       bool& is_complete) {
  const Model other = load(arguments, arguments.compare);
  const EstimateDocument before = documents::make_estimate(other, request);
  is_complete = is_complete && before.is_complete();
  return present::comparison_report(*present::format(format_of(arguments)), before, estimate,
                                    documents::compare(before, estimate), report_options(arguments));
}

}  // namespace pagoda::tools
