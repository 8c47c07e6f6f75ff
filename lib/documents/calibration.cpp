// Reads and writes calibration files, and provides the built-in ones. An unknown key is an error that names it.
#include <cmath>

#include "calibration_json.h"
#include "embedded.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "schema_json.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using base::JsonWriter;

constexpr std::string_view kCalibrationSchema = "pagoda.calibration/1";

// The member "engine", whose products have the precision that "precision" states; both may be left out.
EagerEngine engine_of(const JsonField& document) {
  EagerEngine engine;
  if (document.has("engine")) {
    const JsonField json = document.at("engine");
    try {
      engine = eager_engine(json.text());
    } catch (const Error& error) {
      json.fail(error.what());
    }
  }
  if (document.has("precision") && document.at("precision").text() != to_string(engine.products))
    document.at("precision").fail_expected(std::string(to_string(engine.products)) + ", of " + std::string(engine.id));
  return engine;
}

HostCosts host_costs(const JsonField& json) {
  HostCosts costs;
  json.only({"run", "shape", "node", "kernel", "product", "convolution"});
  for (const HostCost& each : kHostCosts) costs.*each.member = at_least(json, each.name);
  if (costs.kernel == 0) json.at("kernel").fail("found 0; expected a number above 0, or no host_seconds");
  return costs;
}

}  // namespace

CalibrationFile parse_calibration(std::string_view json, std::string_view subject) {
  const base::JsonDocument parsed =
      base::parse_json(json, subject, "expected schema " + std::string(kCalibrationSchema));
  const JsonField document = parsed.root();
  document.only({"schema", "id", "engine", "precision", "regime", "ceilings", "source", "launch", "host_seconds",
                 "norm", "classes", "shortest_kernel_seconds", "interval", "devices", "layouts", "unseen_families"});
  require_schema(document, kCalibrationSchema);
  CalibrationFile file;
  Calibration& result = file.fitted;
  result.id = document.at("id").text();
  result.engine = engine_of(document);
  if (document.has("ceilings")) {
    file.ceilings = document.at("ceilings").value().dump();
    file.device = parse_device(file.ceilings, std::string(subject) + ": ceilings");
  }
  result.regime = document.at("regime").text();
  result.source = document.at("source").text();
  result.launch = at_least(document, "launch");
  if (document.has("host_seconds")) result.host = host_costs(document.at("host_seconds"));
  result.norm = at_least(document, "norm", 1);
  result.shortest_kernel_seconds = at_least(document, "shortest_kernel_seconds");

  const auto classes = document.at("classes").members();
  for (const auto& [name, json_class] : classes) {
    const auto kind = kernel_class(name);
    if (!kind) json_class.fail("no such class of kernels");
    json_class.only({"work", "bytes", "rows", "width", "depth"});
    ClassCoefficients& c = result.classes[static_cast<std::size_t>(*kind)];
    c.bytes = at_least(json_class, "bytes");
    const Place rate = place_of(*kind);
    if (rate != Place::Memory) c.work = at_least(json_class, "work");
    if (rate == Place::Tensor) {
      c.width = at_least(json_class, "width");
      c.depth = at_least(json_class, "depth");
      c.rows = json_class.amount("rows").value_or(0);
    }
  }
  if (classes.size() != kKernelClasses)
    document.at("classes").fail("found " + std::to_string(classes.size()) + " classes of kernels; expected all " +
                                std::to_string(kKernelClasses));

  result.devices = document.at("devices").texts();
  result.layouts = document.at("layouts").texts();

  const JsonField interval = document.at("interval");
  interval.only({"coverage", "low", "high", "elsewhere"});
  result.coverage = at_least(interval, "coverage");
  result.interval = factors(interval);
  if (interval.has("elsewhere")) {
    const JsonField elsewhere = interval.at("elsewhere");
    elsewhere.only({"low", "high", "judge"});
    result.elsewhere = factors(elsewhere);
    result.judge = elsewhere.at("judge").text();
  }
  if (result.coverage >= 1) interval.at("coverage").fail_expected("a number below 1");

  const JsonField unseen = document.at("unseen_families");
  unseen.only({"models", "families", "mean_error", "median_error", "p90_error", "rank_correlation"});
  result.models = at_least(unseen, "models");
  result.families = at_least(unseen, "families");
  result.mean_error = at_least(unseen, "mean_error");
  result.median_error = at_least(unseen, "median_error");
  result.p90_error = at_least(unseen, "p90_error");
  result.rank_correlation = at_least(unseen, "rank_correlation", -1);
  return file;
}

CalibrationFile load_calibration(const std::string& path) {
  return parse_calibration(base::read_file(path, "a calibration file"), path);
}

std::string to_json(const CalibrationFile& file) {
  const Calibration& calibration = file.fitted;
  JsonWriter json(JsonWriter::Style::Plain);
  const auto texts = [&](const char* key, const std::vector<std::string>& items) {
    json.key(key).begin_array();
    for (const std::string& item : items) json.value(item);
    json.end_array();
  };
  json.begin_object().member("schema", kCalibrationSchema).member("id", calibration.id);
  json.member("engine", calibration.engine.id).member("precision", to_string(calibration.engine.products));
  json.member("regime", calibration.regime);
  json.member("source", calibration.source);
  texts("devices", calibration.devices);
  texts("layouts", calibration.layouts);
  json.member("launch", rounded(calibration.launch));
  if (calibration.host.is_known()) {
    json.key("host_seconds").begin_object(JsonWriter::Layout::Line);
    for (const HostCost& each : kHostCosts) json.member(each.name, rounded(calibration.host.*each.member));
    json.end_object();
  }
  json.member("norm", rounded(calibration.norm));
  json.key("classes").begin_object();
  for (std::size_t i = 0; i < kKernelClasses; ++i) {
    const ClassCoefficients& c = calibration.classes[i];
    const auto kind = static_cast<KernelClass>(i);
    json.key(to_string(kind)).begin_object().member("bytes", rounded(c.bytes));
    if (place_of(kind) != Place::Memory) json.member("work", rounded(c.work));
    if (c.rows > 0) json.member("rows", rounded(c.rows));
    if (place_of(kind) == Place::Tensor) json.member("width", rounded(c.width)).member("depth", rounded(c.depth));
    json.end_object();
  }
  json.end_object().member("shortest_kernel_seconds", rounded(calibration.shortest_kernel_seconds));
  const auto& interval = calibration.interval;
  json.key("interval").begin_object().member("coverage", calibration.coverage);
  json.member("low", interval ? std::optional(rounded(interval->low)) : std::nullopt);
  json.member("high", interval ? std::optional(rounded(interval->high)) : std::nullopt);
  if (const auto& elsewhere = calibration.elsewhere) {
    json.key("elsewhere").begin_object().member("low", rounded(elsewhere->low));
    json.member("high", rounded(elsewhere->high)).member("judge", calibration.judge).end_object();
  }
  json.end_object().key("unseen_families").begin_object();
  json.member("models", std::llround(calibration.models)).member("families", std::llround(calibration.families));
  json.member("mean_error", rounded(calibration.mean_error));
  json.member("median_error", rounded(calibration.median_error)).member("p90_error", rounded(calibration.p90_error));
  json.member("rank_correlation", rounded(calibration.rank_correlation)).end_object();
  if (!file.ceilings.empty()) embed_ceilings(json, file.ceilings);
  json.end_object();
  return std::move(json).text();
}

std::vector<std::string> calibration_ids() { return ids_of(calibration_files()); }

Calibration calibration(std::string_view id) {
  return parse_calibration(embedded_text(calibration_files(), id, "calibration"), "calibration " + std::string(id))
      .fitted;
}

}  // namespace pagoda::documents
