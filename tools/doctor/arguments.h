// The command line of pagoda-doctor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doctor.h"

namespace pagoda::tools::doctor {

struct Arguments {
  Surroundings surroundings;
  std::string json;  // a path; "-": standard output; empty: no JSON report
  std::vector<std::string> needs;
  bool is_strict = false;
};

// Empty after --help or --version. Throws UsageError.
std::optional<Arguments> parse_arguments(int argc, char** argv);

}  // namespace pagoda::tools::doctor
