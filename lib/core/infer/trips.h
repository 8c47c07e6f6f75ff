// How often a loop that counts runs, and what its trips cost in all: closed forms in the number of the trip.
#pragma once

#include <optional>

#include "pagoda/core/dim.h"

namespace pagoda::inline core {

// Whether the formula depends on the symbol.
bool depends_on(const Dim& dim, const Dim& symbol);

// The trip, counted from 0, after which a condition ends a loop.
struct LastTrip {
  bool never = false;   // the condition always holds
  Dim first_false = 0;  // otherwise: the first trip of which it does not
};
// `truth` is 1 or 0 and a formula of the trip's number, such as min(max(n − trip − 1, 0), 1) for trip + 1 < n. Reads
// comparisons of sizes with linear functions of the trip, their negations, and any logic of them that holds in one case
// only, such as their conjunction. Empty for anything else.
std::optional<LastTrip> last_trip(const Dim& truth, const Dim& trip);

// The number of trips of a loop that begins if `start` is 1 and goes on while `truth` is 1 after a trip, at most
// `limit` times. Empty if that is not known.
std::optional<Dim> trip_count(const Dim& start, const Dim& truth, const Dim& trip, const std::optional<Dim>& limit);

// Σ count over trip = 0 … trips − 1, for a polynomial of degree up to 3 in the trip, and for any formula of the trip if
// the trips are a number and few; empty for anything else.
std::optional<Dim> sum_over_trips(const Dim& count, const Dim& trip, const Dim& trips);

}  // namespace pagoda::inline core
