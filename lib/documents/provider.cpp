#include "pagoda/documents/provider.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "embedded.h"
#include "form.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/error.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/number.h"
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

// The parts of a text between separators, without spaces at their ends; none of an empty text.
template <typename Use>
void for_each_part(std::string_view text, char separator, const Use& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) use(part);
  }
}

// The text before `mark`, which is removed from it with the mark; empty if it has none.
std::optional<std::string_view> cut(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, end);
  text.remove_prefix(end + 1);
  return before;
}

// Reads the notation of kernels and versions that data/schemas/provider.schema.json describes.
class KernelNotation {
 public:
  ProviderOperator read(const JsonField& field) {
    ProviderOperator known;
    for_each_part(field.text("versions"), ';', [&](std::string_view text) {
      std::string_view rest = text;
      const auto since = cut(rest, ' ');
      const auto inputs = cut(rest, '>');
      const auto opset = base::parse_number<std::int64_t>(since.value_or(""));
      if (!opset || !inputs) fail(field, "versions", text, "an opset and constraints: 13 T* > T");
      known.versions.push_back({*opset, constraints(*inputs), constraints(rest)});
    });
    for_each_part(field.text("kernels"), ';', [&](std::string_view text) {
      std::string_view rest = text;
      const auto first = base::parse_number<std::int64_t>(cut(rest, '-').value_or(""));
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const auto last = base::parse_number<std::int64_t>(rest.substr(0, end));
      if (!first || (end > 0 && !last)) fail(field, "kernels", text, "versions and types: 9-10 T: float16 float32");
      rest.remove_prefix(end);
      ProviderKernel& kernel = known.kernels.emplace_back(ProviderKernel{.first = *first, .last = last, .types = {}});
      for_each_part(rest, ',', [&](std::string_view types) {
        const auto constraint = cut(types, ':');
        if (!constraint) fail(field, "kernels", text, "types behind a colon: 9-10 T: float16 float32");
        kernel.types.push_back({std::string(*constraint), types_of(types, field)});
      });
    });
    return known;
  }

 private:
  [[noreturn]] static void fail(const JsonField& field, const char* key, std::string_view text,
                                std::string_view expected) {
    field.at(key).fail(cat("found \"", text, "\"; expected ", expected));
  }

  // Words, the last of which may end with a star: it repeats, as the last constraint does in any case.
  static std::vector<std::string> constraints(std::string_view text) {
    std::vector<std::string> names;
    for_each_part(text, ' ', [&](std::string_view name) {
      if (name.ends_with('*')) name.remove_suffix(1);
      names.emplace_back(name);
    });
    return names;
  }

  // A file repeats few lists of types over and over.
  TypeSet types_of(std::string_view list, const JsonField& field) {
    const auto [found, is_new] = lists_.try_emplace(std::string(list), 0);
    TypeSet& set = found->second;
    if (is_new) for_each_part(list, ' ', [&](std::string_view name) { set |= type_bit(name, field); });
    return set;
  }

  // "float32", "seq(float32)".
  static TypeSet type_bit(std::string_view name, const JsonField& field) {
    constexpr std::string_view kSequence = "seq(";
    const bool is_sequence = name.starts_with(kSequence) && name.ends_with(')');
    const std::size_t begin = is_sequence ? kSequence.size() : 0;
    const auto element = element_type(name.substr(begin, name.size() - begin - (is_sequence ? 1 : 0)));
    if (!element) field.at("kernels").fail(cat("\"", name, "\" is not a type of ONNX"));
    return TypeSet{1} << (static_cast<unsigned>(*element) + (is_sequence ? 32 : 0));
  }

  std::unordered_map<std::string, TypeSet> lists_;
};

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
  form.member("refused", Need::Optional, [&](const JsonField& field) {
    const std::vector<JsonField> counts = field.array();
    if (counts.size() != 2 || counts[1].integer() < 1) field.fail_expected("the refused nodes, and of how many");
    condition.answers = {.refused = counts[0].integer(), .of = counts[1].integer()};
  });
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

using HostOperands = std::map<std::string, std::vector<std::int32_t>, std::less<>>;  // by operator

void read_host_operands(Form& form, const char* key, HostOperands& operands) {
  form.member(key, Need::Optional, [&](const JsonField& field) {
    for (const auto& [name, indices] : field.members())
      for (const JsonField& each : indices.array()) operands[name].push_back(index_of(each));
  });
}

// The operators of a file, which all copies of a provider share.
struct OperatorTable {
  std::map<std::string, ProviderOperator, std::less<>> known;
  std::map<std::string_view, std::string_view> texts;  // of a file that is compiled in: each is read when asked for
  HostOperands host_inputs, host_outputs;

  std::optional<ProviderOperator> find(std::string_view name) const {
    ProviderOperator result;
    if (const auto found = known.find(name); found != known.end())
      result = found->second;
    else if (const auto text = texts.find(name); text != texts.end())
      result = KernelNotation().read(base::parse_json(text->second, name, "expected an operator").root());
    else
      return std::nullopt;
    if (const auto found = host_inputs.find(name); found != host_inputs.end()) result.host_inputs = found->second;
    if (const auto found = host_outputs.find(name); found != host_outputs.end()) result.host_outputs = found->second;
    return result;
  }
};

// Takes the operators out of the text of a file that is compiled in, whose objects and strings hold no others: reading
// all of them would cost more than the rest of an estimate's placement.
std::string cut_operators(std::string_view json, OperatorTable& table) {
  constexpr std::string_view kKey = "\"operators\": {";
  const std::size_t begin = json.find(kKey) + kKey.size();
  std::size_t end = begin;
  while (json[end = json.find_first_of("\"}", end)] == '"') {
    const std::size_t quote = json.find('"', end + 1), open = json.find('{', quote), close = json.find('}', open) + 1;
    table.texts.emplace(json.substr(end + 1, quote - end - 1), json.substr(open, close - open));
    end = close;
  }
  return cat(json.substr(0, begin), json.substr(end));
}

// One of two words; the first is the default.
void read_choice(Form& form, const char* key, std::string_view first, std::string_view second, bool& is_second) {
  form.member(key, Need::Optional, [&](const JsonField& field) {
    is_second = field.text() == second;
    if (!is_second && field.text() != first) field.fail_expected(cat(first, " or ", second));
  });
}

// All but the kernels.
void read_rules(Form& form, Provider& provider, OperatorTable& table) {
  read_choice(form, "kind", "kernels", "compiled", provider.compiles_parts);
  read_choice(form, "memory", "device", "host", provider.is_on_host);
  form.text("arena_of", provider.arena_of);
  form.texts("packs_weights", provider.packs_weights);
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
  read_host_operands(form, "host_inputs", table.host_inputs);
  read_host_operands(form, "host_outputs", table.host_outputs);
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
  like.id = std::move(release.id);
  like.name = std::move(release.name);
  like.version = std::move(release.version);
  like.source = std::move(release.source);
  like.is_judged = release.is_judged;
  like.operators = [own = std::move(release.operators), newer = std::move(like.operators)](std::string_view name) {
    std::optional<ProviderOperator> known = own(name);
    if (const auto found = known ? newer(name) : std::nullopt) {
      known->host_inputs = found->host_inputs;
      known->host_outputs = found->host_outputs;
    }
    return known;
  };
  return like;
}

Provider built_in_provider(std::string_view id);

// `table` has the operators that the text lacks.
Provider read_provider(std::string_view json, std::string_view subject, OperatorTable table) {
  const base::JsonDocument document = base::parse_json(json, subject, cat("expected ", kProviderSchema));
  if (document.schema() != kProviderSchema) document.fail_schema(kProviderSchema);
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
      KernelNotation notation;
      for (const auto& [name, each] : field.members()) table.known.emplace(name, notation.read(each));
    });
    if (like.empty()) read_rules(form, provider, table);
  });
  provider.operators = [shared = std::make_shared<const OperatorTable>(std::move(table))](std::string_view name) {
    return shared->find(name);
  };
  if (like.empty()) return provider;  // not a copy
  return other_release(std::move(provider), built_in_provider(like));
}

Provider built_in_provider(std::string_view id) {
  OperatorTable table;
  const std::string rules = cut_operators(embedded_text(provider_files(), id, "provider"), table);
  return read_provider(rules, id, std::move(table));
}

}  // namespace

std::vector<std::string> provider_ids() { return ids_of(provider_files()); }

Provider find_provider(std::string_view id_or_path) {
  if (base::is_path(id_or_path))
    return parse_provider(base::read_text(std::string(id_or_path), "a provider's file"), id_or_path);
  return built_in_provider(id_or_path);
}

Provider parse_provider(std::string_view json, std::string_view subject) { return read_provider(json, subject, {}); }

}  // namespace pagoda::documents
