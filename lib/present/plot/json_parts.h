// Parts of JSON that the chart and its formulas share.
#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/base/json_writer.h"
#include "report/cells.h"

namespace pagoda::present::plot {

// Values that are each written once; others refer to them by their place.
template <typename T>
class Places {
 public:
  std::size_t place(T value) {
    const auto [found, is_new] = places_.emplace(std::move(value), values_.size());
    if (is_new) values_.push_back(found->first);
    return found->second;
  }
  const std::vector<T>& values() const { return values_; }

 private:
  std::map<T, std::size_t> places_;
  std::vector<T> values_;
};

// A number whose whole values up to 2^53 print as integers.
struct Amount {
  std::optional<double> value;
};
inline void write_json(base::JsonWriter& json, const Amount& of) {
  constexpr double kExact = 9007199254740992.0;
  const std::optional<double>& amount = of.value;
  const bool is_exact = amount && std::abs(*amount) < kExact && *amount == std::trunc(*amount);
  if (is_exact)
    json.value(static_cast<std::int64_t>(*amount));
  else
    json.value(amount);
}

// An array on one line: of each row what `get` gives.
template <typename Rows, typename Get>
void list(base::JsonWriter& json, std::string_view key, const Rows& rows, Get get) {
  json.key(key).begin_array(base::JsonWriter::Layout::Line);
  for (const auto& row : rows) json.value(get(row));
  json.end_array();
}
template <typename Rows, typename Get>
void amounts(base::JsonWriter& json, std::string_view key, const Rows& rows, Get get) {
  list(json, key, rows, [&](const auto& row) { return Amount{get(row)}; });
}

}  // namespace pagoda::present::plot
