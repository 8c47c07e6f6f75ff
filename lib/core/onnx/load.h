// What building the graphs of one model shares, and the entry points of the parts.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/declared_type.h"
#include "onnx/tensor_value.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

struct Loader {
  // Values that bodies take from the graphs around them, each counted once per level that it passes.
  static constexpr std::size_t kMostCaptures = std::size_t{1} << 20;

  explicit Loader(const ExternalData& external) : tensors(external) {}

  Model model;
  TensorReader tensors;
  DimNames dims;
  std::size_t captures = 0;
};

// Builds the graph and those in its nodes; the main graph is built first, into index 0.
GraphId build_main_graph(Loader& loader, const ::onnx::GraphProto& proto);
// Adds the function with its body.
void build_function(Loader& loader, const ::onnx::FunctionProto& proto);

// Sorts nodes so that producers come first, stably; a sorted list stays as it is. `reads[i]` are the values that
// node i needs, captures of its bodies included. Throws Error naming the nodes of a cycle.
void sort_topologically(Graph& graph, const std::vector<std::vector<ValueId>>& reads);

// The module path of a node: from what the exporter recorded, else the folder part of the name.
std::string module_scope(const ::onnx::NodeProto& proto);
// Metadata keys of nodes that module_scope() reads.
bool tells_scope(std::string_view metadata_key);

// Fields that the installed ONNX does not know, as it keeps them: the length-delimited ones of one number.
template <typename Proto, typename Visit>
void for_each_unknown(const Proto& proto, int number, Visit visit) {
  const google::protobuf::UnknownFieldSet& fields = proto.GetReflection()->GetUnknownFields(proto);
  for (int i = 0; i < fields.field_count(); ++i)
    if (fields.field(i).number() == number &&
        fields.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      visit(fields.field(i).length_delimited());
}

// Parses one message, with the nesting that the walk over the model allows. The library never prints: protobuf's
// own messages on standard error are held back.
bool parse(google::protobuf::Message& message, std::string_view bytes);

// "ai.onnx" is the long name of the default domain.
inline std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

}  // namespace pagoda::inline core::wire
