#include "infer/trips.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "graph/dim_poly.h"

namespace pagoda::inline core {

bool depends_on(const Dim& dim, const Dim& symbol) {
  return !dim.is_constant() &&
         any_symbol(dim, [wanted = symbol.to_string()](const std::string& name) { return name == wanted; });
}

namespace {

Dim at(const Dim& dim, const Dim& trip, const Dim& value) { return dim.substitute({{trip.to_string(), value}}); }

// A comparison: the formula that is at least 1 where it holds, or the one that is not 0.
struct Comparison {
  Dim value;
  bool is_difference = false;
};

// What an atom of a truth compares: min(max(d, 0), 1) is d ≥ 1, min(max(d, −d), 1) is d ≠ 0. A bound that d keeps by
// itself is left out of the formula.
std::optional<Comparison> comparison_of(const Dim::Atom& atom) {
  const auto without = [](const Dim::Atom& extreme, const Dim& bound) -> std::optional<Dim> {
    if (extreme.arguments[0] == bound) return extreme.arguments[1];
    return extreme.arguments[1] == bound ? std::optional(extreme.arguments[0]) : std::nullopt;
  };
  if (atom.kind == Dim::AtomKind::Max) {
    const auto positive = without(atom, 0);
    return positive ? std::optional(Comparison{*positive}) : std::nullopt;
  }
  if (atom.kind != Dim::AtomKind::Min) return std::nullopt;
  const auto capped = without(atom, 1);
  if (!capped) return std::nullopt;
  const Dim::Atom* const inner = capped->as_atom();
  if (inner == nullptr || inner->kind != Dim::AtomKind::Max) return Comparison{*capped};
  if (const auto positive = without(*inner, 0)) return Comparison{*positive};
  if (inner->arguments[0] == -inner->arguments[1]) return Comparison{inner->arguments[0], true};
  return std::nullopt;
}

// The truth with each of its comparisons set to 0 or 1.
Dim with_atoms(const Dim& truth, const std::map<std::string, Dim>& values) {
  Dim sum = 0;
  const TermList terms(truth);
  for (const Dim::Monomial& term : terms) {
    Dim product = terms.coefficient(term);
    for (const Dim::Factor& factor : term.factors) {
      const auto found = values.find(factor.atom.text);
      const Dim base = found == values.end() ? Dim::Poly::of(factor.atom) : found->second;
      for (int i = 0; i < factor.power; ++i) product *= base;
    }
    sum += product;
  }
  return sum;
}

// The first trip at which the comparison does not have the value `is`.
std::optional<LastTrip> last_trip_of(const Comparison& comparison, bool is, const Dim& trip) {
  // Where d ≥ 1 must not hold, 1 − d ≥ 1 must.
  const Dim value = is || comparison.is_difference ? comparison.value : 1 - comparison.value;
  const Dim start = at(value, trip, 0);
  const Dim step = at(value, trip, trip + 1) - value;
  if (depends_on(step, trip) || depends_on(start, trip)) return std::nullopt;
  if (comparison.is_difference) {
    // start + step·k is 0 at k = −start / step.
    if (!is || (step != Dim(1) && step != Dim(-1))) return std::nullopt;
    const Dim zero = step == Dim(1) ? -start : start;
    if (greater_equal(zero, 0) == true) return LastTrip{.first_false = zero};
    return greater_equal(zero, 0) == false && zero.is_constant() ? std::optional(LastTrip{.never = true})
                                                                 : std::nullopt;
  }
  // start + step·k ≥ 1 ends at k = ⌈start / −step⌉ if the step is below 0.
  if (greater_equal(-1, step) == true) return LastTrip{.first_false = max(ceil_div(start, -step), 0)};
  if (greater_equal(step, 0) != true) return std::nullopt;
  if (greater_equal(start, 1) == true) return LastTrip{.never = true};
  return greater_equal(0, start) == true ? std::optional(LastTrip{.first_false = 0}) : std::nullopt;
}

}  // namespace

std::optional<LastTrip> last_trip(const Dim& truth, const Dim& trip) {
  constexpr std::size_t kMostComparisons = 4;
  if (truth == Dim(1)) return LastTrip{.never = true};
  if (!depends_on(truth, trip)) return std::nullopt;
  std::map<std::string, const Dim::Atom*> atoms;
  for (const Dim::Monomial& term : truth.poly()->terms)
    for (const Dim::Factor& factor : term.factors)
      if (depends_on(Dim::Poly::of(factor.atom), trip)) atoms.emplace(factor.atom.text, &factor.atom);
  if (atoms.empty() || atoms.size() > kMostComparisons) return std::nullopt;
  // The one case, a value of each comparison, in which the truth may be 1.
  std::optional<unsigned> holds;
  Dim in_case;
  for (unsigned values = 0; values < 1U << atoms.size(); ++values) {
    std::map<std::string, Dim> bits;
    for (const auto& [text, atom] : atoms) bits.emplace(text, values >> bits.size() & 1U);
    const Dim result = with_atoms(truth, bits);
    if (result == Dim(0)) continue;
    if (holds || depends_on(result, trip)) return std::nullopt;
    holds = values;
    in_case = result;
  }
  if (!holds) return std::nullopt;
  LastTrip whole{.never = true};
  unsigned place = 0;
  for (const auto& [text, atom] : atoms) {
    const auto comparison = comparison_of(*atom);
    const auto last = comparison ? last_trip_of(*comparison, (*holds >> place++ & 1U) != 0, trip) : std::nullopt;
    if (!last) return std::nullopt;
    if (last->never) continue;
    whole = {.first_false = whole.never ? last->first_false : min(whole.first_false, last->first_false)};
  }
  // Sizes alone may decide, too: then the first trip is the last.
  if (in_case != Dim(1) && whole.never) return std::nullopt;
  whole.first_false *= in_case;
  return whole;
}

std::optional<Dim> trip_count(const Dim& start, const Dim& truth, const Dim& trip, const std::optional<Dim>& limit) {
  if (start == Dim(0)) return Dim(0);
  const std::optional<Dim> most = limit ? std::optional(max(*limit, 0)) : std::nullopt;
  const auto limited = [&](const Dim& trips) { return most ? min(*most, trips) : trips; };
  if (!depends_on(truth, trip)) {  // one trip where it does not hold, else all of them
    if (!most && truth != Dim(0)) return std::nullopt;
    const Dim once = limited(1);
    return start * (truth == Dim(0) ? once : once + truth * (*most - once));
  }
  // Where the loop begins on its own condition, one trip earlier: the first trip without it ends the loop.
  if (start == at(truth, trip, -1))
    if (const auto before = last_trip(at(truth, trip, trip - 1), trip); before && !before->never)
      return limited(before->first_false);
  const std::optional<LastTrip> last = last_trip(truth, trip);
  if (!last || (last->never && !most)) return std::nullopt;
  return start * (last->never ? *most : limited(last->first_false + 1));
}

namespace {

// Σ over k = 0 … trips − 1 of a polynomial in k, which `trip` names.
std::optional<Dim> polynomial_sum(const Dim& count, const Dim& trip, const Dim& trips) {
  const Dim pairs = floor_div(trips * trips - trips, 2);
  const auto power_sum = [&](int power) {  // Σ k^power
    if (power < 2) return power == 0 ? trips : pairs;
    return power == 2 ? floor_div((trips * trips - trips) * (2 * trips - 1), 6) : pairs * pairs;
  };
  const std::string name = trip.to_string();
  Dim sum = 0;
  const TermList terms(count);
  for (const Dim::Monomial& term : terms) {
    Dim product = terms.coefficient(term);
    int power = 0;
    for (const Dim::Factor& factor : term.factors) {
      if (factor.atom.text == name) {
        power = factor.power;
        continue;
      }
      const Dim base = Dim::Poly::of(factor.atom);
      if (depends_on(base, trip)) return std::nullopt;
      for (int i = 0; i < factor.power; ++i) product *= base;
    }
    if (power > 3) return std::nullopt;
    sum += product * power_sum(power);
  }
  return sum;
}

}  // namespace

std::optional<Dim> sum_over_trips(const Dim& count, const Dim& trip, const Dim& trips) {
  if (!depends_on(count, trip)) return count * trips;
  if (auto sum = polynomial_sum(count, trip, trips)) return sum;
  // Counted from the last trip, min(trip, trips) is trip.
  if (auto sum = polynomial_sum(at(count, trip, trips - 1 - trip), trip, trips)) return sum;
  constexpr std::int64_t kMostAdded = 4096;
  const auto most = trips.value64();
  if (!most || *most > kMostAdded || count.symbols() != trip.symbols()) return std::nullopt;
  Int sum = 0;
  for (std::int64_t i = 0; i < *most; ++i) sum += count.evaluate({{trip.to_string(), i}});
  return Dim(sum);
}

}  // namespace pagoda::inline core
