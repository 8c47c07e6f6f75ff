// Why counters and an estimate differ: the evidence on a group of kernels and nodes, and the rules that judge it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pagoda/measured/join.h"

namespace pagoda::measured {

// The counters of a group beside its estimate.
struct Evidence {
  const EstimateDocument& estimate;
  documents::NodeCounts group = {};  // without flags
  documents::Amount padding = {};    // largest factor by which full tiles increase its products
  bool is_partial = false;           // a precision was not collected
  bool is_sparse = false;            // by a counter or a kernel's name
  bool is_replayed = false;          // bytes are from replays, which find caches as their last pass left them
  std::map<std::string, double> by_format = {};  // operations of tensor units
  std::vector<std::string> kernels = {};         // names in lower case
};

// Returned in the order of the table of rules.
std::vector<documents::CountFlag> causes_of(const Evidence& evidence);

// Whether kernels were replayed to count bytes, according to `env`.
bool is_replayed(const documents::Measured& measured);

// Functions and comparisons, which hardware does not count one for one.
double uncounted(const documents::EstimateNode& row);
// Whether the nodes compute in or output float16 or bfloat16, so that packed half operations belong to them.
bool computes_in_halves(const std::vector<std::size_t>& nodes, const EstimateDocument& estimate);

}  // namespace pagoda::measured
