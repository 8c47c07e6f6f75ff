// Rewrites the inputs of a serialized model in one walk.
#include "pagoda/core/resize_inputs.h"

#include "onnx/file_kind.h"
#include "onnx/write.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core {
namespace wire {
namespace {

using InputShapes = std::map<std::string, std::vector<std::int64_t>>;

// Field numbers of ModelProto, GraphProto, ValueInfoProto, TypeProto, TypeProto.Tensor and TensorShapeProto.
namespace number {
constexpr std::uint32_t kGraph = 7, kInput = 11, kValue = 13, kName = 1, kType = 2, kTensor = 1, kElement = 1,
                        kShape = 2, kDim = 1, kSize = 1;
}

struct ValueTypeInfo {
  std::string_view name;
  std::optional<std::uint64_t> element;  // empty: no tensor
};

ValueTypeInfo read_info(File& file, Range body) {
  ValueTypeInfo info;
  Reader value(file, body, 2);
  while (const std::optional<Field> part = value.next()) {
    if (part->number == number::kName && part->type == Type::Bytes) info.name = name_in(file, *part);
    if (part->number != number::kType || part->type != Type::Bytes) continue;
    Reader type(file, part->payload, 3);
    while (const std::optional<Field> kind = type.next()) {
      if (kind->number != number::kTensor || kind->type != Type::Bytes) continue;
      Reader tensor(file, kind->payload, 4);
      while (const std::optional<Field> member = tensor.next())
        if (member->number == number::kElement && member->type == Type::Varint) info.element = member->varint;
    }
  }
  return info;
}

// Field `field_number` of a graph: a value without a shape where `shape` is null.
std::string info_field(std::uint32_t field_number, const ValueTypeInfo& info, const std::vector<std::int64_t>* shape) {
  std::string tensor, type, value, field;
  append_varint_field(tensor, number::kElement, *info.element);
  if (shape != nullptr) {
    std::string sizes;
    for (const std::int64_t size : *shape) {
      std::string dim;
      append_varint_field(dim, number::kSize, static_cast<std::uint64_t>(size));
      append_bytes_field(sizes, number::kDim, dim);
    }
    append_bytes_field(tensor, number::kShape, sizes);
  }
  append_bytes_field(type, number::kTensor, tensor);
  append_bytes_field(value, number::kName, info.name);
  append_bytes_field(value, number::kType, type);
  append_bytes_field(field, field_number, value);
  return field;
}

std::vector<Edit> resizing_edits(File& file, const InputShapes& shapes) {
  std::vector<Edit> edits;
  Reader model(file, {0, file.size()}, 0);
  while (const std::optional<Field> graph = model.next()) {
    if (graph->number != number::kGraph || graph->type != Type::Bytes) continue;
    const std::size_t slot = edits.size();  // of the graph's length, which precedes the edits inside
    edits.push_back({.offset = graph->length_at, .removed = graph->payload.begin - graph->length_at});
    std::uint64_t size = graph->payload.size();
    Reader members(file, graph->payload, 1);
    while (const std::optional<Field> member = members.next()) {
      if (member->type != Type::Bytes || member->number < number::kInput || member->number > number::kValue) continue;
      const ValueTypeInfo info = read_info(file, member->payload);
      const auto asked = shapes.find(std::string(info.name));
      const bool is_input = member->number == number::kInput;
      if (!info.element || (is_input && asked == shapes.end())) continue;
      std::string text = info_field(member->number, info, is_input ? &asked->second : nullptr);
      size += text.size() - member->whole.size();
      edits.push_back(
          {.offset = member->whole.begin, .removed = member->whole.size(), .added = {.text = std::move(text)}});
    }
    append_varint(edits[slot].added.text, size);
  }
  return edits;
}

}  // namespace
}  // namespace wire

void write_resized(const std::string& model_path, const std::string& output_path, const wire::InputShapes& shapes) {
  const MappedFile file(model_path);
  wire::OutputFile output(output_path, model_path);
  wire::about(model_path, wire::as_text(file.bytes()), [&] {
    wire::File walked(file.bytes());
    wire::write_edited(file, wire::resizing_edits(walked, shapes), output);
  });
}

}  // namespace pagoda::inline core
