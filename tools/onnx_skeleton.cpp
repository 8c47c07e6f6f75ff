// onnx-skeleton: an ONNX model without its parameters, or with random ones. For sharing a model's structure, and for
// running a shared structure again.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
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

In a skeleton tensors are references to external data that keep their offset and length in the file they came from, and
parameters in attributes, such as trees and vocabularies, are 0 and empty. Sizes, axes, single numbers and short words
stay. The tool prints what it removed and what it kept; read it, and --list, before you pass a skeleton on.
Names of nodes and values stay without --anonymous, those of sizes and operators always.
Exit codes: 0 done, 1 unusable input or output, 2 usage.)";

void print(const char* title, const std::vector<pagoda::SkeletonReport::Row>& rows, bool lists_names) {
  constexpr std::size_t kShown = 3;
  std::fputs(title, stdout);
  if (rows.empty()) std::fputs("  nothing\n", stdout);
  for (const pagoda::SkeletonReport::Row& row : rows) {
    std::string line = pagoda::cat("  ", row.what, ": ", row.count);
    if (row.bytes > 0) line += pagoda::cat(" (", row.bytes, " bytes)");
    std::string_view before = lists_names ? "\n    " : ": ";
    for (std::size_t i = 0; i < row.names.size() && (lists_names || i < kShown);
         ++i, before = lists_names ? "\n    " : ", ")
      line += pagoda::cat(before, pagoda::base::printable(row.names[i]));
    if (!lists_names && row.names.size() > kShown) line += ", …";
    std::fputs((line + '\n').c_str(), stdout);
  }
}

int run(int argc, char** argv) {
  CLI::App app("Writes an ONNX model without its parameters, or with random ones.", "onnx-skeleton");
  app.set_version_flag("--version", "onnx-skeleton " PAGODA_VERSION);
  app.footer(kExamples);
  std::string model, output;
  bool fill = false, lists_names = false;
  std::uint64_t seed = 0;
  pagoda::SkeletonOptions options;
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
  app.add_flag("--anonymous", options.anonymous,
               "Rename graphs, nodes and values to n1, n2 …; names of operators and sizes stay");
  app.add_flag("--list", lists_names, "Name everything that was removed and kept, not only the first of each kind")
      ->excludes(fill_option);
  if (!parse(app, argc, argv)) return kDone;
  if (output == "-")
    throw UsageError("--output: '-' is standard output, which has the report; expected a file, such as skeleton.onnx");
  if (fill) {
    pagoda::write_filled(model, output, seed, options);
    return kDone;
  }
  const pagoda::SkeletonReport report = pagoda::write_skeleton(model, output, options);
  print("removed\n", report.removed, lists_names);
  print("kept\n", report.kept, lists_names);
  return kDone;
}

}  // namespace

int main(int argc, char** argv) { return run_tool("onnx-skeleton", argc, argv, run); }
