// The command line of onnx-estimate, as text and as what the library takes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/budget.h"
#include "pagoda/core/sweep.h"

namespace pagoda::tool {

inline constexpr const char* kCalibration = "rtx-3090-amp-nchw";  // of --predict
inline constexpr const char* kTool = "onnx-estimate " PAGODA_VERSION;

// The command line contradicts itself.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Arguments {
  std::string model, format, output, by, compare, device, precision, phase, profile_structure, timeline;
  std::string calibration;
  std::string count = "flops", traffic = "unfused";
  std::string max_flops, max_bytes, max_params, max_memory, max_seconds;
  std::string optimizer = "sgd", recompute = "none";
  std::vector<std::string> dims, inputs, sweeps, frozen;
  std::int64_t batch = 0, top = 0;
  std::optional<std::int64_t> past, tokens;
  bool predict = false, symbolic = false, strict = false, memory = false, in_place = false, training = false,
       list_ops = false, list_devices = false;
};

void add_options(CLI::App& app, Arguments& arguments);

// What the arguments say about sizes.
AnalyzeOptions analyze_options(const Arguments& arguments);
// The boolean inputs that --input gives a value.
std::map<std::string, bool> input_flags(const Arguments& arguments);
std::vector<SweepAxis> sweep_axes(const Arguments& arguments);
std::vector<Budget> budgets(const Arguments& arguments);
// --format, else what the name of the output file says, else a table.
std::string format_of(const Arguments& arguments);
// html, svg, png, pdf: a roofline instead of numbers.
bool is_chart(const std::string& format);
// Throws UsageError where options do not go together.
void check(const Arguments& arguments);

}  // namespace pagoda::tool
