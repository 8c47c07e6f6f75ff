// Joins kernels to rows by name: by the engine's name of a kernel, and by the names of its ranges.
#include "pagoda/measured/join.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "import/engine_names.h"
#include "join/join_state.h"
#include "pagoda/base/cat.h"

namespace pagoda::measured {
namespace {

using documents::Amount, documents::plus;

void append(std::vector<std::size_t>& rows, const std::vector<std::size_t>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

// {ForeignNode[first...last]}, which join_ranges() joins.
bool holds_range(const documents::MeasuredKernel& kernel) {
  return std::ranges::any_of(kernel.nodes,
                             [](const std::string& part) { return import::node_range(part).has_value(); });
}

// Whether a part of a fused name is a row, or known to be none: work of the engine, or a stored tensor. Exporters name
// tensors "/act/Constant_output_0" and "onnx::Conv_497", as they name no node.
bool is_known(const JoinState& state, const std::string& part) {
  const std::size_t output = part.rfind("_output_");
  if (part.starts_with("onnx::") || (output != std::string::npos && output + 10 >= part.size())) return true;
  if (!resolve(state, part).rows.empty() || !import::engine_work(part, "").empty()) return true;
  for (std::optional<std::string> now(part); now; now = import::undecorated(*now))
    if (!state.reading(*now).empty()) return true;
  return false;
}

void join_own_name(JoinState& state, std::size_t index) {
  const documents::MeasuredKernel& kernel = state.kernel(index);
  if (holds_range(kernel)) return;
  if (state.is_engine_work[index] && kernel.nodes.empty()) return;
  if (kernel.nodes.empty()) {
    const Resolved found = resolve(state, kernel.node.empty() ? kernel.name : kernel.node);
    if (!found.rows.empty()) state.take(index, found.rows, found.rule);
    return;
  }
  std::vector<std::size_t> rows;
  for (const std::string& part : kernel.nodes) append(rows, resolve(state, part).rows);
  if (rows.empty()) return;
  state.take(index, rows, kernel.nodes.size() > 1 ? "fused name" : "name");
  if (!std::ranges::all_of(kernel.nodes, [&](const std::string& part) { return is_known(state, part); }))
    state.withhold(index, "a part of the name is not in the model");
}

// The rows of a TensorRT layer from the name of its range: "conv1 + relu1". Every part must be a row; otherwise text
// that includes an outer range's name would resolve by its last part only.
std::vector<std::size_t> resolve_layer(const JoinState& state, const std::string& range) {
  std::vector<std::size_t> rows;
  const std::vector<std::string> parts = import::name_parts(range);
  if (parts.size() < 2) return rows;
  for (const std::string& part : parts) {
    const std::vector<std::size_t> more = resolve(state, part).rows;
    if (more.empty()) return {};
    append(rows, more);
  }
  return rows;
}

// Resolves the row's name in a range: the range itself, or ONNX Runtime's "OpType.index(name)".
std::vector<std::size_t> resolve_range(const JoinState& state, const std::string& range) {
  std::vector<std::size_t> rows = resolve(state, range).rows;
  const std::size_t open = range.find('(');
  if (rows.empty() && open != std::string::npos && range.ends_with(')'))
    rows = resolve(state, std::string_view(range).substr(open + 1, range.size() - open - 2)).rows;
  return rows.empty() ? resolve_layer(state, range) : rows;
}

// Ranges are joined by '/', which names may also contain: tries all substrings between slashes, those that end
// innermost first, and of these the longest first.
void join_range_name(JoinState& state, std::size_t index) {
  constexpr std::size_t kMostSlashes = 64;
  const std::string_view whole = state.kernel(index).nvtx;
  // Slashes in "{ForeignNode[/a/b.../c]}" separate no ranges.
  const std::size_t foreign = whole.rfind(import::kRangeEnd);
  const std::string path(foreign == std::string_view::npos ? whole : whole.substr(foreign + import::kRangeEnd.size()));
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
      const std::vector<std::size_t> rows = resolve_range(state, path.substr(begin, *end - begin));
      if (!rows.empty()) return state.take(index, rows, "range name");
    }
}

}  // namespace

Resolved resolve(const JoinState& state, std::string_view name) {
  std::string_view rule = "name";
  // Decorations nest ("X/MatMulScaleFusion/_token_4"); each round removes one.
  for (std::optional<std::string> now(name); now; now = import::undecorated(*now), rule = "decorated name") {
    if (const auto& rows = state.named(*now); !rows.empty()) return {rows, rule};
    if (const auto& rows = state.with_output(*now); !rows.empty()) return {rows, "output"};
    if (const auto& rows = state.in_myelin(*now); rows.size() == 1) return {rows, "decorated name"};
  }
  return {};
}

JoinState::JoinState(documents::Measured& measured_, const EstimateDocument& estimate_)
    : measured(measured_),
      estimate(estimate_),
      kernels_of(estimate_.nodes.size()),
      causes(measured_.kernels.size()),
      is_withheld(estimate_.nodes.size(), false),
      readers_(readers_of(estimate_)) {
  for (const documents::MeasuredKernel& kernel : measured.kernels)
    is_engine_work.push_back(!import::engine_work(kernel.name, kernel.op_type).empty());
  // Other names may hold underscores where the model's hold dots by chance.
  const bool has_myelin = std::ranges::any_of(
      measured.kernels, [](const documents::MeasuredKernel& kernel) { return import::myelin_suffix(kernel.name) > 0; });
  for (std::size_t i = 0; i < estimate.nodes.size(); ++i) {
    const documents::EstimateNode& row = estimate.nodes[i];
    if (!row.name.empty()) names_[row.name].push_back(i);
    if (has_myelin && !row.name.empty()) myelin_names_[import::myelin_spelling(row.name)].push_back(i);
    for (const OutputInfo& output : row.outputs)
      if (!output.name.empty()) outputs_[output.name].push_back(i);
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

std::vector<std::size_t> JoinState::after(std::size_t index) const {
  std::vector<std::size_t> result;
  for (const OutputInfo& output : row(index).outputs)
    for (const std::size_t reader : find(readers_, output.name)) result.push_back(reader);
  return result;
}

std::vector<std::size_t> JoinState::before(std::size_t index) const {
  std::vector<std::size_t> result;
  for (const base::Name& input : row(index).inputs)
    for (const std::size_t producer : with_output(input)) result.push_back(producer);
  return result;
}

void JoinState::take(std::size_t index, const std::vector<std::size_t>& rows, std::string_view rule) {
  std::optional<documents::Joined>& joined = kernel(index).joined;
  if (!joined) joined = documents::Joined{std::string(rule), {}};
  for (const std::size_t row : rows) {
    const auto place = std::ranges::lower_bound(joined->nodes, row);
    if (place != joined->nodes.end() && *place == row) continue;
    joined->nodes.insert(place, row);
    kernels_of[row].push_back(index);
  }
}

void JoinState::absorb(std::size_t index, const std::vector<std::size_t>& rows) {
  constexpr std::string_view kAbsorbed = " + absorbed";
  take(index, rows, "");
  std::string& rule = kernel(index).joined->rule;
  if (!rule.ends_with(kAbsorbed)) rule += kAbsorbed;
}

void JoinState::withhold(std::size_t index, std::string_view cause) {
  causes[index] = cause;
  std::optional<documents::Joined>& joined = kernel(index).joined;
  if (!joined) return;
  for (const std::size_t row : joined->nodes) {
    std::erase(kernels_of[row], index);
    is_withheld[row] = true;
  }
  joined.reset();
}

void join_by_name(JoinState& state) {
  for (std::size_t i = 0; i < state.measured.kernels.size(); ++i) join_own_name(state, i);
  for (std::size_t i = 0; i < state.measured.kernels.size(); ++i)
    if (!state.is_joined(i) && state.causes[i].empty()) join_range_name(state, i);
}

void join(documents::Measured& measured, const EstimateDocument& estimate) {
  if (estimate.types)
    throw Error(cat("the estimate of ", estimate.model.path,
                    " has a row per type; a join needs a row per node: write it without `by=type`"));
  for (documents::MeasuredKernel& kernel : measured.kernels) {
    kernel.joined.reset();
    kernel.unjoined.clear();
  }
  JoinState state(measured, estimate);
  join_by_name(state);
  join_ranges(state);
  join_by_scope(state);
  join_by_order(state);
  absorb(state);

  documents::JoinSummary summary;
  summary.model = estimate.model.path;
  summary.seconds = measured.kernel_seconds();
  if (summary.seconds) summary.joined_seconds = 0;
  for (std::size_t i = 0; i < measured.kernels.size(); ++i) {
    documents::MeasuredKernel& kernel = measured.kernels[i];
    if (kernel.joined) {
      summary.joined_seconds = plus(summary.joined_seconds, kernel.seconds);
      continue;
    }
    kernel.unjoined = state.causes[i].empty() ? import::cause_of_no_row(kernel.name, kernel.op_type) : state.causes[i];
    auto entry = std::ranges::find(summary.unjoined, kernel.unjoined, &documents::UnjoinedTime::cause);
    if (entry == summary.unjoined.end())
      entry = summary.unjoined.insert(entry, {.cause = kernel.unjoined, .seconds = 0});
    ++entry->kernels;
    entry->seconds = plus(entry->seconds, kernel.seconds);
  }
  std::ranges::stable_sort(summary.unjoined, std::greater(),
                           [](const documents::UnjoinedTime& each) { return each.seconds.value_or(0); });
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
    g.flops = plus(g.flops, documents::real(node.counts.flops));
    g.bytes = plus(g.bytes, documents::real(node.counts.bytes));
    g.bound_seconds = plus(g.bound_seconds,
                           bound == nullptr || bound->bound == Bound::Unknown ? std::nullopt : Amount(bound->seconds));
  }
  for (std::size_t i = 0; i < measured.kernels.size(); ++i) {
    const documents::MeasuredKernel& kernel = measured.kernels[i];
    if (!kernel.joined || kernel.joined->nodes.empty()) continue;
    JoinedGroup& g = groups[group_of[root(kernel.joined->nodes.front())]];
    g.kernels.push_back(i);
    g.seconds = plus(g.seconds, kernel.seconds);
  }
  std::ranges::stable_sort(groups, std::greater(), [](const JoinedGroup& g) { return g.seconds.value_or(0); });
  return groups;
}

std::vector<Unjoined> unjoined_kernels(const documents::Measured& measured) {
  const std::optional<double> total = measured.kernel_seconds();
  std::vector<Unjoined> result;
  for (std::size_t i = 0; i < measured.kernels.size(); ++i) {
    const documents::MeasuredKernel& kernel = measured.kernels[i];
    if (kernel.joined) continue;
    result.push_back({i, documents::ratio(kernel.seconds, total), kernel.unjoined});
  }
  std::ranges::stable_sort(result, std::greater(),
                           [&](const Unjoined& each) { return measured.kernels[each.kernel].seconds.value_or(0); });
  return result;
}

}  // namespace pagoda::measured
