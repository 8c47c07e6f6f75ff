// Loads a model and prints its totals and the five nodes with the most work.
#include <pagoda/pagoda.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: 01_load_and_print MODEL.onnx\n";
    return 2;
  }
  try {
    const pagoda::Model model = pagoda::load_model(argv[1]);
    const pagoda::Analysis analysis = pagoda::analyze(model);

    std::cout << "MACs        " << analysis.totals.cost.macs.to_string() << "\n"
              << "FLOPs       " << pagoda::flops(analysis.totals.cost).to_string() << "\n"
              << "parameters  " << analysis.totals.params.to_string() << "\n";

    std::vector<const pagoda::NodeReport*> rows;
    for (const pagoda::NodeReport& row : analysis.nodes) rows.push_back(&row);
    const auto macs = [](const pagoda::NodeReport* row) { return row->cost.macs.evaluate({}); };
    std::partial_sort(rows.begin(), rows.begin() + std::min<std::ptrdiff_t>(5, std::ssize(rows)), rows.end(),
                      [&](const auto* a, const auto* b) { return macs(a) > macs(b); });
    for (std::size_t i = 0; i < std::min<std::size_t>(5, rows.size()); ++i) {
      const pagoda::Graph& graph = model.graphs[static_cast<std::size_t>(rows[i]->graph)];
      const pagoda::Node& node = graph.nodes[static_cast<std::size_t>(rows[i]->node)];
      std::cout << node.op_type << "  " << pagoda::display_name(graph, node) << "  " << rows[i]->cost.macs.to_string()
                << " MACs\n";
    }
  } catch (const pagoda::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
