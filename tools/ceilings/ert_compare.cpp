// Compares our roof with ERT's kernel at every level and intensity that it supports, in pairs: both run on the same
// pages, within milliseconds of each other and in random order, so that clocks and other processes favour neither.
#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "cpu_run.h"
#include "pagoda/base/statistics.h"

namespace pagoda::tools::ceilings {
namespace {

// Working sets are a multiple of this, so that they divide into 1, 2 or 3 arrays of whole kilobytes.
constexpr std::uint64_t kGrain = 6 * 1024;
constexpr double kBytesPerElement = 16;  // ERT's traffic: read and written

// The memory of a level on every worker.
struct Memory {
  std::uint64_t bytes;  // of each worker
  std::vector<Buffer> buffers;
  std::uint64_t next = 0;  // offset of the next part
};

// Work to time, on a part of a working set or without memory.
struct Contender {
  std::string name;
  double work = 0;  // per byte of the working set; per pass if it needs no memory
  std::function<void(char* memory, std::uint64_t bytes, std::uint64_t passes)> run;
  bool needs_memory = true;
  double seconds_per_byte = 0;  // last measured; per pass if it needs no memory
};

// Rate of all workers together over about `slice` seconds: passes over the whole working set if these are short, else
// over its next part. Parts rotate, so that each is used again only after all others.
double rate(Contender& c, Workers& workers, Memory& memory, double slice) {
  std::uint64_t bytes = c.needs_memory ? memory.bytes : 1, passes = 1;
  if (c.seconds_per_byte <= 0) {
    if (c.needs_memory) bytes = std::min(bytes, 40 * kGrain);
  } else {
    const auto fitting = static_cast<std::uint64_t>(slice / c.seconds_per_byte);
    if (fitting >= bytes)
      passes = fitting / bytes;
    else if (c.needs_memory)
      bytes = std::max<std::uint64_t>(1, fitting / kGrain) * kGrain;
  }
  if (memory.next + bytes > memory.bytes) memory.next = 0;
  const std::uint64_t from = c.needs_memory ? memory.next : 0;
  if (c.needs_memory) memory.next += bytes;
  const double amount = static_cast<double>(bytes) * static_cast<double>(passes) * static_cast<double>(workers.size());
  const Sample s =
      workers.sample([&](std::size_t worker) { c.run(memory.buffers[worker].data() + from, bytes, passes); },
                     amount * c.work, nullptr);
  c.seconds_per_byte = s.seconds / (static_cast<double>(bytes) * static_cast<double>(passes));
  return s.rate;
}

Contender traffic(const BandwidthKernel& k) {
  return {std::string(k.name), static_cast<double>(k.moved) / k.arrays,
          [&k](char* memory, std::uint64_t bytes, std::uint64_t passes) {
            const std::uint64_t each = bytes / static_cast<std::uint64_t>(k.arrays);
            run_on(k, memory, each, passes * (each / static_cast<std::uint64_t>(k.step)));
          }};
}

Contender arithmetic(const ComputeKernel& k) {
  return {std::string(k.name), static_cast<double>(k.work),
          [&k, in = operands(k)](char*, std::uint64_t, std::uint64_t passes) {
            alignas(64) char out[4096];
            k.run(passes, in.data(), out);
          },
          false};
}

Contender ert(const ErtKernel& k) {
  return {"ert", k.flops / 8.0, [&k](char* memory, std::uint64_t bytes, std::uint64_t passes) {
            k.run(reinterpret_cast<double*>(memory), static_cast<std::int64_t>(bytes / 8),
                  static_cast<std::int64_t>(passes));
          }};
}

// The contender with the highest median of a few rates, which are not used otherwise. Interleaves contenders, so that a
// disturbance affects all of them.
Contender fastest(std::vector<Contender> contenders, Workers& workers, Memory& memory, double slice, double& best) {
  std::vector<std::vector<double>> rates(contenders.size());
  for (int round = -1; round < 9; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const double r = rate(contenders[i], workers, memory, slice);
      if (round >= 0) rates[i].push_back(r);  // the first round sets the pace
    }
  std::size_t index = 0;
  best = 0;
  for (std::size_t i = 0; i < contenders.size(); ++i)
    if (const double middle = base::median(rates[i]); middle > best) {
      best = middle;
      index = i;
    }
  return contenders[index];
}

// Compares all intensities at one level on the cores of one scope.
void compare(CpuCeilings& cpu, const Scope& scope, const std::string& level, double bytes, int rounds, double slice,
             std::mt19937_64& random, documents::ErtComparison& comparison) {
  Workers& workers = *scope.workers;
  const CpuMachine& machine = cpu.machine();
  const std::uint64_t whole = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bytes) / kGrain) * kGrain;
  Memory memory{whole, filled(workers, whole)};
  std::vector<Contender> movers, reckoners;
  for (const char* op : {"load", "store", "copy", "triad", "update", "store_nt", "copy_nt", "triad_nt"})
    if (level == "dram" || !std::string_view(op).ends_with("_nt"))
      for (const BandwidthKernel* k : widest_kernels(machine, op)) movers.push_back(traffic(*k));
  // ERT's steps are multiply-adds; a kernel with a larger share of additions would not be a bound for them.
  for (const ComputeKernel& k : compute_kernels())
    if (k.precision == Precision::Float64 && (k.op == "fma" || k.op == "mul_add") && machine.has(k.feature))
      reckoners.push_back(arithmetic(k));
  double bandwidth = 0, peak = 0;
  Contender mover = fastest(std::move(movers), workers, memory, slice, bandwidth);
  Contender reckoner = fastest(std::move(reckoners), workers, memory, slice, peak);

  const std::size_t first = comparison.points.size();
  std::vector<Contender> opponents;
  for (const ErtKernel& k : ert_kernels(machine.has("avx512f"))) {
    opponents.push_back(ert(k));
    documents::ErtPoint point;
    point.scope = scope.name == "all" ? "device" : scope.name;
    point.level = level;
    point.flops_per_element = k.flops;
    point.intensity = k.flops / kBytesPerElement;
    point.working_set_bytes = static_cast<std::int64_t>(memory.bytes);
    point.kernel = point.intensity * bandwidth < peak ? mover.name : reckoner.name;
    comparison.points.push_back(std::move(point));
    rate(opponents.back(), workers, memory, slice);  // sets the pace
  }
  std::vector<std::size_t> order(opponents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // A side of the roof at least twice as high as the other is not the limit and is not measured.
  constexpr double kFar = 2;
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      documents::ErtPoint& point = comparison.points[first + i];
      double theirs = 0, roof = 1e300;
      std::vector<std::function<void()>> runs = {[&] { theirs = rate(opponents[i], workers, memory, slice); }};
      if (point.intensity * bandwidth < kFar * peak)
        runs.push_back([&] { roof = std::min(roof, point.intensity * rate(mover, workers, memory, slice)); });
      if (peak < kFar * point.intensity * bandwidth)
        runs.push_back([&] { roof = std::min(roof, rate(reckoner, workers, memory, slice)); });
      std::shuffle(runs.begin(), runs.end(), random);
      for (const auto& run : runs) run();
      point.pairs.push_back({theirs, roof});
    }
  }
}

}  // namespace

documents::ErtComparison compare_with_ert(CpuCeilings& cpu, Depth depth, std::uint64_t seed) {
  documents::ErtComparison comparison;
  std::mt19937_64 random(seed);
  const int rounds = depth == Depth::Quick ? 25 : 41;
  const double slice = depth == Depth::Quick ? 0.001 : depth == Depth::Normal ? 0.003 : 0.01;
  for (const Scope& scope : cpu.scopes()) {
    if (scope.name != "core" && (depth == Depth::Quick || scope.name != "all")) continue;
    for (const CpuCeilings::Level& level : cpu.levels(scope))
      compare(cpu, scope, level.name, 0.5 * (level.bytes.front() + level.bytes.back()), rounds, slice, random,
              comparison);
  }
  return comparison;
}

}  // namespace pagoda::tools::ceilings
