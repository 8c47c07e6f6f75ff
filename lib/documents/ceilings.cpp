// pagoda.ceilings/1 to and from values, and the comparison of two runs.
#include <algorithm>
#include <cmath>
#include <span>

#include "device_json.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/ceilings.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using base::JsonWriter;

constexpr std::string_view kCeilingsSchema = "pagoda.ceilings/1";
constexpr std::array<std::string_view, 4> kCeilingKinds = {"compute", "bandwidth", "latency", "energy"};
constexpr std::array<std::string_view, 3> kModes = {"issue", "burst", "sustained"};
constexpr std::array<std::string_view, 8> kCeilingStatuses = {
    "ok", "not_converged", "contended", "ambiguous", "throttled", "impossible", "wrong_result", "unavailable"};

// Writing ------------------------------------------------------------------------------------------------------------

void write_theory(base::JsonWriter& json, const Ceiling& ceiling) {
  const CeilingTheory& theory = ceiling.theory;
  json.key("theory").begin_object(base::JsonWriter::Layout::Line);
  json.member("datasheet", theory.datasheet);
  json.member("max_clock", theory.max_clock);
  json.member("observed_clock", theory.observed_clock);
  json.member_if_any("source", theory.source);
  json.end_object();
  json.key("percent").begin_object(base::JsonWriter::Layout::Line);
  json.member("datasheet", ceiling.percent(theory.datasheet));
  json.member("max_clock", ceiling.percent(theory.max_clock));
  json.member("observed_clock", ceiling.percent(theory.observed_clock));
  json.end_object();
}

void write(base::JsonWriter& json, const Ceiling& c) {
  json.begin_object();
  json.member("id", c.id).member("kind", to_string(c.kind)).member("mode", to_string(c.mode));
  json.member_if_any("level", c.level);
  json.member_if_any("precision", c.precision);
  json.member_if_any("unit_type", c.unit_type);
  json.member_if_any("accumulate", c.accumulate);
  json.member_if_any("op", c.op);
  json.member_if_any("scope", c.scope);
  json.member_if_any("data", c.data);
  json.member("unit", c.unit).member("value", c.value).member("median", c.median);
  json.member("p5", c.p5).member("p95", c.p95).member("min", c.min).member("max", c.max);
  json.member("ci95", c.ci95)
      .member("n", c.n)
      .member("dropped", c.dropped)
      .member("converged", c.converged)
      .member("contended", c.contended);
  json.member("clock_hz", c.clock_hz).member("per_clock_unit", c.per_clock_unit).member("units", c.units);
  json.member("watts", c.watts);
  json.member("throttle", c.throttle);
  write_theory(json, c);
  json.member("kernel", c.kernel);
  json.member("config", c.config);
  if (!c.code.empty()) json.member("code", c.code);
  if (!c.counters.empty()) json.member("counters", c.counters);
  json.member("status", to_string(c.status));
  if (c.pending) json.member("pending", true);
  json.member_if_any("note", c.note);
  json.end_object();
}

void write(base::JsonWriter& json, const ErtComparison& comparison) {
  json.begin_object().member("confidence", comparison.confidence).key("points").begin_array();
  for (const ErtPoint& point : comparison.points) {
    json.begin_object(base::JsonWriter::Layout::Line);
    json.member("scope", point.scope).member("level", point.level);
    json.member("flops_per_element", point.flops_per_element).member("intensity", point.intensity);
    json.member("working_set_bytes", point.working_set_bytes).member("kernel", point.kernel);
    json.member("ratio", point.ratio).member("interval", point.interval);
    json.key("pairs").begin_array();
    for (const auto& [theirs, ours] : point.pairs)
      json.begin_array().value(std::round(theirs)).value(std::round(ours)).end_array();
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

// Reading ------------------------------------------------------------------------------------------------------------

template <typename Enum>
Enum named(const JsonField& field, std::span<const std::string_view> names) {
  const std::string name = field.text();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Enum>(found - names.begin());
  field.fail("\"" + name + "\" is not known; known: " + base::joined(names));
}

// Unknown statuses, from newer files, are read as not converged, never as ok.
CeilingStatus status_named(const std::string& name) {
  const auto found = std::find(kCeilingStatuses.begin(), kCeilingStatuses.end(), name);
  if (name.empty()) return CeilingStatus::Ok;
  return found == kCeilingStatuses.end() ? CeilingStatus::NotConverged
                                         : static_cast<CeilingStatus>(found - kCeilingStatuses.begin());
}

std::array<double, 2> two_numbers(const JsonField& field) {
  const std::vector<JsonField> numbers = field.array();
  if (numbers.size() != 2) field.fail_expected("two numbers");
  return {numbers[0].number(), numbers[1].number()};
}

std::optional<std::array<double, 2>> interval(const JsonField& object, const char* key) {
  const auto field = object.find(key);
  return field ? std::optional(two_numbers(*field)) : std::nullopt;
}

Ceiling read_ceiling(const JsonField& json) {
  Ceiling c;
  c.kind = named<CeilingKind>(json.at("kind"), kCeilingKinds);
  c.id = json.text("id");
  if (c.id.empty()) json.fail("\"id\" is missing");
  if (!json.text("mode").empty()) c.mode = named<CeilingMode>(json.at("mode"), kModes);
  c.level = json.text("level");
  c.precision = json.text("precision");
  c.unit_type = json.text("unit_type");
  c.accumulate = json.text("accumulate");
  c.op = json.text("op");
  c.scope = json.text("scope");
  c.data = json.text("data");
  c.unit = json.text("unit");
  c.value = json.number("value");
  c.median = json.number("median");
  c.p5 = json.number("p5");
  c.p95 = json.number("p95");
  c.min = json.number("min");
  c.max = json.number("max");
  c.ci95 = interval(json, "ci95");
  c.n = json.count("n");
  c.dropped = json.count("dropped");
  c.converged = json.truth("converged");
  c.contended = json.truth("contended");
  c.clock_hz = json.number("clock_hz");
  c.per_clock_unit = json.number("per_clock_unit");
  c.units = json.number("units");
  c.watts = json.number("watts");
  c.throttle = json.texts("throttle");
  if (const auto theory = json.object("theory")) {
    c.theory.datasheet = theory->number("datasheet");
    c.theory.max_clock = theory->number("max_clock");
    c.theory.observed_clock = theory->number("observed_clock");
    c.theory.source = theory->text("source");
  }
  c.kernel = json.text("kernel");
  c.config = json.settings("config");
  c.code = json.settings("code");
  c.counters = json.settings("counters");
  c.status = status_named(json.text("status"));
  c.pending = json.truth("pending");
  c.note = json.text("note");
  return c;
}

ErtComparison read_ert(const JsonField& json) {
  ErtComparison result;
  result.confidence = json.number("confidence").value_or(result.confidence);
  for (const JsonField& element : json.at("points").array()) {
    ErtPoint point;
    point.scope = element.text("scope");
    point.level = element.text("level");
    point.flops_per_element = element.count("flops_per_element");
    point.intensity = element.number("intensity").value_or(0);
    point.working_set_bytes = element.count("working_set_bytes");
    point.kernel = element.text("kernel");
    point.ratio = element.number("ratio").value_or(0);
    point.interval = interval(element, "interval");
    for (const JsonField& pair : element.at("pairs").array()) point.pairs.push_back(two_numbers(pair));
    result.points.push_back(std::move(point));
  }
  return result;
}

bool settled(const Ceiling& c) { return c.value && c.converged && c.status == CeilingStatus::Ok; }

}  // namespace

std::string_view to_string(CeilingKind kind) { return kCeilingKinds[static_cast<std::size_t>(kind)]; }
std::string_view to_string(CeilingMode mode) { return kModes[static_cast<std::size_t>(mode)]; }
std::string_view to_string(CeilingStatus status) { return kCeilingStatuses[static_cast<std::size_t>(status)]; }

std::optional<double> Ceiling::percent(const std::optional<double>& of) const {
  if (!value || !of || !(*of > 0)) return std::nullopt;
  return 100 * *value / *of;
}

std::string CeilingsDocument::name() const {
  const auto found = machine.find("name");
  if (found == machine.end()) return "";
  const auto* text = std::get_if<std::string>(&found->second);
  return text ? *text : "";
}

const Ceiling* find_ceiling(const CeilingsDocument& document, std::string_view id) {
  const Ceiling* best = nullptr;
  for (const Ceiling& ceiling : document.ceilings)
    if (ceiling.id == id && (best == nullptr || ceiling.mode > best->mode)) best = &ceiling;
  return best;
}

std::string write_ceilings(const CeilingsDocument& document) {
  base::JsonWriter json;
  json.begin_object();
  json.member("schema", kCeilingsSchema);
  json.member_if_any("tool", document.tool);
  json.member("kind", document.kind);
  json.key("machine").value(document.machine, JsonWriter::Layout::Block);
  json.key("clocks").value(document.clocks, JsonWriter::Layout::Block);
  json.key("env").value(document.env, JsonWriter::Layout::Block);
  json.key("ceilings").begin_array();
  for (const Ceiling& ceiling : document.ceilings) write(json, ceiling);
  json.end_array();
  json.key("checks").begin_array();
  for (const CeilingCheck& check : document.checks) {
    json.begin_object(base::JsonWriter::Layout::Line);
    json.member("name", check.name).member("passed", check.passed).member("detail", check.detail).end_object();
  }
  json.end_array();
  if (document.energy) {
    json.key("energy").begin_object();
    json.member("source", document.energy->source).member("rows", document.energy->rows);
    json.member("relative_rms", document.energy->relative_rms);
    json.member("condition_number", document.energy->condition_number);
    json.member("constants", document.energy->constants);
    json.end_object();
  }
  if (document.ert) {
    json.key("ert");
    write(json, *document.ert);
  }
  json.key("not_run").begin_array();
  for (const std::string& line : document.not_run) json.value(line);
  json.end_array().end_object();
  return std::move(json).text();
}

CeilingsDocument parse_ceilings(std::string_view json, std::string_view subject) {
  return parse_ceilings(base::parse_json(json, subject, "expected a file of schema " + std::string(kCeilingsSchema)));
}

CeilingsDocument parse_ceilings(const base::JsonDocument& document) {
  const JsonField root = document.root();
  if (document.schema() != kCeilingsSchema)
    root.fail("expected \"schema\": \"" + std::string(kCeilingsSchema) + "\"; write one with ert-ceilings --json");
  CeilingsDocument result;
  result.tool = root.text("tool");
  result.kind = root.text("kind");
  result.machine = root.settings("machine");
  result.clocks = root.settings("clocks");
  result.env = root.settings("env");
  for (const JsonField& ceiling : root.at("ceilings").array()) result.ceilings.push_back(read_ceiling(ceiling));
  if (root.find("checks"))
    for (const JsonField& check : root.array("checks"))
      result.checks.push_back({check.text("name"), check.truth("passed"), check.text("detail")});
  if (const auto energy = root.object("energy"))
    result.energy = EnergyReport{.source = energy->text("source"),
                                 .rows = energy->count("rows"),
                                 .relative_rms = energy->number("relative_rms").value_or(0),
                                 .condition_number = energy->number("condition_number").value_or(0),
                                 .constants = energy->settings("constants")};
  if (const auto ert = root.object("ert")) result.ert = read_ert(*ert);
  result.not_run = root.texts("not_run");
  return result;
}

CeilingsDocument load_ceilings(const std::string& path) {
  return parse_ceilings(base::read_file(path, "a ceilings file written by ert-ceilings --json"), path);
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
