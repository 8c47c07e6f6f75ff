// Joins of torch.profiler's traces with the models that torch.onnx exports of the same network, which
// profile_torch.py --network mixed holds. A call did the nodes that the exporter made of it: dynamo writes the call
// into each node, the older exporter the module.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "import/import_data.h"

namespace pagoda::measured {
namespace {

// One run, in order, without calls that only rename a tensor (flatten, reshape).
struct Call {
  const char *aten, *torchscript, *dynamo;  // nodes that compute, with spaces
};
// clang-format off
constexpr Call kCalls[] = {
    {"aten::conv2d",     "/stem/Conv",                                "node_conv2d"},
    {"aten::max_pool2d", "/pool/MaxPool",                             "node_max_pool2d"},
    {"aten::conv2d",     "/block/conv1/Conv",                         "node_conv2d_1"},
    {"aten::relu",       "/block/relu/Relu",                          "node_relu"},
    {"aten::conv2d",     "/block/conv2/Conv",                         "node_conv2d_2"},
    {"aten::add",        "/block/Add",                                "node_add"},
    {"aten::relu",       "/block/relu_1/Relu",                        "node_relu_1"},
    {"aten::transpose",  "/Transpose",                                "node_transpose"},
    {"aten::layer_norm", "/attention/norm1/LayerNormalization",       "node_layer_norm"},
    {"aten::linear",     "/attention/qkv/Add /attention/qkv/MatMul",  "node_MatMul_6 node_linear"},
    {"aten::permute",    "/attention/Transpose",                      "node_permute"},
    {"aten::unbind",     "/attention/Split",                          "node_Slice_17 node_Slice_22 node_Slice_26"},
    {"aten::transpose",  "/attention/Transpose_1",                    "node_transpose_1"},
    {"aten::matmul",     "/attention/MatMul",                         "node_matmul"},
    {"aten::mul",        "/attention/Mul",                            "node_mul"},
    {"aten::softmax",    "/attention/Softmax",                        "node_softmax"},
    {"aten::matmul",     "/attention/MatMul_1",                       "node_matmul_1"},
    {"aten::transpose",  "/attention/Transpose_2",                    "node_transpose_2"},
    {"aten::linear",     "/attention/out/Add /attention/out/MatMul",  "node_MatMul_34 node_linear_1"},
    {"aten::add",        "/attention/Add",                            "node_add_1"},
    {"aten::layer_norm", "/attention/norm2/LayerNormalization",       "node_layer_norm_1"},
    {"aten::linear",     "/attention/up/Add /attention/up/MatMul",    "node_MatMul_36 node_linear_2"},
    {"aten::gelu",       "/attention/gelu/Add /attention/gelu/Div /attention/gelu/Erf /attention/gelu/Mul "
                         "/attention/gelu/Mul_1",                     "node_gelu"},
    {"aten::linear",     "/attention/down/Add /attention/down/MatMul", "node_MatMul_38 node_linear_3"},
    {"aten::add",        "/attention/Add_1",                          "node_add_2"},
    {"aten::mean",       "/ReduceMean",                               "node_mean"},
    {"aten::linear",     "/head/Gemm",                                "node_linear_4"},
};
// clang-format on

// Names of the nodes that compute, sorted.
std::string computing(const documents::MeasuredKernel& kernel, const documents::EstimateDocument& estimate) {
  std::set<std::string> names;
  if (kernel.joined)
    for (const std::size_t row : kernel.joined->nodes)
      if (estimate.nodes[row].mark == Mark::Compute) names.insert(estimate.nodes[row].name);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

}  // namespace

TEST_CASE("calls of PyTorch join the nodes that were exported of them, or none") {
  // Ranges of modules lead to every node. Without them a call may stay unjoined, but joins no node of another.
  struct Case {
    std::string trace;
    bool has_ranges;
    std::int64_t runs;  // 0: the trace says
    std::string model;
  };
  const Case cases[] = {
      {"2.1.2.own", true, 0, "2.1.2.torchscript"},    {"2.15.0.own", true, 0, "2.15.0.torchscript"},
      {"2.15.0.own", true, 0, "2.15.0.dynamo"},       {"2.15.0.stack", false, 0, "2.15.0.torchscript"},
      {"2.15.0.stack", false, 0, "2.15.0.dynamo"},    {"2.15.0.jit", false, 0, "2.15.0.torchscript"},
      {"2.1.2.plain", false, 2, "2.1.2.torchscript"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.trace);
    CAPTURE(c.model);
    const std::string model = "tests/import/data/torch/mixed." + c.model + ".onnx";
    const documents::EstimateDocument estimate = test::estimate_of(model);
    ImportOptions options;
    if (c.runs > 0) options.runs = c.runs;
    documents::Measured measured = measured::load_profile(test::data_path("torch/mixed." + c.trace + ".json"), options);
    join(measured, estimate);
    std::erase_if(measured.kernels, [](const documents::MeasuredKernel& kernel) {
      return kernel.name == "aten::flatten" || kernel.name == "aten::reshape";
    });
    CHECK(measured.kernels.size() == std::size(kCalls));
    if (measured.kernels.size() != std::size(kCalls)) continue;
    const bool is_dynamo = model.find("dynamo") != std::string::npos;
    for (std::size_t i = 0; i < std::size(kCalls); ++i) {
      const documents::MeasuredKernel& kernel = measured.kernels[i];
      CAPTURE(i);
      // TorchScript calls the convolution that conv2d itself calls.
      CHECK((kernel.name == "aten::_convolution" ? "aten::conv2d" : kernel.name) == kCalls[i].aten);
      const std::string expected = is_dynamo ? kCalls[i].dynamo : kCalls[i].torchscript;
      const std::string found = computing(kernel, estimate);
      if (c.has_ranges || !found.empty()) CHECK(found == expected);
    }
  }
}

TEST_CASE("the only call of a module did all of its nodes; several did its only node together") {
  documents::EstimateDocument estimate;
  for (const auto& [name, op, scope] : {std::tuple{"/act/Tanh", "Tanh", "/act"},
                                        {"/act/Mul", "Mul", "/act"},
                                        {"/norm/Norm", "LayerNormalization", "/norm"}})
    estimate.nodes.push_back(test::computing_row(name, op, scope));
  documents::Measured measured;
  measured.source = "kineto";
  for (const auto& [name, range] :
       {std::pair{"aten::gelu", "act"}, {"aten::pow", "norm"}, {"aten::mean", "norm"}, {"aten::rsqrt", "norm"}}) {
    documents::MeasuredKernel kernel;
    kernel.name = kernel.op_type = name;
    kernel.nvtx = range;
    measured.kernels.push_back(kernel);
  }
  join(measured, estimate);
  using Rows = std::vector<std::size_t>;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    REQUIRE(kernel.joined);
    CHECK(kernel.joined->rule == "scope");
    CHECK(kernel.joined->nodes == (kernel.name == "aten::gelu" ? Rows{0, 1} : Rows{2}));
  }
}

TEST_CASE("calls of training say why no node is theirs") {
  documents::EstimateDocument estimate;
  estimate.nodes.push_back(test::computing_row("/Add", "Add"));
  documents::Measured measured;
  measured.source = "kineto";
  for (const auto& [name, range] : {std::pair{"aten::add", ""},
                                    {"autograd::engine::evaluate_function: AddBackward0", ""},
                                    {"aten::ones_like", ""},
                                    {"aten::add_", "Optimizer.step#SGD.step"}}) {
    documents::MeasuredKernel kernel;
    kernel.name = kernel.op_type = name;
    kernel.nvtx = range;
    kernel.seconds = 1e-6;
    measured.kernels.push_back(kernel);
  }
  join(measured, estimate);
  REQUIRE(measured.kernels[0].joined);
  CHECK(measured.kernels[0].joined->rule == "order");
  CHECK(measured.kernels[1].unjoined == "backward pass");
  CHECK(measured.kernels[2].unjoined == "a call whose nodes cannot be told");
  CHECK(measured.kernels[3].unjoined == "optimizer");
}

TEST_CASE("a compiled region is not one kernel: the calls that it makes are") {
  const documents::Measured measured = measured::load_profile(test::data_path("torch/mixed.2.15.0.compile.json"));
  std::size_t convolutions = 0, products = 0;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    if (kernel.name == "aten::convolution") ++convolutions;
    if (kernel.name == "aten::addmm") ++products;
  }
  CHECK(convolutions == 3);
  CHECK(products == 5);
}

}  // namespace pagoda::measured
