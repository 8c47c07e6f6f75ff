// Selects the importer for a text, and maps files.
#include "pagoda/measured/import.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <initializer_list>

#include "import/formats.h"
#include "pagoda/base/fail.h"
#include "pagoda/base/open_file.h"
#include "pagoda/core/model.h"

namespace pagoda::measured {
namespace {

constexpr std::array<std::string_view, 8> kFormats = {"ort",    "tensorrt", "ncu",     "kineto",
                                                      "jetson", "measured", "rocprof", "nsys"};

constexpr std::string_view kKnown =
    "a profile of ONNX Runtime, TensorRT (trtexec --exportProfile), Nsight Compute (--csv --page raw), torch.profiler, "
    "rocprofv3 or rocprof-compute (CSV), Nsight Systems (nsys stats --report cuda_gpu_trace --format csv), a "
    "power-mode table, or pagoda.measured/1";

// Describes a known kind of file that no importer reads, with the remedy; empty: not known.
std::string wrong_kind(std::string_view text) {
  if (text.empty()) return "is empty";
  if (text.starts_with("\x1F\x8B")) return "is compressed by gzip; decompress it first (gzip -d)";
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return "is UTF-16; convert it first (iconv -f UTF-16 -t UTF-8)";
  if (text.starts_with("NVR"))
    return "is a report of Nsight Compute; export it with ncu --import FILE --csv --page raw";
  if (text.starts_with("SQLite format 3"))
    return "is a database; export it as CSV (nsys stats --report cuda_gpu_trace --format csv, rocprofv3 "
           "--output-format csv)";
  return "";
}

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// The first line that contains `word`, so that other columns are only searched in the header.
std::string_view line_with(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = text.rfind('\n', at), end = text.find('\n', at);
  const std::size_t first = begin == std::string_view::npos ? 0 : begin + 1;
  return text.substr(first, end == std::string_view::npos ? end : end - first);
}

// Maps the file, so that traces larger than memory can be read.
MappedFile mapped(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    throw Error(path + ": is not a regular file; expected " + std::string(kKnown));
  return MappedFile(path);
}

// Medians exclude disturbances of single launches, so on a busy machine the kernels' medians add up to less than the
// run; their means still add up to its mean.
void note_disturbance(documents::Measured& measured) {
  constexpr double kNotable = 1.1;
  double medians = 0, means = 0;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    if (!kernel.seconds || !kernel.spread) return;
    medians += *kernel.seconds;
    means += kernel.spread->mean;
  }
  if (means > kNotable * medians)
    measured.notes.push_back("the runs were disturbed: the kernels' means add up to " +
                             std::to_string(std::llround(100 * means / medians)) + " % of their medians");
}

std::string_view content(const MappedFile& file) {
  const auto bytes = file.bytes();
  // The file is read once, front to back: enables read-ahead, which MappedFile does not by itself.
  base::expect_order(bytes, base::PageOrder::Sequential);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The first option that does not apply to the format, as pagoda-import spells it; empty: none.
std::string refusal(ProfileFormat format, const ImportOptions& options) {
  const auto is = [&](std::initializer_list<ProfileFormat> formats) {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  using enum ProfileFormat;
  if (!options.layer_info.empty() && !is({TensorRt})) return "--layers needs a profile of TensorRT (tensorrt)";
  if (!options.chip.empty() && !is({Ncu})) return "--chip needs metrics of Nsight Compute (ncu)";
  if (options.runs && !is({Ncu, Kineto, Rocprof, Nsys}))
    return "--runs needs a file that does not say how often the model ran (ncu, kineto, rocprof, nsys)";
  if (options.warmup && is({TensorRt, Jetson, Measured})) return "--warmup needs a file with several runs of the model";
  return "";
}

documents::Measured import_as(ProfileFormat format, std::string_view text, std::string_view subject,
                              const ImportOptions& options) {
  switch (format) {
    case ProfileFormat::OnnxRuntime:
      return import::import_ort(text, subject, options);
    case ProfileFormat::TensorRt: {
      if (options.layer_info.empty()) return import::import_tensorrt(text, subject, "", "");
      const MappedFile layers = mapped(options.layer_info);
      return import::import_tensorrt(text, subject, content(layers), options.layer_info);
    }
    case ProfileFormat::Ncu:
      return import::import_ncu(text, subject, options);
    case ProfileFormat::Kineto:
      return import::import_kineto(text, subject, options);
    case ProfileFormat::Measured:
      return documents::parse_measured(text, subject);
    case ProfileFormat::Rocprof:
      return import::import_rocprof(text, subject, options);
    case ProfileFormat::Nsys:
      return import::import_nsys(text, subject, options);
    case ProfileFormat::Jetson:
      break;
  }
  return import::import_jetson(text, subject);
}

}  // namespace

std::string_view to_string(ProfileFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

std::optional<ProfileFormat> profile_format(std::string_view name) {
  const auto found = std::find(kFormats.begin(), kFormats.end(), name);
  if (found == kFormats.end()) return std::nullopt;
  return static_cast<ProfileFormat>(found - kFormats.begin());
}

std::optional<ProfileFormat> recognise_profile(std::string_view text) {
  constexpr std::size_t kEnough = std::size_t{1} << 16;
  const std::string_view head = text.substr(0, kEnough);
  const std::size_t begin = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (begin == std::string_view::npos) return std::nullopt;
  if (head[begin] == '[') {
    if (has(head, "\"Session\"") || has(head, "_kernel_time\"")) return ProfileFormat::OnnxRuntime;
    if (has(head, "\"timeMs\"") || has(head, "\"averageMs\"")) return ProfileFormat::TensorRt;
    if (has(head, "\"cpu_op\"") || has(head, "\"cuda_runtime\"")) return ProfileFormat::Kineto;
    return std::nullopt;
  }
  if (head[begin] == '{') {
    if (has(head, "\"pagoda.measured/1\"")) return ProfileFormat::Measured;
    // kineto writes schemaVersion and deviceProperties before the events, which may be beyond the head.
    if (has(head, "\"traceEvents\"") || has(head, "\"schemaVersion\"")) return ProfileFormat::Kineto;
    return std::nullopt;
  }
  if (const std::string_view row = line_with(head, "Kernel_Name"); has(row, "Start_Timestamp") && has(row, ","))
    return ProfileFormat::Rocprof;
  if (const std::string_view row = line_with(head, "KernelName"); has(row, "BeginNs")) return ProfileFormat::Rocprof;
  if (const std::string_view row = line_with(head, "CorrId"); has(row, "Duration (") && has(row, "Name"))
    return ProfileFormat::Nsys;
  if (has(line_with(head, "Kernel Name"), "ID")) return ProfileFormat::Ncu;
  const std::string_view header = line_with(head, "observed_time");
  if (has(header, "cores") && has(header, "observed_power")) return ProfileFormat::Jetson;
  return std::nullopt;
}

documents::Measured import_profile(std::string_view text, std::string_view subject, const ImportOptions& options) {
  if (const std::string wrong = wrong_kind(text); !wrong.empty())
    throw Error(std::string(subject) + ": " + wrong + "; expected " + std::string(kKnown));
  const std::optional<ProfileFormat> format = options.format ? options.format : recognise_profile(text);
  if (!format) {
    const bool is_layers = has(text.substr(0, 4096), "\"Layers\"");
    throw Error(std::string(subject) + ": " +
                (is_layers
                     ? "is layer information of TensorRT, which holds no times; give the file of --exportProfile, "
                       "and this one with --layers"
                     : "is in no known format; expected " + std::string(kKnown)));
  }
  if (const std::string problem = refusal(*format, options); !problem.empty())
    throw Error(std::string(subject) + ": it is a file of format " + std::string(to_string(*format)) + ", and " +
                problem);
  documents::Measured measured = import_as(*format, text, subject, options);
  note_disturbance(measured);
  return measured;
}

documents::Measured load_profile(const std::string& path, const ImportOptions& options) {
  const MappedFile file = mapped(path);
  return import_profile(content(file), path, options);
}

}  // namespace pagoda::measured
