// Options with a unit: the spellings of pagoda/base/quantity.h, for every tool.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "pagoda/base/number.h"
#include "pagoda/base/quantity.h"
#include "pagoda/base/text.h"

namespace pagoda::tools {

// For CLI::Option::transform(): "500ms" becomes seconds, "2%" a fraction. A plain number stays as it is.
inline CLI::Validator in(base::Measure measure) {
  return CLI::Validator(
      [measure](std::string& text) {
        if (base::parse_number<double>(text)) return std::string();
        try {
          text = base::shortest(base::quantity(measure, text).value);
          return std::string();
        } catch (const Error& error) {
          return std::string(error.what());
        }
      },
      "");
}

}  // namespace pagoda::tools
