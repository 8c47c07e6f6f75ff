// Limits with units, and the three answers a gate can give.
#include "pagoda/core/budget.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/quantity.h"
#include "pagoda/base/text.h"

namespace pagoda::inline core {
namespace {

constexpr base::EnumNames<BudgetKind::Rate> kBudgetKinds("flops", "bytes", "params", "memory", "seconds", "fps");
constexpr base::EnumNames<Verdict::CannotTell> kVerdicts("fits", "exceeds", "cannot tell");

constexpr base::Measure kLimitMeasures[] = {
    base::Measure::Flops, base::Measure::Bytes,   base::Measure::Parameters,
    base::Measure::Bytes, base::Measure::Seconds, base::Measure::PerSecond};  // in the order of BudgetKind

// A count with free dims at 1, if known, and the free dims that it depends on.
struct Known {
  std::optional<Int> value;
  std::vector<std::string> free_dims;
};

Known known(std::initializer_list<const Dim*> parts) {
  Known result;
  try {
    Dim sum;
    for (const Dim* part : parts) {
      sum += Dim(part->evaluate({}));
      for (const std::string& name : part->symbols())
        if (std::find(result.free_dims.begin(), result.free_dims.end(), name) == result.free_dims.end())
          result.free_dims.push_back(name);
    }
    result.value = sum.value();
  } catch (const Error&) {
    result.value = std::nullopt;
  }
  return result;
}

// "1GMAC" limits multiply-accumulates and "1GFLOP" operations, whatever the request counts.
Convention convention_of(const Budget& budget, const BudgetOptions& options) {
  const bool is_same = !budget.unit || (*budget.unit == Convention::Macs) == (options.count == Convention::Macs);
  return is_same ? options.count : *budget.unit;
}

Known known(const Budget& budget, const Analysis& analysis, const BudgetOptions& options) {
  const Totals& totals = analysis.totals;
  switch (budget.kind) {
    case BudgetKind::Flops: {
      const Dim work = flops(totals.cost, convention_of(budget, options));
      return known({&work});
    }
    case BudgetKind::Bytes:
      return options.traffic != nullptr ? known({&options.traffic->bytes_read, &options.traffic->bytes_written})
                                        : known({&totals.cost.bytes_read, &totals.cost.bytes_written});
    case BudgetKind::Params:
      return known({&totals.params});
    case BudgetKind::Memory: {
      if (options.bytes_of_each) {
        Known result = known({&totals.weight_bytes});
        result.value = options.bytes_of_each;
        return result;
      }
      if (totals.activation_peak_bytes) return known({&totals.weight_bytes, &*totals.activation_peak_bytes});
      const Dim activations = options.activation_bytes.value_or(0);
      Known result = known({&totals.weight_bytes, &activations});
      result.free_dims = analysis.free_dims;
      if (!options.activation_bytes)  // sizes that the data decide make it a lower bound
        for (const Symbol& symbol : analysis.symbols) result.free_dims.push_back(symbol.name);
      return result;
    }
    case BudgetKind::Seconds:
    case BudgetKind::Rate: {
      const OpCost& cost = totals.cost;
      return known({&cost.macs, &cost.arith, &cost.special, &cost.bytes_read, &cost.bytes_written});
    }
  }
  return {};
}

// The value that a limit is compared with: an exact count, or a time.
struct Found {
  std::optional<Int> count = std::nullopt;
  const RooflineTotals* time = nullptr;

  bool is_known() const { return count || time != nullptr; }
  double value() const { return count ? static_cast<double>(*count) : time->seconds; }
  bool exceeds(const Found& other) const { return count ? *count > *other.count : time->seconds > other.time->seconds; }
  bool exceeds(const Budget& budget) const {
    return count ? *count > budget.limit : time->seconds > budget.limit_seconds;
  }
};

Found found_at(const SweepPoint& point, BudgetKind kind, bool counts_macs) {
  if (is_of_time(kind)) return {.time = point.time ? &*point.time : nullptr};
  return {.count = kind == BudgetKind::Flops   ? counts_macs ? point.macs : point.flops
                   : kind == BudgetKind::Bytes ? point.bytes
                                               : point.memory_bytes};
}

// The largest value of all points, and the sizes of its point. Adds a cause if some points have no value.
std::pair<Found, std::string> largest_of(const Sweep& sweep, BudgetKind kind, bool counts_macs,
                                         std::vector<std::string>& causes) {
  Found largest;
  std::string at, unknown_at;
  std::size_t unknown = 0;
  for (const SweepPoint& point : sweep.points) {
    const Found found = found_at(point, kind, counts_macs);
    if (!found.is_known()) {
      if (unknown++ == 0) unknown_at = sizes_text(sweep, point);
    } else if (!largest.is_known() || found.exceeds(largest)) {
      largest = found;
      at = sizes_text(sweep, point);
    }
  }
  const std::string others = unknown > 1 ? cat(" and ", unknown - 1, " other points") : "";
  if (unknown > 0) causes.push_back(cat("not known at ", unknown_at, others));
  return {largest, at};
}

}  // namespace

std::string_view to_string(BudgetKind kind) { return kBudgetKinds[kind]; }
std::string_view to_string(Verdict verdict) { return kVerdicts[verdict]; }

Budget parse_budget(BudgetKind kind, std::string_view text) {
  const auto [limit, unit] =
      base::quantity(kLimitMeasures[static_cast<std::size_t>(kind)], text, cat("a limit on ", to_string(kind)));
  Budget budget;
  budget.kind = kind;
  budget.text = text;
  if (unit.starts_with("mac")) budget.unit = Convention::Macs;
  if (unit.starts_with("flop")) budget.unit = Convention::Flops;
  if (kind == BudgetKind::Seconds)
    budget.limit_seconds = limit;
  else if (kind == BudgetKind::Rate)
    budget.limit_rate = limit;
  else
    budget.limit = static_cast<Int>(std::round(limit));
  return budget;
}

Budget of_run(Budget limit, double items) {
  if (limit.kind != BudgetKind::Rate) return limit;
  limit.run_items = items;
  limit.limit_seconds = items / limit.limit_rate;
  return limit;
}

BudgetResult check_budget(const Budget& budget, const Analysis& analysis, const BudgetOptions& options) {
  BudgetResult result;
  result.budget = budget;
  if (budget.kind == BudgetKind::Flops)
    result.budget.unit = convention_of(budget, options) == Convention::Macs ? Convention::Macs : Convention::Flops;
  const bool is_time = is_of_time(budget.kind);
  const bool is_swept = options.sweep != nullptr && budget.kind != BudgetKind::Params;
  if (is_time && !is_swept && options.time == nullptr) throw Error(cat("a limit on ", to_string(budget.kind), " needs `device`"));
  Known count = known(budget, analysis, options);
  Found found;
  std::string at;
  if (is_swept) {
    const bool counts_macs = convention_of(budget, options) == Convention::Macs;
    if (budget.kind == BudgetKind::Flops && !counts_macs && options.count == Convention::Macs)
      throw Error(cat("'", budget.text, "': a sweep with `count=macs` has no FLOPs; give the limit in MACs"));
    std::tie(found, at) = largest_of(*options.sweep, budget.kind, counts_macs, result.causes);
    std::erase_if(count.free_dims, [&](const std::string& name) {
      return std::find(options.swept.begin(), options.swept.end(), name) != options.swept.end();
    });
  } else if (is_time) {
    found.time = options.time;
  } else {
    found.count = count.value;
    if (!found.is_known()) result.causes.push_back("the count is not known");
    if (budget.kind == BudgetKind::Memory && !analysis.totals.activation_peak_bytes && !options.activation_bytes)
      result.causes.push_back("the size of some activation is not known");
  }
  if (found.time != nullptr && found.time->at_least && found.time->unknown_rows > analysis.totals.unmodelled_nodes)
    result.causes.push_back(cat("the device has no known peak for ",
                                found.time->unknown_rows - analysis.totals.unmodelled_nodes, " nodes"));
  if (analysis.partial && budget.kind != BudgetKind::Params)
    result.causes.push_back(cat(analysis.totals.unmodelled_nodes,
                                " nodes are not modelled: ", base::joined(analysis.totals.unmodelled_ops)));
  // Sizes of inputs, and those that no input has.
  const auto is_symbol = [&](const std::string& name) {
    return std::ranges::find(analysis.symbols, name, &Symbol::name) != analysis.symbols.end();
  };
  std::vector<std::string> dims = count.free_dims, symbols = count.free_dims;
  std::erase_if(dims, is_symbol);
  std::erase_if(symbols, [&](const std::string& name) { return !is_symbol(name); });
  const auto depends = [&](const std::vector<std::string>& names, const char* fields) {
    if (!names.empty())
      result.causes.push_back(
          cat("it depends on ", base::joined(names), "; set ", names.size() > 1 ? "them" : "it", " with ", fields));
  };
  depends(dims, "`batch` or `dims`");
  depends(symbols, "`assume`");
  if (!found.is_known()) return result;
  result.value = found.value();
  result.is_least = is_time;
  if (found.exceeds(budget)) {
    result.verdict = Verdict::Exceeds;
  } else if (result.causes.empty() && is_time) {
    result.is_bound_within = true;
    result.causes.emplace_back("a lower bound on the time proves only that a limit is exceeded");
  } else if (result.causes.empty()) {
    result.verdict = Verdict::Fits;
  }
  if (is_swept) result.causes.push_back("at " + at);
  return result;
}

}  // namespace pagoda::inline core
