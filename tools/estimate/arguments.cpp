#include "arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "pagoda/base/open_file.h"
#include "pagoda/base/text.h"
#include "pagoda/base/what_file.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/train.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/present/viewers.h"
#include "tool.h"
#include "units.h"

namespace pagoda::tools {
namespace {

// An option whose value has the form `type`; an option of several values is repeated for each.
template <typename T>
CLI::Option* add(CLI::App& app, const char* name, T& value, const std::string& type, const std::string& what) {
  CLI::Option* const option = app.add_option(name, value, what)->type_name(type);
  if constexpr (std::is_same_v<T, std::vector<std::string>>) option->allow_extra_args(false);
  return option;
}

// Restricts an option to values that the usage text names already.
CLI::Validator one_of(std::vector<std::string> values) { return CLI::IsMember(std::move(values)).description(""); }
CLI::Validator at_least(std::int64_t least) { return CLI::Range(least, std::int64_t{1} << 62).description(""); }

// Restricts an option to lists of values that the usage text names already.
CLI::Validator some_of(std::vector<std::string> values) {
  return {[one = CLI::IsMember(std::move(values))](std::string& text) {
            for (std::string name : split_list(text))
              if (std::string problem = one(name); !problem.empty()) return problem;
            return std::string();
          },
          ""};
}

// Refuses a list, which --sweep takes.
CLI::Validator one_size(const std::string& dim) {
  return {[dim](const std::string& text) {
            const bool is_list = text.find(',') != std::string::npos || text.find("..") != std::string::npos;
            return is_list ? text + " is a list; --sweep " + dim + "=" + text + " is a row per size" : std::string();
          },
          ""};
}

// An option whose values are the library's names, which are its type unless told otherwise.
void add_choice(CLI::App& app, const char* name, std::string& value, const std::vector<std::string_view>& names,
                const char* what, const std::string& type = {}) {
  add(app, name, value, type.empty() ? base::joined(names, "|") : type, what)
      ->check(one_of({names.begin(), names.end()}));
}

void add_sizes(CLI::App& app, Arguments& arguments) {
  add(app, "--batch", arguments.batch, "N", "Size of the batch dim of all inputs, also where the file fixes it")
      ->check(one_size("batch"))
      ->check(at_least(1));
  add(app, "--dim", arguments.dims, "NAME=V", "Size of a named dim; repeatable");
  add(app, "--assume", arguments.assumed, "NAME=V",
      "Size that the data decide, such as the boxes that a detector keeps; repeatable");
  add(app, "--input", arguments.inputs, "NAME=AxBxC|true|false",
      "Whole shape of an input, or the value of a boolean one; repeatable");
}

void add_language_models(CLI::App& app, Arguments& arguments) {
  add_choice(app, "--phase", arguments.phase, phase_names(),
             "Sizes of a language model with a cache: a prompt of --tokens, or one token after --past");
  add(app, "--past", arguments.past, "N", "With --phase: tokens in the cache (default 0)")->check(at_least(0));
  add(app, "--tokens", arguments.tokens, "N", "With --phase: new tokens a sequence (decode: 1)")->check(at_least(1));
  add(app, "--prompt", arguments.prompt, "N",
      "With --phase decode: a row for each device and number of devices, with the time of a prompt of N tokens "
      "beside that of a step")
      ->check(at_least(1));
  add(app, "--speculate", arguments.speculate, "K",
      "With --phase decode: a step checks K tokens of a draft and adds one; needs --acceptance")
      ->check(at_least(1));
  add(app, "--acceptance", arguments.acceptance, "A", "The chance that a token of the draft is accepted, 0 to 1")
      ->transform(in(base::Measure::Share).description(""))
      ->check(CLI::Range(0.0, 1.0).description(""));
  add(app, "--decode-device", arguments.decode_device, "ID",
      "With --phase prefill: the cache goes to as many of these devices, which decode");
}

void add_outputs(CLI::App& app, Arguments& arguments) {
  add(app, "--format", arguments.format, "FORMAT",
      "table, json, csv, markdown, or with --device html, svg, png, pdf (a roofline); netron, model-explorer: for "
      "these viewers to show beside the nodes; default: what FILE ends in, else table")
      ->check(one_of({"table", "json", "csv", "markdown", "html", "svg", "png", "pdf", "netron", "model-explorer"}));
  add(app, "--metric", arguments.metric, "seconds|flops|bytes|...",
      "With --format model-explorer: what it shows (default: seconds with --device, else flops); with "
      "--format netron: that alone")
      ->check(one_of(present::metric_names()));
  add(app, "--annotate", arguments.annotate, "OUT.onnx",
      "Write the model to OUT.onnx with costs, bounds, predicted and measured times in each node's metadata");
  add(app, "-o,--output", arguments.output, "FILE", "Write to FILE, whole or not at all");
  add_choice(app, "--by", arguments.by, {"node", "type", "group"},
             "A row per node, per type of operator, or per kernel of fused traffic (default with --traffic)");
  add(app, "--top", arguments.top, "K", "Only the K rows with the most time, or without --device FLOPs")
      ->check(at_least(1));
  add_picture_options(app, arguments.picture);
  app.add_flag("--symbolic", arguments.symbolic, "Formulas of the totals; with --by also of the rows");
}

void add_memory(CLI::App& app, Arguments& arguments) {
  app.add_flag("--memory", arguments.memory, "The memory plan: peak and what makes it, arena, weights, cache");
  app.add_flag("--in-place", arguments.in_place,
               "With --memory: element-wise operators overwrite an operand that nothing reads later");
  add(app, "--memory-timeline", arguments.timeline, "FILE", "Write bytes alive at each step to FILE.svg or FILE.csv");
}

void add_counting(CLI::App& app, Arguments& arguments) {
  add_choice(app, "--count", arguments.count, convention_names(),
             "What FLOPs are. flops (default): 2*MACs + arith + special; macs: MACs; contraction: 2*MACs; "
             "hardware: 2*MACs + arith - comparisons; pagoda: the published Pagoda rules, faults included",
             "CONVENTION");
  add_choice(app, "--traffic", arguments.traffic, traffic_model_names(),
             "unfused: every input byte is read once, every output byte written once; fused: intermediates of a kernel "
             "stay on the chip; resident: tensors stay in the device's L2 while they fit. Default: what --engine does, "
             "else fused with --device, unfused without; of --training unfused",
             "MODEL");
  add(app, "--precision", arguments.precision, "P",
      "Do the floats in this format, in work and memory alike; fp8, int8, int4: the operands of products, "
      "all else in fp16");
  add(app, "--custom-ops", arguments.custom_ops, "FILE",
      "Shapes and work of operators without a rule, as formulas (pagoda.custom-operators/1); repeatable");
}

void add_device(CLI::App& app, Arguments& arguments) {
  add(app, "--device", arguments.device, "NAME|FILE[,…]",
      "Time and memory on a device: an id of --list-devices, ID:MODE, or a device or ceilings file; several, "
      "with commas, are a table of one row each");
  add(app, "--what-if", arguments.what_if, "P[,P]...",
      "With --device: rows for these precisions, with and without fusion: fp32,tf32,fp16,int8; with "
      "--predict the engine's time of each, also of a float model that is not quantised yet");
  add(app, "--price-per-hour", arguments.prices, "DEVICE=X[,…]",
      "Of devices, for the price of a million items or tokens; repeatable")
      ->delimiter(',');
}

void add_prediction(CLI::App& app, Arguments& arguments) {
  app.add_flag("--predict", arguments.predict, "With --device: the time that --engine will take, with an interval");
  add(app, "--engine", arguments.engine, "ID[,ID]...",
      "With --predict: one of --list-engines (default pytorch-amp: eager PyTorch in mixed precision); several are a "
      "table whose first line says which is fastest, on --device or the CPU of --host-device")
      ->check(some_of(estimate::engine_ids()));
  add(app, "--calibration", arguments.calibration, "NAME|FILE[,...]",
      "With --predict: what the prediction is fitted to, an id of --list-engines or a file; with several engines one "
      "for each");
  add(app, "--measured", arguments.measured, "FILE",
      "Runs of the model (pagoda.measured/1, or a profile that pagoda-import reads), beside the bound in the "
      "precision that they ran in; with --sweep beside each size. Brings the --device that it names");
  add(app, "--runs", arguments.runs, "N", "With --measured: runs of the model in a profile that does not mark them")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
}

void add_devices(CLI::App& app, Arguments& arguments) {
  constexpr const char* kCounts = "N[,N]...";
  add(app, "--tensor-parallel", arguments.tensor_parallel, kCounts,
      "With --device: products split over N devices by columns and rows, attention by heads; several N are a table of "
      "one row each, for each device");
  add(app, "--pipeline-parallel", arguments.pipeline_parallel, kCounts, "... layers split into N stages");
  add(app, "--expert-parallel", arguments.expert_parallel, kCounts,
      "... experts of mixtures split over N groups, each with its part of the batch");
  add(app, "--link", arguments.link, "NAME|BYTES_PER_SECOND",
      "Between devices: a link of the device's file (default: its fastest), or its rate in one direction");
}

void add_training(CLI::App& app, Arguments& arguments) {
  app.add_flag("--training", arguments.training,
               "A training step: backward work per node, what is saved for it, the optimizer, memory");
  add_choice(app, "--optimizer", arguments.optimizer, optimizer_names(), "With --training (default sgd)");
  add_choice(app, "--recompute", arguments.recompute, recompute_names(),
             "With --training: keep everything (none, default), what contractions write (pointwise), or the ends of "
             "sqrt(n) segments (sqrt)");
  add(app, "--frozen", arguments.frozen, "PREFIX", "With --training: parameters whose names begin so stay; repeatable");
}

void add_studies(CLI::App& app, Arguments& arguments) {
  add(app, "--sweep", arguments.sweeps, "NAME=LIST",
      "A row per size, from the formulas: batch=1,2,4..1024; repeatable. mode=maxn,30w: a row per power mode of "
      "--device");
  add(app, "--compare", arguments.compare, "OTHER",
      "What changed from OTHER (before) to MODEL (after), block by block");
  add(app, "--then", arguments.then, "OTHER[:RUNS]",
      "A model that runs after MODEL for the same result, and how often: totals of all, time a result, "
      "memory; repeatable, MODEL takes :RUNS as well");
  add_choice(app, "--profile-structure", arguments.profile_structure, {"json", "csv"},
             "The structure of the model as one row of features");
}

void add_placement(CLI::App& app, Arguments& arguments) {
  add(app, "--provider", arguments.provider, "ID|FILE[,...]",
      "Which nodes an execution provider of ONNX Runtime leaves to the CPU, why, in how many parts, and what is "
      "copied: " +
          base::joined(estimate::provider_ids()) + "; several are compared, --by node lists the nodes of the first");
  add_choice(
      app, "--placement-form", arguments.placement_form, {"default", "plain"},
      "default: the graph after the runtime's first level of optimisation, as it runs; plain: the nodes of the file");
  app.add_flag("--unfused", arguments.unfused,
               "What ONNX Runtime fuses on the (first) provider, and nodes that nearly match one of its patterns: the "
               "condition that fails, what it costs, and the export that cures it");
  add(app, "--max-off-provider", arguments.max_off_provider, "2%",
      "Exit 3 if more of the nodes that run are not on the (first) provider");
  add(app, "--host-device", arguments.host_device, "ID",
      "The CPU, or a file of it: also bounds the time of the run as placed, on it and --device; with a calibration of "
      "onnxruntime-cpu, --predict predicts it");
}

void add_budgets(CLI::App& app, Arguments& arguments) {
  add(app, "--max-flops", arguments.max_flops, "10GFLOP", "Exit 3 unless FLOPs are known to stay within");
  add(app, "--max-bytes", arguments.max_bytes, "500MB", "... and bytes moved");
  add(app, "--max-params", arguments.max_params, "25M", "... and parameters");
  add(app, "--max-memory", arguments.max_memory, "8GiB",
      "... and weights with the activation peak; device: the device's");
  add(app, "--max-seconds", arguments.max_seconds, "5ms",
      "... and the time on --device: measured, else predicted, else its bound, which proves only that a limit is "
      "exceeded");
  add(app, "--min-fps", arguments.min_fps, "30", "Exit 3 if --device cannot do so many items a second, by the same times");
  add(app, "--fps", arguments.fps, "30", "The same as a question: yes, no or cannot tell; the exit code does not change");
  app.add_flag("--strict", arguments.strict,
               "Exit 3 when a node is not modelled or a prediction is missing, 5 when a measured run is impossible");
}

void add_lists(CLI::App& app, Arguments& arguments) {
  app.add_flag("--list-ops", arguments.list_ops, "List the operators that have a rule, and what each costs");
  app.add_flag("--list-engines", arguments.list_engines, "List what --predict can be of");
  app.add_flag("--list-devices", arguments.list_devices, "List the built-in devices");
  add(app, "--new-device", arguments.new_device, "NAME", "Write a device file of that name to fill in, for --device");
  app.add_flag("--new-custom-ops", arguments.new_custom_ops,
               "Write a file for --custom-ops to fill in: the operators of MODEL without a rule");
}

struct Group {
  std::string title;
  std::string example;  // uses its options; follows "onnx-estimate"
  void (*add)(CLI::App& app, Arguments& arguments);
};

const std::vector<Group>& groups() {
  static const std::vector<Group> kGroups = {
      {"Sizes", "bert.onnx --batch 8 --dim sequence=384", add_sizes},
      {"Output", "model.onnx --by type --top 10 -o types.csv", add_outputs},
      {"What is counted", "model.onnx --count macs --precision fp16", add_counting},
      {"Memory", "model.onnx --batch 32 --memory --memory-timeline memory.svg", add_memory},
      {"Time on a device", "model.onnx --batch 32 --device h200 --what-if fp32,tf32,fp16,int8", add_device},
      {"Prediction and measurement", "model.onnx --device l4 --predict --engine tensorrt", add_prediction},
      {"Language models", "decoder.onnx --batch 8 --phase decode --past 4096 --device h200", add_language_models},
      {"Several devices at once", "decoder.onnx --phase decode --past 4096 --device h200 --tensor-parallel 8",
       add_devices},
      {"Training", "model.onnx --batch 32 --training --optimizer adamw", add_training},
      {"Many sizes, several models", "model.onnx --sweep batch=1,2,4..1024 --device h200", add_studies},
      {"Placement", "model.onnx --provider cuda --max-off-provider 2%", add_placement},
      {"Budgets", "model.onnx --strict --max-flops 10GFLOP", add_budgets},
      {"Lists", "--list-devices", add_lists},
  };
  return kGroups;
}

// Prints the example of a group under its title.
class Formatter : public CLI::Formatter {
 public:
  std::string make_group(std::string title, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    const auto group = std::ranges::find_if(groups(), [&](const Group& g) { return g.title == title; });
    std::string text = CLI::Formatter::make_group(std::move(title), is_positional, std::move(options));
    if (group == groups().end()) return text;
    text.insert(text.find(':') + 1, "  onnx-estimate " + group->example);
    return text.substr(1);  // leaves one empty line between groups
  }
};

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("MODEL", arguments.model, "ONNX file; its weights are not read. Several are a table with a line for each")
      ->type_name("");
  for (const Group& group : groups()) {
    app.option_defaults()->group(group.title);
    group.add(app, arguments);
  }
  app.allow_extras();  // other_models() takes them
  app.set_version_flag("--version", kTool);
  app.formatter(std::make_shared<Formatter>());
  app.get_formatter()->column_width(28);
  app.footer(
      "Counts are exact. A node without a rule is reported and makes totals lower bounds; it never counts as 0.\n"
      "Times are lower bounds: no kernel that does this work and moves these bytes is faster.\n"
      "Exit codes: 0 done, 1 unusable input, 2 usage, 3 partial (--strict) or over budget (--max-*), 4 no such "
      "device, 5 an impossible measurement (--strict).\n");
}

// Models after the first. Behind "--", an argument that begins with '-' is one, too.
std::vector<std::string> other_models(const CLI::App& app) {
  std::vector<std::string> models;
  bool is_behind = false;
  for (const std::string& extra : app.remaining()) {
    if (!is_behind && extra == "--") {
      is_behind = true;
      continue;
    }
    if (!is_behind && extra.starts_with('-')) throw UsageError("'" + extra + "' is not an option");
    if (!base::file_state(extra))
      throw UsageError("'" + extra + "' is one argument too many: it " + base::why_not_opened(extra, ENOENT));
    models.push_back(extra);
  }
  return models;
}

void refuse_beside_lists(const CLI::App& app) {
  for (const char* list : {"--list-ops", "--list-engines", "--list-devices"})
    refuse_beside(app, list, {"--format", "--output"});
  refuse_beside(app, "--new-device", {"--output"});
  refuse_beside(app, "--new-custom-ops",
                {"MODEL", "--batch", "--dim", "--assume", "--input", "--custom-ops", "--output"});
}

}  // namespace

std::optional<Arguments> parse_arguments(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("How much work an ONNX model is, where it goes, and how fast a machine could do it.", "onnx-estimate");
  add_options(app, arguments);
  if (!parse(app, argc, argv)) return std::nullopt;
  arguments.others = other_models(app);
  refuse_beside_lists(app);
  return arguments;
}

std::string format_of(const Arguments& arguments) {
  if (!arguments.format.empty()) return arguments.format;
  const std::size_t dot = arguments.output.rfind('.');
  const std::string extension = dot == std::string::npos ? "" : arguments.output.substr(dot);
  if (extension == ".md") return "markdown";
  if (extension == ".txt" || extension == ".table") return "table";
  for (const char* format : {"json", "csv", "html", "svg", "png", "pdf"})
    if (extension == "." + std::string(format)) return format;
  const bool is_device = arguments.output.empty() || arguments.output == "-" || arguments.output.starts_with("/dev/");
  if (!is_device && !extension.empty() && extension.find('/') == std::string::npos)
    throw UsageError(
        "-o " + arguments.output + ": '" + extension +
        "' is the ending of no format; expected txt, md, json, csv, html, svg, png or pdf, or give --format");
  return "table";
}

bool is_chart(const std::string& format) {
  return format == "html" || format == "svg" || format == "png" || format == "pdf";
}

bool is_for_viewer(const std::string& format) { return format == "netron" || format == "model-explorer"; }

bool writes_to_terminal(const Arguments& arguments) { return arguments.output.empty() || arguments.output == "-"; }

}  // namespace pagoda::tools
