// Writes the sample models of the tests as a seed corpus: make_seeds FOLDER
#include <filesystem>
#include <fstream>
#include <iostream>

#include "onnx/sample_models.h"
#include "pagoda/core/model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_seeds FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  for (const pagoda::test::Sample& sample : pagoda::test::sample_models()) {
    std::ofstream(folder / (sample.name + ".onnx"), std::ios::binary) << sample.bytes;
    std::ofstream(folder / (sample.name + "-skeleton.onnx"), std::ios::binary)
        << pagoda::skeleton(pagoda::test::as_bytes(sample.bytes));
  }
}
