// The command line options of ert-ceilings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pagoda::tools::ceilings {

enum class Depth { Quick, Normal, Full };

struct Options {
  bool cpu = false;
  std::optional<int> gpu;
  Depth depth = Depth::Normal;
  std::vector<std::string> only;  // parts of ids
  bool energy = false, audit = false, counters = false, strict = false;
  std::optional<double> budget_seconds;
  std::uint64_t seed = 1;
  std::string baseline, resume, json, csv, ert_csv, rocprof_csv;
  double tolerance = 0.02;

  std::vector<std::string> outputs() const { return {json, csv, ert_csv, rocprof_csv}; }
  bool wants(const std::string& id) const {
    const auto holds = [&](const std::string& part) { return id.find(part) != std::string::npos; };
    return only.empty() || std::ranges::any_of(only, holds);
  }
};

}  // namespace pagoda::tools::ceilings
