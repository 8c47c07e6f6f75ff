// Measured ceilings: what a CPU or GPU was seen to reach, how sure that is, and what it could reach by theory.
//
//   CeilingsDocument here = load_ceilings("ceilings.json");   // as ert-ceilings wrote it
//   const Ceiling* fma = find_ceiling(here, "float64.avx512.fma.all");
//   fma->value, fma->unit;                       // 2.4e11, "FLOP/s"
//   fma->ci95;                                   // the true median lies in here, 19 times of 20
//   fma->percent(fma->theory.observed_clock);    // of what the unit can issue at the clock it ran at
//   write_ceilings(here);                        // JSON of schema pagoda.ceilings/1
//
// load_device of device.h reads the same files as a device for rooflines. All rates are dense and in SI units without
// prefix. What was not measured is absent, never 0; what did not settle says so by `converged`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/base/settings.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

enum class CeilingKind : std::uint8_t { Compute, Bandwidth, Latency, Energy };
std::string_view to_string(CeilingKind kind);  // "compute", "bandwidth", …

// How it was driven: `issue` with zeros as data, so that power does not hold the clock down; `burst` for a moment;
// `sustained` with random data after power and clock settled.
enum class CeilingMode : std::uint8_t { Issue, Burst, Sustained };
std::string_view to_string(CeilingMode mode);

// Ok; NotConverged: the interval did not become narrow enough in the time given; Contended: other work disturbed the
// samples; Ambiguous: the level's edges in the sweep are not where its capacity says; Throttled: the clock was held
// down by heat or hardware; Impossible: above theory at the observed clock, never to be used; WrongResult: the kernel's
// output is not what its work must give; Unavailable: could not be run, `note` says why.
enum class CeilingStatus : std::uint8_t {
  Ok,
  NotConverged,
  Contended,
  Ambiguous,
  Throttled,
  Impossible,
  WrongResult,
  Unavailable,
};
std::string_view to_string(CeilingStatus status);  // "ok", "not_converged", …

// The same rate under three assumptions on the clock; empty: no source for it.
struct CeilingTheory {
  std::optional<double> datasheet;       // as the vendor prints it
  std::optional<double> max_clock;       // units × work per clock × highest clock
  std::optional<double> observed_clock;  // units × work per clock × clock while the kernel ran
  std::string source;
};

struct Ceiling {
  std::string id;  // unique together with mode: "float64.avx512.fma.all", "hbm.triad"
  CeilingKind kind = CeilingKind::Compute;
  CeilingMode mode = CeilingMode::Burst;
  std::string level;       // bandwidth: "dram", "l3", "l2", "l1", "shared", "pcie", …
  std::string precision;   // compute: "float64", "int8", … as in device.h
  std::string unit_type;   // compute: "vector", "tensor", "scalar", "special"
  std::string accumulate;  // format of the accumulator, where it matters
  std::string op;          // "fma", "add", "load", "triad", …
  std::string scope;       // "device", "core", "node0", …: what part of the machine it is of
  std::string data;        // what the operands hold: "zeros", "uniform[-1,1]", …
  std::string unit;        // "FLOP/s", "OP/s", "B/s", "s", "J/FLOP", "J/B", "W"

  std::optional<double> value;  // median of the best configuration on samples that did not choose it
  std::optional<double> median, p5, p95, min, max;
  std::optional<std::array<double, 2>> ci95;  // of the median
  std::int64_t n = 0;                         // samples behind these
  std::int64_t dropped = 0;                   // samples thrown away as disturbed
  bool converged = false;
  bool contended = false;  // p95 over median above 1.03: some samples were much faster than the middle one

  std::optional<double> clock_hz;        // while it ran
  std::optional<double> per_clock_unit;  // FLOP, OP or B per clock and SM or core
  std::optional<double> units;           // SMs or cores that took part
  std::optional<double> watts;
  std::vector<std::string> throttle;  // reasons seen: "sw_power_cap", "hw_slowdown", …
  CeilingTheory theory;

  std::string kernel;
  base::Settings config;
  base::Settings code;      // of the hot loop as embedded: instruction → how often, "sha256"
  base::Settings counters;  // what the hardware counted over what was credited
  CeilingStatus status = CeilingStatus::Ok;
  bool pending = false;  // the run ended before its turn; a resumed one measures it
  std::string note;

  // value over a theory, in percent; empty where one is unknown.
  std::optional<double> percent(const std::optional<double>& of) const;
};

// A self-test of the run: a negative control, a drift check, a comparison with another tool's kernel.
struct CeilingCheck {
  std::string name;
  bool passed = false;
  std::string detail;
};

// Where the kernel of Berkeley's Empirical Roofline Tool was run beside ours: one level, one intensity, many pairs.
struct ErtPoint {
  std::string scope;  // "core", "device"
  std::string level;
  std::int64_t flops_per_element = 0;  // of 8 bytes that are read and written
  double intensity = 0;                // FLOP/B: that over 16
  std::int64_t working_set_bytes = 0;  // of one core
  std::string kernel;                  // of ours, on the side of the roof that is the lower one
  // FLOP/s of that kernel, and the roof: the lower of our arithmetic and the intensity times our bandwidth, measured
  // beside it in random order.
  std::vector<std::array<double, 2>> pairs;

  // Of the first over the second, by judge(): median and interval.
  double ratio = 0;
  std::optional<std::array<double, 2>> interval;  // empty: too few pairs for that confidence
};

struct ErtComparison {
  double confidence = 0.99;  // that no point at all is called faster where none is
  std::vector<ErtPoint> points;
};

// What a fit of E = Σ ε·work + P0·T says, beside its ceilings of kind energy.
struct EnergyReport {
  std::string source;  // "nvml", "rapl", "rails"
  std::int64_t rows = 0;
  double relative_rms = 0;      // of the residuals
  double condition_number = 0;  // of the scaled design matrix
  base::Settings constants;     // idle and active watts, apart from the fitted one
};

struct CeilingsDocument {
  std::string tool;        // "ert-ceilings 0.1.0"
  std::string kind;        // "gpu", "cpu"
  base::Settings machine;  // at least "name"
  base::Settings clocks;   // "max_hz", "observed_hz", …
  base::Settings env;      // driver, load, steal, limits
  std::vector<Ceiling> ceilings;
  std::vector<CeilingCheck> checks;
  std::optional<EnergyReport> energy;
  std::optional<ErtComparison> ert;
  std::vector<std::string> not_run;  // what was asked for or exists but was not measured, with the reason

  std::string name() const;  // of the machine; empty when unknown
};

// The first ceiling of that id; of several modes, the sustained, else the burst, else the issue one. Null: none.
const Ceiling* find_ceiling(const CeilingsDocument& document, std::string_view id);

// JSON of schema pagoda.ceilings/1.
std::string write_ceilings(const CeilingsDocument& document);
// The reverse. Unknown keys are ignored, so that newer files still read. Throws Error; `subject` names the text in it.
CeilingsDocument parse_ceilings(std::string_view json, std::string_view subject);
CeilingsDocument load_ceilings(const std::string& path);

// A ceiling that moved against a baseline, beyond what the two intervals and `tolerance` (a fraction) allow.
struct CeilingChange {
  std::string id;
  double before = 0, now = 0;
  bool worse = false;
};
// Compares what both hold by id and mode. Only settled values of both are compared.
std::vector<CeilingChange> compare_ceilings(const CeilingsDocument& now, const CeilingsDocument& baseline,
                                            double tolerance);

// How well two runs of one machine agree. Honest intervals of equal width miss each other in 1 of 180 cases, not in 1
// of 20: two estimates of deviations h/1.96 (h: half widths) differ by more than h1 + h2 with the probability
// erfc(1.96·(h1 + h2)/√(2(h1² + h2²))); `expected_apart` is the sum of these.
struct Agreement {
  std::int64_t compared = 0;  // ceilings that both hold with an interval, settled or not
  std::int64_t apart = 0;     // whose intervals do not meet
  double expected_apart = 0;
};
Agreement agreement(const CeilingsDocument& now, const CeilingsDocument& baseline);

}  // namespace pagoda::documents
#pragma GCC visibility pop
