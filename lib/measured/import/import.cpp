// The table of importers, the choice of one for a text, and mapped files.
#include "pagoda/measured/import.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "import/formats.h"
#include "import/runs.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/decoded.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/open_file.h"
#include "pagoda/base/text.h"
#include "pagoda/base/what_file.h"
#include "pagoda/core/model.h"

namespace pagoda::measured {
namespace {

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// The first line that contains `word`, so that other columns are only searched in the header.
std::string_view line_with(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = text.find_last_of("\r\n", at), end = text.find_first_of("\r\n", at);
  const std::size_t first = begin == std::string_view::npos ? 0 : begin + 1;
  return text.substr(first, end == std::string_view::npos ? end : end - first);
}

// The text of a file: mapped, so that traces larger than memory can be read, or in memory if it comes from standard
// input, a pipe or a compressed file.
class Content {
 public:
  explicit Content(const std::string& path) {
    const auto found = base::file_state(path);
    if (!found || found->kind != base::FileKind::Regular) {
      text_ = base::read_file(path, known_profiles(), base::kMostDecompressed, base::Reads::Profile);
    } else {
      file_.emplace(path);
      // Read-ahead, which MappedFile does not enable by itself, helps since importers read front to back once.
      base::expect_order(file_->bytes(), base::PageOrder::Sequential);
    }
    if (std::optional<std::string> plain = base::decoded(text(), path)) {
      text_ = *std::move(plain);
      file_.reset();
    }
  }
  std::string_view text() const {
    if (!file_) return text_;
    return {reinterpret_cast<const char*>(file_->bytes().data()), file_->bytes().size()};
  }

 private:
  std::optional<MappedFile> file_;
  std::string text_;
};

// How a format is recognised: a text begins with `first` and contains the words. A table contains them in its first
// line with `line`.
struct Signature {
  ProfileFormat format;
  char first;  // 0: any other, as in a table
  std::string_view line;
  std::array<std::string_view, 2> words;
};
// The first row that fits decides.
// clang-format off
constexpr Signature kSignatures[] = {
    {ProfileFormat::OnnxRuntime, '[', "",              {"\"Session\""}},
    {ProfileFormat::OnnxRuntime, '[', "",              {"_kernel_time\""}},
    {ProfileFormat::TensorRt,    '[', "",              {"\"timeMs\""}},
    {ProfileFormat::TensorRt,    '[', "",              {"\"averageMs\""}},
    {ProfileFormat::Kineto,      '[', "",              {"\"cpu_op\""}},
    {ProfileFormat::Kineto,      '[', "",              {"\"cuda_runtime\""}},
    {ProfileFormat::Kineto,      '[', "",              {"\"CPU functions\""}},  // without Kineto: refused
    {ProfileFormat::Measured,    '{', "",              {"\"pagoda.measured/1\""}},
    {ProfileFormat::OnnxRuntime, '{', "",              {"\"traceEvents\"", "_kernel_time\""}},  // saved by a viewer
    {ProfileFormat::OnnxRuntime, '{', "",              {"\"traceEvents\"", "\"session_initialization\""}},
    {ProfileFormat::Kineto,      '{', "",              {"\"traceEvents\""}},
    {ProfileFormat::Kineto,      '{', "",              {"\"schemaVersion\""}},  // the events may be beyond the head
    {ProfileFormat::Nsys,        0,   "Kernel Name",   {"DevId"}},
    {ProfileFormat::Nsys,        0,   "Kernel Name",   {"QCount"}},
    {ProfileFormat::Ncu,         0,   "Kernel Name",   {"ID"}},
    {ProfileFormat::Rocprof,     0,   "Kernel_Name",   {"Start_Timestamp"}},
    {ProfileFormat::Rocprof,     0,   "KernelName",    {"Index"}},
    {ProfileFormat::Rocprof,     0,   "KernelName",    {"BeginNs"}},
    {ProfileFormat::Rocprof,     0,   "TotalDurationNs", {"Calls"}},
    {ProfileFormat::Nsys,        0,   "CorrId",        {"Duration", "Name"}},
    {ProfileFormat::Nsys,        0,   "Total Time",    {"Time"}},  // sums of kernels, or another report
    {ProfileFormat::Jetson,      0,   "observed_time", {"cores", "observed_power"}},
};
// clang-format on

// Whether a cell of a header begins with the word.
bool has_cell(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1))
    if (at == 0 || std::string_view(",;\t\"").find(line[at - 1]) != std::string_view::npos || word.empty()) return true;
  return false;
}

bool fits(const Signature& signature, std::string_view head) {
  const bool is_json = head.front() == '[' || head.front() == '{';
  if (signature.first != (is_json ? head.front() : 0)) return false;
  const auto holds = is_json ? has : has_cell;
  if (!is_json) head = line_with(head, signature.line);
  return !head.empty() && holds(head, signature.words[0]) && holds(head, signature.words[1]);
}

documents::Measured import_layers(std::string_view text, std::string_view subject, const ImportOptions& options) {
  if (options.layer_info.empty()) return import::import_tensorrt(text, subject, "", "");
  const Content layers(options.layer_info);
  base::expect_file(layers.text(), options.layer_info, base::Reads::Json, "layer information of TensorRT");
  return import::import_tensorrt(text, subject, layers.text(), options.layer_info);
}

documents::Measured read_measured(std::string_view text, std::string_view subject, const ImportOptions& /*options*/) {
  return documents::parse_measured(text, subject);
}

// Options that only some formats take, as bits of Importer::takes.
constexpr unsigned kLayers = 1, kChip = 2, kRuns = 4, kWarmup = 8;

struct OptionRule {
  unsigned option;
  bool (*is_given)(const ImportOptions&);
  std::string_view needs;  // the beginning of the refusal; the formats that take it follow
};

constexpr OptionRule kOptionRules[] = {
    {kLayers, [](const ImportOptions& given) { return !given.layer_info.empty(); },
     "`layers` needs a profile of TensorRT"},
    {kChip, [](const ImportOptions& given) { return !given.chip.empty(); }, "`chip` needs metrics of Nsight Compute"},
    {kRuns, [](const ImportOptions& given) { return given.runs.has_value(); },
     "`runs` needs a file that does not say how often the model ran"},
    {kWarmup, [](const ImportOptions& given) { return given.warmup.has_value(); },
     "`warmup` needs a file with several runs of the model"},
};

struct Importer {
  ProfileFormat format;
  std::string_view name;   // as --format spells it
  std::string_view reads;  // as messages name the files, after "a profile of"
  documents::Measured (*read)(std::string_view text, std::string_view subject, const ImportOptions& options);
  unsigned takes;
};

// In the order of ProfileFormat.
// clang-format off
constexpr std::array<Importer, 8> kImporters = {{
    // format                     name        files                                 read by                   takes
    {ProfileFormat::OnnxRuntime, "ort",      "ONNX Runtime",                       import::import_ort,       kWarmup},
    {ProfileFormat::TensorRt,    "tensorrt", "TensorRT (trtexec --exportProfile)", import_layers,            kLayers},
    {ProfileFormat::Ncu,         "ncu",      "Nsight Compute (--csv --page raw)",  import::import_ncu,       kChip | kRuns | kWarmup},
    {ProfileFormat::Kineto,      "kineto",   "torch.profiler",                     import::import_kineto,    kRuns | kWarmup},
    {ProfileFormat::Rocprof,     "rocprof",  "rocprofv3 or rocprof-compute (CSV)", import::import_rocprof,   kRuns | kWarmup},
    {ProfileFormat::Nsys,        "nsys",     "Nsight Systems (nsys stats --report cuda_gpu_trace --format csv)",
                                                                                   import::import_nsys,      kRuns | kWarmup},
    {ProfileFormat::Jetson,      "jetson",   "a power-mode table",                 import::import_jetson,    0},
    {ProfileFormat::Measured,    "measured", "pagoda.measured/1",                  read_measured,            0},
}};
// clang-format on

constexpr bool in_order_of_formats() {
  for (std::size_t i = 0; i < kImporters.size(); ++i)
    if (static_cast<std::size_t>(kImporters[i].format) != i) return false;
  return true;
}
static_assert(in_order_of_formats(), "kImporters is indexed by ProfileFormat");

const Importer& importer_of(ProfileFormat format) { return kImporters[static_cast<std::size_t>(format)]; }

// Medians exclude disturbances of single launches, so on a busy machine the kernels' medians add up to less than the
// run; their means still add up to its mean. Runs of different sizes differ anyway, and have a note of their own.
void note_disturbance(documents::Measured& measured) {
  if (std::ranges::any_of(measured.notes,
                          [](const std::string& note) { return note.starts_with(import::kRunsOfSizes); }))
    return;
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

// The first option that does not apply to the format, as pagoda-import spells it; empty: none.
std::string refusal(const Importer& importer, const ImportOptions& options) {
  for (const OptionRule& rule : kOptionRules) {
    if (!rule.is_given(options) || (importer.takes & rule.option) != 0) continue;
    std::vector<std::string_view> takers;
    takers.reserve(kImporters.size());
    for (const Importer& other : kImporters)
      if ((other.takes & rule.option) != 0) takers.push_back(other.name);
    return std::string(rule.needs) + " (" + base::joined(takers) + ")";
  }
  return "";
}

}  // namespace

std::string_view to_string(ProfileFormat format) { return importer_of(format).name; }

std::optional<ProfileFormat> profile_format(std::string_view name) {
  for (const Importer& importer : kImporters)
    if (importer.name == name) return importer.format;
  return std::nullopt;
}

std::vector<std::string> profile_formats() {
  std::vector<std::string> names;
  names.reserve(kImporters.size());
  for (const Importer& importer : kImporters) names.emplace_back(importer.name);
  return names;
}

std::string known_profiles() {
  const std::span<const Importer> all = kImporters;
  return "a profile of " + base::joined(all.first(all.size() - 1), ", ", &Importer::reads) + ", or " +
         std::string(all.back().reads);
}

std::optional<ProfileFormat> recognise_profile(std::string_view text) {
  constexpr std::size_t kEnough = std::size_t{1} << 16;
  std::string_view head = text.substr(0, kEnough);
  const std::size_t begin = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (begin == std::string_view::npos) return std::nullopt;
  head.remove_prefix(begin);
  const auto* const found =
      std::ranges::find_if(kSignatures, [&](const Signature& signature) { return fits(signature, head); });
  return found == std::end(kSignatures) ? std::nullopt : std::optional(found->format);
}

documents::Measured import_profile(std::string_view text, std::string_view subject, const ImportOptions& options) {
  const std::optional<std::string> plain = base::decoded(text, subject);
  if (plain) text = *plain;
  const std::optional<ProfileFormat> format = options.format ? options.format : recognise_profile(text);
  if (!format) {
    if (text.empty())
      throw Error(std::string(subject) +
                  ": is empty; write or download it again: ONNX Runtime writes its profile when end_profiling() is "
                  "called, other profilers when the program has ended; expected " +
                  known_profiles());
    const base::WhatFile file = base::what_file(text, subject);
    if (file.form == base::FileForm::Json) (void)base::parse_json(text, subject, "expected " + known_profiles());
    const bool is_layers = has(text.substr(0, 4096), "\"Layers\"");
    throw Error(
        std::string(subject) + ": " +
        (is_layers
             ? "is layer information of TensorRT, which holds no times; give the file of --exportProfile, "
               "and this one with `layers`"
             : base::is_what(file, base::Reads::Profile) + "; expected " + known_profiles()));
  }
  base::expect_file(text, subject, base::Reads::Profile, known_profiles());  // --format takes any file
  const Importer& importer = importer_of(*format);
  if (const std::string problem = refusal(importer, options); !problem.empty())
    throw Error(std::string(subject) + ": it is a file of format " + std::string(importer.name) + ", and " + problem);
  documents::Measured measured = importer.read(text, subject, options);
  note_disturbance(measured);
  return measured;
}

documents::Measured load_profile(const std::string& path, const ImportOptions& options) {
  const Content file(path);
  return import_profile(file.text(), path, options);
}

}  // namespace pagoda::measured
