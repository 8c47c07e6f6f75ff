// An estimate as onnx-estimate wrote it (pagoda.estimate/1), as far as charts use it. Parts that a file lacks are
// absent: a chart needs only its nodes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/present/plot.h"

namespace pagoda::present::plot {

struct EstimateTensor {
  std::string name, type;
  std::string shape;            // "1x64x56x56"; formulas as they are; "?" for an unknown rank
  std::optional<double> bytes;  // empty while a size is symbolic or the type has no width
};

// Least time of a row or kernel on the estimate's device.
struct EstimateBound {
  std::string bound;  // "compute", "memory", "latency", "none", "unknown"
  std::optional<double> compute_seconds, memory_seconds, flops, bytes, headroom;
  std::string precision, unit, level;
};

struct EstimateNode {
  std::size_t index = 0;
  std::string name, op_type, domain, scope, precision, mark, problem;
  std::vector<std::string> inputs;
  std::vector<EstimateTensor> outputs;
  std::optional<double> macs, special, flops, bytes;
  std::optional<EstimateBound> bound;
};

// Nodes that one kernel executes.
struct EstimateGroup {
  std::string rule;
  std::vector<std::size_t> nodes;  // positions in EstimateFile::nodes
  std::size_t main = 0;            // the one that the others joined
  std::optional<double> bytes, saved_bytes;
  std::optional<EstimateBound> bound;
};

struct EstimateRoofline {
  std::string device, device_name, precision, traffic;
  std::optional<double> seconds, floor_seconds, eager_seconds;
  bool at_least = false;
  struct Prediction {
    double seconds = 0;
    std::optional<double> low, high;  // empty when no interval is known
    std::string calibration;
  };
  std::optional<Prediction> predicted;
};

struct EstimateMemory {
  std::string excludes;
  double peak_bytes = 0;
  std::size_t peak_step = 0;
  std::vector<std::string> peak_tensors;
  std::vector<double> timeline;
  std::vector<std::size_t> order;  // index of a node in the file, by step
  std::optional<double> arena_bytes, weight_bytes;
};

// One size of a sweep; empty numbers were not known there.
struct SweepPoint {
  double size = 0;
  std::optional<double> flops, bytes, seconds, memory_seconds, memory_bytes;
};

struct EstimateSweep {
  std::string dim;
  std::vector<SweepPoint> points;
};

struct EstimateFile {
  std::string file, sha256;
  std::string tool, model, count, traffic;  // model: path as given to onnx-estimate; traffic: "unfused", "fused", …
  std::vector<std::pair<std::string, std::optional<double>>> bindings;
  std::vector<EstimateNode> nodes;
  std::map<std::size_t, std::size_t> position;  // of a node's index in `nodes`
  std::vector<EstimateGroup> groups;            // empty: every node is a kernel
  std::optional<EstimateRoofline> roofline;
  std::optional<EstimateMemory> memory;
  std::optional<EstimateSweep> sweep;
  std::optional<double> flops;  // total of the whole model
  std::size_t unmodelled = 0;
  bool partial = false;
  std::vector<std::string> notes;  // what of the file could not be used, and why

  std::string label(const std::string& without = {}) const;  // "resnet50, batch=8", without the binding of a dim
};

EstimateFile read_estimate(const PlotFile& file);

}  // namespace pagoda::present::plot
