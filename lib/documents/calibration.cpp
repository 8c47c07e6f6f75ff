// Reads and writes calibration files, and provides the built-in ones.
#include "pagoda/documents/calibration.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "pagoda/documents/archive.h"
#include "embedded.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/core/engine.h"
#include "pagoda/documents/device.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using base::JsonWriter;
using members::Layout;

// The members of a schema beside an engine's coefficients.
struct FileForm {
  std::string_view schema;
  std::vector<std::string_view> required, optional;
  bool has_null_interval = false;  // an unknown interval is null, not an object with null factors

  bool has(std::string_view member) const { return is_in(required, member) || is_in(optional, member); }
  static bool is_in(const std::vector<std::string_view>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};
const FileForm& form_of(std::string_view schema) {
  static const FileForm kForms[] = {
      {"pagoda.calibration/1",
       {"id", "regime", "source", "devices", "layouts", "interval", "unseen_families"},
       {"engine", "precision", "ceilings"}},
      {"pagoda.cpu-calibration/1",
       {"id", "engine", "regime", "classes", "interval", "unseen_families", "runs", "ceilings"},
       {}},
      {"pagoda.tensorrt-calibration/1",
       {"id", "regime", "source", "devices", "coefficients", "interval"},
       {"fitted", "left_out", "pairs", "ceilings"},
       true},
      {"pagoda.serving-calibration/1",
       {"id", "regime", "source", "devices", "kernels", "sets", "interval"},
       {"inline_codes", "powers", "fitted", "left_out"}},
  };
  static const FileForm kOthers = {"", {"id", "engine", "regime", "source", "devices", "interval"}, {"ceilings"}};
  const FileForm* found =
      std::find_if(std::begin(kForms), std::end(kForms), [&](const FileForm& form) { return form.schema == schema; });
  return found == std::end(kForms) ? kOthers : *found;
}

// --- numbers ---

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

void round_all(std::initializer_list<double*> values) {
  for (double* each : values) *each = rounded(*each);
}

CalibrationFile rounded(CalibrationFile file) {
  Calibration& c = file.fitted;
  for (const CoefficientRow& row : engine(c.engine).coefficients())
    if (const auto found = c.coefficients.find(row.name); found != c.coefficients.end() && row.digits == Digits::Four)
      found->second = rounded(found->second);
  for (auto* factors : {&c.interval, &c.elsewhere})
    if (*factors) round_all({&(*factors)->low, &(*factors)->high});
  CalibrationErrors& e = c.errors;
  round_all({&e.mean_error, &e.median_error, &e.p90_error, &e.rank_correlation});
  for (CalibrationRun& run : file.runs) {
    run.seconds = rounded(run.seconds);
    if (run.predicted) run.predicted = rounded(*run.predicted);
  }
  for (auto* list : {&file.groups, &file.left_out})
    for (GroupErrors& errors : *list) round_all({&errors.mean_error, &errors.median_error, &errors.bias});
  return file;
}

// --- coefficients: each row is a member, by its path ---

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> names(1);
  for (const char c : path) c == '.' ? void(names.emplace_back()) : names.back().push_back(c);
  return names;
}

void write_coefficients(JsonWriter& json, const CoefficientRows& rows, const Coefficients& coefficients) {
  std::vector<std::string> open;  // the path of the current object
  const auto close_to = [&](std::size_t depth) {
    for (; open.size() > depth; open.pop_back()) json.end_object();
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = coefficients.find(rows[i].name);
    if (found == coefficients.end()) continue;
    std::vector<std::string> path = split(rows[i].name);
    const std::string name = std::move(path.back());
    path.pop_back();
    std::size_t same = 0;
    while (same < std::min(path.size(), open.size()) && path[same] == open[same]) ++same;
    close_to(same);
    for (; same < path.size(); ++same) {
      json.key(path[same]).begin_object(same + 1 == path.size() ? Layout::Line : Layout::Block);
      open.push_back(path[same]);
    }
    if (rows[i].digits == Digits::Integer)
      json.member(name, std::llround(found->second));
    else
      json.member(name, found->second);
  }
  close_to(0);
}

double coefficient(const JsonField& field, const CoefficientRow& row) {
  const bool is_valid = field.value().is_number() && row.limits.is_valid(field.number()) &&
                        (row.digits != Digits::Integer || field.number() == std::floor(field.number()));
  if (!is_valid) field.fail_expected(row.limits.expected);
  return field.number();
}

Coefficients read_coefficients(const JsonField& document, const CoefficientRows& rows) {
  Coefficients coefficients;
  for (const CoefficientRow& row : rows) {
    const std::vector<std::string> path = split(row.name);
    std::optional<JsonField> object = document;
    for (std::size_t i = 0; i + 1 < path.size() && object; ++i)
      object = row.presence == Presence::Required ? object->at(path[i]) : object->find(path[i]);
    if (!object) continue;
    const bool is_needed = row.presence != Presence::Optional;
    if (is_needed || object->has(path.back())) coefficients[row.name] = coefficient(object->at(path.back()), row);
  }
  return coefficients;
}

// Adds the members of an object that neither a row nor the form has.
void find_unknown(const JsonField& object, const std::string& path, const std::set<std::string>& known,
                  std::vector<std::string>& unknown) {
  for (const auto& [name, value] : object.members()) {
    const std::string member = path + name;
    if (!known.contains(member))
      unknown.push_back(member);
    else if (value.value().is_object() && known.contains(member + '.'))
      find_unknown(value, member + '.', known, unknown);
  }
}

std::set<std::string> known_members(const FileForm& form, const CoefficientRows& rows) {
  std::set<std::string> known = {"schema"};
  known.insert(form.required.begin(), form.required.end());
  known.insert(form.optional.begin(), form.optional.end());
  for (const CoefficientRow& row : rows) {
    known.insert(row.name);
    for (std::size_t dot = row.name.find('.'); dot != std::string::npos; dot = row.name.find('.', dot + 1)) {
      known.insert(row.name.substr(0, dot));
      known.insert(row.name.substr(0, dot + 1));
    }
  }
  return known;
}

// --- the document ---

template <typename A>
void factors(A& a, typename A::template Ref<std::optional<Factors>> x) {
  if constexpr (A::kReads) {
    std::optional<double> low, high;
    a("low", low), a("high", high);
    if (!low && !high) return;
    const JsonField& json = a.all();
    if (json.at("low").positive() > json.at("high").positive())
      json.at("high").fail_expected("a number of at least \"low\"");
    x = Factors{*low, *high};
  } else {
    a.known("low", x ? x->low : 0, x.has_value());
    a.known("high", x ? x->high : 0, x.has_value());
  }
}

template <typename A>
void interval(A& a, typename A::template Ref<Calibration> x) {
  if constexpr (!A::kReads)
    if (!x.interval && form_of(engine(x.engine).schema).has_null_interval)
      return void(a.json().key("interval").null());
  a.object("interval", Layout::Line, [&](A& inner) {
    inner("coverage", x.coverage);
    factors(inner, x.interval);
    if (!A::kReads && !x.elsewhere) return;
    inner.object("elsewhere", Layout::Line, [&](A& other) {
      factors(other, x.elsewhere);
      other("judge", x.judge);
    });
  });
}

// Errors without runs to determine them are null, never 0.
template <typename A>
void errors(A& a, typename A::template Ref<Calibration> x, bool has_rank) {
  const bool is_known = x.errors.models > 0;
  a.object("unseen_families", Layout::Line, [&](A& inner) {
    if constexpr (A::kReads) {
      inner("models", x.errors.models);
      inner("families", x.errors.families);
    } else {
      inner("models", std::llround(x.errors.models));
      inner("families", std::llround(x.errors.families));
    }
    inner.known("mean_error", x.errors.mean_error, is_known);
    inner.known("median_error", x.errors.median_error, is_known);
    inner.known("p90_error", x.errors.p90_error, is_known);
    if (has_rank) inner.known("rank_correlation", x.errors.rank_correlation, is_known);
  });
}

template <typename A>
void group_errors(A& a, typename A::template Ref<GroupErrors> x) {
  a("of", x.of);
  a("runs", x.runs);
  a("mean_error", x.mean_error);
  a("median_error", x.median_error);
  a("bias", x.bias);
}

template <typename A>
void calibration_run(A& a, typename A::template Ref<CalibrationRun> x) {
  a("name", x.name);
  a("family", x.family);
  a("seconds", x.seconds);
  a("predicted", x.predicted);
}

std::vector<Calibration::Set> sets(const JsonField& document, const char* key, const CoefficientRows& rows) {
  std::vector<Calibration::Set> list;
  if (document.has(key))
    for (const JsonField& set : document.array(key))
      list.push_back({.device = set.at("device").text(),
                      .compute_capabilities = set.at("compute_capabilities").texts(),
                      .coefficients = read_coefficients(set, rows)});
  return list;
}

template <typename A>
void members_of(A& a, typename A::template Ref<CalibrationFile> file, const Engine& engine) {
  const FileForm& form = form_of(engine.schema);
  auto& x = file.fitted;
  a("id", x.id);
  if constexpr (!A::kReads) {
    if (form.has("engine")) a("engine", x.engine);
    if (form.has("precision")) a("precision", engine.precisions.front());
  }
  a("regime", x.regime);
  if (form.has("source")) a("source", x.source);
  if (form.has("devices")) a("devices", x.devices);
  if (form.has("layouts")) a("layouts", x.layouts);
  if constexpr (A::kReads) {
    a("inline_codes", x.inline_codes);
    x.coefficients = read_coefficients(a.all(), engine.coefficients());
    x.sets = sets(a.all(), "sets", engine.coefficients());
    if (engine.powers != nullptr) x.powers = sets(a.all(), "powers", engine.powers());
  } else {
    write_coefficients(a.json(), engine.coefficients(), x.coefficients);
  }
  if (form.has("pairs")) {
    a.list("fitted", file.groups, group_errors<A>);
    a.list("left_out", file.left_out, group_errors<A>);
    a.object("pairs", Layout::Line, [&](A& inner) {
      inner("compared", file.pairs);
      inner("right", file.pairs_right);
    });
  }
  interval(a, x);
  if (form.has("unseen_families")) errors(a, x, form.has("layouts"));
  if (form.has("runs")) a.list("runs", file.runs, calibration_run<A>);
}

// The engine that the member "engine" names, or the first with the schema.
const Engine& engine_of(const JsonField& document, std::string_view schema) {
  const auto all = engines();
  const auto first = std::find_if(all.begin(), all.end(), [&](const Engine* each) { return each->schema == schema; });
  if (first == all.end()) {
    std::set<std::string> known;
    for (const Engine* each : all) known.emplace(each->schema);
    document.fail("has schema \"" + std::string(schema) + "\"; expected " + base::joined(known, " or "));
  }
  if (!document.has("engine")) return **first;
  const JsonField named = document.at("engine");
  const Engine* found = find_engine(named.text());
  if (found == nullptr || found->schema != schema) {
    std::vector<std::string_view> ids;
    for (const Engine* each : all)
      if (each->schema == schema) ids.push_back(each->id);
    named.fail_expected(base::joined(ids, " or "));
  }
  return *found;
}

}  // namespace

CalibrationFile parse_calibration(std::string_view json, std::string_view subject) {
  const base::JsonDocument parsed = base::parse_json(json, subject, "expected a calibration");
  const JsonField document = parsed.root();
  const Engine& engine = engine_of(document, parsed.schema());
  const FileForm& form = form_of(engine.schema);
  for (const std::string_view member : form.required) static_cast<void>(document.at(member));
  if (document.has("precision"))
    if (const std::string_view expected = to_string(engine.precisions.front()); document.text("precision") != expected)
      document.at("precision").fail_expected(std::string(expected) + ", of " + std::string(engine.id));
  CalibrationFile file;
  file.fitted.engine = engine.id;
  members::Unknown unknown{subject.size()};
  members::Reader reader(document, unknown, members::Reader::Numbers::Any);
  members_of(reader, file, engine);
  if (file.fitted.coverage >= 1) document.at("interval").at("coverage").fail_expected("a number below 1");
  if (document.has("ceilings")) {
    file.ceilings = document.at("ceilings").value().dump();
    file.device = parse_device(file.ceilings, std::string(subject) + ": ceilings");
  }
  std::vector<std::string>& ignored = file.fitted.ignored;
  ignored.assign(unknown.paths.begin(), unknown.paths.end());
  find_unknown(document, "", known_members(form, engine.coefficients()), ignored);
  return file;
}

CalibrationFile load_calibration(const std::string& path) {
  return parse_calibration(base::read_file(path, "a calibration file"), path);
}

std::string engine_of_calibration(std::string_view json, std::string_view subject) {
  const base::JsonDocument parsed = base::parse_json(json, subject, "expected a calibration");
  if (parsed.root().has("engine")) return parsed.root().at("engine").text();
  for (const Engine* each : engines())
    if (each->schema == parsed.schema()) return std::string(each->id);
  return {};
}

std::string to_json(CalibrationFile file) {
  file = rounded(std::move(file));
  const Engine& fitted = engine(file.fitted.engine);
  JsonWriter json(JsonWriter::Style::Plain);
  json.begin_object().member("schema", fitted.schema);
  members::Writer writer(json);
  members_of(writer, file, fitted);
  if (!file.ceilings.empty()) {
    const base::JsonDocument ceilings = base::parse_json(file.ceilings, "ceilings", "expected pagoda.ceilings/1");
    json.key("ceilings").value(ceilings.root().value());
  }
  json.end_object();
  return std::move(json).text();
}

std::vector<std::string> calibration_ids(std::string_view engine) {
  std::vector<std::string> ids;
  for (const base::EmbeddedFile& file : calibration_files())
    if (engine_of_calibration(file.text, file.name) == engine) ids.emplace_back(id_of(file));
  std::sort(ids.begin(), ids.end());
  return ids;
}

Calibration calibration(std::string_view id) {
  return parse_calibration(embedded_text(calibration_files(), id, "calibration"), "calibration " + std::string(id))
      .fitted;
}

}  // namespace pagoda::documents
