// Boxed against std::optional: the same operations leave the same value, and copies are values of their own.
#include "pagoda/base/boxed.h"

#include <doctest/doctest.h>

#include <optional>
#include <random>
#include <string>
#include <utility>

using pagoda::base::Boxed;

namespace {

// Long enough to own memory, so that sanitizers see a value that is lost or destroyed twice.
std::string text(unsigned long i) { return "a value with a block of its own " + std::to_string(i); }

bool equal(const Boxed<std::string>& boxed, const std::optional<std::string>& plain) {
  return boxed.has_value() == plain.has_value() && (!plain || (*boxed == *plain && boxed.get() == &*boxed));
}

}  // namespace

TEST_CASE("random operations leave the value that std::optional has") {
  std::minstd_rand random(5);
  Boxed<std::string> boxed, other_boxed;
  std::optional<std::string> plain, other_plain;
  for (int step = 0; step < 5000; ++step) {
    const std::string value = text(random() % 7);
    switch (random() % 9) {
      case 0:
        boxed = value;
        plain = value;
        break;
      case 1:
        boxed.emplace(3, 'x');
        plain.emplace(3, 'x');
        break;
      case 2:
        boxed.reset();
        plain.reset();
        break;
      case 3:
        other_boxed = boxed;
        other_plain = plain;
        break;
      case 4: {
        const Boxed<std::string>& itself = boxed;
        boxed = itself;
        break;
      }
      case 5:
        if (boxed) *boxed += "!";  // a copy made before keeps its own
        if (plain) *plain += "!";
        break;
      case 6:
        std::swap(boxed, other_boxed);
        std::swap(plain, other_plain);
        break;
      case 7: {
        const Boxed<std::string> moved = std::move(boxed);
        CHECK_FALSE(boxed.has_value());  // unlike std::optional, which keeps an empty string
        boxed = moved;
        break;
      }
      default:
        CHECK((boxed == other_boxed) == (plain == other_plain));
    }
    CHECK(equal(boxed, plain));
    CHECK(equal(other_boxed, other_plain));
  }
}

TEST_CASE("it takes the space of a pointer") { static_assert(sizeof(Boxed<std::string>) == sizeof(void*)); }
