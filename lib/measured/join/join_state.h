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
  std::vector<std::string_view> causes;              // by kernel: why its range cannot join; empty: it may
  std::vector<bool> is_engine_work;                  // by kernel: the engine added it, and no row of the model does it
  std::vector<bool> is_withheld;                     // by row: may be of a layer that could not join

  const documents::EstimateNode& row(std::size_t index) const { return estimate.nodes[index]; }
  documents::MeasuredKernel& kernel(std::size_t index) { return measured.kernels[index]; }
  bool is_joined(std::size_t kernel) const { return measured.kernels[kernel].joined.has_value(); }
  bool is_taken(std::size_t row) const { return !kernels_of[row].empty(); }
  // Whether the row executes something, so that some kernel must have run it.
  bool is_work(std::size_t row) const;

  // Whether it may be given to a kernel that does not name it, since no other is known to have executed it.
  bool is_silent(std::size_t row) const { return is_work(row) && !is_taken(row) && !is_withheld[row]; }
  // Whether it did work of the model, but joined nothing so far.
  bool is_unplaced(std::size_t kernel) const { return !is_joined(kernel) && !is_engine_work[kernel]; }

  // Rows with that name, with an output of that name, or that read a value of that name; empty: none.
  const std::vector<std::size_t>& named(const std::string& name) const { return find(names_, name); }
  const std::vector<std::size_t>& with_output(const std::string& value) const { return find(outputs_, value); }
  const std::vector<std::size_t>& reading(const std::string& value) const { return find(readers_, value); }
  // Rows whose name Myelin spells like this: "/layer_0/MatMul" for "/layer.0/MatMul".
  const std::vector<std::size_t>& in_myelin(const std::string& name) const { return find(myelin_names_, name); }
  // The rows that read the row's outputs, and those that produce its inputs.
  std::vector<std::size_t> after(std::size_t row) const;
  std::vector<std::size_t> before(std::size_t row) const;

  // Records that the kernel also executed these rows.
  void take(std::size_t kernel, const std::vector<std::size_t>& rows, std::string_view rule);
  // Also gives it rows that neither its name nor its range names.
  void absorb(std::size_t kernel, const std::vector<std::size_t>& rows);
  // Takes the kernel's rows from it: it also executed others, which are not known.
  void withhold(std::size_t kernel, std::string_view cause);

 private:
  using Index = Readers;  // rows by name
  static const std::vector<std::size_t>& find(const Index& index, const std::string& key);

  Index names_, outputs_, readers_, myelin_names_;
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

// The rows that a name resolves to, and the rule.
struct Resolved {
  std::vector<std::size_t> rows;
  std::string_view rule;
};
Resolved resolve(const JoinState& state, std::string_view name);

// The kernels between which a row can have run, by the data flow: not before those that executed the rows it reads
// from, and not after those that executed its readers. Both ends are included.
struct Window {
  std::size_t begin = 0, end = 0;
};
std::vector<Window> windows(const JoinState& state);

// Joins kernels by their names and the names of their ranges.
void join_by_name(JoinState& state);
// Joins the remaining layers that TensorRT names by their ends alone.
void join_ranges(JoinState& state);
// Join remaining kernels by module paths and by order of calls.
void join_by_scope(JoinState& state);
void join_by_order(JoinState& state);
// Assigns rows that no kernel names to the fused or unnamed kernel that must have executed them.
void absorb(JoinState& state);

}  // namespace pagoda::measured
