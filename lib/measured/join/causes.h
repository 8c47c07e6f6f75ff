// Why counters and an estimate differ: what is known of a group of kernels and nodes, and the rules that judge it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/measured/join.h"

namespace pagoda::measured {

// What counters say of the kernels of a group.
struct Counted {
  std::optional<double> all;     // operations; empty where a kernel or a precision was not collected
  std::optional<double> tensor;  // of what was collected; empty where no precision of tensor units was
  std::optional<double> bytes, read;
  bool has_any = false, is_partial = false, is_sparse = false;
  bool is_replayed = false;  // bytes are those of replays, which find caches as their last pass left them
  std::map<std::string, double> by_format;  // of tensor units
  std::vector<std::string> names;           // of kernels, in lower case
};

struct Evidence {
  const documents::NodeCounts& group;
  const Counted& counted;
  const EstimateDocument& estimate;
  std::optional<double> padding;  // how much larger its products can get by filling their tiles; empty: not known
};

// In the order of the table of rules.
std::vector<documents::CountFlag> causes_of(const Evidence& evidence);

// Whether the bytes are those of replayed kernels: `env` of the measurement says so.
bool is_replayed(const documents::Measured& measured);

// Functions and comparisons, which hardware does not count one for one.
double uncounted(const documents::EstimateNode& row);
// Whether an operand or a result of the nodes is float16 or bfloat16, so that packed halves are theirs.
bool computes_in_halves(const std::vector<std::size_t>& nodes, const EstimateDocument& estimate);

}  // namespace pagoda::measured
