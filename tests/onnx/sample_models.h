// Small models built with ONNX's own classes, one per feature of the file format: inputs for the
// loader's tests, and seeds for the fuzzer.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/graph.h"
#include "support/files.h"

namespace pagoda::test {

// --- Building blocks ---
onnx::ModelProto new_model();  // IR version 8, opset 17, a graph named "g"
onnx::NodeProto& add_node(onnx::GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::string& name = "");
onnx::ValueInfoProto& add_input(onnx::GraphProto& graph, const std::string& name, const std::vector<std::string>& dims);
void add_output(onnx::GraphProto& graph, const std::string& name);
// Adds `raw` zero bytes of raw data.
onnx::TensorProto& add_weight(onnx::GraphProto& graph, const std::string& name, int type,
                              const std::vector<std::int64_t>& dims, std::size_t raw);
onnx::TensorProto& add_indices(onnx::GraphProto& graph, const std::string& name,
                               const std::vector<std::int64_t>& values);
onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name,
                                    onnx::AttributeProto::AttributeType type);
void add_metadata(onnx::NodeProto& node, const std::string& key, const std::string& value);  // field 9, newer than 1.12
// Adds a length-delimited field that the installed ONNX does not support.
void add_unknown(google::protobuf::Message& message, int number, const std::string& bytes);

// --- Whole models ---
struct Sample {
  std::string name;
  std::string bytes;
};
std::vector<Sample> sample_models();
std::string sample(std::string_view name);

// input → Conv with a 64×3×3×3 weight and a bias → Reshape to constant dims → output.
onnx::ModelProto convolution();
// If with two branches that use values of the surrounding graph; the then-branch contains a Loop.
onnx::ModelProto branches();
// A call of a local function with an attribute, and the function itself.
onnx::ModelProto call();

// --- Using them ---
std::span<const std::byte> as_bytes(const std::string& text);
Model parse(const onnx::ModelProto& proto);
// The message of the Error that parse_model() throws; empty when it throws none.
std::string parse_error(const std::string& bytes);
// All contents of a model except path and file size, as text: equal models have equal texts.
std::string describe(const Model& model);
// The same without what a skeleton may lack: data of tensors, numbers and texts in attributes.
std::string structure_of(Model model);

}  // namespace pagoda::test
