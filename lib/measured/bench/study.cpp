// Reads studies from TOML.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>

#define TOML_ENABLE_FORMATTERS 0
namespace pagoda::measured {

// What toml++ takes for impossible and 3.3 meets in damaged files: a table's header that begins with a control character.
// It stops the program there, or, where assertions are off, goes on as if it had not.
struct UnexpectedToml {};
[[noreturn]] static void refuse_toml() { throw UnexpectedToml(); }

}  // namespace pagoda::measured

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) (static_cast<bool>(condition) ? void() : pagoda::measured::refuse_toml())
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "pagoda/base/files.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/axes.h"
#include "pagoda/measured/study.h"

namespace pagoda::measured {
namespace {

using namespace bench;

// The table being read, for messages: "study.toml:12: [measure]".
struct Place {
  std::string subject, section;

  [[noreturn]] void fail(const toml::node& node, const std::string& what) const {
    const auto line = node.source().begin.line;
    throw Error(subject + (line ? ":" + std::to_string(line) : "") + ": " + (section.empty() ? "" : section + ": ") +
                what);
  }
};

base::Setting setting(const toml::node& node, const Place& place, const std::string& name) {
  if (const auto value = node.value_exact<bool>()) return *value;
  if (const auto value = node.value_exact<std::int64_t>()) return *value;
  if (const auto value = node.value_exact<double>()) {
    if (!std::isfinite(*value)) place.fail(node, name + ": found no finite number");
    return *value;
  }
  if (const auto value = node.value_exact<std::string>()) return *value;
  place.fail(node, name + ": found a table or a date, expected a text, a number, true or false");
}

std::vector<base::Setting> settings(const toml::node& node, const Place& place, const std::string& name) {
  std::vector<base::Setting> values;
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& item : *list) values.push_back(setting(item, place, name));
    if (values.empty()) place.fail(node, name + ": found an empty list, which would leave no experiment");
  } else {
    values.push_back(setting(node, place, name));
  }
  return values;
}

// Expands the values of an axis: a text on an integer or size axis is a list with ranges.
std::vector<base::Setting> with_ranges(const AxisRow& axis, std::vector<base::Setting> values, const toml::node& node,
                                       const Place& place) {
  if (axis.type == AxisType::Text) return values;
  std::vector<base::Setting> all;
  for (base::Setting& value : values) {
    const auto* text = std::get_if<std::string>(&value);
    if (!text) {
      all.push_back(std::move(value));
      continue;
    }
    try {
      for (base::Setting& one : axis_values(axis, *text)) all.push_back(std::move(one));
    } catch (const Error& error) {
      place.fail(node, error.what());
    }
  }
  return all;
}

void check_type(const AxisRow& axis, const std::vector<base::Setting>& values, const toml::node& node,
                const Place& place) {
  for (const base::Setting& value : values) {
    const bool fits = axis.type == AxisType::Text   ? std::holds_alternative<std::string>(value)
                      : axis.type == AxisType::Size ? height_and_width(value).has_value()
                                                    : std::holds_alternative<std::int64_t>(value);
    if (!fits)
      place.fail(node, std::string(axis.name) + ": found " + base::setting_text(value) + ", expected " +
                           (axis.type == AxisType::Text   ? "a text"
                            : axis.type == AxisType::Size ? "an integer or HEIGHTxWIDTH"
                                                          : "an integer"));
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number && *number < 1)
      place.fail(node, std::string(axis.name) + ": found " + base::setting_text(value) + ", expected at least 1");
  }
}

double positive(const toml::node& node, const Place& place, const std::string& name, bool zero_allowed = false) {
  const auto value = node.value<double>();
  if (!value || !std::isfinite(*value) || *value < 0 || (*value == 0 && !zero_allowed))
    place.fail(node, name + ": expected a number above 0");
  return *value;
}

std::int64_t count(const toml::node& node, const Place& place, const std::string& name) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 1) place.fail(node, name + ": expected an integer of at least 1");
  return *value;
}

std::string text(const toml::node& node, const Place& place, const std::string& name) {
  const auto value = node.value_exact<std::string>();
  if (!value) place.fail(node, name + ": expected a text");
  return *value;
}

[[noreturn]] void unknown(const toml::node& node, const Place& place, const std::string& name,
                          std::string_view expected) {
  place.fail(node, "unknown key \"" + name + "\"; expected " + std::string(expected));
}

std::string axis_names() { return base::joined(kAxes, ", ", &AxisRow::name); }

using Axes = std::map<std::string, std::vector<base::Setting>>;

void read_options(Axes& axes, const toml::node& node, const Place& place) {
  const toml::table* table = node.as_table();
  if (!table) place.fail(node, "options: expected a table");
  for (const auto& [name, value] : *table) {
    const std::string axis(name.str());
    if (find_axis(axis) || !documents::is_axis(axis))
      place.fail(value, "options: \"" + axis + "\" has a meaning of its own");
    axes[axis] = settings(value, place, axis);
  }
}

// True if `name` is an axis or "options".
bool read_axis(Axes& axes, const std::string& name, const toml::node& value, const Place& place) {
  if (name == "options") {
    read_options(axes, value, place);
    return true;
  }
  const AxisRow* axis = find_axis(name);
  if (!axis) return false;
  std::vector<base::Setting> values = with_ranges(*axis, settings(value, place, name), value, place);
  check_type(*axis, values, value, place);
  axes[std::string(axis->name)] = std::move(values);
  return true;
}

// The axes in the order of kAxes, then options by name.
std::vector<Axis> ordered(const Axes& axes) {
  std::vector<Axis> block;
  for (const AxisRow& row : kAxes)
    if (const auto it = axes.find(std::string(row.name)); it != axes.end()) block.emplace_back(it->first, it->second);
  for (const auto& [name, values] : axes)
    if (!find_axis(name)) block.emplace_back(name, values);
  return block;
}

ModelForms model_forms(const toml::node& node, const Place& place, const std::string& name, const std::string& folder) {
  const auto in_folder = [&](const std::string& path) {
    return folder.empty() ? path : (std::filesystem::path(folder) / path).string();
  };
  if (const auto file = node.value_exact<std::string>()) return {.onnx = in_folder(*file), .named = ""};
  const toml::table* table = node.as_table();
  if (!table) place.fail(node, name + ": expected a path, or a table of onnx and named");
  ModelForms forms;
  for (const auto& [key, value] : *table) {
    if (key.str() == "onnx")
      forms.onnx = in_folder(text(value, place, name + ".onnx"));
    else if (key.str() == "named")
      forms.named = text(value, place, name + ".named");
    else
      unknown(value, place, std::string(key.str()), "onnx or named");
  }
  return forms;
}

UserBackend user_backend(const toml::node& node, const Place& place, const std::string& name) {
  if (is_built_in(name)) place.fail(node, name + ": is a built-in backend; give yours another name");
  const toml::table* table = node.as_table();
  if (!table) place.fail(node, name + ": expected a table with a command");
  UserBackend backend;
  for (const auto& [key, value] : *table) {
    if (key.str() != "command") unknown(value, place, std::string(key.str()), "command");
    if (const toml::array* list = value.as_array())
      for (const toml::node& item : *list) backend.command.push_back(text(item, place, name + ".command"));
  }
  if (backend.command.empty()) place.fail(node, name + ": command: expected a list of the program and its arguments");
  return backend;
}

struct Number {
  const char* name;
  double base::TimingOptions::*field;
};
constexpr Number kTimingNumbers[] = {{"budget_seconds", &base::TimingOptions::budget_seconds},
                                     {"half_width", &base::TimingOptions::half_width},
                                     {"warmup_seconds", &base::TimingOptions::warmup_seconds},
                                     {"settle", &base::TimingOptions::settle}};

void read_measure(base::TimingOptions& options, const toml::node& node, const Place& place) {
  const toml::table* table = node.as_table();
  if (!table) place.fail(node, "expected a table");
  for (const auto& [key, value] : *table) {
    const std::string name(key.str());
    const auto* number = std::find_if(std::begin(kTimingNumbers), std::end(kTimingNumbers),
                                      [&](const Number& n) { return n.name == name; });
    if (number != std::end(kTimingNumbers))
      options.*number->field = positive(value, place, name, name == "warmup_seconds");
    else if (name == "min_iterations")
      options.min_iterations = count(value, place, name);
    else if (name == "max_iterations")
      options.max_iterations = count(value, place, name);
    else if (name == "warmup_iterations")
      options.warmup_iterations = count(value, place, name);
    else
      unknown(value, place, name,
              "budget_seconds, half_width, warmup_seconds, settle, min_iterations, max_iterations or warmup_iterations");
  }
}

void read_limits(ExperimentLimits& limits, const toml::node& node, const Place& place) {
  const toml::table* table = node.as_table();
  if (!table) place.fail(node, "expected a table");
  for (const auto& [key, value] : *table) {
    if (key.str() == "seconds")
      limits.seconds = positive(value, place, "seconds");
    else if (key.str() == "memory")
      limits.memory_bytes =
          value.is_integer() ? count(value, place, "memory") : parse_bytes(text(value, place, "memory"), place.subject);
    else
      unknown(value, place, std::string(key.str()), "seconds or memory");
  }
}

// Makes paths of models, model lists and data relative to the study's folder.
void place_paths(std::vector<Axis>& block, const std::string& folder) {
  const auto is_path = [](const Axis& axis, const std::string& text) {
    return axis.first == "data" || (axis.first == "model" && (text.ends_with(".onnx") || text.ends_with(".txt")));
  };
  for (Axis& axis : block)
    for (base::Setting& value : axis.second)
      if (auto* path = std::get_if<std::string>(&value); path && is_path(axis, *path))
        *path = (std::filesystem::path(folder) / *path).string();
}

}  // namespace

std::int64_t parse_bytes(std::string_view text, std::string_view subject) {
  // clang-format off
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1}, {"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
      {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
  // clang-format on
  double number = 0;
  const auto [end, error] = base::read_number(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, factor] : kUnits)
    if (error == std::errc() && unit == name && number > 0 && number * factor < 9e18)
      return static_cast<std::int64_t>(number * factor);
  throw Error(std::string(subject) + ": found \"" + std::string(text) +
              "\", expected bytes like 8GiB, 512MB or 1000000");
}

Study parse_study(std::string_view source, std::string_view subject, const std::string& folder) {
  toml::table root;
  try {
    root = toml::parse(source, subject);
  } catch (const toml::parse_error& error) {
    throw Error(std::string(subject) + ":" + std::to_string(error.source().begin.line) +
                ": no TOML: " + std::string(error.description()));
  } catch (const UnexpectedToml&) {
    throw Error(std::string(subject) + ": no TOML: found a table's header or a key without a name");
  }
  const Place top{std::string(subject), ""};
  Study study;
  study.name = subject;
  Axes shared;
  const toml::array* experiments = nullptr;
  for (const auto& [key, value] : root) {
    const std::string name(key.str());
    const Place section{top.subject, "[" + name + "]"};
    if (name == "name") {
      study.name = text(value, top, name);
    } else if (name == "repeats") {
      study.repeats = count(value, top, name);
    } else if (name == "seed") {
      study.seed = count(value, top, name);
    } else if (name == "layers" || name == "verify") {
      const auto wanted = value.value_exact<bool>();
      if (!wanted) top.fail(value, name + ": expected true or false");
      (name == "layers" ? study.layers : study.verify) = *wanted;
    } else if (name == "measure") {
      read_measure(study.measure, value, section);
    } else if (name == "limits") {
      read_limits(study.limits, value, section);
    } else if (name == "models" && value.is_table()) {
      for (const auto& [model, forms] : *value.as_table())
        study.models[std::string(model.str())] = model_forms(forms, section, std::string(model.str()), folder);
    } else if (name == "backends" && value.is_table()) {
      for (const auto& [backend, table] : *value.as_table())
        study.backends[std::string(backend.str())] = user_backend(table, section, std::string(backend.str()));
    } else if (name == "experiments") {
      experiments = value.as_array();
      if (!experiments || !experiments->is_array_of_tables())
        top.fail(value, "experiments: expected [[experiments]] tables");
    } else if (!read_axis(shared, name, value, top)) {
      unknown(value, top, name,
              "name, repeats, seed, layers, verify, [measure], [limits], [models], [backends], [[experiments]], or an "
              "axis: " +
                  axis_names());
    }
  }
  if (!experiments) {
    study.blocks.push_back(ordered(shared));
  } else {
    for (const toml::node& block : *experiments) {
      const Place place{top.subject, "[[experiments]]"};
      Axes axes = shared;
      for (const auto& [key, value] : *block.as_table())
        if (!read_axis(axes, std::string(key.str()), value, place))
          unknown(value, place, std::string(key.str()), "an axis: " + axis_names() + ", or options");
      study.blocks.push_back(ordered(axes));
    }
  }
  for (const std::vector<Axis>& block : study.blocks)
    if (std::none_of(block.begin(), block.end(), [](const Axis& axis) { return axis.first == "backend"; }))
      throw Error(top.subject + ": an experiment has no backend; name one of " + backend_list() + ", or of [backends]");
  if (!folder.empty())
    for (std::vector<Axis>& block : study.blocks) place_paths(block, folder);
  return study;
}

Study load_study(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return parse_study(base::read_file(path, "a study in TOML"), path, folder);
}

}  // namespace pagoda::measured
