// Counts over rows, and longest paths over the main graph.
#include "pagoda/core/structure.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "graph/index.h"
#include "memory/schedule.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/statistics.h"
#include "pagoda/core/traffic.h"

namespace pagoda::inline core {
namespace {

constexpr std::array<std::string_view, kWorkClasses> kNames = {"convolution",   "matmul",      "attention", "recurrent",
                                                               "normalisation", "elementwise", "reduction", "pooling",
                                                               "quantisation",  "movement",    "other"};

double number(const Dim& dim) {
  const Int value = dim.evaluate({});
  return value < 0 ? 0 : static_cast<double>(value);
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

bool runs(const NodeReport& row) { return row.cost.mark == Mark::Compute || row.cost.mark == Mark::Unmodelled; }

std::size_t bin_of(double intensity) {
  return static_cast<std::size_t>(std::lower_bound(kIntensityBins.begin(), kIntensityBins.end(), intensity) -
                                  kIntensityBins.begin());
}

// --- paths through the main graph ---

struct Paths {
  std::int64_t depth = 0, width = 0;
  double critical_flops = 0;
};

// A node with a body counts as all of its rows, one after another.
Paths paths_of(const Schedule& schedule, const Analysis& analysis) {
  const std::size_t count = schedule.steps.size();
  std::vector<std::int64_t> kernels(count, 0), level(count, 0);
  std::vector<double> work(count, 0), heaviest(count, 0);
  std::vector<std::vector<std::int32_t>> writers(schedule.storages.size());
  std::map<std::int64_t, std::int64_t> at_level;
  Paths paths;
  for (std::size_t i = 0; i < count; ++i) {
    const Step& step = schedule.steps[i];
    const auto add = [&](std::size_t row) {
      if (!runs(analysis.nodes[row])) return;
      ++kernels[i];
      work[i] += number(flops(analysis.nodes[row].cost));
    };
    if (step.row >= 0) add(index(step.row));
    for (std::size_t row = step.body_begin; row < step.body_end; ++row)
      if (step.row < 0 || row != index(step.row)) add(row);
    std::int64_t before = 0;
    for (const std::int32_t read : step.reads)
      for (const std::int32_t writer : writers[index(read)]) {
        before = std::max(before, level[index(writer)]);
        heaviest[i] = std::max(heaviest[i], heaviest[index(writer)]);
      }
    level[i] = before + kernels[i];
    heaviest[i] += work[i];
    if (kernels[i] > 0) ++at_level[level[i]];
    for (const std::int32_t write : step.writes) writers[index(write)].push_back(static_cast<std::int32_t>(i));
    paths.depth = std::max(paths.depth, level[i]);
    paths.critical_flops = std::max(paths.critical_flops, heaviest[i]);
  }
  for (const auto& [depth, nodes] : at_level) paths.width = std::max(paths.width, nodes);
  return paths;
}

void set_fan_out(StructureProfile& profile, const Schedule& schedule) {
  std::int64_t readers = 0, activations = 0;
  for (const Storage& storage : schedule.storages) {
    if (storage.place != StoragePlace::Device || storage.readers.empty()) continue;
    const auto count = static_cast<std::int64_t>(storage.readers.size());
    profile.fan_out_max = std::max(profile.fan_out_max, count);
    readers += count;
    ++activations;
  }
  profile.fan_out_mean = share(static_cast<double>(readers), static_cast<double>(activations));
}

// --- rows ---

void count_rows(StructureProfile& profile, const Model& model, const Analysis& analysis) {
  std::set<std::string> data_symbols;
  for (const Symbol& symbol : analysis.symbols) data_symbols.insert(symbol.name);
  std::vector<double> kernel_flops, kernel_bytes;
  std::int64_t dynamic = 0, data_dependent = 0;
  double modelled_flops = 0, modelled_bytes = 0;
  profile.nodes = static_cast<std::int64_t>(analysis.nodes.size());
  for (const NodeReport& row : analysis.nodes) {
    profile.views += row.cost.mark == Mark::View ? 1 : 0;
    profile.host += row.cost.mark == Mark::Host ? 1 : 0;
    profile.folded += row.cost.mark == Mark::Folded ? 1 : 0;
    if (!runs(row)) continue;
    const Node& node = model.graphs[index(row.graph)].nodes[index(row.node)];
    ++profile.launches;
    ++profile.op_counts[node.domain.empty() ? std::string(node.op_type) : node.domain + "." + node.op_type];
    bool is_dynamic = false, is_data_dependent = false;
    for (const OutputInfo& output : row.outputs) {
      if (!output.type.shape) {
        is_dynamic = true;
        continue;
      }
      for (const Dim& dim : *output.type.shape)
        for (const std::string& symbol : dim.symbols()) {
          is_dynamic = true;
          is_data_dependent = is_data_dependent || data_symbols.contains(symbol);
        }
    }
    dynamic += is_dynamic ? 1 : 0;
    data_dependent += is_data_dependent ? 1 : 0;
    if (row.cost.mark == Mark::Unmodelled) continue;
    const double work = number(flops(row.cost)), moved = number(row.cost.bytes_read) + number(row.cost.bytes_written);
    const auto kind = static_cast<std::size_t>(work_class(row));
    profile.flops_share[kind] += work;
    profile.bytes_share[kind] += moved;
    profile.launch_share[kind] += 1;
    const std::size_t bin = moved > 0 ? bin_of(work / moved) : kIntensityBins.size();
    profile.intensity_flops_share[bin] += work;
    profile.intensity_bytes_share[bin] += moved;
    if (row.cost.precision != ElementType::Undefined)
      profile.precision_bytes_share[std::string(to_string(row.cost.precision))] += moved;
    kernel_flops.push_back(work);
    kernel_bytes.push_back(moved);
    modelled_flops += work;
    modelled_bytes += moved;
  }
  const auto modelled = static_cast<double>(kernel_flops.size());
  for (double& part : profile.flops_share) part = share(part, modelled_flops);
  for (double& part : profile.bytes_share) part = share(part, modelled_bytes);
  for (double& part : profile.launch_share) part = share(part, modelled);
  for (double& part : profile.intensity_flops_share) part = share(part, modelled_flops);
  for (double& part : profile.intensity_bytes_share) part = share(part, modelled_bytes);
  for (auto& [type, part] : profile.precision_bytes_share) part = share(part, modelled_bytes);
  profile.kernel_flops_median = kernel_flops.empty() ? 0 : base::median(kernel_flops);
  profile.kernel_bytes_median = kernel_bytes.empty() ? 0 : base::median(kernel_bytes);
  profile.dynamic_shape_ratio = share(static_cast<double>(dynamic), static_cast<double>(profile.launches));
  profile.data_dependent_ratio = share(static_cast<double>(data_dependent), static_cast<double>(profile.launches));
  profile.op_types = static_cast<std::int64_t>(profile.op_counts.size());
}

// clang-format off
constexpr std::pair<OpKind, WorkClass> kClassesByKind[] = {
    {OpKind::Product,    WorkClass::MatMul},
    {OpKind::Pointwise,  WorkClass::Elementwise},
    {OpKind::Reduction,  WorkClass::Reduction},
    {OpKind::Norm,       WorkClass::Normalisation},
    {OpKind::Quantize,   WorkClass::Quantisation},
    {OpKind::Dequantize, WorkClass::Quantisation},
    {OpKind::Transpose,  WorkClass::Movement},
    {OpKind::Expand,     WorkClass::Movement},
    {OpKind::Attention,  WorkClass::Attention},
    {OpKind::Pool,       WorkClass::Pooling},
    {OpKind::Recurrent,  WorkClass::Recurrent},
};
// clang-format on

}  // namespace

std::string_view to_string(WorkClass work) { return kNames[static_cast<std::size_t>(work)]; }

WorkClass work_class(const NodeReport& row) {
  const OpFacts& facts = row.facts;
  if (is_convolution(facts.form)) return WorkClass::Convolution;
  if (facts.epilogue == Epilogue::BatchNorm) return WorkClass::Normalisation;
  for (const auto& [kind, work] : kClassesByKind)
    if (facts.kind == kind) return work;
  // DynamicQuantizeLinear: needs the range of the whole tensor first, so it is not of the kind that fuses.
  if (facts.kind == OpKind::Other && facts.gradient == Gradient::Integers) return WorkClass::Quantisation;
  if (row.cost.macs != Dim(0)) return WorkClass::MatMul;
  return flops(row.cost) == Dim(0) ? WorkClass::Movement : WorkClass::Other;
}

StructureProfile structure_profile(const Model& model, const Analysis& analysis) {
  StructureProfile profile;
  profile.model = model.path.empty() ? model.graph_name : std::filesystem::path(model.path).stem().string();
  count_rows(profile, model, analysis);

  const Totals& totals = analysis.totals;
  profile.unmodelled = totals.unmodelled_nodes;
  profile.flops = number(flops(totals.cost));
  profile.macs = number(totals.cost.macs);
  profile.bytes = number(totals.cost.bytes_read) + number(totals.cost.bytes_written);
  profile.params = number(totals.params);
  profile.param_bytes = number(totals.param_bytes);
  if (totals.activation_peak_bytes) profile.activation_peak_bytes = number(*totals.activation_peak_bytes);
  if (profile.bytes > 0 && !analysis.partial) profile.intensity = profile.flops / profile.bytes;

  const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
  profile.fused_launches = static_cast<std::int64_t>(fused.groups.size());
  profile.fused_bytes = number(fused.bytes_read) + number(fused.bytes_written);

  const Schedule schedule = schedule_of(model, analysis);
  const Paths paths = paths_of(schedule, analysis);
  profile.depth = paths.depth;
  profile.width = paths.width;
  profile.parallelism = share(static_cast<double>(profile.launches), static_cast<double>(paths.depth));
  profile.critical_flops_share = std::min(1.0, share(paths.critical_flops, profile.flops));
  set_fan_out(profile, schedule);
  return profile;
}

std::vector<Feature> features(const StructureProfile& profile) {
  std::vector<Feature> result;
  const auto add = [&](std::string name, std::optional<double> value) { result.push_back({std::move(name), value}); };
  const auto count = [&](std::string name, std::int64_t value) { add(std::move(name), static_cast<double>(value)); };
  count("nodes", profile.nodes);
  count("launches", profile.launches);
  count("fused_launches", profile.fused_launches);
  count("views", profile.views);
  count("host", profile.host);
  count("folded", profile.folded);
  count("unmodelled", profile.unmodelled);
  count("op_types", profile.op_types);
  count("depth", profile.depth);
  count("width", profile.width);
  add("parallelism", profile.parallelism);
  add("critical_flops_share", profile.critical_flops_share);
  add("fan_out_mean", profile.fan_out_mean);
  count("fan_out_max", profile.fan_out_max);
  add("flops", profile.flops);
  add("macs", profile.macs);
  add("bytes", profile.bytes);
  add("fused_bytes", profile.fused_bytes);
  add("intensity", profile.intensity);
  add("params", profile.params);
  add("param_bytes", profile.param_bytes);
  add("activation_peak_bytes", profile.activation_peak_bytes);
  add("kernel_flops_median", profile.kernel_flops_median);
  add("kernel_bytes_median", profile.kernel_bytes_median);
  const auto add_shares = [&](const auto& shares, std::string_view suffix, const auto& name) {
    for (std::size_t i = 0; i < shares.size(); ++i) add(name(i) + std::string(suffix), shares[i]);
  };
  const auto class_name = [](std::size_t i) { return std::string(kNames[i]); };
  add_shares(profile.flops_share, "_flops_share", class_name);
  add_shares(profile.bytes_share, "_bytes_share", class_name);
  add_shares(profile.launch_share, "_launch_share", class_name);
  const auto bin_name = [](std::size_t bin) -> std::string {
    if (bin == kIntensityBins.size()) return "intensity_above_512";
    return bin == 0 ? "intensity_to_0_5" : cat("intensity_to_", static_cast<int>(kIntensityBins[bin]));
  };
  add_shares(profile.intensity_flops_share, "_flops_share", bin_name);
  add_shares(profile.intensity_bytes_share, "_bytes_share", bin_name);
  add("dynamic_shape_ratio", profile.dynamic_shape_ratio);
  add("data_dependent_ratio", profile.data_dependent_ratio);
  return result;
}

}  // namespace pagoda::inline core
