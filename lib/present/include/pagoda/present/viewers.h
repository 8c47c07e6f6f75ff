// An estimate beside the graph in the viewers that people have: Netron, model-explorer, and any that shows the
// metadata_props of an annotated model.
//
//   Model model = load_model("resnet50.onnx");
//   documents::EstimateRequest request{.sizes = {.batch = 8}};
//   documents::EstimateDocument estimate = documents::make_estimate(model, request);
//   base::write_file("resnet50.netron.json", present::netron_attachment({estimate}));
//   base::write_file("time.json", present::model_explorer_data({estimate}, *present::metric("seconds")));
//   write_annotated(model, "annotated.onnx", present::annotations({estimate}, documents::analysis_of(model, request)));
//
// A node that the estimate has several times, as that of a function called twice, gets the sums. What is not known is
// left out, never 0.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/annotate.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::present {

// What stands beside each node.
struct Viewed {
  const documents::EstimateDocument& estimate;
  const documents::Measured* run = nullptr;  // joined with the estimate; null: nothing was measured
};

// A number of a node: "seconds" (at least), "compute_seconds", "memory_seconds", "predicted_seconds",
// "measured_seconds", "flops", "macs", "arith", "special", "comparisons", "params", "param_bytes", "bytes_read",
// "bytes_written", "bytes", "intensity". Empty for other names.
struct Metric;
const Metric* metric(std::string_view name);
std::vector<std::string> metric_names();
// What keeps the metric from being known for any node, with the remedy: "needs --device"; empty: nothing.
std::string refusal(const Metric& metric, const Viewed& viewed);

// A file for Netron to attach, by dropping it on an open model: signature "netron:attachment". Nodes are targets by
// their names; one without, or whose name another node has, by its first output's. `only`: that metric alone.
std::string netron_attachment(const Viewed& viewed, const Metric* only = nullptr);

// Node data for model-explorer (--node_data_paths): one metric of the nodes that have a name of their own.
std::string model_explorer_data(const Viewed& viewed, const Metric& metric);

// Nodes that model_explorer_data() leaves out because they have no name of their own.
std::size_t nodes_without_name(const documents::EstimateDocument& estimate);

// The metrics of every node as notes in the model itself, with exact numbers: "pagoda.flops", "pagoda.seconds", … and
// "pagoda.bound", "pagoda.precision", "pagoda.mark", "pagoda.problem"; "pagoda.kernel", the number of the fused kernel
// that it runs in, "pagoda.kernel_nodes" and "pagoda.kernel_seconds". A measurement of several nodes together is noted
// at each as "pagoda.measured_together_seconds" with their names. The model gets the totals and what they are of.
Annotations annotations(const Viewed& viewed, const Analysis& analysis);

}  // namespace pagoda::present
#pragma GCC visibility pop
