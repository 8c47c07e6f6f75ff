// The contents of this build: devices, operators, engines; as tables and as JSON.
#include "pagoda/base/json_writer.h"
#include "pagoda/core/engine.h"
#include "pagoda/core/operators.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/present/spell.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using Layout = base::JsonWriter::Layout;

std::string operators_table(std::size_t width) {
  base::Grid grid{.columns = {{.header = "domain"},
                              {.header = "operator"},
                              {.header = "opsets", .drop_order = 2},
                              {.header = "shape", .drop_order = 4},
                              {.header = "fold", .drop_order = 3},
                              {.header = "work", .shortest_width = 20}},
                  .rows = {}};
  for (const OperatorInfo& op : operators())
    grid.rows.push_back({op.domain, op.name, op.versions, "yes", op.folds ? "yes" : "", op.work});
  return base::aligned(grid, width) +
         "opsets: versions of the domain that define or change the operator; shape: types of all outputs; fold: values "
         "of small outputs too, where those of the inputs are known\n";
}

std::string devices_table(std::size_t width) {
  constexpr std::pair<Precision, Unit> kShownPeaks[] = {
      {Precision::Float64, Unit::Vector}, {Precision::Float32, Unit::Vector},  {Precision::Tf32, Unit::Tensor},
      {Precision::Float16, Unit::Tensor}, {Precision::Bfloat16, Unit::Tensor}, {Precision::Float8, Unit::Tensor},
      {Precision::Int8, Unit::Tensor},
  };
  base::Grid grid{.columns = {{.header = "id"}, {.header = "name", .drop_order = 9}}, .rows = {}};
  // Narrow terminals keep the precisions in which most models run.
  for (const auto& [precision, unit] : kShownPeaks)
    grid.columns.push_back({.header = std::string(to_string(precision)) + (unit == Unit::Tensor ? " tensor" : ""),
                            .is_number = true,
                            .drop_order = precision == Precision::Bfloat16  ? 8
                                          : precision == Precision::Float64 ? 7
                                          : precision == Precision::Float8  ? 6
                                          : precision == Precision::Int8    ? 5
                                                                            : 0});
  grid.columns.push_back({.header = "memory", .is_number = true});
  grid.columns.push_back({.header = "bandwidth", .is_number = true});
  grid.columns.push_back({.header = "power modes", .drop_order = 10});
  for (const std::string& id : documents::device_ids()) {
    const DeviceSpec spec = documents::device(id);
    std::vector<std::string> row = {spec.id, spec.name};
    for (const auto& [precision, unit] : kShownPeaks) {
      const Peak* peak = spec.peak(precision, unit);
      row.push_back(peak == nullptr ? "" : base::si_rate(*peak->flops_per_second.value, ""));
    }
    const MemoryLevel* dram = spec.level("dram");
    const auto known = [&](const Quantity& quantity, std::string_view of) {
      return quantity.known() ? base::si_rate(*quantity.value, of) : std::string();
    };
    row.push_back(dram == nullptr ? "" : known(dram->capacity_bytes, "B"));
    row.push_back(dram == nullptr ? "" : known(dram->bytes_per_second, "B/s"));
    row.push_back(base::joined(spec.power_modes, " ", &PowerMode::id));
    grid.rows.push_back(std::move(row));
  }
  std::string calibrations;
  for (const std::string& id : documents::calibration_ids(engines().front()->id))
    calibrations += "calibration " + id + ": " + documents::calibration(id).regime + "\n";
  return base::aligned(grid, width) + calibrations +
         "dense peaks in FLOP/s (int8: operations); the source of each number is in data/devices; a power mode is "
         "ID:MODE\n";
}

std::string engines_table(std::size_t width) {
  base::Grid grid{.columns = {{.header = "id"}, {.header = "what it predicts"}, {.header = "calibrations"}},
                  .rows = {}};
  for (const Engine* engine : engines())
    grid.rows.push_back(
        {std::string(engine->id), command_line(engine->what), base::joined(documents::calibration_ids(engine->id))});
  return base::aligned(grid, width);
}

void write_device(base::JsonWriter& json, const DeviceSpec& device) {
  const MemoryLevel* const dram = device.level("dram");
  members(json.begin_object(Layout::Line), "id", device.id, "name", device.name, "kind", device.kind, "memory_bytes",
          device.memory_bytes(), "bytes_per_second", dram == nullptr ? std::nullopt : dram->bytes_per_second.value);
  json.key("peaks").begin_array(Layout::Line);
  for (const Peak& peak : device.peaks)
    members(json.begin_object(Layout::Line), "precision", to_string(peak.precision), "unit", to_string(peak.unit),
            "flops_per_second", peak.flops_per_second.value)
        .end_object();
  json.end_array().key("power_modes").begin_array(Layout::Line);
  for (const PowerMode& mode : device.power_modes) json.value(mode.id);
  json.end_array().end_object();
}

}  // namespace

std::string list_report(Format format, List list, std::size_t width, const std::string& tool) {
  if (format == Format::Table) {
    const auto table = list == List::Operators ? operators_table
                       : list == List::Engines ? engines_table
                                               : devices_table;
    return table(width);
  }
  if (format != Format::Json) throw Error("a list is a table or json");
  base::JsonWriter json;
  json.begin_object().member("schema", "pagoda.list/1").member_if_any("tool", tool);
  switch (list) {
    case List::Devices:
      json.key("devices").begin_array();
      for (const std::string& id : documents::device_ids()) write_device(json, documents::device(id));
      break;
    case List::Operators:
      json.key("operators").begin_array();
      for (const OperatorInfo& op : operators())
        members(json.begin_object(Layout::Line), "domain", op.domain, "op_type", op.name, "opsets", op.versions,
                "folds", op.folds, "work", op.work, "types", op.types)
            .end_object();
      break;
    case List::Engines:
      json.key("engines").begin_array();
      for (const Engine* engine : engines())
        members(json.begin_object(Layout::Line), "id", engine->id, "predicts", command_line(engine->what),
                "calibrations", documents::calibration_ids(engine->id))
            .end_object();
      break;
  }
  json.end_array();
  json.end_object();
  return std::move(json).text();
}

}  // namespace pagoda::present
