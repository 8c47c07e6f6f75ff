// Formulas of a CustomOperator as a rule: names are bound by the node's inputs and attributes, then every size and
// count is a formula of them.
#include "pagoda/core/custom_operator.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ops/custom.h"
#include "ops/facts.h"
#include "ops/rule_parts.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"

namespace pagoda::inline core {
namespace {

constexpr std::string_view kAnySize = "_";

bool is_name(std::string_view text) { return !text.empty() && Dim::identifier(text) == text; }
bool is_star(std::string_view text) { return text.starts_with('*'); }
std::string star_name(std::string_view text) { return std::string(text.substr(1)); }

const CustomInput* input_named(const CustomOperator& custom, std::string_view name) {
  const auto found = std::ranges::find(custom.inputs, name, &CustomInput::name);
  return found == custom.inputs.end() ? nullptr : &*found;
}

bool is_axis(const CustomOutput& output, std::string_view name) {
  return std::ranges::find(output.shape, name) != output.shape.end();
}

std::string at(const char* list, std::size_t i, std::string_view member = "") { return cat(list, "[", i, "]", member); }

// --- Checks of a statement --------------------------------------------------------------------------------------

// Collects the names that a statement defines, then checks its formulas against them.
class Checker {
 public:
  explicit Checker(const CustomOperator& custom) : custom_(custom) {}

  std::string problem() {
    check_names();
    check_formulas();
    return problem_;
  }

 private:
  void fail(const std::string& place, const std::string& what) {
    if (problem_.empty()) problem_ = cat(place, ": ", what);
  }

  void expect_name(const std::string& place, const std::string& name) {
    if (!is_name(name) || name == kAnySize)
      fail(place, cat("'", name, "' is not a name; expected letters, digits and _, no digit first"));
  }

  void give(const std::string& place, const std::string& name, bool is_certain = true) {
    expect_name(place, name);
    (is_certain ? sizes_ : uncertain_).insert(name);
  }

  void give_once(const std::string& place, const std::string& name) {
    if (sizes_.contains(name)) fail(place, cat("'", name, "' has a meaning already; give it another name"));
    give(place, name);
  }

  void check_names() {
    if (!is_name(custom_.op_type)) fail("op_type", cat("'", custom_.op_type, "' is not an operator's name"));
    for (const CustomAttribute& attribute : custom_.attributes) {
      const std::string place = "attributes." + attribute.name;
      if (!attribute.members) give_once(place, attribute.name);
      for (const std::string& member : attribute.members.value_or(std::vector<std::string>())) give_once(place, member);
    }
    for (std::size_t i = 0; i < custom_.inputs.size(); ++i) check_input_names(custom_.inputs[i], i);
    for (const CustomDataSize& size : custom_.data_sizes) {
      const std::string place = "data_sizes." + size.name;
      give_once(place, size.name);
      if (std::ranges::none_of(custom_.outputs, [&](const CustomOutput& output) { return is_axis(output, size.name); }))
        fail(place, cat("no output has it as an axis; expected one that is '", size.name, "' alone"));
    }
  }

  void check_input_names(const CustomInput& input, std::size_t i) {
    const std::string name_place = at("inputs", i, ".name");
    expect_name(name_place, input.name);
    if (element_type(input.name)) fail(name_place, cat("'", input.name, "' is a type's name; give it another"));
    if (input_named(custom_, input.name) != &input)
      fail(name_place, cat("'", input.name, "' is the name of two inputs"));
    int stars = 0;
    const std::vector<std::string> axes = input.shape.value_or(std::vector<std::string>());
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const std::string place = at("inputs", i, at(".shape", axis));
      if (is_star(axes[axis])) {
        const std::string name = star_name(axes[axis]);
        if (++stars > 1) fail(place, "a second '*' leaves open which axes are whose; give one");
        if (sizes_.contains(name) && !stars_.contains(name)) fail(place, cat("'", name, "' is one size elsewhere"));
        give(place, name, !input.is_optional);
        stars_.insert(name);
      } else if (is_name(axes[axis]) && axes[axis] != kAnySize) {
        if (stars_.contains(axes[axis])) fail(place, cat("'", axes[axis], "' stands for several axes elsewhere"));
        give(place, axes[axis], !input.is_optional);
      }
    }
    for (const std::string& value : input.values) give_once(at("inputs", i, ".values"), value);
  }

  void check_formula(const std::string& place, const std::string& text) {
    if (!problem_.empty()) return;
    const std::optional<Dim> formula = Dim::parse(text);
    if (!formula) return fail(place, cat("'", text, "' is not a formula; expected + - * // % min max over names"));
    for (const std::string& name : formula->symbols()) {
      if (sizes_.contains(name)) continue;
      const std::string known =
          sizes_.empty() ? "the statement names no size" : "its names are: " + base::joined(sizes_);
      fail(place, cat("'", name,
                      uncertain_.contains(name) ? "' is a size of an optional input alone; name it in another, too"
                                                : cat("' is not known; ", known)));
    }
  }

  void check_formula_if_any(const std::string& place, const std::string& text) {
    if (!text.empty()) check_formula(place, text);
  }

  void check_formulas() {
    for (std::size_t i = 0; i < custom_.inputs.size(); ++i) {
      const CustomInput& input = custom_.inputs[i];
      for (const std::string& axis : input.shape.value_or(std::vector<std::string>()))
        if (!is_star(axis) && !is_name(axis)) check_formula(at("inputs", i, ".shape"), axis);
      check_formula_if_any(at("inputs", i, ".elements_read"), input.elements_read);
    }
    for (const CustomDataSize& size : custom_.data_sizes) check_formula_if_any("data_sizes." + size.name, size.upper);
    if (custom_.outputs.empty()) fail("outputs", "there are none; expected the type and shape of each");
    for (std::size_t i = 0; i < custom_.outputs.size(); ++i) check_output(custom_.outputs[i], i);
    const CustomWork work = custom_.work.value_or(CustomWork());
    check_formula_if_any("work.macs", work.macs);
    check_formula_if_any("work.arith", work.arith);
    check_formula_if_any("work.special", work.special);
    check_formula_if_any("work.comparisons", work.comparisons);
    if (!custom_.precision.empty()) check_type("precision", custom_.precision);
    constexpr OpKind kKinds[] = {OpKind::Other, OpKind::Pointwise, OpKind::Layout, OpKind::View};
    if (std::find(std::begin(kKinds), std::end(kKinds), custom_.kind) == std::end(kKinds))
      fail("kind", "expected other, pointwise, layout or view");
    if (custom_.kind == OpKind::View && custom_.work)
      fail("work", "a view is another name for the same bytes: it has none");
  }

  void check_output(const CustomOutput& output, std::size_t i) {
    check_type(at("outputs", i, ".type"), output.type);
    for (std::size_t axis = 0; axis < output.shape.size(); ++axis) {
      const std::string place = at("outputs", i, at(".shape", axis));
      if (!is_star(output.shape[axis]))
        check_formula(place, output.shape[axis]);
      else if (const std::string name = star_name(output.shape[axis]); !stars_.contains(name) || !sizes_.contains(name))
        fail(place, cat("no input that is always there names '*", name, "'"));
    }
    check_formula_if_any(at("outputs", i, ".elements_written"), output.elements_written);
  }

  void check_type(const std::string& place, const std::string& type) {
    const CustomInput* input = input_named(custom_, type);
    if (input != nullptr && input->is_optional)
      fail(place, cat("input '", type, "' is optional; name another, or a type such as float32"));
    if (input == nullptr && !element_type(type))
      fail(place, cat("'", type, "' is neither a type, such as float32, nor the name of an input"));
  }

  const CustomOperator& custom_;
  std::set<std::string> sizes_, uncertain_, stars_;
  std::string problem_;
};

// --- A node -----------------------------------------------------------------------------------------------------

// The names of a statement at one node.
struct Names {
  const CustomOperator& custom;
  std::map<std::string, Dim, std::less<>> sizes;
  std::map<std::string, Shape, std::less<>> stars;
};

Dim value_of(const OpContext& op, const Names& names, const std::string& text) {
  const Dim formula = Dim::parse(text).value();  // problem_of() has parsed it before
  for (const std::string& name : formula.symbols())
    if (!names.sizes.contains(name)) op.unknown(cat("'", name, "' of '", text, "' is not known"));
  try {
    return formula.substitute(names.sizes);
  } catch (const TooComplex&) {
    throw;
  } catch (const Error& error) {  // a division by 0, a count beyond 128 bits
    op.fail(cat("'", text, "': ", error.what()));
  }
}

Dim size_of(const OpContext& op, const Names& names, const std::string& text, const std::string& what) {
  Dim size = value_of(op, names, text);
  if (const auto constant = size.value(); constant && *constant < 0)
    op.fail(cat(what, ": '", text, "' is ", size.to_string(), ", which is not a size"));
  return size;
}

void bind_attributes(const OpContext& op, Names& names) {
  for (const CustomAttribute& attribute : names.custom.attributes) {
    if (!attribute.members) {
      names.sizes[attribute.name] = attribute.otherwise ? op.attribute(attribute.name, *attribute.otherwise)
                                                        : op.required_integer(attribute.name);
      continue;
    }
    const auto list = op.integer_list(attribute.name);
    if (!list) op.fail(cat("attribute ", attribute.name, " is missing"));
    if (list->size() != attribute.members->size())
      op.fail(cat("attribute ", attribute.name, " has ", list->size(), " members; the statement names ",
                  attribute.members->size()));
    for (std::size_t i = 0; i < list->size(); ++i) names.sizes[(*attribute.members)[i]] = (*list)[i];
  }
}

void bind_star(OpContext& op, Names& names, const std::string& name, Shape axes, const std::string& input) {
  if (const auto found = names.stars.find(name); found != names.stars.end()) {
    if (found->second.size() != axes.size())
      op.fail(cat("*", name, " is of ", found->second.size(), " axes, in ", input, " of ", axes.size()));
    for (std::size_t i = 0; i < axes.size(); ++i)
      axes[i] = op.unify(found->second[i], axes[i], cat("*", name, " of ", input));
  }
  names.sizes[name] = element_count(axes);
  names.stars[name] = std::move(axes);
}

// Calls `each` with the text of every axis and its size; a "*name" gets the sizes of all its axes in one call.
template <typename Each>
void for_each_axis(const OpContext& op, int place, const CustomInput& input, const Each& each) {
  const std::vector<std::string>& axes = *input.shape;
  const Shape& shape = op.shape(place);
  const auto star = std::ranges::find_if(axes, [](const std::string& axis) { return is_star(axis); });
  const std::size_t named = axes.size() - (star == axes.end() ? 0 : 1);
  if (shape.size() < named || (star == axes.end() && shape.size() > named))
    op.fail(
        cat(input.name, " is ", to_string(op.input(place)), "; the statement says [", base::joined(axes, ", "), "]"));
  const std::size_t free = shape.size() - named;
  std::size_t at = 0;
  for (const std::string& text : axes) {
    const std::size_t count = is_star(text) ? free : 1;
    each(text, Shape(shape.begin() + static_cast<std::ptrdiff_t>(at),
                     shape.begin() + static_cast<std::ptrdiff_t>(at + count)));
    at += count;
  }
}

void bind_values(const OpContext& op, Names& names, int place, const CustomInput& input) {
  const TensorValue* value = input.values.empty() ? nullptr : op.value(place);
  if (value == nullptr) return;
  if (value->size() != input.values.size())
    op.fail(cat(input.name, " has ", value->size(), " elements; the statement names ", input.values.size()));
  for (std::size_t i = 0; i < value->size(); ++i)
    if (const Dim* element = std::get_if<Dim>(&(*value)[i])) names.sizes[input.values[i]] = *element;
}

Names names_of(const CustomOperator& custom, OpContext& op) {
  Names names{.custom = custom, .sizes = {}, .stars = {}};
  bind_attributes(op, names);
  if (!custom.inputs.empty() && op.input_count() > static_cast<int>(custom.inputs.size()))
    op.fail(cat("it has ", op.input_count(), " inputs; the statement names ", custom.inputs.size()));
  const auto for_each_input = [&](const auto& each) {
    int place = 0;
    for (const CustomInput& input : custom.inputs) {
      if (op.has_input(place))
        each(place, input);
      else if (!input.is_optional)
        op.fail(cat("input ", input.name, " is missing"));
      ++place;
    }
  };
  for_each_input([&](int place, const CustomInput& input) {
    bind_values(op, names, place, input);
    if (!input.shape) return;
    for_each_axis(op, place, input, [&](const std::string& text, const Shape& sizes) {
      if (is_star(text)) return bind_star(op, names, star_name(text), sizes, input.name);
      if (text == kAnySize || !is_name(text)) return;  // formulas are checked below, when every name is bound
      const auto [place_of_name, is_new] = names.sizes.emplace(text, sizes.front());
      if (!is_new) place_of_name->second = op.unify(place_of_name->second, sizes.front(), text + " of " + input.name);
    });
  });
  for_each_input([&](int place, const CustomInput& input) {
    if (!input.shape) return;
    for_each_axis(op, place, input, [&](const std::string& text, const Shape& sizes) {
      if (!is_star(text) && !is_name(text))
        op.unify(value_of(op, names, text), sizes.front(), text + " of " + input.name);
    });
  });
  return names;
}

ElementType type_of(const CustomOperator& custom, const OpContext& op, const std::string& type) {
  if (const std::optional<ElementType> named = element_type(type)) return *named;
  return op.element(static_cast<int>(input_named(custom, type) - custom.inputs.data()));
}

// Reads the sizes that infer_custom() left open from the output shapes that it made.
void read_open_sizes(const OpContext& op, Names& names) {
  const CustomOperator& custom = names.custom;
  int place = -1;
  for (const CustomOutput& output : custom.outputs) {
    if (!op.has_output(++place)) continue;
    const Shape& shape = op.output_shape(place);
    std::size_t axis = 0;
    for (const std::string& text : output.shape) {
      if (is_star(text))
        axis += names.stars.at(star_name(text)).size();
      else if (const Dim& size = shape[axis++]; is_name(text))
        names.sizes.emplace(text, size);
    }
  }
}

ElementType precision_of(const CustomOperator& custom, const OpContext& op) {
  if (!custom.precision.empty()) return type_of(custom, op, custom.precision);
  for (int i = 0; i < op.input_count(); ++i)
    if (op.has_input(i) && is_float(op.element(i))) return op.element(i);
  return op.has_input(0) ? op.element(0) : ElementType::Undefined;
}

}  // namespace

std::string problem_of(const CustomOperator& custom) { return Checker(custom).problem(); }

namespace ops {

void infer_custom(const CustomOperator& custom, OpContext& op) {
  Names names = names_of(custom, op);
  // A name that may depend on the data: a size, or an element of an input.
  const auto open = [&](const std::string& name, const std::string& cause, const std::string& upper) {
    const bool is_needed =
        std::ranges::any_of(custom.outputs, [&](const CustomOutput& output) { return is_axis(output, name); });
    if (names.sizes.contains(name) || !is_needed) return;
    names.sizes[name] = op.fresh(name, cause, upper.empty() ? std::nullopt : std::optional(value_of(op, names, upper)));
  };
  for (const CustomDataSize& size : custom.data_sizes) open(size.name, "a size that the data decide", size.upper);
  for (const CustomInput& input : custom.inputs)
    for (const std::string& value : input.values) open(value, "an element of " + input.name, "");
  for (std::size_t i = 0; i < custom.outputs.size(); ++i) {
    const CustomOutput& output = custom.outputs[i];
    Shape shape;
    for (const std::string& text : output.shape) {
      if (is_star(text)) {
        const Shape& axes = names.stars.at(star_name(text));
        shape.insert(shape.end(), axes.begin(), axes.end());
      } else {
        shape.push_back(size_of(op, names, text, at("outputs", i)));
      }
    }
    op.set_output(static_cast<int>(i), type_of(custom, op, output.type), std::move(shape));
  }
}

OpCost cost_custom(const CustomOperator& custom, OpContext& op) {
  if (custom.kind == OpKind::View) return cost_view(op);
  if (!custom.work) op.unknown("its statement gives no work");
  Names names = names_of(custom, op);
  read_open_sizes(op, names);
  const auto count = [&](const std::string& formula, const char* what) {
    return formula.empty() ? Dim(0) : size_of(op, names, formula, what);
  };
  OpCost cost = op.streamed();
  cost.macs = count(custom.work->macs, "macs");
  cost.arith = count(custom.work->arith, "arith");
  cost.special = count(custom.work->special, "special");
  cost.comparisons = count(custom.work->comparisons, "comparisons");
  cost.precision = precision_of(custom, op);
  int place = -1;
  for (const CustomInput& input : custom.inputs)
    if (op.has_input(++place) && !input.elements_read.empty())
      op.read_only(cost, place, byte_size(count(input.elements_read, "elements_read"), op.element(place)));
  place = -1;
  for (const CustomOutput& output : custom.outputs)
    if (op.has_output(++place) && !output.elements_written.empty())
      op.write_only(cost, place,
                    byte_size(count(output.elements_written, "elements_written"), op.output(place).element));
  return cost;
}

std::vector<OpRule> rules_of(const std::vector<CustomOperator>& operators) {
  std::vector<OpRule> rules;
  for (const CustomOperator& each : operators) {
    if (const std::string problem = problem_of(each); !problem.empty())
      throw Error(cat("custom operator ", each.op_type, ": ", problem));
    const BatchAxis batch = each.kind == OpKind::Pointwise ? BatchAxis::Same : BatchAxis::Lost;
    rules.push_back({.name = each.op_type,
                     .work = "as its statement says",
                     .facts = facts_of_kind(each.kind, batch, Gradient::Unmodelled)});
  }
  return rules;
}

}  // namespace ops
}  // namespace pagoda::inline core
