// Compares counters with the estimate: the ratios for each group of kernels and nodes, and why they are not 1.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "join/causes.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/join.h"

namespace pagoda::measured {

using documents::Amount;
using documents::EstimateNode;
using documents::plus;
using documents::real;

bool computes_in_halves(const std::vector<std::size_t>& nodes, const EstimateDocument& estimate) {
  const auto is_half = [](ElementType type) { return type == ElementType::Float16 || type == ElementType::Bfloat16; };
  return std::any_of(nodes.begin(), nodes.end(), [&](std::size_t node) {
    const EstimateNode& row = estimate.nodes[node];
    return is_half(row.precision) || std::any_of(row.outputs.begin(), row.outputs.end(), [&](const OutputInfo& output) {
             return is_half(output.type.element);
           });
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

// Sizes of the first output; empty if one is not known.
std::vector<double> sizes_of(const EstimateNode& row) {
  std::vector<double> result;
  if (row.outputs.empty()) return result;
  if (const auto shape = documents::sizes(row.outputs.front().type))
    for (const Int size : *shape) result.push_back(static_cast<double>(size));
  return result;
}

double filled(double size, double tile) { return std::ceil(size / tile) * tile / size; }

// The largest factor by which full tiles increase a product: M·N·K from its output's rows, columns and depth. Empty if
// these do not follow from the operator's output.
Amount most_padding(const EstimateNode& row) {
  const std::vector<double> out = sizes_of(row);
  double elements = 1;
  for (const double size : out) elements *= size;
  if (out.empty() || !(elements > 0) || !row.counts.macs) return std::nullopt;
  const double k = *real(row.counts.macs) / elements;
  if (!(k >= 1)) return std::nullopt;
  double m = 0, n = 0;
  if (row.op_type == "Conv" && out.size() >= 3) {
    n = out[1];
    m = elements / n;
  } else if (row.op_type == "Gemm" || row.op_type == "MatMul") {
    n = out.back();
    m = out.size() > 1 ? out[out.size() - 2] : 1;  // each matrix of a batch may fill its own tiles
  } else {
    return std::nullopt;
  }
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
  return least > 0 ? Amount(most / least) : std::nullopt;
}

// Measured side ------------------------------------------------------------------------------------------------------

constexpr std::string_view kTensor = ".tensor", kSparse = ".tensor.sparse";

// float16 of vector units. Compilers also move constants with HFMA2, four spurious operations per thread, so it is
// ignored for nodes without half operands.
constexpr std::string_view kHalf = "float16";

bool names_sparsity(const std::string& name) {
  const std::string lower = base::lower(name);
  constexpr std::array<std::string_view, 4> kWords = {"spmma", "sparsetensorop", "sparse_gemm", "gemmsparse"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

Counted counted(const std::vector<std::size_t>& kernels, const std::vector<std::size_t>& nodes,
                const documents::Measured& measured, const EstimateDocument& estimate) {
  Counted result;
  result.all = result.bytes = result.read = 0;
  result.is_replayed = is_replayed(measured);
  const bool has_halves = computes_in_halves(nodes, estimate);
  for (const std::size_t index : kernels) {
    const documents::MeasuredKernel& kernel = measured.kernels[index];
    if (kernel.flops.empty()) result.all.reset();
    for (const auto& [precision, flops] : kernel.flops) {
      if (precision == kHalf && !has_halves) continue;
      result.all = plus(result.all, flops);
      if (!flops) {
        result.is_partial = true;
        continue;
      }
      result.has_any = true;
      const std::size_t mark = precision.find(kTensor);
      if (mark == std::string::npos) continue;
      result.tensor = result.tensor.value_or(0) + *flops;
      result.by_format[precision.substr(0, mark)] += *flops;
      if (precision.ends_with(kSparse) && *flops > 0) result.is_sparse = true;
    }
    if (names_sparsity(kernel.name)) result.is_sparse = true;
    result.bytes = plus(result.bytes, kernel.bytes.all_dram());
    result.read = plus(result.read, kernel.bytes.dram_read);
    result.names.push_back(base::lower(kernel.name));
  }
  if (result.bytes) result.has_any = true;
  return result;
}

}  // namespace

Readers readers_of(const EstimateDocument& estimate) {
  Readers readers;
  for (std::size_t i = 0; i < estimate.nodes.size(); ++i)
    for (const std::string& input :
         std::set<std::string>(estimate.nodes[i].inputs.begin(), estimate.nodes[i].inputs.end()))
      if (!input.empty()) readers[input].push_back(i);
  return readers;
}

std::optional<double> crossing_bytes(const std::vector<std::size_t>& rows, const EstimateDocument& estimate,
                                     const Readers& readers, Count documents::EstimateCounts::*moved) {
  const bool is_written = moved == &documents::EstimateCounts::bytes;
  const auto is_inside = [&](std::size_t row) { return std::binary_search(rows.begin(), rows.end(), row); };
  Amount bytes = 0;
  for (const std::size_t at : rows)
    bytes = plus(bytes, estimate.nodes[at].runs_nothing() ? Amount(0) : real(estimate.nodes[at].counts.*moved));
  for (const std::size_t at : rows) {
    const EstimateNode& row = estimate.nodes[at];
    for (const OutputInfo& output : row.outputs) {
      const auto found = readers.find(output.name);
      if (found == readers.end()) continue;
      const std::vector<std::size_t>& by = found->second;
      const auto inside = std::count_if(by.begin(), by.end(), [&](std::size_t reader) {
        return is_inside(reader) && !estimate.nodes[reader].runs_nothing();
      });
      if (inside == 0) continue;
      const Amount size = documents::stored_bytes(output.type);
      if (!size) return std::nullopt;
      const bool stays = is_written && std::all_of(by.begin(), by.end(), is_inside) && !row.runs_nothing();
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
    const Counted counts = counted(joined.kernels, joined.rows, measured, estimate);
    if (!counts.has_any) continue;
    if (readers.empty()) readers = readers_of(estimate);
    documents::NodeCounts group;
    group.nodes = joined.rows;
    group.kernels = joined.kernels;
    group.seconds = joined.seconds;
    group.flops = {counts.all, 0};
    group.contraction = {counts.tensor, 0};
    group.bytes = {counts.bytes, crossing_bytes(joined.rows, estimate, readers, &documents::EstimateCounts::bytes)};
    group.bytes_read = {counts.read,
                        crossing_bytes(joined.rows, estimate, readers, &documents::EstimateCounts::bytes_read)};
    for (const std::size_t node : joined.rows) {
      const EstimateNode& row = estimate.nodes[node];
      group.flops.expected = plus(group.flops.expected, hardware_flops(row));
      const Amount macs = row.runs_nothing() ? Amount(0) : real(row.counts.macs);
      group.contraction.expected = plus(group.contraction.expected, plus(macs, macs));
    }
    group.flags = causes_of({group, counts, estimate, most_padding(group.nodes, estimate)});
    result.push_back(std::move(group));
  }
  return result;
}

namespace {

// Nodes, types, kernels and launches of a group.
void add_group(base::CsvLine& line, const JoinedGroup& group, const documents::Measured& measured,
               const EstimateDocument& estimate) {
  std::vector<std::string> names, types, kernels;
  for (const std::size_t node : group.rows) {
    const EstimateNode& row = estimate.nodes[node];
    names.push_back(!row.name.empty() ? row.name : row.outputs.empty() ? "" : row.outputs[0].name);
    types.push_back(row.op_type);
  }
  Amount launches = 0;
  for (const std::size_t kernel : group.kernels) {
    kernels.push_back(measured.kernels[kernel].name);
    const auto& count = measured.kernels[kernel].launches;
    launches = plus(launches, count ? Amount(static_cast<double>(*count)) : std::nullopt);
  }
  line.name(base::joined(names, " + ")).name(base::joined(types, " + ")).name(base::joined(kernels, " + "));
  line.add(launches).add(group.seconds);
}

}  // namespace

std::string node_counts_csv(const documents::Measured& measured, const EstimateDocument& estimate) {
  std::string text =
      "nodes,op_types,kernels,launches,seconds,bound_seconds,headroom,measured_flops,static_flops,flops_ratio,"
      "measured_contraction_flops,static_contraction_flops,contraction_ratio,measured_bytes,static_bytes,bytes_ratio,"
      "measured_bytes_read,static_bytes_read,bytes_read_ratio,flags\r\n";
  const std::vector<documents::NodeCounts> counts = node_counts(measured, estimate);
  for (const JoinedGroup& group : joined_groups(measured, estimate)) {
    // Without a counter, the row has only the estimate's numbers.
    documents::NodeCounts counted;
    counted.seconds = group.seconds;
    counted.flops.expected = group.flops;
    counted.bytes.expected = group.bytes;
    const auto found = std::find_if(counts.begin(), counts.end(),
                                    [&](const documents::NodeCounts& c) { return c.nodes == group.rows; });
    if (found != counts.end()) counted = *found;
    base::CsvLine line;
    add_group(line, group, measured, estimate);
    line.add(group.bound_seconds).add(group.ratio());
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
