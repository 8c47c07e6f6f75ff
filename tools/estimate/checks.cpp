// Rejects options that a report, its format or its outputs cannot combine, by name and with a remedy. For every caller,
// estimate::refusal() rejects fields that a request cannot combine. No option is silently ignored.
#include <algorithm>
#include <initializer_list>

#include "arguments.h"
#include "pagoda/base/cat.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/present/plot.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

template <auto Member>
bool has(const Arguments& arguments) {
  const auto& value = arguments.*Member;
  if constexpr (requires { value.empty(); })
    return !value.empty();
  else
    return bool{value != 0};
}
bool has_traffic(const Arguments& arguments) { return !arguments.traffic.empty(); }
bool has_axes(const Arguments& arguments) { return !sweep_axes(arguments).empty(); }
bool has_several_devices(const Arguments& arguments) { return device_names(arguments).size() > 1; }
bool is_drawn(const Arguments& arguments) { return is_chart(format_of(arguments)); }
bool is_csv(const Arguments& arguments) { return format_of(arguments) == "csv"; }

// Whether an input has a value that is no shape.
bool has_values(const Arguments& arguments) {
  const auto values = input_values(arguments);
  return std::ranges::any_of(values, [](const auto& each) { return !each.second.may_be_size; });
}

// A request that others cannot be combined with, as messages name it.
struct Request {
  std::string_view name;
  bool (*is_made)(const Arguments& arguments);
};
// clang-format off
constexpr Request kRequests[] = {
    {"--annotate",                                           has<&Arguments::annotate>},
    {"--assume",                                             has<&Arguments::assumed>},
    {"--by",                                                 has<&Arguments::by>},
    {"--by type",                                            [](const Arguments& a) { return a.by == "type"; }},
    {"--compare",                                            has<&Arguments::compare>},
    {"--count",                                              [](const Arguments& a) { return a.count != "flops"; }},
    {"--device",                                             has<&Arguments::device>},
    {"--format",                                             has<&Arguments::format>},
    {"--format json",                                        [](const Arguments& a) { return format_of(a) == "json"; }},
    {"--format csv; take json",                              is_csv},
    {"--input NAME=true",                                    has_values},
    {"--max-memory device",                                  [](const Arguments& a) { return a.max_memory == kOfDevice; }},
    {"--max-…",                                              [](const Arguments& a) { return !budgets(a).empty() || !a.max_memory.empty(); }},
    {"--measured",                                           has<&Arguments::measured>},
    {"--memory",                                             has<&Arguments::memory>},
    {"--memory-timeline",                                    has<&Arguments::timeline>},
    {"--phase",                                              has<&Arguments::phase>},
    {"--precision",                                          has<&Arguments::precision>},
    {"--predict",                                            has<&Arguments::predict>},
    {"--profile-structure",                                  has<&Arguments::profile_structure>},
    {"--provider",                                           has<&Arguments::provider>},
    {"--sweep",                                              has<&Arguments::sweeps>},
    {"--symbolic",                                           has<&Arguments::symbolic>},
    {"--tensor-parallel and its like",                       has_groups},
    {"--then",                                               has<&Arguments::then>},
    {"--top",                                                has<&Arguments::top>},
    {"--traffic",                                            has_traffic},
    {"--traffic with --by type",                             [](const Arguments& a) { return has_traffic(a) && a.traffic != "unfused" && a.by == "type"; }},
    {"--training",                                           has<&Arguments::training>},
    {"--training --by type",                                 [](const Arguments& a) { return a.training && a.by == "type"; }},
    {"--what-if",                                            has<&Arguments::what_if>},
    {"--unfused",                                            [](const Arguments& a) { return a.unfused; }},
    {"a chart",                                              is_drawn},
    {"a format but table, json, csv and markdown",           [](const Arguments& a) { return is_drawn(a) || is_for_viewer(format_of(a)); }},
    {"several devices",                                      has_several_devices},
    {"several devices, several numbers of them or --prompt", is_choice},
};
// clang-format on

// Rejects the first of these requests that is made. `subject`: what it cannot be combined with.
void refuse(const Arguments& arguments, std::string_view subject, std::initializer_list<std::string_view> names,
            std::string_view remedy = {}) {
  for (const std::string_view name : names)
    if (std::ranges::find(kRequests, name, &Request::name)->is_made(arguments))
      throw UsageError(cat(subject, " does not go with ", name, remedy));
}

// Several devices: only a report of one step is possible.
void check_groups(const Arguments& arguments) {
  if (!has_groups(arguments)) return;
  refuse(arguments,
         arguments.tensor_parallel != "1"     ? "--tensor-parallel"
         : arguments.pipeline_parallel != "1" ? "--pipeline-parallel"
                                              : "--expert-parallel",
         {"--compare", "--profile-structure"});
}

// A table with one row per device, number of devices or precision cannot show anything else.
void check_alternatives(const Arguments& arguments) {
  if (!is_choice(arguments)) return;
  const bool is_what_if = !arguments.what_if.empty();
  const std::string subject = has_several_devices(arguments) ? "--device with several"
                              : is_what_if                   ? "--what-if"
                              : arguments.prompt             ? "--prompt"
                                                             : "several numbers of devices";
  refuse(arguments, subject,
         {"--compare", "--profile-structure", "--by", "--top", "--symbolic", "--memory", "--measured", "--provider", "--unfused"});
  if (has_several_devices(arguments) || splits(arguments).size() > 1 || arguments.prompt)
    refuse(arguments, subject, {"--max-memory device"});
  if (is_what_if) refuse(arguments, subject, {"--precision"});
  refuse(arguments, subject, {"a chart"});
}

// Rejects options that a study would ignore.
void check_studies(const Arguments& arguments) {
  if (has_axes(arguments) && !is_drawn(arguments) && format_of(arguments) != "json")
    refuse(arguments, "--sweep", {"--by", "--top", "--symbolic", "--memory", "--provider", "--unfused"},
           "; its rows are sizes: ask for one size instead");
  if (is_csv(arguments) && !has_axes(arguments) && arguments.compare.empty() && arguments.then.empty() &&
      arguments.others.empty())
    refuse(arguments, "--format csv", {"--memory", "--training --by type", "--traffic with --by type"},
           "; its rows are nodes, kernels or types: take json");
  if (!arguments.compare.empty())
    refuse(arguments, "--compare", {"--by", "--symbolic", "--memory", "--memory-timeline", "--provider", "--unfused"},
           "; its rows are pairs: ask for one model instead");
  if (!arguments.profile_structure.empty())
    refuse(arguments, "--profile-structure",
           {"--predict", "--by", "--top", "--symbolic", "--memory", "--device", "--traffic", "--count", "--format",
            "--provider", "--unfused"},
           "; its row is of features: ask for them apart");
}

#ifdef _WIN32
constexpr std::string_view kLoop = "; loop over them: for %f in (*.onnx) do onnx-estimate \"%f\" …";
#else
constexpr std::string_view kLoop = "; loop over them: for f in *.onnx; do onnx-estimate \"$f\" …; done";
#endif

// The models of a pipeline or a table share sizes and a device; reports on a single model need separate runs.
void check_pipeline(const Arguments& arguments) {
  const bool are_apart = !arguments.others.empty();
  if (are_apart) refuse(arguments, "a table of several models", {"--then", "--format json"}, kLoop);
  if (are_apart || !arguments.then.empty())
    refuse(arguments, are_apart ? "a table of several models" : "--then reports several models; it",
           {"--sweep",
            "--compare",
            "--profile-structure",
            "--training",
            "--phase",
            "--what-if",
            "several devices",
            "--tensor-parallel and its like",
            "--assume",
            "--input NAME=true",
            "--by",
            "--top",
            "--symbolic",
            "--memory",
            "--memory-timeline",
            "--measured",
            "--annotate",
            "--provider",
            "--unfused",
            "--max-…",
            "a format but table, json, csv and markdown"},
           are_apart ? kLoop : "");
}

// A row for each engine, machine and model.
void check_engines(const Arguments& arguments) {
  const std::string subject = "--engine with several";
  if (!arguments.predict) throw UsageError("--engine needs --predict");
  refuse(arguments, subject,
         {"--then", "--sweep", "--compare", "--profile-structure", "--training", "--phase", "--precision",
          "--tensor-parallel and its like", "--by", "--top", "--symbolic", "--memory", "--memory-timeline",
          "--measured", "--annotate", "--provider", "--max-…", "a format but table, json, csv and markdown"});
  if (!arguments.others.empty()) refuse(arguments, "a table of several models", {"--assume", "--input NAME=true"});
}

// Viewers show the nodes of one run.
void check_viewers(const Arguments& arguments) {
  const std::string format = format_of(arguments);
  const bool is_viewer = is_for_viewer(format);
  if (!arguments.metric.empty() && !is_viewer) throw UsageError("--metric needs --format netron or model-explorer");
  if (arguments.annotate.empty() && !is_viewer) return;
  const std::string subject = cat(is_viewer ? "--format " + format : "--annotate", " shows the nodes of one run; it");
  if (has_axes(arguments)) refuse(arguments, subject, {"--sweep"});
  refuse(arguments, subject,
         {"--compare", "--profile-structure", "--training", "--what-if",
          "several devices, several numbers of them or --prompt", "--by type"});
  if (is_viewer) refuse(arguments, subject, {"--by", "--top", "--symbolic", "--memory"});
}

}  // namespace

void check(const Arguments& arguments) {
  if (arguments.model.empty()) throw UsageError("MODEL is missing");
  sizes_of(arguments), input_values(arguments), sweep_axes(arguments), budgets(arguments), most_off_provider(arguments);
  if (is_of_engines(arguments)) return check_engines(arguments);
  const auto needs = [&](bool is_given, const std::string& option, const std::string& other, bool has_other) {
    if (is_given && !has_other) throw UsageError(option + " needs " + other);
  };
  const bool brings_device = arguments.predict && estimate::brings_device(arguments.engine, arguments.calibration);
  const bool has_device = !arguments.device.empty() || brings_device;
  const bool has_provider = !arguments.provider.empty();
  needs(arguments.runs.has_value(), "--runs", "--measured", !arguments.measured.empty());
  needs(!arguments.max_off_provider.empty(), "--max-off-provider", "--provider", has_provider);
  needs(arguments.placement_form != "default", "--placement-form", "--provider", has_provider);
  needs(arguments.max_memory == kOfDevice, "--max-memory device", "--device", has_device);
  for (const std::string& name : split_list(arguments.what_if))
    if (!precision(name)) throw UsageError("--what-if " + name + ": expected one of " + precision_names());
  check_alternatives(arguments);
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
    refuse(arguments, "--decode-device", {"--compare", "--profile-structure"});
    if (format_of(arguments) != "json")
      refuse(arguments, "--decode-device", {"--by", "--top", "a chart", "--format csv; take json"});
  }
  if (arguments.training && (!arguments.compare.empty() || !arguments.profile_structure.empty()))
    throw UsageError("--training does not go with --compare or --profile-structure");
  present::PlotOptions picture;
  set_picture(arguments.picture, format_of(arguments), picture);
  if (is_drawn(arguments)) {
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
