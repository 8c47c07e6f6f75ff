// Compares counters with the estimate: the ratios for each group of kernels and nodes, and why they are not 1.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "import/engine_names.h"
#include "join/causes.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/join.h"

namespace pagoda::measured {

using documents::Amount, documents::EstimateNode, documents::plus, documents::real;

bool computes_in_halves(const std::vector<std::size_t>& nodes, const EstimateDocument& estimate) {
  const auto is_half = [](ElementType type) { return type == ElementType::Float16 || type == ElementType::Bfloat16; };
  return std::ranges::any_of(nodes, [&](std::size_t node) {
    const EstimateNode& row = estimate.nodes[node];
    return is_half(row.precision) ||
           std::ranges::any_of(row.outputs, [&](const OutputInfo& output) { return is_half(output.type.element); });
  });
}

bool is_replayed(const documents::Measured& measured) {
  const auto bytes = measured.env.find("bytes");
  return bytes != measured.env.end() && bytes->second == base::Setting(std::string("replayed"));
}

// Operations that hardware does not count one for one.
double uncounted(const EstimateNode& row) {
  return real(row.counts.special).value_or(0) + real(row.counts.comparisons).value_or(0);
}

namespace {

using documents::Count;

// The largest tiles in use: 256 × 256 of the output (cuBLAS, CUTLASS on Hopper and Blackwell), 128 bytes of int8 in K.
constexpr double kTileM = 256, kTileN = 256, kTileK = 128;

// Static side --------------------------------------------------------------------------------------------------------

// 2·macs + arith − comparisons: hardware counts neither functions nor comparisons as operations.
Amount hardware_flops(const EstimateNode& row) {
  if (row.runs_nothing()) return 0;
  if (!row.counts.macs || !row.counts.arith) return std::nullopt;
  return 2 * *real(row.counts.macs) + *real(row.counts.arith) - real(row.counts.comparisons).value_or(0);
}

double filled(double size, double tile) { return std::ceil(size / tile) * tile / size; }

// The largest factor by which full tiles increase a product: M·N·K from its output's rows, columns and depth. Empty if
// these do not follow from the operator's output.
Amount most_padding(const EstimateNode& row) {
  const auto shape = row.outputs.empty() ? std::nullopt : documents::sizes(row.outputs.front().type);
  if (!shape || shape->empty() || !row.counts.macs) return std::nullopt;
  const std::vector<double> out(shape->begin(), shape->end());
  const double elements = std::accumulate(out.begin(), out.end(), 1.0, std::multiplies<>());
  const double k = elements > 0 ? *real(row.counts.macs) / elements : 0;
  if (!(k >= 1)) return std::nullopt;
  const bool is_conv = row.op_type == "Conv" && out.size() >= 3;
  if (!is_conv && row.op_type != "Gemm" && row.op_type != "MatMul") return std::nullopt;
  const double n = is_conv ? out[1] : out.back();
  // Each matrix of a batch may fill its own tiles.
  const double m = is_conv ? elements / n : out.size() > 1 ? out[out.size() - 2] : 1;
  return filled(m, kTileM) * filled(n, kTileN) * filled(k, kTileK);
}

// The same for all products of a group, weighted by MACs. Empty if one is not known.
Amount most_padding(const std::vector<std::size_t>& nodes, const EstimateDocument& estimate) {
  double least = 0, most = 0;
  for (const std::size_t node : nodes) {
    const EstimateNode& row = estimate.nodes[node];
    const double macs = real(row.counts.macs).value_or(0);
    if (macs == 0) continue;
    const Amount padding = most_padding(row);
    if (!padding) return std::nullopt;
    least += macs;
    most += macs * *padding;
  }
  return documents::ratio(most, least);
}

// Measured side ------------------------------------------------------------------------------------------------------

constexpr std::string_view kTensor = ".tensor", kSparse = ".tensor.sparse";

// float16 of vector units. Compilers also move constants with HFMA2, four spurious operations per thread, so it is
// ignored for nodes without half operands.
constexpr std::string_view kHalf = "float16";

// Adds the counters of the kernels. Returns whether any was collected.
bool add_counters(const JoinedGroup& joined, const documents::Measured& measured, Evidence& evidence) {
  documents::NodeCounts& group = evidence.group;
  group.flops.measured = group.bytes.measured = group.bytes_read.measured = 0;
  evidence.is_replayed = is_replayed(measured);
  const bool has_halves = computes_in_halves(joined.rows, evidence.estimate);
  bool has_flops = false;
  for (const std::size_t index : joined.kernels) {
    const documents::MeasuredKernel& kernel = measured.kernels[index];
    if (kernel.flops.empty()) group.flops.measured.reset();
    for (const auto& [precision, flops] : kernel.flops) {
      if (precision == kHalf && !has_halves) continue;
      group.flops.measured = plus(group.flops.measured, flops);
      evidence.is_partial = evidence.is_partial || !flops;
      has_flops = has_flops || flops;
      const std::size_t mark = precision.find(kTensor);
      if (!flops || mark == std::string::npos) continue;
      group.contraction.measured = group.contraction.measured.value_or(0) + *flops;
      evidence.by_format[precision.substr(0, mark)] += *flops;
      if (precision.ends_with(kSparse) && *flops > 0) evidence.is_sparse = true;
    }
    const std::string& name = evidence.kernels.emplace_back(base::lower(kernel.name));
    if (import::has_any(name, {"spmma", "sparsetensorop", "sparse_gemm", "gemmsparse"})) evidence.is_sparse = true;
    group.bytes.measured = plus(group.bytes.measured, kernel.bytes.all_dram());
    group.bytes_read.measured = plus(group.bytes_read.measured, kernel.bytes.dram_read);
  }
  return has_flops || group.bytes.measured;
}

void add_estimate(const JoinedGroup& joined, const Readers& readers, Evidence& evidence) {
  documents::NodeCounts& group = evidence.group;
  group.flops.expected = group.contraction.expected = 0;
  for (const std::size_t node : joined.rows) {
    const EstimateNode& row = evidence.estimate.nodes[node];
    const Amount macs = row.runs_nothing() ? 0 : real(row.counts.macs);
    group.flops.expected = plus(group.flops.expected, hardware_flops(row));
    group.contraction.expected = plus(group.contraction.expected, plus(macs, macs));
  }
  group.bytes.expected = crossing_bytes(joined.rows, evidence.estimate, readers);
  group.bytes_read.expected =
      crossing_bytes(joined.rows, evidence.estimate, readers, &documents::EstimateCounts::bytes_read);
  evidence.padding = most_padding(joined.rows, evidence.estimate);
}

}  // namespace

Readers readers_of(const EstimateDocument& estimate) {
  Readers readers;
  for (std::size_t i = 0; i < estimate.nodes.size(); ++i)
    for (const base::Name& input : estimate.nodes[i].inputs) {
      if (input.empty()) continue;
      std::vector<std::size_t>& rows = readers[input];
      if (rows.empty() || rows.back() != i) rows.push_back(i);  // a row may read a value twice
    }
  return readers;
}

std::optional<double> crossing_bytes(const std::vector<std::size_t>& rows, const EstimateDocument& estimate,
                                     const Readers& readers, Count documents::EstimateCounts::*moved) {
  const bool is_written = moved == &documents::EstimateCounts::bytes;
  const auto is_inside = [&](std::size_t row) { return std::ranges::binary_search(rows, row); };
  Amount bytes = 0;
  for (const std::size_t at : rows)
    bytes = plus(bytes, estimate.nodes[at].runs_nothing() ? 0 : real(estimate.nodes[at].counts.*moved));
  for (const std::size_t at : rows) {
    const EstimateNode& row = estimate.nodes[at];
    for (const OutputInfo& output : row.outputs) {
      const auto found = readers.find(output.name);
      if (found == readers.end()) continue;
      const std::vector<std::size_t>& by = found->second;
      const auto inside = std::ranges::count_if(
          by, [&](std::size_t reader) { return is_inside(reader) && !estimate.nodes[reader].runs_nothing(); });
      if (inside == 0) continue;
      const Amount size = documents::stored_bytes(output.type);
      if (!size) return std::nullopt;
      const bool stays = is_written && std::ranges::all_of(by, is_inside) && !row.runs_nothing();
      bytes = plus(bytes, -*size * static_cast<double>(inside + (stays ? 1 : 0)));
    }
  }
  if (bytes && *bytes < 0) return std::nullopt;  // some reader reads only a part of its input
  return bytes;
}

std::vector<documents::NodeCounts> node_counts(const documents::Measured& measured, const EstimateDocument& estimate) {
  std::vector<documents::NodeCounts> result;
  Readers readers;
  for (const JoinedGroup& joined : joined_groups(measured, estimate)) {
    Evidence evidence{.estimate = estimate};
    if (!add_counters(joined, measured, evidence)) continue;
    if (readers.empty()) readers = readers_of(estimate);
    evidence.group.nodes = joined.rows;
    evidence.group.kernels = joined.kernels;
    evidence.group.seconds = joined.seconds;
    add_estimate(joined, readers, evidence);
    evidence.group.flags = causes_of(evidence);
    result.push_back(std::move(evidence.group));
  }
  return result;
}

std::string node_counts_csv(const documents::Measured& measured, const EstimateDocument& estimate) {
  std::string text =
      "nodes,op_types,kernels,launches,seconds,bound_seconds,headroom,measured_flops,static_flops,flops_ratio,"
      "measured_contraction_flops,static_contraction_flops,contraction_ratio,measured_bytes,static_bytes,bytes_ratio,"
      "measured_bytes_read,static_bytes_read,bytes_read_ratio,flags\r\n";
  const std::vector<documents::NodeCounts> counts = node_counts(measured, estimate);
  for (const JoinedGroup& group : joined_groups(measured, estimate)) {
    // Without a counter, the row has only the estimate's numbers.
    documents::NodeCounts counted;
    counted.flops.expected = group.flops;
    counted.bytes.expected = group.bytes;
    const auto found = std::ranges::find(counts, group.rows, &documents::NodeCounts::nodes);
    if (found != counts.end()) counted = *found;
    const auto name = [&](std::size_t node) -> std::string {
      const EstimateNode& row = estimate.nodes[node];
      return !row.name.empty() ? row.name : row.outputs.empty() ? "" : row.outputs[0].name;
    };
    Amount launches = 0;
    for (const std::size_t kernel : group.kernels) launches = plus(launches, measured.kernels[kernel].launches);
    base::CsvLine line;
    line.name(base::joined(group.rows, " + ", name));
    line.name(base::joined(group.rows, " + ", [&](std::size_t node) { return estimate.nodes[node].op_type.view(); }));
    line.name(base::joined(group.kernels, " + ", [&](std::size_t kernel) { return measured.kernels[kernel].name; }));
    line.add(launches).add(group.seconds).add(group.bound_seconds).add(group.ratio());
    const auto pair = [&](const documents::NodeCounts::Pair& each, const Amount& ratio) {
      line.add(each.measured).add(each.expected).add(ratio);
    };
    pair(counted.flops, counted.flops.ratio());
    pair(counted.contraction, counted.contraction_ratio());
    pair(counted.bytes, counted.bytes.ratio());
    pair(counted.bytes_read, counted.bytes_read.ratio());
    line.add(base::joined(counted.flags, "; ", [](auto flag) { return to_string(flag); }));
    text += std::move(line).end();
  }
  return text;
}

}  // namespace pagoda::measured
