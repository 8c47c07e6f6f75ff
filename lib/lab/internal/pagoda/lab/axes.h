// The axes of studies and the built-in backends that support them. Support is defined by data, in tables.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/documents/result.h"

#pragma GCC visibility push(default)
namespace pagoda::lab::bench {

enum class AxisType : std::uint8_t { Text, Integer, Size };  // Size: an integer, or HEIGHTxWIDTH

struct AxisRow {
  std::string_view name, plural;
  AxisType type;
};

// In the order of the cross product, slowest-varying first.
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

const AxisRow* find_axis(std::string_view name);  // by name or plural; null if there is none

// Parses a list of values: texts unchanged; integers of at least 1, with ranges as in sweeps ("1,2,4..64",
// "64,96..256"); sizes likewise, or as HEIGHTxWIDTH ("224,224x320"). Throws Error.
std::vector<base::Setting> axis_values(const AxisRow& axis, std::string_view list);

// Height and width of an input_size; empty if it is not one.
std::optional<std::array<std::int64_t, 2>> height_and_width(const base::Setting& size);

// Whether the backend has the axis, so that it multiplies experiments. User backends have every axis.
bool has_axis(std::string_view backend, std::string_view axis);
bool is_built_in(std::string_view backend);
std::string backend_list();  // "ort, torch, jax, …"
std::string backends_with(std::string_view axis);

}  // namespace pagoda::lab::bench
#pragma GCC visibility pop
