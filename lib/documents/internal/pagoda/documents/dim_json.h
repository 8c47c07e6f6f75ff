// A size in JSON: an integer, or its formula as a string.
#pragma once

#include <optional>

#include "pagoda/base/json_writer.h"
#include "pagoda/core/dim.h"

#pragma GCC visibility push(default)
namespace pagoda {

inline void write_json(base::JsonWriter& json, const Dim& dim) {
  const std::optional<Int> number = dim.value();
  number ? json.value(*number) : json.value(dim.to_string());
}

}  // namespace pagoda
#pragma GCC visibility pop
