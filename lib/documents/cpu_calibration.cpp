#include "pagoda/documents/cpu_calibration.h"

#include "calibration_json.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using base::JsonWriter;

constexpr std::string_view kCpuCalibrationSchema = "pagoda.cpu-calibration/1";

struct CpuCoefficient {
  const char* name;
  double CpuCoefficients::*member;
  bool is_of_products = false;
  bool is_newer = false;  // files of version 1.0 lack it
};
constexpr CpuCoefficient kCpuCoefficients[] = {
    {"start_seconds", &CpuCoefficients::start_seconds, false, true},
    {"flops_per_second", &CpuCoefficients::flops_per_second, true},
    {"bytes_per_second", &CpuCoefficients::bytes_per_second},
    {"rows", &CpuCoefficients::rows, true},
    {"width", &CpuCoefficients::width, false, true},
    {"depth", &CpuCoefficients::depth, true},
    {"line", &CpuCoefficients::line, true, true},
    {"overlap", &CpuCoefficients::overlap, true, true},
};

// Floats in a block of channels: MlasNchwcGetBlockSize() of ONNX Runtime is 16, 8 or 4; 0 without blocks.
bool is_block(double channels) { return channels == 0 || channels == 4 || channels == 8 || channels == 16; }

constexpr double kLongestLaunch = 0.01;  // s; a kernel's launch takes microseconds

struct Figure {
  const char* name;
  double CpuCalibration::*member;
  bool is_error = true;
};
constexpr Figure kFigures[] = {
    {"models", &CpuCalibration::models, false},  {"families", &CpuCalibration::families, false},
    {"mean_error", &CpuCalibration::mean_error}, {"median_error", &CpuCalibration::median_error},
    {"p90_error", &CpuCalibration::p90_error},
};

}  // namespace

CpuCalibrationFile parse_cpu_calibration(std::string_view json, std::string_view subject) {
  const base::JsonDocument parsed =
      base::parse_json(json, subject, "expected the file that pagoda-calibrate --here wrote");
  const JsonField root = parsed.root();
  if (parsed.schema() != kCpuCalibrationSchema)
    base::fail(subject, "has schema \"" + parsed.schema() + "\"; expected " + std::string(kCpuCalibrationSchema) +
                            ", as pagoda-calibrate --here writes it");
  CpuCalibrationFile file;
  file.engine = root.at("engine").text();
  if (file.engine != "onnxruntime-cpu") root.at("engine").fail_expected("onnxruntime-cpu");
  CpuCalibration& fitted = file.fitted;
  fitted.id = root.at("id").text();
  fitted.regime = root.at("regime").text();
  fitted.threads = static_cast<int>(root.count("threads", 1));
  const JsonField block = root.at("channel_block");
  if (!is_block(block.amount())) block.fail_expected("0 (none), 4, 8 or 16");
  fitted.channel_block = static_cast<int>(block.amount());
  fitted.launch_seconds = root.at("launch_seconds").amount();
  if (fitted.launch_seconds > kLongestLaunch) root.at("launch_seconds").fail_expected("seconds, below 0.01");
  fitted.memory_bytes_per_second = root.at("memory_bytes_per_second").positive();
  fitted.cache_bytes = root.at("cache_bytes").amount();
  const auto classes = root.at("classes").members();
  for (const auto& [name, values] : classes) {
    const auto kind = cpu_kernel_class(name);
    if (!kind) values.fail("no such class of kernels");
    for (const CpuCoefficient& each : kCpuCoefficients)
      if (is_product(*kind) || !each.is_of_products)
        fitted.classes[static_cast<std::size_t>(*kind)].*each.member =
            each.is_newer ? values.amount(each.name).value_or(CpuCoefficients{}.*each.member)
                          : values.at(each.name).amount();
  }
  for (const CpuKernelClass needed : {CpuKernelClass::Product, CpuKernelClass::Copy}) {
    const CpuCoefficients& c = fitted.classes[static_cast<std::size_t>(needed)];
    if (is_product(needed) ? c.flops_per_second <= 0 : c.bytes_per_second <= 0)
      root.at("classes").fail("has no rate of \"" + std::string(to_string(needed)) +
                              "\", which every calibration has; measure again by pagoda-calibrate --here");
  }
  fill_unmeasured(fitted);  // classes that the version that wrote the file did not have
  if (const auto apart = root.object("apart")) {  // added later
    CpuApart& found = fitted.apart.emplace();
    found.machine.launch_seconds = fitted.launch_seconds;
    found.share = apart->at("share").amount();
    if (found.share > 1) apart->at("share").fail_expected("a share, at most 1");
    found.machine.handoff_bytes_per_second = apart->at("handoff_bytes_per_second").positive();
    found.machine.memory_bytes_per_second = apart->at("memory_bytes_per_second").positive();
    found.machine.cache_bytes = apart->at("cache_bytes").amount();
    found.machine.cache_speed = apart->at("cache_speed").positive();
    found.runs = apart->at("runs").amount();
    found.mean_error = apart->at("mean_error").amount();
  }
  const JsonField interval = root.at("interval");
  fitted.coverage = interval.at("coverage").amount();
  fitted.interval = factors(interval);
  const JsonField unseen = root.at("unseen_families");
  for (const Figure& figure : kFigures) fitted.*figure.member = unseen.amount(figure.name).value_or(0);
  for (const JsonField& run : root.array("runs"))
    file.runs.push_back(
        {run.at("name").text(), run.at("family").text(), run.at("seconds").positive(), run.amount("predicted")});
  file.ceilings = root.at("ceilings").value().dump();
  file.device = parse_device(file.ceilings, std::string(subject) + ": ceilings");
  return file;
}

CpuCalibrationFile load_cpu_calibration(const std::string& path) {
  return parse_cpu_calibration(base::read_file(path, "a calibration of this machine"), path);
}

std::string to_json(const CpuCalibrationFile& file) {
  const CpuCalibration& fitted = file.fitted;
  const auto line = JsonWriter::Layout::Line;
  JsonWriter json(JsonWriter::Style::Plain);
  json.begin_object().member("schema", kCpuCalibrationSchema).member("id", fitted.id).member("engine", file.engine);
  json.member("regime", fitted.regime).member("threads", fitted.threads);
  json.member("channel_block", fitted.channel_block).member("launch_seconds", rounded(fitted.launch_seconds));
  json.member("memory_bytes_per_second", rounded(fitted.memory_bytes_per_second));
  json.member("cache_bytes", fitted.cache_bytes).key("classes").begin_object();
  for (std::size_t i = 0; i < kCpuKernelClasses; ++i) {
    const auto kind = static_cast<CpuKernelClass>(i);
    if (kind == CpuKernelClass::Small) continue;  // has only the launch cost
    json.key(to_string(kind)).begin_object(line);
    for (const CpuCoefficient& each : kCpuCoefficients)
      if (is_product(kind) || !each.is_of_products) json.member(each.name, rounded(fitted.classes[i].*each.member));
    json.end_object();
  }
  json.end_object();
  if (const auto& apart = fitted.apart)
    json.key("apart")
        .begin_object(line)
        .member("share", rounded(apart->share))
        .member("handoff_bytes_per_second", rounded(apart->machine.handoff_bytes_per_second))
        .member("memory_bytes_per_second", rounded(apart->machine.memory_bytes_per_second))
        .member("cache_bytes", rounded(apart->machine.cache_bytes))
        .member("cache_speed", rounded(apart->machine.cache_speed))
        .member("runs", apart->runs)
        .member("mean_error", rounded(apart->mean_error))
        .end_object();
  json.key("interval").begin_object(line).member("coverage", fitted.coverage);
  json.member("low", fitted.interval ? std::optional(rounded(fitted.interval->low)) : std::nullopt);
  json.member("high", fitted.interval ? std::optional(rounded(fitted.interval->high)) : std::nullopt).end_object();
  json.key("unseen_families").begin_object(line);
  for (const Figure& figure : kFigures) {  // without models, errors are not known
    const bool is_known = !figure.is_error || fitted.models > 0;
    json.member(figure.name, is_known ? std::optional(rounded(fitted.*figure.member)) : std::nullopt);
  }
  json.end_object().key("runs").begin_array();
  for (const CpuCalibrationRun& run : file.runs)
    json.begin_object(line)
        .member("name", run.name)
        .member("family", run.family)
        .member("seconds", rounded(run.seconds))
        .member("predicted", run.predicted ? std::optional(rounded(*run.predicted)) : std::nullopt)
        .end_object();
  json.end_array();
  embed_ceilings(json, file.ceilings);
  json.end_object();
  return std::move(json).text();
}

}  // namespace pagoda::documents
