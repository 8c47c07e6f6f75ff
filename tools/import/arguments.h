// The command line of pagoda-import.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "pagoda/measured/import.h"

namespace pagoda::tools {

struct ImportArguments {
  std::string file, estimate, output, csv;  // paths; empty: not given
  std::size_t top = 20, width = 0;
  bool table = false;
  measured::ImportOptions options;
};

// Empty after --help or --version. Throws UsageError.
std::optional<ImportArguments> parse_import(int argc, char** argv);

}  // namespace pagoda::tools
