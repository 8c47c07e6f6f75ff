// pagoda.result/1 to and from values.
#include <algorithm>
#include <array>

#include "pagoda/base/json_fields.h"
#include "pagoda/base/settings_json.h"
#include "pagoda/documents/result.h"

namespace pagoda::documents {
namespace {

using base::dump;
using base::integer;
using base::Json;
using base::member;
using base::number;
using base::settings_from;
using base::text;
using base::to_json;

constexpr const char* kSchema = "pagoda.result/1";
constexpr std::array<std::string_view, 6> kStatuses = {"ok",     "failed",       "timeout", "out_of_memory",
                                                       "killed", "not_available"};
constexpr std::array<std::string_view, 8> kCodes = {
    "PASS",          "FAIL",          "NO_REFERENCE", "REFERENCE_FAILED", "UNSUPPORTED_OUTPUT",
    "COUNT_DIFFERS", "SHAPES_DIFFER", "NON_FINITE"};

template <typename T>
base::Json maybe(const std::optional<T>& value) {
  return value ? base::Json(*value) : base::Json();
}
base::Json maybe(const std::string& value) { return value.empty() ? base::Json() : base::Json(value); }

base::Json to_json(const base::Timing& timing) {
  const base::Latency& l = timing.latency;
  base::Json latency = {{"n", l.n},
                        {"p50", l.p50},
                        {"p95", l.p95},
                        {"p99", l.p99},
                        {"mean", l.mean},
                        {"std", l.std},
                        {"min", l.min},
                        {"max", l.max},
                        {"converged", l.converged},
                        {"samples", l.samples},
                        {"ci95", base::Json()},
                        {"unit", "s"}};
  if (l.ci95) latency["ci95"] = *l.ci95;
  return latency;
}

base::Json to_json(const Interference& i) {
  return {{"steal_seconds", maybe(i.steal_seconds)},
          {"load", maybe(i.load)},
          {"clock_hz_before", maybe(i.clock_hz_before)},
          {"clock_hz_after", maybe(i.clock_hz_after)},
          {"temperature_celsius", maybe(i.temperature_celsius)},
          {"throttle", i.throttle}};
}

base::Json to_json(const Verification& v) {
  return {{"code", to_string(v.code)},
          {"reference", v.reference},
          {"mean_relative_error", maybe(v.error)},
          {"threshold", v.threshold},
          {"detail", maybe(v.detail)}};
}

template <std::size_t N>
std::size_t index_of(const std::array<std::string_view, N>& names, const std::string& name, const std::string& place) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) base::fail(place, "found \"" + name + "\", which is none of those known");
  return static_cast<std::size_t>(it - names.begin());
}

bool truth(const base::Json& object, const char* name) {
  const base::Json* value = base::member(object, name);
  return value && value->is_boolean() && value->get<bool>();
}

double amount(const base::Json& object, const char* name, const std::string& place) {
  const auto value = base::number(object, name, place);
  if (!value) base::fail(place, std::string(name) + ": expected a number");
  return *value;
}

base::Timing timing_from(const base::Json& root, const base::Json& latency, const std::string& place) {
  base::Timing timing;
  base::Latency& l = timing.latency;
  l.n = base::integer(latency, "n", place).value_or(0);
  constexpr std::pair<const char*, double base::Latency::*> kFields[] = {
      {"p50", &base::Latency::p50},   {"p95", &base::Latency::p95}, {"p99", &base::Latency::p99},
      {"mean", &base::Latency::mean}, {"std", &base::Latency::std}, {"min", &base::Latency::min},
      {"max", &base::Latency::max}};
  for (const auto& [name, field] : kFields) l.*field = amount(latency, name, place);
  l.converged = truth(latency, "converged");
  if (const base::Json* interval = base::member(latency, "ci95");
      interval && interval->is_array() && interval->size() == 2)
    l.ci95 = std::array{(*interval)[0].get<double>(), (*interval)[1].get<double>()};
  if (const base::Json* samples = base::member(latency, "samples"); samples && samples->is_array())
    for (const base::Json& sample : *samples)
      if (sample.is_number()) l.samples.push_back(sample.get<double>());
  timing.first_call_seconds = base::number(root, "first_call_seconds", place).value_or(0);
  if (const base::Json* warmup = base::member(root, "warmup"); warmup && warmup->is_object()) {
    timing.warmup_iterations = base::integer(*warmup, "iterations", place).value_or(0);
    timing.warmup_seconds = base::number(*warmup, "seconds", place).value_or(0);
    timing.settled = truth(*warmup, "settled");
  }
  return timing;
}

Verification verification_from(const base::Json& object, const std::string& place) {
  Verification v;
  v.code = static_cast<VerificationCode>(index_of(kCodes, base::text(object, "code", place), place + ".code"));
  v.reference = base::text(object, "reference", place);
  v.error = base::number(object, "mean_relative_error", place);
  v.threshold = amount(object, "threshold", place);
  v.detail = base::text(object, "detail", place);
  return v;
}

Interference interference_from(const base::Json& object, const std::string& place) {
  return {.steal_seconds = base::number(object, "steal_seconds", place),
          .load = base::number(object, "load", place),
          .clock_hz_before = base::number(object, "clock_hz_before", place),
          .clock_hz_after = base::number(object, "clock_hz_after", place),
          .temperature_celsius = base::number(object, "temperature_celsius", place),
          .throttle = base::texts(object, "throttle", place)};
}

std::optional<int> small_integer(const base::Json& object, const char* name, const std::string& place) {
  const auto value = base::integer(object, name, place);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

}  // namespace

std::string_view to_string(ResultStatus status) { return kStatuses[static_cast<std::size_t>(status)]; }
std::string_view to_string(VerificationCode code) { return kCodes[static_cast<std::size_t>(code)]; }

std::string write_result(const Result& r) {
  base::Json json = {
      {"schema", kSchema},
      {"key", r.key},
      {"config", to_json(r.config)},
      {"status", to_string(r.status)},
      {"reason", maybe(r.reason)},
      {"stderr", maybe(r.stderr_tail)},
      {"exit_code", maybe(r.exit_code)},
      {"signal", maybe(r.signal)},
      {"latency", base::Json()},
      {"clock", maybe(r.clock)},
      {"first_call_seconds", base::Json()},
      {"warmup", base::Json()},
      {"items", maybe(r.items)},
      {"items_per_second", base::Json()},
      {"load_seconds", maybe(r.load_seconds)},
      {"compile_seconds", maybe(r.compile_seconds)},
      {"memory", {{"host_peak_bytes", maybe(r.host_peak_bytes)}, {"device_peak_bytes", maybe(r.device_peak_bytes)}}},
      {"energy", {{"joules", maybe(r.energy_joules)}, {"source", maybe(r.energy_source)}}},
      {"interference", to_json(r.interference)},
      {"verification", r.verification ? to_json(*r.verification) : base::Json()},
      {"layers", base::Json::array()},
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
  return base::dump(json);
}

Result parse_result(std::string_view source, std::string_view subject) {
  const std::string place(subject);
  const base::Json root = base::parse_json(source, subject, "a result of schema pagoda.result/1");
  if (!root.is_object() || text(root, "schema", place) != kSchema)
    throw Error(place + ": no result; expected schema " + kSchema);
  Result r;
  r.key = base::text(root, "key", place);
  const base::Json* config = base::member(root, "config");
  if (r.key.empty() || !config) throw Error(place + ": a result without key or config");
  r.config = base::settings_from(*config, place + ": config");
  r.status = static_cast<ResultStatus>(index_of(kStatuses, base::text(root, "status", place), place + ": status"));
  r.reason = base::text(root, "reason", place);
  r.stderr_tail = base::text(root, "stderr", place);
  r.exit_code = small_integer(root, "exit_code", place);
  r.signal = small_integer(root, "signal", place);
  if (const base::Json* latency = base::member(root, "latency"); latency && latency->is_object())
    r.timing = timing_from(root, *latency, place + ": latency");
  r.clock = base::text(root, "clock", place);
  r.items = base::number(root, "items", place);
  r.load_seconds = base::number(root, "load_seconds", place);
  r.compile_seconds = base::number(root, "compile_seconds", place);
  if (const base::Json* memory = base::member(root, "memory"); memory && memory->is_object()) {
    r.host_peak_bytes = base::number(*memory, "host_peak_bytes", place);
    r.device_peak_bytes = base::number(*memory, "device_peak_bytes", place);
  }
  if (const base::Json* energy = base::member(root, "energy"); energy && energy->is_object()) {
    r.energy_joules = base::number(*energy, "joules", place);
    r.energy_source = base::text(*energy, "source", place);
  }
  if (const base::Json* object = base::member(root, "interference"); object && object->is_object())
    r.interference = interference_from(*object, place + ": interference");
  if (const base::Json* object = base::member(root, "verification"); object && object->is_object())
    r.verification = verification_from(*object, place + ": verification");
  if (const base::Json* layers = base::member(root, "layers"); layers && layers->is_array())
    for (const base::Json& object : *layers) {
      LayerTime layer{.name = base::text(object, "name", place),
                      .op_type = base::text(object, "op_type", place),
                      .seconds = base::number(object, "seconds", place),
                      .facts = {},
                      .note = base::text(object, "note", place)};
      if (const base::Json* facts = base::member(object, "facts"))
        layer.facts = base::settings_from(*facts, place + ": layers: facts");
      r.layers.push_back(std::move(layer));
    }
  r.wall_seconds = base::number(root, "wall_seconds", place).value_or(0);
  if (const base::Json* metadata = base::member(root, "metadata"))
    r.metadata = base::settings_from(*metadata, place + ": metadata");
  return r;
}

}  // namespace pagoda::documents
