// Name against std::string: it reads as the text it was made of, however it was made, copied and joined.
#include "pagoda/base/name.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using pagoda::base::Name;
using pagoda::base::NameArena;

namespace {

struct Named {
  Name name;
  std::string text;
};

bool is_same(const Named& each) {
  return each.name == each.text && each.name.view() == each.text && each.name.c_str() == each.text &&
         each.name.size() == each.text.size() && each.name.empty() == each.text.empty() &&
         std::string(each.name) == each.text;
}

}  // namespace

TEST_CASE("names keep their text when others and their arena are gone") {
  std::minstd_rand random(7);
  std::vector<Named> kept;
  for (int round = 0; round < 20; ++round) {
    NameArena arena;
    for (int i = 0; i < 2000; ++i) {
      // Now and then a text longer than an arena's block.
      const std::size_t size = random() % 500 == 0 ? 100'000 : random() % 40;
      const std::string text(size, static_cast<char>('a' + random() % 26));
      const Name name = random() % 3 == 0 ? arena.shared(text) : random() % 3 == 0 ? Name(text) : arena.add(text);
      if (random() % 4 == 0) kept.push_back({name, text});
      if (!kept.empty() && random() % 5 == 0) kept.erase(kept.begin() + static_cast<long>(random() % kept.size()));
      if (kept.size() > 1 && random() % 5 == 0) kept.front() = kept[random() % kept.size()];
    }
  }
  REQUIRE(kept.size() > 1000);
  for (const Named& each : kept) CHECK(is_same(each));
}

TEST_CASE("an arena shares the texts that repeat") {
  NameArena arena;
  const Name first = arena.shared("MatMul"), again = arena.shared("MatMul"), other = arena.add("MatMul");
  CHECK(first.c_str() == again.c_str());
  CHECK(first.c_str() != other.c_str());
  CHECK(first == other);
}

TEST_CASE("a name compares and joins as its text does") {
  const Name a = "a", b = std::string("b");
  CHECK(a != b);
  CHECK(a < b);
  CHECK(Name() == "");
  CHECK(Name("").empty());
  CHECK(a + b == "ab");
  CHECK(a + "x" == "ax");
  CHECK("x" + a == "xa");
  CHECK(std::string("s") + a + std::string("t") == "sat");
  CHECK(a.starts_with("a"));
  CHECK(Name("layer0/Relu").find("/") == 6);
  CHECK(std::string_view(Name(std::string_view("nul\0nul", 7)).view()).size() == 7);
}
