// Cells of the table and Markdown reports: rounded, with units, printable.
#include <algorithm>
#include <set>
#include <tuple>

#include "pagoda/base/plural.h"
#include "pagoda/estimate/make_estimate.h"
#include "report/rows.h"

namespace pagoda::present::report {
namespace {

using base::counted;

constexpr std::string_view kUnknown = "?";

void add_memory_rows(base::Grid& grid, const documents::EstimateMemory& plan) {
  std::vector<std::string> tensors;
  for (const std::size_t tensor : plan.peak_tensors) {
    const auto& [name, bytes] = std::tie(plan.tensors[tensor].name, plan.tensors[tensor].bytes);
    tensors.push_back((name.empty() ? "inside a body" : base::printable(name)) + " " + base::si(bytes, "B"));
    if (tensors.size() == 4) break;
  }
  if (plan.peak_tensors.size() > tensors.size())
    tensors.push_back("and " + std::to_string(plan.peak_tensors.size() - tensors.size()) + " more");
  const auto add = [&](std::string what, const Count& bytes, std::string note) {
    grid.rows.push_back({std::move(what), exact_cell(bytes), cell(bytes, "B"), std::move(note)});
  };
  const std::string step =
      plan.names.empty() ? "" : base::printable(plan.names[static_cast<std::size_t>(plan.peak_step)]);
  add("memory peak", Count(plan.peak_bytes).at_least(plan.is_at_least),
      "at step " + std::to_string(plan.peak_step) + ", " + step + ": " + base::joined(tensors, ", "));
  if (plan.arena_bytes) add("arena", Count(*plan.arena_bytes).at_least(plan.is_at_least), "offsets in --format json");
  if (const auto& better = plan.reordered)
    add("reordered", Count(better->peak_bytes).at_least(plan.is_at_least),
        "peak in a better order of the nodes" +
            (better->arena_bytes ? ", arena " + base::grouped(*better->arena_bytes) : std::string()) +
            "; the order is in --format json");
  for (const auto& weight : plan.weights)
    add("weights " + std::string(to_string(weight.element)), weight.bytes, counted(weight.tensors, "tensor"));
  if (const KvCache& cache = plan.kv_cache; !cache.pairs.empty()) {
    const auto bytes = [](const Dim& dim) { return cell(documents::count(dim), "B"); };
    grid.rows.push_back({"KV cache", cache.bytes_per_token.to_string(), bytes(cache.bytes_per_token),
                         "a token, for the whole batch, in " + counted(cache.pairs.size(), "tensor") + "; " +
                             bytes(cache.shared_bytes) + " in one buffer, " + bytes(cache.separate_bytes) +
                             " where past and present have their own; a run writes " + bytes(cache.written_bytes) +
                             " in place, and moves " + bytes(cache.copied_bytes) + " more where it copies"});
  }
  grid.rows.push_back({"not counted", "", "", plan.excludes});
}

// Throughput in the unit that the model processes: batch items, or tokens.
void add_throughput(base::Grid& grid, const EstimateDocument& estimate) {
  const double seconds = estimate.roofline->totals.seconds;
  if (const auto& phase = estimate.phase; phase && phase->tokens) {
    const Int tokens = *phase->tokens;
    grid.rows.push_back({"tokens/s", "", "≤ " + base::si_rate(static_cast<double>(tokens) / seconds, ""),
                         std::string(to_string(phase->phase)) + " of " + counted(tokens, "new token") + " a run"});
    if (const Count bytes = estimate.moved().bytes; bytes && tokens > 0)
      grid.rows.push_back({"bytes/token", "", base::si(*bytes / tokens, "B"),
                           "of which the cache grows by " + cell(phase->cache_bytes_per_token, "B") + " a position"});
    return;
  }
  const Count& items = estimate.roofline->items;
  grid.rows.push_back({"throughput", "", "≤ " + base::si_rate(documents::real(items).value_or(1) / seconds, "/s"),
                       items ? "items of the batch of " + base::grouped(*items) : "runs"});
}

void add_time_rows(base::Grid& grid, const Data& data) {
  const documents::EstimateRoofline& time = *data.estimate.roofline;
  const RooflineTotals& totals = time.totals;
  std::string at_least = totals.unknown_rows > 0 ? "of the modelled part" : why_at_least(data.estimate);
  if (!at_least.empty()) at_least += "; ";
  grid.rows.push_back({"device", "", "", device_text(time)});
  if (!data.estimate.unset.empty()) {
    grid.rows.push_back({"time ≥", "", std::string(kUnknown), "depends on " + base::joined(data.estimate.unset)});
    return;
  }
  if (!data.estimate.cannot_run.empty()) {
    grid.rows.push_back({"time", "", "none", "cannot run: " + base::printable(data.estimate.cannot_run)});
    return;
  }
  const bool is_fused = data.traffic() != TrafficModel::Unfused;
  grid.rows.push_back({"time ≥", "", base::si_seconds(totals.seconds),
                       at_least + counted(totals.launches, "kernel") + (is_fused ? " after fusion" : ", one a node") +
                           ", no launch waited for"});
  if (totals.eager_seconds)
    grid.rows.push_back({"launched ≥", "", base::si_seconds(*totals.eager_seconds),
                         "one launch a kernel, each " + base::si_seconds(*time.launch_overhead_seconds) +
                             (time.launch_is_assumed ? ", assumed" : "")});
  grid.rows.push_back({"floor", "", base::si_seconds(totals.floor_seconds),
                       "no engine can be faster, whatever it fuses or keeps on the chip"});
  if (time.predicted)
    grid.rows.push_back({"predicted", "", base::si_seconds(*time.predicted->seconds),
                         interval_text(time) + "; " + base::printable(time.predicted->calibration)});
  if (time.predicted && time.predicted->other_placement)
    grid.rows.push_back({"", "", base::si_seconds(time.predicted->other_placement->seconds),
                         placement_text(*time.predicted->other_placement)});
  if (totals.seconds > 0) add_throughput(grid, data.estimate);
}

}  // namespace

std::string unmodelled_text(const EstimateDocument& estimate) {
  const documents::EstimateTotals& totals = estimate.totals;
  if (totals.unmodelled_nodes == 0) return "";
  const auto broken = std::ranges::find(estimate.diagnostics, Cause::Contradiction, &Diagnostic::cause);
  const std::string nodes = counted(totals.unmodelled_nodes, "node") + " not modelled";
  if (broken != estimate.diagnostics.end())
    return "the model cannot run at these sizes, see " + base::printable(broken->node) + "; " + nodes;
  return nodes + ": " + base::joined(totals.unmodelled_ops, ", ", base::printable);
}

base::Grid memory_grid(const documents::EstimateMemory& plan) {
  base::Grid grid{.columns = {{.header = "memory plan"},
                              {.header = "exact", .is_number = true},
                              {.header = "", .is_number = true},
                              {.header = ""}},
                  .rows = {}};
  add_memory_rows(grid, plan);
  return grid;
}

base::Grid training_memory_grid(const documents::EstimateTraining& training) {
  const std::pair<const char*, const Count&> rows[] = {
      {"weights", training.weight_bytes},
      {"master weights", training.master_weight_bytes},
      {"gradients", training.gradient_bytes},
      {"optimizer states", training.optimizer_state_bytes},
      {"saved activations", training.saved_activation_bytes},
      {"peak of activations and their gradients", training.activation_peak_bytes},
      {"peak of the step", training.peak_bytes},
  };
  base::Grid grid;
  grid.columns = {
      {.header = "training memory"}, {.header = "exact", .is_number = true}, {.header = "", .is_number = true}};
  for (const auto& [name, bytes] : rows) grid.rows.push_back({name, exact_cell(bytes), cell(bytes, "B")});
  return grid;
}

base::Grid totals_grid(const Data& data) {
  base::Grid grid;
  grid.columns = {
      {.header = "total"}, {.header = "exact", .is_number = true}, {.header = "", .is_number = true}, {.header = ""}};
  const documents::EstimateTotals& totals = data.estimate.totals;
  // Sums are lower bounds if any node is not modelled.
  const auto add = [&](std::string what, const Count& value, std::string_view unit, std::string note,
                       bool is_sum = true) {
    const Count shown = value.at_least(is_sum && totals.partial);
    grid.rows.push_back({std::move(what), exact_cell(shown), shown ? cell(shown, unit) : "", std::move(note)});
  };
  const EstimateCounts counters = data.estimate.moved();
  const std::optional<double> intensity = data.estimate.moved_intensity();
  add("MACs", counters.macs, "", "");
  if (!data.published()) {
    add("arith", counters.arith, "", "of which comparisons " + cell(counters.comparisons));
    add("special", counters.special, "", "");
  }
  if (!data.counts_macs())
    add("FLOPs", counters.flops, "", std::string(meaning(data.estimate.count)), !data.published());
  add("params", counters.params, "", "", false);
  add("param bytes", counters.param_bytes, "B", "", false);
  if (!data.published()) {
    add("bytes read", counters.bytes_read, "B", std::string(to_string(data.traffic())));
    add("bytes written", counters.bytes_written, "B", "");
  }
  add("bytes", counters.bytes, "B", "", !data.published());
  grid.rows.push_back({operation(data.estimate.count) + "/B",
                       intensity ? intensity_text(*intensity) : std::string(kUnknown), "",
                       intensity || !totals.partial ? "" : "unknown while nodes are not modelled"});
  add("activation peak", totals.activation_peak_bytes, "B", "", false);
  const std::size_t nodes = data.estimate.nodes.size();
  const std::string unmodelled = unmodelled_text(data.estimate);
  grid.rows.push_back({"nodes", base::grouped(nodes), "", unmodelled.empty() ? "all modelled" : unmodelled});
  if (data.estimate.memory) add_memory_rows(grid, *data.estimate.memory);
  if (data.estimate.roofline) add_time_rows(grid, data);
  return grid;
}

std::string title(const EstimateDocument& estimate) {
  return base::printable(estimate.model.path.empty() ? estimate.model.name : estimate.model.path);
}

std::string subtitle(const EstimateDocument& estimate) {
  const documents::EstimateModel& model = estimate.model;
  std::vector<std::string> parts;
  if (!model.producer.empty()) parts.push_back(base::printable(model.producer));
  // Quantisers import a dozen domains that no node uses.
  std::set<std::string_view> used = {"ai.onnx"};
  for (const EstimateNode& node : estimate.nodes) used.insert(node.domain.view());
  if (estimate.types)
    for (const documents::EstimateType& type : *estimate.types) used.insert(type.domain);
  for (const auto& [domain, version] : model.opsets) {
    if (!used.contains(domain)) continue;
    parts.push_back("opset " + (domain == "ai.onnx" ? "" : base::printable(domain) + " ") + std::to_string(version));
  }
  parts.push_back("IR " + std::to_string(model.ir_version));
  parts.push_back(counted(model.nodes, "node"));
  if (model.functions > 0) parts.push_back(counted(model.functions, "function"));
  if (const auto& asked = estimate.precision)
    parts.push_back(bits(*asked) <= 8 ? cat("products in ", to_string(*asked), ", other floats as float16")
                                      : cat("floats as ", to_string(*asked)));
  for (const auto& [name, size] : estimate.bindings)
    if (size) parts.push_back(name + "=" + std::to_string(*size));
  for (const std::string& name : estimate::free_dims(estimate)) parts.push_back(name + "=1 (free)");
  return base::joined(parts, " · ");
}

}  // namespace pagoda::present::report
