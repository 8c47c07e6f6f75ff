// --energy: fits the energy cost of work, traffic and time to measured runs, and reports it.
#include "arguments.h"

#include <filesystem>
#include <iostream>

#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/result.h"
#include "pagoda/estimate/measured_runs.h"
#include "pagoda/lab/energy_report.h"
#include "pagoda/lab/result_report.h"
#include "pagoda/measured/energy_table.h"
#include "pagoda/measured/import.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

using documents::EstimateDocument;

// The estimate of the model with this name or file name; null: none.
const EstimateDocument* named(const std::vector<EstimateDocument>& estimates, const std::string& model) {
  const std::string wanted = std::filesystem::path(model).stem().string();
  for (const EstimateDocument& estimate : estimates)
    if (estimate::short_model_name(estimate) == wanted) return &estimate;
  return nullptr;
}

void add_records(measured::EnergyTable& table, const std::string& path,
                 const std::vector<EstimateDocument>& estimates) {
  for (const documents::Result& result : documents::load_results(path).results) {
    const std::string model = documents::text_of(result.config, "model"),
                      label = documents::config_label(result.config);
    const EstimateDocument* estimate = named(estimates, model);
    if (model.empty() && estimates.size() == 1) estimate = &estimates.front();
    if (result.status != documents::ResultStatus::Ok || !result.timing || !result.energy.joules)
      table.left_out.push_back(label + ": " + (result.energy.joules ? "has no time" : "has no joules"));
    else if (estimate == nullptr)
      table.left_out.push_back(label + ": no --estimate is for " + model);
    else
      measured::add_energy_runs(table, lab::measured_of(result), estimate, label);
  }
}

struct Input {
  std::string path, text;
  bool is_records = false, is_profile = false;
  const EstimateDocument* estimate = nullptr;  // only for profiles
};

// Estimates among the files join the others: a shell's *.json names several after one --estimate.
std::vector<Input> read_inputs(const std::vector<std::string>& paths, std::vector<EstimateDocument>& estimates) {
  std::vector<Input> inputs;
  for (const std::string& path : paths) {
    Input input{.path = path, .text = {}};
    input.is_records = std::filesystem::is_directory(path) || path.ends_with(".jsonl");
    if (!input.is_records) {
      input.text = base::read_text(path, "a table or measured runs", base::Reads::Profile);
      constexpr std::size_t kEnough = 4096;  // the schema is the first member
      if (input.text.substr(0, kEnough).find("\"pagoda.estimate/") != std::string::npos) {
        estimates.push_back(documents::parse_estimate(input.text, path));
        continue;
      }
      input.is_profile = measured::recognise_profile(input.text).has_value();
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Measured files do not name their model: each gets the estimate with the file's name, else the only estimate. If no
// file has an estimate of its name, and there are as many estimates as files, they are paired in order.
void choose_estimates(std::vector<Input>& inputs, const std::vector<EstimateDocument>& estimates) {
  if (estimates.empty()) return;
  std::vector<Input*> profiles;
  bool is_any_named = false;
  for (Input& input : inputs) {
    if (!input.is_profile) continue;
    input.estimate = named(estimates, input.path);
    is_any_named = is_any_named || input.estimate != nullptr;
    profiles.push_back(&input);
  }
  const bool is_in_order = !is_any_named && profiles.size() == estimates.size();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i]->estimate != nullptr) continue;
    if (estimates.size() != 1 && !is_in_order)
      throw Error(profiles[i]->path + ": no --estimate has its name; give the estimate of " +
                  std::filesystem::path(profiles[i]->path).stem().string() +
                  ".onnx, or one estimate for each file in their order");
    profiles[i]->estimate = &estimates[estimates.size() == 1 ? 0 : i];
  }
}

measured::EnergyTable read_runs(const CalibrateArguments& arguments) {
  std::vector<EstimateDocument> estimates;
  for (const std::string& path : arguments.estimates) estimates.push_back(documents::load_estimate(path));
  std::vector<Input> inputs = read_inputs(arguments.runs, estimates);
  if (inputs.empty()) throw Error("the given files are estimates; name a table of runs, or measured runs, too");
  choose_estimates(inputs, estimates);
  measured::EnergyTable table;
  for (const Input& input : inputs) {
    if (input.is_records) {
      add_records(table, input.path, estimates);
    } else if (input.is_profile) {
      const documents::Measured measured = measured::import_profile(input.text, input.path);
      for (const std::string& note : measured.notes) std::cerr << input.path << ": " << base::printable(note) << '\n';
      measured::add_energy_runs(table, measured, input.estimate, input.path);
    } else {
      measured::EnergyTable more = measured::read_energy_csv(input.text, input.path);
      std::move(more.rows.begin(), more.rows.end(), std::back_inserter(table.rows));
      std::move(more.left_out.begin(), more.left_out.end(), std::back_inserter(table.left_out));
    }
  }
  return table;
}

}  // namespace

int calibrate_energy(const CalibrateArguments& arguments) {
  const measured::EnergyTable table = read_runs(arguments);
  const std::optional<DeviceSpec> device =
      arguments.device.empty() ? std::nullopt : std::optional(documents::find_device(arguments.device));
  std::vector<lab::EnergyStudy> studies;
  if (arguments.each.empty())
    studies.push_back({.label = "", .rows = table.rows, .fit = measured::fit_energy(table.rows)});
  else
    for (const auto& [label, rows] : measured::grouped_by(table.rows, arguments.each))
      studies.push_back({.label = label, .rows = rows, .fit = measured::fit_energy(rows)});
  write_output("", arguments.format == "csv"
                       ? lab::energy_constants_csv(studies)
                       : lab::energy_report(studies, table.left_out, device, arguments.precision));
  if (!arguments.residuals.empty()) write_output(arguments.residuals, lab::energy_runs_csv(studies));
  if (!arguments.output.empty()) {
    const std::string source = cat("fitted by pagoda-calibrate --energy to ", table.rows.size(), " runs",
                                   arguments.options.source.empty() ? "" : ": ", arguments.options.source);
    base::write_file(arguments.output,
                     documents::device_with_energy(arguments.device,
                                                   lab::device_energy(studies.front(), arguments.precision, source)));
  }
  return kDone;
}

}  // namespace pagoda::tools
