// Common to all experiments of a GPU; the sweep of its L2, and the negative controls.
#include <algorithm>
#include <cmath>

#include "gpu_run.h"
#include "pagoda/base/statistics.h"
#include "run_checks.h"

namespace pagoda::tools::ceilings {

using documents::Ceiling, documents::CeilingKind, documents::CeilingMode;

GpuCeilings::GpuCeilings(Gpu& gpu, NvmlTrace& trace, const Options& options)
    : gpu_(gpu), trace_(trace), options_(options) {
  clocks_ = GpuBuffer(gpu, kMostRecords * sizeof(Clocks));
  // Results of the largest grid: 128 words of up to 8 bytes per thread at one block per SM, or 32 at kMostBlocksPerSm.
  words_ = GpuBuffer(gpu, std::size_t{sms()} * kMostBlocksPerSm * 256 * 32 * 8);
}

Experiment GpuCeilings::start(Ceiling ceiling) const {
  Experiment e;
  e.ceiling = std::move(ceiling);
  e.ceiling.scope = "device";
  e.ceiling.units = gpu_.attributes().sms;
  e.theory = [this](Ceiling& c) { c.theory = lab::gpu_theory(gpu_.attributes(), c); };
  return e;
}

// A sample with NVML's readings since the last one.
Sample GpuCeilings::watched(double amount, double seconds) {
  const NvmlTrace::Since since = trace_.since_last();
  return {.rate = amount / seconds, .seconds = seconds, .watts = since.watts, .disturbances = since.disturbances};
}

// A sample with the clock while the kernel ran: cycles over nanoseconds of each block.
Sample GpuCeilings::finish(double amount, double seconds, unsigned blocks) {
  std::vector<double> hertz;
  for (const Clocks& r : gpu_.read<Clocks>(clocks_.get(), std::min<unsigned>(blocks, kMostRecords))) {
    const double cycles = static_cast<double>(r.cycles[1] - r.cycles[0]);
    const double nanoseconds = static_cast<double>(r.nanoseconds[1] - r.nanoseconds[0]);
    // The global timer ticks every 32 ns to 1 us: blocks shorter than 0.2 ms are too inaccurate.
    if (nanoseconds > 2e5) hertz.push_back(1e9 * cycles / nanoseconds);
  }
  Sample s = watched(amount, seconds);
  if (!hertz.empty()) s.clock_hz = base::median(hertz);
  return s;
}

Candidate GpuCeilings::paced(const std::string& kernel, base::Settings config, unsigned at_first, double work,
                             unsigned blocks, std::function<double(unsigned)> run) {
  return {kernel, std::move(config),
          [this, pace = Pace(), at_first, work, blocks, run = std::move(run)](double seconds) mutable {
            const unsigned trips = trips_for(pace, seconds, at_first);
            const double took = run(trips);
            pace.trips_per_second = trips / took;
            return finish(work * trips, took, blocks);
          }};
}

Candidate GpuCeilings::looped(const std::string& kernel, unsigned blocks_per_sm, const Gpu::Launch& launch, double work,
                              const Arguments& operands) {
  return paced(kernel, grid_config(blocks_per_sm, launch.threads), 200, work * launch.blocks, launch.blocks,
               [this, kernel, launch, operands](unsigned trips) {
                 return gpu_.time(kernel, launch, {trips, operands, words_, clocks_});
               });
}

unsigned GpuCeilings::trips_for(const Pace& pace, double seconds, unsigned at_first) const {
  return fixed_trips_ ? *fixed_trips_ : static_cast<unsigned>(pace.trips(seconds, at_first));
}

// Products of the library, on random data: reported next to our own ceilings, never in place of them.
void GpuCeilings::add_products(std::vector<Experiment>& list) {
  if (std::ranges::none_of(GpuGemm::types(), [&](const GpuGemm::Type& type) {
        return options_.wants(cat(type.precision, ".cublaslt.gemm"));
      }))
    return;
  if (!gemm_) gemm_ = std::make_shared<GpuGemm>(gpu_);
  if (!gemm_->why().empty()) {
    not_run_.push_back("library products: " + gemm_->why());
    return;
  }
  for (const GpuGemm::Type& type : GpuGemm::types()) {
    const bool is_tensor = std::string_view(type.precision) != "float32";
    Experiment e = start({.id = cat(type.precision, ".cublaslt.gemm"),
                          .kind = CeilingKind::Compute,
                          .mode = CeilingMode::Sustained,
                          .precision = type.precision,
                          .unit_type = is_tensor ? "tensor" : "vector",
                          .accumulate = accumulator_of(type.precision),
                          .op = "gemm",
                          .data = "uniform[-1,1]",
                          .unit = unit_of(type.precision)});
    e.heats = is_tensor;
    const int n = std::string_view(type.precision) == "float64" || !is_tensor ? 4096 : 8192;
    e.ceiling.config["n"] = std::int64_t{n};
    constexpr int kMost = 4;
    auto found = std::make_shared<int>(0);
    e.prepare = [gemm = gemm_, &type, n, found] { *found = gemm->prepare(type, n, kMost); };
    e.release = [gemm = gemm_] { gemm->release(); };
    e.verify = [gemm = gemm_] {
      gemm->seconds(0, 1);
      return gemm->right();
    };
    for (int i = 0; i < kMost; ++i)
      e.candidates.push_back({"cublasLtMatmul",
                              {{"algorithm", std::int64_t{i}}},
                              [this, pace = Pace(), n, i, found](double seconds) mutable {
                                if (i >= *found) return Sample();  // not proposed; a rate of 0 is never chosen
                                const unsigned repeats = trips_for(pace, seconds, 1);
                                const double took = gemm_->seconds(i, repeats);
                                pace.trips_per_second = repeats / took;
                                return watched(2.0 * n * n * n * repeats, took);
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
  add_products(list);
  std::erase_if(list, [&](const Experiment& e) { return !options_.wants(e.ceiling.id); });
  return list;
}

std::vector<documents::CeilingCheck> GpuCeilings::controls() {
  std::vector<documents::CeilingCheck> checks;
  const auto expect = [&](const char* name, double ratio, double wanted, double tolerance) {
    checks.push_back({name, std::abs(ratio / wanted - 1) <= tolerance,
                      printed("%.3f, must be %.3g within %.0f %%", ratio, wanted, 100 * tolerance)});
  };
  const auto middle = [](const std::function<double()>& once) {
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) seconds.push_back(once());
    return base::median(seconds);
  };
  const auto fma = [&](unsigned trips) {
    return middle([&] { return gpu_.time("fma_f32", {sms() * 4, 256}, {trips, 0.0F, 0.0F, words_, clocks_}); });
  };
  const auto shared = [&](unsigned stride) {
    return middle([&] { return gpu_.time("shared_read", {sms() * 4, 256, 32768}, {20000U, stride, words_, clocks_}); });
  };
  fma(20000);  // raises the clock
  expect("twice the work takes twice the time", fma(40000) / fma(20000), 2, 0.02);
  // 16-byte loads are processed by quarter-warps: 8 lanes over 32 banks. Lanes 32 bytes apart conflict in pairs.
  expect("a stride of 2 halves shared memory", shared(2) / shared(1), 2, 0.05);
  return checks;
}

}  // namespace pagoda::tools::ceilings
