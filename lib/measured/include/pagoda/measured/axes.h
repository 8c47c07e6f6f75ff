// The axes of studies and what the built-in backends make of them: one table, so that what is supported is data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/documents/experiment.h"

#pragma GCC visibility push(default)
namespace pagoda::measured::bench {

enum class AxisType : std::uint8_t { Text, Integer, Size };  // Size: an integer, or HEIGHTxWIDTH

struct AxisRow {
  std::string_view name, plural;
  AxisType type;
};

// In the order in which they multiply, slowest first.
// clang-format off
inline constexpr std::array<AxisRow, 15> kAxes = {{
    // name           plural           type
    {"model",         "models",        AxisType::Text},
    {"backend",       "backends",      AxisType::Text},
    {"mode",          "modes",         AxisType::Text},
    {"device",        "devices",       AxisType::Text},
    {"dtype",         "dtypes",        AxisType::Text},
    {"compile",       "compiles",      AxisType::Text},
    {"optimization",  "optimizations", AxisType::Text},
    {"algorithm",     "algorithms",    AxisType::Text},
    {"threads",       "threads",       AxisType::Integer},
    {"data",          "data",          AxisType::Text},
    {"command",       "commands",      AxisType::Text},
    {"batch",         "batches",       AxisType::Integer},
    {"sequence",      "sequences",     AxisType::Integer},
    {"input_size",    "input_sizes",   AxisType::Size},
    {"optimizer",     "optimizers",    AxisType::Text},
}};
// clang-format on

const AxisRow* find_axis(std::string_view name);  // by name or plural; null: there is none

// The values of a list: texts as they are; integers of at least 1 with ranges as sweeps have them ("1,2,4..64",
// "64,96..256"); sizes, too, of which some may be HEIGHTxWIDTH ("224,224x320"). Throws Error.
std::vector<base::Setting> axis_values(const AxisRow& axis, std::string_view list);

// Height and width of an input_size; empty where it is not one.
std::optional<std::array<std::int64_t, 2>> height_and_width(const base::Setting& size);

// Whether the axis multiplies experiments of the backend. User backends have all.
bool has_axis(std::string_view backend, std::string_view axis);
bool is_built_in(std::string_view backend);
std::string backend_list();  // "ort, torch, jax, …"
std::string backends_with(std::string_view axis);

}  // namespace pagoda::measured::bench
#pragma GCC visibility pop
