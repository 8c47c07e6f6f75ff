// One analysis of a model with a free batch answers for every batch: formulas first, then numbers from them.
#include <pagoda/pagoda.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: 03_symbolic_batch MODEL.onnx\n";
    return 2;
  }
  try {
    const pagoda::Analysis analysis =
        pagoda::analyze(pagoda::load_model(argv[1]), {.batch = 0, .symbolic_batch = true});
    const pagoda::OpCost& total = analysis.totals.cost;
    std::cout << "MACs   " << total.macs.factored() << "\nbytes  " << total.bytes().factored() << "\n";
    for (const std::int64_t batch : {1, 8, 64, 512}) {
      const pagoda::Bindings bindings = {{"batch", batch}};
      std::cout << "batch " << batch << ": " << pagoda::to_string(total.macs.evaluate(bindings)) << " MACs, "
                << pagoda::to_string(total.bytes().evaluate(bindings)) << " bytes\n";
    }
  } catch (const pagoda::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
