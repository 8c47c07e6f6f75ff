// Measured ceilings: the rates a CPU or GPU reached, their confidence, and their theoretical limits.
//
//   CeilingsDocument here = load_ceilings("ceilings.json");   // as ert-ceilings wrote it
//   const Ceiling* fma = find_ceiling(here, "float64.avx512.fma.all");
//   fma->value, fma->unit;                       // 2.4e11, "FLOP/s"
//   fma->ci95;                                   // the true median lies in here, 19 times of 20
//   fma->percent(fma->theory.observed_clock);    // of what the unit can issue at the clock it ran at
//   write_ceilings(here);                        // JSON of schema pagoda.ceilings/1
//
// load_device of device.h reads the same files as a device for rooflines. All rates are dense and in SI units without
// prefix. Values that were not measured are absent, never 0; values that did not settle have `converged` false.
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

// How the ceiling was measured: `issue` with zeros as data, so that power does not limit the clock; `burst` for a short
// time; `sustained` with random data after power and clock settled.
enum class CeilingMode : std::uint8_t { Issue, Burst, Sustained };
std::string_view to_string(CeilingMode mode);

// Ok; NotConverged: the interval did not become narrow enough in the given time; Contended: other work disturbed the
// samples; Ambiguous: the level's edges in the sweep do not match its capacity; Throttled: heat or hardware limited the
// clock; Impossible: above theory at the observed clock, must not be used; WrongResult: the kernel's output is wrong;
// Unavailable: could not be run, `note` says why.
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

// The theoretical rate under three assumptions about the clock; empty: no source for it.
struct CeilingTheory {
  std::optional<double> datasheet;       // as the vendor prints it
  std::optional<double> max_clock;       // units × work per clock × highest clock
  std::optional<double> observed_clock;  // units × work per clock × clock while the kernel ran
  std::string source;
};

struct Ceiling {
  std::string id = {};  // unique together with mode: "float64.avx512.fma.all", "hbm.triad"
  CeilingKind kind = CeilingKind::Compute;
  CeilingMode mode = CeilingMode::Burst;
  std::string level = {};       // bandwidth: "dram", "l3", "l2", "l1", "shared", "pcie", …
  std::string precision = {};   // compute: "float64", "int8", … as in device.h
  std::string unit_type = {};   // compute: "vector", "tensor", "scalar", "special"
  std::string accumulate = {};  // format of the accumulator, where it matters
  std::string op = {};          // "fma", "add", "load", "triad", …
  std::string scope = {};       // "device", "core", "node0", …: the part of the machine it covers
  std::string data = {};        // the values of the operands: "zeros", "uniform[-1,1]", …
  std::string unit = {};        // "FLOP/s", "OP/s", "B/s", "s", "J/FLOP", "J/B", "W"

  std::optional<double> value = {};  // median of the best configuration, over samples that were not used to choose it
  std::optional<double> median = {}, p5 = {}, p95 = {}, min = {}, max = {};
  std::optional<std::array<double, 2>> ci95 = {};  // of the median
  std::int64_t n = 0;                              // samples behind these
  std::int64_t dropped = 0;                        // samples discarded as disturbed
  bool converged = false;
  bool contended = false;  // p95 / median > 1.03: some samples were much faster than the median

  std::optional<double> clock_hz = {};        // while it ran
  std::optional<double> per_clock_unit = {};  // FLOP, OP or B per clock and SM or core
  std::optional<double> units = {};           // SMs or cores that took part
  std::optional<double> watts = {};
  std::vector<std::string> throttle = {};  // observed reasons: "sw_power_cap", "hw_slowdown", …
  CeilingTheory theory = {};

  std::string kernel = {};
  base::Settings config = {};
  base::Settings code = {};      // the hot loop as embedded: instruction → count, and "sha256"
  base::Settings counters = {};  // what the hardware counted over what was credited
  CeilingStatus status = CeilingStatus::Ok;
  bool pending = false;  // the run ended before measuring it; a resumed run will
  std::string note = {};

  // value / theory in percent; empty if either is unknown.
  std::optional<double> percent(const std::optional<double>& of) const;
};

// A self-test of the run: a negative control, a drift check, a comparison with another tool's kernel.
struct CeilingCheck {
  std::string name;
  bool passed = false;
  std::string detail;
};

// A comparison of the kernel of Berkeley's Empirical Roofline Tool with ours: one level, one intensity, many pairs.
struct ErtPoint {
  std::string scope;  // "core", "device"
  std::string level;
  std::int64_t flops_per_element = 0;  // per element of 8 bytes, which is read and written
  double intensity = 0;                // FLOP/B: flops_per_element / 16
  std::int64_t working_set_bytes = 0;  // of one core
  std::string kernel;                  // our kernel for the lower side of the roof
  // FLOP/s of ERT's kernel, and of our roof: the lower of our arithmetic rate and intensity times our bandwidth. Both
  // are measured next to each other, in random order.
  std::vector<std::array<double, 2>> pairs;

  // The first divided by the second: median and interval, set by judge().
  double ratio = 0;
  std::optional<std::array<double, 2>> interval;  // empty: too few pairs for that confidence
};

struct ErtComparison {
  double confidence = 0.99;  // probability that no point is wrongly called faster
  std::vector<ErtPoint> points;
};

// Quality of the fit of E = Σ ε·work + P0·T; its coefficients are ceilings of kind Energy.
struct EnergyReport {
  std::string source;  // "nvml", "rapl", "rails"
  std::int64_t rows = 0;
  double relative_rms = 0;      // of the residuals
  double condition_number = 0;  // of the scaled design matrix
  base::Settings constants;     // idle and active watts, separate from the fitted one
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
  std::vector<std::string> unknown;  // members of the file that this version does not know, each once
  std::vector<std::string> not_run;  // requested or existing ceilings that were not measured, with the reason

  std::string name() const;  // name of the machine; empty if unknown
};

// The ceiling with that id; among several modes the sustained one, else burst, else issue. Null if there is none.
const Ceiling* find_ceiling(const CeilingsDocument& document, std::string_view id);

// What a report says of a member that a reader did not know: "\"colour\" is not known to this version and was left
// out".
std::string left_out(const std::string& member);

// JSON of schema pagoda.ceilings/1.
std::string write_ceilings(const CeilingsDocument& document);
// The inverse. Members unknown to this version are listed in `unknown`. Throws Error; `subject` names the text in it.
CeilingsDocument parse_ceilings(std::string_view json, std::string_view subject);
CeilingsDocument load_ceilings(const std::string& path);

// A ceiling that differs from a baseline by more than the two intervals and `tolerance` (a fraction) allow.
struct CeilingChange {
  std::string id;
  double before = 0, now = 0;
  bool worse = false;
};
// Compares ceilings that occur in both documents with the same id and mode, if both values are settled.
std::vector<CeilingChange> compare_ceilings(const CeilingsDocument& now, const CeilingsDocument& baseline,
                                            double tolerance);

// How well two runs on one machine agree. Correct 95 % intervals of equal width fail to overlap in 1 of 180 cases, not
// in 1 of 20: two estimates with standard deviations h/1.96 (h: half width) differ by more than h1 + h2 with
// probability erfc(1.96·(h1 + h2)/√(2(h1² + h2²))); `expected_apart` is the sum of these probabilities.
struct Agreement {
  std::int64_t compared = 0;  // ceilings with an interval in both runs, settled or not
  std::int64_t apart = 0;     // of these, ceilings whose intervals do not overlap
  double expected_apart = 0;
};
Agreement agreement(const CeilingsDocument& now, const CeilingsDocument& baseline);

}  // namespace pagoda::documents
#pragma GCC visibility pop
