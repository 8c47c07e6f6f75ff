// An estimate as charts use it: its document, with all nodes named and in execution order, and derived data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/present/plot.h"

namespace pagoda::present::plot {

// Nodes that one kernel executes.
struct EstimateGroup {
  std::string rule;
  std::vector<std::size_t> nodes;  // positions in EstimateDocument::nodes
  std::size_t main = 0;            // the node that the others joined
  std::optional<double> bytes, saved_bytes;
};

// One size of a sweep; unknown numbers are empty.
struct CurvePoint {
  double size = 0;
  std::optional<double> flops, bytes, seconds, memory_bytes;
  std::optional<double> measured_seconds, measured_joules;
};

struct EstimateCurve {
  std::string dim;
  std::vector<CurvePoint> points;
};

struct EstimateFile {
  std::string file, sha256;
  documents::EstimateDocument document;  // nodes by index, each with a name
  std::string model;                     // path given to onnx-estimate, else the graph's name
  std::vector<EstimateGroup> groups;     // empty: every node is a kernel
  std::optional<EstimateCurve> sweep;
  std::optional<estimate::WhatIf> what_if;
  std::vector<std::string> notes;  // parts of the file that could not be used, and why

  const std::vector<documents::EstimateNode>& nodes() const { return document.nodes; }
  // The position in nodes() of the node with this index; empty if the file leaves it out.
  std::optional<std::size_t> position(std::size_t index) const;
  std::string_view traffic() const { return document.traffic ? to_string(document.traffic->model) : "unfused"; }
  // Bytes of all weights, if the memory plan is known.
  std::optional<double> weight_bytes() const;
  std::string label_without_free() const;                    // "resnet50" with only the sizes that are set
  std::string label(const std::string& without = {}) const;  // "resnet50, batch=8", leaving out the dim `without`
};

EstimateFile chart_estimate(const PlotEstimate& estimate);

// "1x64x56x56": the shape of a node's first output, with formulas unchanged; "?" if the rank is unknown.
std::string shape_text(const documents::EstimateNode& node);
std::string dtype_text(const documents::EstimateNode& node);  // type of its arithmetic: "float16"; empty: none

}  // namespace pagoda::present::plot
