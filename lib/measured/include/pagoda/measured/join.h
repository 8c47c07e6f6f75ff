// The join of a measurement with a static estimate: which rows of the estimate each measured kernel executed.
//
//   Measured run = load_profile("profile.json");
//   EstimateDocument estimate = documents::load_estimate("resnet50.json");  // as onnx-estimate wrote it
//   join(run, estimate);
//   run.join->share();                                               // part of the kernels' time that joined
//   for (const JoinedGroup& group : joined_groups(run, estimate)) …  // measured against bound
//
// Rules, in this order; each joined kernel says by which it joined:
//   name            the kernel, or the one node that its source names, is a row's name
//   output          … is the name of a row's output, as ONNX Runtime names nodes in its blocked layout
//   decorated name  … is a row's name without an engine's decoration: "X/MatMulScaleFusion/", "X_token_3"
//   fused name      the source names several nodes; these are those of them that are rows
//   range           {ForeignNode[a...b]} of TensorRT: rows on the way from a to b that no other kernel names
//   range name      the innermost NVTX or record_function range that holds a row's name, or the names of a fused layer
//   scope           the range is the module path of rows; of their types, where the kernel's operator names one. A
//                   module that pagoda-bench timed has all rows of its path
//   order           the k-th call of an operator is the k-th row of its type, where both are equally many (kineto,
//                   models without names); or kernels without a row that ran between the neighbours of rows left out
// Rows that no kernel names and that a fused kernel must have executed, since they lie between it and another one in
// the data flow, go to it; the rule then ends in " + absorbed". What does not join stays listed, with its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

using documents::EstimateDocument;

// Sets `joined` of the kernels and `join` of the measurement. Joining again starts afresh.
void join(documents::Measured& measured, const EstimateDocument& estimate);

// Kernels and rows that only make sense together: a kernel with all its rows, and all kernels of these rows.
struct JoinedGroup {
  std::vector<std::size_t> kernels, rows;  // ascending
  std::optional<double> seconds;           // measured; empty where a kernel has none
  std::optional<double> flops, bytes;      // of the estimate; empty where a row has none
  std::optional<double> bound_seconds;     // sum of the rows' bounds
  std::optional<double> ratio() const;     // seconds / bound_seconds: 1 is as fast as can be
};
// Most measured time first.
std::vector<JoinedGroup> joined_groups(const documents::Measured& measured, const EstimateDocument& estimate);

// A kernel that did not join, and why, where that is known.
struct Unjoined {
  std::size_t kernel = 0;
  std::optional<double> share;  // of the kernels' time
  std::string why;              // "change of layout", …; "no row of that name"
};
// Most measured time first.
std::vector<Unjoined> unjoined_kernels(const documents::Measured& measured);

// Counters held against the estimate, for each joined_groups() with a counter: what `join` puts into its summary.
//
// * contraction = operations of tensor units / (2·macs). Above 1.005: `padding` up to what tiles of 256 × 256 × 128
//   would do at the most, with M, N, K of each product from its output's shape and K = macs / elements of the output;
//   beyond it, or where a shape is not known, `extra work`. Below 0.98: `Winograd` where a kernel's name says so or a
//   3 x 3 convolution's ratio is that of its tiles, `sparsity` where the counter or the kernel's name shows it, else
//   `fewer operations`. Products outside tensor units are judged by all operations, where they are nine tenths of
//   these. Another format than the estimate's did most of it: `TF32` for float32, else `other precision`.
// * flops = operations of all units / (2·macs + arith − comparisons). Hardware counts no exp or comparison as such, and
//   the additions of those that are computed in software: `specials` where these are over 1 % of the estimate. float16
//   of vector units is left out of nodes without half operands, where compilers move constants by it.
// * bytes = DRAM / what must cross when the group is one kernel: what its nodes move, less what stays inside. Judged by
//   reads where they are known apart, since what a kernel writes leaves the cache during later ones; those of replays
//   (`env.bytes`) are not judged. Below 0.9 `cache resident`, above 1.1 `extra traffic`.
// * What is too much is `split-K`, `dequantisation` or `layout change` where a kernel's name or a node says so.
std::vector<documents::NodeCounts> node_counts(const documents::Measured& measured, const EstimateDocument& estimate);

// A row a joined group, most time first: nodes, types, kernels, launches, seconds, the bound and how many times longer
// it took (headroom), measured and static counts, ratios, flags; empty where there is no counter or no bound.
std::string node_counts_csv(const documents::Measured& measured, const EstimateDocument& estimate);

// The table that pagoda-import prints: times, how much of them joined and by which rules, the `top` groups with the
// most time over their bound, and what did not join. Lines end in '\n'.
std::string join_report(const documents::Measured& measured, const EstimateDocument& estimate, std::size_t top = 20,
                        std::size_t width = 0);

// A measurement by itself: kernels of one name together, most time first, with their FLOPs by precision, DRAM bytes and
// intensity ("≥": a precision is unknown), totals of one run, and how many kernels are launched how often. At most `top`
// rows, 0: all. Lines end in '\n'.
std::string kernel_report(const documents::Measured& measured, std::size_t top = 20, std::size_t width = 0);

// A row a kernel in the order of its first launch: name,op_type,nodes,nvtx,provider,launches,seconds,share, a column
// flops.PRECISION each, dram_bytes,l2_bytes,l1_bytes,shared_bytes,intensity,energy_joules.
std::string kernels_csv(const documents::Measured& measured);

}  // namespace pagoda::measured
#pragma GCC visibility pop
