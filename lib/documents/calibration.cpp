// Reads and writes calibration files, and provides the built-in ones.
#include "pagoda/documents/calibration.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "embedded.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/core/engine.h"
#include "pagoda/documents/archive.h"
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
       {"convolutions", "fitted", "left_out", "pairs", "ceilings"},
       true},
      {"pagoda.serving-calibration/1",
       {"id", "regime", "source", "devices", "kernels", "sets", "interval"},
       {"inline_codes", "powers", "fitted", "left_out"}},
  };
  static const FileForm kOthers = {"", {"id", "engine", "regime", "source", "devices", "interval"}, {"ceilings"}};
  const FileForm* found = std::ranges::find(kForms, schema, &FileForm::schema);
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

void coefficient(members::Writer& a, const char* key, const CoefficientRow& row, const Coefficients& x) {
  const auto found = x.find(row.name);
  if (found == x.end()) return;
  row.digits == Digits::Integer ? a(key, std::int64_t{std::llround(found->second)}) : a(key, found->second);
}
void coefficient(members::Reader& a, const char* key, const CoefficientRow& row, Coefficients& x) {
  a.with(key, row.presence != Presence::Optional, [&](const JsonField& field) {
    const bool is_valid = field.value().is_number() && row.limits.is_valid(field.number()) &&
                          (row.digits != Digits::Integer || field.number() == std::floor(field.number()));
    if (!is_valid) field.fail_expected(row.limits.expected);
    x[row.name] = field.number();
  });
}

// Members of an object: the rows, without the first `depth` characters of their names. Rows of one object are
// neighbours.
template <typename A>
void coefficients(A& a, std::span<const CoefficientRow> rows, std::size_t depth,
                  typename A::template Ref<Coefficients> x) {
  while (!rows.empty()) {
    const std::string& name = rows.front().name;
    const std::size_t dot = name.find('.', depth);
    if (dot == std::string::npos) {
      coefficient(a, name.c_str() + depth, rows.front(), x);
      rows = rows.subspan(1);
      continue;
    }
    const auto end = std::find_if(rows.begin(), rows.end(), [&](const CoefficientRow& row) {
      return row.name.compare(0, dot + 1, name, 0, dot + 1) != 0;
    });
    const auto inside = rows.first(static_cast<std::size_t>(end - rows.begin()));
    rows = rows.subspan(inside.size());
    const auto any = [&](auto holds) { return std::any_of(inside.begin(), inside.end(), holds); };
    const std::string object = name.substr(depth, dot - depth);
    if (any([](const CoefficientRow& row) { return row.presence == Presence::Required; })) a.required(object.c_str());
    if (A::kReads || any([&](const CoefficientRow& row) { return x.contains(row.name); }))
      a.object(object.c_str(), name.find('.', dot + 1) == std::string::npos ? Layout::Line : Layout::Block,
               [&](A& inner) { coefficients(inner, inside, dot + 1, x); });
  }
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
    if (!x.interval && form_of(engine(x.engine).schema).has_null_interval) return void(a.json().key("interval").null());
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
    inner.amount("models", x.errors.models);
    inner.amount("families", x.errors.families);
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

void sets(members::Reader& a, const char* key, const CoefficientRows& rows, std::vector<Calibration::Set>& x) {
  a.list(key, x, [&](members::Reader& inner, Calibration::Set& set) {
    inner.need("device", set.device);
    inner.need("compute_capabilities", set.compute_capabilities);
    coefficients(inner, rows, 0, set.coefficients);
  });
}

template <typename A>
void members_of(A& a, typename A::template Ref<CalibrationFile> file, const Engine& engine) {
  const FileForm& form = form_of(engine.schema);
  auto& x = file.fitted;
  a("id", x.id);
  if (form.has("engine")) a.derived("engine", x.engine);
  if (form.has("precision")) a.derived("precision", engine.precisions.front());
  a("regime", x.regime);
  if (form.has("source")) a("source", x.source);
  if (form.has("devices")) a("devices", x.devices);
  if (form.has("convolutions")) a("convolutions", x.judges_convolutions);
  if (form.has("layouts")) a("layouts", x.layouts);
  coefficients(a, engine.coefficients(), 0, x.coefficients);
  if constexpr (A::kReads) {
    if (form.has("inline_codes")) a("inline_codes", x.inline_codes);
    if (form.has("sets")) sets(a, "sets", engine.coefficients(), x.sets);
    if (form.has("powers")) sets(a, "powers", engine.powers(), x.powers);
    for (const char* known : {"ceilings", "fitted", "left_out"})
      if (form.has(known)) a.derived(known, 0);
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
const Engine& engine_of(const base::JsonDocument& parsed) {
  const JsonField document = parsed.root();
  const std::string schema = parsed.schema();
  const auto all = engines();
  const auto first = std::find_if(all.begin(), all.end(), [&](const Engine* each) { return each->schema == schema; });
  if (first == all.end()) {
    std::set<std::string> known;
    for (const Engine* each : all) known.emplace(each->schema);
    parsed.fail_schema(base::joined(known, " or "));
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
  const Engine& engine = engine_of(parsed);
  for (const std::string_view member : form_of(engine.schema).required) static_cast<void>(document.at(member));
  if (document.has("precision"))
    if (const std::string_view expected = to_string(engine.precisions.front()); document.text("precision") != expected)
      document.at("precision").fail_expected(cat(expected, ", of ", engine.id));
  CalibrationFile file;
  file.fitted.engine = engine.id;
  file.fitted.ignored = members::read(
      document, file, [&](members::Reader& a, CalibrationFile& x) { members_of(a, x, engine); },
      members::Reader::Numbers::Any);
  if (file.fitted.coverage >= 1) document.at("interval").at("coverage").fail_expected("a number below 1");
  if (document.has("ceilings")) {
    file.ceilings = document.at("ceilings").value().dump();
    file.device = parse_device(file.ceilings, cat(subject, ": ceilings"));
  }
  return file;
}

CalibrationFile load_calibration(const std::string& path) {
  return parse_calibration(base::read_text(path, "a calibration file"), path);
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
  return parse_calibration(embedded_text(calibration_files(), id, "calibration"), cat("calibration ", id)).fitted;
}

}  // namespace pagoda::documents
