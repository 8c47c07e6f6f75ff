// Reads calibration files of serving engines, and provides the built-in ones.
#include "pagoda/documents/serving.h"

#include "calibration_json.h"
#include "embedded.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/text.h"
#include "schema_json.h"

namespace pagoda::documents {
namespace {

using base::JsonField;

constexpr std::string_view kServingSchema = "pagoda.serving-calibration/1";

// A coefficient: cycles, an exponent or a fraction of a rate.
double coefficient(const JsonField& kernel, const char* key) { return kernel.at(key).positive(); }

ServingKernels::Product product(const JsonField& kernel) {
  kernel.only(
      {"launch_cycles", "feed", "bandwidth", "small", "norm", "tile_cycles", "ramp_cycles", "unit_cycles_per_byte"});
  return {.launch_cycles = coefficient(kernel, "launch_cycles"),
          .feed = kernel.at("feed").amount(),
          .bandwidth = coefficient(kernel, "bandwidth"),
          .small = coefficient(kernel, "small"),
          .norm = coefficient(kernel, "norm"),
          .tile_cycles = coefficient(kernel, "tile_cycles"),
          .ramp_cycles = coefficient(kernel, "ramp_cycles"),
          .unit_cycles_per_byte = kernel.at("unit_cycles_per_byte").amount()};
}

ServingKernels::Kernel kernel(const JsonField& json) {
  json.only({"launch_cycles", "feed", "bandwidth", "norm"});
  return {.launch_cycles = coefficient(json, "launch_cycles"),
          .feed = json.at("feed").amount(),
          .bandwidth = coefficient(json, "bandwidth"),
          .norm = coefficient(json, "norm")};
}

ServingKernels read_kernels(const JsonField& kernels) {
  kernels.only({"small", "products", "products_float8", "prefill_attention", "decode_attention", "mixtures",
                "all_reduces", "ring_all_reduces", "collectives"});
  ServingKernels result;
  const JsonField small = kernels.at("small");
  small.only({"seconds"});
  result.small_seconds = coefficient(small, "seconds");
  result.products = product(kernels.at("products"));
  result.products_float8 = product(kernels.at("products_float8"));
  result.prefill_attention = kernel(kernels.at("prefill_attention"));
  result.mixtures = kernel(kernels.at("mixtures"));
  const JsonField decode = kernels.at("decode_attention");
  decode.only({"launch_cycles", "bandwidth", "unit_cycles_per_byte", "per_block_cycles", "block_cycles_per_byte",
               "split_cycles"});
  result.decode_attention = {.launch_cycles = coefficient(decode, "launch_cycles"),
                             .bandwidth = coefficient(decode, "bandwidth"),
                             .unit_cycles_per_byte = decode.at("unit_cycles_per_byte").amount(),
                             .per_block_cycles = coefficient(decode, "per_block_cycles")};
  if (decode.find("block_cycles_per_byte")) {
    result.decode_attention.block_cycles_per_byte = coefficient(decode, "block_cycles_per_byte");
    result.decode_attention.split_cycles = coefficient(decode, "split_cycles");
  }
  const JsonField reduces = kernels.at("all_reduces");
  reduces.only({"one_shot_cycles", "one_shot", "two_shot_cycles", "two_shot", "in_switch_cycles", "in_switch"});
  result.all_reduces = {coefficient(reduces, "one_shot_cycles"), coefficient(reduces, "one_shot"),
                        coefficient(reduces, "two_shot_cycles"), coefficient(reduces, "two_shot")};
  if (reduces.find("in_switch")) {
    result.all_reduces.in_switch_cycles = coefficient(reduces, "in_switch_cycles");
    result.all_reduces.in_switch = coefficient(reduces, "in_switch");
  }
  const JsonField rings = kernels.at("ring_all_reduces");
  rings.only({"launch_cycles", "hop_cycles", "bandwidth"});
  result.ring_all_reduces = {coefficient(rings, "launch_cycles"), coefficient(rings, "hop_cycles"),
                             coefficient(rings, "bandwidth")};
  const JsonField others = kernels.at("collectives");
  others.only({"launch_cycles", "bandwidth"});
  result.collectives = {coefficient(others, "launch_cycles"), coefficient(others, "bandwidth")};
  return result;
}

}  // namespace

ServingCalibration parse_serving_calibration(std::string_view json, std::string_view subject) {
  const base::JsonDocument parsed = base::parse_json(json, subject, "expected schema " + std::string(kServingSchema));
  const JsonField document = parsed.root();
  document.only({"schema", "id", "regime", "source", "devices", "inline_codes", "kernels", "sets", "powers", "fitted",
                 "left_out", "interval"});
  require_schema(document, kServingSchema);
  ServingCalibration result;
  result.id = document.at("id").text();
  result.regime = document.at("regime").text();
  result.source = document.at("source").text();
  result.devices = document.at("devices").texts();
  if (const auto codes = document.find("inline_codes")) result.inline_codes = codes->texts();
  result.kernels = read_kernels(document.at("kernels"));
  for (const JsonField& set : document.array("sets")) {
    set.only({"device", "compute_capabilities", "kernels"});
    result.sets.push_back({.device = set.at("device").text(),
                           .compute_capabilities = set.at("compute_capabilities").texts(),
                           .kernels = read_kernels(set.at("kernels"))});
  }
  if (document.find("powers"))
    for (const JsonField& power : document.array("powers")) {
      power.only({"device", "compute_capabilities", "watts", "flops_per_second", "flops_per_cycle"});
      result.powers.push_back({.device = power.at("device").text(),
                               .compute_capabilities = power.at("compute_capabilities").texts(),
                               .watts = power.at("watts").positive(),
                               .flops_per_second = power.at("flops_per_second").positive(),
                               .flops_per_cycle = power.at("flops_per_cycle").positive()});
    }
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
