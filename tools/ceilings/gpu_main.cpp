// `ert-ceilings --gpu N`: from the driver to a document.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "energy_run.h"
#include "gpu_blobs.h"
#include "gpu_run.h"
#include "progress.h"
#include "runs.h"
#include "sass.h"
#include "workers.h"

namespace ceilings {
namespace {

using pagoda::Ceiling;
using pagoda::CeilingsDocument;

Plan plan_of(const Options& options, std::size_t experiments) {
  Plan plan;
  plan.seed = options.seed;
  const auto n = static_cast<double>(experiments);
  switch (options.depth) {
    case Depth::Quick:
      plan.sample_seconds = 0.01;
      plan.warm_up_seconds = 0.2;
      plan.choose_samples = 2;
      plan.visits = 3;
      plan.min_samples = 9;
      plan.max_samples = 30;
      plan.half_width = 0.01;
      plan.budget_seconds = std::min(50.0, 1.2 * n);
      break;
    case Depth::Normal:
      plan.sample_seconds = 0.05;
      plan.visits = 3;
      plan.min_samples = 15;
      plan.warm_up_seconds = 1;
      plan.budget_seconds = std::min(180.0, 4 * n);
      break;
    case Depth::Full:
      plan.sample_seconds = 0.5;
      plan.warm_up_seconds = 5;
      plan.visits = 3;
      plan.min_samples = 12;
      plan.max_samples = 24;
      plan.budget_seconds = std::min(540.0, 12 * n);
      break;
  }
  if (options.budget_seconds) plan.budget_seconds = *options.budget_seconds;
  return plan;
}

template <typename T>
pagoda::Setting setting(const std::optional<T>& value) {
  if (!value) return std::monostate{};
  return *value;
}

void describe(const Gpu& gpu, const Nvml& nvml, int capability, CeilingsDocument& document) {
  const pagoda::GpuAttributes& a = gpu.attributes();
  auto& m = document.machine;
  m["name"] = a.name;
  m["compute_capability"] = std::to_string(a.major) + "." + std::to_string(a.minor);
  m["sms"] = std::int64_t{a.sms};
  m["l2_bytes"] = static_cast<std::int64_t>(a.l2_bytes);
  m["memory_bus_bits"] = std::int64_t{a.memory_bus_bits};
  m["ecc"] = gpu.ecc();
  m["code_for"] = "sm_" + std::to_string(capability);
  document.clocks["sm_max_hz"] = a.sm_clock_hz;
  document.clocks["memory_max_hz"] = a.memory_clock_hz;
  auto& env = document.env;
  env["cuda_driver_version"] = std::int64_t{gpu.driver_version()};
  env["nvml"] = nvml.available() ? "available" : nvml.why();
  if (nvml.available()) {
    env["driver"] = nvml.driver();
    env["power_limit_watts"] = setting(nvml.limit_watts());
    for (const auto& [key, value] : nvml.link()) env[key] = value;
  }
}

void attach_code(int capability, std::vector<Ceiling>& ceilings) {
  for (const SassClaim& claim : sass_claims())
    for (const GpuBlob& blob : gpu_blobs()) {
      if (blob.capability != capability) continue;
      const auto loop = hot_loop(blob.cubin, blob.capability, claim.kernel, claim.instructions);
      if (!loop) continue;
      for (Ceiling& c : ceilings)
        if (c.kernel == claim.kernel) {
          for (const auto& [name, count] : loop->count) c.code[name] = std::int64_t{count};
          c.code["total"] = std::int64_t{loop->total};
        }
    }
}

// Sustained after issue: what random data and heat leave of a rate may not exceed it.
void check_modes(CeilingsDocument& document) {
  double worst = 0;
  std::string where;
  for (const Ceiling& issue : document.ceilings) {
    if (issue.mode != pagoda::CeilingMode::Issue || !issue.value) continue;
    for (const Ceiling& c : document.ceilings)
      if (c.id == issue.id && c.mode == pagoda::CeilingMode::Sustained && c.value && *c.value / *issue.value > worst) {
        worst = *c.value / *issue.value;
        where = c.id;
      }
  }
  if (worst > 0) {
    char text[96];
    std::snprintf(text, sizeof text, "%s: sustained is %.1f %% of issue", where.c_str(), 100 * worst);
    document.checks.push_back({"sustained below issue", worst <= 1.01, text});
  }
}

void check_levels(CeilingsDocument& document) {
  std::string detail;
  double outer = 0;
  bool passed = true;
  for (const char* level : {"dram", "l2", "l1"}) {
    const Ceiling* read = find_ceiling(document, std::string(level) + ".read");
    if (!read || !read->value) continue;
    passed = passed && *read->value > outer;
    outer = *read->value;
    char text[48];
    std::snprintf(text, sizeof text, "%s%s %.0f", detail.empty() ? "" : " < ", level, outer * 1e-9);
    detail += text;
  }
  if (!detail.empty()) document.checks.push_back({"levels in order", passed, detail + " GB/s"});
}

void add_energy(Gpu& gpu, const Nvml& nvml, GpuCeilings& ceilings, const Options& options, CeilingsDocument& document) {
  if (!nvml.joules()) {
    document.not_run.push_back("energy: " + (nvml.available() ? "the GPU has no energy counter" : nvml.why()));
    return;
  }
  EnergyPlan plan;
  plan.source = "nvml";
  plan.joules = [&nvml] { return nvml.joules().value_or(0); };
  plan.now = seconds_now;
  plan.sleep = [&gpu](double seconds) {
    gpu.synchronize();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  if (options.depth == Depth::Quick) {
    plan.settle_seconds = 1;
    plan.window_seconds = 4;
  }
  const bool hopper = gpu.has("wgmma_bf16");
  const std::pair<const char*, const char*> wanted[] = {{"float32.cuda.fma", "float32"},
                                                        {"float64.cuda.fma", "float64"},
                                                        {hopper ? "bfloat16.wgmma" : "bfloat16.mma", "bfloat16_tensor"},
                                                        {"shared.read", "shared"},
                                                        {"l2.read", "l2"},
                                                        {"dram.read", "dram"}};
  auto experiments = std::make_shared<std::vector<Experiment>>(ceilings.experiments());
  for (const auto& [id, name] : wanted)
    for (Experiment& e : *experiments) {
      if (e.ceiling.id != id || e.ceiling.mode != pagoda::CeilingMode::Sustained) continue;
      const std::size_t index = plan.names.size();
      plan.names.push_back(name);
      plan.units.push_back(e.ceiling.kind == pagoda::CeilingKind::Compute ? "J/FLOP" : "J/B");
      if (e.prepare) e.prepare();
      plan.loads.push_back({id, [&e, index, experiments](double seconds) {
                              const Sample s = e.candidates.front().run(seconds);
                              std::vector<double> work(index + 1, 0);
                              work[index] = s.rate * s.seconds;
                              return work;
                            }});
    }
  run_energy(plan, document);
  for (Experiment& e : *experiments)
    if (e.release) e.release();
}

}  // namespace

int best_capability(int major, int minor) {
  int best = 0;
  for (const GpuBlob& blob : gpu_blobs())
    if (blob.capability / 10 == major && blob.capability % 10 <= minor) best = std::max(best, blob.capability);
  return best;
}

bool audit_gpu(const Options& options, std::string& text) {
  bool fine = true;
  for (const GpuBlob& blob : gpu_blobs())
    for (const SassClaim& claim : sass_claims()) {
      if (!options.wants(std::string(claim.kernel))) continue;
      const auto loop = hot_loop(blob.cubin, blob.capability, claim.kernel, claim.instructions);
      if (!loop) continue;
      const std::string wrong = objection(blob.cubin, claim, blob.capability);
      fine = fine && wrong.empty();
      text += "sm_" + std::to_string(blob.capability) + " " + std::string(claim.kernel) + ": ";
      for (const auto& [name, count] : loop->count) text += std::to_string(count) + " " + name + " ";
      text += "of " + std::to_string(loop->total) + (wrong.empty() ? "" : " - " + wrong) + "\n";
    }
  if (gpu_blobs().empty()) text += "no GPU kernels: this build had no CUDA compiler\n";
  return fine;
}

Outcome run_gpu(const Options& options, bool show_progress) {
  Outcome outcome;
  CeilingsDocument& document = outcome.document;
  document.kind = "gpu";
  Gpu gpu(*options.gpu);
  const pagoda::GpuAttributes& a = gpu.attributes();
  if (gpu_blobs().empty())
    throw GpuError("this build has no GPU kernels; build it where nvcc is found (PAGODA_CUDA=ON)");
  const int capability = best_capability(a.major, a.minor);
  if (capability == 0)
    throw GpuError("no kernels for compute capability " + std::to_string(a.major) + "." + std::to_string(a.minor) +
                   "; add it to PAGODA_CUDA_ARCHITECTURES");
  for (const GpuBlob& blob : gpu_blobs())
    if (blob.capability == capability) gpu.load(blob.cubin);

  const Nvml nvml(gpu.pci_bus_id());
  NvmlTrace trace(nvml);
  describe(gpu, nvml, capability, document);
  GpuCeilings ceilings(gpu, trace, options);
  std::vector<Experiment> experiments = ceilings.experiments();
  document.not_run = ceilings.not_run();
  document.not_run.push_back("library products (cuBLASLt): not measured by this version");
  if (options.counters) document.not_run.push_back("counters: not read by this version; compare with ncu");

  ProgressLine line(show_progress);
  const Plan plan = plan_of(options, experiments.size());
  Measured measured = measure(experiments, plan, seconds_now, [&](const Progress& p) { line.show(p); });
  document.ceilings = std::move(measured.ceilings);
  document.checks = std::move(measured.checks);
  attach_code(capability, document.ceilings);
  for (const SassClaim& claim : sass_claims())
    for (const GpuBlob& blob : gpu_blobs())
      if (blob.capability == capability)
        if (const std::string wrong = objection(blob.cubin, claim, capability); !wrong.empty())
          document.checks.push_back({"machine code", false, wrong});

  if (options.only.empty()) {
    line.show("sweep of the second level");
    outcome.points_csv = "level,working_set_bytes,bytes_per_second\n";
    for (const GpuCeilings::Point& p : ceilings.l2_sweep()) {
      char text[96];
      std::snprintf(text, sizeof text, "l2,%.0f,%.6g\n", p.bytes, p.bytes_per_second);
      outcome.points_csv += text;
    }
    line.show("negative controls");
    for (pagoda::CeilingCheck& check : ceilings.controls()) document.checks.push_back(std::move(check));
    check_modes(document);
    check_levels(document);
  }
  if (options.energy) {
    line.show("energy");
    add_energy(gpu, nvml, ceilings, options, document);
  }
  line.clear();
  std::string reasons;
  std::uint32_t seen = 0;
  double hottest = 0;
  for (const TracePoint& p : trace.points()) {
    seen |= p.disturbances;
    hottest = std::max(hottest, p.celsius);
  }
  for (const std::string& name : names(seen)) reasons += (reasons.empty() ? "" : " ") + name;
  document.env["throttle_reasons"] = reasons;
  if (hottest > 0) document.env["hottest_celsius"] = hottest;
  document.env["seed"] = static_cast<std::int64_t>(plan.seed);
  document.env["sample_seconds"] = plan.sample_seconds;
  return outcome;
}

}  // namespace ceilings
