// pagoda.result/1 to and from values.
#include <algorithm>
#include <array>

#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/result.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using base::JsonWriter;

constexpr const char* kResultSchema = "pagoda.result/1";
constexpr std::array<std::string_view, 6> kResultStatuses = {"ok",     "failed",       "timeout", "out_of_memory",
                                                             "killed", "not_available"};
constexpr std::array<std::string_view, 8> kCodes = {
    "PASS",          "FAIL",          "NO_REFERENCE", "REFERENCE_FAILED", "UNSUPPORTED_OUTPUT",
    "COUNT_DIFFERS", "SHAPES_DIFFER", "NON_FINITE"};

// Members are in alphabetical order.
void write(JsonWriter& json, const base::Latency& l) {
  json.begin_object().member("ci95", l.ci95).member("converged", l.converged).member("max", l.max);
  json.member("mean", l.mean).member("min", l.min).member("n", l.n);
  json.member("p50", l.p50).member("p95", l.p95).member("p99", l.p99);
  json.member("samples", l.samples).member("std", l.std).member("unit", "s").end_object();
}

void write(JsonWriter& json, const Interference& i) {
  json.begin_object().member("clock_hz_after", i.clock_hz_after).member("clock_hz_before", i.clock_hz_before);
  json.member("handoff_seconds", i.handoff_seconds).member("load", i.load).member("steal_seconds", i.steal_seconds);
  json.member("temperature_celsius", i.temperature_celsius).member("throttle", i.throttle).end_object();
}

void write(JsonWriter& json, const RunEnergy& e) {
  json.begin_object().member("joules", e.joules).member("period_seconds", e.period_seconds);
  json.key("rails").begin_array();
  for (const RailPower& rail : e.rails)
    json.begin_object()
        .member("counted", rail.is_counted)
        .member("name", rail.name)
        .member("watts", rail.watts)
        .end_object();
  json.end_array().member("samples", e.samples).member_or_null("source", e.source);
  json.member("watts", e.watts).end_object();
}

void write(JsonWriter& json, const Verification& v) {
  json.begin_object().member("code", to_string(v.code)).member_or_null("detail", v.detail);
  json.member("mean_relative_error", v.error).member("reference", v.reference);
  json.member("threshold", v.threshold).end_object();
}

void write(JsonWriter& json, const LayerTime& layer) {
  json.begin_object().member("facts", layer.facts).member("name", layer.name).member_or_null("note", layer.note);
  json.member_or_null("op_type", layer.op_type).member("seconds", layer.seconds).end_object();
}

void write(JsonWriter& json, const InputTensor& input) {
  json.begin_object().member("name", input.name).member("shape", input.shape).member("type", input.type).end_object();
}

std::vector<InputTensor> inputs_from(const JsonField& list) {
  std::vector<InputTensor> inputs;
  for (const JsonField& entry : list.array()) {
    InputTensor input{.name = entry.text("name"), .type = entry.text("type"), .shape = {}};
    for (const JsonField& size : entry.array("shape")) input.shape.push_back(size.integer());
    inputs.push_back(std::move(input));
  }
  return inputs;
}

template <std::size_t N>
std::size_t index_of(const std::array<std::string_view, N>& names, const JsonField& field) {
  const auto it = std::find(names.begin(), names.end(), field.text());
  if (it == names.end()) field.fail("found \"" + field.text() + "\", which is not a known value");
  return static_cast<std::size_t>(it - names.begin());
}

base::Timing timing_from(const JsonField& root, const JsonField& latency) {
  base::Timing timing;
  base::Latency& l = timing.latency;
  l.n = latency.integer("n").value_or(0);
  constexpr std::pair<const char*, double base::Latency::*> kFields[] = {
      {"p50", &base::Latency::p50},   {"p95", &base::Latency::p95}, {"p99", &base::Latency::p99},
      {"mean", &base::Latency::mean}, {"std", &base::Latency::std}, {"min", &base::Latency::min},
      {"max", &base::Latency::max}};
  for (const auto& [name, field] : kFields) l.*field = latency.at(name).number();
  l.converged = latency.truth("converged");
  if (latency.find("ci95")) {
    const std::vector<JsonField> ends = latency.array("ci95");
    if (ends.size() != 2) latency.at("ci95").fail_expected("two numbers");
    l.ci95 = std::array{ends[0].number(), ends[1].number()};
  }
  if (latency.find("samples"))
    for (const JsonField& sample : latency.array("samples")) l.samples.push_back(sample.number());
  timing.first_call_seconds = root.number("first_call_seconds").value_or(0);
  if (const auto warmup = root.object("warmup")) {
    timing.warmup_iterations = warmup->integer("iterations").value_or(0);
    timing.warmup_seconds = warmup->number("seconds").value_or(0);
    timing.settled = warmup->truth("settled");
  }
  return timing;
}

Verification verification_from(const JsonField& object) {
  Verification v;
  v.code = static_cast<VerificationCode>(index_of(kCodes, object.at("code")));
  v.reference = object.text("reference");
  v.error = object.number("mean_relative_error");
  v.threshold = object.at("threshold").number();
  v.detail = object.text("detail");
  return v;
}

Interference interference_from(const JsonField& object) {
  std::vector<double> handoffs;
  if (object.find("handoff_seconds"))  // added later
    for (const JsonField& each : object.array("handoff_seconds")) handoffs.push_back(each.number());
  return {.steal_seconds = object.number("steal_seconds"),
          .load = object.number("load"),
          .clock_hz_before = object.number("clock_hz_before"),
          .clock_hz_after = object.number("clock_hz_after"),
          .temperature_celsius = object.number("temperature_celsius"),
          .throttle = object.texts("throttle"),
          .handoff_seconds = std::move(handoffs)};
}

RunEnergy energy_from(const JsonField& object) {
  RunEnergy energy{.joules = object.number("joules"),
                   .watts = object.number("watts"),
                   .source = object.text("source"),
                   .samples = object.integer("samples"),
                   .period_seconds = object.number("period_seconds")};
  if (object.find("rails"))
    for (const JsonField& rail : object.array("rails"))
      energy.rails.push_back(
          {.name = rail.text("name"), .watts = rail.number("watts"), .is_counted = rail.truth("counted")});
  return energy;
}

std::optional<int> small_integer(const JsonField& object, const char* name) {
  const auto value = object.integer(name);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

}  // namespace

std::string_view to_string(ResultStatus status) { return kResultStatuses[static_cast<std::size_t>(status)]; }
std::string_view to_string(VerificationCode code) { return kCodes[static_cast<std::size_t>(code)]; }

std::string to_string(const InputTensor& input) {
  return input.name + ":" + input.type + "[" +
         base::joined(input.shape, ",", [](std::int64_t size) { return std::to_string(size); }) + "]";
}

std::string write_result(const Result& r) {
  JsonWriter json(JsonWriter::Style::Plain);
  const auto part = [&](const char* key, const auto* value) {
    json.key(key);
    value ? write(json, *value) : void(json.null());
  };
  const auto* timing = r.timing ? &*r.timing : nullptr;
  json.begin_object(JsonWriter::Layout::Compact).member_or_null("clock", r.clock);
  json.member("compile_seconds", r.compile_seconds).member("config", r.config);
  json.key("energy");
  write(json, r.energy);
  json.member("exit_code", r.exit_code);
  json.member("first_call_seconds", timing ? std::optional(timing->first_call_seconds) : std::nullopt);
  json.key("inputs").begin_array();
  for (const InputTensor& input : r.inputs) write(json, input);
  json.end_array();
  part("interference", &r.interference);
  json.member("items", r.items);
  json.member("items_per_second", timing && r.items && timing->latency.p50 > 0
                                      ? std::optional(*r.items / timing->latency.p50)
                                      : std::nullopt);
  json.member("key", r.key);
  part("latency", timing ? &timing->latency : nullptr);
  json.key("layers").begin_array();
  for (const LayerTime& layer : r.layers) write(json, layer);
  json.end_array().member("load_seconds", r.load_seconds);
  json.key("memory").begin_object().member("device_peak_bytes", r.device_peak_bytes);
  json.member("host_peak_bytes", r.host_peak_bytes).end_object();
  json.member("metadata", r.metadata).member_or_null("reason", r.reason).member("schema", kResultSchema);
  json.member("signal", r.signal).member("status", to_string(r.status)).member_or_null("stderr", r.stderr_tail);
  part("verification", r.verification ? &*r.verification : nullptr);
  json.member("wall_seconds", r.wall_seconds).key("warmup");
  if (timing)
    json.begin_object()
        .member("iterations", timing->warmup_iterations)
        .member("seconds", timing->warmup_seconds)
        .member("settled", timing->settled)
        .end_object();
  else
    json.null();
  json.end_object();
  return std::move(json).line();
}

Result parse_result(std::string_view source, std::string_view subject) {
  const base::JsonDocument document = base::parse_json(source, subject, "expected a result of schema pagoda.result/1");
  const JsonField root = document.root();
  if (document.schema() != kResultSchema) root.fail(std::string("no result; expected schema ") + kResultSchema);
  Result r;
  r.key = root.text("key");
  if (r.key.empty() || !root.find("config")) root.fail("a result without key or config");
  r.config = root.at("config").settings();
  r.status = static_cast<ResultStatus>(index_of(kResultStatuses, root.at("status")));
  r.reason = root.text("reason");
  r.stderr_tail = root.text("stderr");
  r.exit_code = small_integer(root, "exit_code");
  r.signal = small_integer(root, "signal");
  if (const auto latency = root.object("latency")) r.timing = timing_from(root, *latency);
  r.clock = root.text("clock");
  r.items = root.number("items");
  r.load_seconds = root.number("load_seconds");
  r.compile_seconds = root.number("compile_seconds");
  if (const auto memory = root.object("memory")) {
    r.host_peak_bytes = memory->number("host_peak_bytes");
    r.device_peak_bytes = memory->number("device_peak_bytes");
  }
  if (const auto energy = root.object("energy")) {
    r.energy = energy_from(*energy);
  }
  if (const auto inputs = root.find("inputs")) r.inputs = inputs_from(*inputs);
  if (const auto object = root.object("interference")) r.interference = interference_from(*object);
  if (const auto object = root.object("verification")) r.verification = verification_from(*object);
  if (root.find("layers"))
    for (const JsonField& layer : root.array("layers"))
      r.layers.push_back({.name = layer.text("name"),
                          .op_type = layer.text("op_type"),
                          .seconds = layer.number("seconds"),
                          .facts = layer.find("facts") ? layer.at("facts").settings() : base::Settings(),
                          .note = layer.text("note")});
  r.wall_seconds = root.number("wall_seconds").value_or(0);
  if (const auto metadata = root.find("metadata")) r.metadata = metadata->settings();
  return r;
}

}  // namespace pagoda::documents
