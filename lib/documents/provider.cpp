#include "pagoda/documents/provider.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "embedded.h"
#include "form.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/error.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/text.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using Need = Form::Need;

constexpr std::string_view kProviderSchema = "pagoda.provider/1";
constexpr base::EnumNames<PlacementTest::DimIn> kTests("present", "in", "repeated", "even", "above", "below",
                                                       "constant", "type in", "rank in", "free", "written by",
                                                       "read by", "only read by", "read on the cpu", "graph input",
                                                       "graph output", "empty", "named", "last axis", "count above",
                                                       "dim in");

// "float32", "seq(float32)".
TypeSet type_bit(std::string_view name, const JsonField& field) {
  constexpr std::string_view kSequence = "seq(";
  const bool is_sequence = name.starts_with(kSequence);
  if (is_sequence) name = name.substr(kSequence.size(), name.size() - kSequence.size() - 1);
  const auto element = element_type(name);
  if (!element) field.fail(cat("\"", name, "\" is not a type of ONNX"));
  return TypeSet{1} << (static_cast<unsigned>(*element) + (is_sequence ? 32 : 0));
}

// Words, the last of which may end with a star: it repeats, as the last constraint does in any case.
std::vector<std::string> constraints(std::string text) {
  if (text.ends_with('*')) text.pop_back();
  std::vector<std::string> names;
  for (std::string& name : base::split(text, " "))
    if (!name.empty()) names.push_back(std::move(name));
  return names;
}

ProviderKernel kernel_of(const JsonField& row) {
  const std::vector<JsonField> parts = row.array();
  if (parts.size() != 3) row.fail_expected("a first version, a last version or null, and types by constraint");
  ProviderKernel kernel{.first = parts[0].integer(), .last = {}, .types = {}};
  if (!parts[1].value().is_null()) kernel.last = parts[1].integer();
  for (const auto& [constraint, types] : parts[2].members()) {
    TypeSet set = 0;
    for (const std::string& name : base::split(types.text(), " "))
      if (!name.empty()) set |= type_bit(name, types);
    kernel.types.push_back({constraint, set});
  }
  return kernel;
}

ProviderOperator operator_of(const JsonField& field) {
  ProviderOperator known;
  for (const JsonField& row : field.array("versions")) {
    const std::vector<JsonField> parts = row.array();
    if (parts.size() != 3) row.fail_expected("a version and the constraints of its inputs and outputs");
    known.versions.push_back({parts[0].integer(), constraints(parts[1].text()), constraints(parts[2].text())});
  }
  for (const JsonField& row : field.array("kernels")) known.kernels.push_back(kernel_of(row));
  return known;
}

void read_truth(Form& form, const char* key, bool& into) {
  form.member(key, Need::Optional, [&](const JsonField& field) { into = field.truth(); });
}

std::int32_t index_of(const JsonField& field) {
  const std::int64_t index = field.integer();
  if (index < 0 || index > std::numeric_limits<std::int32_t>::max())
    field.fail_expected("the place of an operand, from 0");
  return static_cast<std::int32_t>(index);
}

void read_operands(Form& form, const char* key, std::vector<std::int32_t>& into) {
  form.member(key, Need::Optional, [&](const JsonField& field) {
    for (const JsonField& each : field.array()) into.push_back(index_of(each));
  });
}

// {"attribute": "clip", …}, {"input": 1, …}, {"output": 0, …}, {"any": "input", …}.
void read_subject(Form& form, ProviderCondition::Part& part) {
  constexpr std::string_view kAny[] = {"input", "output", "operand"};  // in the order of PlacementSubject
  int subjects = 0;
  form.member("attribute", Need::Optional, [&](const JsonField& field) {
    ++subjects;
    part.attribute = field.text();
  });
  for (const auto& [key, subject] : {std::pair("input", PlacementSubject::Input), {"output", PlacementSubject::Output}})
    form.member(key, Need::Optional, [&, subject = subject](const JsonField& field) {
      ++subjects;
      part.subject = subject;
      part.operand = index_of(field);
    });
  form.member("any", Need::Optional, [&](const JsonField& field) {
    ++subjects;
    const auto found = std::ranges::find(kAny, field.text());
    if (found == std::end(kAny)) field.fail_expected("input, output or operand");
    part.subject = static_cast<PlacementSubject>(static_cast<std::size_t>(PlacementSubject::AnyInput) +
                                                 static_cast<std::size_t>(found - std::begin(kAny)));
  });
  if (subjects != 1) form.field().fail_expected("one of attribute, input, output and any");
}

void read_part(Form& form, ProviderCondition::Part& part) {
  read_subject(form, part);
  form.member("test", Need::Required, [&](const JsonField& field) {
    // "not in", "type not in", "absent": the test without the word, negated.
    std::string name = field.text() == "absent" ? "not present" : field.text();
    if (const std::size_t place = name.find("not "); place != std::string::npos) {
      part.is_negated = true;
      name.erase(place, 4);
    }
    const auto found = kTests.value(name);
    if (!found)
      field.fail(cat("\"", field.text(), "\" is not a test; known: ", base::joined(kTests.all()),
                     ", each negated by \"not\""));
    part.test = *found;
  });
  form.texts("values", part.values);
  constexpr PlacementTest kWithValues[] = {PlacementTest::Repeated, PlacementTest::Above, PlacementTest::Below,
                                           PlacementTest::CountAbove};
  if (part.values.empty() && std::ranges::find(kWithValues, part.test) != std::end(kWithValues))
    form.field().fail("\"values\" is missing");
  bool asks_stored = true;
  read_truth(form, "stored", asks_stored);
  part.skips_stored = !asks_stored;
  form.member("default", Need::Optional, [&](const JsonField& field) { part.otherwise = field.text(); });
}

void read_condition(Form& form, ProviderCondition& condition) {
  form.texts("operators", condition.operators);
  form.texts("except", condition.except);
  form.list("when", Need::Required, [&](Form& part) { read_part(part, condition.when.emplace_back()); });
  form.text("reason", condition.reason, Need::Required);
}

void read_runs(Form& form, ProviderParts& parts) {
  parts.kind = PartKind::Runs;
  form.texts("breaks", parts.breaks);
  form.texts("no_end", parts.no_end);
  form.list("small", Need::Optional, [&](Form& each) {
    ProviderParts::SmallGraph& small = parts.small.emplace_back();
    each.member("nodes", Need::Required, [&](const JsonField& field) { small.nodes = field.integer(); });
    read_condition(each, small.first);
  });
}

// {"operators": ["Conv"], "inputs": [2, 3], "dequantised": [0, 1], "typed": [0]}
void read_unit(Form& form, ProviderUnit& unit) {
  form.texts("operators", unit.operators);
  form.member("inputs", Need::Required, [&](const JsonField& field) {
    const std::vector<JsonField> counts = field.array();
    if (counts.size() != 2) field.fail_expected("the least and the most dequantised inputs");
    unit.least = static_cast<std::int32_t>(counts[0].integer());
    unit.most = static_cast<std::int32_t>(counts[1].integer());
  });
  read_operands(form, "dequantised", unit.dequantised);
  read_operands(form, "typed", unit.typed);
  read_truth(form, "free_outputs", unit.has_free_outputs);
  read_truth(form, "one_scale", unit.has_one_scale);
  read_truth(form, "activation", unit.takes_activation);
}

void read_host_operands(Form& form, const char* key, std::vector<std::int32_t> ProviderOperator::*operands,
                        Provider& provider) {
  form.member(key, Need::Optional, [&](const JsonField& field) {
    for (const auto& [name, indices] : field.members()) {
      const auto known = provider.operators.find(name);
      if (known == provider.operators.end()) continue;  // this release has no kernel of it
      for (const JsonField& each : indices.array()) (known->second.*operands).push_back(index_of(each));
    }
  });
}

// One of two words; the first is the default.
void read_choice(Form& form, const char* key, std::string_view first, std::string_view second, bool& is_second) {
  form.member(key, Need::Optional, [&](const JsonField& field) {
    is_second = field.text() == second;
    if (!is_second && field.text() != first) field.fail_expected(cat(first, " or ", second));
  });
}

// All but the kernels, whose operators are there.
void read_rules(Form& form, Provider& provider) {
  read_choice(form, "kind", "kernels", "compiled", provider.compiles_parts);
  read_choice(form, "memory", "device", "host", provider.is_on_host);
  form.texts("device_kinds", provider.device_kinds);
  form.texts("device_vendors", provider.device_vendors);
  read_truth(form, "passes_unsupported", provider.passes_unsupported);
  read_truth(form, "asked_twice", provider.is_asked_twice);
  form.texts("channels_last", provider.channels_last);
  form.texts("fusions", provider.fusions);
  read_truth(form, "names_what_runs", provider.names_what_runs);
  bool joins = false;
  read_truth(form, "joins_parts", joins);
  if (joins) provider.parts.kind = PartKind::Joined;
  form.texts("never_alone", provider.parts.never_alone);
  form.object("runs", Need::Optional, [&](Form& runs) { read_runs(runs, provider.parts); });
  form.list("units", Need::Optional, [&](Form& unit) { read_unit(unit, provider.units.emplace_back()); });
  read_host_operands(form, "host_inputs", &ProviderOperator::host_inputs, provider);
  read_host_operands(form, "host_outputs", &ProviderOperator::host_outputs, provider);
  form.list("conditions", Need::Optional,
            [&](Form& condition) { read_condition(condition, provider.conditions.emplace_back()); });
  form.list("cures", Need::Optional, [&](Form& each) {
    ProviderCure& cure = provider.cures.emplace_back();
    each.text("reason", cure.reason, Need::Required);
    each.texts("operators", cure.operators);
    read_truth(each, "of_free_dims", cure.of_free_dims);
    each.text("cure", cure.cure, Need::Required);
  });
}

// A release that differs in its kernels alone.
Provider other_release(Provider release, Provider like) {
  for (auto& [name, known] : release.operators)
    if (const auto found = like.operators.find(name); found != like.operators.end()) {
      known.host_inputs = found->second.host_inputs;
      known.host_outputs = found->second.host_outputs;
    }
  like.id = std::move(release.id);
  like.name = std::move(release.name);
  like.version = std::move(release.version);
  like.source = std::move(release.source);
  like.is_judged = release.is_judged;
  like.operators = std::move(release.operators);
  return like;
}

}  // namespace

std::vector<std::string> provider_ids() { return ids_of(provider_files()); }

namespace {

Provider built_in_provider(std::string_view id) {
  return parse_provider(embedded_text(provider_files(), id, "provider"), id);
}

}  // namespace

Provider find_provider(std::string_view id_or_path) {
  if (id_or_path.ends_with(".json"))
    return parse_provider(base::read_file(std::string(id_or_path), "a provider's file"), id_or_path);
  return built_in_provider(id_or_path);
}

Provider parse_provider(std::string_view json, std::string_view subject) {
  const base::JsonDocument document = base::parse_json(json, subject, cat("expected ", kProviderSchema));
  if (document.schema() != kProviderSchema)
    document.root().fail(cat("found schema \"", document.schema(), "\"; expected \"", kProviderSchema, "\""));
  Provider provider;
  std::string like;
  read_form(document, [&](Form& form) {
    form.text("id", provider.id, Need::Required);
    form.text("name", provider.name, Need::Required);
    form.text("version", provider.version, Need::Required);
    form.text("source", provider.source, Need::Required);
    form.member("judged", Need::Required, [&](const JsonField& field) { provider.is_judged = field.truth(); });
    form.text("like", like);
    form.member("operators", Need::Required, [&](const JsonField& field) {
      for (const auto& [name, each] : field.members()) provider.operators.emplace(name, operator_of(each));
    });
    if (like.empty()) read_rules(form, provider);
  });
  return like.empty() ? provider : other_release(std::move(provider), built_in_provider(like));
}

}  // namespace pagoda::documents
