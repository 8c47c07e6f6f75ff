// Writes fitted energy constants into a device file.
#include <algorithm>
#include <array>

#include "embedded.h"
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

void set(JsonValue& object, const std::string& key, JsonValue value) {
  auto& members = std::get<JsonValue::Object>(object.content);
  std::erase_if(members, [&](const JsonMember& member) { return member.key == key; });
  members.push_back({key, std::move(value)});
}

bool is_leaf(const JsonValue& value) { return !value.is_array() && !value.is_object(); }

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
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const JsonMember& a, const JsonMember& b) { return place(a) < place(b); });
  const bool is_short =
      std::all_of(sorted.begin(), sorted.end(), [](const JsonMember& member) { return is_leaf(member.value); });
  json.begin_object(is_short ? JsonWriter::Layout::Line : JsonWriter::Layout::Block);
  for (const JsonMember& member : sorted) {
    json.key(member.key);
    write(json, member.value);
  }
  json.end_object();
}

}  // namespace

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
  set(*place, "energy", section(energy));
  JsonWriter json;
  write(json, tree);
  return std::move(json).text();
}

}  // namespace pagoda::documents
