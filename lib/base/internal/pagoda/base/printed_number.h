// Numbers as programs print them in the locale of their user: "1,234.5", "1.234,5", "1 234,5", "1'234.5", "12,34,567".
//
// "12.345" is 12.345 where the point is the decimal mark, and 12345 where it groups digits. Other numbers of the same
// table show which:
//
//   Marks marks;
//   for (const std::string& cell : column) marks.see(cell);
//   if (const auto mark = marks.decimal()) use(*printed("12.345").with(*mark));
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::base {

enum class DecimalMark : std::uint8_t { Point, Comma };

// The readings of a text. Digits may be grouped by the other mark, by spaces (of any width) or by apostrophes: three in
// each group, or two in all but the last, as in India. The instances that ncu appends, "7 (0: 7)", are left out.
struct PrintedNumber {
  std::optional<double> with_point, with_comma;  // by decimal mark; empty: not a number, as "n/a" and "nan" with both
  bool is_ungrouped = false;  // five digits or more in a row before the decimal mark

  std::optional<double> with(DecimalMark mark) const { return mark == DecimalMark::Point ? with_point : with_comma; }
  bool is_ambiguous() const { return with_point && with_comma && *with_point != *with_comma; }
};
PrintedNumber printed(std::string_view text);

// The decimal marks that the numbers of one program show.
struct Marks {
  bool has_point = false, has_comma = false;        // numbers that only this decimal mark explains
  bool may_be_point = false, may_be_comma = false;  // numbers with this mark alone, before exactly three digits
  bool is_ungrouped = false;                        // long numbers without groups: the program groups nothing

  void see(std::string_view text);
  bool shows(DecimalMark mark) const {  // without groups, a mark before three digits is the decimal mark
    return mark == DecimalMark::Point ? has_point || (is_ungrouped && may_be_point)
                                      : has_comma || (is_ungrouped && may_be_comma);
  }
  // Empty if nothing shows it, or if the numbers contradict each other.
  std::optional<DecimalMark> decimal() const;
};

}  // namespace pagoda::base
#pragma GCC visibility pop
