// pagoda.result/1 to and from values.
#include <algorithm>
#include <array>

#include "pagoda/base/json_fields.h"
#include "pagoda/base/settings_json.h"
#include "pagoda/documents/result.h"

namespace pagoda {
namespace {

using bench::dump;
using bench::Json;
using bench::settings_from;
using bench::to_json;
using import::integer;
using import::member;
using import::number;
using import::text;

constexpr const char* kSchema = "pagoda.result/1";
constexpr std::array<std::string_view, 6> kStatuses = {"ok",     "failed",       "timeout", "out_of_memory",
                                                       "killed", "not_available"};
constexpr std::array<std::string_view, 8> kCodes = {
    "PASS",          "FAIL",          "NO_REFERENCE", "REFERENCE_FAILED", "UNSUPPORTED_OUTPUT",
    "COUNT_DIFFERS", "SHAPES_DIFFER", "NON_FINITE"};

template <typename T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
Json maybe(const std::string& value) { return value.empty() ? Json() : Json(value); }

Json to_json(const Timing& timing) {
  const Latency& l = timing.latency;
  Json latency = {{"n", l.n},
                  {"p50", l.p50},
                  {"p95", l.p95},
                  {"p99", l.p99},
                  {"mean", l.mean},
                  {"std", l.std},
                  {"min", l.min},
                  {"max", l.max},
                  {"converged", l.converged},
                  {"samples", l.samples},
                  {"ci95", Json()},
                  {"unit", "s"}};
  if (l.ci95) latency["ci95"] = *l.ci95;
  return latency;
}

Json to_json(const Interference& i) {
  return {{"steal_seconds", maybe(i.steal_seconds)},
          {"load", maybe(i.load)},
          {"clock_hz_before", maybe(i.clock_hz_before)},
          {"clock_hz_after", maybe(i.clock_hz_after)},
          {"temperature_celsius", maybe(i.temperature_celsius)},
          {"throttle", i.throttle}};
}

Json to_json(const Verification& v) {
  return {{"code", to_string(v.code)},
          {"reference", v.reference},
          {"mean_relative_error", maybe(v.error)},
          {"threshold", v.threshold},
          {"detail", maybe(v.detail)}};
}

template <std::size_t N>
std::size_t index_of(const std::array<std::string_view, N>& names, const std::string& name, const std::string& place) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) import::fail(place, "found \"" + name + "\", which is none of those known");
  return static_cast<std::size_t>(it - names.begin());
}

bool truth(const Json& object, const char* name) {
  const Json* value = member(object, name);
  return value && value->is_boolean() && value->get<bool>();
}

double amount(const Json& object, const char* name, const std::string& place) {
  const auto value = number(object, name, place);
  if (!value) import::fail(place, std::string(name) + ": expected a number");
  return *value;
}

Timing timing_from(const Json& root, const Json& latency, const std::string& place) {
  Timing timing;
  Latency& l = timing.latency;
  l.n = integer(latency, "n", place).value_or(0);
  constexpr std::pair<const char*, double Latency::*> kFields[] = {
      {"p50", &Latency::p50}, {"p95", &Latency::p95}, {"p99", &Latency::p99}, {"mean", &Latency::mean},
      {"std", &Latency::std}, {"min", &Latency::min}, {"max", &Latency::max}};
  for (const auto& [name, field] : kFields) l.*field = amount(latency, name, place);
  l.converged = truth(latency, "converged");
  if (const Json* interval = member(latency, "ci95"); interval && interval->is_array() && interval->size() == 2)
    l.ci95 = std::array{(*interval)[0].get<double>(), (*interval)[1].get<double>()};
  if (const Json* samples = member(latency, "samples"); samples && samples->is_array())
    for (const Json& sample : *samples)
      if (sample.is_number()) l.samples.push_back(sample.get<double>());
  timing.first_call_seconds = number(root, "first_call_seconds", place).value_or(0);
  if (const Json* warmup = member(root, "warmup"); warmup && warmup->is_object()) {
    timing.warmup_iterations = integer(*warmup, "iterations", place).value_or(0);
    timing.warmup_seconds = number(*warmup, "seconds", place).value_or(0);
    timing.settled = truth(*warmup, "settled");
  }
  return timing;
}

Verification verification_from(const Json& object, const std::string& place) {
  Verification v;
  v.code = static_cast<VerificationCode>(index_of(kCodes, text(object, "code", place), place + ".code"));
  v.reference = text(object, "reference", place);
  v.error = number(object, "mean_relative_error", place);
  v.threshold = amount(object, "threshold", place);
  v.detail = text(object, "detail", place);
  return v;
}

Interference interference_from(const Json& object, const std::string& place) {
  return {.steal_seconds = number(object, "steal_seconds", place),
          .load = number(object, "load", place),
          .clock_hz_before = number(object, "clock_hz_before", place),
          .clock_hz_after = number(object, "clock_hz_after", place),
          .temperature_celsius = number(object, "temperature_celsius", place),
          .throttle = import::texts(object, "throttle", place)};
}

std::optional<int> small_integer(const Json& object, const char* name, const std::string& place) {
  const auto value = integer(object, name, place);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

}  // namespace

std::string_view to_string(ResultStatus status) { return kStatuses[static_cast<std::size_t>(status)]; }
std::string_view to_string(VerificationCode code) { return kCodes[static_cast<std::size_t>(code)]; }

std::string write_result(const Result& r) {
  Json json = {
      {"schema", kSchema},
      {"key", r.key},
      {"config", to_json(r.config)},
      {"status", to_string(r.status)},
      {"reason", maybe(r.reason)},
      {"stderr", maybe(r.stderr_tail)},
      {"exit_code", maybe(r.exit_code)},
      {"signal", maybe(r.signal)},
      {"latency", Json()},
      {"clock", maybe(r.clock)},
      {"first_call_seconds", Json()},
      {"warmup", Json()},
      {"items", maybe(r.items)},
      {"items_per_second", Json()},
      {"load_seconds", maybe(r.load_seconds)},
      {"compile_seconds", maybe(r.compile_seconds)},
      {"memory", {{"host_peak_bytes", maybe(r.host_peak_bytes)}, {"device_peak_bytes", maybe(r.device_peak_bytes)}}},
      {"energy", {{"joules", maybe(r.energy_joules)}, {"source", maybe(r.energy_source)}}},
      {"interference", to_json(r.interference)},
      {"verification", r.verification ? to_json(*r.verification) : Json()},
      {"layers", Json::array()},
      {"wall_seconds", r.wall_seconds},
      {"metadata", to_json(r.metadata)}};
  if (r.timing) {
    json["latency"] = to_json(*r.timing);
    json["first_call_seconds"] = r.timing->first_call_seconds;
    json["warmup"] = {{"iterations", r.timing->warmup_iterations},
                      {"seconds", r.timing->warmup_seconds},
                      {"settled", r.timing->settled}};
    if (r.items && r.timing->latency.p50 > 0) json["items_per_second"] = *r.items / r.timing->latency.p50;
  }
  for (const LayerTime& layer : r.layers)
    json["layers"].push_back({{"name", layer.name},
                              {"op_type", maybe(layer.op_type)},
                              {"seconds", maybe(layer.seconds)},
                              {"facts", to_json(layer.facts)},
                              {"note", maybe(layer.note)}});
  return dump(json);
}

Result parse_result(std::string_view source, std::string_view subject) {
  const std::string place(subject);
  const Json root = import::parse_json(source, subject, "a result of schema pagoda.result/1");
  if (!root.is_object() || text(root, "schema", place) != kSchema)
    throw Error(place + ": no result; expected schema " + kSchema);
  Result r;
  r.key = text(root, "key", place);
  const Json* config = member(root, "config");
  if (r.key.empty() || !config) throw Error(place + ": a result without key or config");
  r.config = settings_from(*config, place + ": config");
  r.status = static_cast<ResultStatus>(index_of(kStatuses, text(root, "status", place), place + ": status"));
  r.reason = text(root, "reason", place);
  r.stderr_tail = text(root, "stderr", place);
  r.exit_code = small_integer(root, "exit_code", place);
  r.signal = small_integer(root, "signal", place);
  if (const Json* latency = member(root, "latency"); latency && latency->is_object())
    r.timing = timing_from(root, *latency, place + ": latency");
  r.clock = text(root, "clock", place);
  r.items = number(root, "items", place);
  r.load_seconds = number(root, "load_seconds", place);
  r.compile_seconds = number(root, "compile_seconds", place);
  if (const Json* memory = member(root, "memory"); memory && memory->is_object()) {
    r.host_peak_bytes = number(*memory, "host_peak_bytes", place);
    r.device_peak_bytes = number(*memory, "device_peak_bytes", place);
  }
  if (const Json* energy = member(root, "energy"); energy && energy->is_object()) {
    r.energy_joules = number(*energy, "joules", place);
    r.energy_source = text(*energy, "source", place);
  }
  if (const Json* object = member(root, "interference"); object && object->is_object())
    r.interference = interference_from(*object, place + ": interference");
  if (const Json* object = member(root, "verification"); object && object->is_object())
    r.verification = verification_from(*object, place + ": verification");
  if (const Json* layers = member(root, "layers"); layers && layers->is_array())
    for (const Json& object : *layers) {
      LayerTime layer{.name = text(object, "name", place),
                      .op_type = text(object, "op_type", place),
                      .seconds = number(object, "seconds", place),
                      .facts = {},
                      .note = text(object, "note", place)};
      if (const Json* facts = member(object, "facts")) layer.facts = settings_from(*facts, place + ": layers: facts");
      r.layers.push_back(std::move(layer));
    }
  r.wall_seconds = number(root, "wall_seconds", place).value_or(0);
  if (const Json* metadata = member(root, "metadata")) r.metadata = settings_from(*metadata, place + ": metadata");
  return r;
}

}  // namespace pagoda
