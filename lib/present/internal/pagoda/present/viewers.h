// Shows an estimate beside the graph in common viewers: Netron, model-explorer, and any viewer that shows the
// metadata_props of an annotated model.
//
//   Model model = load_model("resnet50.onnx");
//   estimate::EstimateRequest request{.sizes = {.batch = 8}};
//   documents::EstimateDocument estimate = estimate::make_estimate(model, request);
//   base::write_file("resnet50.netron.json", present::netron_attachment({estimate}));
//   base::write_file("time.json", present::model_explorer_data({estimate}, *present::metric("seconds")));
//   write_annotated(model, "annotated.onnx", present::annotations({estimate}, estimate::analysis_of(model, request)));
//
// A node that occurs several times in the estimate, such as in a function that is called twice, gets the sums. Unknown
// values are left out, never 0.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/annotate.h"
#include "pagoda/documents/columns.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::present {

// The source of the values shown at each node.
struct Viewed {
  const documents::EstimateDocument& estimate;
  const documents::Measured* run = nullptr;  // joined with the estimate; null: no measurement
};

// A number of a node: a column that viewers show. Null for other names.
using Metric = documents::ResultColumn;
const Metric* metric(std::string_view name);
std::vector<std::string> metric_names();
// Why the metric is unknown for every node: "--metric seconds needs --device"; empty if some node has it.
std::string refusal(const Metric& metric, const Viewed& viewed);

// A Netron attachment (signature "netron:attachment"), to be dropped on an open model. Nodes are addressed by name; a
// node without a name of its own is addressed by the name of its first output. `only`: write this metric alone.
std::string netron_attachment(const Viewed& viewed, const Metric* only = nullptr);

// Node data for model-explorer (--node_data_paths): one metric of the nodes that have a unique name.
std::string model_explorer_data(const Viewed& viewed, const Metric& metric);

// The metrics of every node as annotations in the model itself, with exact numbers: "pagoda.flops", "pagoda.seconds", …
// and "pagoda.bound", "pagoda.precision", "pagoda.mark", "pagoda.problem"; "pagoda.kernel", the number of the node's
// fused kernel, with "pagoda.kernel_nodes" and "pagoda.kernel_seconds". A measurement of several nodes together is
// repeated at each of them as "pagoda.measured_together_seconds", with their names. The model gets the totals and their
// conditions (device, precision, sizes …).
Annotations annotations(const Viewed& viewed, const Analysis& analysis);

}  // namespace pagoda::present
#pragma GCC visibility pop
