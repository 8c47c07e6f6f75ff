// The catalogue of hardware counters: which metrics of a chip give FLOPs, bytes and time, and which of them can be
// collected in one pass.
//
//   const ChipMetrics& chip = chip_metrics("GH100");                     // as CUPTI names the chip; H100 and H200
//   MetricPlan plan = plan_metrics(chip, MetricMode::Quick);             // one pass: no replay of kernels
//   auto amounts = evaluate_metrics(chip, {{"dram__bytes_read.sum", 4096}, …});   // by quantity: "bytes.dram_read"
//
// | quantity                | unit  | what it is                                                                     |
// |-------------------------|-------|--------------------------------------------------------------------------------|
// | seconds                 | s     | of the range on the device                                                     |
// | cycles                  | 1     | of the SM clock                                                                |
// | cycles.dram, .l2, .l1   | 1     | of the clocks of memory, of the L2 and of the L1                               |
// | bytes.dram_read, _write | B     | between L2 and memory                                                          |
// | bytes.dram, .l2         | B     | both directions; between the L1s and the L2                                    |
// | bytes.l1                | B     | of loads, stores and textures (LSU, TEX); not of bulk copies and wgmma         |
// | bytes.shared            | B     | of shared memory, on Hopper also operands that tensor units read there         |
// | bytes.l2_miss           | B     | sectors requested but not in the L2; no write-backs, so less than DRAM bytes   |
// | flops.P                 | FLOP  | vector units in precision P: adds + multiplies + 2·fused ones                  |
// | flops.P.tensor          | FLOP  | tensor units with operands P: 2·M·N·K of a product, padding of tiles included  |
// | peak.P, peak.P.tensor   | FLOP per cycle | best of the whole chip, of dense operands; float16.tensor: into float32
// | | peak.bytes.dram, …      | B per cycle | best of the whole chip, in a cycle of that level's own clock |
//
// A peak is a constant that CUPTI reports with any set of counters, at no extra cost.
//
// Metric names differ between chips, so each quantity has formulas in order of preference, with pass counts from
// CUPTI's own host library for every chip it supports (data/metrics, written by pagoda-metrics). Blackwell's
// `float8.tensor` may include float6 and mixed float4 operands, since the chip counts them together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/documents/measured.h"  // Missing

#pragma GCC visibility push(default)
namespace pagoda::documents {

enum class QuantityKind : std::uint8_t { Other, Bytes, Flops, Peak };

// The parsed name of a quantity: "flops.tf32.tensor" is Flops of "tf32.tensor", "peak.bytes.dram" is Peak of
// "bytes.dram"; for Other ("seconds", "cycles.l2") `of` is the whole name.
struct QuantityName {
  QuantityKind kind = QuantityKind::Other;
  std::string_view of;  // part of the name
};
QuantityName quantity_name(std::string_view id);

struct MetricTerm {
  std::string metric;  // with rollup: "dram__bytes_read.sum"
  double weight = 1;   // converts to SI units and operations
};

// quantity = Σ weight · metric.
struct MetricFormula {
  std::vector<MetricTerm> terms;
  std::int64_t passes = 1;       // for all terms together, without other metrics
  std::int64_t term_passes = 1;  // for the term that needs most; 1: terms can be collected in different runs
  std::int64_t base_passes = 1;  // with time, cycles and the bytes of each level; 1: quick mode can collect it
};

struct MetricQuantity {
  std::string id;
  std::vector<MetricFormula> formulas;  // at least one

  QuantityName name() const { return quantity_name(id); }
  bool is_amount() const { return name().kind == QuantityKind::Flops || name().kind == QuantityKind::Bytes; }
  // The formula that is used: the first for which `has` is true of all metrics; null if there is none.
  template <typename Has>
  const MetricFormula* usable(const Has& has) const {
    for (const MetricFormula& formula : formulas)
      if (std::ranges::all_of(formula.terms, has, &MetricTerm::metric)) return &formula;
    return nullptr;
  }
};

struct MetricGroup {
  std::vector<std::string> metrics;  // with rollup
  std::int64_t passes = 1;
};

struct ChipMetrics {
  std::string family;              // chips with the same metrics; also the file's name
  std::vector<std::string> chips;  // as CUPTI spells them
  std::string cupti;               // CUPTI version that listed the metrics: "13.0.1"
  bool collectable = true;         // by the range profiler: compute capability 7.5 and later
  std::vector<MetricQuantity> quantities;
  // Metrics to collect. The first group is the best single pass for a roofline; groups of one pass need no replay.
  std::vector<MetricGroup> groups;
  std::vector<Missing> missing;  // quantities that no metric of the chip measures
  std::vector<std::string> unknown;  // members of the file that this version does not know

  const MetricQuantity* quantity(std::string_view id) const;  // null if there is none
};

// Families of the catalogue, sorted; parsed once.
std::span<const ChipMetrics> metric_catalogue();
const ChipMetrics* find_chip_metrics(std::string_view chip);  // null for an unknown name
// Throws Error, which lists the known chips, for an unknown name.
const ChipMetrics& chip_metrics(std::string_view chip);
// One file of data/metrics, and the inverse.
std::string write_chip_metrics(const ChipMetrics& chip);
ChipMetrics parse_chip_metrics(std::string_view json, std::string_view subject);

enum class MetricMode : std::uint8_t {
  Quick,   // the first group: one pass
  Rotate,  // every group of one pass, in turn over equal runs
  Exact,   // everything, by replaying each kernel
};

struct MetricPlan {
  std::vector<MetricGroup> groups;     // a run collects one group
  std::vector<std::string> constants;  // the chip's peaks: available with any group, without a further pass
  std::vector<Missing> missing;        // quantities that the groups do not measure, with the reason
};

// `has` says whether the device can count a metric (empty: all of them); other metrics are left out of the groups.
// `precision` ("tf32.tensor"): Quick counts its operations instead of those of other precisions; Error if it cannot.
MetricPlan plan_metrics(const ChipMetrics& chip, MetricMode mode, std::string_view precision = "",
                        const std::function<bool(const std::string&)>& has = {});

// The quantities that can be computed from `values` (by metric).
std::map<std::string, double> evaluate_metrics(const ChipMetrics& chip, const std::map<std::string, double>& values);

}  // namespace pagoda::documents
#pragma GCC visibility pop
