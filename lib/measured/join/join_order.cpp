// Joins kernels without a row's name by the module that their range names, and by the order of calls.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "join/align_calls.h"
#include "join/join_state.h"
#include "join/pytorch_calls.h"
#include "pagoda/base/text.h"

namespace pagoda::measured {
namespace {

// The name without "_<n>", which exporters append to number the calls of one module.
std::string unnumbered(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
  return end < name.size() && end > 1 && name[end - 1] == '_' ? name.substr(0, end - 1) : name;
}

// PyTorch's module name from a scope: "/layer1/layer1.0/relu_2" → "layer1.0.relu". A part that extends the module so
// far replaces it; other parts are appended.
std::string module_of(const std::string& scope) {
  std::string module;
  for (const std::string& numbered : base::split(scope, "/")) {
    const std::string part = unnumbered(numbered);
    if (part.empty()) continue;
    // The part may repeat the module's end: "downsample.0" in "layer1.0.downsample", "block.0.0" in
    // "features.1.block.0".
    std::size_t place = module.empty() ? std::string::npos : 0;
    while (place != std::string::npos && !part.starts_with(module.substr(place) + ".")) {
      place = module.find('.', place);
      if (place != std::string::npos) ++place;
    }
    if (place != std::string::npos)
      module = module.substr(0, place) + part;
    else
      module += (module.empty() ? "" : ".") + part;
  }
  return module;
}

using RowsOfModule = std::map<std::string, std::vector<std::size_t>>;

// The same modules without the first part of their paths, if only then the measured modules are among them: a file
// often has the timed model inside another one, "model.encoder.layer.0".
RowsOfModule without_wrapper(RowsOfModule modules, const documents::Measured& measured) {
  const auto matches = [&](const std::string& before) {
    return std::ranges::count_if(measured.kernels,
                                 [&](const auto& kernel) { return modules.contains(before + kernel.nvtx); });
  };
  if (matches("") > 0) return modules;
  std::set<std::string> firsts;
  for (const auto& [module, rows] : modules) firsts.insert(module.substr(0, module.find('.')) + ".");
  std::string wrapper;
  std::ptrdiff_t most = 0;
  for (const std::string& first : firsts)
    if (const auto found = matches(first); found > most) most = found, wrapper = first;
  if (wrapper.empty()) return modules;
  RowsOfModule inner;
  for (const auto& [module, rows] : modules)
    if (module.starts_with(wrapper) || module + "." == wrapper || module.empty()) {
      std::vector<std::size_t>& all = inner[module.starts_with(wrapper) ? module.substr(wrapper.size()) : ""];
      all.insert(all.end(), rows.begin(), rows.end());
    }
  return inner;
}

// Exporters fold a BatchNorm into the weights of the product before it. The rows of that product then include its work.
void join_folded(JoinState& state) {
  for (std::size_t i = 1; i < state.measured.kernels.size(); ++i) {
    const documents::MeasuredKernel &module = state.kernel(i), &before = state.kernel(i - 1);
    const bool is_product = before.op_type.starts_with("Conv") || before.op_type == "Linear";
    if (!module.joined && before.joined && module.op_type.starts_with("BatchNorm") && is_product)
      state.take(i, before.joined->nodes, "folded");
  }
}

// Pairs kernels with rows one to one, in order. Shapes need not be compared: in one module or type, the shapes of
// kernels differ only as those of their rows do.
void pair_up(JoinState& state, const std::vector<std::size_t>& kernels, const std::vector<std::size_t>& rows,
             std::string_view rule) {
  for (std::size_t i = 0; i < kernels.size(); ++i) state.take(kernels[i], {rows[i]}, rule);
}

std::vector<std::size_t> rows_for(const JoinState& state, const std::vector<std::size_t>& rows, const std::string& op) {
  std::vector<std::size_t> fitting;
  for (const std::size_t row : rows)
    if (may_be(op, state.row(row).op_type) && !state.is_taken(row)) fitting.push_back(row);
  return fitting;
}

// Whether it is a call of an operator of PyTorch, as opposed to a kernel that the call launched.
bool is_call(const JoinState& state, std::size_t kernel) {
  const documents::MeasuredKernel& call = state.measured.kernels[kernel];
  return state.measured.source == "kineto" && call.name == call.op_type && call.name.find("::") != std::string::npos;
}

bool may_join(const JoinState& state, std::size_t kernel) {
  return state.is_unplaced(kernel) && state.causes[kernel].empty();
}

// Joins calls with free rows, both in order.
void join_aligned(JoinState& state, const std::vector<std::size_t>& calls, const std::vector<std::size_t>& rows,
                  std::string_view rule) {
  std::vector<std::string_view> names;
  names.reserve(calls.size());
  for (const std::size_t call : calls) names.emplace_back(state.kernel(call).name);
  std::vector<TypedNode> nodes;
  nodes.reserve(rows.size());
  for (const std::size_t row : rows)
    nodes.push_back({state.row(row).op_type.view(), state.row(row).mark == Mark::View});
  const std::vector<std::vector<std::size_t>> aligned = align_calls(names, nodes);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::vector<std::size_t> taken;
    for (const std::size_t place : aligned[i]) taken.push_back(rows[place]);
    if (!taken.empty()) state.take(calls[i], taken, rule);
  }
}

// Aligns the calls and rows between those that joined already.
void join_calls_by_order(JoinState& state) {
  std::vector<std::size_t> calls;
  std::size_t begin = 0;
  const auto join_until = [&](std::size_t end) {
    std::vector<std::size_t> rows;
    for (std::size_t row = begin; row < end; ++row)
      if (!state.is_taken(row) && (state.is_work(row) || state.row(row).mark == Mark::View)) rows.push_back(row);
    join_aligned(state, calls, rows, "order");
    calls.clear();
  };
  for (std::size_t i = 0; i < state.measured.kernels.size(); ++i) {
    if (!is_call(state, i)) continue;
    if (const auto& joined = state.kernel(i).joined; joined && !joined->nodes.empty()) {
      const std::size_t first = joined->nodes.front(), last = joined->nodes.back();
      join_until(first);
      begin = last + 1;
    } else if (may_join(state, i)) {
      calls.push_back(i);
    }
  }
  join_until(state.estimate.nodes.size());
  for (std::size_t i = 0; i < state.measured.kernels.size(); ++i)
    if (is_call(state, i) && !state.is_joined(i) && may_join(state, i))
      state.causes[i] = "a call whose nodes cannot be told";
}

// Joins the calls of one module with its rows. The only call did all of them, however the exporter spelled it; several
// calls did the only row together, such as a normalization.
void join_calls_of_module(JoinState& state, const std::vector<std::size_t>& calls, std::vector<std::size_t> rows) {
  std::erase_if(rows, [&](std::size_t row) { return state.is_taken(row); });
  if (rows.empty()) return;
  if (calls.size() > 1) join_aligned(state, calls, rows, "scope");
  if (calls.size() == 1 || (rows.size() == 1 && !state.is_taken(rows.front())))
    for (const std::size_t call : calls) state.take(call, rows, "scope");
}

// Updates of weights, which no node of the model does.
void find_optimizer(JoinState& state) {
  for (std::size_t i = 0; i < state.measured.kernels.size(); ++i)
    if (state.measured.source == "kineto" && state.kernel(i).nvtx.find("Optimizer.") != std::string::npos)
      state.causes[i] = "optimizer";
}

}  // namespace

void join_by_scope(JoinState& state) {
  find_optimizer(state);
  // pagoda-bench times modules, not operators: each gets all rows in its scope. The model itself, "/", gets the rows
  // without a scope.
  const bool are_modules = state.measured.source == "pagoda-bench";
  RowsOfModule modules;
  for (std::size_t row = 0; row < state.estimate.nodes.size(); ++row)
    if (state.is_work(row) && (are_modules || !state.row(row).scope.empty()))
      modules[module_of(state.row(row).scope)].push_back(row);
  if (are_modules) modules = without_wrapper(std::move(modules), state.measured);

  // Groups kernels by the innermost range that is a module; ranges are joined by '/'.
  std::map<std::string, std::vector<std::size_t>> calls;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> kernels;  // module, operator
  for (std::size_t i = 0; i < state.measured.kernels.size(); ++i) {
    const documents::MeasuredKernel& kernel = state.kernel(i);
    if (!may_join(state, i) || kernel.nvtx.empty()) continue;
    const std::vector<std::string> ranges = base::split(kernel.nvtx, "/");
    const auto innermost =
        std::find_if(ranges.rbegin(), ranges.rend(), [&](const std::string& range) { return modules.contains(range); });
    if (innermost == ranges.rend()) continue;
    (is_call(state, i) ? calls[*innermost] : kernels[{*innermost, kernel.op_type}]).push_back(i);
  }
  for (const auto& [module, group] : calls) join_calls_of_module(state, group, modules[module]);
  for (const auto& [key, group] : kernels) {
    const std::vector<std::size_t>& in_module = modules[key.first];
    if (are_modules) {
      for (const std::size_t kernel : group) state.take(kernel, in_module, "scope");
      continue;
    }
    const std::vector<std::size_t> fitting = rows_for(state, in_module, key.second);
    if (fitting.size() == group.size())
      pair_up(state, group, fitting, "scope");
    else if (!fitting.empty())
      for (const std::size_t kernel : group) state.take(kernel, fitting, "scope");
    else if (in_module.size() == 1 && !state.is_taken(in_module.front()))
      for (const std::size_t kernel : group) state.take(kernel, in_module, "scope");
  }
  if (are_modules) join_folded(state);
}

void join_by_order(JoinState& state) {
  join_calls_by_order(state);
  // Only if the source has operators but no names, or if the model has no names and the engine generated them
  // ("Conv_12").
  std::map<std::pair<std::string, bool>, std::vector<std::size_t>> kernels;  // operator, whether numbered
  for (std::size_t i = 0; i < state.measured.kernels.size(); ++i) {
    const documents::MeasuredKernel& kernel = state.kernel(i);
    if (!may_join(state, i) || kernel.op_type.empty() || is_call(state, i)) continue;
    const bool has_no_name = (kernel.node.empty() && kernel.nodes.empty()) || kernel.name.empty();
    const bool is_numbered = unnumbered(kernel.name) == kernel.op_type && kernel.name != kernel.op_type;
    if (has_no_name || is_numbered) kernels[{kernel.op_type, !has_no_name}].push_back(i);
  }
  // PyTorch also calls views.
  std::vector<std::size_t> work;
  for (std::size_t row = 0; row < state.estimate.nodes.size(); ++row)
    if (state.is_work(row) || state.row(row).mark == Mark::View) work.push_back(row);
  for (const auto& [key, group] : kernels) {
    std::vector<std::size_t> fitting = rows_for(state, work, key.first);
    if (key.second) std::erase_if(fitting, [&](std::size_t row) { return !state.row(row).name.empty(); });
    if (fitting.size() == group.size()) pair_up(state, group, fitting, "order");
  }
}

}  // namespace pagoda::measured
