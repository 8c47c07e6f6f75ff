// Names of enumerations in both directions.
#include "pagoda/base/enum_names.h"

#include <doctest/doctest.h>

namespace {
enum class Level { Low, Middle, High };
constexpr pagoda::base::EnumNames<Level::High> kLevels("low", "middle", "high");
}  // namespace

TEST_CASE("a name and its value stand for each other, and other texts and numbers for nothing") {
  for (const Level level : {Level::Low, Level::Middle, Level::High}) CHECK(kLevels.value(kLevels[level]) == level);
  CHECK(kLevels[Level::Middle] == "middle");
  CHECK_FALSE(kLevels.value("Middle").has_value());
  CHECK(kLevels[static_cast<Level>(3)].empty());
  CHECK(kLevels.all().size() == 3);
}
