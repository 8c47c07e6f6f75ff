// What a join needs of pagoda.estimate/1.
#include <cmath>

#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/core/dim.h"
#include "pagoda/core/tensor_type.h"
#include "pagoda/measured/join.h"

namespace pagoda::measured {
namespace {

using base::JsonField;

// The size that the estimate's counts are of: a dim that nothing set is 1, as it is there.
std::optional<double> size_of(const JsonField& dim) {
  if (dim.value().is_integer() && dim.integer() >= 0) return dim.number();
  if (!dim.value().is_text()) return std::nullopt;
  const std::optional<Dim> formula = Dim::parse(dim.text());
  if (!formula) return std::nullopt;
  return static_cast<double>(formula->evaluate({}));
}

// Empty where a dim or the rank is not known.
std::optional<std::vector<double>> shape_of(const JsonField& output) {
  const auto shape = output.find("shape");
  if (!shape || !shape->value().is_array()) return std::nullopt;
  std::vector<double> sizes;
  for (const JsonField& dim : shape->array()) {
    const std::optional<double> size = size_of(dim);
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

// "[1,64,56,56]"; empty where a size is not known.
std::string shape_text(const JsonField& output) {
  const auto shape = shape_of(output);
  if (!shape) return "";
  std::string text = "[";
  for (const double size : *shape)
    (text += text.size() > 1 ? "," : "") += std::to_string(static_cast<std::int64_t>(size));
  return text + "]";
}

// Elements times their width; empty where the type has none or a size is not known.
std::optional<double> stored_bytes(const JsonField& output) {
  const std::optional<ElementType> type = element_type(output.text("type"));
  const auto shape = shape_of(output);
  if (!type || bits(*type) == 0 || !shape) return std::nullopt;
  double elements = 1;
  for (const double size : *shape) elements *= size;
  return std::ceil(elements * bits(*type) / 8);
}

EstimateRow read_row(const JsonField& node) {
  EstimateRow row;
  row.name = node.text("name");
  row.op_type = node.text("op_type");
  row.domain = node.text("domain");
  row.scope = node.text("scope");
  row.mark = node.text("mark");
  row.inputs = node.texts("inputs");
  if (node.find("outputs"))
    for (const JsonField& output : node.array("outputs")) {
      row.outputs.push_back(output.text("name"));
      row.output_shapes.push_back(shape_text(output));
      row.output_bytes.push_back(stored_bytes(output));
    }
  row.precision = node.text("precision");
  row.macs = node.number("macs");
  row.arith = node.number("arith");
  row.special = node.number("special");
  row.comparisons = node.number("comparisons");
  row.flops = node.number("flops");
  row.bytes = node.number("bytes");
  return row;
}

void read_roofline(const JsonField& roofline, EstimateDocument& estimate) {
  estimate.device = roofline.text("device");
  for (const JsonField& node : roofline.array("nodes")) {
    const std::optional<std::int64_t> index = node.integer("index");
    if (!index || *index < 0 || static_cast<std::size_t>(*index) >= estimate.rows.size())
      node.fail("expected the index of a node");
    EstimateRow& row = estimate.rows[static_cast<std::size_t>(*index)];
    row.bound = node.text("bound");
    row.bound_seconds = node.number("seconds");
  }
}

}  // namespace

EstimateDocument parse_estimate(std::string_view json, std::string_view subject) {
  EstimateDocument estimate;
  const base::JsonDocument document = base::parse_json_elements(
      json, subject, "nodes", [&](const JsonField& node, std::size_t) { estimate.rows.push_back(read_row(node)); });
  const JsonField rest = document.root();
  if (document.schema() != "pagoda.estimate/1")
    rest.fail("expected \"schema\": \"pagoda.estimate/1\"; write one with onnx-estimate MODEL --format json");
  if (const auto model = rest.object("model")) estimate.model = model->text("path");
  if (const auto roofline = rest.object("roofline")) read_roofline(*roofline, estimate);
  return estimate;
}

EstimateDocument load_estimate(const std::string& path) {
  return parse_estimate(base::read_file(path, "an estimate, as onnx-estimate MODEL --format json writes it"), path);
}

}  // namespace pagoda::measured
