// SmallVector against std::vector: the same operations give the same elements, in the list itself and in a block.
#include "pagoda/base/small_vector.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using pagoda::base::SmallVector;

namespace {

// Long enough to own memory, so that sanitizers see each element that is lost or destroyed twice.
std::string text(unsigned long i) { return "an element with a block of its own " + std::to_string(i); }

template <typename A, typename B>
bool equal(const A& a, const B& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

TEST_CASE("random operations leave the elements that std::vector has") {
  std::minstd_rand random(3);
  for (int round = 0; round < 300; ++round) {
    SmallVector<std::string, 2> small;
    std::vector<std::string> plain;
    for (int step = 0; step < 40; ++step) {
      const std::size_t place = plain.empty() ? 0 : random() % plain.size();
      switch (random() % 10) {
        case 0:
        case 1:
          small.push_back(text(random() % 5));
          plain.push_back(small.back());
          break;
        case 2:
          if (plain.empty()) break;
          small.push_back(small[place]);  // an element of the list itself
          plain.push_back(std::string(plain[place]));
          break;
        case 3:
          small.insert(small.begin() + place, text(9));
          plain.insert(plain.begin() + static_cast<std::ptrdiff_t>(place), text(9));
          break;
        case 4:
          small.erase(small.begin() + place, small.end());
          plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(place), plain.end());
          break;
        case 5: {
          SmallVector<std::string, 2> moved = std::move(small);
          small = std::move(moved);
          break;
        }
        case 6: {
          const SmallVector<std::string, 2> copy = small;
          small.clear();
          small = copy;
          break;
        }
        case 7:
          small.resize(place + 1, text(4));
          plain.resize(place + 1, text(4));
          break;
        case 8:
          if (plain.empty()) break;
          small.pop_back();
          plain.pop_back();
          break;
        default:
          small.assign(plain.begin(), plain.end());
      }
      CAPTURE(round);
      REQUIRE(equal(small, plain));
    }
  }
}

TEST_CASE("a list that was moved from is empty and can be filled again") {
  for (const std::size_t size : {0, 1, 2, 3, 9}) {
    SmallVector<std::string, 2> from;
    for (std::size_t i = 0; i < size; ++i) from.push_back(text(i));
    const SmallVector<std::string, 2> to = std::move(from);
    CHECK(to.size() == size);
    CHECK(from.empty());
    from.push_back("again");
    CHECK(from == SmallVector<std::string, 2>{"again"});
  }
}
