// Experiments of a CPU: which kernels run on which cores over which working sets, and their expected results.
#include "cpu_run.h"

#include <algorithm>

#include "pagoda/base/cat.h"
#include "pagoda/base/statistics.h"
#include "system_files.h"

namespace pagoda::tools::ceilings {
namespace {

using documents::Ceiling, documents::CeilingKind, documents::CeilingMode;

// Runs `work`, which does `trips` trips on each worker, each worth `per_trip`.
Sample run_trips(Pace& pace, Workers& workers, std::uint64_t trips, double per_trip,
                 const std::function<void(std::size_t)>& work, const ChainKernel& clock) {
  const double amount = static_cast<double>(trips) * per_trip * static_cast<double>(workers.size());
  const Sample s = workers.sample(work, amount, &clock);
  pace.trips_per_second = static_cast<double>(trips) / s.seconds;
  return s;
}

}  // namespace

std::vector<const BandwidthKernel*> widest_kernels(const CpuMachine& machine, std::string_view op) {
  std::vector<const BandwidthKernel*> result;
  for (const BandwidthKernel& k : bandwidth_kernels()) {
    if (k.op != op || !machine.has(k.feature)) continue;
    if (!result.empty() && k.vector_bits > result.front()->vector_bits) result.clear();
    if (result.empty() || k.isa == result.front()->isa) result.push_back(&k);
  }
  return result;
}

std::uint64_t array_bytes(const BandwidthKernel& k, double working_set) {
  const double each = working_set / k.arrays;
  return std::max<std::uint64_t>(1024, static_cast<std::uint64_t>(each / 1024) * 1024);
}

void run_on(const BandwidthKernel& k, char* memory, std::uint64_t bytes, std::uint64_t trips) {
  char* a = memory;
  char* b = k.arrays > 1 ? a + bytes + kArrayGap : a;
  char* c = k.arrays > 2 ? b + bytes + kArrayGap : b;
  k.run(a, b, c, bytes, trips);
}

CpuCeilings::CpuCeilings(const CpuMachine& machine, const Options& options) : machine_(machine), options_(options) {
  std::vector<int> cores = machine.topology.one_per_core();
  if (machine.limits.cpus && *machine.limits.cpus < static_cast<double>(cores.size())) {
    const auto allowed = std::max<std::size_t>(1, static_cast<std::size_t>(*machine.limits.cpus));
    not_run_.push_back(cat("cores beyond the control group's quota of ", allowed, " of ", cores.size()));
    cores.resize(allowed);
  }
  scopes_.push_back({"core", std::make_shared<Workers>(std::vector<int>{cores.front()})});
  if (cores.size() > 1) scopes_.push_back({"all", std::make_shared<Workers>(cores)});
  const std::vector<int> nodes = machine.topology.nodes();
  if (nodes.size() > 1) {
    for (const int node : nodes) {
      std::vector<int> of_node;
      for (const Cpu& cpu : machine.topology.cpus)
        if (cpu.node == node && contains(cores, cpu.id)) of_node.push_back(cpu.id);
      if (!of_node.empty()) scopes_.push_back({cat("node", node), std::make_shared<Workers>(of_node)});
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

Ceiling CpuCeilings::start(std::string id, CeilingKind kind, const Scope& scope, std::string_view op) const {
  Ceiling c;
  c.id = std::move(id);
  c.kind = kind;
  c.mode = options_.depth == Depth::Quick ? CeilingMode::Burst : CeilingMode::Sustained;
  c.op = op;
  c.scope = scope.name == "all" ? "device" : scope.name;
  c.unit = kind == CeilingKind::Bandwidth ? "B/s" : "FLOP/s";
  c.units = static_cast<double>(scope.workers->size());
  c.config["threads"] = static_cast<std::int64_t>(scope.workers->size());
  return c;
}

void CpuCeilings::set_theory(Ceiling& c, std::optional<double> per_clock) const {
  if (!per_clock) return;
  if (c.clock_hz) c.theory.observed_clock = *per_clock * *c.units * *c.clock_hz;
  if (machine_.max_hz) c.theory.max_clock = *per_clock * *c.units * *machine_.max_hz;
  c.theory.source = cat("pipes of ", machine_.core->microarchitecture, " by its vendor's optimization guide");
}

void CpuCeilings::add_compute(std::vector<Experiment>& list, const Scope& scope) {
  for (const ComputeKernel& k : compute_kernels()) {
    Experiment e;
    e.ceiling =
        start(cat(to_string(k.precision), ".", k.isa, ".", k.op, ".", scope.name), CeilingKind::Compute, scope, k.op);
    Ceiling& c = e.ceiling;
    c.precision = to_string(k.precision);
    c.unit_type = k.isa == "amx" ? "tensor" : k.isa == "scalar" ? "scalar" : "vector";
    c.accumulate = k.accumulate;
    c.data = "bounded";
    if (k.accumulate == "int32") c.unit = "OP/s";
    c.config["vector_bits"] = std::int64_t{k.vector_bits};
    if (!options_.wants(c.id)) continue;
    if (!machine_.has(k.feature) || (k.step == Step::Tile && !allow_tiles())) {
      if (scope.name == "core") not_run_.push_back(cat(c.id, ": the CPU has no ", k.feature));
      continue;
    }
    e.candidates.push_back({std::string(k.name),
                            {},
                            [&k, workers = scope.workers, pace = Pace(), in = operands(k),
                             clock = chain(k.isa == "amx" ? "avx512" : k.isa)](double seconds) mutable {
                              const std::uint64_t trips = pace.trips(seconds, 1000);
                              const auto work = [&](std::size_t) {
                                alignas(64) char out[4096];
                                k.run(trips, in.data(), out);
                              };
                              return run_trips(pace, *workers, trips, static_cast<double>(k.work), work, clock);
                            }});
    e.verify = [&k] { return right_result(k); };
    e.theory = [this, &k](Ceiling& ceiling) {
      if (machine_.core) set_theory(ceiling, lab::work_per_clock(*machine_.core, k.precision, k.vector_bits, k.op));
    };
    list.push_back(std::move(e));
  }
}

std::vector<lab::KnownLevel> CpuCeilings::known_levels() const {
  std::vector<lab::KnownLevel> result;
  const int cpu = scopes_.front().workers->cpus().front();
  for (int level = 1; level <= machine_.topology.last_level(); ++level)
    if (const Cache* cache = machine_.topology.cache(level, cpu))
      result.push_back({cat("l", level), static_cast<double>(cache->bytes)});
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
    const auto sharing = std::ranges::count_if(cpus, [&](int cpu) { return contains(cache->cpus, cpu); });
    const double share = static_cast<double>(cache->bytes) / static_cast<double>(std::max<std::ptrdiff_t>(sharing, 1));
    Level l{cat("l", level), {}};
    // Well inside this level and well beyond the previous one.
    for (const double part : {0.35, 0.6})
      if (part * share > 1.5 * inner) l.bytes.push_back(part * share);
    if (!l.bytes.empty()) result.push_back(l);
    inner = static_cast<double>(cache->bytes);
  }
  // DRAM: four times the capacity of all last-level caches and at least 128 MiB, divided among all cores.
  double all = std::max(4.0 * static_cast<double>(machine_.topology.total_bytes(machine_.topology.last_level())),
                        static_cast<double>(128 << 20));
  if (machine_.limits.memory_bytes) all = std::min(all, 0.5 * static_cast<double>(*machine_.limits.memory_bytes));
  result.push_back({"dram", {all / static_cast<double>(cpus.size())}});
  return result;
}

void CpuCeilings::add_bandwidth(std::vector<Experiment>& list, const Scope& scope) {
  for (const Level& level : levels(scope))
    for (const BandwidthKernel& k : bandwidth_kernels()) {
      const std::vector<const BandwidthKernel*> widest = widest_kernels(machine_, k.op);
      const bool is_widest = !widest.empty() && &k == widest.front();
      const bool memory = level.name == "dram";
      if (k.op.ends_with("_nt") && !memory) continue;
      // Narrower loads are measured only in L1, where they show the width of the load port.
      const bool narrower = !widest.empty() && k.isa != widest.front()->isa && machine_.has(k.feature);
      const bool shows_port = narrower && level.name == "l1" && k.op == "load" && options_.depth == Depth::Full;
      if (!is_widest && !shows_port) continue;
      if (scope.name.starts_with("node") && !(memory && (k.op == "load" || k.op == "triad"))) continue;
      Experiment e;
      e.ceiling = start(cat(level.name, ".", k.op, is_widest ? "" : ".", is_widest ? "" : k.isa, ".", scope.name),
                        CeilingKind::Bandwidth, scope, k.op);
      Ceiling& c = e.ceiling;
      c.level = level.name;
      c.data = "ones";
      c.config["vector_bits"] = std::int64_t{k.vector_bits};
      // Multiply by this factor for the level's traffic including lines allocated by stores.
      c.config["write_allocate_factor"] = static_cast<double>(k.moved + k.allocated) / k.moved;
      if (!options_.wants(c.id)) continue;
      auto memory_of = std::make_shared<std::vector<Buffer>>();
      const double most = *std::ranges::max_element(level.bytes);
      e.prepare = [workers = scope.workers, memory_of, most] {
        *memory_of = filled(*workers, static_cast<std::size_t>(most));
      };
      e.release = [memory_of] { memory_of->clear(); };
      // Other orders of the same accesses may be faster beyond L1; in L1, only the issue rate matters.
      std::vector<const BandwidthKernel*> orders = {&k};
      if (is_widest && level.name != "l1") orders = widest;
      for (const BandwidthKernel* order : orders)
        for (const double working_set : level.bytes)
          e.candidates.push_back(candidate(*order, working_set, scope.workers, memory_of));
      e.verify = [orders] {
        Verdict verdict;
        for (const BandwidthKernel* order : orders)
          if (verdict.right) verdict = right_result(*order);
        return verdict;
      };
      e.theory = [this, &k, is_l1 = level.name == "l1"](Ceiling& ceiling) {
        if (!machine_.core || !is_l1) return;
        // The vendors' guides list pipes for NEON; longer SVE vectors may use them differently.
        if (k.isa == "sve" && k.vector_bits > machine_.core->load_bits) return;
        set_theory(ceiling, lab::l1_bytes_per_clock(*machine_.core, k.vector_bits, k.op));
      };
      list.push_back(std::move(e));
    }
}

Candidate CpuCeilings::candidate(const BandwidthKernel& k, double working_set, std::shared_ptr<Workers> workers,
                                 std::shared_ptr<std::vector<Buffer>> memory_of) const {
  const std::uint64_t bytes = array_bytes(k, working_set);
  return {std::string(k.name),
          {{"working_set_bytes", static_cast<std::int64_t>(bytes) * k.arrays}},
          [&k, workers, memory_of, pace = Pace(), bytes, clock = chain(k.isa)](double seconds) mutable {
            const std::uint64_t whole = bytes / static_cast<std::uint64_t>(k.step);
            // Only whole passes, so that every line is accessed equally often.
            const std::uint64_t trips = (pace.trips(seconds, whole) + whole - 1) / whole * whole;
            return run_trips(
                pace, *workers, trips, static_cast<double>(k.step * k.moved),
                [&](std::size_t worker) { run_on(k, (*memory_of)[worker].data(), bytes, trips); }, clock);
          }};
}

// Matrix products of installed libraries, next to our own peaks: a library can be slower, never faster.
void CpuCeilings::add_products(std::vector<Experiment>& list, const Scope& scope) {
  for (const GemmLibrary& library : gemm_libraries()) {
    Experiment e;
    e.ceiling =
        start(cat(library.precision, ".", library.name, ".gemm.", scope.name), CeilingKind::Compute, scope, "gemm");
    Ceiling& c = e.ceiling;
    if (!options_.wants(c.id) || scope.name.starts_with("node")) continue;
    if (!library.run) {
      if (scope.name == "core") not_run_.push_back(c.id + ": " + library.missing);
      continue;
    }
    c.precision = library.precision;
    c.unit_type = "vector";
    c.data = "uniform[-1,1]";
    // The library starts its own threads; with a single thread, its caller runs on the first worker's CPU.
    auto threads = static_cast<int>(scope.workers->size());
    auto caller = std::make_shared<Workers>(std::vector<int>{scope.workers->cpus().front()});
    auto workers = threads == 1 ? caller : nullptr;
    for (const int n : {512, 1024}) {
      const ChainKernel clock = chain(machine_.has("avx512f") ? "avx512" : "avx2");
      e.candidates.push_back(
          {library.name + " gemm", {{"n", std::int64_t{n}}}, [library, n, threads, workers, clock](double) {
             const double amount = 2.0 * n * n * n;
             if (workers) return workers->sample([&](std::size_t) { library.run(n, threads); }, amount, &clock);
             Sample s;
             s.clock_hz = core_clock_hz(clock);
             const double start = steady_seconds();
             library.run(n, threads);
             s.seconds = steady_seconds() - start;
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
  const std::vector<const BandwidthKernel*> loads = widest_kernels(machine_, "load");
  if (loads.empty()) return {};
  const std::vector<Level> all = levels(scopes_.front());
  const double most = all.back().bytes.back();
  const std::shared_ptr<Workers> workers = scopes_.front().workers;
  const auto memory = std::make_shared<std::vector<Buffer>>(filled(*workers, static_cast<std::size_t>(most)));
  std::vector<double> sizes;
  for (double bytes = 4096; bytes <= most; bytes *= 1.15) sizes.push_back(bytes);
  constexpr int kRounds = 3;
  const double each = std::max(2e-4, seconds / static_cast<double>(sizes.size() * loads.size()) / kRounds);
  std::vector<Point> points;
  for (const double size : sizes) {
    Point best{{static_cast<double>(array_bytes(*loads.front(), size)), 0}, 0, 0};
    // Best over all orders of accesses: the rate of the level, not of one order.
    for (const BandwidthKernel* load : loads) {
      const Candidate one = candidate(*load, size, workers, memory);
      std::vector<double> clean, any;
      for (int round = 0; round <= kRounds; ++round) {
        const Sample s = one.run(each);
        if (round == 0) continue;  // warms the caches and sets the pace
        any.push_back(s.rate);
        if ((s.disturbances & kUselessSample) == 0) clean.push_back(s.rate);
        best.clock_hz = std::max(best.clock_hz, s.clock_hz);
        best.disturbances |= s.disturbances;
      }
      best.bytes_per_second = std::max(best.bytes_per_second, base::median(clean.empty() ? any : clean));
    }
    points.push_back(best);
  }
  return points;
}

}  // namespace pagoda::tools::ceilings
