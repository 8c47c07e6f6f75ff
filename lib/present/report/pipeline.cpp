// Several models that run one after another, as one report.
#include <filesystem>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/dim_json.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using documents::Count;
using documents::EstimateDocument;
using estimate::Pipeline;
using estimate::PipelinePart;
using Layout = base::JsonWriter::Layout;
using report::cell;

std::string name_of(const PipelinePart& part) {
  return base::printable(std::filesystem::path(part.estimate.model.path).filename().string());
}

std::optional<double> seconds_of(const PipelinePart& part) {
  const auto& roofline = part.estimate.roofline;
  return roofline ? std::optional(roofline->totals.seconds * static_cast<double>(part.runs)) : std::nullopt;
}

Count times(const Count& count, const PipelinePart& part) { return count ? Count(*count * part.runs) : Count(); }

bool has_flops(const Pipeline& pipeline) { return !report::counts_macs(pipeline.parts.front().estimate); }

base::Grid parts_grid(const Pipeline& pipeline) {
  base::Grid grid;
  grid.columns = {{.header = "model", .shortest_width = 12}};
  for (const char* header : {"runs", "MACs", "FLOPs", "bytes", "weights", "activations"})
    if (has_flops(pipeline) || std::string_view(header) != "FLOPs")
      grid.columns.push_back({.header = header, .is_number = true});
  if (pipeline.seconds) {
    grid.columns.push_back({.header = "time ≥", .is_number = true});
    grid.columns.push_back({.header = "share", .is_number = true});
  }
  if (pipeline.predicted_seconds) grid.columns.push_back({.header = "predicted", .is_number = true});
  const auto add_times = [&](std::vector<std::string>& row, double seconds, std::optional<double> predicted) {
    if (pipeline.seconds) {
      row.push_back(base::si_seconds(seconds));
      row.push_back(*pipeline.seconds > 0 ? base::rounded(100 * seconds / *pipeline.seconds) + " %" : "?");
    }
    if (pipeline.predicted_seconds) row.push_back(predicted ? base::si_seconds(*predicted) : "?");
  };
  for (const PipelinePart& part : pipeline.parts) {
    const documents::EstimateTotals& totals = part.estimate.totals;
    std::vector<std::string> row = {name_of(part), base::grouped(part.runs), cell(times(totals.counts.macs, part))};
    if (has_flops(pipeline)) row.push_back(cell(times(totals.counts.flops, part)));
    row.insert(row.end(), {cell(times(totals.counts.bytes, part), "B"), cell(totals.counts.param_bytes, "B"),
                           cell(totals.activation_peak_bytes, "B")});
    const auto& roofline = part.estimate.roofline;
    add_times(row, seconds_of(part).value_or(0),
              roofline && roofline->predicted
                  ? std::optional(roofline->predicted->seconds * static_cast<double>(part.runs))
                  : std::nullopt);
    grid.rows.push_back(std::move(row));
  }
  std::vector<std::string> sums = {"all", "", cell(pipeline.macs)};
  if (has_flops(pipeline)) sums.push_back(cell(pipeline.flops));
  sums.insert(sums.end(), {cell(pipeline.bytes, "B"), cell(pipeline.weight_bytes, "B"), ""});
  add_times(sums, pipeline.seconds.value_or(0), pipeline.predicted_seconds);
  grid.rows.push_back(std::move(sums));
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
      text +=
          "\n        ≥ " + base::si_seconds(*pipeline.floor_seconds) + " whatever an engine fuses or keeps on the chip";
    text += "\n";
  }
  text += "memory  " + least + cell(pipeline.resident_bytes, "B") + " with all weights on the device" +
          verdict(pipeline, pipeline.resident_bytes) + "\n        " + least + cell(pipeline.in_turn_bytes, "B") +
          " with those of one model at a time" + verdict(pipeline, pipeline.in_turn_bytes) + "\n";
  return text;
}

std::string heading(const Pipeline& pipeline) {
  const EstimateDocument& first = pipeline.parts.front().estimate;
  std::string text = std::to_string(pipeline.parts.size()) + " models · " +
                     std::string(to_string(first.traffic ? first.traffic->model : TrafficModel::Unfused)) + " traffic";
  if (first.roofline) text += " · " + report::device_text(*first.roofline);
  return text;
}

std::string json_text(const Pipeline& pipeline) {
  const EstimateDocument& first = pipeline.parts.front().estimate;
  base::JsonWriter json;
  json.begin_object();
  json.member("schema", "pagoda.pipeline/1");
  if (!first.tool.empty()) json.member("tool", first.tool);
  json.member("count", to_string(first.count));
  json.key("device");
  first.roofline ? json.value(first.roofline->device) : json.null();
  json.key("parts").begin_array();
  for (const PipelinePart& part : pipeline.parts) {
    const documents::EstimateTotals& totals = part.estimate.totals;
    const auto& roofline = part.estimate.roofline;
    json.begin_object(Layout::Line);
    json.member("model", part.estimate.model.path).member("runs", part.runs);
    json.member("macs", totals.counts.macs).member("flops", totals.counts.flops).member("bytes", totals.counts.bytes);
    json.member("params", totals.counts.params).member("weight_bytes", totals.counts.param_bytes);
    json.member("activation_peak_bytes", totals.activation_peak_bytes);
    json.member("seconds", roofline ? std::optional(roofline->totals.seconds) : std::nullopt);
    json.member("predicted_seconds",
                roofline && roofline->predicted ? std::optional(roofline->predicted->seconds) : std::nullopt);
    json.member("unmodelled_nodes", totals.unmodelled_nodes);
    json.end_object();
  }
  json.end_array();
  json.key("totals").begin_object();
  json.member("macs", pipeline.macs).member("flops", pipeline.flops).member("bytes", pipeline.bytes);
  json.member("params", pipeline.params).member("weight_bytes", pipeline.weight_bytes);
  json.member("seconds", pipeline.seconds).member("floor_seconds", pipeline.floor_seconds);
  json.member("predicted_seconds", pipeline.predicted_seconds).member("items", pipeline.items);
  json.member("resident_bytes", pipeline.resident_bytes).member("in_turn_bytes", pipeline.in_turn_bytes);
  json.member("device_bytes", pipeline.device_bytes);
  json.end_object();
  json.member("partial", pipeline.partial);
  json.end_object();
  return std::move(json).text();
}

std::string csv_text(const Pipeline& pipeline) {
  base::CsvLine header;
  for (const char* name : {"model", "runs", "macs", "flops", "bytes", "params", "weight_bytes", "activation_peak_bytes",
                           "seconds", "predicted_seconds"})
    header.add(std::string_view(name));
  std::string text = std::move(header).end();
  for (const PipelinePart& part : pipeline.parts) {
    const documents::EstimateTotals& totals = part.estimate.totals;
    const auto& roofline = part.estimate.roofline;
    base::CsvLine line;
    line.name(part.estimate.model.path).add(std::to_string(part.runs));
    line.add(totals.counts.macs).add(totals.counts.flops).add(totals.counts.bytes).add(totals.counts.params);
    line.add(totals.counts.param_bytes).add(totals.activation_peak_bytes);
    line.add(roofline ? std::optional(roofline->totals.seconds) : std::nullopt);
    line.add(roofline && roofline->predicted ? std::optional(roofline->predicted->seconds) : std::nullopt);
    text += std::move(line).end();
  }
  return text;
}

}  // namespace

std::string pipeline_report(Format format, const Pipeline& pipeline, const ReportOptions& options) {
  if (format == Format::Json) return json_text(pipeline);
  if (format == Format::Csv) return csv_text(pipeline);
  const base::Grid grid = parts_grid(pipeline);
  if (format == Format::Markdown)
    return "# " + heading(pipeline) + "\n\n" + report::markdown_table(grid) + "\n```\n" + answer(pipeline) + "```\n";
  return heading(pipeline) + "\n\n" + base::aligned(grid, options.width) + "\n" + answer(pipeline) +
         (has_flops(pipeline) ? "MACs, FLOPs" : "MACs") +
         ", bytes and times are of all runs; SI units: 1 kB is 1000 B, 1 M is 10^6\n";
}

}  // namespace pagoda::present
