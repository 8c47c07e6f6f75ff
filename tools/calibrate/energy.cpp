#include "energy.h"

#include <filesystem>

#include "pagoda/base/files.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/measured_runs.h"
#include "pagoda/documents/result.h"
#include "pagoda/measured/energy_table.h"
#include "pagoda/measured/import.h"
#include "pagoda/present/energy_report.h"
#include "pagoda/present/result_report.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

using documents::EstimateDocument;

// The estimate of a model, by the name that a record has for it; the only one where there is one.
const EstimateDocument* estimate_of(const std::vector<EstimateDocument>& estimates, const std::string& model) {
  const std::string wanted = std::filesystem::path(model).stem().string();
  for (const EstimateDocument& estimate : estimates)
    if (documents::short_model_name(estimate) == wanted) return &estimate;
  return estimates.size() == 1 && model.empty() ? &estimates.front() : nullptr;
}

void add_records(measured::EnergyTable& table, const std::string& path,
                 const std::vector<EstimateDocument>& estimates) {
  for (const documents::Result& result : documents::load_results(path).results) {
    const std::string model = documents::text_of(result.config, "model"), label = documents::config_label(result.config);
    const EstimateDocument* estimate = estimate_of(estimates, model);
    if (result.status != documents::ResultStatus::Ok || !result.timing || !result.energy_joules)
      table.left_out.push_back(label + ": " + (result.energy_joules ? "has no time" : "has no joules"));
    else if (estimate == nullptr)
      table.left_out.push_back(label + ": no --estimate is of " + model);
    else
      measured::add_energy_runs(table, present::measured_of(result), estimate, label);
  }
}

measured::EnergyTable read_runs(const CalibrateArguments& arguments) {
  std::vector<EstimateDocument> estimates;
  for (const std::string& path : arguments.estimates) estimates.push_back(documents::load_estimate(path));
  measured::EnergyTable table;
  std::size_t profiles = 0;
  for (const std::string& path : arguments.runs) {
    if (std::filesystem::is_directory(path) || path.ends_with(".jsonl")) {
      add_records(table, path, estimates);
      continue;
    }
    const std::string text = base::read_file(path, "a table or measured runs");
    if (measured::recognise_profile(text)) {
      // Measured files name no model: one for each estimate, by name, else in their order.
      const EstimateDocument* estimate = estimate_of(estimates, path);
      if (estimate == nullptr && profiles < estimates.size()) estimate = &estimates[profiles];
      ++profiles;
      measured::add_energy_runs(table, measured::import_profile(text, path), estimate, path);
      continue;
    }
    measured::EnergyTable more = measured::read_energy_csv(text, path);
    std::move(more.rows.begin(), more.rows.end(), std::back_inserter(table.rows));
    std::move(more.left_out.begin(), more.left_out.end(), std::back_inserter(table.left_out));
  }
  return table;
}

}  // namespace

int calibrate_energy(const CalibrateArguments& arguments) {
  const measured::EnergyTable table = read_runs(arguments);
  const std::optional<DeviceSpec> device =
      arguments.device.empty() ? std::nullopt : std::optional(documents::find_device(arguments.device));
  std::vector<present::EnergyStudy> studies;
  if (arguments.each.empty())
    studies.push_back({.label = "", .rows = table.rows, .fit = measured::fit_energy(table.rows)});
  else
    for (auto& [label, rows] : measured::grouped_by(table.rows, arguments.each)) {
      measured::EnergyFit fit = measured::fit_energy(rows);
      studies.push_back({.label = label, .rows = std::move(rows), .fit = std::move(fit)});
    }
  if (arguments.format == "csv")
    write_output("", present::energy_constants_csv(studies));
  else
    write_output("", present::energy_report(studies, table.left_out, device, arguments.precision));
  if (!arguments.residuals.empty()) base::write_file(arguments.residuals, present::energy_runs_csv(studies));
  if (!arguments.output.empty()) {
    const std::string source = "fitted by pagoda-calibrate --energy to " + std::to_string(table.rows.size()) + " runs" +
                               (arguments.options.source.empty() ? "" : ": " + arguments.options.source);
    base::write_file(arguments.output,
                     documents::device_with_energy(
                         arguments.device, present::device_energy(studies.front(), arguments.precision, source)));
  }
  return kDone;
}

}  // namespace pagoda::tools
