// Experiments of a GPU. Work of a launch = trips × what a trip of a thread or warp does × how many of them there are.
#include "gpu_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "pagoda/statistics.h"
#include "workers.h"

namespace ceilings {
namespace {

using pagoda::Ceiling;
using pagoda::CeilingKind;
using pagoda::CeilingMode;

constexpr unsigned kMostBlocksPerSm = 16;
enum Fill { kZeros = 0, kRandom = 1, kOnes = 2, kPattern = 3 };  // as in cuda/common.cuh

struct BlockClocks {
  std::uint64_t cycles[2], nanoseconds[2];
};

enum class Operand { Float, Double, Half2, Bfloat2, Int };

struct VectorRow {
  const char *kernel, *precision, *op, *unit_type, *unit;
  Operand operand;
  double per_thread;  // FLOP or OP of a thread and trip
};
// 512 instructions a trip (128 of special functions); an FMA is two operations, half2 has two lanes, dp4a does eight.
constexpr VectorRow kVector[] = {
    {"fma_f32", "float32", "fma", "vector", "FLOP/s", Operand::Float, 512 * 2},
    {"add_f32", "float32", "add", "vector", "FLOP/s", Operand::Float, 512},
    {"mul_f32", "float32", "mul", "vector", "FLOP/s", Operand::Float, 512},
    {"fma_f64", "float64", "fma", "vector", "FLOP/s", Operand::Double, 512 * 2},
    {"add_f64", "float64", "add", "vector", "FLOP/s", Operand::Double, 512},
    {"fma_f16", "float16", "fma", "vector", "FLOP/s", Operand::Half2, 512 * 4},
    {"add_f16", "float16", "add", "vector", "FLOP/s", Operand::Half2, 512 * 2},
    {"fma_bf16", "bfloat16", "fma", "vector", "FLOP/s", Operand::Bfloat2, 512 * 4},
    {"imad_i32", "int32", "fma", "vector", "OP/s", Operand::Int, 512 * 2},
    {"dp4a_i8", "int8", "dp4a", "vector", "OP/s", Operand::Int, 512 * 8},
    {"special_f32", "float32", "special", "special", "1/s", Operand::Float, 128},
};

struct TensorRow {
  const char *kernel, *precision, *unit, *accumulate;
  int steps;    // products of a warp and trip: tiles × steps; of a warpgroup for wgmma
  int m, n, k;  // of a product
  bool warpgroup;
};
constexpr TensorRow kTensor[] = {
    {"wgmma_f16", "float16", "FLOP/s", "float32", 8, 64, 256, 16, true},
    {"wgmma_bf16", "bfloat16", "FLOP/s", "float32", 8, 64, 256, 16, true},
    {"wgmma_tf32", "tf32", "FLOP/s", "float32", 8, 64, 256, 8, true},
    {"wgmma_fp8", "float8", "FLOP/s", "float32", 8, 64, 256, 32, true},
    {"wgmma_i8", "int8", "OP/s", "int32", 8, 64, 256, 32, true},
    {"mma_f16", "float16", "FLOP/s", "float32", 64, 16, 8, 16, false},
    {"mma_bf16", "bfloat16", "FLOP/s", "float32", 64, 16, 8, 16, false},
    {"mma_tf32", "tf32", "FLOP/s", "float32", 64, 16, 8, 8, false},
    {"mma_fp8", "float8", "FLOP/s", "float32", 64, 16, 8, 32, false},
    {"mma_i8", "int8", "OP/s", "int32", 64, 16, 8, 32, false},
    {"mma_f64", "float64", "FLOP/s", "float64", 32, 16, 8, 16, false},
};
constexpr unsigned kWgmmaShared = 2 * 16384 + 2 * 32768 + 1024;

// m, n, k of a kernel on this architecture: Turing's half floats and Ampere's doubles have smaller products.
TensorRow shape_of(TensorRow row, const pagoda::GpuAttributes& gpu) {
  if (std::string_view(row.kernel) == "mma_f16" && gpu.major == 7) row.k = 8;
  if (std::string_view(row.kernel) == "mma_f64" && gpu.major == 8) row.m = 8, row.n = 8, row.k = 4;
  return row;
}

// Kernel arguments by value: the driver copies them at the launch.
class Arguments {
 public:
  template <typename T>
  Arguments& add(T value) {
    slots_.emplace_back(sizeof(T));
    std::memcpy(slots_.back().data(), &value, sizeof value);
    return *this;
  }
  std::vector<void*> pointers() {
    std::vector<void*> result;
    for (auto& slot : slots_) result.push_back(slot.data());
    return result;
  }

 private:
  std::vector<std::vector<char>> slots_;
};

std::uint32_t pair_of(std::uint16_t half) { return std::uint32_t{half} << 16 | half; }

// a and b of the vector kernels: the fixed-point iteration x = -0.5·x + 1.25, or zeros.
void add_operands(Arguments& arguments, Operand operand, bool zeros) {
  switch (operand) {
    case Operand::Float:
      arguments.add(zeros ? 0.0F : -0.5F).add(zeros ? 0.0F : 1.25F);
      break;
    case Operand::Double:
      arguments.add(zeros ? 0.0 : -0.5).add(zeros ? 0.0 : 1.25);
      break;
    // -0.5 and 1.25 in float16 and in bfloat16.
    case Operand::Half2:
      arguments.add(pair_of(zeros ? 0 : 0xb800)).add(pair_of(zeros ? 0 : 0x3d00));
      break;
    case Operand::Bfloat2:
      arguments.add(pair_of(zeros ? 0 : 0xbf00)).add(pair_of(zeros ? 0 : 0x3fa0));
      break;
    case Operand::Int:
      arguments.add(zeros ? 0 : 0x01020304).add(zeros ? 0 : 0x04030201);
      break;
  }
}

struct Pace {
  double trips_per_second = 0;
  unsigned trips(double seconds, unsigned at_first) const {
    if (trips_per_second <= 0) return at_first;
    return static_cast<unsigned>(std::clamp(trips_per_second * seconds, 1.0, 4e9));
  }
};

template <typename T>
bool chains_right(Gpu& gpu, const VectorRow& row, DevicePointer out, DevicePointer clocks, std::string& detail) {
  Arguments arguments;
  arguments.add(1U);
  add_operands(arguments, row.operand, false);
  arguments.add(out).add(clocks);
  gpu.launch(row.kernel, {1, 256, 0}, arguments.pointers());
  gpu.synchronize();
  std::vector<T> got(8 * 256);
  gpu.read(got.data(), out, got.size() * sizeof(T));
  const std::string_view name = row.kernel;
  for (unsigned i = 0; i < 8; ++i)
    for (unsigned thread = 0; thread < 256; ++thread) {
      T want{};
      if constexpr (std::is_same_v<T, std::int32_t>) {
        // Wraps around as unsigned does.
        std::uint32_t x = thread + i;
        for (int step = 0; step < 64; ++step)
          x = name == "dp4a_i8" ? x + (1 * 4 + 2 * 3 + 3 * 2 + 4 * 1) : x * 0x01020304U + 0x04030201U;
        want = static_cast<T>(x);
      } else {
        const T a = static_cast<T>(-0.5), b = static_cast<T>(1.25);
        want = static_cast<T>(thread % 32) * static_cast<T>(0.25) + static_cast<T>(i);
        for (int step = 0; step < 64; ++step)
          want = row.op == std::string_view("fma")   ? std::fma(want, a, b)
                 : row.op == std::string_view("add") ? b - want
                                                     : want * a;
      }
      const T found = got[i * 256 + thread];
      if (std::memcmp(&found, &want, sizeof(T)) != 0) {
        detail = name.data() + std::string(": thread ") + std::to_string(thread) + " chain " + std::to_string(i) +
                 " is " + std::to_string(found) + ", must be " + std::to_string(want);
        return false;
      }
    }
  return true;
}

// mma.sync on ones: every element is steps × k after one trip. wgmma on its pattern of small integers.
template <typename T>
bool products_right(Gpu& gpu, const TensorRow& row, DevicePointer out, DevicePointer clocks, std::string& detail) {
  const unsigned shared = row.warpgroup ? kWgmmaShared : 0;
  Arguments arguments;
  arguments.add(1U).add(row.warpgroup ? int{kPattern} : int{kOnes}).add(out).add(clocks);
  gpu.launch(row.kernel, {1, 256, shared}, arguments.pointers());
  gpu.synchronize();
  const unsigned each = row.warpgroup ? 128 : 4;
  std::vector<T> got(each * 256);
  gpu.read(got.data(), out, got.size() * sizeof(T));
  for (unsigned i = 0; i < (row.warpgroup ? each : 2); ++i)
    for (unsigned thread = 0; thread < 256; ++thread) {
      double want = 8.0 * row.k;  // of each tile: 8 steps of k ones
      if (row.warpgroup) {
        // Register i of a thread: row 16·warp + lane/4 + 8·(i/2 % 2), column 8·(i/4) + 2·(lane % 4) + i % 2.
        const unsigned warp = thread / 32 % 4, lane = thread % 32;
        const unsigned m = 16 * warp + lane / 4 + 8 * (i / 2 % 2), n = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
        want = 8.0 * row.k * (static_cast<int>(m % 3) - 1) * static_cast<int>(n % 4);
      }
      const double found = static_cast<double>(got[i * 256 + thread]);
      if (found != want) {
        detail = std::string(row.kernel) + ": thread " + std::to_string(thread) + " register " + std::to_string(i) +
                 " is " + std::to_string(found) + ", must be " + std::to_string(want);
        return false;
      }
    }
  return true;
}

struct StreamRow {
  const char *kernel, *op;
  int arrays, moved;  // arrays in memory; those that a pass moves
  bool scalar;
};
constexpr StreamRow kStreams[] = {
    {"hbm_read", "read", 1, 1, false},  {"hbm_write", "write", 1, 1, true}, {"hbm_copy", "copy", 2, 2, false},
    {"hbm_scale", "scale", 2, 2, true}, {"hbm_add", "add", 3, 3, false},    {"hbm_triad", "triad", 3, 3, true},
};

}  // namespace

GpuCeilings::GpuCeilings(Gpu& gpu, NvmlTrace& trace, const Options& options)
    : gpu_(gpu), trace_(trace), options_(options) {
  const auto sms = static_cast<std::size_t>(gpu.attributes().sms);
  clocks_ = GpuBuffer(gpu, sms * kMostBlocksPerSm * sizeof(BlockClocks));
  // Results of the largest grid: 128 words of 8 bytes a thread at one block an SM, or 32 at kMostBlocksPerSm.
  words_ = GpuBuffer(gpu, sms * kMostBlocksPerSm * 256 * 32 * 8);
}

Experiment GpuCeilings::start(const std::string& id, CeilingKind kind, CeilingMode mode, const std::string& unit) {
  Experiment e;
  e.ceiling.id = id;
  e.ceiling.kind = kind;
  e.ceiling.mode = mode;
  e.ceiling.unit = unit;
  e.ceiling.scope = "device";
  e.ceiling.units = gpu_.attributes().sms;
  e.theory = [this](Ceiling& c) { c.theory = pagoda::gpu_theory(gpu_.attributes(), c); };
  return e;
}

// The clock while the kernel ran: cycles over nanoseconds of each block, and what NVML saw meanwhile.
Sample GpuCeilings::finish(double amount, double seconds, unsigned blocks) {
  Sample s;
  s.seconds = seconds;
  s.rate = amount / seconds;
  std::vector<BlockClocks> records(blocks);
  gpu_.read(records.data(), clocks_.get(), records.size() * sizeof(BlockClocks));
  std::vector<double> hertz;
  for (const BlockClocks& r : records) {
    const double cycles = static_cast<double>(r.cycles[1] - r.cycles[0]);
    const double nanoseconds = static_cast<double>(r.nanoseconds[1] - r.nanoseconds[0]);
    // The global timer ticks every 32 ns to 1 us: blocks of less than 0.2 ms say too little.
    if (nanoseconds > 2e5) hertz.push_back(1e9 * cycles / nanoseconds);
  }
  if (!hertz.empty()) s.clock_hz = pagoda::median(hertz);
  const NvmlTrace::Since since = trace_.since_last();
  s.watts = since.watts;
  s.disturbances = since.disturbances;
  return s;
}

void GpuCeilings::add_arithmetic(std::vector<Experiment>& list) {
  const auto sms = static_cast<unsigned>(gpu_.attributes().sms);
  for (const CeilingMode mode : {CeilingMode::Issue, CeilingMode::Sustained}) {
    const bool zeros = mode == CeilingMode::Issue;
    for (const VectorRow& row : kVector) {
      Experiment e = start(std::string(row.precision) + ".cuda." + row.op, CeilingKind::Compute, mode, row.unit);
      if (!options_.wants(e.ceiling.id)) continue;
      if (!gpu_.has(row.kernel)) {
        if (zeros) not_run_.push_back(e.ceiling.id + ": no kernel for this architecture");
        continue;
      }
      e.ceiling.precision = row.precision;
      e.ceiling.unit_type = row.unit_type;
      e.ceiling.op = row.op;
      e.ceiling.data = zeros ? "zeros" : "fixed point of -x/2 + 5/4";
      for (const unsigned per_sm : {4U, 8U}) {
        auto pace = std::make_shared<Pace>();
        e.candidates.push_back({row.kernel,
                                {{"blocks_per_sm", std::int64_t{per_sm}}, {"threads", std::int64_t{256}}},
                                [this, row, zeros, pace, blocks = sms * per_sm](double seconds) {
                                  const unsigned trips = pace->trips(seconds, 200);
                                  Arguments arguments;
                                  arguments.add(trips);
                                  add_operands(arguments, row.operand, zeros);
                                  arguments.add(words_.get()).add(clocks_.get());
                                  const double took = gpu_.time(row.kernel, {blocks, 256, 0}, arguments.pointers());
                                  pace->trips_per_second = trips / took;
                                  return finish(row.per_thread * trips * blocks * 256, took, blocks);
                                }});
      }
      if (row.operand == Operand::Float && row.op != std::string_view("special"))
        e.verify = [this, row] {
          Verdict v;
          v.right = chains_right<float>(gpu_, row, words_.get(), clocks_.get(), v.detail);
          return v;
        };
      if (row.operand == Operand::Double)
        e.verify = [this, row] {
          Verdict v;
          v.right = chains_right<double>(gpu_, row, words_.get(), clocks_.get(), v.detail);
          return v;
        };
      if (row.operand == Operand::Int)
        e.verify = [this, row] {
          Verdict v;
          v.right = chains_right<std::int32_t>(gpu_, row, words_.get(), clocks_.get(), v.detail);
          return v;
        };
      list.push_back(std::move(e));
    }
    for (const TensorRow& any : kTensor) {
      const TensorRow row = shape_of(any, gpu_.attributes());
      const std::string path = row.warpgroup ? ".wgmma" : ".mma";
      Experiment e = start(std::string(row.precision) + path, CeilingKind::Compute, mode, row.unit);
      if (!options_.wants(e.ceiling.id)) continue;
      if (!gpu_.has(row.kernel)) {
        if (zeros) not_run_.push_back(e.ceiling.id + ": no kernel for this architecture");
        continue;
      }
      e.ceiling.precision = row.precision;
      e.ceiling.unit_type = "tensor";
      e.ceiling.accumulate = row.accumulate;
      e.ceiling.op = "fma";
      e.ceiling.data = zeros ? "zeros" : "uniform[-1,1]";
      e.ceiling.config["shape"] =
          "m" + std::to_string(row.m) + "n" + std::to_string(row.n) + "k" + std::to_string(row.k);
      const std::vector<unsigned> occupancies = row.warpgroup ? std::vector{1U} : std::vector{1U, 2U, 4U};
      for (const unsigned per_sm : occupancies) {
        auto pace = std::make_shared<Pace>();
        e.candidates.push_back(
            {row.kernel,
             {{"blocks_per_sm", std::int64_t{per_sm}}, {"threads", std::int64_t{256}}},
             [this, row, zeros, pace, blocks = sms * per_sm](double seconds) {
               const unsigned trips = pace->trips(seconds, 200);
               Arguments arguments;
               arguments.add(trips).add(int{zeros ? kZeros : kRandom}).add(words_.get()).add(clocks_.get());
               const unsigned shared = row.warpgroup ? kWgmmaShared : 0;
               const double took = gpu_.time(row.kernel, {blocks, 256, shared}, arguments.pointers());
               pace->trips_per_second = trips / took;
               const double groups = row.warpgroup ? 2 : 8;  // warpgroups or warps of a block
               return finish(2.0 * row.m * row.n * row.k * row.steps * groups * trips * blocks, took, blocks);
             }});
      }
      e.verify = [this, row] {
        Verdict v;
        if (std::string_view(row.accumulate) == "int32")
          v.right = products_right<std::int32_t>(gpu_, row, words_.get(), clocks_.get(), v.detail);
        else if (std::string_view(row.accumulate) == "float64")
          v.right = products_right<double>(gpu_, row, words_.get(), clocks_.get(), v.detail);
        else
          v.right = products_right<float>(gpu_, row, words_.get(), clocks_.get(), v.detail);
        return v;
      };
      list.push_back(std::move(e));
    }
  }
  if (gpu_.attributes().major == 10)
    not_run_.push_back("tensor cores by tcgen05: no kernel; mma.sync does not reach their full rate");
}

void GpuCeilings::add_streams(std::vector<Experiment>& list) {
  const auto sms = static_cast<unsigned>(gpu_.attributes().sms);
  const double wanted = options_.depth == Depth::Quick ? 512e6 : 2e9;
  const double each = std::min(wanted, 0.8 * static_cast<double>(gpu_.free_bytes()) / 3);
  for (const StreamRow& row : kStreams) {
    Experiment e = start(std::string("dram.") + row.op, CeilingKind::Bandwidth, CeilingMode::Sustained, "B/s");
    e.ceiling.level = "dram";
    e.ceiling.op = row.op;
    e.ceiling.data = "ones";
    if (!options_.wants(e.ceiling.id)) continue;
    auto arrays = std::make_shared<std::vector<GpuBuffer>>();
    e.prepare = [this, row, arrays, each] {
      for (int i = 0; i < row.arrays; ++i) {
        arrays->emplace_back(gpu_, static_cast<std::size_t>(each));
        gpu_.fill(arrays->back().get(), std::bit_cast<std::uint32_t>(1.0F), static_cast<std::size_t>(each) / 4);
      }
    };
    e.release = [arrays] { arrays->clear(); };
    const auto run = [this, row, arrays](unsigned blocks, unsigned threads, std::size_t vectors, unsigned trips) {
      Arguments arguments;
      arguments.add(trips);
      // Destination first, then sources; a read has only a source.
      for (int i = 0; i < row.arrays; ++i) arguments.add((*arrays)[static_cast<std::size_t>(i)].get());
      arguments.add(vectors);
      if (row.scalar) arguments.add(3.0F);
      if (std::string_view(row.op) == "read") arguments.add(words_.get());
      arguments.add(clocks_.get());
      return gpu_.time(row.kernel, {blocks, threads, 0}, arguments.pointers());
    };
    for (const auto& [per_sm, threads] : {std::pair{4U, 512U}, std::pair{2U, 512U}, std::pair{8U, 256U}}) {
      const unsigned blocks = sms * per_sm;
      const std::size_t chunk = std::size_t{4} * blocks * threads;
      const std::size_t vectors = static_cast<std::size_t>(each) / 16 / chunk * chunk;
      auto pace = std::make_shared<Pace>();
      e.candidates.push_back({row.kernel,
                              {{"blocks_per_sm", std::int64_t{per_sm}},
                               {"threads", std::int64_t{threads}},
                               {"array_bytes", static_cast<std::int64_t>(vectors * 16)}},
                              [this, run, row, pace, blocks, threads = threads, vectors](double seconds) {
                                const unsigned trips = pace->trips(seconds, 1);
                                const double took = run(blocks, threads, vectors, trips);
                                pace->trips_per_second = trips / took;
                                const double bytes = 16.0 * static_cast<double>(vectors) * row.moved * trips;
                                Sample s = finish(bytes, took, blocks);
                                return s;
                              }});
    }
    if (row.arrays > 1 || std::string_view(row.op) == "write")
      e.verify = [this, run, row, arrays, sms] {
        // From ones: a copy is 1, a scale 3, an add 2, a triad 1 + 3; a write is 3.
        const std::string_view op = row.op;
        const float want = op == "copy" ? 1.0F : op == "add" ? 2.0F : op == "triad" ? 4.0F : 3.0F;
        const std::size_t chunk = std::size_t{4} * sms * 512;
        gpu_.fill((*arrays)[0].get(), 0, chunk * 4 * 2);
        run(sms, 512, chunk * 2, 1);
        std::vector<float> got(chunk * 4 * 2);
        gpu_.read(got.data(), (*arrays)[0].get(), got.size() * 4);
        Verdict v;
        for (std::size_t i = 0; i < got.size() && v.right; ++i)
          if (got[i] != want) {
            v.right = false;
            v.detail = std::string(row.kernel) + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) +
                       ", must be " + std::to_string(want);
          }
        return v;
      };
    list.push_back(std::move(e));
  }
}

void GpuCeilings::add_caches(std::vector<Experiment>& list) {
  const auto sms = static_cast<unsigned>(gpu_.attributes().sms);
  struct Row {
    const char *kernel, *id, *level, *op;
    std::vector<unsigned> per_sm;
    unsigned threads, shared;
    double per_trip;  // bytes of a thread
  };
  const Row rows[] = {
      {"l2_read", "l2.read", "l2", "read", {2, 4}, 512, 0, 8 * 16},
      {"l2_write", "l2.write", "l2", "write", {2, 4}, 512, 0, 8 * 16},
      {"l1_read", "l1.read", "l1", "read", {2, 4}, 256, 0, 8 * 16},
      {"shared_read", "shared.read", "shared", "read", {2, 4}, 256, 32768, 8 * 16},
      {"shared_write", "shared.write", "shared", "write", {2, 4}, 256, 32768, 8 * 16},
  };
  for (const Row& row : rows) {
    Experiment e = start(row.id, CeilingKind::Bandwidth, CeilingMode::Sustained, "B/s");
    e.ceiling.level = row.level;
    e.ceiling.op = row.op;
    e.ceiling.data = "ones";
    if (!options_.wants(e.ceiling.id)) continue;
    const std::string_view level = row.level;
    auto memory = std::make_shared<GpuBuffer>();
    const std::size_t bytes = level == "l1" ? std::size_t{sms} * kMostBlocksPerSm * 32768 : std::size_t{64} << 20;
    e.prepare = [this, memory, bytes] {
      *memory = GpuBuffer(gpu_, bytes);
      gpu_.fill(memory->get(), 1, bytes / 4);
    };
    e.release = [memory] { *memory = GpuBuffer(); };
    // Working sets of the second level: well above all first levels, well below its half, where the far partition
    // starts.
    std::vector<std::size_t> sets = {0};
    if (level == "l2") {
      sets.clear();
      for (std::size_t set = std::size_t{4} << 20; static_cast<double>(set) <= 0.5 * gpu_.attributes().l2_bytes;
           set *= 2)
        sets.push_back(set);
      if (sets.empty()) sets.push_back(std::bit_floor(static_cast<std::size_t>(gpu_.attributes().l2_bytes / 2)));
    }
    for (const unsigned per_sm : row.per_sm)
      for (const std::size_t set : sets) {
        auto pace = std::make_shared<Pace>();
        pagoda::Settings config = {{"blocks_per_sm", std::int64_t{per_sm}}, {"threads", std::int64_t{row.threads}}};
        if (set > 0) config["working_set_bytes"] = static_cast<std::int64_t>(set);
        e.candidates.push_back(
            {row.kernel, config, [this, row, level, memory, pace, set, blocks = sms * per_sm](double seconds) {
               const unsigned trips = pace->trips(seconds, 500);
               Arguments arguments;
               arguments.add(trips);
               if (level == "shared") {
                 arguments.add(1U);
               } else {
                 arguments.add(memory->get());
                 if (level == "l2") arguments.add(std::size_t{set / 16});
               }
               if (std::string_view(row.kernel) == "l2_write")
                 arguments.add(1U);
               else
                 arguments.add(words_.get());
               arguments.add(clocks_.get());
               const double took = gpu_.time(row.kernel, {blocks, row.threads, row.shared}, arguments.pointers());
               pace->trips_per_second = trips / took;
               return finish(row.per_trip * trips * blocks * row.threads, took, blocks);
             }});
      }
    list.push_back(std::move(e));
  }
  for (const unsigned spread : {0U, 1U}) {
    Experiment e =
        start(spread ? "atomics.spread" : "atomics.one_word", CeilingKind::Compute, CeilingMode::Sustained, "1/s");
    e.ceiling.op = "atomic_add";
    e.ceiling.precision = "int32";
    e.theory = nullptr;
    if (!options_.wants(e.ceiling.id)) continue;
    auto pace = std::make_shared<Pace>();
    e.candidates.push_back(
        {"atomics", {{"blocks_per_sm", std::int64_t{4}}}, [this, spread, pace, blocks = sms * 4](double seconds) {
           const unsigned trips = pace->trips(seconds, 10);
           Arguments arguments;
           arguments.add(trips).add(words_.get()).add(spread).add(clocks_.get());
           const double took = gpu_.time("atomics", {blocks, 256, 0}, arguments.pointers());
           pace->trips_per_second = trips / took;
           return finish(8.0 * trips * blocks * 256, took, blocks);
         }});
    list.push_back(std::move(e));
  }
}

void GpuCeilings::add_host(std::vector<Experiment>& list) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  struct Row {
    const char *id, *op;
    bool to_device, to_host;
  };
  for (const Row& row : {Row{"pcie.to_device", "write", true, false}, Row{"pcie.to_host", "read", false, true},
                         Row{"pcie.both", "copy", true, true}}) {
    Experiment e = start(row.id, CeilingKind::Bandwidth, CeilingMode::Sustained, "B/s");
    e.ceiling.level = "pcie";
    e.ceiling.op = row.op;
    e.ceiling.units.reset();
    e.theory = nullptr;
    if (!options_.wants(e.ceiling.id)) continue;
    struct Memory {
      GpuBuffer device;
      void *from = nullptr, *to = nullptr;
    };
    auto memory = std::make_shared<Memory>();
    e.prepare = [this, memory] {
      memory->device = GpuBuffer(gpu_, 2 * kBytes);
      memory->from = gpu_.allocate_host(kBytes);
      memory->to = gpu_.allocate_host(kBytes);
      std::memset(memory->from, 1, kBytes);
      std::memset(memory->to, 2, kBytes);
    };
    e.release = [this, memory] {
      gpu_.release_host(memory->from);
      gpu_.release_host(memory->to);
      memory->device = GpuBuffer();
    };
    e.candidates.push_back({"copy engine", {{"bytes", static_cast<std::int64_t>(kBytes)}}, [this, memory, row](double) {
                              const double took = gpu_.time_copies(
                                  memory->device.get(), row.to_device ? memory->from : nullptr,
                                  row.to_host ? memory->to : nullptr, memory->device.get() + kBytes, kBytes);
                              Sample s;
                              s.seconds = took;
                              s.rate = static_cast<double>(kBytes) * (row.to_device + row.to_host) / took;
                              return s;
                            }});
    list.push_back(std::move(e));
  }
  for (const bool wait : {false, true}) {
    Experiment e = start(wait ? "sync" : "launch", CeilingKind::Latency, CeilingMode::Sustained, "s");
    e.ceiling.level = wait ? "sync" : "launch";
    e.ceiling.units.reset();
    e.theory = nullptr;
    if (!options_.wants(e.ceiling.id)) continue;
    e.candidates.push_back({"empty", {{"launches", std::int64_t{wait ? 100 : 1000}}}, [this, wait](double) {
                              const int launches = wait ? 100 : 1000;
                              gpu_.synchronize();
                              const double from = seconds_now();
                              for (int i = 0; i < launches; ++i) {
                                gpu_.launch("empty", {1, 32, 0}, {});
                                if (wait) gpu_.synchronize();
                              }
                              gpu_.synchronize();
                              Sample s;
                              s.seconds = seconds_now() - from;
                              s.rate = s.seconds / launches;
                              return s;
                            }});
    list.push_back(std::move(e));
  }
}

std::vector<Experiment> GpuCeilings::experiments() {
  std::vector<Experiment> list;
  add_arithmetic(list);
  add_streams(list);
  add_caches(list);
  add_host(list);
  return list;
}

std::vector<GpuCeilings::Point> GpuCeilings::l2_sweep() {
  std::vector<Point> points;
  const auto sms = static_cast<unsigned>(gpu_.attributes().sms);
  const double most = std::min(8 * gpu_.attributes().l2_bytes, 0.5 * static_cast<double>(gpu_.free_bytes()));
  if (most < 2 << 20) return points;
  GpuBuffer memory(gpu_, std::bit_floor(static_cast<std::size_t>(most)));
  gpu_.fill(memory.get(), 1, memory.bytes() / 4);
  for (std::size_t set = std::size_t{1} << 20; set <= memory.bytes(); set *= 2) {
    std::vector<double> rates;
    unsigned trips = 500;
    for (int round = 0; round < 6; ++round) {
      Arguments arguments;
      arguments.add(trips).add(memory.get()).add(std::size_t{set / 16}).add(words_.get()).add(clocks_.get());
      const double took = gpu_.time("l2_read", {sms * 4, 512, 0}, arguments.pointers());
      if (round > 0) rates.push_back(128.0 * trips * sms * 4 * 512 / took);
      trips = static_cast<unsigned>(std::clamp(trips / took * 0.01, 1.0, 4e9));
    }
    points.push_back({static_cast<double>(set), pagoda::median(rates)});
  }
  return points;
}

std::vector<pagoda::CeilingCheck> GpuCeilings::controls() {
  std::vector<pagoda::CeilingCheck> checks;
  const auto sms = static_cast<unsigned>(gpu_.attributes().sms);
  const auto expect = [&](const char* name, double ratio, double wanted, double tolerance) {
    char text[96];
    std::snprintf(text, sizeof text, "%.3f, must be %.3g within %.0f %%", ratio, wanted, 100 * tolerance);
    checks.push_back({name, std::abs(ratio / wanted - 1) <= tolerance, text});
  };
  const auto fma_seconds = [&](unsigned trips) {
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) {
      Arguments arguments;
      arguments.add(trips);
      add_operands(arguments, Operand::Float, true);
      arguments.add(words_.get()).add(clocks_.get());
      seconds.push_back(gpu_.time("fma_f32", {sms * 4, 256, 0}, arguments.pointers()));
    }
    return pagoda::median(seconds);
  };
  fma_seconds(20000);  // raises the clock
  expect("twice the work takes twice the time", fma_seconds(40000) / fma_seconds(20000), 2, 0.02);
  const auto shared_seconds = [&](unsigned stride) {
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) {
      Arguments arguments;
      arguments.add(20000U).add(stride).add(words_.get()).add(clocks_.get());
      seconds.push_back(gpu_.time("shared_read", {sms * 4, 256, 32768}, arguments.pointers()));
    }
    return pagoda::median(seconds);
  };
  // 16-byte loads go by quarters of a warp: 8 lanes over 32 banks. Lanes 32 bytes apart share banks two by two.
  expect("a stride of 2 halves shared memory", shared_seconds(2) / shared_seconds(1), 2, 0.05);
  return checks;
}

}  // namespace ceilings
