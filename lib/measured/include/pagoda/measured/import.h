// Importers: convert the profiles of engines and profilers to pagoda.measured/1.
//
//   Measured run = load_profile("onnxruntime_profile.json");            // the format is recognised by its content
//   Measured trt = load_profile("profile.json", {.layer_info = "layers.json"});
//   join(run, documents::load_estimate("resnet50.json"));  // pagoda/measured/join.h
//
// | format   | written by                                                                    | one kernel is        |
// |----------|-------------------------------------------------------------------------------|----------------------|
// | ort      | ONNX Runtime with SessionOptions.enable_profiling                             | a node of the run    |
// | tensorrt | trtexec --exportProfile, with --exportLayerInfo as layer_info                 | a layer              |
// | ncu      | Nsight Compute: ncu --csv --page raw (or its table of one metric per row)     | kernel, NVTX, grid   |
// | kineto   | torch.profiler's export_chrome_trace, of PyTorch 1.8 and later                | a launch, or a CPU op|
// | rocprof  | rocprof, rocprofv2, rocprofv3 --kernel-trace or --pmc, rocprof-compute        | kernel, grid         |
// | nsys     | nsys stats --format csv --report cuda_gpu_trace or cuda_kern_exec_trace, or   | kernel, grid         |
// |          | their sums: cuda_gpu_kern_sum, cuda_kern_exec_sum                             |                      |
// | measured | pagoda-profile, models/run_torch.py, this importer: to join it with an estimate | as there             |
// | jetson   | the power-mode tables of Pagoda (arXiv 2509.20189): a run for each row        | none                 |
//
// Numbers are for one run of the model: over the runs in the file, medians of times and means of counters, without the
// first run if there are three or more. Impossible times are unknown: stamps of 0, launches that overlap in their
// stream, and launches longer than their trace. A note counts them and names one. Errors name the place in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

enum class ProfileFormat : std::uint8_t { OnnxRuntime, TensorRt, Ncu, Kineto, Rocprof, Nsys, Jetson, Measured };
std::string_view to_string(ProfileFormat format);  // as in the table above
std::optional<ProfileFormat> profile_format(std::string_view name);
std::vector<std::string> profile_formats();  // all names, in the order of the enumerators
std::string known_profiles();                // for messages: "a profile of ONNX Runtime, …, or pagoda.measured/1"

// Recognises the format by the beginning of the text; empty if unknown.
std::optional<ProfileFormat> recognise_profile(std::string_view text);

struct ImportOptions {
  std::optional<ProfileFormat> format = std::nullopt;  // empty: recognised
  std::string layer_info = {};                         // path of TensorRT's layer information
  // Number of runs of the model in the file, for formats that do not record it (ncu, rocprof, nsys, kineto without
  // ProfilerStep ranges). The launches of all runs must be the same. Empty: the number of times that a range of the
  // user, or the whole sequence of launches, repeats; else one. A note says how it was found.
  std::optional<std::int64_t> runs = std::nullopt;
  // Chip as CUPTI names it ("GH100"), for ncu: operations and bytes are computed by its formulas in the catalogue
  // (pagoda/documents/metrics.h). Empty: from metric names common to several chips.
  std::string chip = {};
  std::optional<std::int64_t> warmup = std::nullopt;  // runs to leave out at the start; empty: 1 of three or more
};

// Throws Error; `subject` names the text in it.
documents::Measured import_profile(std::string_view text, std::string_view subject, const ImportOptions& options = {});
documents::Measured load_profile(const std::string& path, const ImportOptions& options = {});

}  // namespace pagoda::measured
#pragma GCC visibility pop
