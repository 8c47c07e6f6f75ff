// onnx-skeleton: an ONNX model without its weights, or with random ones. For sharing a model's structure without its
// parameters, and for running a shared structure again.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "pagoda/core/model.h"
#include "tool.h"

namespace {

using namespace pagoda::tools;

constexpr const char* kExamples = R"(Examples:
  onnx-skeleton resnet50.onnx -o resnet50-skeleton.onnx
      31 KB instead of 102 MB; onnx-estimate gives the same analysis for both
  onnx-skeleton --fill resnet50-skeleton.onnx -o runs-again.onnx
      the same graph with random weights: runs in ONNX Runtime at full size
  onnx-skeleton --fill --seed 7 llm-skeleton.onnx -o llm.onnx
      above 2 GB the weights go to llm.onnx.data

In a skeleton every large tensor is a reference to external data that keeps its offset and length in the file it came
from. Integers of up to 1024 elements and other numbers of up to 16, on which shapes may depend, keep their values.
Exit codes: 0 done, 1 unusable input or output, 2 usage.)";

int run(int argc, char** argv) {
  CLI::App app("Writes an ONNX model without its weights, or with random ones.", "onnx-skeleton");
  app.set_version_flag("--version", "onnx-skeleton " PAGODA_VERSION);
  app.footer(kExamples);
  std::string model, output;
  bool fill = false;
  std::uint64_t seed = 0;
  pagoda::SkeletonOptions options{.keep_stack_traces = false};
  app.add_option("MODEL", model, "The .onnx file, or a skeleton")->required();
  app.add_option("-o,--output", output, "The file to write; replaced when it exists")->required();
  CLI::Option* fill_option = app.add_flag("--fill", fill, "Write random weights, so that the model runs again");
  app.add_option("--seed", seed, "Seed of the random weights (default 0): the same seed gives the same file")
      ->needs(fill_option);
  app.add_flag("--keep-stack-traces", options.keep_stack_traces,
               "Keep the source lines that torch's exporter stores with each node");
  app.add_option("--weights-location", options.weights_location,
                 "File name that a skeleton gives for the weights it left out (default \"<in the model>\")")
      ->excludes(fill_option);
  if (!parse(app, argc, argv)) return kDone;
  if (fill)
    pagoda::write_filled(model, output, seed, options);
  else
    pagoda::write_skeleton(model, output, options);
  return kDone;
}

}  // namespace

int main(int argc, char** argv) { return run_tool("onnx-skeleton", argc, argv, run); }
