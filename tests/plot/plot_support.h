// A small machine, a small estimate and a small measurement, with numbers that are easy to verify by hand.
#pragma once

#include <string>

#include "pagoda/present/plot.h"

namespace pagoda::test {

// 10 TFLOP/s FP32, 100 TFLOP/s FP16 tensor, DRAM 1 TB/s, L2 4 TB/s: ridges at 10 and 100 FLOP/B.
inline DeviceSpec small_device() {
  DeviceSpec device;
  device.id = "small";
  device.name = "Small machine";
  device.kind = "gpu";
  const Quantity fp32{10e12, "test"}, fp16{100e12, "test"}, dram{1e12, "test"}, l2{4e12, "test"};
  device.peaks = {{Precision::Float32, Unit::Vector, {}, fp32}, {Precision::Float16, Unit::Tensor, {}, fp16}};
  device.levels = {{"dram", dram, {}, false}, {"l2", l2, {}, false}};
  return device;
}

// One row of an estimate.
inline std::string node(int index, const std::string& name, const std::string& type, double flops, double bytes,
                        const std::string& more = R"("mark": "compute")", const std::string& inputs = "") {
  const std::string i = std::to_string(index);
  return R"({"index": )" + i + R"(, "name": ")" + name + R"(", "op_type": ")" + type +
         R"(", "domain": "ai.onnx", "scope": "",)" + R"("inputs": [)" + inputs + R"(], "outputs": [{"name": "v)" + i +
         R"(", "type": "float32", "shape": [1, 250]}], "macs": )" +
         std::to_string(static_cast<long long>(type == "Conv" ? flops / 2 : 0)) + R"(, "special": 0, "flops": )" +
         std::to_string(static_cast<long long>(flops)) + R"(, "bytes": )" +
         std::to_string(static_cast<long long>(bytes)) + R"(, "precision": "float32", )" + more + "}";
}

inline std::string estimate(const std::string& nodes, const std::string& more = "") {
  return R"({"schema": "pagoda.estimate/1", "tool": "onnx-estimate 1", "model": {"path": "net.onnx", "name": "net"}, "bindings": {"batch": 4},)"
         R"("count": "flops", "totals": {}, "diagnostics": [])" +
         more + R"(, "nodes": [)" + nodes + "]}";
}

// conv: 1e9 FLOP, 1e6 B (1000 FLOP/B, compute-bound, 1e-4 s); relu and add: memory-bound; copy: no FLOPs; view:
// nothing.
inline std::string small_nodes() {
  return node(0, "conv", "Conv", 1e9, 1e6) + "," + node(1, "relu", "Relu", 1e6, 8e6) + "," +
         node(2, "add_1", "Add", 1e6, 12e6) + "," + node(3, "add_2", "Add", 1e6, 12e6) + "," +
         node(4, "copy", "Transpose", 0, 1e6) + "," + node(5, "reshape", "Reshape", 0, 0, R"("mark": "view")");
}

inline std::string small_measured() {
  const auto kernel = [](const char* name, const char* seconds, int node) {
    return std::string(R"({"name": ")") + name + R"(", "node": null, "nvtx": null, "launches": 1, "seconds": )" +
           seconds +
           R"(, "seconds_spread": null, "flops": null, "bytes": null, "energy_joules": null, "joined": {"rule": "name", "nodes": [)" +
           std::to_string(node) + "]}}";
  };
  return R"({"schema": "pagoda.measured/1", "source": "onnxruntime", "tool": null, "device": null, "clocks": {}, "env": {}, "repeats": 1, "warmup": 0,)"
         R"("seconds": 0.001, "seconds_spread": null, "missing": [], "notes": [], "kernels": [)" +
         kernel("k_conv", "2e-4", 0) + "," + kernel("k_relu", "8e-6", 1) + "," + kernel("k_add", "24e-6", 2) + "," +
         kernel("k_copy", "2e-6", 4) + R"(,
         {"name": "stray", "node": null, "nvtx": null, "launches": 1, "seconds": 1e-5, "seconds_spread": null, "flops": null, "bytes": null, "energy_joules": null}]})";
}

// Charts refer to their input, so that these live on.
inline const present::PlotInput& small_input() {
  static const present::PlotInput input{
      .device = small_device(), .estimates = {present::read_plot_estimate("net.json", estimate(small_nodes()))}};
  return input;
}

inline const present::PlotInput& measured_input() {
  static const present::PlotInput input = [] {
    present::PlotInput with_runs = small_input();
    with_runs.measured = {{"run.json", small_measured()}};
    return with_runs;
  }();
  return input;
}

}  // namespace pagoda::test
