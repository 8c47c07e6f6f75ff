// Joins kernels to rows by name: by the engine's name of a kernel, and by the names of its ranges.
#include "pagoda/measured/join.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "import/engine_names.h"
#include "join/join_state.h"
#include "pagoda/base/cat.h"

namespace pagoda::measured {
namespace {

// The rows that a name resolves to, and the rule.
struct Resolved {
  std::vector<std::size_t> rows;
  std::string_view rule;
};

Resolved resolve(const JoinState& state, std::string name) {
  if (const auto& rows = state.named(name); !rows.empty()) return {rows, "name"};
  if (const auto& rows = state.with_output(name); !rows.empty()) return {rows, "output"};
  // Decorations nest ("X/MatMulScaleFusion/_token_4"); remove one at a time.
  while (const std::optional<std::string> inner = import::undecorated(name)) {
    name = *inner;
    if (const auto& rows = state.named(name); !rows.empty()) return {rows, "decorated name"};
    if (const auto& rows = state.with_output(name); !rows.empty()) return {rows, "output"};
  }
  return {{}, ""};
}

void sort_unique(std::vector<std::size_t>& rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

// Rows that `step` reaches from `from`, including `from`.
template <typename Step>
std::set<std::size_t> reachable(const std::vector<std::size_t>& from, Step step) {
  std::set<std::size_t> seen(from.begin(), from.end());
  std::vector<std::size_t> work(from.begin(), from.end());
  while (!work.empty()) {
    const std::size_t row = work.back();
    work.pop_back();
    for (const std::size_t next : step(row))
      if (seen.insert(next).second) work.push_back(next);
  }
  return seen;
}

void append(std::vector<std::size_t>& rows, const std::vector<std::size_t>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

std::vector<std::size_t> after(const JoinState& state, std::size_t row) {
  std::vector<std::size_t> result;
  for (const OutputInfo& output : state.row(row).outputs) append(result, state.readers(output.name));
  return result;
}

std::vector<std::size_t> before(const JoinState& state, std::size_t row) {
  std::vector<std::size_t> result;
  for (const base::Name& input : state.row(row).inputs) append(result, state.producer(input));
  return result;
}

// Rows of {ForeignNode[first...last]}: both ends, and rows on a path between them that are not taken.
std::vector<std::size_t> rows_of_range(const JoinState& state, const std::string& first, const std::string& last) {
  const Resolved from = resolve(state, first), to = resolve(state, last);
  std::vector<std::size_t> rows = from.rows;
  append(rows, to.rows);
  if (!from.rows.empty() && !to.rows.empty()) {
    const auto down = reachable(from.rows, [&](std::size_t row) { return after(state, row); });
    const auto up = reachable(to.rows, [&](std::size_t row) { return before(state, row); });
    for (const std::size_t row : down)
      if (up.contains(row) && !state.is_taken(row)) rows.push_back(row);
  }
  sort_unique(rows);
  return rows;
}

// The rows of one part of a layer's name.
std::vector<std::size_t> rows_of_part(const JoinState& state, const std::string& part) {
  const auto ends = import::node_range(part);
  return ends ? rows_of_range(state, ends->first, ends->second) : resolve(state, part).rows;
}

bool holds_range(const documents::MeasuredKernel& kernel) {
  return std::any_of(kernel.nodes.begin(), kernel.nodes.end(),
                     [](const std::string& part) { return import::node_range(part).has_value(); });
}

void join_own_name(JoinState& state, std::size_t index) {
  const documents::MeasuredKernel& kernel = state.kernel(index);
  if (!import::engine_work(kernel.name, kernel.op_type).empty() && kernel.nodes.empty()) return;
  if (kernel.nodes.empty()) {
    const Resolved found = resolve(state, kernel.node.empty() ? kernel.name : kernel.node);
    if (!found.rows.empty()) state.take(index, found.rows, found.rule);
    return;
  }
  std::vector<std::size_t> rows;
  bool has_range = false;
  for (const std::string& part : kernel.nodes) {
    append(rows, rows_of_part(state, part));
    has_range = has_range || import::node_range(part);
  }
  sort_unique(rows);
  if (!rows.empty()) state.take(index, rows, has_range ? "range" : kernel.nodes.size() > 1 ? "fused name" : "name");
}

// The rows of a TensorRT layer from the name of its range: "conv1 + relu1", "{ForeignNode[a...b]}". Every part must be
// a row; otherwise text that includes an outer range's name would resolve by its last part only.
Resolved resolve_layer(const JoinState& state, const std::string& range) {
  Resolved result{{}, "fused name"};
  const std::vector<std::string> parts = import::name_parts(range);
  if (parts.size() < 2 && !import::node_range(range)) return result;
  for (const std::string& part : parts) {
    const std::vector<std::size_t> rows = rows_of_part(state, part);
    if (rows.empty()) return {{}, result.rule};
    append(result.rows, rows);
  }
  sort_unique(result.rows);
  return result;
}

// Resolves the row's name in a range: the range itself, or ONNX Runtime's "OpType.index(name)".
Resolved resolve_range(const JoinState& state, const std::string& range) {
  Resolved found = resolve(state, range);
  const std::size_t open = range.find('(');
  if (found.rows.empty() && open != std::string::npos && range.ends_with(')'))
    found = resolve(state, range.substr(open + 1, range.size() - open - 2));
  if (found.rows.empty()) found = resolve_layer(state, range);
  return found;
}

// Ranges are joined by '/', which names may also contain: tries all substrings between slashes, those that end
// innermost first, and of these the longest first.
void join_range_name(JoinState& state, std::size_t index) {
  constexpr std::size_t kMostSlashes = 64;
  const std::string& path = state.kernel(index).nvtx;
  if (path.empty()) return;
  std::vector<std::size_t> begins = {0}, ends;
  for (std::size_t i = 0; i < path.size(); ++i)
    if (path[i] == '/') {
      ends.push_back(i);
      begins.push_back(i);      // a name that begins with a slash: "/layer1/conv"
      begins.push_back(i + 1);  // a name that does not: "forward/conv"
    }
  ends.push_back(path.size());
  if (ends.size() > kMostSlashes) return;
  for (auto end = ends.rbegin(); end != ends.rend(); ++end)
    for (const std::size_t begin : begins) {
      if (begin >= *end) continue;
      const Resolved found = resolve_range(state, path.substr(begin, *end - begin));
      if (found.rows.empty()) continue;
      state.take(index, found.rows, "range name");
      return;
    }
}

}  // namespace

JoinState::JoinState(documents::Measured& measured_, const EstimateDocument& estimate_)
    : measured(measured_), estimate(estimate_), kernels_of(estimate_.nodes.size()) {
  for (std::size_t i = 0; i < estimate.nodes.size(); ++i) {
    const documents::EstimateNode& row = estimate.nodes[i];
    if (!row.name.empty()) names_[row.name].push_back(i);
    for (const OutputInfo& output : row.outputs)
      if (!output.name.empty()) outputs_[output.name].push_back(i);
    for (const base::Name& input : row.inputs)
      if (!input.empty()) readers_[input].push_back(i);
  }
}

bool JoinState::is_work(std::size_t index) const {
  return row(index).mark == Mark::Compute || row(index).mark == Mark::Unmodelled;
}

const std::vector<std::size_t>& JoinState::find(const Index& index, const std::string& key) {
  static const std::vector<std::size_t> kNone;
  const auto found = index.find(key);
  return found == index.end() ? kNone : found->second;
}

const std::vector<std::size_t>& JoinState::named(const std::string& name) const { return find(names_, name); }
const std::vector<std::size_t>& JoinState::with_output(const std::string& value) const { return find(outputs_, value); }
const std::vector<std::size_t>& JoinState::readers(const std::string& value) const { return find(readers_, value); }

void JoinState::take(std::size_t index, const std::vector<std::size_t>& rows, std::string_view rule) {
  std::optional<documents::Joined>& joined = kernel(index).joined;
  if (!joined) joined = documents::Joined{std::string(rule), {}};
  for (const std::size_t row : rows) {
    if (std::find(joined->nodes.begin(), joined->nodes.end(), row) != joined->nodes.end()) continue;
    joined->nodes.push_back(row);
    kernels_of[row].push_back(index);
  }
  std::sort(joined->nodes.begin(), joined->nodes.end());
}

void join_by_name(JoinState& state) {
  // ForeignNode ranges take the rows that other kernels leave, so they come last.
  for (const bool ranges : {false, true})
    for (std::size_t i = 0; i < state.measured.kernels.size(); ++i)
      if (holds_range(state.kernel(i)) == ranges) join_own_name(state, i);
  for (std::size_t i = 0; i < state.measured.kernels.size(); ++i)
    if (!state.is_joined(i)) join_range_name(state, i);
}

void join(documents::Measured& measured, const EstimateDocument& estimate) {
  if (estimate.types)
    throw Error(cat("the estimate of ", estimate.model.path,
                    " has a row per type; a join needs a row per node: write it without `by=type`"));
  for (documents::MeasuredKernel& kernel : measured.kernels) kernel.joined.reset();
  JoinState state(measured, estimate);
  join_by_name(state);
  join_by_scope(state);
  join_by_order(state);
  absorb(state);

  documents::JoinSummary summary;
  summary.model = estimate.model.path;
  summary.seconds = measured.kernel_seconds();
  if (summary.seconds) summary.joined_seconds = 0;
  for (const documents::MeasuredKernel& kernel : measured.kernels)
    if (kernel.joined) summary.joined_seconds = documents::plus(summary.joined_seconds, kernel.seconds);
  for (std::size_t row = 0; row < estimate.nodes.size(); ++row)
    if (state.is_work(row) && !state.is_taken(row)) summary.silent_nodes.push_back(row);
  summary.counts = node_counts(measured, estimate);
  measured.join = std::move(summary);
}

std::optional<double> JoinedGroup::ratio() const { return documents::ratio(seconds, bound_seconds); }

std::vector<JoinedGroup> joined_groups(const documents::Measured& measured, const EstimateDocument& estimate) {
  // Kernels that share a row belong together: union-find over rows.
  std::vector<std::size_t> parent(estimate.nodes.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t row) {
    while (parent[row] != row) row = parent[row] = parent[parent[row]];
    return row;
  };
  std::vector<bool> taken(estimate.nodes.size(), false);
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    if (!kernel.joined) continue;
    for (const std::size_t row : kernel.joined->nodes) {
      if (row >= estimate.nodes.size())
        throw Error(cat("the measurement is joined to node ", row, ", and the estimate has ", estimate.nodes.size(),
                        "; join it to this estimate"));
      taken[row] = true;
      parent[root(row)] = root(kernel.joined->nodes.front());
    }
  }
  std::vector<JoinedGroup> groups;
  std::vector<std::size_t> group_of(estimate.nodes.size(), estimate.nodes.size());
  const auto add = [](std::optional<double>& sum, const std::optional<double>& part) {
    sum = documents::plus(sum, part);
  };
  for (std::size_t row = 0; row < estimate.nodes.size(); ++row) {
    if (!taken[row]) continue;
    std::size_t& group = group_of[root(row)];
    if (group == estimate.nodes.size()) {
      group = groups.size();
      groups.push_back({{}, {}, 0.0, 0.0, 0.0, 0.0});
    }
    JoinedGroup& g = groups[group];
    g.rows.push_back(row);
    const documents::EstimateNode& node = estimate.nodes[row];
    const RowBound* bound = estimate.bound_of(node);
    add(g.flops, documents::real(node.counts.flops));
    add(g.bytes, documents::real(node.counts.bytes));
    add(g.bound_seconds,
        bound == nullptr || bound->bound == Bound::Unknown ? std::nullopt : std::optional(bound->seconds));
  }
  for (std::size_t i = 0; i < measured.kernels.size(); ++i) {
    const documents::MeasuredKernel& kernel = measured.kernels[i];
    if (!kernel.joined || kernel.joined->nodes.empty()) continue;
    JoinedGroup& g = groups[group_of[root(kernel.joined->nodes.front())]];
    g.kernels.push_back(i);
    add(g.seconds, kernel.seconds);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const JoinedGroup& a, const JoinedGroup& b) {
    return a.seconds.value_or(0) > b.seconds.value_or(0);
  });
  return groups;
}

std::vector<Unjoined> unjoined_kernels(const documents::Measured& measured) {
  const std::optional<double> total = measured.kernel_seconds();
  std::vector<Unjoined> result;
  for (std::size_t i = 0; i < measured.kernels.size(); ++i) {
    const documents::MeasuredKernel& kernel = measured.kernels[i];
    if (kernel.joined) continue;
    const std::string_view work = import::engine_work(kernel.name, kernel.op_type);
    result.push_back(
        {i, documents::ratio(kernel.seconds, total), std::string(work.empty() ? "no row of that name" : work)});
  }
  std::stable_sort(result.begin(), result.end(), [&](const Unjoined& a, const Unjoined& b) {
    return measured.kernels[a.kernel].seconds.value_or(0) > measured.kernels[b.kernel].seconds.value_or(0);
  });
  return result;
}

}  // namespace pagoda::measured
