// An estimate as charts use it: a view of the caller's document.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/present/plot.h"

namespace pagoda::present::plot {

struct ChartEstimate {
  const PlotEstimate* source = nullptr;
  std::vector<const documents::EstimateNode*> nodes;  // in order of execution
  const documents::EstimateSweep* sweep = nullptr;    // over one dim, with points; null: none that makes a curve
  std::vector<std::string> notes;                     // parts of the document that could not be used, and why

  const documents::EstimateDocument& document() const { return source->document; }
  const std::string& model() const;  // path given to onnx-estimate, else the graph's name
  // The position in `nodes` of the node with this index; empty if the document leaves it out.
  std::optional<std::size_t> position(std::size_t index) const;
  // The positions of the nodes with these indices that the document has.
  std::vector<std::size_t> positions(const std::vector<std::size_t>& indices) const;
  // Of the nodes at these positions, the one that does most of the work.
  std::size_t heaviest(const std::vector<std::size_t>& positions) const;
  std::string_view traffic() const;
  // Bytes of all weights, if the memory plan is known.
  std::optional<double> weight_bytes() const;
  std::string label_without_free() const;                    // "resnet50" with only the sizes that are set
  std::string label(const std::string& without = {}) const;  // "resnet50, batch=8", leaving out the dim `without`
};

// The least time of a run at a point of a sweep; empty without a device.
std::optional<double> least_seconds(const documents::EstimatePoint& point);

// Refers to `estimate`.
ChartEstimate chart_estimate(const PlotEstimate& estimate);

// "1x64x56x56": the shape of a node's first output, with formulas unchanged; "?" if the rank is unknown.
std::string shape_text(const documents::EstimateNode& node);
std::string dtype_text(const documents::EstimateNode& node);  // type of its arithmetic: "float16"; empty: none

}  // namespace pagoda::present::plot
