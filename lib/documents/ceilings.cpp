// pagoda.ceilings/1 to and from values, and the comparison of two runs.
#include <algorithm>
#include <cmath>

#include "device_json.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/files.h"
#include "pagoda/documents/archive.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/documents/result.h"

namespace pagoda::documents {
namespace members {
template <>
inline constexpr CeilingKind kLast<CeilingKind> = CeilingKind::Energy;
template <>
inline constexpr CeilingMode kLast<CeilingMode> = CeilingMode::Sustained;
}  // namespace members
namespace {

constexpr std::string_view kCeilingsSchema = "pagoda.ceilings/1";
constexpr base::EnumNames<CeilingKind::Energy> kCeilingKinds("compute", "bandwidth", "latency", "energy");
constexpr base::EnumNames<CeilingMode::Sustained> kModes("issue", "burst", "sustained");
constexpr base::EnumNames<CeilingStatus::Unavailable> kCeilingStatuses("ok", "not_converged", "contended", "ambiguous",
                                                                       "throttled", "impossible", "wrong_result",
                                                                       "unavailable");

using members::Layout;
using members::Reader;

// A status of a newer file counts as not converged, never as ok.
template <typename A>
void status(A& a, typename A::template Ref<CeilingStatus> x) {
  if constexpr (A::kReads) {
    std::string name(to_string(x));
    a("status", name);
    x = kCeilingStatuses.value(name).value_or(CeilingStatus::NotConverged);
  } else {
    a("status", x);
  }
}

template <typename A>
void ceiling(A& a, typename A::template Ref<Ceiling> c) {
  a.need("id", c.id);
  a.need("kind", c.kind);
  a("mode", c.mode);
  a.maybe("level", c.level);
  a.maybe("precision", c.precision);
  a.maybe("unit_type", c.unit_type);
  a.maybe("accumulate", c.accumulate);
  a.maybe("op", c.op);
  a.maybe("scope", c.scope);
  a.maybe("data", c.data);
  a("unit", c.unit);
  a("value", c.value);
  a("median", c.median);
  a("p5", c.p5);
  a("p95", c.p95);
  a("min", c.min);
  a("max", c.max);
  a("ci95", c.ci95);
  a.count("n", c.n);
  a.count("dropped", c.dropped);
  a("converged", c.converged);
  a("contended", c.contended);
  a("clock_hz", c.clock_hz);
  a("per_clock_unit", c.per_clock_unit);
  a("units", c.units);
  a("watts", c.watts);
  a("throttle", c.throttle);
  a.object("theory", Layout::Line, [&](A& inner) {
    inner("datasheet", c.theory.datasheet);
    inner("max_clock", c.theory.max_clock);
    inner("observed_clock", c.theory.observed_clock);
    inner.maybe("source", c.theory.source);
  });
  a.object("percent", Layout::Line, [&](A& inner) {
    inner.derived("datasheet", c.percent(c.theory.datasheet));
    inner.derived("max_clock", c.percent(c.theory.max_clock));
    inner.derived("observed_clock", c.percent(c.theory.observed_clock));
  });
  a("kernel", c.kernel);
  a.settings("config", c.config);
  a.maybe_settings("code", c.code);
  a.maybe_settings("counters", c.counters);
  status(a, c.status);
  if (A::kReads || c.pending) a("pending", c.pending);
  a.maybe("note", c.note);
}

template <typename A>
void ert(A& a, typename A::template Ref<ErtComparison> x) {
  a("confidence", x.confidence);
  a.required("points");
  a.list("points", x.points, [](A& inner, auto& point) {
    inner("scope", point.scope);
    inner("level", point.level);
    inner.count("flops_per_element", point.flops_per_element);
    inner("intensity", point.intensity);
    inner.count("working_set_bytes", point.working_set_bytes);
    inner("kernel", point.kernel);
    inner("ratio", point.ratio);
    inner("interval", point.interval);
    inner.required("pairs");
    if constexpr (A::kReads) {
      inner("pairs", point.pairs);
    } else {  // FLOP/s: fractions of one carry nothing
      std::vector<std::array<double, 2>> pairs = point.pairs;
      for (auto& [theirs, ours] : pairs) theirs = std::round(theirs), ours = std::round(ours);
      inner("pairs", pairs);
    }
  });
}

template <typename A>
void ceilings_members(A& a, typename A::template Ref<CeilingsDocument> x) {
  a.maybe("tool", x.tool);
  a("kind", x.kind);
  a.settings("machine", x.machine, Layout::Block);
  a.settings("clocks", x.clocks, Layout::Block);
  a.settings("env", x.env, Layout::Block);
  a.required("ceilings");
  a.list("ceilings", x.ceilings, ceiling<A>, Layout::Block);
  a.list("checks", x.checks, [](A& inner, auto& check) {
    inner("name", check.name);
    inner("passed", check.passed);
    inner("detail", check.detail);
  });
  members::part(a, "energy", Layout::Block, x.energy, [](A& inner, auto& energy) {
    inner("source", energy.source);
    inner.count("rows", energy.rows);
    inner("relative_rms", energy.relative_rms);
    inner("condition_number", energy.condition_number);
    inner.settings("constants", energy.constants);
  });
  members::part(a, "ert", Layout::Block, x.ert, ert<A>);
  a.lines("not_run", x.not_run);
}

bool settled(const Ceiling& c) { return c.value && c.converged && c.status == CeilingStatus::Ok; }

}  // namespace

std::string_view to_string(CeilingKind kind) { return kCeilingKinds[kind]; }
std::string_view to_string(CeilingMode mode) { return kModes[mode]; }
std::string_view to_string(CeilingStatus status) { return kCeilingStatuses[status]; }

std::optional<double> Ceiling::percent(const std::optional<double>& of) const {
  if (!value || !of || !(*of > 0)) return std::nullopt;
  return 100 * *value / *of;
}

std::string CeilingsDocument::name() const { return text_of(machine, "name"); }

const Ceiling* find_ceiling(const CeilingsDocument& document, std::string_view id) {
  const Ceiling* best = nullptr;
  for (const Ceiling& ceiling : document.ceilings)
    if (ceiling.id == id && (best == nullptr || ceiling.mode > best->mode)) best = &ceiling;
  return best;
}

std::string left_out(const std::string& member) {
  return cat("\"", member, "\" is not known to this version and was left out");
}

std::string write_ceilings(const CeilingsDocument& ceilings) {
  return members::write(kCeilingsSchema, ceilings, ceilings_members<members::Writer>);
}

CeilingsDocument parse_ceilings(std::string_view json, std::string_view subject) {
  return parse_ceilings(base::parse_json(json, subject, cat("expected a file of schema ", kCeilingsSchema)));
}

CeilingsDocument parse_ceilings(const base::JsonDocument& parsed) {
  if (parsed.schema() != kCeilingsSchema)
    parsed.fail_schema(cat(kCeilingsSchema, "; write one with ert-ceilings --json"));
  CeilingsDocument result;
  result.unknown = members::read(parsed.root(), result, ceilings_members<Reader>, Reader::Numbers::Any);
  return result;
}

CeilingsDocument load_ceilings(const std::string& path) {
  return parse_ceilings(base::read_text(path, "a ceilings file written by ert-ceilings --json"), path);
}

std::vector<CeilingChange> compare_ceilings(const CeilingsDocument& now, const CeilingsDocument& baseline,
                                            double tolerance) {
  std::vector<CeilingChange> changes;
  for (const Ceiling& after : now.ceilings) {
    const auto before = std::find_if(baseline.ceilings.begin(), baseline.ceilings.end(),
                                     [&](const Ceiling& c) { return c.id == after.id && c.mode == after.mode; });
    if (before == baseline.ceilings.end() || !settled(after) || !settled(*before)) continue;
    const std::array<double, 2> a = after.ci95.value_or(std::array{*after.value, *after.value});
    const std::array<double, 2> b = before->ci95.value_or(std::array{*before->value, *before->value});
    // A change: the intervals do not overlap, and the gap between them exceeds the tolerance.
    const double gap = std::max(a[0] - b[1], b[0] - a[1]);
    if (gap <= tolerance * *before->value) continue;
    const bool lower = *after.value < *before->value;
    const bool lower_is_better = after.kind == CeilingKind::Latency || after.kind == CeilingKind::Energy;
    changes.push_back({after.id, *before->value, *after.value, lower != lower_is_better});
  }
  return changes;
}

Agreement agreement(const CeilingsDocument& now, const CeilingsDocument& baseline) {
  Agreement result;
  for (const Ceiling& a : now.ceilings)
    for (const Ceiling& b : baseline.ceilings) {
      if (a.id != b.id || a.mode != b.mode || !a.value || !b.value || !a.ci95 || !b.ci95) continue;
      ++result.compared;
      const double h1 = ((*a.ci95)[1] - (*a.ci95)[0]) / 2, h2 = ((*b.ci95)[1] - (*b.ci95)[0]) / 2;
      if ((*a.ci95)[0] > (*b.ci95)[1] || (*b.ci95)[0] > (*a.ci95)[1]) ++result.apart;
      if (h1 > 0 || h2 > 0) result.expected_apart += std::erfc(1.96 * (h1 + h2) / std::sqrt(2 * (h1 * h1 + h2 * h2)));
      break;
    }
  return result;
}

}  // namespace pagoda::documents
