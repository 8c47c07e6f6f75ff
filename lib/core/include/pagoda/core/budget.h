// Budgets: check whether a model stays within limits on work, size, memory or time, as a gate in a model repository.
//
//   Budget limit = parse_budget(BudgetKind::Memory, "8GiB");
//   BudgetResult result = check_budget(limit, analysis, {});
//   result.verdict;  // Fits, Exceeds, or CannotTell with the cause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/sweep.h"
#include "pagoda/core/traffic.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class BudgetKind : std::uint8_t {
  Flops,    // in the requested convention
  Bytes,    // moved, in the requested traffic model
  Params,   // elements of the weights
  Memory,   // bytes of the weights plus the activation peak
  Seconds,  // the time bound on a device
  Rate,     // items per second, such as images: at least as many
};
std::string_view to_string(BudgetKind kind);  // "flops", "bytes", "params", "memory", "seconds", "fps"

struct Budget {
  BudgetKind kind = BudgetKind::Flops;
  Int limit = 0;             // for counts, exact
  double limit_seconds = 0;  // for BudgetKind::Seconds; for Rate the time of a run with that rate: of_run()
  double limit_rate = 0;     // for BudgetKind::Rate
  double run_items = 0;      // for BudgetKind::Rate
  bool is_question = false;  // not a gate
  std::string text;          // as the user wrote it
  // Of BudgetKind::Flops: Convention::Macs or Flops if the unit says so. The limit is then held against that count.
  std::optional<Convention> unit = std::nullopt;
};

// True of Seconds and Rate, which are checked by the time of a run.
constexpr bool is_of_time(BudgetKind kind) { return kind == BudgetKind::Seconds || kind == BudgetKind::Rate; }
// `limit` with the time that a run of so many items may take: a limit on the rate sets it, others stay as they are.
Budget of_run(Budget limit, double items);

// A number and a unit, with or without a space: k M G T P (10^3 …), Ki Mi Gi Ti (2^10 …), then FLOP or FLOPs, B, or
// nothing; times in s, ms, us, µs or ns; rates in /s. "8GiB", "10GFLOP", "25.6M", "5ms", "30", "1e9". Throws Error.
Budget parse_budget(BudgetKind kind, std::string_view text);

enum class Verdict : std::uint8_t { Fits, Exceeds, CannotTell };
std::string_view to_string(Verdict verdict);  // "fits", "exceeds", "cannot tell"

struct BudgetOptions {
  Convention count = Convention::Flops;
  const Traffic* traffic = nullptr;      // null: unfused
  const RooflineTotals* time = nullptr;  // required for BudgetKind::Seconds
  // If given, every one of its points must stay within the limit; `swept` holds the symbols that its axes set.
  const Sweep* sweep = nullptr;
  std::vector<std::string> swept = {};
  // The activation peak, for an analysis whose formula of it is too complex; without it, the weights alone are a lower
  // bound.
  std::optional<Int> activation_bytes = std::nullopt;
  // Of a model on several devices, what each of them holds, which a limit on memory is for.
  std::optional<Int> bytes_of_each = std::nullopt;
};

struct BudgetResult {
  Budget budget;
  Verdict verdict = Verdict::CannotTell;
  // With free dims at 1; for a sweep, the largest value. A lower bound where nodes are not modelled.
  std::optional<double> value;
  std::vector<std::string> causes;  // why it is undecided; for a sweep also where the largest value occurs
  bool is_least = false;             // the value is a lower bound on the time; on the rate, an upper one
  // Undecided only because the value is a lower bound on the time, and that bound is within the limit: a lower bound
  // proves no more than that a limit is exceeded.
  bool is_bound_within = false;
};

// A count that is only a lower bound, as every time is, exceeds a limit as soon as its known part does, and never fits.
BudgetResult check_budget(const Budget& budget, const Analysis& analysis, const BudgetOptions& options);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
