// Calibrations of serving engines as files: reading, and those compiled in.
#include "pagoda/documents/serving.h"

#include "calibration_json.h"
#include "embedded.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/text.h"

namespace pagoda::documents {
namespace {

using base::JsonField;

constexpr std::string_view kSchema = "pagoda.serving-calibration/1";

// A coefficient: cycles, a power or a part of a rate.
double coefficient(const JsonField& kernel, const char* key) { return kernel.at(key).positive(); }

ServingCalibration::Product product(const JsonField& kernel) {
  kernel.only({"launch_cycles", "compute", "bandwidth", "narrow", "small", "norm", "depth"});
  return {.launch_cycles = coefficient(kernel, "launch_cycles"),
          .compute = coefficient(kernel, "compute"),
          .bandwidth = coefficient(kernel, "bandwidth"),
          .narrow = coefficient(kernel, "narrow"),
          .small = coefficient(kernel, "small"),
          .norm = coefficient(kernel, "norm"),
          .depth = coefficient(kernel, "depth")};
}

ServingCalibration::Kernel kernel(const JsonField& json) {
  json.only({"launch_cycles", "compute", "bandwidth", "norm"});
  return {.launch_cycles = coefficient(json, "launch_cycles"),
          .compute = coefficient(json, "compute"),
          .bandwidth = coefficient(json, "bandwidth"),
          .norm = coefficient(json, "norm")};
}

void read_kernels(const JsonField& kernels, ServingCalibration& result) {
  kernels.only({"products", "products_float8", "prefill_attention", "decode_attention", "mixtures", "all_reduces",
                "collectives"});
  result.products = product(kernels.at("products"));
  result.products_float8 = product(kernels.at("products_float8"));
  result.prefill_attention = kernel(kernels.at("prefill_attention"));
  result.mixtures = kernel(kernels.at("mixtures"));
  const JsonField decode = kernels.at("decode_attention");
  decode.only({"launch_cycles", "bandwidth", "per_head_cycles"});
  result.decode_attention = {coefficient(decode, "launch_cycles"), coefficient(decode, "bandwidth"),
                             coefficient(decode, "per_head_cycles")};
  const JsonField reduces = kernels.at("all_reduces");
  reduces.only({"one_shot_cycles", "one_shot", "two_shot_cycles", "two_shot"});
  result.all_reduces = {coefficient(reduces, "one_shot_cycles"), coefficient(reduces, "one_shot"),
                        coefficient(reduces, "two_shot_cycles"), coefficient(reduces, "two_shot")};
  const JsonField others = kernels.at("collectives");
  others.only({"launch_cycles", "bandwidth"});
  result.collectives = {coefficient(others, "launch_cycles"), coefficient(others, "bandwidth")};
}

}  // namespace

ServingCalibration parse_serving_calibration(std::string_view json, std::string_view subject) {
  const base::JsonDocument parsed = base::parse_json(json, subject, "expected schema " + std::string(kSchema));
  const JsonField document = parsed.root();
  document.only({"schema", "id", "regime", "source", "devices", "kernels", "fitted", "left_out", "interval"});
  require_schema(document, kSchema);
  ServingCalibration result;
  result.id = document.at("id").text();
  result.regime = document.at("regime").text();
  result.source = document.at("source").text();
  result.devices = document.at("devices").texts();
  read_kernels(document.at("kernels"), result);
  result.interval = claimed_interval(document, result.coverage);
  return result;
}

ServingCalibration load_serving_calibration(const std::string& path) {
  return parse_serving_calibration(base::read_file(path, "a calibration of a serving engine"), path);
}

std::vector<std::string> serving_calibration_ids() { return ids_of(serving_files()); }

ServingCalibration serving_calibration(std::string_view id) {
  return parse_serving_calibration(embedded_text(serving_files(), id, "calibration of serving engines"),
                                   "calibration " + std::string(id));
}

}  // namespace pagoda::documents
