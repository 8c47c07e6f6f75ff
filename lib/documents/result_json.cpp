// pagoda.result/1 to and from values.
#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/archive.h"
#include "pagoda/documents/result.h"

namespace pagoda::documents {
namespace members {
template <>
inline constexpr ResultStatus kLast<ResultStatus> = ResultStatus::NotAvailable;
template <>
inline constexpr VerificationCode kLast<VerificationCode> = VerificationCode::NonFinite;
}  // namespace members
namespace {

using members::Layout;
using members::Reader;

constexpr const char* kResultSchema = "pagoda.result/1";
constexpr base::EnumNames<ResultStatus::NotAvailable> kResultStatuses("ok", "failed", "timeout", "out_of_memory",
                                                                      "killed", "not_available");
constexpr base::EnumNames<VerificationCode::NonFinite> kCodes("PASS", "FAIL", "NO_REFERENCE", "REFERENCE_FAILED",
                                                              "UNSUPPORTED_OUTPUT", "COUNT_DIFFERS", "SHAPES_DIFFER",
                                                              "NON_FINITE");

// Members are in alphabetical order.
template <typename A>
void latency(A& a, typename A::template Ref<base::Latency> l) {
  a("ci95", l.ci95);
  a("converged", l.converged);
  a.need("max", l.max);
  a.need("mean", l.mean);
  a.need("min", l.min);
  a("n", l.n);
  a.need("p50", l.p50);
  a.need("p95", l.p95);
  a.need("p99", l.p99);
  a("samples", l.samples);
  a.need("std", l.std);
  a.derived("unit", std::string("s"));
}

template <typename A>
void energy(A& a, typename A::template Ref<RunEnergy> e) {
  a("joules", e.joules);
  a("period_seconds", e.period_seconds);
  a.list("rails", e.rails, [](A& inner, auto& rail) {
    inner("counted", rail.is_counted);
    inner("name", rail.name);
    inner("watts", rail.watts);
  });
  a("samples", e.samples);
  a.text("source", e.source);
  a("watts", e.watts);
}

template <typename A>
void interference(A& a, typename A::template Ref<Interference> i) {
  a("clock_hz_after", i.clock_hz_after);
  a("clock_hz_before", i.clock_hz_before);
  a("handoff_seconds", i.handoff_seconds);
  a("load", i.load);
  a("steal_seconds", i.steal_seconds);
  a("temperature_celsius", i.temperature_celsius);
  a("throttle", i.throttle);
}

template <typename A>
void verification(A& a, typename A::template Ref<Verification> v) {
  a.need("code", v.code);
  a.text("detail", v.detail);
  a("mean_relative_error", v.error);
  a("reference", v.reference);
  a.need("threshold", v.threshold);
}

// Parts of the timing are null without one.
template <typename A, typename Part>
void timed(A& a, const char* key, typename A::template Ref<Result> r, const Part& part) {
  r.timing ? part(key, *r.timing) : a.derived(key, std::optional<double>());
}

template <typename A>
void result_members(A& a, typename A::template Ref<Result> r) {
  if constexpr (A::kReads) {
    if (a.has("latency")) r.timing.emplace();
  }
  a.text("clock", r.clock);
  a("compile_seconds", r.compile_seconds);
  a.required("config");
  a.settings("config", r.config);
  a.object("energy", Layout::Compact, [&](A& inner) { energy(inner, r.energy); });
  a("exit_code", r.exit_code);
  timed(a, "first_call_seconds", r, [&](const char* key, auto& timing) { a(key, timing.first_call_seconds); });
  a.list("inputs", r.inputs, [](A& inner, auto& input) {
    inner("name", input.name);
    inner.need("shape", input.shape);
    inner("type", input.type);
  });
  a.object("interference", Layout::Compact, [&](A& inner) { interference(inner, r.interference); });
  a("items", r.items);
  a.derived("items_per_second", r.timing && r.items && r.timing->latency.p50 > 0
                                    ? std::optional(*r.items / r.timing->latency.p50)
                                    : std::nullopt);
  a("key", r.key);
  timed(a, "latency", r, [&](const char* key, auto& timing) {
    a.object(key, Layout::Compact, [&](A& inner) { latency(inner, timing.latency); });
  });
  a.list("layers", r.layers, [](A& inner, auto& layer) {
    inner.settings("facts", layer.facts);
    inner("name", layer.name);
    inner.text("note", layer.note);
    inner.text("op_type", layer.op_type);
    inner("seconds", layer.seconds);
  });
  a("load_seconds", r.load_seconds);
  a.object("memory", Layout::Compact, [&](A& inner) {
    inner("device_peak_bytes", r.device_peak_bytes);
    inner("host_peak_bytes", r.host_peak_bytes);
  });
  a.settings("metadata", r.metadata);
  a.text("reason", r.reason);
  a.derived("schema", std::string(kResultSchema));
  a("signal", r.signal);
  a.need("status", r.status);
  a.text("stderr", r.stderr_tail);
  members::nullable(a, "verification", Layout::Compact, r.verification, verification<A>);
  a("wall_seconds", r.wall_seconds);
  timed(a, "warmup", r, [&](const char* key, auto& timing) {
    a.object(key, Layout::Compact, [&](A& inner) {
      inner("iterations", timing.warmup_iterations);
      inner("seconds", timing.warmup_seconds);
      inner("settled", timing.settled);
    });
  });
}

}  // namespace

std::string_view to_string(ResultStatus status) { return kResultStatuses[status]; }
std::string_view to_string(VerificationCode code) { return kCodes[code]; }

std::string to_string(const InputTensor& input) {
  const std::string sizes = base::joined(input.shape, ",", [](std::int64_t size) { return std::to_string(size); });
  return cat(input.name, ":", input.type, "[", sizes, "]");
}

std::string write_result(const Result& result) {
  base::JsonWriter json(base::JsonWriter::Style::Plain);
  members::Writer writer(json);
  json.begin_object(Layout::Compact);
  result_members(writer, result);
  json.end_object();
  return std::move(json).line();
}

Result parse_result(std::string_view source, std::string_view subject) {
  const base::JsonDocument parsed = base::parse_json(source, subject, "expected a result of schema pagoda.result/1");
  const base::JsonField root = parsed.root();
  if (parsed.schema() != kResultSchema) root.fail(std::string("no result; expected schema ") + kResultSchema);
  Result result;
  result.unknown = members::read(root, result, result_members<Reader>, Reader::Numbers::Any);
  if (result.key.empty() || !root.find("config")) root.fail("a result without key or config");
  return result;
}

}  // namespace pagoda::documents
