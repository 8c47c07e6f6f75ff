// One way to build a message: its pieces in order, numbers as decimals.
//
//   throw Error(cat("level ", 9, ": found ", "L9", ", expected L1 to L3"));
//   fail("gpu.json", cat("has no level ", 9));  // throws Error, too: "gpu.json: has no level 9"
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "pagoda/base/error.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

// A text, a character or an integer, as characters.
class Piece {
 public:
  template <typename Text>
  requires std::convertible_to<const Text&, std::string_view> Piece(const Text& text) : text_(text) {}
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) Piece(Number number) {
    if constexpr (std::same_as<Number, char>)
      text_ = {&(digits_[0] = number), 1};
    else
      text_ = {digits_.data(), std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr};
  }
  Piece(const Piece&) = delete;  // text_ points into it
  Piece& operator=(const Piece&) = delete;

  std::string_view text() const { return text_; }

 private:
  std::array<char, 24> digits_;
  std::string_view text_;
};

std::string concatenated(std::initializer_list<std::string_view> pieces);

template <typename... Pieces>
std::string cat(const Pieces&... pieces) {
  return concatenated({Piece(pieces).text()...});
}

// Throws Error: "subject: what".
[[noreturn]] void fail(std::string_view subject, const std::string& what);

// A field of the request, as messages name it: "`batch`", or with a value "`traffic=resident`", "`dims=N=8`". Each
// front end spells it in its way: present/spell.h. Backquotes of the value are doubled.
std::string field(std::string_view name, const Piece& value = std::string_view());

}  // namespace pagoda::base

namespace pagoda {
using base::cat;
}  // namespace pagoda
#pragma GCC visibility pop
