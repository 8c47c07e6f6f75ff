// The expected output of kernels, from closed forms and plain loops, compared lane by lane; and the inputs of kernels.
#include "cpu_verify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "workers.h"

namespace pagoda::tools::ceilings {
namespace {

// Slots of 64 bytes: a, b, 14 accumulators. Values are multiples of 1/64, exact in all formats for a few steps.
template <typename T>
void fill(std::vector<char>& in, double a, double b) {
  const auto set = [&](std::size_t slot, double value, bool vary) {
    for (std::size_t lane = 0; lane < 64 / sizeof(T); ++lane) {
      const T x = static_cast<T>(vary ? value + static_cast<double>(lane) : value);
      std::memcpy(in.data() + 64 * slot + lane * sizeof(T), &x, sizeof(T));
    }
  };
  set(0, a, false);
  set(1, b, false);
  for (std::size_t i = 0; i < 14; ++i) set(2 + i, 3 + static_cast<double>(i), true);
}

// Tile configuration (palette 1, six tiles of 16 rows of 64 bytes), then a and b.
std::vector<char> tile_input(const ComputeKernel& k) {
  std::vector<char> in(64 + 2048, 0);
  in[0] = 1;
  for (int tile = 0; tile < 6; ++tile) {
    in[static_cast<std::size_t>(16 + 2 * tile)] = 64;  // bytes per row
    in[static_cast<std::size_t>(48 + tile)] = 16;      // rows
  }
  if (k.precision == Precision::Int8) {
    std::memset(in.data() + 64, 3, 1024);
    std::memset(in.data() + 1088, 5, 1024);
  } else {
    for (std::size_t i = 0; i < 512; ++i) {
      const std::uint16_t a = 0x3f00, b = 0x4040;
      std::memcpy(in.data() + 64 + 2 * i, &a, 2);
      std::memcpy(in.data() + 1088 + 2 * i, &b, 2);
    }
  }
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
  for (int i = 0; i < n; ++i) switch (k.step) {
      case Step::Fma:
        x = std::fma(a, x, b);
        break;
      case Step::Subtract:
        x = b - x;
        break;
      case Step::MulAdd: {
        volatile T product = x * a;  // not fused
        x = product + b;
        break;
      }
      case Step::FmaAdd:
        x = multiplies(k, accumulator) ? std::fma(a, x, b) : b - x;
        break;
      case Step::Accumulate:
        x = std::fma(a, b, x);
        break;
      case Step::DotInt8:
      case Step::DotBfloat16:
      case Step::Tile:
        break;
    }
  return x;
}

template <typename T>
bool floats_right(const ComputeKernel& k, std::string& detail) {
  constexpr int kTrips = 3;
  std::vector<char> in(64 * 16), out(64 * 16, 0x55);
  const T a = static_cast<T>(-0.5), b = static_cast<T>(1.25);
  fill<T>(in, static_cast<double>(a), static_cast<double>(b));
  k.run(kTrips, in.data(), out.data());
  const std::size_t lanes = k.isa == "scalar" ? 1 : static_cast<std::size_t>(k.vector_bits) / 8 / sizeof(T);
  for (int i = 0; i < k.accumulators; ++i)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      T x, got;
      std::memcpy(&x, in.data() + 64 * (2 + i) + lane * sizeof(T), sizeof(T));
      std::memcpy(&got, out.data() + 64 * i + lane * sizeof(T), sizeof(T));
      const T want = after(k, i, x, a, b, kTrips * steps_of(k, i));
      if (got != want) {
        detail = "accumulator " + std::to_string(i) + " lane " + std::to_string(lane) + " is " +
                 std::to_string(static_cast<double>(got)) + ", must be " + std::to_string(static_cast<double>(want));
        return false;
      }
    }
  return true;
}

// Dot products: each step adds the same known sum to every 32-bit lane.
bool dots_right(const ComputeKernel& k, std::string& detail) {
  constexpr int kTrips = 3;
  std::vector<char> in(64 * 16, 0), out(64 * 16, 0);
  double gain = 0;
  if (k.step == Step::DotInt8) {
    std::memset(in.data(), 3, 64);
    std::memset(in.data() + 64, 5, 64);
    gain = 4 * 3 * 5;
  } else {
    for (std::size_t i = 0; i < 32; ++i) {
      const std::uint16_t a = 0x3f00, b = 0x4040;  // 0.5 and 3 in bfloat16
      std::memcpy(in.data() + 2 * i, &a, 2);
      std::memcpy(in.data() + 64 + 2 * i, &b, 2);
    }
    gain = 2 * 0.5 * 3;
  }
  k.run(kTrips, in.data(), out.data());
  for (int i = 0; i < k.accumulators; ++i)
    for (int lane = 0; lane < k.vector_bits / 32; ++lane) {
      const char* at = out.data() + 64 * i + 4 * lane;
      double got = 0;
      if (k.step == Step::DotInt8) {
        std::int32_t value;
        std::memcpy(&value, at, 4);
        got = value;
      } else {
        float value;
        std::memcpy(&value, at, 4);
        got = static_cast<double>(value);
      }
      if (got != gain * kTrips * k.steps) {
        detail = "lane " + std::to_string(lane) + " is " + std::to_string(got) + ", must be " +
                 std::to_string(gain * kTrips * k.steps);
        return false;
      }
    }
  return true;
}

bool tiles_right(const ComputeKernel& k, std::string& detail) {
  const std::vector<char> in = tile_input(k);
  std::vector<char> out(4096, 0);
  k.run(2, in.data(), out.data());
  const bool bytes = k.precision == Precision::Int8;
  const double want = 2 * k.steps * (bytes ? 64 * 15.0 : 32 * 1.5);
  for (std::size_t i = 0; i < 1024; ++i) {
    std::int32_t integer;
    float real;
    std::memcpy(&integer, out.data() + 4 * i, 4);
    std::memcpy(&real, out.data() + 4 * i, 4);
    const double got = bytes ? integer : static_cast<double>(real);
    if (got != want) {
      detail = "element " + std::to_string(i) + " is " + std::to_string(got) + ", must be " + std::to_string(want);
      return false;
    }
  }
  return true;
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

bool right_result(const ComputeKernel& k, std::string& detail) {
  switch (k.step) {
    case Step::DotInt8:
    case Step::DotBfloat16:
      return dots_right(k, detail);
    case Step::Tile:
      return tiles_right(k, detail);
    case Step::Fma:
    case Step::Subtract:
    case Step::MulAdd:
    case Step::FmaAdd:
    case Step::Accumulate:
      break;
  }
  if (k.precision == Precision::Float64) return floats_right<double>(k, detail);
  if (k.precision == Precision::Float32) return floats_right<float>(k, detail);
  return true;  // half floats are not checked: C++20 has no arithmetic for them
}

bool right_result(const BandwidthKernel& k, std::string& detail) {
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
    if (bits_of(a[i]) != want) {
      detail = "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", must be " +
               std::to_string(std::bit_cast<double>(want));
      return false;
    }
  }
  return true;
}

}  // namespace pagoda::tools::ceilings
