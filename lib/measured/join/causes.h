// Why counters and an estimate differ: the evidence on a group of kernels and nodes, and the rules that judge it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/measured/join.h"

namespace pagoda::measured {

// Counters summed over the kernels of a group.
struct Counted {
  std::optional<double> all;     // operations; empty if a kernel or a precision was not collected
  std::optional<double> tensor;  // tensor unit operations, of collected precisions; empty if none was
  std::optional<double> bytes, read;
  bool has_any = false, is_partial = false, is_sparse = false;
  bool is_replayed = false;                 // bytes are from replays, which find caches as their last pass left them
  std::map<std::string, double> by_format;  // of tensor units
  std::vector<std::string> names;           // kernel names, in lower case
};

struct Evidence {
  const documents::NodeCounts& group;
  const Counted& counted;
  const EstimateDocument& estimate;
  std::optional<double> padding;  // largest factor by which full tiles increase its products; empty: not known
};

// Returned in the order of the table of rules.
std::vector<documents::CountFlag> causes_of(const Evidence& evidence);

// Whether the bytes are from replayed kernels, according to `env` of the measurement.
bool is_replayed(const documents::Measured& measured);

// Functions and comparisons, which hardware does not count one for one.
double uncounted(const documents::EstimateNode& row);
// Whether the nodes compute in or output float16 or bfloat16, so that packed half operations belong to them.
bool computes_in_halves(const std::vector<std::size_t>& nodes, const EstimateDocument& estimate);

}  // namespace pagoda::measured
