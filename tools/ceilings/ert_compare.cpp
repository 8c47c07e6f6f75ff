// Our roof against ERT's kernel at every intensity it can be driven at.
#include <algorithm>
#include <cstdio>

#include "cpu_run.h"
#include "ert_kernel.h"
#include "pagoda/statistics.h"

namespace ceilings {

pagoda::CeilingCheck compare_with_ert(CpuCeilings& cpu, const std::vector<pagoda::Ceiling>& ceilings, double seconds) {
  // The roof of one core at an intensity: the best float64 rate, or the best bandwidth of the level times it.
  double peak = 0;
  std::vector<std::pair<std::string, double>> levels;
  for (const pagoda::KnownLevel& level : cpu.known_levels()) levels.push_back({level.level, 0});
  for (const pagoda::Ceiling& c : ceilings) {
    if (!c.value || c.scope != "core") continue;
    const double best = c.p95.value_or(*c.value);  // both sides by what they can reach: noise only takes away
    if (c.precision == "float64") peak = std::max(peak, best);
    for (auto& [name, bandwidth] : levels)
      if (c.level == name) bandwidth = std::max(bandwidth, best);
  }
  pagoda::CeilingCheck check{"ert", true, ""};
  if (peak <= 0) return {"ert", false, "no float64 ceiling of one core was measured"};
  const bool wide = cpu.chain("avx512").isa == "avx512";
  const auto kernels = ert_kernels(wide);
  const std::vector<pagoda::KnownLevel> known = cpu.known_levels();
  const double each = seconds / static_cast<double>(kernels.size() * known.size());
  double worst = 0;
  std::string where;
  for (std::size_t level = 0; level < known.size(); ++level) {
    if (levels[level].second <= 0) continue;
    // Half of a cache; of memory four times the last cache.
    const double bytes = known[level].capacity_bytes ? *known[level].capacity_bytes * 0.5
                                                     : 4 * known[level - 1].capacity_bytes.value_or(32 << 20);
    const auto n = static_cast<std::int64_t>(bytes / 8);
    Buffer buffer;
    const auto& workers = cpu.scopes().front().workers;
    workers->run([&](std::size_t) {
      buffer = Buffer(static_cast<std::size_t>(bytes) + 64);
      auto* a = reinterpret_cast<double*>(buffer.data());
      std::fill(a, a + n, 1.0);
    });
    // Ours on the same pages and in the same moments: both a clock that rises and a neighbour that leaves favour both.
    const auto ours = [&](double slice) { return cpu.update_rate(buffer.data(), bytes, slice); };
    for (const ErtKernel& kernel : kernels) {
      std::vector<double> rates, beside;
      std::int64_t trials = 1;
      double spent = 0;
      while (spent < each || rates.size() < 4) {
        const double work = static_cast<double>(trials) * static_cast<double>(n) * kernel.flops;
        const Sample s =
            workers->sample([&](std::size_t) { kernel.run(reinterpret_cast<double*>(buffer.data()), n, trials); }, work,
                            cpu.chain("scalar"));
        spent += 2 * s.seconds;
        beside.push_back(ours(s.seconds));
        if (trials > 1 || s.seconds > each / 8) rates.push_back(s.rate);
        trials =
            std::max<std::int64_t>(2, static_cast<std::int64_t>(static_cast<double>(trials) * each / 8 / s.seconds));
      }
      std::sort(rates.begin(), rates.end());
      std::sort(beside.begin(), beside.end());
      levels[level].second = std::max(levels[level].second, pagoda::quantile(beside, 0.95));
      const double reached = pagoda::quantile(rates, 0.95);
      const double intensity = kernel.flops / 16.0;
      const double roof = std::min(peak, intensity * levels[level].second);
      if (reached / roof > worst) {
        worst = reached / roof;
        char text[128];
        std::snprintf(text, sizeof text, "%s at %d FLOP per element: %.2f GFLOP/s under a roof of %.2f",
                      levels[level].first.c_str(), kernel.flops, reached * 1e-9, roof * 1e-9);
        where = text;
      }
    }
  }
  check.passed = worst <= 1.02;
  char text[64];
  std::snprintf(text, sizeof text, "; at most %.1f %% of ours", 100 * worst);
  check.detail = where + text;
  return check;
}

}  // namespace ceilings
