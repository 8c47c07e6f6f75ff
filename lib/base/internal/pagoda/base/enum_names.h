// The names of an enumeration's values: one table for both directions.
//
//   constexpr EnumNames<Phase::Decode> kPhases("prefill", "decode");  // up to the last enumerator, in their order
//   kPhases[Phase::Decode];    // "decode"
//   kPhases.value("prefill");  // Phase::Prefill; empty for another text
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::base {

template <auto Last>
class EnumNames {
 public:
  using Enum = decltype(Last);
  static constexpr std::size_t kSize = static_cast<std::size_t>(Last) + 1;

  template <typename... Names>
  requires(sizeof...(Names) == kSize) consteval explicit EnumNames(Names... names) : names_{names...} {}

  constexpr std::string_view operator[](Enum value) const {
    const auto at = static_cast<std::size_t>(value);
    return at < kSize ? names_[at] : std::string_view();
  }
  constexpr std::optional<Enum> value(std::string_view name) const {
    for (std::size_t i = 0; i < kSize; ++i)
      if (names_[i] == name) return static_cast<Enum>(i);
    return std::nullopt;
  }
  std::vector<std::string_view> all() const { return {names_.begin(), names_.end()}; }

 private:
  std::array<std::string_view, kSize> names_;
};

// Whether the rows of a table are in the order of the enumerators in `key`, from the first one on.
template <typename Row, std::size_t N, typename Enum>
constexpr bool is_indexed_by(Enum Row::*key, const std::array<Row, N>& rows) {
  for (std::size_t i = 0; i < N; ++i)
    if (static_cast<std::size_t>(rows[i].*key) != i) return false;
  return true;
}

}  // namespace pagoda::base
#pragma GCC visibility pop
