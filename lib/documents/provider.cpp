#include "pagoda/documents/provider.h"

#include <algorithm>

#include "embedded.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/error.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/text.h"

namespace pagoda::documents {
namespace {

using base::JsonField;

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

// {"attribute": "clip", …}, {"input": 1, …}, {"output": 0, …}, {"any": "input", …}.
void read_subject(const JsonField& field, ProviderCondition::Part& part) {
  constexpr std::string_view kAny[] = {"input", "output", "operand"};  // in the order of PlacementSubject
  if (const auto any = field.find("any")) {
    const auto found = std::ranges::find(kAny, any->text());
    if (found == std::end(kAny)) any->fail_expected("input, output or operand");
    part.subject = static_cast<PlacementSubject>(static_cast<std::size_t>(PlacementSubject::AnyInput) +
                                                 static_cast<std::size_t>(found - std::begin(kAny)));
  } else if (const auto input = field.integer("input")) {
    part.subject = PlacementSubject::Input;
    part.operand = static_cast<std::int32_t>(*input);
  } else if (const auto output = field.integer("output")) {
    part.subject = PlacementSubject::Output;
    part.operand = static_cast<std::int32_t>(*output);
  } else {
    part.attribute = field.at("attribute").text();
  }
}

ProviderCondition::Part part_of(const JsonField& field) {
  ProviderCondition::Part part;
  read_subject(field, part);
  // "not in", "type not in", "absent": the test without the word, negated.
  const JsonField test = field.at("test");
  std::string name = test.text() == "absent" ? "not present" : test.text();
  if (const std::size_t place = name.find("not "); place != std::string::npos) {
    part.is_negated = true;
    name.erase(place, 4);
  }
  const auto found = kTests.value(name);
  if (!found) test.fail(cat("\"", test.text(), "\" is not a test of a condition"));
  part.test = *found;
  part.values = field.texts("values");
  constexpr PlacementTest kWithValues[] = {PlacementTest::Repeated, PlacementTest::Above, PlacementTest::Below,
                                           PlacementTest::CountAbove};
  if (part.values.empty() && std::ranges::find(kWithValues, part.test) != std::end(kWithValues))
    field.fail("\"values\" is missing");
  if (const auto stored = field.find("stored")) part.skips_stored = !stored->truth();
  if (const auto otherwise = field.find("default")) part.otherwise = otherwise->text();
  return part;
}

ProviderCondition condition_of(const JsonField& field) {
  ProviderCondition condition{.operators = field.at("operators").texts(),
                              .except = field.texts("except"),
                              .when = {},
                              .reason = field.at("reason").text()};
  for (const JsonField& each : field.array("when")) condition.when.push_back(part_of(each));
  return condition;
}

void read_parts(const JsonField& field, ProviderParts& parts) {
  parts.kind = PartKind::Runs;
  parts.breaks = field.texts("breaks");
  parts.no_end = field.texts("no_end");
  for (const JsonField& each : field.array("small"))
    parts.small.push_back({.nodes = each.at("nodes").integer(), .first = condition_of(each)});
}

std::vector<std::int32_t> operands_of(const JsonField& field, std::string_view key) {
  std::vector<std::int32_t> operands;
  if (const auto listed = field.find(key))
    for (const JsonField& each : listed->array()) operands.push_back(static_cast<std::int32_t>(each.integer()));
  return operands;
}

// {"operators": ["Conv"], "inputs": [2, 3], "dequantised": [0, 1], "typed": [0]}
ProviderUnit unit_of(const JsonField& field) {
  const std::vector<std::int32_t> counts = operands_of(field, "inputs");
  if (counts.size() != 2) field.at("inputs").fail_expected("the least and the most dequantised inputs");
  const auto truth = [&](std::string_view key, bool otherwise) {
    const auto found = field.find(key);
    return found ? found->truth() : otherwise;
  };
  return {.operators = field.at("operators").texts(),
          .least = counts[0],
          .most = counts[1],
          .dequantised = operands_of(field, "dequantised"),
          .typed = operands_of(field, "typed"),
          .has_free_outputs = truth("free_outputs", false),
          .has_one_scale = truth("one_scale", false),
          .takes_activation = truth("activation", true)};
}

void read_host_operands(const JsonField& root, const char* key, std::vector<std::int32_t> ProviderOperator::*operands,
                        Provider& provider) {
  const auto listed = root.find(key);
  if (!listed) return;
  for (const auto& [name, indices] : listed->members()) {
    const auto known = provider.operators.find(name);
    if (known == provider.operators.end()) continue;  // this release has no kernel of it
    for (const JsonField& each : indices.array())
      (known->second.*operands).push_back(static_cast<std::int32_t>(each.integer()));
  }
}

// All but the kernels, whose operators are there.
void read_rules(const JsonField& rules, Provider& provider) {
  if (const auto units = rules.find("units"))
    for (const JsonField& each : units->array()) provider.units.push_back(unit_of(each));
  provider.parts.never_alone = rules.texts("never_alone");
  if (const auto joins = rules.find("joins_parts"); joins && joins->truth()) provider.parts.kind = PartKind::Joined;
  if (const auto passes = rules.find("passes_unsupported")) provider.passes_unsupported = passes->truth();
  if (const auto twice = rules.find("asked_twice")) provider.is_asked_twice = twice->truth();
  if (const std::string kind = rules.text("kind"); kind == "compiled")
    provider.compiles_parts = true;
  else if (!kind.empty() && kind != "kernels")
    rules.at("kind").fail_expected("kernels or compiled");
  if (const std::string memory = rules.text("memory"); memory == "host")
    provider.is_on_host = true;
  else if (!memory.empty() && memory != "device")
    rules.at("memory").fail_expected("host or device");
  if (const auto runs = rules.find("runs")) read_parts(*runs, provider.parts);
  read_host_operands(rules, "host_inputs", &ProviderOperator::host_inputs, provider);
  read_host_operands(rules, "host_outputs", &ProviderOperator::host_outputs, provider);
  for (const JsonField& each : rules.array("conditions")) provider.conditions.push_back(condition_of(each));
  for (const JsonField& each : rules.array("cures")) {
    const auto of_free_dims = each.find("of_free_dims");
    provider.cures.push_back({.reason = each.at("reason").text(),
                              .operators = each.at("operators").texts(),
                              .of_free_dims = of_free_dims && of_free_dims->truth(),
                              .cure = each.at("cure").text()});
  }
}

}  // namespace

std::vector<std::string> provider_ids() { return ids_of(provider_files()); }

Provider find_provider(std::string_view id_or_path) {
  if (id_or_path.ends_with(".json"))
    return parse_provider(base::read_file(std::string(id_or_path), "a provider's file"), id_or_path);
  return parse_provider(embedded_text(provider_files(), id_or_path, "provider"), id_or_path);
}

Provider parse_provider(std::string_view json, std::string_view subject) {
  const base::JsonDocument document = base::parse_json(json, subject, cat("expected ", kProviderSchema));
  const JsonField root = document.root();
  if (document.schema() != kProviderSchema)
    root.fail(cat("found schema \"", document.schema(), "\"; expected \"", kProviderSchema, "\""));
  Provider provider{.id = root.at("id").text(),
                    .name = root.at("name").text(),
                    .version = root.at("version").text(),
                    .source = root.at("source").text(),
                    .is_judged = root.at("judged").truth(),
                    .operators = {},
                    .conditions = {},
                    .cures = {},
                    .passes_unsupported = false,
                    .is_asked_twice = false,
                    .compiles_parts = false,
                    .is_on_host = false,
                    .parts = {},
                    .units = {}};
  for (const auto& [name, field] : root.at("operators").members()) provider.operators.emplace(name, operator_of(field));
  // Another release of a provider states its kernels alone.
  const std::string like = root.text("like");
  if (like.empty()) {
    read_rules(root, provider);
  } else {
    const base::JsonDocument other = base::parse_json(embedded_text(provider_files(), like, "provider"), like, like);
    read_rules(other.root(), provider);
  }
  return provider;
}

}  // namespace pagoda::documents
