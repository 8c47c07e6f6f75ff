// The command line of pagoda-profile and its work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inject/settings.h"

namespace pagoda::tools::profile {

struct Options {
  Settings record;  // as the command line gives them
  std::string mode = "quick", precision, output, csv, estimate, library, verify;
  std::string ncu = "ncu", chip, by = "kernel";
  std::vector<std::string> models, batches;  // for a study under Nsight Compute
  std::optional<double> verify_bytes;        // percent; empty: bytes do not decide the result
  std::optional<std::int64_t> warmup;
  bool safe = false, strict = false;
  std::size_t top = 20;
  std::vector<std::string> command;
};

// Empty after --help or --version. Throws UsageError, also for incompatible options: the program may run for a long
// time, so everything that can be checked beforehand is.
std::optional<Options> parse_options(int argc, char** argv);

// Profiles according to the options, writes and prints the requested results, and returns the exit code: that of the
// program if it failed. Throws Error.
int run(const Options& options);

}  // namespace pagoda::tools::profile
