#include "arguments.h"

#include <cstdlib>
#include <map>

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/terminal.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/custom_operators.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/estimate/measured_runs.h"
#include "pagoda/measured/import.h"
#include "pagoda/present/spell.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

Budget memory_of(const DeviceSpec& device) {
  const std::optional<Int> bytes = device.memory_bytes();
  if (!bytes)
    throw Error(cat("--max-memory device: the memory of ", device.id, " is not known; give an amount, such as 8GiB"));
  return {.kind = BudgetKind::Memory, .limit = *bytes, .text = cat("the memory of ", device.id)};
}

std::size_t terminal_width() {
  if (!base::is_output_terminal()) return 0;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr)
    if (const auto width = base::parse_number<std::size_t>(columns); width.value_or(0) > 0) return *width;
  return base::output_columns();
}

}  // namespace

estimate::EstimateRequest request_of(const Arguments& arguments) {
  estimate::EstimateRequest request{.sizes = sizes_of(arguments)};
  request.custom_operators = documents::load_custom_operators(arguments.custom_ops);
  if (!arguments.phase.empty())
    request.phase = {.phase = *phase(arguments.phase), .tokens = arguments.tokens, .past = arguments.past.value_or(0)};
  if (arguments.speculate && arguments.acceptance && request.phase) {
    request.phase->tokens = *arguments.speculate + 1;
    request.speculation = estimate::Speculation{*arguments.speculate, *arguments.acceptance};
  }
  request.count = *convention(arguments.count);
  if (!arguments.traffic.empty()) request.traffic = traffic_model(arguments.traffic);
  std::vector<DeviceSpec> devices;
  for (const std::string& name : device_names(arguments)) devices.push_back(documents::find_device(name));
  std::vector<ParallelOptions> groups = splits(arguments);
  if (devices.size() > 1 || groups.size() > 1 || arguments.prompt)
    request.other_devices = std::move(devices);
  else if (!devices.empty())
    request.device = std::move(devices.front());
  for (const std::string& text : split_list(arguments.what_if)) request.other_precisions.push_back(*precision(text));
  request.price_per_hour = prices(arguments);
  if (!arguments.precision.empty()) request.precision = precision(arguments.precision);
  if (!arguments.measured.empty())
    estimate::set_measured(measured::load_profile(arguments.measured, {.runs = arguments.runs}), request);
  if (arguments.predict) estimate::set_prediction(arguments.engine, arguments.calibration, request);
  if (arguments.memory || !arguments.timeline.empty() || format_of(arguments) == "html")
    request.memory = {.in_place = arguments.in_place};
  if (arguments.training)
    request.training = {.optimizer = *optimizer(arguments.optimizer),
                        .frozen = arguments.frozen,
                        .recompute = *recompute(arguments.recompute)};
  if (groups.size() > 1)
    request.other_parallel = std::move(groups);
  else if (groups.front().devices() > 1)
    request.parallel = groups.front();
  estimate::set_providers(arguments.provider, arguments.placement_form, request);
  if (!arguments.host_device.empty()) estimate::set_host_device(arguments.host_device, request);
  request.unfused = arguments.unfused;
  request.prompt = arguments.prompt.value_or(0);
  request.link = link_of(arguments.link);
  if (!arguments.decode_device.empty()) request.decode_device = documents::find_device(arguments.decode_device);
  request.sweep = sweep_axes(arguments);
  request.budgets = budgets(arguments);
  if (arguments.max_memory == kOfDevice) request.budgets.push_back(memory_of(*request.device));
  // Advice needs an analysis per precision: only make it for outputs that show it.
  const std::string format = format_of(arguments);
  const present::ReportOptions report = report_options(arguments);
  request.advice = request.device && arguments.sweeps.empty() && arguments.compare.empty() &&
                   arguments.profile_structure.empty() && arguments.then.empty() && arguments.others.empty() &&
                   !is_choice(arguments) && !is_for_viewer(format) && (format == "json" || !report.has_rows());
  request.by_type = arguments.by == "type";
  request.formulas = arguments.symbolic;
  request.row_formulas = report.row_formulas;
  request.tool = kTool;
  request.spell = present::command_line;
  const estimate::Refinements given{.in_place = arguments.in_place,
                                    .optimizer = arguments.optimizer != "sgd",
                                    .recompute = arguments.recompute != "none",
                                    .frozen = !arguments.frozen.empty(),
                                    .past = arguments.past.has_value(),
                                    .tokens = arguments.tokens.has_value(),
                                    .speculate = arguments.speculate.has_value(),
                                    .acceptance = arguments.acceptance.has_value(),
                                    .engine = !arguments.engine.empty(),
                                    .calibration = !arguments.calibration.empty()};
  if (const std::string problem = estimate::refusal(request, given); !problem.empty()) throw UsageError(problem);
  if (is_chart(format) && !request.device) throw UsageError("a chart needs --device, whose roofs it draws");
  if (arguments.by == "group" && estimate::traffic_model_of(request) == TrafficModel::Unfused)
    throw UsageError("--by group needs --traffic fused or resident");
  return request;
}

bool is_of_engines(const Arguments& arguments) { return arguments.engine.find(',') != std::string::npos; }

std::vector<estimate::EngineChoice> engine_choices(const Arguments& arguments) {
  std::map<std::string, std::string> calibrations;  // by engine
  for (const std::string& name : split_list(arguments.calibration)) {
    const std::string engine = estimate::calibrated_engine(name);
    if (!calibrations.emplace(engine, name).second)
      throw UsageError("--calibration " + name + ": is a second calibration of " + engine + "; give one");
  }
  std::vector<std::string> precisions = split_list(arguments.what_if);
  if (precisions.empty()) precisions.emplace_back();
  std::vector<estimate::EngineChoice> choices;
  bool uses_device = false, uses_host = false;
  for (const std::string& engine : split_list(arguments.engine)) {
    Arguments own = arguments;
    own.engine = engine;
    own.calibration = calibrations[engine];
    own.host_device.clear();
    own.provider = engine == "onnxruntime-cuda" ? "cuda" : "";  // which nodes leave it
    std::string problem;
    std::vector<std::string> devices =
        engine.ends_with("-cpu") ? std::vector{arguments.host_device} : split_list(arguments.device);
    if (devices.empty()) devices.emplace_back();
    if (estimate::brings_device(engine, own.calibration)) {
      if (own.calibration.empty())
        problem =
            "it has no calibration; pagoda-calibrate --here " + engine + " -o FILE measures one, for --calibration";
      else
        devices = {""};
    } else if (devices.front().empty()) {
      problem = "it needs --device";
    }
    (engine.ends_with("-cpu") ? uses_host : uses_device) |= !devices.front().empty();
    calibrations.erase(engine);
    for (const std::string& device : devices)
      for (const std::string& precision : precisions) {
        choices.push_back({engine, estimate::EstimateRequest(), problem, precision});
        estimate::EngineChoice& choice = choices.back();
        own.device = device;
        own.what_if = precision;
        own.predict = problem.empty();
        if (!own.predict) own.engine = own.calibration = own.what_if = "";
        try {
          choice.request = request_of(own);
        } catch (const UsageError& error) {
          if (precision.empty()) throw;
          choice.problem = error.what();
        }
        choice.request.advice = false;
      }
  }
  for (const auto& [name, is_idle] : {std::pair("--device", !arguments.device.empty() && !uses_device),
                                      std::pair("--host-device", !arguments.host_device.empty() && !uses_host)})
    if (is_idle) throw UsageError(std::string(name) + ": each engine predicts the machine of its --calibration");
  if (!calibrations.empty())
    throw UsageError("--calibration " + calibrations.begin()->second + ": is of " + calibrations.begin()->first +
                     ", which is not one of --engine");
  return choices;
}

present::ReportOptions report_options(const Arguments& arguments) {
  using present::Rows;
  const bool is_fused = !arguments.traffic.empty() && arguments.traffic != "unfused";
  const bool has_rows = !arguments.by.empty() || arguments.top > 0 || format_of(arguments) == "csv";
  return {.rows = !has_rows                                                       ? Rows::None
                  : arguments.by == "type"                                        ? Rows::Type
                  : arguments.by == "group" || (arguments.by.empty() && is_fused) ? Rows::Group
                                                                                  : Rows::Node,
          .top = static_cast<std::size_t>(arguments.top),
          .formulas = arguments.symbolic,
          .row_formulas = arguments.symbolic && (!arguments.by.empty() || format_of(arguments) == "csv"),
          .width = writes_to_terminal(arguments) ? terminal_width() : 0};
}

// A phase selects one branch of a merged decoder.
Model load(const Arguments& arguments, const std::string& path, estimate::EstimateRequest& request) {
  Model model = load_model(path);
  for (const auto& [input, value] : input_values(arguments))
    if (!value.may_be_size || has_scalar(model, input)) {
      set_scalar(model, input, value.value);
      request.sizes.input_shapes.erase(input);
    }
  if (!arguments.phase.empty())
    set_phase_flag(model, {.phase = *phase(arguments.phase), .past = arguments.past.value_or(0)});
  return model;
}

}  // namespace pagoda::tools
