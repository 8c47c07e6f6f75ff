// What a join needs of pagoda.estimate/1.
#include <cmath>

#include "import/event_stream.h"
#include "pagoda/core/dim.h"
#include "pagoda/core/tensor_type.h"
#include "pagoda/measured/join.h"

namespace pagoda::measured {
namespace {

using base::fail;
using base::Json;

// The size that the estimate's counts are of: a dim that nothing set is 1, as it is there.
std::optional<double> size_of(const base::Json& dim) {
  if (dim.is_number_unsigned()) return dim.get<double>();
  if (!dim.is_string()) return std::nullopt;
  const std::optional<Dim> formula = Dim::parse(dim.get<std::string>());
  if (!formula) return std::nullopt;
  return static_cast<double>(formula->evaluate({}));
}

// "[1,64,56,56]"; empty where a dim or the rank is not known.
std::string shape_text(const base::Json& output) {
  const base::Json* shape = base::member(output, "shape");
  if (!shape || !shape->is_array()) return "";
  std::string text = "[";
  for (const base::Json& dim : *shape) {
    const std::optional<double> size = size_of(dim);
    if (!size) return "";
    (text += text.size() > 1 ? "," : "") += std::to_string(static_cast<std::int64_t>(*size));
  }
  return text + "]";
}

// Elements times their width; empty where the type has none or a size is not known.
std::optional<double> stored_bytes(const base::Json& output, const std::string& place) {
  const std::optional<ElementType> type = element_type(base::text(output, "type", place));
  const base::Json* shape = base::member(output, "shape");
  if (!type || bits(*type) == 0 || !shape || !shape->is_array()) return std::nullopt;
  double elements = 1;
  for (const base::Json& dim : *shape) {
    const std::optional<double> size = size_of(dim);
    if (!size) return std::nullopt;
    elements *= *size;
  }
  return std::ceil(elements * bits(*type) / 8);
}

EstimateRow read_row(const base::Json& node, const std::string& place) {
  if (!node.is_object()) base::fail(place, "expected an object");
  EstimateRow row;
  row.name = base::text(node, "name", place);
  row.op_type = base::text(node, "op_type", place);
  row.domain = base::text(node, "domain", place);
  row.scope = base::text(node, "scope", place);
  row.mark = base::text(node, "mark", place);
  if (base::member(node, "inputs")) row.inputs = base::texts(node, "inputs", place);
  if (base::member(node, "outputs"))
    for (const base::Json& output : base::array(node, "outputs", place)) {
      if (!output.is_object()) base::fail(place + ".outputs", "expected objects");
      row.outputs.push_back(base::text(output, "name", place + ".outputs"));
      row.output_shapes.push_back(shape_text(output));
      row.output_bytes.push_back(stored_bytes(output, place + ".outputs"));
    }
  row.precision = base::text(node, "precision", place);
  row.macs = base::number(node, "macs", place);
  row.arith = base::number(node, "arith", place);
  row.special = base::number(node, "special", place);
  row.comparisons = base::number(node, "comparisons", place);
  row.flops = base::number(node, "flops", place);
  row.bytes = base::number(node, "bytes", place);
  return row;
}

void read_roofline(const base::Json& roofline, const std::string& place, EstimateDocument& estimate) {
  if (!roofline.is_object()) base::fail(place, "expected an object");
  estimate.device = base::text(roofline, "device", place);
  for (const base::Json& node : base::array(roofline, "nodes", place)) {
    const std::optional<std::int64_t> index =
        node.is_object() ? base::integer(node, "index", place + ".nodes") : std::nullopt;
    if (!index || *index < 0 || static_cast<std::size_t>(*index) >= estimate.rows.size())
      base::fail(place + ".nodes", "expected the index of a node");
    EstimateRow& row = estimate.rows[static_cast<std::size_t>(*index)];
    row.bound = base::text(node, "bound", place + ".nodes");
    row.bound_seconds = base::number(node, "seconds", place + ".nodes");
  }
}

}  // namespace

EstimateDocument parse_estimate(std::string_view json, std::string_view subject) {
  const std::string place(subject);
  EstimateDocument estimate;
  const base::Json rest =
      import::stream_elements(json, subject, "nodes", [&](const base::Json& node, std::size_t index) {
        estimate.rows.push_back(read_row(node, place + ".nodes[" + std::to_string(index) + "]"));
      });
  if (base::text(rest, "schema", place) != "pagoda.estimate/1")
    base::fail(place, "expected \"schema\": \"pagoda.estimate/1\"; write one with onnx-estimate MODEL --format json");
  if (const base::Json* model = base::member(rest, "model"); model && model->is_object())
    estimate.model = base::text(*model, "path", place + ".model");
  if (const base::Json* roofline = base::member(rest, "roofline"))
    read_roofline(*roofline, place + ".roofline", estimate);
  return estimate;
}

EstimateDocument load_estimate(const std::string& path) {
  return parse_estimate(base::read_text(path, "an estimate, as onnx-estimate MODEL --format json writes it"), path);
}

}  // namespace pagoda::measured
