// Writes device files: a template with every field, its unit and where to find its value; and fitted energy constants.
#include <algorithm>
#include <array>
#include <cctype>

#include "pagoda/base/cat.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"

namespace pagoda::documents {
namespace {

using base::JsonMember;
using base::JsonValue;
using base::JsonWriter;

JsonValue quantity(const Quantity& value, const char* unit) {
  return {JsonValue::Object{{"value", value.known() ? JsonValue{*value.value} : JsonValue{}},
                            {"unit", {std::string(unit)}},
                            {"source", {value.source}}}};
}

JsonValue section(const DeviceEnergy& energy) {
  JsonValue::Array work;
  for (const DeviceEnergy::Work& each : energy.work)
    work.push_back({JsonValue::Object{{"precision", {std::string(to_string(each.precision))}},
                                      {"joules_per_flop", quantity(each.joules_per_flop, "J/FLOP")}}});
  return {JsonValue::Object{{"work", {std::move(work)}},
                            {"joules_per_byte", quantity(energy.joules_per_byte, "J/B")},
                            {"constant_power", quantity(energy.constant_watts, "W")}}};
}

// Writes members in the order of the built-in files, and objects of plain members on one line.
void write(JsonWriter& json, const JsonValue& tree) {
  // clang-format off
  constexpr std::array<std::string_view, 28> kOrder = {
      "comment", "schema", "id", "name", "vendor", "kind", "architecture", "compute_capability", "flagship",
      "units", "boost_clock", "tensor_clock", "memory_clock", "clock", "dram_bytes_per_second", "power",
      "launch_overhead", "special_per_second", "level", "precision", "value", "unit", "accumulate", "source", "peaks",
      "levels", "links", "power_modes"};
  // clang-format on
  if (const auto* items = std::get_if<JsonValue::Array>(&tree.content)) {
    json.begin_array();
    for (const JsonValue& item : *items) write(json, item);
    json.end_array();
    return;
  }
  const auto* members = std::get_if<JsonValue::Object>(&tree.content);
  if (members == nullptr) {
    json.value(tree);
    return;
  }
  const auto place = [&](const JsonMember& member) { return std::find(kOrder.begin(), kOrder.end(), member.key); };
  JsonValue::Object sorted = *members;
  std::ranges::stable_sort(sorted, {}, place);
  const bool is_short = std::ranges::none_of(
      sorted, [](const JsonMember& member) { return member.value.is_array() || member.value.is_object(); });
  json.begin_object(is_short ? JsonWriter::Layout::Line : JsonWriter::Layout::Block);
  for (const JsonMember& member : sorted) {
    json.key(member.key);
    write(json, member.value);
  }
  json.end_object();
}

// "My NPU (v2)" → "my-npu-v2".
std::string id_of(std::string_view name) {
  std::string id;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!id.empty() && id.back() != '-')
      id += '-';
  while (id.ends_with('-')) id.pop_back();
  return id.empty() ? "device" : id;
}

void unknown(JsonWriter& json, std::string_view key, std::string_view unit, std::string_view comment) {
  json.key(key).begin_object(JsonWriter::Layout::Line);
  json.member("comment", comment).key("value").null();
  json.member("unit", unit).member("source", "not stated").end_object();
}

struct PeakRow {
  Precision precision;
  Unit unit;
  const char* comment;
};
constexpr PeakRow kPeaks[] = {
    {Precision::Float32, Unit::Vector,
     "without tensor cores, a multiply-add counted as two: data sheet, \"FP32\"; or units x FLOP per clock x clock"},
    {Precision::Float16, Unit::Tensor,
     "dense, half of what is printed \"with sparsity\": data sheet, \"FP16 Tensor Core\"; \"accumulate\": "
     "\"float32\" beside \"unit\" where the accumulator decides"},
    {Precision::Int8, Unit::Tensor, "dense operations: data sheet, \"INT8\", TOPS; more peaks may follow"},
};

struct LevelRow {
  const char *level, *rate, *capacity;
};
constexpr LevelRow kLevelRows[] = {
    {"dram", "memory bandwidth: data sheet; or bus bits x Gbit/s / 8", "memory: data sheet, 1 GB as 1e9"},
    {"l2", "rarely stated", "last cache before memory: data sheet, 1 MB as 1048576; on a CPU it is l3"},
};

}  // namespace

std::string device_template(std::string_view name) {
  JsonWriter json;
  json.begin_object();
  json.member("comment",
              "Replace each null by the number in its unit, without prefix (3.35 TB/s is 3.35e12), and its source by "
              "the document and page; a number that no document states stays null, with the reason as its source. "
              "Needed: the bandwidth of dram and one peak. Comments may go, and so may fields that stay null.");
  json.member("schema", "pagoda.device/1").member("id", id_of(name)).member("name", name).member("vendor", "");
  json.member("kind", "gpu").member("architecture", "");  // the comment of "units" names the other kinds
  unknown(json, "units", "1",
          "SMs, compute units or cores: data sheet; or deviceQuery, rocminfo, lscpu. kind is gpu, cpu or npu");
  unknown(json, "boost_clock", "Hz", "the clock at which the peaks are stated: data sheet");
  unknown(json, "power", "W", "thermal design power: data sheet");
  unknown(json, "launch_overhead", "s",
          "from one empty kernel to the next: measured by ert-ceilings; no data sheet states it");
  unknown(json, "special_per_second", "1/s",
          "exp, rsqrt, sin … by units of their own: units x results per clock x clock; null on a CPU");
  json.key("peaks").begin_array();
  for (const PeakRow& row : kPeaks) {
    json.begin_object().member("precision", to_string(row.precision)).member("unit", to_string(row.unit));
    unknown(json, "flops_per_second", "FLOP/s", row.comment);
    json.end_object();
  }
  json.end_array().key("levels").begin_array();
  for (const LevelRow& row : kLevelRows) {
    json.begin_object().member("level", row.level).member("capacity_of", "device");
    unknown(json, "bytes_per_second", "B/s", row.rate);
    unknown(json, "capacity", "B", row.capacity);
    json.end_object();
  }
  json.end_array();
  json.key("links").begin_array();
  json.begin_object().member("name", "pcie");
  unknown(json, "bytes_per_second", "B/s",
          "in one direction, half of what is printed \"bidirectional\": data sheet; nvlink and others likewise");
  json.end_object();
  json.end_array().end_object();
  return std::move(json).text();
}

std::string device_with_energy(std::string_view name, const DeviceEnergy& energy) {
  const auto [base, mode] = split_mode(name);
  const std::string text = device_text(base);
  parse_device(text, base);  // throws Error with all mistakes of the file
  const base::JsonDocument document = base::parse_json(text, base, "expected a device file");
  if (document.schema() != "pagoda.device/1")
    throw Error(cat(base, ": is measured ceilings, which hold their own energy fit; give a device or its file"));
  JsonValue tree = document.root().value();
  JsonValue* place = mode.empty() ? &tree : nullptr;
  for (JsonMember& member : std::get<JsonValue::Object>(tree.content))
    if (!mode.empty() && member.key == "power_modes")
      for (JsonValue& each : std::get<JsonValue::Array>(member.value.content))
        if (std::get<std::string>(each.find("id")->content) == base::lower(mode)) place = &each;
  if (place == nullptr)
    throw UnknownDevice(cat(name,
                            ": the constants of a power mode go with a mode that the device file names; for clocks of "
                            "your own write a device file of them"));
  auto& members = std::get<JsonValue::Object>(place->content);
  std::erase_if(members, [](const JsonMember& member) { return member.key == "energy"; });
  members.push_back({"energy", section(energy)});
  JsonWriter json;
  write(json, tree);
  return std::move(json).text();
}

}  // namespace pagoda::documents
