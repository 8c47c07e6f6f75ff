// The fields that messages of the library name, and their spellings.
#include "pagoda/present/spell.h"

#include <algorithm>
#include <optional>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"

namespace pagoda::present {
namespace {

// Value: x=3, or x='text'. Flag: x=True. List: x=['a', 'b']. Map: x={'key': 3}, or x['key'] of one entry.
// Function: the Python package has a function of that name.
enum class Kind { Value, Flag, List, Map, Function };

struct Fields {
  Kind kind;
  std::string_view names;  // in messages and in Python, each between blanks
};

constexpr Fields kFields[] = {
    {Kind::Value,
     " acceptance batch by calibration chip count custom_ops decode_device device engine estimate fps host_device "
     "expert_parallel layers link max_seconds measured memory_timeline min_fps mode optimizer past phase "
     "pipeline_parallel placement_form precision prompt provider recompute runs speculate tensor_parallel tokens top "
     "traffic "
     "warmup "},
    {Kind::Flag, " in_place list memory predict training "},
    {Kind::List, " frozen what_if "},
    {Kind::Map, " assume dims inputs price_per_hour sweep "},
    {Kind::Function, " compare "},
};

struct Field {
  std::string_view name;
  Kind kind;

  // On the command line, after its two hyphens.
  std::string option() const {
    std::string text(name == "dims" ? "dim" : name == "inputs" ? "input" : name);
    std::ranges::replace(text, '_', '-');
    return text;
  }
};

std::optional<Field> field_named(std::string_view name) {
  if (name.empty() || name.find(' ') != std::string_view::npos) return std::nullopt;
  for (const Fields& fields : kFields)
    if (fields.names.find(cat(" ", name, " ")) != std::string_view::npos) return Field{name, fields.kind};
  return std::nullopt;
}

// Replaces every field between backquotes by spelling(field, has_value, value); other texts between backquotes stay.
template <typename Spelling>
std::string spelled(std::string_view message, Spelling spelling) {
  std::string text;
  for (std::size_t quote = message.find('`'); quote != std::string_view::npos; quote = message.find('`')) {
    text += message.substr(0, quote);
    message.remove_prefix(quote + 1);
    const std::size_t end = std::min(message.find_first_of("`="), message.size());
    const std::optional<Field> field =
        end < message.size() ? field_named(message.substr(0, end)) : std::optional<Field>();
    if (!field) {
      text += '`';
      continue;
    }
    const bool has_value = message[end] == '=';
    std::string value;
    std::size_t at = end + (has_value ? 1 : 0);
    for (; at < message.size() && !(message[at] == '`' && !message.substr(at).starts_with("``")); ++at) {
      value += message[at];
      if (message[at] == '`') ++at;
    }
    text += spelling(*field, has_value, value);
    message.remove_prefix(std::min(at + 1, message.size()));
  }
  return text += message;
}

std::string text_literal(std::string_view value) { return cat("'", value, "'"); }

// A literal of Python. A number, and what stands for one, such as V or FILE, is written as it is.
std::string literal(std::string_view value) {
  const bool is_plain = value.find_first_not_of("0123456789.") == std::string_view::npos ||
                        value.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string_view::npos;
  return is_plain ? std::string(value) : text_literal(value);
}

std::string argument(const Field& field, bool has_value, std::string_view value) {
  if (field.kind == Kind::Function) return cat(field.name, "()");
  if (field.kind == Kind::Flag) return cat(field.name, "=True");
  if (!has_value) return cat(field.name, "=");
  if (field.kind == Kind::Map) {
    const std::size_t equals = value.rfind('=');
    if (equals == std::string_view::npos) return cat(field.name, "[", text_literal(value), "]");
    return cat(field.name, "={", text_literal(value.substr(0, equals)), ": ", literal(value.substr(equals + 1)), "}");
  }
  if (field.kind == Kind::Value) return cat(field.name, "=", literal(value));
  return cat(field.name, "=[", base::joined(base::split(value, ","), ", ", text_literal), "]");
}

}  // namespace

std::string command_line(std::string_view message) {
  return spelled(message, [](const Field& field, bool has_value, const std::string& value) {
    return cat("--", field.option(), has_value ? " " : "", value);
  });
}

std::string python(std::string_view message) { return spelled(message, argument); }

}  // namespace pagoda::present
