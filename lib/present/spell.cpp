// The fields that messages of the library name, and their spellings.
#include "pagoda/present/spell.h"

#include <algorithm>
#include <array>

namespace pagoda::present {
namespace {

// Value: x=3, or x='text'. Flag: x=True. List: x=['a', 'b']. Map: x={'key': 3}, or x['key'] of one entry.
// Function: the Python package has a function of that name.
enum class Kind { Value, Flag, List, Map, Function };

struct Field {
  std::string_view name;    // in messages, and in Python
  std::string_view option;  // on the command line, after its two hyphens
  Kind kind = Kind::Value;
};

// clang-format off
constexpr auto kFields = std::to_array<Field>({
    {"acceptance",        "acceptance"},
    {"assume",            "assume",            Kind::Map},
    {"batch",             "batch"},
    {"by",                "by"},
    {"calibration",       "calibration"},
    {"chip",              "chip"},
    {"compare",           "compare",           Kind::Function},
    {"count",             "count"},
    {"custom_ops",        "custom-ops"},
    {"decode_device",     "decode-device"},
    {"device",            "device"},
    {"dims",              "dim",               Kind::Map},
    {"engine",            "engine"},
    {"estimate",          "estimate"},
    {"expert_parallel",   "expert-parallel"},
    {"frozen",            "frozen",            Kind::List},
    {"in_place",          "in-place",          Kind::Flag},
    {"inputs",            "input",             Kind::Map},
    {"layers",            "layers"},
    {"link",              "link"},
    {"list",              "list",              Kind::Flag},
    {"max_seconds",       "max-seconds"},
    {"measured",          "measured"},
    {"memory",            "memory",            Kind::Flag},
    {"memory_timeline",   "memory-timeline"},
    {"mode",              "mode"},
    {"optimizer",         "optimizer"},
    {"past",              "past"},
    {"phase",             "phase"},
    {"pipeline_parallel", "pipeline-parallel"},
    {"precision",         "precision"},
    {"predict",           "predict",           Kind::Flag},
    {"price_per_hour",    "price-per-hour",    Kind::Map},
    {"prompt",            "prompt"},
    {"recompute",         "recompute"},
    {"runs",              "runs"},
    {"speculate",         "speculate"},
    {"sweep",             "sweep",             Kind::Map},
    {"tensor_parallel",   "tensor-parallel"},
    {"tokens",            "tokens"},
    {"top",               "top"},
    {"traffic",           "traffic"},
    {"training",          "training",          Kind::Flag},
    {"warmup",            "warmup"},
    {"what_if",           "what-if",           Kind::List},
});
// clang-format on
static_assert(std::ranges::is_sorted(kFields, {}, &Field::name));

// Replaces every field between backquotes by spelling(field, has_value, value); other texts between backquotes stay.
template <typename Spelling>
std::string spelled(std::string_view message, Spelling spelling) {
  std::string text;
  for (std::size_t quote = message.find('`'); quote != std::string_view::npos; quote = message.find('`')) {
    text += message.substr(0, quote);
    message.remove_prefix(quote + 1);
    const std::size_t end = std::min(message.find_first_of("`="), message.size());
    const auto* const field = std::ranges::find_if(
        kFields, [&](const Field& each) { return end < message.size() && each.name == message.substr(0, end); });
    if (field == kFields.end()) {
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

// A literal of Python. A number, and what stands for one, such as V or FILE, is written as it is.
std::string literal(std::string_view value) {
  const bool is_plain = value.find_first_not_of("0123456789.") == std::string_view::npos ||
                        value.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string_view::npos;
  return is_plain ? std::string(value) : "'" + std::string(value) + "'";
}

std::string text_literal(std::string_view value) { return "'" + std::string(value) + "'"; }

std::string argument(const Field& field, bool has_value, std::string_view value) {
  const std::string name(field.name);
  if (field.kind == Kind::Function) return name + "()";
  if (field.kind == Kind::Flag) return name + "=True";
  if (!has_value) return name + "=";
  if (field.kind == Kind::Map) {
    const std::size_t equals = value.rfind('=');
    if (equals == std::string_view::npos) return name + "[" + text_literal(value) + "]";
    return name + "={" + text_literal(value.substr(0, equals)) + ": " + literal(value.substr(equals + 1)) + "}";
  }
  if (field.kind == Kind::Value) return name + "=" + literal(value);
  std::string list;
  for (std::size_t comma = value.find(','); comma != std::string_view::npos; comma = value.find(',')) {
    list += text_literal(value.substr(0, comma)) + ", ";
    value.remove_prefix(comma + 1);
  }
  return name + "=[" + list + text_literal(value) + "]";
}

}  // namespace

std::string command_line(std::string_view message) {
  return spelled(message, [](const Field& field, bool has_value, const std::string& value) {
    return "--" + std::string(field.option) + (has_value ? " " + value : "");
  });
}

std::string python(std::string_view message) { return spelled(message, argument); }

}  // namespace pagoda::present
