#include "arguments.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>

#include "pagoda/core/device.h"
#include "pagoda/core/model.h"
#include "pagoda/core/predict.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/serving.h"
#include "pagoda/measured/import.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

constexpr const char* kCalibration = "rtx-3090-amp-nchw";  // of --predict
constexpr const char* kOfDevice = "device";                // as --max-memory

std::int64_t size_of(std::string_view text, const std::string& whole) {
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || size < 0)
    throw UsageError("'" + std::string(text) + "' in '" + whole + "' is no size; expected an integer of at least 0");
  return size;
}

struct Assignment {
  std::string name;
  std::string_view value;
};

// Names may hold '=', values may not.
Assignment split(const std::string& text, const char* form) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) throw UsageError("'" + text + "' is not of the form " + form);
  return {text.substr(0, equals), std::string_view(text).substr(equals + 1)};
}

bool is_flag(std::string_view value) { return value == "true" || value == "false"; }

template <typename Map>
void assign(Map& map, const std::string& name, typename Map::mapped_type value, const char* option) {
  const auto [at, is_new] = map.emplace(name, value);
  if (!is_new && at->second != value)
    throw UsageError(std::string(option) + " is given twice for '" + name + "' with different values; give one");
}

// The values that an option takes; its usage text says them already.
CLI::Validator one_of(std::vector<std::string> values) {
  CLI::Validator validator = CLI::IsMember(std::move(values));
  return validator.description("");
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
  app.add_option("--input", arguments.inputs, "Whole shape of an input, or the value of a boolean one; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=AxBxC|true|false");
  app.add_option("--phase", arguments.phase,
                 "Sizes of a language model with a cache: a prompt of --tokens, or one token after --past")
      ->check(one_of({"prefill", "decode"}))
      ->type_name("prefill|decode");
  app.add_option("--past", arguments.past, "With --phase: tokens in the cache (default 0)")
      ->check(at_least(0))
      ->type_name("N");
  app.add_option("--tokens", arguments.tokens, "With --phase: new tokens a sequence (decode: 1)")
      ->check(at_least(1))
      ->type_name("N");
}

void add_speculation(CLI::App& app, Arguments& arguments) {
  app.add_option("--speculate", arguments.speculate,
                 "With --phase decode: a step checks K tokens of a draft and adds one; needs --acceptance")
      ->check(at_least(1))
      ->type_name("K");
  app.add_option("--acceptance", arguments.acceptance, "The chance that a token of the draft is accepted, 0 to 1")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("A");
}

void add_outputs(CLI::App& app, Arguments& arguments) {
  app.add_option(
         "--format", arguments.format,
         "table, json, csv, markdown, or with --device html, svg, png, pdf (a roofline); default: what FILE ends "
         "in, else table")
      ->check(one_of({"table", "json", "csv", "markdown", "html", "svg", "png", "pdf"}))
      ->type_name("FORMAT");
  app.add_option("-o,--output", arguments.output, "Write to FILE, whole or not at all")->type_name("FILE");
  app.add_option("--by", arguments.by,
                 "A row per node, per type of operator, or per kernel of --traffic (default there)")
      ->check(one_of({"node", "type", "group"}))
      ->type_name("node|type|group");
  app.add_option("--top", arguments.top, "Only the K rows with the most time, or without --device FLOPs")
      ->check(at_least(1))
      ->type_name("K");
  app.add_flag("--symbolic", arguments.symbolic, "Formulas of the totals; with --by also of the rows");
  app.add_flag("--memory", arguments.memory, "The memory plan: peak and what makes it, arena, weights, cache");
  app.add_flag("--in-place", arguments.in_place,
               "With --memory: element-wise operators overwrite an operand that nothing reads later");
  app.add_option("--memory-timeline", arguments.timeline, "Write bytes alive at each step to FILE.svg or FILE.csv")
      ->type_name("FILE");
}

void add_models(CLI::App& app, Arguments& arguments) {
  app.add_option("--count", arguments.count,
                 "What FLOPs are. flops (default): 2*MACs + arith + special; macs: MACs; contraction: 2*MACs; "
                 "hardware: 2*MACs + arith - comparisons; pagoda: the published Pagoda rules, faults included")
      ->check(one_of({"flops", "macs", "contraction", "hardware", "pagoda"}))
      ->type_name("CONVENTION");
  app.add_option("--traffic", arguments.traffic,
                 "unfused (default): every input byte is read once, every output byte written once; fused: "
                 "intermediates of a kernel stay on the chip; resident: tensors stay in the device's L2 while they fit")
      ->check(one_of({"unfused", "fused", "resident"}))
      ->type_name("MODEL");
  app.add_option(
         "--device", arguments.device,
         "Time and memory on a device: an id of --list-devices, ID:MODE, or a device or ceilings file; several, "
         "with commas, are a table of one row each")
      ->type_name("NAME|FILE[,…]");
  app.add_option("--what-if", arguments.what_if,
                 "With --device: one row each for these precisions, with and without fusion: fp32,tf32,fp16,int8")
      ->type_name("P[,P]...");
  app.add_option("--measured", arguments.measured,
                 "Runs of the model (pagoda.measured/1, or a profile that pagoda-import reads), beside the bound; with "
                 "--sweep beside each size")
      ->type_name("FILE");
  app.add_option("--price-per-hour", arguments.prices,
                 "Of a device, for the price of a million items or tokens; repeatable")
      ->allow_extra_args(false)
      ->type_name("DEVICE=X");
  app.add_option("--precision", arguments.precision,
                 "Do the floats in this format, in work and memory alike; fp8, int8, int4: the operands of products, "
                 "all else in fp16")
      ->type_name("P");
  app.add_flag("--predict", arguments.predict, "With --device: the time that --engine will take, with an interval");
  app.add_option("--engine", arguments.engine,
                 "With --predict: one of --list-engines (default pytorch-amp: eager PyTorch in mixed precision)")
      ->check(one_of({"pytorch-amp", "llm-serving"}))
      ->type_name("ID");
  app.add_option("--calibration", arguments.calibration,
                 "With --predict: what the prediction is fitted to, an id of --list-engines or a file")
      ->type_name("NAME|FILE");
}

void add_groups(CLI::App& app, Arguments& arguments) {
  const auto count = [&](const char* name, std::int64_t& devices, const char* what) {
    app.add_option(name, devices, what)->check(at_least(1))->type_name("N");
  };
  count("--tensor-parallel", arguments.tensor_parallel,
        "With --device: products split over N devices by columns and rows, attention by heads");
  count("--pipeline-parallel", arguments.pipeline_parallel, "... layers split into N stages");
  count("--expert-parallel", arguments.expert_parallel,
        "... experts of mixtures split over N groups, each with its part of the batch");
  app.add_option("--link", arguments.link,
                 "Between devices: a link of the device's file (default: its fastest), or its rate in one direction")
      ->type_name("NAME|BYTES_PER_SECOND");
}

void add_handover(CLI::App& app, Arguments& arguments) {
  app.add_option("--decode-device", arguments.decode_device,
                 "With --phase prefill: the cache goes to as many of these devices, which decode")
      ->type_name("ID");
}

void add_training(CLI::App& app, Arguments& arguments) {
  app.add_flag("--training", arguments.training,
               "A training step: backward work per node, what is saved for it, the optimizer, memory");
  app.add_option("--optimizer", arguments.optimizer, "With --training (default sgd)")
      ->check(one_of({"sgd", "momentum", "adam", "adamw"}))
      ->type_name("sgd|momentum|adam|adamw");
  app.add_option(
         "--recompute", arguments.recompute,
         "With --training: keep everything (none, default), what contractions write (pointwise), or the ends of "
         "sqrt(n) segments (sqrt)")
      ->check(one_of({"none", "pointwise", "sqrt"}))
      ->type_name("none|pointwise|sqrt");
  app.add_option("--frozen", arguments.frozen, "With --training: parameters whose names begin so stay; repeatable")
      ->allow_extra_args(false)
      ->type_name("PREFIX");
}

void add_studies(CLI::App& app, Arguments& arguments) {
  app.add_option("--sweep", arguments.sweeps,
                 "A row per size, from the formulas: batch=1,2,4..1024; repeatable. mode=maxn,30w: a row per power mode of "
                 "--device")
      ->allow_extra_args(false)
      ->type_name("NAME=LIST");
  app.add_option("--compare", arguments.compare, "What changed from OTHER to MODEL, node by node")->type_name("OTHER");
  app.add_option("--profile-structure", arguments.profile_structure,
                 "The structure of the model as one row of features")
      ->check(one_of({"json", "csv"}))
      ->type_name("json|csv");
  const auto limit = [&](const char* name, std::string& text, const char* what, const char* example) {
    app.add_option(name, text, what)->type_name(example);
  };
  limit("--max-flops", arguments.max_flops, "Exit 3 unless FLOPs are known to stay within", "10GFLOP");
  limit("--max-bytes", arguments.max_bytes, "... and bytes moved", "500MB");
  limit("--max-params", arguments.max_params, "... and parameters", "25M");
  limit("--max-memory", arguments.max_memory, "... and weights with the activation peak; device: the device's", "8GiB");
  limit("--max-seconds", arguments.max_seconds, "... and the time bound on --device", "5ms");
  app.add_flag("--strict", arguments.strict, "Exit 3 when some node is not modelled");
}

AnalyzeOptions sizes_of(const Arguments& arguments) {
  AnalyzeOptions options;
  options.batch = arguments.batch;
  for (const std::string& text : arguments.dims) {
    const Assignment dim = split(text, "NAME=V");
    assign(options.dims, dim.name, size_of(dim.value, text), "--dim");
  }
  for (const std::string& text : arguments.inputs) {
    const Assignment input = split(text, "NAME=AxBxC");
    if (is_flag(input.value)) continue;
    std::vector<std::int64_t> shape;
    for (std::string_view rest = input.value;;) {
      const std::size_t cross = rest.find('x');
      shape.push_back(size_of(rest.substr(0, cross), text));
      if (cross == std::string_view::npos) break;
      rest.remove_prefix(cross + 1);
    }
    assign(options.input_shapes, input.name, shape, "--input");
  }
  return options;
}

std::map<std::string, bool> input_flags(const Arguments& arguments) {
  std::map<std::string, bool> flags;
  for (const std::string& text : arguments.inputs)
    if (const Assignment input = split(text, "NAME=AxBxC"); is_flag(input.value))
      assign(flags, input.name, input.value == "true", "--input");
  return flags;
}

constexpr std::string_view kModes = "mode=";  // of --sweep: power modes of the device

std::vector<SweepAxis> sweep_axes(const Arguments& arguments) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : arguments.sweeps) {
    if (text.starts_with(kModes)) continue;
    try {
      axes.push_back(parse_axis(text));
    } catch (const Error& error) {
      throw UsageError("--sweep: " + std::string(error.what()));
    }
    for (std::size_t i = 0; i + 1 < axes.size(); ++i)
      if (axes[i].dim == axes.back().dim) throw UsageError("--sweep is given twice for '" + axes[i].dim + "'");
  }
  return axes;
}

std::vector<Budget> budgets(const Arguments& arguments) {
  const std::pair<BudgetKind, const std::string&> given[] = {{BudgetKind::Flops, arguments.max_flops},
                                                             {BudgetKind::Bytes, arguments.max_bytes},
                                                             {BudgetKind::Params, arguments.max_params},
                                                             {BudgetKind::Memory, arguments.max_memory},
                                                             {BudgetKind::Seconds, arguments.max_seconds}};
  std::vector<Budget> budgets;
  for (const auto& [kind, text] : given) {
    if (text.empty() || text == kOfDevice) continue;  // request_of() knows the device's
    try {
      budgets.push_back(parse_budget(kind, text));
    } catch (const Error& error) {
      throw UsageError("--max-" + std::string(to_string(kind)) + ": " + error.what());
    }
  }
  return budgets;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    if (comma != 0) items.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return items;
}

double price_of(std::string_view text, const std::string& whole) {
  double price = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), price);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !(price >= 0))
    throw UsageError("--price-per-hour: '" + std::string(text) + "' in '" + whole +
                     "' is no price; expected an amount of at least 0, such as h200=3.50");
  return price;
}

Budget memory_of(const DeviceSpec& device) {
  const std::optional<Int> bytes = device.memory_bytes();
  if (!bytes)
    throw Error("--max-memory device: the memory of " + device.id + " is not known; give an amount, such as 8GiB");
  return {.kind = BudgetKind::Memory, .limit = *bytes, .text = "the memory of " + device.id};
}

Calibration calibration_of(const std::string& name) {
  const bool is_file = name.find('/') != std::string::npos || name.ends_with(".json");
  return is_file ? documents::load_calibration(name) : documents::calibration(name.empty() ? kCalibration : name);
}

std::size_t terminal_width() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0)
    return static_cast<std::size_t>(std::atoi(columns));
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("MODEL", arguments.model, "ONNX file; its weights are not read")->type_name("");
  add_sizes(app, arguments);
  add_outputs(app, arguments);
  add_models(app, arguments);
  add_groups(app, arguments);
  add_speculation(app, arguments);
  add_handover(app, arguments);
  add_training(app, arguments);
  add_studies(app, arguments);
  app.add_flag("--list-ops", arguments.list_ops, "List the operators that have a rule, and what each costs");
  app.add_flag("--list-engines", arguments.list_engines, "List what --predict can be of");
  app.add_flag("--list-devices", arguments.list_devices, "List the built-in devices");
  app.add_option("--new-device", arguments.new_device, "Write a device file of that name to fill in, for --device")
      ->type_name("NAME");
  app.allow_extras();  // refuse_extras() says which
  app.set_version_flag("--version", kTool);
  app.get_formatter()->column_width(28);
  app.footer(
      "Counts are exact. A node without a rule is reported and makes totals lower bounds; it never counts as 0.\n"
      "Times are lower bounds: no kernel that does this work and moves these bytes is faster.\n"
      "Exit codes: 0 done, 1 unusable input, 2 usage, 3 partial (--strict) or over budget (--max-*), 4 no such "
      "device.\n");
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

void refuse_extras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return;
  throw UsageError("'" + extras.front() +
                   (extras.front().starts_with('-') ? "' is no option" : "' is one argument too many"));
}

std::vector<std::string> device_names(const Arguments& arguments) {
  std::vector<std::string> names = documents::split_devices(arguments.device);
  for (const std::string& text : arguments.sweeps) {
    if (!text.starts_with(kModes)) continue;
    if (names.size() != 1 || !documents::split_mode(names[0]).second.empty())
      throw UsageError("--sweep " + text + " needs --device with one device and no mode, whose modes they are");
    const std::string base = names[0];
    names.clear();
    for (const std::string& mode : documents::split_devices(base + ":" + text.substr(kModes.size())))
      names.push_back(names.empty() ? mode : base + ":" + mode);
  }
  return names;
}

bool writes_to_terminal(const Arguments& arguments) { return arguments.output.empty() || arguments.output == "-"; }

namespace {

bool is_served(const Arguments& arguments) { return arguments.engine == "llm-serving"; }

ServingCalibration serving_of(const std::string& name) {
  const bool is_file = name.find('/') != std::string::npos || name.ends_with(".json");
  if (is_file) return documents::load_serving_calibration(name);
  return documents::serving_calibration(name.empty() ? "llm-serving" : name);
}

bool has_groups(const Arguments& arguments) {
  return arguments.tensor_parallel * arguments.pipeline_parallel * arguments.expert_parallel > 1;
}

// A rate, as budgets of bytes are read, or a name.
documents::LinkChoice link_of(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) return {.name = text};
  try {
    const std::string_view rate = text.ends_with("/s") ? std::string_view(text).substr(0, text.size() - 2) : text;
    const Budget budget = parse_budget(BudgetKind::Bytes, rate);
    const auto bytes = static_cast<double>(budget.limit);
    if (bytes > 0) return {.bytes_per_second = bytes};
  } catch (const Error& error) {
    throw UsageError("--link: " + std::string(error.what()));
  }
  throw UsageError("--link " + text +
                   " is no rate; expected bytes per second in one direction, such as 450e9 or 450GB/s");
}

}  // namespace

documents::EstimateRequest request_of(const Arguments& arguments) {
  documents::EstimateRequest request{.sizes = sizes_of(arguments)};
  if (!arguments.phase.empty())
    request.phase = {.phase = *phase(arguments.phase), .tokens = arguments.tokens, .past = arguments.past.value_or(0)};
  if (arguments.speculate) {
    request.phase->tokens = *arguments.speculate + 1;
    request.speculation = documents::Speculation{*arguments.speculate, *arguments.acceptance};
  }
  request.count = *convention(arguments.count);
  request.traffic = *traffic_model(arguments.traffic);
  std::vector<DeviceSpec> devices;
  for (const std::string& name : device_names(arguments)) devices.push_back(documents::find_device(name));
  if (devices.size() > 1)
    request.other_devices = std::move(devices);
  else if (!devices.empty())
    request.device = std::move(devices.front());
  for (const std::string& text : split_list(arguments.what_if)) request.other_precisions.push_back(*precision(text));
  if (!arguments.what_if.empty() && arguments.traffic == "unfused" && !arguments.training)
    request.other_traffic = {TrafficModel::Unfused, TrafficModel::Fused};
  for (const std::string& text : arguments.prices) {
    const Assignment price = split(text, "DEVICE=X");
    assign(request.price_per_hour, documents::find_device(price.name).id, price_of(price.value, text),
           "--price-per-hour");
  }
  if (!arguments.precision.empty()) request.precision = precision(arguments.precision);
  if (!arguments.measured.empty()) request.measured = measured::load_profile(arguments.measured, {});
  if (arguments.predict && is_served(arguments))
    request.serving = serving_of(arguments.calibration);
  else if (arguments.predict)
    request.calibration = calibration_of(arguments.calibration);
  if (arguments.memory || !arguments.timeline.empty() || format_of(arguments) == "html")
    request.memory = {.in_place = arguments.in_place};
  if (arguments.training)
    request.training = {.optimizer = *optimizer(arguments.optimizer),
                        .frozen = arguments.frozen,
                        .recompute = *recompute(arguments.recompute)};
  if (has_groups(arguments))
    request.parallel = {.tensor = arguments.tensor_parallel,
                        .pipeline = arguments.pipeline_parallel,
                        .expert = arguments.expert_parallel};
  request.link = link_of(arguments.link);
  if (!arguments.decode_device.empty()) request.decode_device = documents::find_device(arguments.decode_device);
  request.sweep = sweep_axes(arguments);
  request.budgets = budgets(arguments);
  if (arguments.max_memory == kOfDevice) request.budgets.push_back(memory_of(*request.device));
  // It takes an analysis for each precision it looks at: only where a person reads it.
  const bool is_for_people = format_of(arguments) == "table" || format_of(arguments) == "markdown";
  request.advice = is_for_people && arguments.sweeps.empty() && arguments.compare.empty() &&
                   arguments.profile_structure.empty() && !report_options(arguments).has_rows();
  request.by_type = arguments.by == "type";
  request.formulas = arguments.symbolic;
  request.row_formulas = arguments.symbolic && (!arguments.by.empty() || format_of(arguments) == "csv");
  request.tool = kTool;
  return request;
}

present::ReportOptions report_options(const Arguments& arguments) {
  using present::Rows;
  const bool is_fused = arguments.traffic != "unfused";
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

// A phase is one side of a merged decoder.
Model load(const Arguments& arguments, const std::string& path) {
  Model model = load_model(path);
  for (const auto& [input, value] : input_flags(arguments)) set_flag(model, input, value);
  if (!arguments.phase.empty())
    set_phase_flag(model, {.phase = *phase(arguments.phase), .past = arguments.past.value_or(0)});
  return model;
}

namespace {

// Several devices: one report of one step.
void check_groups(const Arguments& arguments) {
  const char* option = arguments.tensor_parallel > 1     ? "--tensor-parallel"
                       : arguments.pipeline_parallel > 1 ? "--pipeline-parallel"
                                                         : "--expert-parallel";
  if (!has_groups(arguments)) {
    if (!arguments.link.empty() && arguments.decode_device.empty())
      throw UsageError("--link needs --tensor-parallel, --pipeline-parallel or --expert-parallel");
    return;
  }
  if (arguments.device.empty()) throw UsageError(std::string(option) + " needs --device");
  const std::pair<bool, const char*> other[] = {
      {arguments.training, "--training"},
      {!arguments.sweeps.empty(), "--sweep"},
      {!arguments.compare.empty(), "--compare"},
      {!arguments.profile_structure.empty(), "--profile-structure"},
      {arguments.predict && !is_served(arguments), "--predict but --engine llm-serving"},
      {arguments.count == "pagoda", "--count pagoda"},
      {arguments.traffic == "resident", "--traffic resident"},
  };
  for (const auto& [is_given, name] : other)
    if (is_given) throw UsageError(std::string(option) + " does not go with " + name);
}

// A table with a row for each device or precision shows nothing else.
void check_alternatives(const Arguments& arguments, bool has_devices) {
  const std::string what = has_devices ? "--device with several" : "--what-if";
  const std::pair<bool, const char*> other[] = {
      {!arguments.compare.empty(), "--compare"},
      {!sweep_axes(arguments).empty(), "--sweep of a size"},
      {!arguments.profile_structure.empty(), "--profile-structure"},
      {arguments.predict, "--predict"},
      {!arguments.by.empty(), "--by"},
      {arguments.top > 0, "--top"},
      {arguments.symbolic, "--symbolic"},
      {arguments.memory, "--memory"},
      {!arguments.measured.empty(), "--measured"},
      {arguments.count != "flops", "--count"},
      {has_devices && arguments.max_memory == kOfDevice, "--max-memory device"},
      {has_devices && !arguments.max_seconds.empty(), "--max-seconds"},
      {!arguments.what_if.empty() && !arguments.precision.empty(), "--precision"},
      {is_chart(format_of(arguments)), "a chart"},
      {format_of(arguments) == "csv", "--format csv; take json"},
  };
  for (const auto& [is_given, name] : other)
    if (is_given) throw UsageError(what + " is a table of its own; it does not go with " + name);
}

// What a study does not show is refused rather than dropped.
void check_studies(const Arguments& arguments) {
  const auto refuse = [](const std::string& study, std::initializer_list<std::pair<bool, const char*>> others,
                         const char* remedy) {
    for (const auto& [is_given, name] : others)
      if (is_given) throw UsageError(study + " does not go with " + name + "; " + remedy);
  };
  const bool is_table = !is_chart(format_of(arguments)) && format_of(arguments) != "json";
  if (!sweep_axes(arguments).empty())
    refuse("--sweep",
           {{arguments.predict, "--predict"},
            {is_table && !arguments.by.empty(), "--by"},
            {is_table && arguments.top > 0, "--top"},
            {is_table && arguments.symbolic, "--symbolic"},
            {is_table && arguments.memory, "--memory"}},
           "its rows are sizes: ask for one size instead");
  for (const SweepAxis& axis : sweep_axes(arguments))
    if (axis.dim == "batch" && arguments.batch > 0)
      throw UsageError("--sweep batch varies what --batch sets to one size; give one of the two");
  const bool is_csv = format_of(arguments) == "csv";
  if (is_csv && arguments.sweeps.empty() && arguments.compare.empty())
    refuse("--format csv",
           {{arguments.memory, "--memory"},
            {arguments.training && arguments.by == "type", "--training --by type"},
            {arguments.traffic != "unfused" && arguments.by == "type", "--traffic with --by type"}},
           "its rows are nodes, kernels or types: take json");
  if (!arguments.compare.empty())
    refuse("--compare",
           {{arguments.predict, "--predict"},
            {!arguments.by.empty(), "--by"},
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

}  // namespace

void check(const Arguments& arguments) {
  if (arguments.model.empty()) throw UsageError("MODEL is missing");
  sizes_of(arguments), input_flags(arguments), sweep_axes(arguments), budgets(arguments);
  const auto needs = [&](bool is_given, const std::string& option, const std::string& other, bool has_other) {
    if (is_given && !has_other) throw UsageError(option + " needs " + other);
  };
  const bool has_device = !arguments.device.empty();
  needs(arguments.traffic == "resident", "--traffic resident", "--device, whose cache it fills", has_device);
  const std::vector<std::string> devices = device_names(arguments);
  needs(!arguments.what_if.empty(), "--what-if", "--device", has_device);
  needs(!arguments.prices.empty(), "--price-per-hour", "--device or --what-if",
        has_device && (devices.size() > 1 || !arguments.what_if.empty()));
  needs(arguments.max_memory == kOfDevice, "--max-memory device", "--device", has_device);
  for (const std::string& name : split_list(arguments.what_if))
    if (!precision(name)) throw UsageError("--what-if " + name + " is none of " + precision_names());
  if (devices.size() > 1 || !arguments.what_if.empty()) check_alternatives(arguments, devices.size() > 1);
  needs(arguments.predict, "--predict", "--device", has_device);
  check_groups(arguments);
  needs(!arguments.calibration.empty(), "--calibration", "--predict", arguments.predict);
  needs(is_served(arguments), "--engine", "--predict", arguments.predict);
  needs(!arguments.max_seconds.empty(), "--max-seconds", "--device", has_device);
  needs(arguments.past.has_value(), "--past", "--phase", !arguments.phase.empty());
  needs(arguments.tokens.has_value(), "--tokens", "--phase", !arguments.phase.empty());
  needs(arguments.speculate.has_value(), "--speculate", "--phase decode", arguments.phase == "decode");
  needs(arguments.speculate.has_value(), "--speculate", "--acceptance", arguments.acceptance.has_value());
  if (!arguments.decode_device.empty()) {
    needs(true, "--decode-device", "--phase prefill", arguments.phase == "prefill");
    needs(true, "--decode-device", "one --device", devices.size() == 1);
    if (!arguments.sweeps.empty() || arguments.training || !arguments.compare.empty())
      throw UsageError("--decode-device does not go with --sweep, --training or --compare");
  }
  needs(arguments.acceptance.has_value(), "--acceptance", "--speculate", arguments.speculate.has_value());
  if (arguments.speculate && arguments.tokens)
    throw UsageError("--speculate sets the tokens of a step; it does not go with --tokens");
  needs(arguments.by == "group", "--by group", "--traffic fused or resident", arguments.traffic != "unfused");
  needs(arguments.in_place, "--in-place", "--memory or --memory-timeline",
        arguments.memory || !arguments.timeline.empty());
  needs(arguments.optimizer != "sgd", "--optimizer", "--training", arguments.training);
  needs(arguments.recompute != "none", "--recompute", "--training", arguments.training);
  needs(!arguments.frozen.empty(), "--frozen", "--training", arguments.training);
  if (arguments.training && arguments.traffic != "unfused")
    throw UsageError("--training counts unfused traffic; it does not go with --traffic " + arguments.traffic);
  if (arguments.training && (!arguments.compare.empty() || !arguments.profile_structure.empty()))
    throw UsageError("--training does not go with --compare or --profile-structure");
  if (is_chart(format_of(arguments))) {
    needs(true, "a chart", "--device, whose roofs it draws", has_device);
    if (!arguments.compare.empty() || !arguments.profile_structure.empty())
      throw UsageError("a chart shows one model; it does not go with --compare or --profile-structure");
    if (!arguments.by.empty() || arguments.top > 0 || arguments.count == "pagoda")
      throw UsageError("a chart shows every node; it does not go with --by, --top or --count pagoda");
  }
  if (!arguments.precision.empty() && !precision(arguments.precision))
    throw UsageError("--precision " + arguments.precision + " is none of " + precision_names());
  if (arguments.predict && is_served(arguments) && !arguments.precision.empty()) {
    const auto wanted = precision(arguments.precision);
    if (wanted != Precision::Bfloat16 && wanted != Precision::Float16 && wanted != Precision::Float8)
      throw UsageError("--predict --engine llm-serving is of bf16, fp16 and fp8, not --precision " +
                       arguments.precision);
  }
  if (arguments.predict && !is_served(arguments) && !arguments.precision.empty() &&
      precision(arguments.precision) != kPredictedPrecision)
    throw UsageError("--predict: calibration " +
                     (arguments.calibration.empty() ? kCalibration : arguments.calibration) + " is for " +
                     std::string(to_string(kPredictedPrecision)) + " under autocast, not --precision " +
                     arguments.precision + "; give --precision fp16 or none");
  if (!arguments.timeline.empty() && !arguments.timeline.ends_with(".svg") && !arguments.timeline.ends_with(".csv"))
    throw UsageError("--memory-timeline " + arguments.timeline + " ends in neither .svg nor .csv");
  check_studies(arguments);
  const int studies =
      int{!arguments.sweeps.empty()} + int{!arguments.compare.empty()} + int{!arguments.profile_structure.empty()};
  if (studies > 1) throw UsageError("--sweep, --compare and --profile-structure are different reports; give one");
  if (arguments.count == "pagoda" && arguments.traffic != "unfused")
    throw UsageError("--count pagoda has traffic rules of its own; it does not go with --traffic");
}

}  // namespace pagoda::tools
