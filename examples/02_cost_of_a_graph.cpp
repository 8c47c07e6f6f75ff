// Builds a graph by hand, without any file, and asks what it costs: y = Relu(x · w).
#include <pagoda/pagoda.h>

#include <iostream>

int main() {
  using pagoda::Dim;
  const auto f32 = [](pagoda::Shape shape) {
    return pagoda::TensorType{.element = pagoda::ElementType::Float32, .shape = std::move(shape)};
  };

  pagoda::Graph graph;
  graph.values.resize(4);
  graph.values[0].name = "x";
  graph.values[0].declared = f32({Dim::symbol("batch"), 64});
  graph.values[1].name = "w";
  graph.values[1].initializer = 0;
  graph.values[2].name = "product";
  graph.values[3].name = "y";
  graph.initializers.emplace_back().type = f32({64, 128});
  graph.inputs = {0};
  graph.outputs = {3};
  pagoda::Node& matmul = graph.nodes.emplace_back();
  matmul.op_type = "MatMul";
  matmul.inputs = {0, 1};
  matmul.outputs = {2};
  pagoda::Node& relu = graph.nodes.emplace_back();
  relu.op_type = "Relu";
  relu.inputs = {2};
  relu.outputs = {3};

  pagoda::Model model;
  model.opsets = {{"", 17}};
  model.graphs.push_back(std::move(graph));

  const pagoda::Analysis analysis = pagoda::analyze(model);
  std::cout << "MACs   " << analysis.totals.cost.macs.to_string() << "\n"            // 8192*batch
            << "FLOPs  " << pagoda::flops(analysis.totals.cost).to_string() << "\n"  // 16512*batch
            << "bytes  " << analysis.totals.cost.bytes().factored() << "\n";         // 256*(7*batch + 128)
  const bool as_expected =
      analysis.totals.cost.macs == 8192 * Dim::symbol("batch") && analysis.totals.params == Dim(8192);
  return as_expected ? 0 : 1;
}
