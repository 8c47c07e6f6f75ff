#include "plot/estimate_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pagoda/base/sha256.h"
#include "pagoda/core/tensor_type.h"
#include "plot/text.h"

namespace pagoda::present::plot {
namespace {

using Json = nlohmann::json;

// Fields that are absent, null or of another type are empty: a chart takes what there is.
const Json* field(const Json& json, const char* key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> amount(const Json& json, const char* key) {
  const Json* value = field(json, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double result = value->get<double>();
  return std::isfinite(result) && result >= 0 ? std::optional(result) : std::nullopt;
}

std::string text(const Json& json, const char* key) {
  const Json* value = field(json, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::optional<std::size_t> size(const Json& json, const char* key) {
  const Json* value = field(json, key);
  if (value == nullptr || !value->is_number_unsigned()) return std::nullopt;
  return value->get<std::size_t>();
}

const Json& array(const Json& json, const char* key) {
  static const Json kEmpty = Json::array();
  const Json* value = field(json, key);
  return value != nullptr && value->is_array() ? *value : kEmpty;
}

bool flag(const Json& json, const char* key) {
  const Json* value = field(json, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

std::vector<std::string> texts(const Json& json, const char* key) {
  std::vector<std::string> result;
  for (const Json& value : array(json, key)) result.push_back(value.is_string() ? value.get<std::string>() : "");
  return result;
}

std::vector<std::size_t> sizes(const Json& json, const char* key) {
  std::vector<std::size_t> result;
  for (const Json& value : array(json, key))
    if (value.is_number_unsigned()) result.push_back(value.get<std::size_t>());
  return result;
}

using Bound = std::vector<std::pair<std::string, std::optional<double>>>;

// Free dims count as 1, as in the numbers of the estimate.
std::optional<double> extent(const Json& size, const Bound& bindings) {
  if (size.is_number()) return size.get<double>();
  if (!size.is_string()) return std::nullopt;
  for (const auto& [dim, value] : bindings)
    if (dim == size.get<std::string>()) return value.value_or(1);
  return std::nullopt;
}

EstimateTensor tensor(const Json& json, const Bound& bindings) {
  EstimateTensor result{text(json, "name"), text(json, "type"), "", std::nullopt};
  const Json* shape = field(json, "shape");
  if (shape == nullptr || !shape->is_array()) {
    result.shape = "?";
    return result;
  }
  const std::optional<ElementType> type = element_type(result.type);
  std::optional<double> bytes = type ? std::optional(bits(*type) / 8.0) : std::nullopt;
  for (const Json& size : *shape) {
    if (!result.shape.empty()) result.shape += 'x';
    result.shape += size.is_string() ? size.get<std::string>() : size.dump();
    if (const std::optional<double> factor = extent(size, bindings); factor && bytes)
      *bytes *= *factor;
    else
      bytes.reset();
  }
  if (result.shape.empty()) result.shape = "scalar";
  if (bytes && *bytes > 0) result.bytes = bytes;
  return result;
}

EstimateNode node(const Json& json, const Bound& bindings) {
  EstimateNode result;
  result.index = size(json, "index").value_or(0);
  result.name = text(json, "name");
  result.op_type = text(json, "op_type");
  result.domain = text(json, "domain");
  result.scope = text(json, "scope");
  result.precision = text(json, "precision");
  result.mark = text(json, "mark");
  result.problem = text(json, "problem");
  result.inputs = texts(json, "inputs");
  for (const Json& output : array(json, "outputs")) result.outputs.push_back(tensor(output, bindings));
  result.macs = amount(json, "macs");
  result.special = amount(json, "special");
  result.flops = amount(json, "flops");
  result.bytes = amount(json, "bytes");
  // Files may leave a name empty; what the node makes then names it.
  if (result.name.empty() && !result.outputs.empty()) result.name = result.outputs.front().name;
  if (result.name.empty()) result.name = "#" + std::to_string(result.index);
  return result;
}

EstimateBound bound(const Json& json) {
  return {.bound = text(json, "bound"),
          .compute_seconds = amount(json, "compute_seconds"),
          .memory_seconds = amount(json, "memory_seconds"),
          .flops = amount(json, "flops"),
          .bytes = amount(json, "bytes"),
          .headroom = amount(json, "headroom"),
          .precision = text(json, "precision"),
          .unit = text(json, "unit"),
          .level = text(json, "level")};
}

void read_groups(EstimateFile& file, const Json& traffic) {
  file.traffic = text(traffic, "model");
  for (const Json& json : array(traffic, "groups")) {
    EstimateGroup group;
    group.rule = text(json, "rule");
    const std::vector<std::string> joined_by = texts(json, "joined_by");
    const std::vector<std::size_t> indices = sizes(json, "nodes");
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto found = file.position.find(indices[i]);
      if (found == file.position.end()) continue;
      if (i < joined_by.size() && joined_by[i].empty()) group.main = found->second;
      group.nodes.push_back(found->second);
    }
    if (!group.nodes.empty() && std::find(group.nodes.begin(), group.nodes.end(), group.main) == group.nodes.end())
      group.main = group.nodes.front();
    const std::optional<double> read = amount(json, "bytes_read"), written = amount(json, "bytes_written");
    if (read && written) group.bytes = *read + *written;
    group.saved_bytes = amount(json, "saved_bytes");
    file.groups.push_back(std::move(group));
  }
}

void read_roofline(EstimateFile& file, const Json& json) {
  EstimateRoofline roofline{.device = text(json, "device"),
                            .device_name = text(json, "device_name"),
                            .precision = text(json, "precision"),
                            .traffic = text(json, "traffic"),
                            .seconds = amount(json, "seconds"),
                            .floor_seconds = amount(json, "floor_seconds"),
                            .eager_seconds = amount(json, "eager_seconds"),
                            .at_least = flag(json, "at_least"),
                            .predicted = {}};
  if (const Json* predicted = field(json, "predicted"); predicted != nullptr && amount(*predicted, "seconds"))
    roofline.predicted = {*amount(*predicted, "seconds"), amount(*predicted, "low"), amount(*predicted, "high"),
                          text(*predicted, "calibration")};
  for (const Json& row : array(json, "nodes"))
    if (const auto index = size(row, "index"))
      if (const auto found = file.position.find(*index); found != file.position.end())
        file.nodes[found->second].bound = bound(row);
  for (const Json& row : array(json, "groups"))
    if (const auto index = size(row, "index"); index && *index < file.groups.size())
      file.groups[*index].bound = bound(row);
  file.roofline = std::move(roofline);
}

EstimateMemory memory(const Json& json) {
  EstimateMemory result;
  result.excludes = text(json, "excludes");
  result.peak_bytes = amount(json, "peak_bytes").value_or(0);
  result.peak_step = size(json, "peak_step").value_or(0);
  result.peak_tensors = texts(json, "peak_tensors");
  for (const Json& bytes : array(json, "timeline"))
    result.timeline.push_back(bytes.is_number() ? bytes.get<double>() : 0);
  result.order = sizes(json, "order");
  result.arena_bytes = amount(json, "arena_bytes");
  if (const Json& weights = array(json, "weights"); !weights.empty()) {
    double sum = 0;
    for (const Json& row : weights) sum += amount(row, "bytes").value_or(0);
    result.weight_bytes = sum;
  }
  return result;
}

std::optional<EstimateSweep> sweep(const Json& json, std::vector<std::string>& notes) {
  const std::vector<std::string> dims = texts(json, "dims");
  if (dims.size() != 1) {
    notes.push_back("a sweep over " + std::to_string(dims.size()) + " dims is not drawn: only one dim makes a curve");
    return std::nullopt;
  }
  EstimateSweep result{dims.front(), {}};
  for (const Json& json_point : array(json, "points")) {
    const std::optional<double> size = amount(json_point, result.dim.c_str());
    if (!size) continue;
    result.points.push_back({.size = *size,
                             .flops = amount(json_point, "flops"),
                             .bytes = amount(json_point, "bytes"),
                             .seconds = amount(json_point, "seconds"),
                             .memory_seconds = amount(json_point, "memory_seconds"),
                             .memory_bytes = amount(json_point, "memory_bytes")});
  }
  if (result.points.empty()) return std::nullopt;
  return result;
}

}  // namespace

std::string EstimateFile::label(const std::string& without) const {
  std::string name = model;
  if (const std::size_t slash = name.find_last_of("/\\"); slash != std::string::npos) name.erase(0, slash + 1);
  if (const std::size_t dot = name.rfind(".onnx"); dot != std::string::npos && dot + 5 == name.size()) name.resize(dot);
  if (name.empty()) name = file;
  for (const auto& [dim, value] : bindings)
    if (dim != without) name += ", " + dim + "=" + (value ? number(*value) : "1 (free)");
  return name;
}

EstimateFile read_estimate(const PlotFile& file) {
  Json json;
  try {
    json = Json::parse(file.text);
  } catch (const Json::parse_error& error) {
    throw Error(file.name + ": not JSON, byte " + std::to_string(error.byte) +
                "; expected a file of schema pagoda.estimate/1; write one with onnx-estimate MODEL -o FILE.json");
  }
  if (const std::string schema = text(json, "schema"); schema != "pagoda.estimate/1")
    throw Error(file.name + (schema.empty() ? ": names no schema" : ": schema \"" + schema + "\"") +
                ", expected pagoda.estimate/1; write one with onnx-estimate MODEL -o FILE.json");
  if (field(json, "nodes") == nullptr)
    throw Error(file.name + ": holds no nodes; a chart needs a row per node: write it without --by type");
  EstimateFile result;
  result.file = file.name;
  result.sha256 = base::hex(base::sha256(file.text));
  result.tool = text(json, "tool");
  result.count = text(json, "count");
  result.traffic = "unfused";
  const Json empty = Json::object();
  const Json& model = field(json, "model") != nullptr ? json["model"] : empty;
  result.model = text(model, "path").empty() ? text(model, "name") : text(model, "path");
  if (const Json* bindings = field(json, "bindings"))
    for (const auto& [dim, value] : bindings->items())
      if (!value.is_string())  // a string is another spelling of a dim
        result.bindings.emplace_back(dim, value.is_number() ? std::optional(value.get<double>()) : std::nullopt);
  for (const Json& row : array(json, "nodes")) result.nodes.push_back(node(row, result.bindings));
  std::sort(result.nodes.begin(), result.nodes.end(),
            [](const EstimateNode& a, const EstimateNode& b) { return a.index < b.index; });
  for (std::size_t i = 0; i < result.nodes.size(); ++i) result.position.emplace(result.nodes[i].index, i);
  if (const Json* totals = field(json, "totals")) {
    result.flops = amount(*totals, "flops");
    result.unmodelled = size(*totals, "unmodelled_nodes").value_or(0);
    result.partial = flag(*totals, "partial");
  }
  if (const Json* traffic = field(json, "traffic")) read_groups(result, *traffic);
  if (const Json* roofline = field(json, "roofline")) read_roofline(result, *roofline);
  if (const Json* plan = field(json, "memory")) result.memory = memory(*plan);
  if (const Json* points = field(json, "sweep")) result.sweep = sweep(*points, result.notes);
  double sum = 0;
  for (const EstimateNode& row : result.nodes) sum += row.flops.value_or(0);
  if (result.flops && sum < *result.flops * (1 - 1e-9))
    result.notes.push_back("the estimate lists only the nodes of " + percent_text(sum / *result.flops) +
                           " of its FLOPs; write it without --top for all");
  return result;
}

}  // namespace pagoda::present::plot
