// The archive of documents, with the enums that estimates spell.
#pragma once

#include "pagoda/documents/archive.h"

namespace pagoda::documents::members {

// clang-format off
template <> inline constexpr Mark kLast<Mark> = Mark::Unmodelled;
template <> inline constexpr Fusion kLast<Fusion> = Fusion::None;
template <> inline constexpr TrafficModel kLast<TrafficModel> = TrafficModel::Resident;
template <> inline constexpr Convention kLast<Convention> = Convention::Pagoda;
template <> inline constexpr Bound kLast<Bound> = Bound::Unknown;
template <> inline constexpr Unit kLast<Unit> = Unit::Tensor;
template <> inline constexpr Phase kLast<Phase> = Phase::Decode;
template <> inline constexpr Optimizer kLast<Optimizer> = Optimizer::AdamW;
template <> inline constexpr Recompute kLast<Recompute> = Recompute::Sqrt;
template <> inline constexpr SavedKind kLast<SavedKind> = SavedKind::Statistic;
template <> inline constexpr BudgetKind kLast<BudgetKind> = BudgetKind::Seconds;
template <> inline constexpr Verdict kLast<Verdict> = Verdict::CannotTell;
template <> inline constexpr Severity kLast<Severity> = Severity::Error;
template <> inline constexpr CollectiveKind kLast<CollectiveKind> = CollectiveKind::Send;
// clang-format on

}  // namespace pagoda::documents::members
