// Two runs of one network: blocks of nodes, the time of each in both runs, and the time that belongs to no block of
// both.
#include "pagoda/measured/against.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "import/engine_names.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/columns.h"
#include "pagoda/estimate/measured_runs.h"
#include "pagoda/measured/ort_kernels.h"

namespace pagoda::measured {
namespace {

using documents::Amount, documents::EstimateNode, documents::MeasuredKernel, documents::plus;

// Sizes ------------------------------------------------------------------------------------------------------------

// The sizes that a run had, as far as it or its estimate says so.
Bindings sizes_of(const ModelRun& run) {
  std::string problem;
  Bindings sizes = estimate::run_sizes(*run.estimate, run.measured.env, problem);
  if (!problem.empty()) throw Error(cat(run.name, ": ", problem));
  for (const auto& [dim, size] : run.estimate->bindings)
    if (size) sizes[dim] = *size;
  return sizes;
}

void require_alike_sizes(const Both<ModelRun>& runs) {
  const Bindings first = sizes_of(runs[0]), second = sizes_of(runs[1]);
  for (const auto& [dim, size] : first)
    if (const auto found = second.find(dim); found != second.end() && found->second != size)
      throw Error(cat(runs[1].name, ": has ", dim, "=", found->second, ", and ", runs[0].name, " has ", dim, "=", size,
                      "; compare runs of the same sizes"));
}

// Throws if `size_of` most blocks differs between the runs. It returns 0 for unknown sizes.
template <typename SizeOf>
void require_alike_blocks(const RunComparison& comparison, const char* what, SizeOf size_of) {
  std::size_t known = 0, other = 0;
  std::string example;
  for (const RunBlock& block : comparison.blocks) {
    const double first = size_of(block, 0), second = size_of(block, 1);
    if (first <= 0 || second <= 0) continue;
    ++known;
    if (std::abs(first - second) <= 0.005 * first) continue;
    if (++other == 1)
      example = cat(base::printable(block.name), " has ", base::si(static_cast<Int>(first), what), " in ",
                    comparison.runs[0].name, " and ", base::si(static_cast<Int>(second), what), " in ",
                    comparison.runs[1].name);
  }
  if (2 * other > known)
    throw Error(cat(example, ", and so differ most blocks; compare runs of one network at the same sizes"));
}

// Blocks -----------------------------------------------------------------------------------------------------------

// "Conv", "QLinearConv uint8", "Conv float16"; of a GPU the kernel's name.
std::string type_of(const MeasuredKernel& kernel, const documents::Measured& measured) {
  if (kernel.op_type.empty()) return kernel.name;
  const std::size_t arrow = kernel.detail.find(" -> ");
  if (measured.source != "onnxruntime" || arrow == std::string::npos) return kernel.op_type;
  const std::string element = kernel.detail.substr(arrow + 4, kernel.detail.find('[', arrow) - arrow - 4);
  return element.empty() || element == "float" ? kernel.op_type : cat(kernel.op_type, " ", element);
}

std::vector<const EstimateNode*> nodes_of(const EstimateDocument& estimate, const std::vector<std::size_t>& rows) {
  std::vector<const EstimateNode*> nodes;
  nodes.reserve(rows.size());
  for (const std::size_t row : rows) nodes.push_back(&estimate.nodes[row]);
  return nodes;
}

const EstimateNode* heaviest_of(const EstimateDocument& estimate, const std::vector<std::size_t>& rows) {
  return documents::heaviest_node(nodes_of(estimate, rows));
}

constexpr const char* kOnlyHere = "nodes that only this model has";
constexpr const char* kSilentThere = "nodes that no kernel of the other run names";
constexpr const char* kNoTime = "a kernel of the block has no time";

bool is_joined(const MeasuredKernel& kernel) { return kernel.joined && !kernel.joined->nodes.empty(); }

// Whether the engine put the kernel between two others: a change of layout or type, a moved transpose, a reshape.
bool is_put_between(const MeasuredKernel& kernel) {
  return !kernel.joined && most_elements(kernel) > 0 &&
         (!import::engine_work(kernel.name, kernel.op_type).empty() || kernel.op_type == "Transpose");
}

// The kernel whose values the kernel at `index` moves: the one before it if it has a result of as many elements, else
// the one after it; the number of kernels if there is none.
std::size_t neighbour(const std::vector<MeasuredKernel>& kernels, std::size_t index) {
  std::size_t before = index, after = index + 1;
  while (before > 0 && is_put_between(kernels[before - 1])) --before;
  while (after < kernels.size() && is_put_between(kernels[after])) ++after;
  const bool is_of_before = before > 0 && most_elements(kernels[before - 1]) == most_elements(kernels[index]);
  return is_of_before ? before - 1 : after;
}

// The blocks that have a kernel. Adds the time of kernels that the engine put between others to `between`.
std::vector<RunBlock> blocks_of(const Both<ModelRun>& runs, const std::vector<estimate::Block>& found,
                                Both<double>& between) {
  std::vector<RunBlock> blocks(found.size());
  for (std::size_t side = 0; side < 2; ++side) {
    const auto& [name, measured, estimate] = runs[side];
    std::vector<std::size_t> block_of(estimate->nodes.size(), found.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const std::int32_t row : side == 0 ? found[i].before : found[i].after) {
        block_of[static_cast<std::size_t>(row)] = i;
        blocks[i].nodes[side].push_back(static_cast<std::size_t>(row));
      }
    for (std::size_t i = 0; i < measured.kernels.size(); ++i) {
      const MeasuredKernel& kernel = measured.kernels[i];
      const bool is_between = is_put_between(kernel);
      const std::size_t owner = is_between ? neighbour(measured.kernels, i) : i;
      if (owner == measured.kernels.size() || !is_joined(measured.kernels[owner])) continue;
      if (is_between) between[side] += kernel.seconds.value_or(0);
      RunBlock& block = blocks[block_of[measured.kernels[owner].joined->nodes.front()]];
      block.seconds[side] = block.kernels[side].empty() ? kernel.seconds : plus(block.seconds[side], kernel.seconds);
      block.kernels[side].push_back(i);
      block.types[side].push_back(type_of(kernel, measured));
    }
  }
  std::erase_if(blocks, [](const RunBlock& block) { return block.kernels[0].empty() && block.kernels[1].empty(); });
  for (RunBlock& block : blocks) {
    const std::size_t side = block.nodes[0].empty() ? 1 : 0;
    block.name = heaviest_of(*runs[side].estimate, block.nodes[side])->shown_name();
    const auto lacks = [&](const auto& list) { return list[0].empty() || list[1].empty(); };
    block.cause = lacks(block.nodes)                       ? kOnlyHere
                  : lacks(block.kernels)                   ? kSilentThere
                  : !block.seconds[0] || !block.seconds[1] ? kNoTime
                                                           : "";
  }
  return blocks;
}

// Parts ------------------------------------------------------------------------------------------------------------

using Path = std::vector<std::string>;

// The module of a block's heaviest node, of the model whose exporter recorded it, in a scope or in names.
Path path_of(const RunBlock& block, const Both<ModelRun>& runs) {
  Path path;
  for (std::size_t side = 0; side < 2 && path.empty(); ++side)
    if (const EstimateNode* const node = heaviest_of(*runs[side].estimate, block.nodes[side])) {
      const std::string_view name = node->name;
      const std::size_t end = name.find_last_of('/');
      const std::string_view scope =
          node->scope.empty() && end != std::string_view::npos ? name.substr(0, end) : node->scope.view();
      for (std::string& module : base::split(scope, "/"))
        if (!module.empty()) path.push_back(std::move(module));
    }
  return path;
}

// "layer.*" of "layer.11"; the same text if it ends in no number.
std::string stem(const std::string& module) {
  const std::size_t last = module.find_last_not_of("0123456789");
  const std::size_t end = last == std::string::npos ? 0 : last + 1;
  return end == module.size() ? module : module.substr(0, end) + "*";
}

// Numbered modules with the same modules inside, but for a few that a fusion hides, get one name.
void fold_layers(std::vector<Path>& paths) {
  constexpr double kAlike = 0.75;
  const std::size_t deepest = std::ranges::max(paths, {}, &Path::size).size();
  for (std::size_t depth = 0; depth < deepest; ++depth) {
    std::map<Path, std::map<std::string, std::set<Path>>> inside;  // by folded path, then by module
    const auto folded = [&](const Path& path) {
      Path key(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth));
      key.push_back(stem(path[depth]));
      return key;
    };
    for (const Path& path : paths)
      if (path.size() > depth)
        inside[folded(path)][path[depth]].emplace(path.begin() + static_cast<std::ptrdiff_t>(depth) + 1, path.end());
    for (Path& path : paths) {
      if (path.size() <= depth) continue;
      const auto& modules = inside[folded(path)];
      std::set<Path> all;
      for (const auto& [module, paths_inside] : modules) all.insert(paths_inside.begin(), paths_inside.end());
      const auto is_alike = [&](const auto& each) {
        return static_cast<double>(each.second.size()) >= kAlike * static_cast<double>(all.size());
      };
      if (modules.size() > 1 && std::ranges::all_of(modules, is_alike)) path[depth] = stem(path[depth]);
    }
  }
}

// "layer1.0/conv1" of {"layer1", "layer1.0", "conv1"}.
std::string path_text(const Path& path, std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < std::min(depth, path.size()); ++i) {
    const bool is_repeated = i + 1 < std::min(depth, path.size()) && path[i + 1].starts_with(path[i] + ".");
    if (!is_repeated) (text += text.empty() ? "" : "/") += path[i];
  }
  return text;
}

void name_parts(RunComparison& comparison) {
  constexpr std::size_t kMostParts = 24, kDeepest = 12;
  constexpr double kTooCoarse = 0.5;
  std::vector<Path> paths;
  for (const RunBlock& block : comparison.blocks) paths.push_back(path_of(block, comparison.runs));
  if (paths.empty()) return;
  fold_layers(paths);
  for (std::size_t depth = 1; depth <= kDeepest; ++depth) {
    std::map<std::string, double> seconds;
    std::vector<std::string> names;
    double all = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const RunBlock& block = comparison.blocks[i];
      const std::size_t side = block.nodes[0].empty() ? 1 : 0;
      std::string name = path_text(paths[i], depth);
      if (name.empty()) name = heaviest_of(*comparison.runs[side].estimate, block.nodes[side])->op_type;
      const double time = block.seconds[0].value_or(0) + block.seconds[1].value_or(0);
      if (block.is_joined()) seconds[name] += time, all += time;
      names.push_back(std::move(name));
    }
    if (depth > 1 && seconds.size() > kMostParts) return;
    for (std::size_t i = 0; i < names.size(); ++i) comparison.blocks[i].part = std::move(names[i]);
    if (std::ranges::none_of(seconds, [&](const auto& part) { return part.second > kTooCoarse * all; })) return;
  }
}

// Sums -------------------------------------------------------------------------------------------------------------

void add_unjoined(RunComparison& comparison, std::size_t run, const std::string& cause, const MeasuredKernel& kernel) {
  auto& list = comparison.unjoined;
  auto entry = std::ranges::find_if(list, [&](const auto& each) { return each.run == run && each.cause == cause; });
  if (entry == list.end()) {
    entry = list.insert(entry, {{.cause = cause, .kernels = 0, .seconds = 0}, run, ""});
  }
  ++entry->kernels;
  entry->seconds = plus(entry->seconds, kernel.seconds);
  if (const double seconds = kernel.seconds.value_or(0); seconds > entry->longest)
    entry->longest = seconds, entry->example = kernel.name;
}

void add_sums(RunComparison& comparison) {
  for (std::size_t run = 0; run < 2; ++run) {
    const std::vector<MeasuredKernel>& kernels = comparison.runs[run].measured.kernels;
    std::vector<bool> is_taken(kernels.size(), false);
    for (const RunBlock& block : comparison.blocks)
      for (const std::size_t kernel : block.kernels[run]) is_taken[kernel] = true;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      comparison.kernel_seconds[run] += kernels[i].seconds.value_or(0);
      if (!is_taken[i]) add_unjoined(comparison, run, kernels[i].unjoined, kernels[i]);
    }
  }
  for (const RunBlock& block : comparison.blocks)
    for (std::size_t run = 0; run < 2; ++run)
      if (block.is_joined())
        comparison.joined_seconds[run] += *block.seconds[run];
      else
        for (const std::size_t kernel : block.kernels[run])
          add_unjoined(comparison, run, block.cause, comparison.runs[run].measured.kernels[kernel]);
  std::ranges::stable_sort(comparison.unjoined, {},
                           [](const UnjoinedRunTime& each) { return std::pair(each.run, -each.seconds.value_or(0)); });
}

// Profiles of which hardly a kernel joins are of another model: their ratio would compare nothing.
void require_joined(const RunComparison& comparison) {
  constexpr double kLeast = 0.1;
  const auto share = [&](std::size_t run) { return comparison.joined_seconds[run] / comparison.kernel_seconds[run]; };
  if (std::min(share(0), share(1)) >= kLeast) return;
  throw Error(cat(std::llround(100 * share(0)), " % of the kernels' time of ", comparison.runs[0].name, " and ",
                  std::llround(100 * share(1)), " % of that of ", comparison.runs[1].name,
                  " can be compared, expected at least 10 %; give each run the estimate of the file that ran"));
}

// Wall times if both runs have one, else the times in which kernels ran, else their sums.
void add_times(RunComparison& comparison) {
  using documents::MeasuredBasis;
  for (const MeasuredBasis basis : {MeasuredBasis::Run, MeasuredBasis::Busy, MeasuredBasis::Kernels}) {
    Both<Amount> seconds;
    for (std::size_t run = 0; run < 2; ++run) {
      const documents::Measured& measured = comparison.runs[run].measured;
      const Amount by_basis[] = {measured.seconds, measured.busy_seconds, comparison.kernel_seconds[run]};
      seconds[run] = by_basis[static_cast<std::size_t>(basis)];
    }
    if (!seconds[0] || !seconds[1]) continue;
    comparison.basis = basis;
    comparison.seconds = {*seconds[0], *seconds[1]};
    break;
  }
  const auto& first = comparison.runs[0].measured.spread;
  const auto& second = comparison.runs[1].measured.spread;
  if (comparison.basis == MeasuredBasis::Run && first && second)
    comparison.are_apart = first->max < second->min || second->max < first->min;
}

void add_remarks(RunComparison& comparison) {
  const auto& [first, second] = comparison.runs;
  const auto differ = [&](const char* what, const std::string& a, const std::string& b) {
    if (!a.empty() && !b.empty() && a != b)
      comparison.remarks.push_back(cat(what, " differs: ", base::printable(a), " and ", base::printable(b)));
  };
  differ("the device", first.measured.device, second.measured.device);
  differ("the profiler", first.measured.source, second.measured.source);
  const std::int64_t before = first.measured.repeats, after = second.measured.repeats;
  comparison.remarks.push_back(before == 1 && after == 1 ? std::string("one run each")
                               : before == after         ? cat("medians of ", before, " runs each")
                                                         : cat("medians of ", before, " and of ", after, " runs"));
  if (comparison.are_apart && !*comparison.are_apart)
    comparison.remarks.push_back("the times of single runs overlap: more runs on a quiet machine would tell more");
  for (const ModelRun& run : comparison.runs) {
    for (const std::string& note : run.measured.notes) comparison.remarks.push_back(cat(run.name, ": ", note));
    const auto& kernels = run.measured.kernels;
    const auto unknown = std::ranges::count_if(kernels, [](const MeasuredKernel& each) { return !each.seconds; });
    if (unknown > 0)
      comparison.remarks.push_back(cat(run.name, ": ", unknown, " of ", base::counted(std::ssize(kernels), "kernel"),
                                       " have no time; its sums are lower bounds"));
  }
}

}  // namespace

estimate::RanRows ran_rows(const documents::Measured& measured) {
  estimate::RanRows rows;
  for (const MeasuredKernel& kernel : measured.kernels)
    if (kernel.joined) rows.push_back(kernel.joined->nodes);
  return rows;
}

RunComparison compare_runs(ModelRun first, ModelRun second) {
  RunComparison comparison;
  comparison.runs = {std::move(first), std::move(second)};
  for (ModelRun& run : comparison.runs) {
    if (run.measured.kernels.empty())
      throw Error(
          cat(run.name, ": holds no kernels; expected a profile, or a measurement with the time of each kernel"));
    if (std::ranges::none_of(run.measured.kernels,
                             [](const MeasuredKernel& each) { return each.seconds.value_or(0) > 0; }))
      throw Error(
          cat(run.name, ": none of its kernels has a time; expected a profile of times, not of counters alone"));
    join(run.measured, *run.estimate);
  }
  const auto& [a, b] = comparison.runs;
  require_alike_sizes(comparison.runs);
  const estimate::Comparison matched =
      estimate::compare(*a.estimate, *b.estimate, ran_rows(a.measured), ran_rows(b.measured));
  comparison.blocks = blocks_of(comparison.runs, matched.blocks, comparison.between_seconds);
  require_alike_blocks(comparison, "MAC", [&](const RunBlock& block, std::size_t run) {
    double macs = 0;
    for (const EstimateNode* const node : nodes_of(*comparison.runs[run].estimate, block.nodes[run]))
      macs += documents::real(node->counts.macs).value_or(0);
    return macs;
  });
  require_alike_blocks(comparison, "elements", [&](const RunBlock& block, std::size_t run) {
    double most = 0;
    for (const std::size_t kernel : block.kernels[run])
      most = std::max(most, most_elements(comparison.runs[run].measured.kernels[kernel]));
    return most;
  });
  if (!matched.is_related)
    throw Error(cat(b.name, ": less than half of the work of its model matches that of ", a.name,
                    " by name or structure; compare two forms of one network, each with the estimate of its own file"));
  name_parts(comparison);
  add_sums(comparison);
  require_joined(comparison);
  add_times(comparison);
  add_remarks(comparison);
  std::ranges::stable_sort(comparison.blocks, {}, [](const RunBlock& block) {
    return std::pair(!block.is_joined(), -std::abs(block.change()));
  });
  return comparison;
}

}  // namespace pagoda::measured
