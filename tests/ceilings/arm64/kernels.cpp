// The AArch64 kernels of ert-ceilings, each called once: results against closed forms, machine code
// against what it claims, and one line per kernel with the work that it is credited with. Built for
// AArch64 by run.sh and run by an emulator.
//   kernels [wrong]     `wrong`: every kernel does one trip more than credited, so each must be reported
#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "code_audit.h"
#include "cpu_kernels.h"

namespace {

using namespace pagoda::tools::ceilings;

constexpr std::uint64_t kTrips = 3;
constexpr std::size_t kSlot = 64, kSlots = 16, kArray = 4096;
int objections = 0;
std::uint64_t more = 0;  // trips beyond the credited ones

void object(std::string_view kernel, const std::string& why) {
  std::printf("WRONG %.*s: %s\n", static_cast<int>(kernel.size()), kernel.data(), why.c_str());
  ++objections;
}

template <typename T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T>
void store(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// bfloat16 is the upper half of a float; the numbers used here need no more bits.
std::uint16_t bfloat(float x) {
  return static_cast<std::uint16_t>(load<std::uint32_t>(reinterpret_cast<char*>(&x)) >> 16);
}

// x + n·a·b in every lane. a·b = -5/8 and x < 64 in steps of 1/8, which is exact in float16, too.
template <typename T>
void check_sums(const ComputeKernel& k) {
  alignas(64) std::array<char, kSlot * kSlots> in{}, out{};
  constexpr std::size_t kLanes = kSlot / sizeof(T);
  const auto start = [](std::size_t slot, std::size_t lane) { return 3.0 + static_cast<double>(slot + lane); };
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      store(in.data() + kSlot * slot + lane * sizeof(T), static_cast<T>(slot == 0   ? -0.5
                                                                        : slot == 1 ? 1.25
                                                                                    : start(slot, lane)));
  k.run(kTrips + more, in.data(), out.data());
  const std::size_t lanes = k.isa == "scalar" ? 1 : static_cast<std::size_t>(k.vector_bits) / 8 / sizeof(T);
  const double sum = static_cast<double>(kTrips) * k.steps * (-0.5 * 1.25);
  for (std::size_t i = 0; i < static_cast<std::size_t>(k.accumulators); ++i)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto got = static_cast<double>(load<T>(out.data() + kSlot * i + lane * sizeof(T)));
      if (got == start(2 + i, lane) + sum) continue;
      return object(k.name, "accumulator " + std::to_string(i) + " lane " + std::to_string(lane) + " is " +
                                std::to_string(got) + ", must be " + std::to_string(start(2 + i, lane) + sum));
    }
}

// At each step, every 32-bit lane gains Σ a·b of its own operands; a is signed.
void check_dots(const ComputeKernel& k) {
  alignas(64) std::array<char, kSlot * kSlots> in{}, out{};
  const bool bytes = k.step == Step::DotInt8;
  const std::size_t each = bytes ? 4 : 2;  // products per lane
  const auto a = [&](std::size_t i) { return static_cast<double>(static_cast<int>(i % 13) - 6); };
  const auto b = [&](std::size_t i) { return static_cast<double>(i % 7 + 1); };
  for (std::size_t i = 0; i < 16 / (4 / each); ++i)
    if (bytes) {
      store(in.data() + i, static_cast<signed char>(a(i)));
      store(in.data() + kSlot + i, static_cast<signed char>(b(i)));
    } else {
      store(in.data() + 2 * i, bfloat(static_cast<float>(a(i))));
      store(in.data() + kSlot + 2 * i, bfloat(static_cast<float>(b(i))));
    }
  k.run(kTrips + more, in.data(), out.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(k.accumulators); ++i)
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(k.vector_bits) / 32; ++lane) {
      const char* at = out.data() + kSlot * i + 4 * lane;
      const double got = bytes ? load<std::int32_t>(at) : static_cast<double>(load<float>(at));
      double gain = 0;
      for (std::size_t j = each * lane; j < each * (lane + 1); ++j) gain += a(j) * b(j);
      const double want = gain * static_cast<double>(kTrips) * k.steps;
      if (got == want) continue;
      return object(
          k.name, "lane " + std::to_string(lane) + " is " + std::to_string(got) + ", must be " + std::to_string(want));
    }
}

// An array with an inaccessible page before and after it.
double* guarded() {
  auto* pages = static_cast<char*>(mmap(nullptr, 3 * kArray, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (pages == MAP_FAILED || mprotect(pages + kArray, kArray, PROT_READ | PROT_WRITE) != 0) std::abort();
  return reinterpret_cast<double*>(pages + kArray);
}

// Two passes over the arrays: copies and sums must be complete, loads change
// nothing, stores repeat one vector everywhere.
std::uint64_t check_moves(const BandwidthKernel& k) {
  double *a = guarded(), *b = guarded(), *c = guarded();
  for (std::size_t i = 0; i < kArray / 8; ++i) {
    a[i] = static_cast<double>(i) + 0.5;
    b[i] = static_cast<double>(i) + 1;
    c[i] = 1000;
  }
  const std::uint64_t trips = 2 * kArray / static_cast<std::uint64_t>(k.step);
  k.run(a, b, c, kArray, trips + more);
  const std::string_view op = k.op.substr(0, k.op.find('_'));
  const auto lanes = static_cast<std::size_t>(k.vector_bits) / 64;
  for (std::size_t i = 0; i < kArray / 8; ++i) {
    const double want = op == "copy"    ? static_cast<double>(i) + 1
                        : op == "triad" ? static_cast<double>(i) + 1001
                        : op == "store" ? a[i % lanes]
                                        : static_cast<double>(i) + 0.5;
    if (std::memcmp(&a[i], &want, sizeof want) == 0) continue;
    object(k.name,
           "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", must be " + std::to_string(want));
    break;
  }
  for (std::size_t i = 0; i < kArray / 8; ++i)
    if (b[i] != static_cast<double>(i) + 1 || c[i] != 1000) {
      object(k.name, "an array that is only read has changed");
      break;
    }
  return trips;
}

}  // namespace

int main(int count, char** arguments) {
  more = count > 1 && std::string_view(arguments[1]) == "wrong" ? 1 : 0;
  const auto name = [](std::string_view text) { return std::string(text); };
  for (const ComputeKernel& k : compute_kernels()) {
    // For a vector length that the kernels do not support, the feature has a name that no CPU reports.
    if (k.feature.find(' ') != std::string_view::npos) {
      std::printf("refused %s\n", name(k.name).c_str());
      continue;
    }
    if (const std::string wrong = objection(audit(k.name), k.instruction, k.instructions, 2); !wrong.empty())
      object(k.name, wrong);
    if (k.step != Step::Accumulate)
      check_dots(k);
    else if (k.precision == pagoda::Precision::Float64)
      check_sums<double>(k);
    else if (k.precision == pagoda::Precision::Float32)
      check_sums<float>(k);
    else
      check_sums<__fp16>(k);
    std::printf("kernel %s %d work %lld\n", name(k.name).c_str(), k.vector_bits,
                static_cast<long long>(k.work * static_cast<std::int64_t>(kTrips)));
  }
  for (const BandwidthKernel& k : bandwidth_kernels()) {
    if (k.feature.find(' ') != std::string_view::npos) {
      std::printf("refused %s\n", name(k.name).c_str());
      continue;
    }
    if (const std::string wrong = objection(audit(k.name), k.instruction, k.instructions, 8); !wrong.empty())
      object(k.name, wrong);
    const std::uint64_t trips = check_moves(k);
    std::printf("kernel %s %d bytes %lld\n", name(k.name).c_str(), k.vector_bits,
                static_cast<long long>(k.step * k.moved * static_cast<std::int64_t>(trips)));
  }
  for (const ChainKernel& k : chain_kernels()) {
    if (const std::uint64_t sum = k.run(kTrips + more); sum != kTrips * kChainClocks)
      object("pagoda_chain", std::to_string(sum) + " additions, must be " + std::to_string(kTrips * kChainClocks));
    std::printf("kernel pagoda_chain 64 clocks %lld\n", static_cast<long long>(kTrips * kChainClocks));
  }
  std::fflush(stdout);
  return objections == 0 ? 0 : 1;
}
