// State shared by the steps of a join: rows by name and value, and the kernels that took them.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/measured/join.h"

namespace pagoda::measured {

class JoinState {
 public:
  JoinState(documents::Measured& measured, const EstimateDocument& estimate);

  documents::Measured& measured;
  const EstimateDocument& estimate;
  std::vector<std::vector<std::size_t>> kernels_of;  // by row

  const documents::EstimateNode& row(std::size_t index) const { return estimate.nodes[index]; }
  documents::MeasuredKernel& kernel(std::size_t index) { return measured.kernels[index]; }
  bool is_joined(std::size_t kernel) const { return measured.kernels[kernel].joined.has_value(); }
  bool is_taken(std::size_t row) const { return !kernels_of[row].empty(); }
  // Whether the row executes something, so that some kernel must have run it.
  bool is_work(std::size_t row) const;

  // Rows with that name, or with an output of that name; empty: none.
  const std::vector<std::size_t>& named(const std::string& name) const { return find(names_, name); }
  const std::vector<std::size_t>& with_output(const std::string& value) const { return find(outputs_, value); }
  // The rows that read the row's outputs, and those that produce its inputs.
  std::vector<std::size_t> after(std::size_t row) const;
  std::vector<std::size_t> before(std::size_t row) const;

  // Records that the kernel also executed these rows.
  void take(std::size_t kernel, const std::vector<std::size_t>& rows, std::string_view rule);

 private:
  using Index = Readers;  // rows by name
  static const std::vector<std::size_t>& find(const Index& index, const std::string& key);

  Index names_, outputs_, readers_;
};

// Rows that `step` reaches from `from`, including `from`.
template <typename Step>
std::set<std::size_t> reachable(const std::vector<std::size_t>& from, Step step) {
  std::set<std::size_t> seen(from.begin(), from.end());
  std::vector<std::size_t> work = from;
  while (!work.empty()) {
    const std::size_t row = work.back();
    work.pop_back();
    for (const std::size_t next : step(row))
      if (seen.insert(next).second) work.push_back(next);
  }
  return seen;
}

// Joins kernels by their names and the names of their ranges.
void join_by_name(JoinState& state);
// Join remaining kernels by module paths and by order of calls.
void join_by_scope(JoinState& state);
void join_by_order(JoinState& state);
// Assigns rows that no kernel names to the fused or unnamed kernel that must have executed them.
void absorb(JoinState& state);

}  // namespace pagoda::measured
