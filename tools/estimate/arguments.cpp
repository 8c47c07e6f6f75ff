#include "arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "pagoda/base/text.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/train.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/present/viewers.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

// Restricts an option to these values, without a description: the usage text already lists them.
CLI::Validator one_of(std::vector<std::string> values) {
  CLI::Validator validator = CLI::IsMember(std::move(values));
  return validator.description("");
}

// An option whose values are the library's names; the usage text lists them.
CLI::Option* add_choice(CLI::App& app, const char* name, std::string& value, const char* what,
                        const std::vector<std::string_view>& names) {
  return app.add_option(name, value, what)
      ->check(one_of({names.begin(), names.end()}))
      ->type_name(base::joined(names, "|"));
}

CLI::Validator at_least(std::int64_t least) {
  CLI::Validator validator = CLI::Range(least, std::int64_t{1} << 62);
  return validator.description("");
}

void add_sizes(CLI::App& app, Arguments& arguments) {
  app.add_option("--batch", arguments.batch, "Size of the batch dim of all inputs, also where the file fixes it")
      ->check(at_least(1))
      ->type_name("N");
  app.add_option("--dim", arguments.dims, "Size of a named dim; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=V");
  app.add_option("--assume", arguments.assumed,
                 "Size that the data decide, such as the boxes that a detector keeps; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=V");
  app.add_option("--input", arguments.inputs, "Whole shape of an input, or the value of a boolean one; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=AxBxC|true|false");
}

void add_language_models(CLI::App& app, Arguments& arguments) {
  add_choice(app, "--phase", arguments.phase,
             "Sizes of a language model with a cache: a prompt of --tokens, or one token after --past", phase_names());
  app.add_option("--past", arguments.past, "With --phase: tokens in the cache (default 0)")
      ->check(at_least(0))
      ->type_name("N");
  app.add_option("--tokens", arguments.tokens, "With --phase: new tokens a sequence (decode: 1)")
      ->check(at_least(1))
      ->type_name("N");
  app.add_option(
         "--prompt", arguments.prompt,
         "With --phase decode: a row for each device and number of devices, with the time of a prompt of N tokens "
         "beside that of a step")
      ->check(at_least(1))
      ->type_name("N");
  app.add_option("--speculate", arguments.speculate,
                 "With --phase decode: a step checks K tokens of a draft and adds one; needs --acceptance")
      ->check(at_least(1))
      ->type_name("K");
  app.add_option("--acceptance", arguments.acceptance, "The chance that a token of the draft is accepted, 0 to 1")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("A");
  app.add_option("--decode-device", arguments.decode_device,
                 "With --phase prefill: the cache goes to as many of these devices, which decode")
      ->type_name("ID");
}

void add_outputs(CLI::App& app, Arguments& arguments) {
  app.add_option(
         "--format", arguments.format,
         "table, json, csv, markdown, or with --device html, svg, png, pdf (a roofline); netron, model-explorer: for "
         "these viewers to show beside the nodes; default: what FILE ends in, else table")
      ->check(one_of({"table", "json", "csv", "markdown", "html", "svg", "png", "pdf", "netron", "model-explorer"}))
      ->type_name("FORMAT");
  app.add_option("--metric", arguments.metric,
                 "With --format model-explorer: what it shows (default: seconds with --device, else flops); with "
                 "--format netron: that alone")
      ->check(one_of(present::metric_names()))
      ->type_name("seconds|flops|bytes|...");
  app.add_option("--annotate", arguments.annotate,
                 "Write the model to OUT.onnx with costs, bounds, predicted and measured times in each node's metadata")
      ->type_name("OUT.onnx");
  app.add_option("-o,--output", arguments.output, "Write to FILE, whole or not at all")->type_name("FILE");
  app.add_option("--by", arguments.by,
                 "A row per node, per type of operator, or per kernel of --traffic (default there)")
      ->check(one_of({"node", "type", "group"}))
      ->type_name("node|type|group");
  app.add_option("--top", arguments.top, "Only the K rows with the most time, or without --device FLOPs")
      ->check(at_least(1))
      ->type_name("K");
  add_picture_options(app, arguments.picture);
  app.add_flag("--symbolic", arguments.symbolic, "Formulas of the totals; with --by also of the rows");
}

void add_memory(CLI::App& app, Arguments& arguments) {
  app.add_flag("--memory", arguments.memory, "The memory plan: peak and what makes it, arena, weights, cache");
  app.add_flag("--in-place", arguments.in_place,
               "With --memory: element-wise operators overwrite an operand that nothing reads later");
  app.add_option("--memory-timeline", arguments.timeline, "Write bytes alive at each step to FILE.svg or FILE.csv")
      ->type_name("FILE");
}

void add_counting(CLI::App& app, Arguments& arguments) {
  add_choice(app, "--count", arguments.count,
             "What FLOPs are. flops (default): 2*MACs + arith + special; macs: MACs; contraction: 2*MACs; "
             "hardware: 2*MACs + arith - comparisons; pagoda: the published Pagoda rules, faults included",
             convention_names())
      ->type_name("CONVENTION");
  add_choice(app, "--traffic", arguments.traffic,
             "unfused (default): every input byte is read once, every output byte written once; fused: "
             "intermediates of a kernel stay on the chip; resident: tensors stay in the device's L2 while they fit",
             traffic_model_names())
      ->type_name("MODEL");
  app.add_option("--precision", arguments.precision,
                 "Do the floats in this format, in work and memory alike; fp8, int8, int4: the operands of products, "
                 "all else in fp16")
      ->type_name("P");
  app.add_option("--custom-ops", arguments.custom_ops,
                 "Shapes and work of operators without a rule, as formulas (pagoda.custom-operators/1); repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE");
}

void add_device(CLI::App& app, Arguments& arguments) {
  app.add_option(
         "--device", arguments.device,
         "Time and memory on a device: an id of --list-devices, ID:MODE, or a device or ceilings file; several, "
         "with commas, are a table of one row each")
      ->type_name("NAME|FILE[,…]");
  app.add_option("--what-if", arguments.what_if,
                 "With --device: one row each for these precisions, with and without fusion: fp32,tf32,fp16,int8; with "
                 "--predict the engine's time of each, also of a float model that is not quantised yet")
      ->type_name("P[,P]...");
  app.add_option("--price-per-hour", arguments.prices,
                 "Of devices, for the price of a million items or tokens; repeatable")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("DEVICE=X[,…]");
}

void add_prediction(CLI::App& app, Arguments& arguments) {
  app.add_flag("--predict", arguments.predict, "With --device: the time that --engine will take, with an interval");
  app.add_option("--engine", arguments.engine,
                 "With --predict: one of --list-engines (default pytorch-amp: eager PyTorch in mixed precision)")
      ->check(CLI::IsMember(estimate::engine_ids()))
      ->type_name("ID");
  app.add_option("--calibration", arguments.calibration,
                 "With --predict: what the prediction is fitted to, an id of --list-engines or a file")
      ->type_name("NAME|FILE");
  app.add_option("--measured", arguments.measured,
                 "Runs of the model (pagoda.measured/1, or a profile that pagoda-import reads), beside the bound; with "
                 "--sweep beside each size")
      ->type_name("FILE");
}

void add_devices(CLI::App& app, Arguments& arguments) {
  const auto count = [&](const char* name, std::string& devices, const char* what) {
    app.add_option(name, devices, what)->type_name("N[,N]...");
  };
  count(
      "--tensor-parallel", arguments.tensor_parallel,
      "With --device: products split over N devices by columns and rows, attention by heads; several N are a table of "
      "one row each, for each device");
  count("--pipeline-parallel", arguments.pipeline_parallel, "... layers split into N stages");
  count("--expert-parallel", arguments.expert_parallel,
        "... experts of mixtures split over N groups, each with its part of the batch");
  app.add_option("--link", arguments.link,
                 "Between devices: a link of the device's file (default: its fastest), or its rate in one direction")
      ->type_name("NAME|BYTES_PER_SECOND");
}

void add_training(CLI::App& app, Arguments& arguments) {
  app.add_flag("--training", arguments.training,
               "A training step: backward work per node, what is saved for it, the optimizer, memory");
  add_choice(app, "--optimizer", arguments.optimizer, "With --training (default sgd)", optimizer_names());
  add_choice(app, "--recompute", arguments.recompute,
             "With --training: keep everything (none, default), what contractions write (pointwise), or the ends of "
             "sqrt(n) segments (sqrt)",
             recompute_names());
  app.add_option("--frozen", arguments.frozen, "With --training: parameters whose names begin so stay; repeatable")
      ->allow_extra_args(false)
      ->type_name("PREFIX");
}

void add_studies(CLI::App& app, Arguments& arguments) {
  app.add_option(
         "--sweep", arguments.sweeps,
         "A row per size, from the formulas: batch=1,2,4..1024; repeatable. mode=maxn,30w: a row per power mode of "
         "--device")
      ->allow_extra_args(false)
      ->type_name("NAME=LIST");
  app.add_option("--compare", arguments.compare, "What changed from OTHER to MODEL, node by node")->type_name("OTHER");
  app.add_option("--then", arguments.then,
                 "A model that runs after MODEL for the same result, and how often: totals of all, time a result, "
                 "memory; repeatable, MODEL takes :RUNS as well")
      ->allow_extra_args(false)
      ->type_name("OTHER[:RUNS]");
  app.add_option("--profile-structure", arguments.profile_structure,
                 "The structure of the model as one row of features")
      ->check(one_of({"json", "csv"}))
      ->type_name("json|csv");
}

void add_budgets(CLI::App& app, Arguments& arguments) {
  const auto limit = [&](const char* name, std::string& text, const char* what, const char* example) {
    app.add_option(name, text, what)->type_name(example);
  };
  limit("--max-flops", arguments.max_flops, "Exit 3 unless FLOPs are known to stay within", "10GFLOP");
  limit("--max-bytes", arguments.max_bytes, "... and bytes moved", "500MB");
  limit("--max-params", arguments.max_params, "... and parameters", "25M");
  limit("--max-memory", arguments.max_memory, "... and weights with the activation peak; device: the device's", "8GiB");
  limit("--max-seconds", arguments.max_seconds, "... and the time bound on --device", "5ms");
  app.add_flag("--strict", arguments.strict,
               "Exit 3 when a node is not modelled or a prediction is missing, 5 when a measured run is impossible");
}

void add_lists(CLI::App& app, Arguments& arguments) {
  app.add_flag("--list-ops", arguments.list_ops, "List the operators that have a rule, and what each costs");
  app.add_flag("--list-engines", arguments.list_engines, "List what --predict can be of");
  app.add_flag("--list-devices", arguments.list_devices, "List the built-in devices");
  app.add_option("--new-device", arguments.new_device, "Write a device file of that name to fill in, for --device")
      ->type_name("NAME");
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
    const auto group = std::find_if(groups().begin(), groups().end(), [&](const Group& g) { return g.title == title; });
    std::string text = CLI::Formatter::make_group(std::move(title), is_positional, std::move(options));
    if (group == groups().end()) return text;
    text.insert(text.find(':') + 1, "  onnx-estimate " + group->example);
    return text.substr(1);  // leaves one empty line between groups
  }
};

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("MODEL", arguments.model, "ONNX file; its weights are not read")->type_name("");
  for (const Group& group : groups()) {
    app.option_defaults()->group(group.title);
    group.add(app, arguments);
  }
  app.allow_extras();  // refuse_extras() reports them by name
  app.set_version_flag("--version", kTool);
  app.formatter(std::make_shared<Formatter>());
  app.get_formatter()->column_width(28);
  app.footer(
      "Counts are exact. A node without a rule is reported and makes totals lower bounds; it never counts as 0.\n"
      "Times are lower bounds: no kernel that does this work and moves these bytes is faster.\n"
      "Exit codes: 0 done, 1 unusable input, 2 usage, 3 partial (--strict) or over budget (--max-*), 4 no such "
      "device, 5 an impossible measurement (--strict).\n");
}

void refuse_extras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return;
  throw UsageError("'" + extras.front() +
                   (extras.front().starts_with('-') ? "' is not an option" : "' is one argument too many"));
}

void refuse_beside_lists(const CLI::App& app) {
  struct Alone {
    std::string option;
    std::vector<std::string> takes;
  };
  static const Alone kAlone[] = {
      {"--list-ops", {"--format", "--output"}},
      {"--list-engines", {"--format", "--output"}},
      {"--list-devices", {"--format", "--output"}},
      {"--new-device", {"--output"}},
      {"--new-custom-ops", {"MODEL", "--batch", "--dim", "--assume", "--input", "--custom-ops", "--output"}},
  };
  for (const Alone& alone : kAlone) refuse_beside(app, alone.option, alone.takes);
}

}  // namespace

std::optional<Arguments> parse_arguments(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("How much work an ONNX model is, where it goes, and how fast a machine could do it.", "onnx-estimate");
  add_options(app, arguments);
  if (!parse(app, argc, argv)) return std::nullopt;
  refuse_extras(app);
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
