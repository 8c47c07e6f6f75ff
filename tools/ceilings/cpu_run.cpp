// Experiments of a CPU: which kernels on which cores over which working sets, and what their results must be.
#include "cpu_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "gemm.h"

namespace ceilings {
namespace {

using pagoda::Ceiling;
using pagoda::CeilingKind;
using pagoda::CeilingMode;

// Work for about `seconds`: the trips of the last call tell those of the next.
struct Pace {
  double trips_per_second = 0;
  std::uint64_t trips(double seconds, std::uint64_t at_first) const {
    if (trips_per_second <= 0) return at_first;
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(trips_per_second * seconds));
  }
};

// Slots of 64 bytes: a, b, 14 accumulators. Values are multiples of 1/64 that all formats hold exactly for a few steps.
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

// Of a kernel that does both: 512 bits have 7 + 7 accumulators that are stored; others 8 that multiply, each 6 times a
// trip, and 6 that add, each 8 times.
bool multiplies(const ComputeKernel& k, int accumulator) { return accumulator < (k.vector_bits == 512 ? 7 : 8); }

int steps_of(const ComputeKernel& k, int accumulator) {
  const bool more = k.step == Step::FmaAdd && k.vector_bits != 512 && !multiplies(k, accumulator);
  return more ? k.steps * 4 / 3 : k.steps;
}

// For steps of float kernels: what one accumulator must hold after n steps, computed as the instruction does.
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

// Dot products: every 32-bit lane gains the same known sum each step.
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

// Palette 1, six tiles of 16 rows of 64 bytes; a and b after it.
std::vector<char> tile_input(const ComputeKernel& k) {
  std::vector<char> in(64 + 2048, 0);
  in[0] = 1;
  for (int tile = 0; tile < 6; ++tile) {
    in[static_cast<std::size_t>(16 + 2 * tile)] = 64;  // bytes of a row
    in[static_cast<std::size_t>(48 + tile)] = 16;      // rows
  }
  if (k.precision == pagoda::Precision::Int8) {
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

bool tiles_right(const ComputeKernel& k, std::string& detail) {
  const std::vector<char> in = tile_input(k);
  std::vector<char> out(4096, 0);
  k.run(2, in.data(), out.data());
  const bool bytes = k.precision == pagoda::Precision::Int8;
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

std::string fitting_isa(const CpuMachine& machine, std::string_view op) {
  std::string best;
  int bits = 0;
  for (const BandwidthKernel& k : bandwidth_kernels())
    if (k.op == op && machine.has(k.feature) && k.vector_bits > bits) {
      best = k.isa;
      bits = k.vector_bits;
    }
  return best;
}

// Bytes of each array so that all of them together are a working set; arrays apart by more than their bytes, so that no
// two of them meet in the low address bits.
std::uint64_t array_bytes(const BandwidthKernel& k, double working_set) {
  const double each = working_set / k.arrays;
  return std::max<std::uint64_t>(1024, static_cast<std::uint64_t>(each / 1024) * 1024);
}

}  // namespace

CpuCeilings::CpuCeilings(const CpuMachine& machine, const Options& options) : machine_(machine), options_(options) {
  std::vector<int> cores = machine.topology.one_per_core();
  if (machine.limits.cpus && *machine.limits.cpus < static_cast<double>(cores.size())) {
    const auto allowed = std::max<std::size_t>(1, static_cast<std::size_t>(*machine.limits.cpus));
    not_run_.push_back("cores beyond the control group's quota of " + std::to_string(allowed) + " of " +
                       std::to_string(cores.size()));
    cores.resize(allowed);
  }
  scopes_.push_back({"core", std::make_shared<Workers>(std::vector<int>{cores.front()})});
  if (cores.size() > 1) scopes_.push_back({"all", std::make_shared<Workers>(cores)});
  const std::vector<int> nodes = machine.topology.nodes();
  if (nodes.size() > 1) {
    for (const int node : nodes) {
      std::vector<int> of_node;
      for (const Cpu& cpu : machine.topology.cpus)
        if (cpu.node == node && std::find(cores.begin(), cores.end(), cpu.id) != cores.end()) of_node.push_back(cpu.id);
      if (!of_node.empty()) scopes_.push_back({"node" + std::to_string(node), std::make_shared<Workers>(of_node)});
    }
  } else {
    not_run_.push_back("per NUMA node: the machine has one");
  }
}

const ChainKernel& CpuCeilings::chain(std::string_view isa) const {
  const auto chains = chain_kernels();
  for (const ChainKernel& k : chains)
    if (k.isa == isa && machine_.has(k.feature)) return k;
  return chains.front();
}

bool CpuCeilings::right_result(const ComputeKernel& k, std::string& detail) {
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
  if (k.precision == pagoda::Precision::Float64) return floats_right<double>(k, detail);
  if (k.precision == pagoda::Precision::Float32) return floats_right<float>(k, detail);
  return true;  // half floats: no arithmetic of their own in C++20 to compare with
}

bool CpuCeilings::right_result(const BandwidthKernel& k, std::string& detail) {
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
  // Stores and updates use a register that holds whatever it held: its lanes must show again in every vector.
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

void CpuCeilings::add_compute(std::vector<Experiment>& list, const Scope& scope) {
  for (const ComputeKernel& k : compute_kernels()) {
    Ceiling c;
    c.id = std::string(pagoda::to_string(k.precision)) + "." + std::string(k.isa) + "." + std::string(k.op) + "." +
           scope.name;
    c.kind = CeilingKind::Compute;
    c.mode = options_.depth == Depth::Quick ? CeilingMode::Burst : CeilingMode::Sustained;
    c.precision = pagoda::to_string(k.precision);
    c.unit_type = k.isa == "amx" ? "tensor" : k.isa == "scalar" ? "scalar" : "vector";
    c.accumulate = k.accumulate;
    c.op = k.op;
    c.scope = scope.name == "all" ? "device" : scope.name;
    c.data = "bounded";
    c.unit = k.accumulate == "int32" ? "OP/s" : "FLOP/s";
    c.units = static_cast<double>(scope.workers->size());
    c.config["threads"] = static_cast<std::int64_t>(scope.workers->size());
    c.config["vector_bits"] = std::int64_t{k.vector_bits};
    if (!options_.wants(c.id)) continue;
    if (!machine_.has(k.feature) || (k.step == Step::Tile && !allow_tiles())) {
      if (scope.name == "core") not_run_.push_back(c.id + ": the CPU has no " + std::string(k.feature));
      continue;
    }
    Experiment e;
    e.ceiling = c;
    auto workers = scope.workers;
    auto pace = std::make_shared<Pace>();
    auto in = std::make_shared<std::vector<char>>(64 * 16);
    if (k.step == Step::Tile)
      *in = tile_input(k);
    else if (k.precision == pagoda::Precision::Float64)
      fill<double>(*in, -0.5, 1.25);
    else if (k.precision == pagoda::Precision::Float32)
      fill<float>(*in, -0.5, 1.25);
    else if (k.step == Step::DotInt8)
      std::generate(in->begin(), in->end(),
                    [state = 1u]() mutable { return static_cast<char>((state = state * 1664525 + 1013904223) >> 24); });
    const ChainKernel clock = chain(k.isa == "amx" ? "avx512" : k.isa);
    e.candidates.push_back({std::string(k.name), {}, [&k, workers, pace, in, clock](double seconds) {
                              const std::uint64_t trips = pace->trips(seconds, 1000);
                              const double amount = static_cast<double>(trips) * static_cast<double>(k.work) *
                                                    static_cast<double>(workers->size());
                              const Sample s = workers->sample(
                                  [&](std::size_t) {
                                    alignas(64) char out[4096];
                                    k.run(trips, in->data(), out);
                                  },
                                  amount, clock);
                              pace->trips_per_second = static_cast<double>(trips) / s.seconds;
                              return s;
                            }});
    e.verify = [&k] {
      Verdict verdict;
      verdict.right = right_result(k, verdict.detail);
      return verdict;
    };
    e.theory = [this, &k](Ceiling& ceiling) {
      if (!machine_.core) return;
      const auto per_clock = work_per_clock(*machine_.core, k.precision, k.vector_bits, k.op);
      if (!per_clock) return;
      if (ceiling.clock_hz) ceiling.theory.observed_clock = *per_clock * *ceiling.units * *ceiling.clock_hz;
      if (machine_.max_hz) ceiling.theory.max_clock = *per_clock * *ceiling.units * *machine_.max_hz;
      ceiling.theory.source = machine_.core->source;
    };
    list.push_back(std::move(e));
  }
}

std::vector<pagoda::KnownLevel> CpuCeilings::known_levels() const {
  std::vector<pagoda::KnownLevel> result;
  const int cpu = scopes_.front().workers->cpus().front();
  for (int level = 1; level <= machine_.topology.last_level(); ++level)
    if (const Cache* cache = machine_.topology.cache(level, cpu))
      result.push_back({"l" + std::to_string(level), static_cast<double>(cache->bytes)});
  result.push_back({"dram", std::nullopt});
  return result;
}

std::vector<CpuCeilings::Level> CpuCeilings::levels(const Scope& scope) const {
  std::vector<Level> result;
  const std::vector<int>& cpus = scope.workers->cpus();
  double inner = 0;
  for (int level = 1; level <= machine_.topology.last_level(); ++level) {
    const Cache* cache = machine_.topology.cache(level, cpus.front());
    if (cache == nullptr) continue;
    const auto sharing = std::count_if(cpus.begin(), cpus.end(), [&](int cpu) {
      return std::find(cache->cpus.begin(), cache->cpus.end(), cpu) != cache->cpus.end();
    });
    const double share = static_cast<double>(cache->bytes) / static_cast<double>(std::max<std::ptrdiff_t>(sharing, 1));
    Level l{"l" + std::to_string(level), {}};
    // Well inside the level and well outside the one before.
    for (const double part : {0.35, 0.6})
      if (part * share > 1.5 * inner) l.bytes.push_back(part * share);
    if (!l.bytes.empty()) result.push_back(l);
    inner = static_cast<double>(cache->bytes);
  }
  // Memory: four times what all caches hold together, and at least 128 MiB, over all cores.
  double all = std::max(4.0 * static_cast<double>(machine_.topology.total_bytes(machine_.topology.last_level())),
                        static_cast<double>(128 << 20));
  if (machine_.limits.memory_bytes) all = std::min(all, 0.5 * static_cast<double>(*machine_.limits.memory_bytes));
  result.push_back({"dram", {all / static_cast<double>(cpus.size())}});
  return result;
}

void CpuCeilings::add_bandwidth(std::vector<Experiment>& list, const Scope& scope) {
  for (const Level& level : levels(scope))
    for (const BandwidthKernel& k : bandwidth_kernels()) {
      const bool past_caches = k.op.ends_with("_nt");
      const bool widest = k.isa == fitting_isa(machine_, k.op);
      const bool memory = level.name == "dram";
      if (past_caches && !memory) continue;
      // Narrower loads are measured where they show the width of the load port.
      if (!widest && !(level.name == "l1" && k.op == "load" && options_.depth == Depth::Full)) continue;
      if (scope.name.starts_with("node") && !(memory && (k.op == "load" || k.op == "triad"))) continue;
      Ceiling c;
      c.id = level.name + "." + std::string(k.op) + (widest ? "" : "." + std::string(k.isa)) + "." + scope.name;
      c.kind = CeilingKind::Bandwidth;
      c.mode = options_.depth == Depth::Quick ? CeilingMode::Burst : CeilingMode::Sustained;
      c.level = level.name;
      c.op = k.op;
      c.scope = scope.name == "all" ? "device" : scope.name;
      c.data = "ones";
      c.unit = "B/s";
      c.units = static_cast<double>(scope.workers->size());
      c.config["threads"] = static_cast<std::int64_t>(scope.workers->size());
      c.config["vector_bits"] = std::int64_t{k.vector_bits};
      // What a store that allocates its line moves besides: times this for the traffic of the level.
      c.config["write_allocate_factor"] = static_cast<double>(k.moved + k.allocated) / k.moved;
      if (!options_.wants(c.id)) continue;
      Experiment e;
      e.ceiling = c;
      auto workers = scope.workers;
      auto memory_of = std::make_shared<std::vector<Buffer>>();
      const double most = *std::max_element(level.bytes.begin(), level.bytes.end());
      e.prepare = [workers, memory_of, most] {
        memory_of->resize(workers->size());
        workers->run([&](std::size_t worker) {
          Buffer buffer(static_cast<std::size_t>(most) + 65536);
          auto* values = reinterpret_cast<double*>(buffer.data());
          std::fill(values, values + buffer.size() / 8, 1.0);
          (*memory_of)[worker] = std::move(buffer);
        });
      };
      e.release = [memory_of] { memory_of->clear(); };
      const ChainKernel clock = chain(k.isa == "sse" ? "scalar" : k.isa);
      for (const double working_set : level.bytes) {
        const std::uint64_t bytes = array_bytes(k, working_set);
        auto pace = std::make_shared<Pace>();
        e.candidates.push_back({std::string(k.name),
                                {{"working_set_bytes", static_cast<std::int64_t>(bytes) * k.arrays}},
                                [&k, workers, memory_of, pace, bytes, clock](double seconds) {
                                  const std::uint64_t whole = bytes / static_cast<std::uint64_t>(k.step);
                                  // Whole passes, so that every line of a level is touched equally often.
                                  const std::uint64_t trips = (pace->trips(seconds, whole) + whole - 1) / whole * whole;
                                  const double amount = static_cast<double>(trips) *
                                                        static_cast<double>(k.step * k.moved) *
                                                        static_cast<double>(workers->size());
                                  const Sample s = workers->sample(
                                      [&](std::size_t worker) {
                                        char* a = (*memory_of)[worker].data();
                                        char* b = k.arrays > 1 ? a + bytes + 320 : a;
                                        char* c2 = k.arrays > 2 ? b + bytes + 320 : b;
                                        k.run(a, b, c2, bytes, trips);
                                      },
                                      amount, clock);
                                  pace->trips_per_second = static_cast<double>(trips) / s.seconds;
                                  return s;
                                }});
      }
      e.verify = [&k] {
        Verdict verdict;
        verdict.right = right_result(k, verdict.detail);
        return verdict;
      };
      e.theory = [this, &k, level](Ceiling& ceiling) {
        if (!machine_.core || level.name != "l1") return;
        // Guides give pipes for NEON; a longer SVE vector may use them otherwise.
        if (k.isa == "sve" && k.vector_bits > machine_.core->load_bits) return;
        const auto per_clock = l1_bytes_per_clock(*machine_.core, k.vector_bits, k.op);
        if (!per_clock) return;
        if (ceiling.clock_hz) ceiling.theory.observed_clock = *per_clock * *ceiling.units * *ceiling.clock_hz;
        if (machine_.max_hz) ceiling.theory.max_clock = *per_clock * *ceiling.units * *machine_.max_hz;
        ceiling.theory.source = machine_.core->source;
      };
      list.push_back(std::move(e));
    }
}

// Matrix products of libraries that are installed, beside our own peaks: a library can be slower, never faster.
void CpuCeilings::add_products(std::vector<Experiment>& list, const Scope& scope) {
  for (const GemmLibrary& library : gemm_libraries()) {
    Ceiling c;
    c.id = std::string(library.precision) + "." + library.name + ".gemm." + scope.name;
    if (!options_.wants(c.id) || scope.name.starts_with("node")) continue;
    if (!library.run) {
      if (scope.name == "core") not_run_.push_back(c.id + ": " + library.missing);
      continue;
    }
    c.kind = CeilingKind::Compute;
    c.mode = options_.depth == Depth::Quick ? CeilingMode::Burst : CeilingMode::Sustained;
    c.precision = library.precision;
    c.unit_type = "vector";
    c.op = "gemm";
    c.scope = scope.name == "all" ? "device" : scope.name;
    c.data = "uniform[-1,1]";
    c.unit = "FLOP/s";
    c.units = static_cast<double>(scope.workers->size());
    c.config["threads"] = static_cast<std::int64_t>(scope.workers->size());
    Experiment e;
    e.ceiling = c;
    // The library starts its own threads; the first worker's CPU is where the caller of a single-threaded one runs.
    auto threads = static_cast<int>(scope.workers->size());
    auto caller = std::make_shared<Workers>(std::vector<int>{scope.workers->cpus().front()});
    auto workers = threads == 1 ? caller : nullptr;
    for (const int n : {512, 1024}) {
      const ChainKernel clock = chain(machine_.has("avx512f") ? "avx512" : "avx2");
      e.candidates.push_back(
          {library.name + " gemm", {{"n", std::int64_t{n}}}, [library, n, threads, workers, clock](double) {
             const double amount = 2.0 * n * n * n;
             if (workers) return workers->sample([&](std::size_t) { library.run(n, threads); }, amount, clock);
             Sample s;
             s.clock_hz = core_clock_hz(clock);
             const double start = seconds_now();
             library.run(n, threads);
             s.seconds = seconds_now() - start;
             s.rate = amount / s.seconds;
             return s;
           }});
    }
    list.push_back(std::move(e));
  }
}

std::vector<Experiment> CpuCeilings::experiments() {
  std::vector<Experiment> list;
  for (const Scope& scope : scopes_) {
    if (!scope.name.starts_with("node")) add_compute(list, scope);
    add_bandwidth(list, scope);
    add_products(list, scope);
  }
  return list;
}

std::vector<CpuCeilings::Point> CpuCeilings::sweep(double seconds) {
  const BandwidthKernel* load = nullptr;
  for (const BandwidthKernel& k : bandwidth_kernels())
    if (k.op == "load" && k.isa == fitting_isa(machine_, "load")) load = &k;
  if (load == nullptr) return {};
  const std::vector<Level> all = levels(scopes_.front());
  const double most = all.back().bytes.back();
  const std::shared_ptr<Workers>& workers = scopes_.front().workers;
  Buffer buffer;
  workers->run([&](std::size_t) {
    buffer = Buffer(static_cast<std::size_t>(most) + 4096);
    std::fill(buffer.data(), buffer.data() + buffer.size(), char{1});
  });
  std::vector<double> sizes;
  for (double bytes = 4096; bytes <= most; bytes *= 1.15) sizes.push_back(bytes);
  constexpr int kRounds = 3;
  const double each = std::max(2e-4, seconds / static_cast<double>(sizes.size()) / kRounds);
  const ChainKernel& clock = chain(load->isa);
  std::vector<Point> points;
  for (const double size : sizes) {
    const std::uint64_t bytes = array_bytes(*load, size);
    const std::uint64_t whole = bytes / static_cast<std::uint64_t>(load->step);
    Point best{static_cast<double>(bytes), 0, 0, 0};
    Pace pace;
    std::vector<double> clean, any;
    for (int round = 0; round <= kRounds; ++round) {
      const std::uint64_t trips = (pace.trips(each, whole) + whole - 1) / whole * whole;
      const Sample s =
          workers->sample([&](std::size_t) { load->run(buffer.data(), buffer.data(), buffer.data(), bytes, trips); },
                          static_cast<double>(trips) * static_cast<double>(load->step), clock);
      pace.trips_per_second = static_cast<double>(trips) / s.seconds;
      if (round == 0) continue;  // brings the working set into the caches and sets the pace
      any.push_back(s.rate);
      if ((s.disturbances & kUselessSample) == 0) clean.push_back(s.rate);
      best.clock_hz = std::max(best.clock_hz, s.clock_hz);
      best.disturbances |= s.disturbances;
    }
    std::vector<double>& rates = clean.empty() ? any : clean;
    std::sort(rates.begin(), rates.end());
    best.bytes_per_second = rates[rates.size() / 2];
    points.push_back(best);
  }
  return points;
}

double CpuCeilings::update_rate(char* memory, double bytes, double seconds) {
  for (const BandwidthKernel& k : bandwidth_kernels()) {
    if (k.op != "update" || k.isa != fitting_isa(machine_, "update")) continue;
    const std::uint64_t all = array_bytes(k, bytes), pass = all / static_cast<std::uint64_t>(k.step);
    const Pace pace{update_pace_[all]};
    const std::uint64_t trips = (pace.trips(seconds, pass) + pass - 1) / pass * pass;
    const double amount = static_cast<double>(trips) * static_cast<double>(k.step * k.moved);
    const Sample s = scopes_.front().workers->sample([&](std::size_t) { k.run(memory, memory, memory, all, trips); },
                                                     amount, chain(k.isa));
    update_pace_[all] = static_cast<double>(trips) / s.seconds;
    return s.rate;
  }
  return 0;
}

}  // namespace ceilings
