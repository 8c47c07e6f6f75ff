// Reads user-defined operators, and writes a template of those that a model needs.
#include "pagoda/documents/custom_operators.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/core/operators.h"
#include "schema_json.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using base::JsonWriter;

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

std::string formula(const JsonField& parent, const char* key) {
  const std::optional<JsonField> field = parent.find(key);
  return field ? formula(*field) : std::string();
}

std::vector<std::string> axes(const JsonField& field) {
  if (!field.value().is_array()) field.fail_expected("a list with a formula for each axis, such as [\"n\", \"2*k\"]");
  std::vector<std::string> axes;
  for (const JsonField& axis : field.array()) axes.push_back(formula(axis));
  return axes;
}

CustomInput input(const JsonField& field) {
  field.only({"comment", "name", "shape", "values", "elements_read", "optional"});
  CustomInput input{.name = field.at("name").text()};
  if (const auto shape = field.find("shape")) input.shape = axes(*shape);
  input.values = field.texts("values");
  input.elements_read = formula(field, "elements_read");
  input.is_optional = field.truth("optional");
  return input;
}

CustomOutput output(const JsonField& field) {
  field.only({"comment", "type", "shape", "elements_written"});
  return {.type = field.at("type").text(),
          .shape = axes(field.at("shape")),
          .elements_written = formula(field, "elements_written")};
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

// A count that is left out is 0; a null means that the template was not filled in.
std::string count(const JsonField& work, const char* key) {
  return work.has(key) ? formula(work.at(key)) : std::string();
}

CustomWork work(const JsonField& field) {
  field.only({"comment", "macs", "arith", "special", "comparisons"});
  return {.macs = count(field, "macs"),
          .arith = count(field, "arith"),
          .special = count(field, "special"),
          .comparisons = count(field, "comparisons")};
}

OpKind kind(const JsonField& field) {
  const std::string name = field.text();
  for (const auto& [known, kind] : kOpKinds)
    if (name == known) return kind;
  field.fail_expected("other, pointwise, layout or view");
}

CustomOperator custom_operator(const JsonField& field) {
  field.only(
      {"comment", "domain", "op_type", "inputs", "attributes", "data_sizes", "outputs", "work", "precision", "kind"});
  CustomOperator stated{.domain = field.text("domain"), .op_type = field.at("op_type").text()};
  if (const auto inputs = field.find("inputs"))
    for (const JsonField& each : inputs->array()) stated.inputs.push_back(input(each));
  if (const auto attributes = field.find("attributes"))
    for (const auto& [name, each] : attributes->members()) stated.attributes.push_back(attribute(name, each));
  if (const auto sizes = field.find("data_sizes"))
    for (const auto& [name, upper] : sizes->members())
      stated.data_sizes.push_back({name, upper.value().is_null() ? std::string() : formula(upper)});
  for (const JsonField& each : field.array("outputs")) stated.outputs.push_back(output(each));
  if (const auto given = field.find("work")) stated.work = work(*given);
  stated.precision = field.text("precision");
  if (const auto given = field.find("kind")) stated.kind = kind(*given);
  if (const std::string problem = problem_of(stated); !problem.empty()) throw Error(field.place() + "." + problem);
  return stated;
}

using Names = std::set<std::pair<std::string, std::string>>;  // domain and operator

void add_operators(std::string_view json, std::string_view subject, std::vector<CustomOperator>& operators,
                   Names& names) {
  const base::JsonDocument parsed =
      base::parse_json(json, subject, "expected schema " + std::string(kCustomOperatorsSchema));
  const JsonField document = parsed.root();
  require_schema(document, kCustomOperatorsSchema);
  document.only({"comment", "schema", "operators"});
  for (const JsonField& field : document.array("operators")) {
    operators.push_back(custom_operator(field));
    const CustomOperator& stated = operators.back();
    if (!names.emplace(plain_domain(stated.domain), stated.op_type).second)
      field.fail(stated.op_type + " is stated twice; keep one");
  }
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
  const std::string name = "in" + std::to_string(i);
  json.begin_object(JsonWriter::Layout::Line).member("name", name);
  if (row.graph == 0 && id != kAbsent) {  // the analysis keeps types only for the main graph
    const TensorType& type = analysis.types[static_cast<std::size_t>(id)];
    json.member("comment", graph.value(id).name + ": " + to_string(type));
    if (type.shape) {
      std::vector<std::string> axes;
      for (std::size_t axis = 0; axis < type.shape->size(); ++axis) axes.push_back(name + "_" + std::to_string(axis));
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
    add_operators(base::read_file(path, "a file of custom operators"), path, operators, names);
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
    json.begin_object();
    json.member("comment", std::to_string(each.nodes) + (each.nodes == 1 ? " node" : " nodes"));
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
