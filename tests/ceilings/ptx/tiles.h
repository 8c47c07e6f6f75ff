// What the tensor instructions share: operand formats, tiles in shared memory as descriptors describe them, products.
#pragma once

#include <algorithm>

#include "formats.h"
#include "machine.h"

namespace ptx {

// An operand format: the bits of an element and its value. Values are exact in double precision.
struct Elements {
  const char* name;
  int bits;
  double (*value)(std::uint64_t);
};
inline constexpr Elements kElements[] = {
    {"f16", 16, [](std::uint64_t x) { return decode(x & 0xffff, kHalf); }},
    {"bf16", 16, [](std::uint64_t x) { return decode(x & 0xffff, kBrain); }},
    // The low 13 bits of a word are ignored.
    {"tf32", 32, [](std::uint64_t x) { return decode(x & 0xffffe000, kSingle); }},
    {"e4m3", 8, [](std::uint64_t x) { return decode(x & 0xff, kE4m3); }},
    {"e2m1", 4, [](std::uint64_t x) { return decode(x & 0xf, kE2m1); }},
    {"s8", 8, [](std::uint64_t x) { return static_cast<double>(static_cast<std::int8_t>(x)); }},
    {"f64", 64, [](std::uint64_t x) { return std::bit_cast<double>(x); }},
};
inline const Elements* elements_of(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kElements), std::end(kElements), [&](const Elements& e) { return name == e.name; });
  return found == std::end(kElements) ? nullptr : found;
}

// Accumulators: float32 and float64 are rounded once per product, int32 wraps around.
inline double accumulator(std::uint64_t bits, std::string_view type) {
  if (type == "f64") return std::bit_cast<double>(bits);
  if (type == "s32") return static_cast<double>(static_cast<std::int32_t>(bits));
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}
inline std::uint64_t accumulated(double sum, std::string_view type) {
  if (type == "f64") return std::bit_cast<std::uint64_t>(sum);
  if (type == "s32") return static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));
  return std::bit_cast<std::uint32_t>(static_cast<float>(sum));
}

// Rows × depth of an operand, stored by depth: the elements of one depth are adjacent.
struct Tile {
  int rows, depth;
  std::vector<double> values;
  Tile(int r, int d) : rows(r), depth(d), values(static_cast<std::size_t>(r * d)) {}
  double& at(int row, int k) { return values[static_cast<std::size_t>(k * rows + row)]; }
};

// sum[row][column] += a · b; `sum` has a.rows rows of b.rows elements.
inline void multiply(const Tile& a, const Tile& b, std::vector<double>& sum) {
  for (int row = 0; row < a.rows; ++row) {
    double* const to = sum.data() + row * b.rows;
    for (int k = 0; k < a.depth; ++k) {
      const double x = a.values[static_cast<std::size_t>(k * a.rows + row)];
      const double* const y = b.values.data() + k * b.rows;
      if (x != 0)
        for (int n = 0; n < b.rows; ++n) to[n] += x * y[n];
    }
  }
}

// Rows of a K-major operand with the 128-byte swizzle: groups of 8 rows a stride apart, rows of 128 bytes, and bits 4-6
// of an address exclusive-or'ed with its bits 7-9. Reads `bytes` bytes of depth from the start, all within the row.
inline Tile tile_of(Step& s, std::uint64_t start, std::uint64_t stride, int first_row, int rows, const Elements& e,
                    int bytes = 32) {
  if (start % 1024 >= 128) s.fault("a descriptor's start inside of a swizzled group needs a base offset");
  if (stride == 0 || stride % 1024 != 0) s.fault("groups of swizzled rows must lie multiples of 1024 bytes apart");
  if (start % 128 + static_cast<std::uint64_t>(bytes) > 128) s.fault("depth beyond a swizzled row");
  Tile tile(rows, 8 * bytes / e.bits);
  for (int row = 0; row < rows; ++row)
    for (int chunk = 0; 16 * chunk < bytes; ++chunk) {
      const auto r = static_cast<std::uint64_t>(first_row + row);
      std::uint64_t at = start + r / 8 * stride + r % 8 * 128 + static_cast<std::uint64_t>(16 * chunk);
      at ^= (at >> 7 & 7) << 4;
      const std::byte* const from = s.shared_by_proxy(at, 16);
      const int count = 128 / e.bits;
      for (int i = 0; i < count; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, from + i * e.bits / 8, static_cast<std::size_t>(std::max(e.bits / 8, 1)));
        tile.at(row, chunk * count + i) = e.value(e.bits == 4 ? word >> i % 2 * 4 : word);
      }
    }
  return tile;
}

inline std::vector<std::string> words_of(const std::string& mnemonic) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= mnemonic.size();) {
    const std::size_t dot = std::min(mnemonic.find('.', at), mnemonic.size());
    words.push_back(mnemonic.substr(at, dot - at));
    at = dot + 1;
  }
  return words;
}

}  // namespace ptx
