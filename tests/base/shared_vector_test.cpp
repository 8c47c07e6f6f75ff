// SharedVector against std::vector: the same operations give the same elements, and leave those of its copies alone.
#include "pagoda/base/shared_vector.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

using pagoda::base::SharedVector;

namespace {

// Long enough to own memory, so that sanitizers see each element that is lost or destroyed twice.
std::string text(unsigned long i) { return "an element with a block of its own " + std::to_string(i); }

// Applies one random operation to both lists.
void change(SharedVector<std::string>& shared, std::vector<std::string>& plain, std::minstd_rand& random) {
  const std::size_t place = plain.empty() ? 0 : random() % plain.size();
  const auto at = plain.begin() + static_cast<std::ptrdiff_t>(place);
  const std::string item = text(random() % 5);
  switch (random() % 10) {
    case 0:
      shared.push_back(item);
      plain.push_back(item);
      break;
    case 1:
      if (plain.empty()) break;
      shared.push_back(std::as_const(shared)[place]);  // an element of the list itself
      plain.push_back(std::string(*at));
      break;
    case 2:
      shared.insert(std::as_const(shared).begin() + place, item);
      plain.insert(at, item);
      break;
    case 3: {
      const std::vector<std::string> items = {text(7), text(8), text(9)};
      shared.insert(std::as_const(shared).begin() + place, items.begin(), items.end());
      plain.insert(at, items.begin(), items.end());
      break;
    }
    case 4:
      shared.erase(std::as_const(shared).begin() + place, std::as_const(shared).end());
      plain.erase(at, plain.end());
      break;
    case 5:
      if (plain.empty()) break;
      shared.erase(std::as_const(shared).begin() + place);
      plain.erase(at);
      break;
    case 6:
      if (plain.empty()) break;
      shared[place] = item;
      *at = item;
      break;
    case 7:
      if (plain.empty()) break;
      shared.pop_back();
      plain.pop_back();
      break;
    case 8:
      shared.resize(place + 3, item);
      plain.resize(place + 3, item);
      break;
    default:
      for (std::string& each : shared) each += "+";
      for (std::string& each : plain) each += "+";
  }
}

bool equal(const SharedVector<std::string>& a, const std::vector<std::string>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

TEST_CASE("random operations leave the elements that std::vector has, here and in copies") {
  std::minstd_rand random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<SharedVector<std::string>> shared(3);
    std::vector<std::vector<std::string>> plain(3);
    for (int step = 0; step < 60; ++step) {
      const std::size_t one = random() % 3, other = random() % 3;
      switch (random() % 6) {
        case 0:
          shared[one] = std::as_const(shared[other]);
          plain[one] = std::as_const(plain[other]);
          break;
        case 1:
          if (one == other) break;
          shared[one] = std::move(shared[other]);
          shared[other].clear();
          plain[one] = std::exchange(plain[other], {});
          break;
        default:
          change(shared[one], plain[one], random);
      }
      for (std::size_t i = 0; i < plain.size(); ++i) {
        REQUIRE(equal(shared[i], plain[i]));
        REQUIRE(shared[i].size() == plain[i].size());
        REQUIRE((shared[i] == shared[one]) == (plain[i] == plain[one]));
      }
    }
  }
}

TEST_CASE("copies share their elements until one is written to") {
  SharedVector<int> sizes = {1, 3, 224, 224};
  const SharedVector<int> same = sizes;
  CHECK(std::as_const(sizes).data() == same.data());
  sizes[0] = 8;
  CHECK(std::as_const(sizes).data() != same.data());
  CHECK(same[0] == 1);
  CHECK(sizes[0] == 8);
  static_assert(sizeof(sizes) == sizeof(void*));
}

TEST_CASE("a list that nobody else holds is written in place") {
  SharedVector<int> sizes(2, 5);
  const int* const before = std::as_const(sizes).data();
  { const SharedVector<int> gone = sizes; }
  sizes[1] = 6;
  CHECK(std::as_const(sizes).data() == before);
  CHECK(sizes == SharedVector<int>{5, 6});
}

TEST_CASE("an empty list has no block") {
  SharedVector<int> none;
  CHECK(none.empty());
  CHECK(none == SharedVector<int>());
  CHECK(none.begin() == none.end());
  const std::vector<int> nothing;
  none.insert(none.begin(), nothing.begin(), nothing.end());
  none.assign(nothing.begin(), nothing.end());
  CHECK(std::as_const(none).data() == nullptr);
}
