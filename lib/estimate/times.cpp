// The bounds on the time of a run on a device, and what they rest on.
#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"

namespace pagoda::estimate {

EstimateRequest with_traffic(EstimateRequest request, TrafficModel model) {
  request.traffic = model;
  return request;
}

void warn_of_device(const DeviceSpec& device, const std::vector<AssumedPeak>& assumed,
                    const std::vector<MissingPeak>& missing, std::vector<Diagnostic>& diagnostics) {
  // Rows of a table differ in how many of their nodes need a peak.
  const auto add = [&](const std::string& what, const std::string& rest) {
    const std::string begin = cat("device ", device.name, what);
    const auto is_said = [&](const Diagnostic& each) { return each.message.starts_with(begin); };
    if (std::ranges::none_of(diagnostics, is_said))
      diagnostics.insert(diagnostics.begin(), {.severity = Severity::Warning, .node = {}, .message = begin + rest});
  };
  if (!device.cautions.empty()) add(": " + base::joined(device.cautions, "; "), "; measure again on an idle machine");
  for (const AssumedPeak& peak : assumed)
    add(cat(" states no ", to_string(peak.precision), " peak"),
        cat(": products of ", base::counted(peak.rows, "node"), " are assumed to run ",
            peak.taken == peak.precision ? "packed into vector lanes of another format"
                                         : cat("at its ", to_string(peak.taken), " ", to_string(peak.unit), " peak")));
  for (const MissingPeak& peak : missing)
    add(cat(" states no ", to_string(peak.precision), " ", to_string(peak.unit), " peak"),
        cat(", needed by ", base::counted(peak.rows, "node"),
            ": their work has no time; add the peak to the device's file"));
}

Roofline bounds_of(const Model& model, const EstimateRequest& request, const Analysis& analysis) {
  const std::optional<Traffic> moved = traffic_of(model, request, analysis);
  return moved ? roofline(analysis, *moved, *request.device) : roofline(analysis, *request.device);
}

RooflineTotals times_of(const Model& model, const EstimateRequest& request, const Analysis& analysis) {
  return bounds_of(model, request, analysis).totals;
}

}  // namespace pagoda::estimate
