// The expected output of kernels, from closed forms and plain loops, compared lane by lane; and the inputs of kernels.
#include "cpu_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "run_checks.h"
#include "workers.h"

namespace pagoda::tools::ceilings {
namespace {

template <typename T>
void put(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Slots of 64 bytes: a, b, 14 accumulators. Values are multiples of 1/64, exact in all formats for a few steps.
template <typename T>
void fill(std::vector<char>& in, double a, double b) {
  for (std::size_t slot = 0; slot < 16; ++slot)
    for (std::size_t lane = 0; lane < 64 / sizeof(T); ++lane) {
      const double value = slot == 0 ? a : slot == 1 ? b : static_cast<double>(1 + slot + lane);
      put(in.data() + 64 * slot + lane * sizeof(T), static_cast<T>(value));
    }
}

// Constant operands of dot products and tiles: 3 and 5 as int8, or 0.5 and 3 as bfloat16.
void fill_constant(const ComputeKernel& k, char* a, char* b, std::size_t bytes) {
  const bool is_integer = k.precision == Precision::Int8;
  for (std::size_t i = 0; i < bytes; i += 2) {
    put(a + i, static_cast<std::uint16_t>(is_integer ? 0x0303 : 0x3f00));
    put(b + i, static_cast<std::uint16_t>(is_integer ? 0x0505 : 0x4040));
  }
}

// Tile configuration (palette 1, six tiles of 16 rows of 64 bytes), then a and b.
std::vector<char> tile_input(const ComputeKernel& k) {
  std::vector<char> in(64 + 2048, 0);
  in[0] = 1;
  for (std::size_t tile = 0; tile < 6; ++tile) {
    in[16 + 2 * tile] = 64;  // bytes per row
    in[48 + tile] = 16;      // rows
  }
  fill_constant(k, in.data() + 64, in.data() + 1088, 1024);
  return in;
}

// For FmaAdd kernels: with 512 bits, 7 + 7 accumulators are stored; otherwise 8 multiply, each 6 times per trip, and 6
// add, each 8 times.
bool multiplies(const ComputeKernel& k, int accumulator) { return accumulator < (k.vector_bits == 512 ? 7 : 8); }

int steps_of(const ComputeKernel& k, int accumulator) {
  const bool more = k.step == Step::FmaAdd && k.vector_bits != 512 && !multiplies(k, accumulator);
  return more ? k.steps * 4 / 3 : k.steps;
}

// Float kernels: expected value of one accumulator after n steps, computed like the instruction.
template <typename T>
T after(const ComputeKernel& k, int accumulator, T x, T a, T b, int n) {
  for (int i = 0; i < n; ++i) {
    if (k.step == Step::Accumulate) {
      x = std::fma(a, b, x);
    } else if (k.step == Step::MulAdd) {
      volatile T product = x * a;  // not fused
      x = product + b;
    } else if (k.step == Step::Subtract || (k.step == Step::FmaAdd && !multiplies(k, accumulator))) {
      x = b - x;
    } else {
      x = std::fma(a, x, b);
    }
  }
  return x;
}

template <typename T>
Verdict floats_right(const ComputeKernel& k) {
  constexpr int kTrips = 3;
  std::vector<char> in(64 * 16), out(64 * 16, 0x55);
  const T a = static_cast<T>(-0.5), b = static_cast<T>(1.25);
  fill<T>(in, static_cast<double>(a), static_cast<double>(b));
  k.run(kTrips, in.data(), out.data());
  const std::size_t lanes = k.isa == "scalar" ? 1 : static_cast<std::size_t>(k.vector_bits) / 8 / sizeof(T);
  for (int i = 0; i < k.accumulators; ++i)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const T x = value_at<T>(in.data() + 64 * (2 + i) + lane * sizeof(T));
      const T got = value_at<T>(out.data() + 64 * i + lane * sizeof(T));
      const T want = after(k, i, x, a, b, kTrips * steps_of(k, i));
      if (got != want) return mismatch(cat("accumulator ", i, " lane ", lane), got, want);
    }
  return {};
}

// Dot products and tiles: each step adds the same known sum to every 32-bit element of the result.
Verdict sums_right(const ComputeKernel& k) {
  const bool is_tile = k.step == Step::Tile, is_integer = k.precision == Precision::Int8;
  std::vector<char> in(64 * 16, 0), out(4096, 0);
  if (is_tile)
    in = tile_input(k);
  else
    fill_constant(k, in.data(), in.data() + 64, 64);
  const int trips = is_tile ? 2 : 3, rows = is_tile ? 64 : k.accumulators, lanes = is_tile ? 16 : k.vector_bits / 32;
  k.run(static_cast<std::uint64_t>(trips), in.data(), out.data());
  // Products in each sum: of a row of 64 bytes, or of 4 bytes.
  const double want = trips * k.steps * (is_tile ? 16 : 1) * (is_integer ? 4 * 15.0 : 2 * 1.5);
  for (int row = 0; row < rows; ++row)
    for (int lane = 0; lane < lanes; ++lane) {
      const char* at = out.data() + 64 * row + 4 * lane;
      const double got = is_integer ? value_at<std::int32_t>(at) : static_cast<double>(value_at<float>(at));
      if (got != want) return mismatch(is_tile ? cat("element ", 16 * row + lane) : cat("lane ", lane), got, want);
    }
  return {};
}

}  // namespace

std::vector<char> operands(const ComputeKernel& k) {
  if (k.step == Step::Tile) return tile_input(k);
  std::vector<char> in(64 * 16, 0);
  if (k.precision == Precision::Float64)
    fill<double>(in, -0.5, 1.25);
  else if (k.precision == Precision::Float32)
    fill<float>(in, -0.5, 1.25);
  else if (k.step == Step::DotInt8)
    std::generate(in.begin(), in.end(),
                  [state = 1u]() mutable { return static_cast<char>((state = state * 1664525 + 1013904223) >> 24); });
  return in;
}

Verdict right_result(const ComputeKernel& k) {
  if (k.step == Step::DotInt8 || k.step == Step::DotBfloat16 || k.step == Step::Tile) return sums_right(k);
  if (k.precision == Precision::Float64) return floats_right<double>(k);
  if (k.precision == Precision::Float32) return floats_right<float>(k);
  return {};  // half floats are not checked: C++20 has no arithmetic for them
}

Verdict right_result(const BandwidthKernel& k) {
  constexpr std::size_t kBytes = 4096;
  Buffer memory(3 * kBytes);
  auto* a = reinterpret_cast<double*>(memory.data());
  double *b = a + kBytes / 8, *c = b + kBytes / 8;
  for (std::size_t i = 0; i < kBytes / 8; ++i) {
    a[i] = static_cast<double>(i) + 0.5;
    b[i] = static_cast<double>(i) + 1;
    c[i] = 1000;
  }
  k.run(a, b, c, kBytes, kBytes / static_cast<std::uint64_t>(k.step));
  const std::string_view op = k.op.substr(0, k.op.find('_'));
  // Stores and updates use a register with an unknown value: its lanes must be the same in every vector.
  const auto lanes = static_cast<std::size_t>(k.vector_bits) / 64;
  const auto bits_of = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  for (std::size_t i = 0; i < kBytes / 8; ++i) {
    const double before = static_cast<double>(i) + 0.5, first = static_cast<double>(i % lanes) + 0.5;
    std::uint64_t want = bits_of(before);  // a load changes nothing
    if (op == "copy") want = bits_of(b[i]);
    if (op == "triad") want = bits_of(b[i] + c[i]);
    if (op == "store") want = bits_of(a[i % lanes]);
    if (op == "update") want = bits_of(before) ^ bits_of(a[i % lanes]) ^ bits_of(first);
    if (bits_of(a[i]) != want) return mismatch(cat("element ", i), a[i], std::bit_cast<double>(want));
  }
  return {};
}

}  // namespace pagoda::tools::ceilings
