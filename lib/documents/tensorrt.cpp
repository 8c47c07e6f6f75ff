// Reads and writes calibration files of TensorRT, and provides the built-in ones.
#include "pagoda/documents/tensorrt.h"

#include <array>
#include <utility>

#include "calibration_json.h"
#include "embedded.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"
#include "schema_json.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using base::JsonWriter;

constexpr std::string_view kTensorRtSchema = "pagoda.tensorrt-calibration/1";

constexpr std::array<std::pair<const char*, double TensorRtCalibration::*>, 9> kTensorRtCoefficients = {{
    {"launch_cycles", &TensorRtCalibration::launch_cycles},
    {"light_launch_cycles", &TensorRtCalibration::light_launch_cycles},
    {"compute", &TensorRtCalibration::compute},
    {"narrow", &TensorRtCalibration::narrow},
    {"attention", &TensorRtCalibration::attention},
    {"bandwidth", &TensorRtCalibration::bandwidth},
    {"l2", &TensorRtCalibration::l2},
    {"sustained", &TensorRtCalibration::sustained},
    {"narrow_per_joule", &TensorRtCalibration::narrow_per_joule},
}};
void write_errors(JsonWriter& json, const char* key, const std::vector<TensorRtErrors>& list) {
  json.key(key).begin_array();
  for (const TensorRtErrors& errors : list)
    json.begin_object()
        .member("of", errors.of)
        .member("runs", errors.runs)
        .member("mean_error", rounded(errors.mean))
        .member("median_error", rounded(errors.median))
        .member("bias", rounded(errors.bias))
        .end_object();
  json.end_array();
}

}  // namespace

TensorRtCalibrationFile parse_tensorrt_calibration(std::string_view json, std::string_view subject) {
  const base::JsonDocument parsed = base::parse_json(json, subject, "expected schema " + std::string(kTensorRtSchema));
  const JsonField document = parsed.root();
  document.only(
      {"schema", "id", "regime", "source", "devices", "coefficients", "fitted", "left_out", "pairs", "interval", "ceilings"});
  require_schema(document, kTensorRtSchema);
  TensorRtCalibrationFile file;
  TensorRtCalibration& result = file.fitted;
  result.id = document.at("id").text();
  result.regime = document.at("regime").text();
  result.source = document.at("source").text();
  result.devices = document.at("devices").texts();
  for (const auto& [key, place] : kTensorRtCoefficients) result.*place = document.at("coefficients").at(key).positive();
  if (!document.at("interval").value().is_null()) result.interval = claimed_interval(document, result.coverage);
  if (document.has("ceilings"))
    file.device = parse_device(document.at("ceilings").value().dump(), std::string(subject) + ": ceilings");
  return file;
}

TensorRtCalibrationFile load_tensorrt_calibration(const std::string& path) {
  return parse_tensorrt_calibration(base::read_file(path, "a calibration of TensorRT"), path);
}

std::string to_json(const TensorRtFit& fit, const std::string& ceilings) {
  const TensorRtCalibration& calibration = fit.calibration;
  JsonWriter json(JsonWriter::Style::Plain);
  json.begin_object()
      .member("schema", kTensorRtSchema)
      .member("id", calibration.id)
      .member("regime", calibration.regime);
  json.member("source", calibration.source).key("devices").begin_array();
  for (const std::string& device : calibration.devices) json.value(device);
  json.end_array().key("coefficients").begin_object();
  for (const auto& [key, place] : kTensorRtCoefficients) json.member(key, rounded(calibration.*place));
  json.end_object();
  write_errors(json, "fitted", fit.fitted);
  write_errors(json, "left_out", fit.left_out);
  json.key("pairs").begin_object().member("compared", fit.pairs).member("right", fit.pairs_right).end_object();
  json.key("interval");
  if (const auto& interval = calibration.interval)
    json.begin_object()
        .member("coverage", calibration.coverage)
        .member("low", rounded(interval->low))
        .member("high", rounded(interval->high))
        .end_object();
  else
    json.null();
  if (!ceilings.empty()) embed_ceilings(json, ceilings);
  json.end_object();
  return std::move(json).text();
}

std::vector<std::string> tensorrt_calibration_ids() { return ids_of(tensorrt_files()); }

TensorRtCalibration tensorrt_calibration(std::string_view id) {
  return parse_tensorrt_calibration(embedded_text(tensorrt_files(), id, "calibration of TensorRT"),
                                    "calibration " + std::string(id))
      .fitted;
}

}  // namespace pagoda::documents
