// pagoda.ceilings/1 to and from values, and the comparison of two runs.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "pagoda/base/json_writer.h"
#include "pagoda/documents/ceilings.h"

namespace pagoda::documents {
namespace {

using Json = nlohmann::json;
using base::JsonWriter;

constexpr std::string_view kSchema = "pagoda.ceilings/1";
constexpr std::array<std::string_view, 4> kKinds = {"compute", "bandwidth", "latency", "energy"};
constexpr std::array<std::string_view, 3> kModes = {"issue", "burst", "sustained"};
constexpr std::array<std::string_view, 8> kStatuses = {"ok",        "not_converged", "contended",    "ambiguous",
                                                       "throttled", "impossible",    "wrong_result", "unavailable"};

// Writing ------------------------------------------------------------------------------------------------------------

void write(base::JsonWriter& json, const base::Setting& setting) {
  struct Visitor {
    base::JsonWriter& out;
    void operator()(std::monostate) const { out.null(); }
    void operator()(bool truth) const { out.value(truth); }
    void operator()(std::int64_t number) const { out.value(number); }
    void operator()(double number) const { out.value(number); }
    void operator()(const std::string& text) const { out.value(text); }
  };
  std::visit(Visitor{json}, setting);
}

void write(base::JsonWriter& json, std::string_view key, const base::Settings& settings,
           base::JsonWriter::Layout layout) {
  json.key(key).begin_object(layout);
  for (const auto& [name, setting] : settings) {
    json.key(name);
    write(json, setting);
  }
  json.end_object();
}

void write_text(base::JsonWriter& json, std::string_view key, const std::string& text) {
  if (!text.empty()) json.member(key, text);
}

void write_theory(base::JsonWriter& json, const Ceiling& ceiling) {
  const CeilingTheory& theory = ceiling.theory;
  json.key("theory").begin_object(base::JsonWriter::Layout::Line);
  json.member("datasheet", theory.datasheet);
  json.member("max_clock", theory.max_clock);
  json.member("observed_clock", theory.observed_clock);
  write_text(json, "source", theory.source);
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
  write_text(json, "level", c.level);
  write_text(json, "precision", c.precision);
  write_text(json, "unit_type", c.unit_type);
  write_text(json, "accumulate", c.accumulate);
  write_text(json, "op", c.op);
  write_text(json, "scope", c.scope);
  write_text(json, "data", c.data);
  json.member("unit", c.unit).member("value", c.value).member("median", c.median);
  json.member("p5", c.p5).member("p95", c.p95).member("min", c.min).member("max", c.max);
  json.key("ci95");
  if (c.ci95)
    json.begin_array(base::JsonWriter::Layout::Line).value((*c.ci95)[0]).value((*c.ci95)[1]).end_array();
  else
    json.null();
  json.member("n", c.n).member("dropped", c.dropped).member("converged", c.converged).member("contended", c.contended);
  json.member("clock_hz", c.clock_hz).member("per_clock_unit", c.per_clock_unit).member("units", c.units);
  json.member("watts", c.watts);
  json.key("throttle").begin_array(base::JsonWriter::Layout::Line);
  for (const std::string& reason : c.throttle) json.value(reason);
  json.end_array();
  write_theory(json, c);
  json.member("kernel", c.kernel);
  write(json, "config", c.config, base::JsonWriter::Layout::Line);
  if (!c.code.empty()) write(json, "code", c.code, base::JsonWriter::Layout::Line);
  if (!c.counters.empty()) write(json, "counters", c.counters, base::JsonWriter::Layout::Line);
  json.member("status", to_string(c.status));
  if (c.pending) json.member("pending", true);
  write_text(json, "note", c.note);
  json.end_object();
}

void write(base::JsonWriter& json, const ErtComparison& comparison) {
  json.begin_object().member("confidence", comparison.confidence).key("points").begin_array();
  for (const ErtPoint& point : comparison.points) {
    json.begin_object(base::JsonWriter::Layout::Line);
    json.member("scope", point.scope).member("level", point.level);
    json.member("flops_per_element", point.flops_per_element).member("intensity", point.intensity);
    json.member("working_set_bytes", point.working_set_bytes).member("kernel", point.kernel);
    json.member("ratio", point.ratio).key("interval");
    if (point.interval)
      json.begin_array().value((*point.interval)[0]).value((*point.interval)[1]).end_array();
    else
      json.null();
    json.key("pairs").begin_array();
    for (const auto& [theirs, ours] : point.pairs)
      json.begin_array().value(std::round(theirs)).value(std::round(ours)).end_array();
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

// Reading ------------------------------------------------------------------------------------------------------------

[[noreturn]] void fail(const std::string& place, const std::string& what) { throw Error(place + ": " + what); }

const Json& require(const Json& object, const char* key, const std::string& place) {
  if (!object.is_object()) fail(place, "expected an object");
  const auto found = object.find(key);
  if (found == object.end()) fail(place, std::string("\"") + key + "\" is missing");
  return *found;
}

std::string text(const Json& object, const char* key, const std::string& place) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "";
  if (!found->is_string()) fail(place + "." + key, "expected a string");
  return found->get<std::string>();
}

std::optional<double> number(const Json& object, const char* key, const std::string& place) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  if (!found->is_number()) fail(place + "." + key, "expected a number or null");
  return found->get<double>();
}

bool truth(const Json& object, const char* key, const std::string& place) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return false;
  if (!found->is_boolean()) fail(place + "." + key, "expected true or false");
  return found->get<bool>();
}

std::int64_t count(const Json& object, const char* key, const std::string& place) {
  const double value = number(object, key, place).value_or(0);
  if (!(value >= 0 && value < 9e18)) fail(place + "." + key, "expected a count");
  return static_cast<std::int64_t>(value);
}

base::Settings settings(const Json& object, const char* key, const std::string& place) {
  const auto found = object.find(key);
  base::Settings result;
  if (found == object.end() || found->is_null()) return result;
  if (!found->is_object()) fail(place + "." + key, "expected an object");
  for (const auto& [name, value] : found->items()) {
    if (value.is_null())
      result[name] = std::monostate{};
    else if (value.is_boolean())
      result[name] = value.get<bool>();
    else if (value.is_number_integer())
      result[name] = value.get<std::int64_t>();
    else if (value.is_number())
      result[name] = value.get<double>();
    else if (value.is_string())
      result[name] = value.get<std::string>();
    // Objects and arrays are another tool's extension; they are not ours to interpret.
  }
  return result;
}

std::vector<std::string> texts(const Json& object, const char* key, const std::string& place) {
  std::vector<std::string> result;
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return result;
  if (!found->is_array()) fail(place + "." + key, "expected an array");
  for (const Json& element : *found) {
    if (!element.is_string()) fail(place + "." + key, "expected strings");
    result.push_back(element.get<std::string>());
  }
  return result;
}

template <typename Enum>
Enum named(const std::string& name, std::span<const std::string_view> names, const std::string& place) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Enum>(found - names.begin());
  std::string known;
  for (const std::string_view candidate : names) (known += known.empty() ? "" : ", ") += candidate;
  fail(place, "\"" + name + "\" is not known; known: " + known);
}

// Statuses of newer files read as not converged: never as fine.
CeilingStatus status_named(const std::string& name) {
  const auto found = std::find(kStatuses.begin(), kStatuses.end(), name);
  if (name.empty()) return CeilingStatus::Ok;
  return found == kStatuses.end() ? CeilingStatus::NotConverged : static_cast<CeilingStatus>(found - kStatuses.begin());
}

std::array<double, 2> two_numbers(const Json& json, const std::string& place) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number() || !json[1].is_number())
    fail(place, "expected two numbers");
  return {json[0].get<double>(), json[1].get<double>()};
}

Ceiling read_ceiling(const Json& json, const std::string& place) {
  Ceiling c;
  c.kind = named<CeilingKind>(require(json, "kind", place).is_string() ? text(json, "kind", place) : "", kKinds,
                              place + ".kind");
  c.id = text(json, "id", place);
  if (c.id.empty()) fail(place, "\"id\" is missing");
  const std::string mode = text(json, "mode", place);
  if (!mode.empty()) c.mode = named<CeilingMode>(mode, kModes, place + ".mode");
  c.level = text(json, "level", place);
  c.precision = text(json, "precision", place);
  c.unit_type = text(json, "unit_type", place);
  c.accumulate = text(json, "accumulate", place);
  c.op = text(json, "op", place);
  c.scope = text(json, "scope", place);
  c.data = text(json, "data", place);
  c.unit = text(json, "unit", place);
  c.value = number(json, "value", place);
  c.median = number(json, "median", place);
  c.p5 = number(json, "p5", place);
  c.p95 = number(json, "p95", place);
  c.min = number(json, "min", place);
  c.max = number(json, "max", place);
  if (const auto found = json.find("ci95"); found != json.end() && !found->is_null())
    c.ci95 = two_numbers(*found, place + ".ci95");
  c.n = count(json, "n", place);
  c.dropped = count(json, "dropped", place);
  c.converged = truth(json, "converged", place);
  c.contended = truth(json, "contended", place);
  c.clock_hz = number(json, "clock_hz", place);
  c.per_clock_unit = number(json, "per_clock_unit", place);
  c.units = number(json, "units", place);
  c.watts = number(json, "watts", place);
  c.throttle = texts(json, "throttle", place);
  if (const auto theory = json.find("theory"); theory != json.end() && theory->is_object()) {
    c.theory.datasheet = number(*theory, "datasheet", place + ".theory");
    c.theory.max_clock = number(*theory, "max_clock", place + ".theory");
    c.theory.observed_clock = number(*theory, "observed_clock", place + ".theory");
    c.theory.source = text(*theory, "source", place + ".theory");
  }
  c.kernel = text(json, "kernel", place);
  c.config = settings(json, "config", place);
  c.code = settings(json, "code", place);
  c.counters = settings(json, "counters", place);
  c.status = status_named(text(json, "status", place));
  c.pending = truth(json, "pending", place);
  c.note = text(json, "note", place);
  return c;
}

ErtComparison read_ert(const Json& json, const std::string& place) {
  ErtComparison result;
  result.confidence = number(json, "confidence", place).value_or(result.confidence);
  const Json& points = require(json, "points", place);
  if (!points.is_array()) fail(place + ".points", "expected an array");
  for (const Json& element : points) {
    ErtPoint point;
    point.scope = text(element, "scope", place);
    point.level = text(element, "level", place);
    point.flops_per_element = count(element, "flops_per_element", place);
    point.intensity = number(element, "intensity", place).value_or(0);
    point.working_set_bytes = count(element, "working_set_bytes", place);
    point.kernel = text(element, "kernel", place);
    point.ratio = number(element, "ratio", place).value_or(0);
    if (const auto found = element.find("interval"); found != element.end() && !found->is_null())
      point.interval = two_numbers(*found, place + ".interval");
    const Json& pairs = require(element, "pairs", place);
    if (!pairs.is_array()) fail(place + ".pairs", "expected an array");
    for (const Json& pair : pairs) point.pairs.push_back(two_numbers(pair, place + ".pairs"));
    result.points.push_back(std::move(point));
  }
  return result;
}

bool settled(const Ceiling& c) { return c.value && c.converged && c.status == CeilingStatus::Ok; }

}  // namespace

std::string_view to_string(CeilingKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }
std::string_view to_string(CeilingMode mode) { return kModes[static_cast<std::size_t>(mode)]; }
std::string_view to_string(CeilingStatus status) { return kStatuses[static_cast<std::size_t>(status)]; }

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
  json.member("schema", kSchema);
  write_text(json, "tool", document.tool);
  json.member("kind", document.kind);
  write(json, "machine", document.machine, base::JsonWriter::Layout::Block);
  write(json, "clocks", document.clocks, base::JsonWriter::Layout::Block);
  write(json, "env", document.env, base::JsonWriter::Layout::Block);
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
    write(json, "constants", document.energy->constants, base::JsonWriter::Layout::Line);
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
  const std::string place(subject);
  Json document;
  try {
    document = Json::parse(json);
  } catch (const Json::parse_error& error) {
    throw Error(place + ": not JSON, byte " + std::to_string(error.byte) + "; expected a file of schema " +
                std::string(kSchema));
  }
  if (!document.is_object() || text(document, "schema", place) != kSchema)
    fail(place, "expected \"schema\": \"" + std::string(kSchema) + "\"; write one with ert-ceilings --json");
  CeilingsDocument result;
  result.tool = text(document, "tool", place);
  result.kind = text(document, "kind", place);
  result.machine = settings(document, "machine", place);
  result.clocks = settings(document, "clocks", place);
  result.env = settings(document, "env", place);
  const Json& ceilings = require(document, "ceilings", place);
  if (!ceilings.is_array()) fail(place + ".ceilings", "expected an array");
  for (std::size_t i = 0; i < ceilings.size(); ++i)
    result.ceilings.push_back(read_ceiling(ceilings[i], place + ".ceilings[" + std::to_string(i) + "]"));
  if (const auto checks = document.find("checks"); checks != document.end() && checks->is_array())
    for (const Json& check : *checks)
      result.checks.push_back({text(check, "name", place + ".checks"), truth(check, "passed", place + ".checks"),
                               text(check, "detail", place + ".checks")});
  if (const auto found = document.find("energy"); found != document.end() && found->is_object()) {
    EnergyReport energy;
    const std::string at = place + ".energy";
    energy.source = text(*found, "source", at);
    energy.rows = count(*found, "rows", at);
    energy.relative_rms = number(*found, "relative_rms", at).value_or(0);
    energy.condition_number = number(*found, "condition_number", at).value_or(0);
    energy.constants = settings(*found, "constants", at);
    result.energy = std::move(energy);
  }
  if (const auto found = document.find("ert"); found != document.end() && found->is_object())
    result.ert = read_ert(*found, place + ".ert");
  result.not_run = texts(document, "not_run", place);
  return result;
}

CeilingsDocument load_ceilings(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path + ": cannot be read; expected a ceilings file written by ert-ceilings --json");
  std::ostringstream content;
  content << file.rdbuf();
  return parse_ceilings(content.str(), path);
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
    // Apart when the intervals do not meet and the gap between them exceeds the tolerance.
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
