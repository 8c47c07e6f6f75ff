// State shared by the steps of a join: rows by name and value, and the kernels that took them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
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
  const std::vector<std::size_t>& named(const std::string& name) const;
  const std::vector<std::size_t>& with_output(const std::string& value) const;
  // The rows that produce a value; the rows that read it.
  const std::vector<std::size_t>& producer(const std::string& value) const { return with_output(value); }
  const std::vector<std::size_t>& readers(const std::string& value) const;

  // Records that the kernel also executed these rows.
  void take(std::size_t kernel, const std::vector<std::size_t>& rows, std::string_view rule);

 private:
  using Index = std::unordered_map<std::string, std::vector<std::size_t>>;
  static const std::vector<std::size_t>& find(const Index& index, const std::string& key);

  Index names_, outputs_, readers_;
};

// Joins kernels by their names and the names of their ranges.
void join_by_name(JoinState& state);
// Join remaining kernels by module paths and by order of calls.
void join_by_scope(JoinState& state);
void join_by_order(JoinState& state);
// Assigns rows that no kernel names to the fused or unnamed kernel that must have executed them.
void absorb(JoinState& state);

}  // namespace pagoda::measured
