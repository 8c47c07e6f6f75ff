// Several models that run one after another, as one report.
#include <algorithm>
#include <filesystem>

#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/plural.h"
#include "pagoda/documents/dim_json.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using documents::CellKind;
using documents::Count;
using documents::EstimateCounts;
using documents::EstimateDocument;
using estimate::Pipeline;
using estimate::PipelinePart;
using Layout = base::JsonWriter::Layout;
using report::cell;

bool has_flops(const Pipeline& pipeline) { return pipeline.parts.front().estimate.count != Convention::Macs; }

// A number of one run of a part, and of a result of the whole pipeline.
struct PipelineNumber {
  const char* name;    // in files
  const char* header;  // in tables; null: not there
  CellKind kind;
  bool is_of_runs;  // tables show it times the runs
  Cell (*of_part)(const EstimateDocument& estimate);
  Cell (*of_all)(const Pipeline& pipeline);
  bool is_of_each = false;  // shown of models that are apart

  bool is_shown(const Pipeline& pipeline) const {
    if (header == nullptr || (is_of_each && !pipeline.are_apart)) return false;
    const auto has_time = [&](const PipelinePart& part) {
      return documents::number(of_part(part.estimate)).has_value();
    };
    const bool is_timed = pipeline.are_apart ? std::ranges::any_of(pipeline.parts, has_time)
                                             : of_all != nullptr && documents::number(of_all(pipeline)).has_value();
    if (kind == CellKind::Seconds && !is_timed) return false;
    return std::string_view(header) != "FLOPs" || has_flops(pipeline);
  }
};

template <auto Member>
Cell counted(const EstimateDocument& estimate) {
  return cell_of(estimate.moved().*Member);
}
template <auto Member>
Cell whole(const Pipeline& pipeline) {
  return cell_of(pipeline.*Member);
}
Cell weights(const EstimateDocument& estimate) { return cell_of(estimate.totals.weight_bytes); }
Cell activations(const EstimateDocument& estimate) { return cell_of(estimate.totals.activation_peak_bytes); }
Cell seconds(const EstimateDocument& estimate) {
  return estimate.roofline ? Cell(estimate.roofline->totals.seconds) : Cell();
}
Cell predicted_seconds(const EstimateDocument& estimate) {
  return estimate.roofline && estimate.roofline->predicted ? Cell(*estimate.roofline->predicted->seconds) : Cell();
}

// clang-format off
constexpr PipelineNumber kNumbers[] = {
    {"macs",                  "MACs",        CellKind::Count,   true,  counted<&EstimateCounts::macs>,        whole<&Pipeline::macs>},
    {"flops",                 "FLOPs",       CellKind::Count,   true,  counted<&EstimateCounts::flops>,       whole<&Pipeline::flops>},
    {"bytes",                 "bytes",       CellKind::Bytes,   true,  counted<&EstimateCounts::bytes>,       whole<&Pipeline::bytes>},
    {"params",                "params",      CellKind::Count,   false, counted<&EstimateCounts::params>,      whole<&Pipeline::params>, true},
    {"weight_bytes",          "weights",     CellKind::Bytes,   false, weights,                               whole<&Pipeline::weight_bytes>},
    {"activation_peak_bytes", "activations", CellKind::Bytes,   false, activations,                           nullptr},
    {"seconds",               "time ≥",      CellKind::Seconds, true,  seconds,                               whole<&Pipeline::seconds>},
    {"floor_seconds",         nullptr,       CellKind::Seconds, true,  nullptr,                               whole<&Pipeline::floor_seconds>},
    {"predicted_seconds",     "predicted",   CellKind::Seconds, true,  predicted_seconds,                     whole<&Pipeline::predicted_seconds>},
};
// clang-format on

Cell times(const Cell& cell, std::int64_t runs) {
  if (const auto* const bound = std::get_if<documents::AtLeast>(&cell)) return documents::AtLeast{bound->value * runs};
  if (const Int* const count = std::get_if<Int>(&cell)) return *count * runs;
  if (const double* const value = std::get_if<double>(&cell)) return *value * static_cast<double>(runs);
  return cell;
}

base::Grid parts_grid(const Pipeline& pipeline) {
  const bool are_apart = pipeline.are_apart;
  base::Grid grid{.columns = {{.header = "model", .shortest_width = 12}}, .rows = {}};
  if (!are_apart) grid.columns.push_back({.header = "runs", .is_number = true});
  for (const PipelineNumber& number : kNumbers) {
    if (!number.is_shown(pipeline)) continue;
    grid.columns.push_back({.header = number.header, .is_number = true});
    if (number.of_part == seconds && !are_apart) grid.columns.push_back({.header = "share", .is_number = true});
  }
  const auto add_row = [&](std::vector<std::string> cells, const auto& value) {
    for (const PipelineNumber& number : kNumbers) {
      if (!number.is_shown(pipeline)) continue;
      const Cell cell = value(number);
      cells.push_back(known_text(cell, number.kind));
      if (number.of_part != seconds || are_apart) continue;
      const double share = documents::number(cell).value_or(0) / *pipeline.seconds;
      cells.push_back(*pipeline.seconds > 0 ? shown_text(share, CellKind::Portion) : "?");
    }
    grid.rows.push_back(std::move(cells));
  };
  for (const PipelinePart& part : pipeline.parts) {
    const std::filesystem::path path = part.estimate.model.path;
    std::vector<std::string> begin = {base::printable(are_apart ? path.string() : path.filename().string())};
    if (!are_apart) begin.push_back(base::grouped(part.runs));
    add_row(std::move(begin), [&](const PipelineNumber& number) {
      return times(number.of_part(part.estimate), number.is_of_runs ? part.runs : 1);
    });
  }
  if (are_apart) return grid;
  add_row({"all", ""},
          [&](const PipelineNumber& number) { return number.of_all ? number.of_all(pipeline) : Cell(std::string()); });
  return grid;
}

std::string verdict(const Pipeline& pipeline, const Count& bytes) {
  const std::optional<bool> fits = pipeline.fits(bytes);
  return !fits ? "" : *fits ? " · fits" : " · does not fit";
}

// The text below the rows.
std::string answer(const Pipeline& pipeline) {
  std::string text;
  const std::string least = pipeline.partial ? "≥ " : "";
  if (pipeline.seconds) {
    text += "time    ≥ " + base::si_seconds(*pipeline.seconds) + " a result";
    if (pipeline.items && *pipeline.items > 0 && *pipeline.seconds > 0) {
      const double items = static_cast<double>(*pipeline.items);
      text += " · ≥ " + base::si_seconds(*pipeline.seconds / items) + " an item · at most " +
              base::si_rate(items / *pipeline.seconds, "items/s");
    }
    if (pipeline.floor_seconds)
      text += "\n        ≥ " + base::si_seconds(*pipeline.floor_seconds) + " floor: no engine can be faster";
    text += "\n";
  }
  text += "memory  " + least + cell(pipeline.resident_bytes, "B") + " with all weights on the device" +
          verdict(pipeline, pipeline.resident_bytes) + "\n        " + least + cell(pipeline.in_turn_bytes, "B") +
          " with those of one model at a time" + verdict(pipeline, pipeline.in_turn_bytes) + "\n";
  return text;
}

std::string heading(const Pipeline& pipeline) {
  const EstimateDocument& first = pipeline.parts.front().estimate;
  return cat(base::counted(static_cast<Int>(pipeline.parts.size()), "model"), " · ",
             to_string(first.traffic ? first.traffic->model : TrafficModel::Unfused), " traffic",
             first.roofline ? " · " + report::device_text(*first.roofline) : "");
}

std::string json_text(const Pipeline& pipeline) {
  const EstimateDocument& first = pipeline.parts.front().estimate;
  base::JsonWriter json;
  json.begin_object().member("schema", "pagoda.pipeline/1").member_if_any("tool", first.tool);
  json.member("count", to_string(first.count)).key("device");
  first.roofline ? json.value(first.roofline->device) : json.null();
  json.key("parts").begin_array();
  for (const PipelinePart& part : pipeline.parts) {
    json.begin_object(Layout::Line).member("model", part.estimate.model.path).member("runs", part.runs);
    for (const PipelineNumber& number : kNumbers)
      if (number.of_part != nullptr) write_cell(json, number.name, number.of_part(part.estimate));
    json.member("unmodelled_nodes", part.estimate.totals.unmodelled_nodes).end_object();
  }
  json.end_array().key("totals").begin_object();
  for (const PipelineNumber& number : kNumbers)
    if (number.of_all != nullptr) write_cell(json, number.name, number.of_all(pipeline));
  json.member("items", pipeline.items).member("resident_bytes", pipeline.resident_bytes);
  json.member("in_turn_bytes", pipeline.in_turn_bytes).member("device_bytes", pipeline.device_bytes).end_object();
  json.member("partial", pipeline.partial).end_object();
  return std::move(json).text();
}

std::string csv_text(const Pipeline& pipeline) {
  std::vector<std::string> header = {"model", "runs"};
  for (const PipelineNumber& number : kNumbers)
    if (number.of_part != nullptr) header.emplace_back(number.name);
  std::string text = base::csv_line(header);
  for (const PipelinePart& part : pipeline.parts) {
    base::CsvLine line;
    line.name(part.estimate.model.path).add(part.runs);
    for (const PipelineNumber& number : kNumbers)
      if (number.of_part != nullptr) line.add(exact_text(number.of_part(part.estimate)));
    text += std::move(line).end();
  }
  return text;
}

}  // namespace

std::string pipeline_report(Format format, const Pipeline& pipeline, const ReportOptions& options) {
  if (format == Format::Json) return json_text(pipeline);
  if (format == Format::Csv) return csv_text(pipeline);
  const base::Grid grid = parts_grid(pipeline);
  if (format == Format::Markdown && pipeline.are_apart)
    return cat("# ", heading(pipeline), "\n\n", report::markdown_table(grid));
  if (format == Format::Markdown)
    return cat("# ", heading(pipeline), "\n\n", report::markdown_table(grid), "\n```\n", answer(pipeline), "```\n");
  return cat(heading(pipeline), "\n\n", base::aligned(grid, options.width), "\n",
             pipeline.are_apart ? "" : answer(pipeline), has_flops(pipeline) ? "MACs, FLOPs" : "MACs",
             ", bytes and times are of ", pipeline.are_apart ? "one run; " : "all runs; ", report::kSiUnits);
}

}  // namespace pagoda::present
