// Writes models as a seed corpus: the tests' sample models and every conformance case.
//   make_seeds FOLDER SOURCE
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "onnx/sample_models.h"
#include "pagoda/core/model.h"
#include "support/onnx_file.h"
#include "support/text_graph.h"

namespace {

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The graph is the last column of a row; a few have types or values that the file writer does not.
void write_cases(const std::filesystem::path& golden, const std::filesystem::path& folder) {
  std::ifstream file(golden);
  std::size_t row = 0;
  for (std::string line; std::getline(file, line); ++row)
    try {
      if (!line.empty() && line.front() != '#')
        write(folder / (golden.stem().string() + std::to_string(row) + ".onnx"),
              pagoda::test::onnx_bytes(pagoda::test::graph(std::string_view(line).substr(line.rfind('\t') + 1))));
    } catch (const std::invalid_argument&) {
    }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: make_seeds FOLDER SOURCE\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  for (const pagoda::test::Sample& sample : pagoda::test::sample_models()) {
    write(folder / (sample.name + ".onnx"), sample.bytes);
    write(folder / (sample.name + "-skeleton.onnx"), pagoda::skeleton(pagoda::test::as_bytes(sample.bytes)));
  }
  for (const char* part : {"backend", "contrib", "drawn", "graphs", "onnx"})
    write_cases(std::filesystem::path(argv[2]) / "tests/conformance" / (std::string(part) + ".golden"), folder);
}
