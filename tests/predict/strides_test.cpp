// Which reshapes are views, and what layout element-wise kernels leave behind.
#include "predict/strides.h"

#include <doctest/doctest.h>

#include <string>

#include "support/sometimes.h"

using namespace pagoda;

TEST_CASE("a reshape is a view exactly where memory allows it") {
  struct Case {
    const char* why;
    Sizes sizes;
    Strides strides;
    Sizes wanted;
    std::optional<Strides> expected;
  };
  const Case cases[] = {
      {"row-major axes merge", {2, 3, 4}, {12, 4, 1}, {6, 4}, Strides{4, 1}},
      {"and split", {6, 4}, {4, 1}, {2, 3, 2, 2}, Strides{12, 4, 2, 1}},
      {"transposed axes do not merge", {2, 4, 3}, {12, 1, 4}, {2, 12}, std::nullopt},
      {"but a transposed axis splits", {2, 4, 3}, {12, 1, 4}, {2, 2, 2, 3}, Strides{12, 2, 1, 4}},
      {"the image of channels-last tokens", {2, 6, 5}, {30, 1, 6}, {2, 6, 1, 5}, Strides{30, 1, 30, 6}},
      {"heads out of a slice of a projection", {2, 5, 8}, {120, 24, 1}, {2, 5, 2, 4}, Strides{120, 24, 4, 1}},
      {"a slice has gaps between rows", {2, 5, 8}, {120, 24, 1}, {2, 40}, std::nullopt},
      {"a repeated axis stays repeated", {3, 4}, {0, 1}, {3, 2, 2}, Strides{0, 2, 1}},
      {"and merges with no other", {3, 4}, {0, 1}, {12}, std::nullopt},
      {"axes of size 1 come and go", {1, 4, 1}, {7, 1, 9}, {4}, Strides{1}},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.why));
    const auto got = view_as(c.sizes, c.strides, c.wanted);
    REQUIRE(got.has_value() == c.expected.has_value());
    if (!got) continue;
    test::Sometimes has_stride("a stride that matters");
    for (std::size_t i = 0; i < c.wanted.size(); ++i)
      if (has_stride(c.wanted[i] != 1)) CHECK((*got)[i] == (*c.expected)[i]);
  }
}

TEST_CASE("channels last is told by the order of strides, gaps or not") {
  CHECK(is_channels_last({2, 3, 4, 5}, channels_last(Sizes{2, 3, 4, 5})));
  CHECK(is_channels_last({2, 3, 4, 5}, {120, 1, 30, 6}));  // half of the channels of a wider tensor
  CHECK_FALSE(is_channels_last({2, 3, 4, 5}, contiguous(Sizes{2, 3, 4, 5})));
  CHECK_FALSE(is_channels_last({2, 3, 1, 1}, {3, 1, 1, 1}));  // both orders fit: row-major
  CHECK_FALSE(is_channels_last({2, 3, 4, 5}, {0, 1, 15, 3}));
  CHECK(is_dense({2, 3, 4, 5}, channels_last(Sizes{2, 3, 4, 5})));
  CHECK_FALSE(is_dense({2, 3, 4, 5}, {120, 1, 30, 6}));
}

TEST_CASE("an element-wise result takes the order of axes of its first operand that has one") {
  const Sizes sizes = {2, 3, 4};
  const Strides transposed = {12, 1, 3}, repeated = {0, 0, 1};
  CHECK(strides_like(sizes, std::vector<Strides>{transposed, contiguous(sizes)}) == transposed);
  CHECK(strides_like(sizes, std::vector<Strides>{repeated, transposed}) == transposed);
  CHECK(strides_like(sizes, std::vector<Strides>{{24, 1, 6}}) == transposed);  // gaps are closed
  CHECK(same_inner_axis(sizes, transposed, transposed));
  CHECK_FALSE(same_inner_axis(sizes, transposed, contiguous(sizes)));
}
