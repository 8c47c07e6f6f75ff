// A sweep as a table, as Markdown, as CSV, or inside the JSON of its estimate.
#include <filesystem>

#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/core/conventions.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using documents::EstimateDocument;
using documents::EstimateSweep;
using documents::RowKind;

base::Grid sweep_grid(const EstimateDocument& estimate) {
  const std::vector<Row> points = documents::rows_of(estimate, RowKind::Point);
  base::Grid grid = rows_grid(RowKind::Point, estimate, points);
  // The swept dims come first.
  for (std::size_t dim = estimate.sweep->dims.size(); dim-- > 0;) {
    grid.columns.insert(grid.columns.begin(),
                        {.header = base::printable(estimate.sweep->dims[dim]), .is_number = true});
    for (std::size_t i = 0; i < points.size(); ++i)
      grid.rows[i].insert(grid.rows[i].begin(), base::grouped(points[i].point->sizes[dim]));
  }
  return grid;
}

// The text above the rows; footing() is the text below.
std::string heading(const EstimateDocument& estimate) {
  const std::string text = cat(report::subtitle(estimate), "\n", to_string(estimate.sweep->traffic), " traffic");
  if (!estimate.roofline) return text;
  const auto& parallel = estimate.roofline->parallel;
  return cat(text, " · ", parallel ? cat(parallel->devices.devices(), " × ") : "",
             report::device_text(*estimate.roofline));
}

std::string footing(const EstimateDocument& estimate) {
  const EstimateSweep& sweep = *estimate.sweep;
  std::string text = estimate.training
                         ? "a training step; memory: weights, gradients, optimizer states, and the peak of activations "
                           "and their gradients"
                     : estimate.roofline && estimate.roofline->parallel
                         ? "memory: weights and the activation peak of the device that needs the most; counts are of "
                           "the whole model"
                         : "memory: weights and the activation peak";
  const std::string swept = sweep.dims.size() == 1 ? base::printable(sweep.dims[0]) : "";
  for (const documents::EstimateCliff& cliff : sweep.cliffs)
    text += cat("\ncliff: at ", swept, " ", base::grouped(cliff.size), " ", base::printable(cliff.cause));
  if (sweep.has_predictions) text += "\npredicted: " + sweep.engine + ": " + sweep.calibration;
  const bool has_time = !sweep.points.empty() && sweep.points.front().time;
  if (!has_time || sweep.dims.size() != 1) return text;
  const std::string dim = base::printable(sweep.dims[0]);
  if (!sweep.ridge) {
    const bool is_memory = std::ranges::all_of(sweep.points, [](const documents::EstimatePoint& point) {
      return point.time && point.time->memory_seconds > point.time->compute_seconds;
    });
    return is_memory ? text + "\nmemory takes longer than arithmetic at every " + dim + " of the sweep" : text;
  }
  if (sweep.ridge->at_start) return text + "\narithmetic takes longer than memory from the first " + dim + " on";
  return text + "\nridge: arithmetic takes longer than memory from " + dim + " " + base::grouped(sweep.ridge->size) +
         " on";
}

// The model, the swept dims, and the columns of a point.
std::string sweep_csv(const EstimateDocument& estimate) {
  const RowKind kind = is_published(estimate.count) ? RowKind::PublishedPoint : RowKind::Point;
  const Columns columns = documents::columns_of(kind, documents::View::Csv, estimate);
  const documents::EstimateModel& file = estimate.model;
  const std::string model = file.path.empty() ? file.name : std::filesystem::path(file.path).stem().string();
  base::CsvLine header;
  header.add("model");
  for (const std::string& dim : estimate.sweep->dims) header.name(dim);
  for (const documents::ResultColumn* column : columns) header.add(column->name);
  std::string text = std::move(header).end();
  for (const Row& row : documents::rows_of(estimate, kind)) {
    base::CsvLine line;
    line.name(model);
    for (const std::int64_t size : row.point->sizes) line.add(size);
    add_cells(line, columns, row);
    text += std::move(line).end();
  }
  return text;
}

}  // namespace

std::string sweep_report(Format format, const EstimateDocument& estimate, const ReportOptions& options) {
  if (format == Format::Json) return documents::write_estimate(estimate, options.top);
  if (format == Format::Csv) return sweep_csv(estimate);
  const base::Grid grid = sweep_grid(estimate);
  if (format == Format::Markdown)
    return cat("# ", report::code(report::title(estimate)), "\n\n", heading(estimate), "\n\n",
               estimate.roofline ? cat(report::code(headline(estimate)), "\n\n") : "", report::markdown_table(grid),
               "\n", footing(estimate), "\n");
  return cat(report::title(estimate), "\n", heading(estimate), "\n\n", report::headline_text(estimate, options.width),
             base::aligned(grid, options.width), "\n", footing(estimate), "\n", report::kSiUnits);
}

}  // namespace pagoda::present
