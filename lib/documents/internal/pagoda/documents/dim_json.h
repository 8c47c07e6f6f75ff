// A size in JSON: an integer, or its formula as a string.
#pragma once

#include "pagoda/base/json_writer.h"
#include "pagoda/core/dim.h"

#pragma GCC visibility push(default)
namespace pagoda {

void write_json(base::JsonWriter& json, const Dim& dim);

}  // namespace pagoda
#pragma GCC visibility pop
