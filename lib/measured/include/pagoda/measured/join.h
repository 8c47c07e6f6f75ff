// Joins a measurement with a static estimate: finds the rows of the estimate that each measured kernel executed.
//
//   Measured run = load_profile("profile.json");
//   EstimateDocument estimate = documents::load_estimate("resnet50.json");  // as onnx-estimate wrote it
//   join(run, estimate);
//   run.join->share();                                               // part of the kernels' time that joined
//   for (const JoinedGroup& group : joined_groups(run, estimate)) …  // measured against bound
//
// Rules, in this order; each joined kernel records the rule by which it joined:
//   name            the kernel, or the one node that its source names, is a row's name
//   output          … is the name of a row's output, as ONNX Runtime names nodes in its blocked layout
//   decorated name  … is a row's name without an engine's decoration: "X/MatMulScaleFusion/", "X_token_3", "X_myl0_3"
//   fused name      the source names several nodes; joined are those that are rows
//   range           {ForeignNode[a...b]} of TensorRT: a, b and the rows on paths between them. A stored tensor, input
//                   or folded row stands for the rows that read it, an output for the row that produces it. Joins only
//                   if both ends are in the model and all rows between them are known. With " + absorbed" also rows
//                   that, by the data flow, no other kernel can have run
//   range name      the innermost NVTX or record_function range that is a row's name, or the names of a fused layer
//   scope           the range is the module path of rows, restricted to the kernel's operator type if known. A
//                   module timed by pagoda-bench, or a call of PyTorch alone in its module, gets all rows of its path.
//                   Several calls of a module align with its rows in order
//   folded          a BatchNorm that pagoda-bench timed, and that no row names: rows of the product before it, into
//                   whose weights the exporter folded it
//   order           calls of PyTorch align with rows, both in order: the alignment gives most calls the rows that
//                   exporters make of them, and every other one as good gives this call the same rows; or the k-th
//                   kernel of an operator is the k-th row of its type, if their numbers are equal (kernels of a GPU,
//                   models without names); or unjoined kernels that ran between the neighbours of unjoined rows
// Rows that no kernel names are given to the fused kernel that must have executed them, because they lie between it and
// another kernel in the data flow; the rule then ends in " + absorbed". If a kernel that joined nothing may have
// executed them, they stay unassigned. Unjoined kernels stay listed, with their time and the cause;
// JoinSummary::unjoined adds them up by cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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

// Sets `joined` of the kernels and `join` of the measurement. A second join replaces the first.
void join(documents::Measured& measured, const EstimateDocument& estimate);

// Kernels and rows that can only be compared as a whole: a kernel with all its rows, and all kernels of these rows.
struct JoinedGroup {
  std::vector<std::size_t> kernels, rows;  // ascending
  std::optional<double> seconds;           // measured; empty if a kernel has none
  std::optional<double> flops, bytes;      // of the estimate; empty if a row has none
  std::optional<double> bound_seconds;     // sum of the rows' bounds
  std::optional<double> ratio() const;     // seconds / bound_seconds: 1 is the best possible
};
// Most measured time first.
std::vector<JoinedGroup> joined_groups(const documents::Measured& measured, const EstimateDocument& estimate);

// The rows that read each tensor, by its name; ascending.
using Readers = std::map<std::string, std::vector<std::size_t>>;
Readers readers_of(const EstimateDocument& estimate);
// DRAM traffic if the rows (ascending) run as one kernel: the bytes each moves, less reads of values produced inside,
// less writes of values that nothing outside reads. An output of the model has no reader and is written. Empty if a size
// is not known. `moved`: both directions, or only bytes_read.
std::optional<double> crossing_bytes(const std::vector<std::size_t>& rows, const EstimateDocument& estimate,
                                     const Readers& readers,
                                     documents::Count documents::EstimateCounts::*moved = &documents::EstimateCounts::bytes);

// A kernel that did not join, and the cause (docs/measured.md lists them).
struct Unjoined {
  std::size_t kernel = 0;
  std::optional<double> share;  // of the kernels' time
  std::string why;              // "change of layout", …; "no row of that name"
};
// Most measured time first.
std::vector<Unjoined> unjoined_kernels(const documents::Measured& measured);

// Counters compared with the estimate, for each of joined_groups() that has a counter; join() puts them into its
// summary.
//
// * contraction = operations of tensor units / (2·macs). Above 1.005: `padding` up to the work of full tiles of
//   256 × 256 × 128, with M, N, K of each product from its output's shape and K = macs / elements of the output;
//   beyond that, or if a shape is not known, `extra work`. Below 0.98: `Winograd` if a kernel's name says so or a
//   3 x 3 convolution's ratio is in the range of Winograd tiles, `sparsity` if the counter or the kernel's name shows
//   it, else `fewer operations`. Products outside tensor units are judged by all operations, if products are at least
//   nine tenths of them. If most ran in a format other than the estimate's: `TF32` for float32, else `other precision`.
// * flops = operations of all units / (2·macs + arith − comparisons). Hardware does not count exp and comparisons as
//   such, but counts the additions of functions computed in software: `specials` if functions and comparisons are over
//   1 % of the estimate and the counts differ. Twice the operations of an Add or Sub: `scaled addition`. float16 of
//   vector units is ignored for nodes without half operands, since compilers use it to move constants.
// * bytes = DRAM bytes / bytes that must cross if the group is one kernel: those its nodes move, less those that stay
//   inside. Judged by reads if these are known separately, since what a kernel writes leaves the cache during later
//   ones; bytes of replays (`env.bytes`) are not judged. Below 0.9 `cache resident`, above 1.1 `extra traffic`.
// * An excess is `split-K`, `dequantisation` or `layout change` if a kernel's name or a node indicates it.
std::vector<documents::NodeCounts> node_counts(const documents::Measured& measured, const EstimateDocument& estimate);

// CSV with one row per joined group, most time first: nodes, types, kernels, launches, seconds, the bound, seconds /
// bound (headroom), measured and static counts, ratios, flags; cells without a counter or a bound are empty.
std::string node_counts_csv(const documents::Measured& measured, const EstimateDocument& estimate);

// The table that pagoda-import prints: times, the joined share and the rules, the `top` groups with the most time and
// their bounds, and unjoined kernels. Lines end in '\n'.
std::string join_report(const documents::Measured& measured, const EstimateDocument& estimate, std::size_t top = 20,
                        std::size_t width = 0);

// Report of a measurement alone: kernels merged by name, most time first, with their FLOPs by precision, DRAM bytes and
// intensity ("≥": a precision is unknown), totals of one run, and a histogram of launch counts. At most `top` rows, 0:
// all. Lines end in '\n'.
std::string kernel_report(const documents::Measured& measured, std::size_t top = 20, std::size_t width = 0);

// CSV with one row per kernel, in order of first launch: name,op_type,nodes,nvtx,provider,launches,seconds,share, one
// column flops.PRECISION per precision, dram_bytes,l2_bytes,l1_bytes,shared_bytes,intensity,energy_joules.
std::string kernels_csv(const documents::Measured& measured);

}  // namespace pagoda::measured
#pragma GCC visibility pop
