// Writes notes into a copy of a model, as entries of metadata_props, which viewers show beside each node. Everything
// else is copied byte for byte; weights are not read into memory.
//
//   const Model model = load_model("resnet50.onnx");
//   Annotations notes;
//   notes.nodes[{0, 3}] = {{"pagoda.flops", "231211008"}};  // of model.main().nodes[3]
//   write_annotated(model, "annotated/resnet50.onnx", notes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct Annotations {
  using Entries = std::vector<std::pair<std::string, std::string>>;  // key and value, in the order of the file
  std::string prefix = "pagoda.";                                    // removes the file's entries with this prefix
  Entries model;
  std::map<std::pair<GraphId, std::int32_t>, Entries> nodes;  // by graph and index in Graph::nodes
};

struct Annotated {
  std::size_t nodes = 0;
  // Nodes with notes but neither an output nor a name: nothing identifies them in a file.
  std::size_t nameless = 0;
  // Files of external data, as the model names them: copied beside an output in another folder, or not found.
  std::vector<std::string> copied, missing;
};

// Writes the file of `model`, which load_model() read, with the notes to `output_path`, whole or not at all. Where the
// output lies in another folder, files of external data are copied first. Throws Error when the file has changed since
// loading, when the output cannot be written or is the model itself, when a copy would replace a different file or lie
// outside the output's folder, and where the notes would make the file exceed protobuf's 2 GB.
Annotated write_annotated(const Model& model, const std::string& output_path, const Annotations& annotations);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
