// The command line of onnx-estimate, as text and as what the library takes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/documents/make_estimate.h"
#include "pagoda/present/report.h"
#include "picture.h"

namespace pagoda::tools {

inline constexpr const char* kTool = "onnx-estimate " PAGODA_VERSION;

struct Arguments {
  std::string model, format, output, by, compare, device, precision, phase, profile_structure, timeline;
  std::string calibration, what_if, measured;
  std::string count = "flops", traffic = "unfused";
  std::string max_flops, max_bytes, max_params, max_memory, max_seconds;
  std::string optimizer = "sgd", recompute = "none";
  std::vector<std::string> dims, assumed, inputs, sweeps, frozen, prices, then, custom_ops;
  std::string link, decode_device, engine;
  std::int64_t batch = 0, top = 0;
  std::int64_t tensor_parallel = 1, pipeline_parallel = 1, expert_parallel = 1;
  std::optional<std::int64_t> past, tokens, speculate;
  std::optional<double> acceptance;
  bool predict = false, symbolic = false, strict = false, memory = false, in_place = false, training = false,
       list_ops = false, list_devices = false, list_engines = false, new_custom_ops = false;
  std::string new_device;
  std::string metric, annotate;
  PictureArguments picture;
};

void add_options(CLI::App& app, Arguments& arguments);

// Throws UsageError for an option that does not exist and for a second model.
void refuse_extras(const CLI::App& app);
// Throws UsageError for an option beside those that answer by themselves, such as --list-ops, and what they take.
void refuse_beside_lists(const CLI::App& app);
// Throws UsageError where options do not go together, or a value cannot be read.
void check(const Arguments& arguments);

// What the arguments ask of the library. Throws UnknownDevice, and Error for files that cannot be read.
documents::EstimateRequest request_of(const Arguments& arguments);
present::ReportOptions report_options(const Arguments& arguments);
// The file, with the boolean inputs that --input or --phase give a value.
Model load(const Arguments& arguments, const std::string& path);

// --format, else what the name of the output file says, else a table.
std::string format_of(const Arguments& arguments);
// html, svg, png, pdf: a roofline instead of numbers.
bool is_chart(const std::string& format);
// netron, model-explorer: what a viewer of graphs shows beside its nodes.
bool is_for_viewer(const std::string& format);
// Of --device and, in --sweep, of its modes.
std::vector<std::string> device_names(const Arguments& arguments);
// Whether the report goes to standard output.
bool writes_to_terminal(const Arguments& arguments);

}  // namespace pagoda::tools
