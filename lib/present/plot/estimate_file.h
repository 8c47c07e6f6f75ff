// An estimate as charts use it: its document with the nodes in order of execution and named, and what follows from it.
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
  std::size_t main = 0;            // the one that the others joined
  std::optional<double> bytes, saved_bytes;
};

// One size of a sweep; empty numbers were not known there.
struct CurvePoint {
  double size = 0;
  std::optional<double> flops, bytes, seconds, memory_bytes;
};

struct EstimateCurve {
  std::string dim;
  std::vector<CurvePoint> points;
};

struct EstimateFile {
  std::string file, sha256;
  documents::EstimateDocument document;  // nodes by index, each with a name
  std::string model;                     // path as given to onnx-estimate, else the graph's name
  std::vector<EstimateGroup> groups;     // empty: every node is a kernel
  std::optional<EstimateCurve> sweep;
  std::optional<documents::WhatIf> what_if;
  std::vector<std::string> notes;  // what of the file could not be used, and why

  const std::vector<documents::EstimateNode>& nodes() const { return document.nodes; }
  // Of a node's index in nodes(); empty where the file leaves it out.
  std::optional<std::size_t> position(std::size_t index) const;
  std::string_view traffic() const { return document.traffic ? to_string(document.traffic->model) : "unfused"; }
  // Bytes of all weights, where the memory plan is known.
  std::optional<double> weight_bytes() const;
  std::string label_without_free() const;                    // "resnet50", with the sizes that are set alone
  std::string label(const std::string& without = {}) const;  // "resnet50, batch=8", without the binding of a dim
};

EstimateFile chart_estimate(const PlotEstimate& estimate);

// "1x64x56x56" of a node's first output; formulas as they are; "?" for an unknown rank.
std::string shape_text(const documents::EstimateNode& node);
std::string dtype_text(const documents::EstimateNode& node);  // of its work: "float16"; empty: none

}  // namespace pagoda::present::plot
