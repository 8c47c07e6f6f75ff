// Reads user-defined operators, and writes a template of those that a model needs.
#include "pagoda/documents/custom_operators.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "form.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/core/operators.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using base::JsonWriter;
using Need = Form::Need;

constexpr std::string_view kCustomOperatorsSchema = "pagoda.custom-operators/1";

constexpr std::pair<std::string_view, OpKind> kOpKinds[] = {
    {"other", OpKind::Other}, {"pointwise", OpKind::Pointwise}, {"layout", OpKind::Layout}, {"view", OpKind::View}};

// --- Reading ----------------------------------------------------------------------------------------------------

// An integer is a formula, too.
std::string formula(const JsonField& field) {
  if (field.value().is_integer()) return std::to_string(field.integer());
  if (!field.value().is_text()) field.fail_expected("a formula, such as \"n*k\", or an integer");
  return field.text();
}

void read_formula(Form& form, const char* key, std::string& into, Need need = Need::Nullable) {
  form.member(key, need, [&](const JsonField& field) { into = formula(field); });
}

std::vector<std::string> axes(const JsonField& field) {
  if (!field.value().is_array()) field.fail_expected("a list with a formula for each axis, such as [\"n\", \"2*k\"]");
  std::vector<std::string> axes;
  for (const JsonField& axis : field.array()) axes.push_back(formula(axis));
  return axes;
}

CustomAttribute attribute(const std::string& name, const JsonField& field) {
  CustomAttribute attribute{.name = name};
  if (field.value().is_array())
    attribute.members = field.texts();
  else if (field.value().is_integer())
    attribute.otherwise = field.integer();
  else if (!field.value().is_null())
    field.fail_expected(
        "its value where a node leaves it out, null where none does, or a name for each of its members");
  return attribute;
}

OpKind kind(const JsonField& field) {
  const auto known = std::ranges::find(kOpKinds, field.text(), [](const auto& each) { return each.first; });
  if (known == std::end(kOpKinds)) field.fail_expected("other, pointwise, layout or view");
  return known->second;
}

void custom_operator(Form& form, CustomOperator& stated) {
  form.text("domain", stated.domain, Need::Nullable);
  form.text("op_type", stated.op_type, Need::Required);
  form.list("inputs", Need::Nullable, [&](Form& each) {
    CustomInput& input = stated.inputs.emplace_back();
    each.text("name", input.name, Need::Required);
    each.member("shape", Need::Nullable, [&](const JsonField& field) { input.shape = axes(field); });
    each.texts("values", input.values);
    read_formula(each, "elements_read", input.elements_read);
    each.member("optional", Need::Nullable, [&](const JsonField& field) { input.is_optional = field.truth(); });
  });
  form.member("attributes", Need::Nullable, [&](const JsonField& field) {
    for (const auto& [name, each] : field.members()) stated.attributes.push_back(attribute(name, each));
  });
  form.member("data_sizes", Need::Nullable, [&](const JsonField& field) {
    for (const auto& [name, upper] : field.members())
      stated.data_sizes.push_back({name, upper.value().is_null() ? std::string() : formula(upper)});
  });
  form.list("outputs", Need::Required, [&](Form& each) {
    CustomOutput& output = stated.outputs.emplace_back();
    each.text("type", output.type, Need::Required);
    each.member("shape", Need::Required, [&](const JsonField& field) { output.shape = axes(field); });
    read_formula(each, "elements_written", output.elements_written);
  });
  // A count that is left out is 0; a null means that the template was not filled in.
  form.object("work", Need::Nullable, [&](Form& each) {
    CustomWork& work = stated.work.emplace();
    read_formula(each, "macs", work.macs, Need::Optional);
    read_formula(each, "arith", work.arith, Need::Optional);
    read_formula(each, "special", work.special, Need::Optional);
    read_formula(each, "comparisons", work.comparisons, Need::Optional);
  });
  form.text("precision", stated.precision, Need::Nullable);
  form.member("kind", Need::Nullable, [&](const JsonField& field) { stated.kind = kind(field); });
}

using Names = std::set<std::pair<std::string, std::string>>;  // domain and operator

void add_operators(std::string_view json, std::string_view subject, std::vector<CustomOperator>& operators,
                   Names& names) {
  const base::JsonDocument document = base::parse_json(json, subject, cat("expected schema ", kCustomOperatorsSchema));
  if (document.schema() != kCustomOperatorsSchema) document.fail_schema(kCustomOperatorsSchema);
  read_form(document, [&](Form& form) {
    form.list("operators", Need::Required, [&](Form& each) {
      CustomOperator& stated = operators.emplace_back();
      custom_operator(each, stated);
      if (!each.is_sound()) return;
      if (const std::string problem = problem_of(stated); !problem.empty())
        throw Error(cat(each.field().place(), ".", problem));
      if (!names.emplace(plain_domain(stated.domain), stated.op_type).second)
        each.field().fail(stated.op_type + " is stated twice; keep one");
    });
  });
}

// --- Writing ----------------------------------------------------------------------------------------------------

// The nodes of one operator without a rule.
struct Unstated {
  std::size_t inputs = 0, outputs = 0, nodes = 0;
  const NodeReport* first = nullptr;
};

// Handled by the graph walk itself (control_flow.cpp).
constexpr std::string_view kStructures[] = {"If", "Loop", "Scan", "SequenceMap"};

bool has_rule(std::string_view domain, std::string_view op_type) {
  const bool is_structure = plain_domain(domain).empty() &&
                            std::find(std::begin(kStructures), std::end(kStructures), op_type) != std::end(kStructures);
  return is_structure || operator_facts(domain, op_type).kind != OpKind::Unknown;
}

void write_input(JsonWriter& json, const Model& model, const Analysis& analysis, const NodeReport& row, std::size_t i) {
  const Graph& graph = model.graph(row.graph);
  const ValueId id = graph.node(row.node).input(i);
  const std::string name = cat("in", i);
  json.begin_object(JsonWriter::Layout::Line).member("name", name);
  if (row.graph == 0 && id != kAbsent) {  // the analysis keeps types only for the main graph
    const TensorType& type = analysis.types[static_cast<std::size_t>(id)];
    json.member("comment", cat(graph.value(id).name, ": ", to_string(type)));
    if (type.shape) {
      std::vector<std::string> axes;
      for (std::size_t axis = 0; axis < type.shape->size(); ++axis) axes.push_back(cat(name, "_", axis));
      json.member("shape", axes);
    }
  }
  json.end_object();
}

}  // namespace

std::vector<CustomOperator> parse_custom_operators(std::string_view json, std::string_view subject) {
  std::vector<CustomOperator> operators;
  Names names;
  add_operators(json, subject, operators, names);
  return operators;
}

std::vector<CustomOperator> load_custom_operators(const std::vector<std::string>& paths) {
  std::vector<CustomOperator> operators;
  Names names;
  for (const std::string& path : paths)
    add_operators(base::read_text(path, "a file of custom operators"), path, operators, names);
  return operators;
}

std::vector<std::string> operators_without_rule(const EstimateDocument& estimate) {
  std::set<std::string> names;
  for (const EstimateNode& node : estimate.nodes)
    if (node.mark == Mark::Unmodelled && !has_rule(node.domain, node.op_type)) names.insert(node.qualified_op());
  return {names.begin(), names.end()};
}

std::string custom_operator_template(const Model& model, const Analysis& analysis) {
  std::map<std::pair<std::string, std::string>, Unstated> operators;
  for (const NodeReport& row : analysis.nodes) {
    const Graph& graph = model.graph(row.graph);
    const Node& node = graph.node(row.node);
    if (row.cost.mark != Mark::Unmodelled || has_rule(node.domain, node.op_type) ||
        model.function(node.domain, node.op_type, node.overload) != nullptr)
      continue;
    Unstated& each = operators[{node.domain, node.op_type}];
    each.inputs = std::max(each.inputs, node.inputs.size());
    each.outputs = std::max(each.outputs, node.outputs.size());
    ++each.nodes;
    if (each.first == nullptr) each.first = &row;
  }
  if (operators.empty()) throw Error("every operator of the model has a rule: there is none to state");
  JsonWriter json;
  json.begin_object();
  json.member("comment",
              "Replace each null. Give sizes names of your own: the same name twice means equal sizes, \"*name\" any "
              "number of axes. Formulas use these names. Leave work out where it is not known: types then go on, and "
              "the node counts as not modelled.");
  json.member("schema", kCustomOperatorsSchema).key("operators").begin_array();
  for (const auto& [name, each] : operators) {
    json.begin_object().member("comment", cat(each.nodes, each.nodes == 1 ? " node" : " nodes"));
    json.member("domain", name.first).member("op_type", name.second).key("inputs").begin_array();
    for (std::size_t i = 0; i < each.inputs; ++i) write_input(json, model, analysis, *each.first, i);
    json.end_array().key("outputs").begin_array();
    for (std::size_t i = 0; i < each.outputs; ++i)
      json.begin_object(JsonWriter::Layout::Line).key("type").null().key("shape").null().end_object();
    json.end_array().key("work").begin_object(JsonWriter::Layout::Line);
    for (const char* count : {"macs", "arith", "special"}) json.key(count).null();
    json.end_object().end_object();
  }
  json.end_array().end_object();
  return std::move(json).text();
}

}  // namespace pagoda::documents
