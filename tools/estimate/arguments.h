// The command line of onnx-estimate, as text and in the library's types.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/parallel.h"
#include "pagoda/estimate/engine_table.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/present/report.h"
#include "picture.h"

namespace pagoda::tools {

inline constexpr const char* kTool = "onnx-estimate " PAGODA_VERSION;

struct Arguments {
  std::string model, format, output, by, compare, device, precision, phase, profile_structure, timeline;
  std::string calibration, what_if, measured;
  std::string count = "flops", traffic;
  std::string provider, placement_form = "default", max_off_provider, host_device;
  std::string max_flops, max_bytes, max_params, max_memory, max_seconds, min_fps, fps;
  std::string optimizer = "sgd", recompute = "none";
  std::vector<std::string> others;  // models after MODEL: a table with a line for each
  std::vector<std::string> dims, assumed, inputs, sweeps, frozen, prices, then, custom_ops;
  std::string link, decode_device, engine;
  std::int64_t batch = 0, top = 0;
  std::string tensor_parallel = "1", pipeline_parallel = "1", expert_parallel = "1";  // or several, "1,2,4"
  std::optional<std::int64_t> past, tokens, speculate, prompt, runs;
  std::optional<double> acceptance;
  bool predict = false, symbolic = false, strict = false, memory = false, in_place = false, training = false,
       list_ops = false, list_devices = false, list_engines = false, new_custom_ops = false, unfused = false;
  std::string new_device;
  std::string metric, annotate;
  PictureArguments picture;
};

// Parses the command line. Nothing after --help or --version, which print to standard output. Throws UsageError for an
// unknown option, for an argument too many, and for options that cannot be combined with a separate request, such as
// --list-ops.
std::optional<Arguments> parse_arguments(int argc, char** argv);

// Throws UsageError if options do not go together, or a value cannot be read.
void check(const Arguments& arguments);

// Converts the arguments to a request. Throws UnknownDevice, and Error for files that cannot be read.
estimate::EstimateRequest request_of(const Arguments& arguments);
// --engine with several: a row for each engine and machine.
bool is_of_engines(const Arguments& arguments);
std::vector<estimate::EngineChoice> engine_choices(const Arguments& arguments);
present::ReportOptions report_options(const Arguments& arguments);
// Loads the file, with inputs of one element set to the values from --input or --phase; the request then has them no
// longer as shapes.
Model load(const Arguments& arguments, const std::string& path, estimate::EstimateRequest& request);

// --format, else the format of the output file's extension, else a table.
std::string format_of(const Arguments& arguments);
// html, svg, png, pdf: a roofline instead of numbers.
bool is_chart(const std::string& format);
// netron, model-explorer: data that a graph viewer shows beside nodes.
bool is_for_viewer(const std::string& format);
// The devices of --device and, in --sweep, their power modes.
std::vector<std::string> device_names(const Arguments& arguments);
// True if the report goes to standard output.
bool writes_to_terminal(const Arguments& arguments);

// Parts of the request. Each function throws UsageError for a value that cannot be read.
inline constexpr const char* kOfDevice = "device";   // --max-memory device: the device's capacity
inline constexpr std::string_view kModes = "mode=";  // --sweep mode=…: power modes of the device

AnalyzeOptions sizes_of(const Arguments& arguments);
// Values of inputs: --input NAME=VALUE. A single size may be a value or the shape of an input of rank 1, which the
// model decides.
struct InputValue {
  Scalar value;
  bool may_be_size = false;

  bool operator==(const InputValue&) const = default;
};
std::map<std::string, InputValue> input_values(const Arguments& arguments);
std::vector<SweepAxis> sweep_axes(const Arguments& arguments);  // of sizes, without modes
// The largest part of the nodes that may be off the provider, 0 … 1.
std::optional<double> most_off_provider(const Arguments& arguments);
std::vector<Budget> budgets(const Arguments& arguments);           // without the device's memory
std::map<std::string, double> prices(const Arguments& arguments);  // per hour, by device
estimate::LinkChoice link_of(const std::string& text);             // a rate in the syntax of byte budgets, or a name
std::vector<std::string> split_list(const std::string& text);      // "a,b"

// Numbers of devices that share the model: each combination of --tensor-parallel, --pipeline-parallel and
// --expert-parallel.
std::vector<ParallelOptions> splits(const Arguments& arguments);
bool has_groups(const Arguments& arguments);  // whether the model runs on several equal devices
// True if the answer is a table of a row for each device, number of devices, precision or traffic model.
bool is_choice(const Arguments& arguments);

}  // namespace pagoda::tools
