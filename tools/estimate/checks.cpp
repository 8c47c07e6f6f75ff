// Rejects options that a report, its format or its outputs cannot combine, by name and with a remedy. What a request
// cannot combine, estimate::refusal() says for every caller. No option is silently ignored.
#include <initializer_list>
#include <utility>

#include "pagoda/estimate/engines.h"
#include "pagoda/present/plot.h"
#include "request.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

// Several devices: only a report of one step is possible.
void check_groups(const Arguments& arguments) {
  if (!has_groups(arguments)) return;
  const char* option = arguments.tensor_parallel != "1"     ? "--tensor-parallel"
                       : arguments.pipeline_parallel != "1" ? "--pipeline-parallel"
                                                            : "--expert-parallel";
  if (!arguments.compare.empty()) throw UsageError(std::string(option) + " does not go with --compare");
  if (!arguments.profile_structure.empty())
    throw UsageError(std::string(option) + " does not go with --profile-structure");
}

// A table with one row per device, number of devices or precision cannot show anything else.
void check_alternatives(const Arguments& arguments) {
  const bool has_devices =
      device_names(arguments).size() > 1 || splits(arguments).size() > 1 || arguments.prompt.has_value();
  const std::string what = device_names(arguments).size() > 1 ? "--device with several"
                           : !arguments.what_if.empty()       ? "--what-if"
                           : arguments.prompt                 ? "--prompt"
                                                              : "several numbers of devices";
  const std::pair<bool, const char*> other[] = {
      {!arguments.compare.empty(), "--compare"},
      {!arguments.profile_structure.empty(), "--profile-structure"},
      {!arguments.by.empty(), "--by"},
      {arguments.top > 0, "--top"},
      {arguments.symbolic, "--symbolic"},
      {arguments.memory, "--memory"},
      {!arguments.measured.empty(), "--measured"},
      {has_devices && arguments.max_memory == kOfDevice, "--max-memory device"},
      {!arguments.what_if.empty() && !arguments.precision.empty(), "--precision"},
      {is_chart(format_of(arguments)), "a chart"},
  };
  for (const auto& [is_given, name] : other)
    if (is_given) throw UsageError(what + " is a table of its own; it does not go with " + name);
}

// Rejects options that a study would ignore.
void check_studies(const Arguments& arguments) {
  const auto refuse = [](const std::string& study, std::initializer_list<std::pair<bool, const char*>> others,
                         const char* remedy) {
    for (const auto& [is_given, name] : others)
      if (is_given) throw UsageError(study + " does not go with " + name + "; " + remedy);
  };
  const bool is_table = !is_chart(format_of(arguments)) && format_of(arguments) != "json";
  if (!sweep_axes(arguments).empty())
    refuse("--sweep",
           {{is_table && !arguments.by.empty(), "--by"},
            {is_table && arguments.top > 0, "--top"},
            {is_table && arguments.symbolic, "--symbolic"},
            {is_table && arguments.memory, "--memory"}},
           "its rows are sizes: ask for one size instead");
  const bool is_csv = format_of(arguments) == "csv";
  if (is_csv && sweep_axes(arguments).empty() && arguments.compare.empty() && arguments.then.empty())
    refuse("--format csv",
           {{arguments.memory, "--memory"},
            {arguments.training && arguments.by == "type", "--training --by type"},
            {arguments.traffic != "unfused" && arguments.by == "type", "--traffic with --by type"}},
           "its rows are nodes, kernels or types: take json");
  if (!arguments.compare.empty())
    refuse("--compare",
           {{!arguments.by.empty(), "--by"},
            {arguments.symbolic, "--symbolic"},
            {arguments.memory, "--memory"},
            {!arguments.timeline.empty(), "--memory-timeline"}},
           "its rows are pairs: ask for one model instead");
  if (!arguments.profile_structure.empty())
    refuse("--profile-structure",
           {{arguments.predict, "--predict"},
            {!arguments.by.empty(), "--by"},
            {arguments.top > 0, "--top"},
            {arguments.symbolic, "--symbolic"},
            {arguments.memory, "--memory"},
            {!arguments.device.empty(), "--device"},
            {arguments.traffic != "unfused", "--traffic"},
            {arguments.count != "flops", "--count"},
            {!arguments.format.empty(), "--format"}},
           "its row is of features: ask for them apart");
}

// The models of a pipeline share sizes and a device; reports on a single model need separate runs.
void check_pipeline(const Arguments& arguments) {
  if (arguments.then.empty()) return;
  const std::string format = format_of(arguments);
  const std::pair<bool, const char*> others[] = {
      {!arguments.sweeps.empty(), "--sweep"},
      {!arguments.compare.empty(), "--compare"},
      {!arguments.profile_structure.empty(), "--profile-structure"},
      {arguments.training, "--training"},
      {!arguments.phase.empty(), "--phase"},
      {!arguments.what_if.empty(), "--what-if"},
      {device_names(arguments).size() > 1, "several devices"},
      {has_groups(arguments), "--tensor-parallel and its like"},
      {!arguments.assumed.empty(), "--assume"},
      {!input_flags(arguments).empty(), "--input NAME=true"},
      {!arguments.by.empty(), "--by"},
      {arguments.top > 0, "--top"},
      {arguments.symbolic, "--symbolic"},
      {arguments.memory || !arguments.timeline.empty(), "--memory"},
      {!arguments.measured.empty(), "--measured"},
      {!arguments.annotate.empty(), "--annotate"},
      {!budgets(arguments).empty() || !arguments.max_memory.empty(), "--max-…"},
      {is_chart(format) || is_for_viewer(format), "a format but table, json, csv and markdown"},
  };
  for (const auto& [is_given, name] : others)
    if (is_given) throw UsageError(std::string("--then reports several models; it does not go with ") + name);
}

// Viewers show the nodes of one run.
void check_viewers(const Arguments& arguments) {
  const std::string format = format_of(arguments);
  if (!arguments.metric.empty() && !is_for_viewer(format))
    throw UsageError("--metric needs --format netron or model-explorer");
  if (arguments.annotate.empty() && !is_for_viewer(format)) return;
  const std::string what = is_for_viewer(format) ? "--format " + format : "--annotate";
  const std::pair<bool, const char*> others[] = {
      {!sweep_axes(arguments).empty(), "--sweep"},
      {!arguments.compare.empty(), "--compare"},
      {!arguments.profile_structure.empty(), "--profile-structure"},
      {arguments.training, "--training"},
      {!arguments.what_if.empty(), "--what-if"},
      {is_choice(arguments), "several devices, several numbers of them or --prompt"},
      {arguments.by == "type", "--by type"},
      {is_for_viewer(format) && !arguments.by.empty(), "--by"},
      {is_for_viewer(format) && arguments.top > 0, "--top"},
      {is_for_viewer(format) && arguments.symbolic, "--symbolic"},
      {is_for_viewer(format) && arguments.memory, "--memory"},
  };
  for (const auto& [is_given, name] : others)
    if (is_given) throw UsageError(what + " shows the nodes of one run; it does not go with " + name);
}

}  // namespace

void check(const Arguments& arguments) {
  if (arguments.model.empty()) throw UsageError("MODEL is missing");
  sizes_of(arguments), input_flags(arguments), sweep_axes(arguments), budgets(arguments);
  const auto needs = [&](bool is_given, const std::string& option, const std::string& other, bool has_other) {
    if (is_given && !has_other) throw UsageError(option + " needs " + other);
  };
  const bool brings_device = arguments.predict && estimate::brings_device(arguments.engine, arguments.calibration);
  const bool has_device = !arguments.device.empty() || brings_device;
  needs(arguments.max_memory == kOfDevice, "--max-memory device", "--device", has_device);
  for (const std::string& name : split_list(arguments.what_if))
    if (!precision(name)) throw UsageError("--what-if " + name + ": expected one of " + precision_names());
  if (is_choice(arguments)) check_alternatives(arguments);
  if (brings_device) {
    if (!arguments.device.empty())
      throw UsageError("--engine " + arguments.engine +
                       " predicts the machine that its --calibration was measured on; it does not go with --device");
    needs(true, "--engine " + arguments.engine,
          "--calibration FILE, which pagoda-calibrate --here " + arguments.engine + " -o FILE measures",
          !arguments.calibration.empty());
  }
  check_groups(arguments);
  if (!arguments.decode_device.empty()) {
    const bool is_table = format_of(arguments) != "json";
    const std::pair<bool, const char*> others[] = {
        {!arguments.compare.empty(), "--compare"},   {!arguments.profile_structure.empty(), "--profile-structure"},
        {is_table && !arguments.by.empty(), "--by"}, {is_table && arguments.top > 0, "--top"},
        {is_chart(format_of(arguments)), "a chart"}, {format_of(arguments) == "csv", "--format csv; take json"},
    };
    for (const auto& [is_given, name] : others)
      if (is_given) throw UsageError(std::string("--decode-device does not go with ") + name);
  }
  needs(arguments.by == "group", "--by group", "--traffic fused or resident", arguments.traffic != "unfused");
  if (arguments.training && (!arguments.compare.empty() || !arguments.profile_structure.empty()))
    throw UsageError("--training does not go with --compare or --profile-structure");
  present::PlotOptions picture;
  set_picture(arguments.picture, format_of(arguments), picture);
  if (is_chart(format_of(arguments))) {
    needs(true, "a chart", "--device, whose roofs it draws", has_device);
    if (!arguments.profile_structure.empty())
      throw UsageError("a chart shows one model; it does not go with --profile-structure");
    if (!arguments.by.empty() || arguments.top > 0 || arguments.count == "pagoda")
      throw UsageError("a chart shows every node; it does not go with --by, --top or --count pagoda");
  }
  if (!arguments.precision.empty() && !precision(arguments.precision))
    throw UsageError("--precision " + arguments.precision + ": expected one of " + precision_names());
  if (!arguments.timeline.empty() && !arguments.timeline.ends_with(".svg") && !arguments.timeline.ends_with(".csv"))
    throw UsageError("--memory-timeline " + arguments.timeline + " ends in neither .svg nor .csv");
  check_studies(arguments);
  check_pipeline(arguments);
  check_viewers(arguments);
  const int studies =
      int{!arguments.sweeps.empty()} + int{!arguments.compare.empty()} + int{!arguments.profile_structure.empty()};
  if (studies > 1) throw UsageError("--sweep, --compare and --profile-structure are different reports; give one");
}

}  // namespace pagoda::tools
