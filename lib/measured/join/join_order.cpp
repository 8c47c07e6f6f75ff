// Joins kernels without a row's name by the module that their range names, and by the order of calls of each operator.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

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

}  // namespace

void join_by_scope(JoinState& state) {
  // pagoda-bench times modules, not operators: each gets all rows in its scope. The model itself, "/", gets the rows
  // without a scope.
  const bool are_modules = state.measured.source == "pagoda-bench";
  RowsOfModule modules;
  for (std::size_t row = 0; row < state.estimate.nodes.size(); ++row)
    if (state.is_work(row) && (are_modules || !state.row(row).scope.empty()))
      modules[module_of(state.row(row).scope)].push_back(row);
  if (are_modules) modules = without_wrapper(std::move(modules), state.measured);

  // Groups kernels by the innermost range that is a module; ranges are joined by '/'.
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> kernels;  // module, operator
  for (std::size_t i = 0; i < state.measured.kernels.size(); ++i) {
    const documents::MeasuredKernel& kernel = state.kernel(i);
    if (kernel.joined || kernel.nvtx.empty()) continue;
    const std::vector<std::string> ranges = base::split(kernel.nvtx, "/");
    const auto innermost =
        std::find_if(ranges.rbegin(), ranges.rend(), [&](const std::string& range) { return modules.contains(range); });
    if (innermost != ranges.rend()) kernels[{*innermost, kernel.op_type}].push_back(i);
  }
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
  // Only if the source has operators but no names, or if the model has no names and the engine generated them
  // ("Conv_12").
  std::map<std::pair<std::string, bool>, std::vector<std::size_t>> kernels;  // operator, whether numbered
  for (std::size_t i = 0; i < state.measured.kernels.size(); ++i) {
    const documents::MeasuredKernel& kernel = state.kernel(i);
    if (kernel.joined || kernel.op_type.empty()) continue;
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
