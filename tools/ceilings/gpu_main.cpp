// `ert-ceilings --gpu N`: measures the device and creates the document.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "energy_run.h"
#include "gpu_blobs.h"
#include "gpu_counters.h"
#include "gpu_run.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/lab/plateaus.h"
#include "run_checks.h"
#include "runs.h"

namespace pagoda::tools::ceilings {
namespace {

using documents::Ceiling, documents::CeilingMode, documents::CeilingsDocument;

// By Depth: quick, normal, full.
// clang-format off
constexpr std::array<Plan, 3> kPlans = {{
    {.sample_seconds = 0.01, .warm_up_seconds = 0.2, .choose_samples = 2, .visits = 3, .min_samples = 9, .max_samples = 30, .half_width = 0.01, .budget_seconds = 50, .seconds_each = 1.2},
    {.sample_seconds = 0.05, .warm_up_seconds = 1, .soak_seconds = 5, .visits = 3, .min_samples = 15, .budget_seconds = 180, .seconds_each = 4},
    {.sample_seconds = 0.5, .warm_up_seconds = 5, .soak_seconds = 5, .visits = 3, .min_samples = 12, .max_samples = 24, .budget_seconds = 540, .seconds_each = 12},
}};
// clang-format on

void describe(Gpu& gpu, const Nvml& nvml, int capability, CeilingsDocument& document) {
  const lab::GpuAttributes& a = gpu.attributes();
  auto& m = document.machine;
  m["name"] = a.name;
  m["compute_capability"] = cat(a.major, ".", a.minor);
  m["sms"] = std::int64_t{a.sms};
  m["l2_bytes"] = static_cast<std::int64_t>(a.l2_bytes);
  m["memory_bytes"] = static_cast<std::int64_t>(gpu.memory_bytes());
  m["memory_bus_bits"] = std::int64_t{a.memory_bus_bits};
  m["ecc"] = gpu.ecc();
  m["code_for"] = cat("sm_", capability);
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

// The best rate of our own kernels in a mode, with the same kind, precision and unit type; 0: none.
double best_own(const CeilingsDocument& document, const Ceiling& like, CeilingMode mode) {
  double best = 0;
  for (const Ceiling& c : document.ceilings)
    if (c.value && c.kind == like.kind && c.precision == like.precision && c.unit_type == like.unit_type &&
        c.op != "gemm" && c.mode == mode)
      best = std::max(best, *c.value);
  return best;
}

// Checks that sustained rates, with random data and heat, do not exceed issue rates, and that no library exceeds the
// issue or sustained rate of our own kernels.
void check_modes(CeilingsDocument& document) {
  double worst = 0;
  std::string where;
  std::vector<documents::CeilingCheck> checks;
  for (const Ceiling& c : document.ceilings) {
    if (!c.value || c.kind != documents::CeilingKind::Compute || c.mode != CeilingMode::Sustained) continue;
    if (c.op == "gemm") {
      const double issue = best_own(document, c, CeilingMode::Issue),
                   sustained = best_own(document, c, CeilingMode::Sustained);
      if (issue <= 0) continue;
      checks.push_back({c.id, *c.value <= 1.005 * issue && *c.value <= 1.02 * sustained,
                        printed("%.4g of the library, %.4g sustained and %.4g issued by our kernel (T/s)",
                                *c.value * 1e-12, sustained * 1e-12, issue * 1e-12)});
      continue;
    }
    for (const Ceiling& issue : document.ceilings) {
      if (issue.id != c.id || issue.mode != CeilingMode::Issue || !issue.value) continue;
      // Per clock, where both clocks are known, and between the near ends of both intervals: a limit of power lets the
      // clock wander, during a row and between the two.
      double ratio = (c.ci95 ? (*c.ci95)[0] : *c.value) / (issue.ci95 ? (*issue.ci95)[1] : *issue.value);
      if (c.clock_hz && issue.clock_hz) ratio *= *issue.clock_hz / *c.clock_hz;
      if (ratio > worst) worst = ratio, where = c.id;
    }
  }
  if (worst > 0)
    document.checks.push_back(
        {"sustained below issue", worst <= 1.01,
         printed("%s: sustained is at least %.1f %% of issue, at the same clock", where.c_str(), 100 * worst)});
  for (documents::CeilingCheck& check : checks) document.checks.push_back(std::move(check));
}

// Compares credited work with hardware counters, kernel by kernel, in the reported configuration. The document's
// ceilings are those of the experiments, in their order.
void add_counters(Gpu& gpu, int index, GpuCeilings& ceilings, std::vector<Experiment>& experiments,
                  CeilingsDocument& document) {
  GpuCounters counters(gpu, index);
  if (!counters.why().empty()) {
    document.not_run.push_back("counters: " + counters.why());
    return;
  }
  for (std::size_t at = 0; at < experiments.size(); ++at) {
    Experiment& e = experiments[at];
    Ceiling& c = document.ceilings[at];
    if (!c.value || !e.chosen) continue;
    const std::vector<CounterSet> sets = counter_sets(c.kernel, c.precision, c.level, c.op);
    if (sets.empty()) {
      c.counters["reason"] = std::string("no counter of this work");
      continue;
    }
    try {
      if (e.prepare) e.prepare();
      // Enough passes over memory that data remaining in L2 are below 1 %; few trips of everything else, since counting
      // instructions slows kernels down.
      const bool is_group = c.kernel.starts_with("wgmma") || c.kernel.starts_with("tcgen05");
      ceilings.fix_trips(c.level == "dram" ? 8 : is_group ? 200 : 50);
      double credited = 0, counted = 0;
      const auto [set, values] = counters.count(sets, [&] {
        const Sample s = e.candidates[*e.chosen].run(0);
        credited = s.rate * s.seconds;
      });
      for (std::size_t i = 0; i < values.size(); ++i) {
        counted += values[i] * set->worth[i];
        c.counters[set->metrics[i]] = values[i];
      }
      c.counters["credited"] = credited;
      c.counters["counted_over_credited"] = counted / credited;
      const double allowed = c.kind == documents::CeilingKind::Compute ? 0.005 : 0.02;
      document.checks.push_back({cat("counters ", c.id, " ", to_string(c.mode)),
                                 std::abs(counted / credited - 1) <= allowed,
                                 printed("%.6g counted of %.6g credited: %.3f %%, must be 100 within %.1f %%", counted,
                                         credited, 100 * counted / credited, 100 * allowed)});
      if (e.release) e.release();
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::exception& error) {
      c.counters["reason"] = std::string(error.what());
      document.not_run.push_back("counters of " + c.id + ": " + error.what());
      if (e.release) e.release();
    }
  }
  ceilings.fix_trips(std::nullopt);
}

// Assigns the sweep's levels by the L2 capacity that the driver states, and checks that far beyond it the same loads
// run at the DRAM rate.
void name_levels(const std::vector<lab::WorkingSetPoint>& sweep, double l2_bytes, CeilingsDocument& document) {
  apply_plateaus(lab::find_plateaus(sweep, {{"l2", l2_bytes}, {"dram", std::nullopt}}), "l2", 0, document);
  const Ceiling* read = documents::find_ceiling(document, "dram.read");
  if (sweep.empty() || !read || !read->value || sweep.back().bytes < 8 * l2_bytes) return;
  const double ratio = sweep.back().bytes_per_second / *read->value;
  document.checks.push_back({"past the second level loads are memory's", ratio <= 1.03,
                             printed("%.1f %% of dram.read at %.0f times the capacity, at most 103 may be", 100 * ratio,
                                     sweep.back().bytes / l2_bytes)});
}

void add_energy(Gpu& gpu, const Nvml& nvml, GpuCeilings& ceilings, const Options& options, CeilingsDocument& document) {
  EnergyPlan plan;
  plan.source = "nvml";
  plan.joules = [&] { return nvml.joules().value_or(0); };
  if (!nvml.joules() && !use_rails(plan)) {
    document.not_run.push_back("energy: " + (plan.rails->available() ? plan.rails->source()
                                             : nvml.available()      ? "the GPU has no energy counter"
                                                                     : nvml.why()));
    return;
  }
  plan.sleep = [&gpu, sleep = plan.sleep](double seconds) {
    gpu.synchronize();
    sleep(seconds);
  };
  // One warp per SM that only reads its clock: the chip is awake but does no work.
  plan.spin = [&gpu](double seconds) {
    gpu.time("spin", {gpu.sms(), 32, 0}, static_cast<std::uint64_t>(seconds * gpu.attributes().sm_clock_hz));
  };
  if (options.depth == Depth::Quick) {
    plan.settle_seconds = 0.7;
    plan.window_seconds = 2.5;
  }
  const std::string tensor = cat("bfloat16", suffix_of(tensor_paths(gpu.attributes()).front()));
  const std::pair<std::string, std::string> wanted[] = {{"float32.cuda.fma", "float32"},
                                                        {"float64.cuda.fma", "float64"},
                                                        {tensor, "bfloat16_tensor"},
                                                        {"shared.read", "shared"},
                                                        {"l2.read", "l2"},
                                                        {"dram.read", "dram"}};
  std::vector<Experiment> experiments = ceilings.experiments();
  add_loads(experiments, wanted, plan);
  // Arithmetic and traffic together, from memory-bound to compute-bound: I = 8·steps/32 FLOP/B.
  const auto at = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(plan.names, name) - plan.names.begin());
  };
  std::vector<Experiment> mixed;
  const std::size_t flops = at("float32"), bytes = at("dram"), all = plan.names.size();
  for (const unsigned steps : {1U, 4U, 16U, 32U, 64U, 256U}) {
    if (flops == all || bytes == all) break;
    mixed.push_back(ceilings.intensity_experiment(steps));
    mixed.back().prepare();
    const double intensity = steps / 4.0;
    plan.loads.push_back(
        {base::shortest(intensity) + " FLOP/B", [&, index = mixed.size() - 1, intensity](double seconds) {
           const Sample s = mixed[index].candidates.front().run(seconds);
           std::vector<double> work(all, 0);
           work[bytes] = s.rate * s.seconds;
           work[flops] = work[bytes] * intensity;
           return work;
         }});
  }
  run_energy(plan, document);
  for (std::vector<Experiment>* list : {&experiments, &mixed})
    for (Experiment& e : *list)
      if (e.release) e.release();
}

// Loads the machine code of the capability or, if it is 0 and the chip is newer than this build, PTX that the driver
// compiles.
void load_kernels(Gpu& gpu, int capability, CeilingsDocument& document) {
  const lab::GpuAttributes& a = gpu.attributes();
  for (const GpuBlob& blob : gpu_blobs())
    if (capability != 0 && blob.capability == capability) gpu.load(blob.cubin);
  if (capability != 0) return;
  const std::string name = cat(a.major, ".", a.minor);
  const bool is_newer = !gpu_ptx().empty() && 10 * a.major + a.minor > gpu_ptx().front().capability;
  if (!is_newer)
    throw GpuError("no kernels for compute capability " + name + "; add it to PAGODA_CUDA_ARCHITECTURES" +
                   (a.major == 7 && a.minor == 0 ? " and build where a CUDA 12 toolkit is (PAGODA_NVCC_12)" : ""));
  for (const GpuBlob& text : gpu_ptx()) gpu.load(text.cubin);
  document.env["kernels"] = cat("PTX of compute_", gpu_ptx().front().capability, ", compiled by the driver");
  document.not_run.push_back(
      "machine code: this build has none for compute capability " + name +
      ", so that no hot loop could be audited, and units of its own (wgmma, tcgen05) are not measured");
}

}  // namespace

int best_capability(int major, int minor) {
  int best = 0;
  for (const GpuBlob& blob : gpu_blobs())
    if (blob.exact ? blob.capability == 10 * major + minor
                   : blob.capability / 10 == major && blob.capability % 10 <= minor)
      best = std::max(best, blob.capability);
  return best;
}

bool audit_gpu(const Options& options, std::string& text) {
  bool fine = true;
  const std::vector<SassClaim> claims = sass_claims();
  for (const GpuBlob& blob : gpu_blobs())
    for (const SassClaim& claim : claims) {
      if (!options.wants(claim.kernel)) continue;
      const auto loop = hot_loop(blob.cubin, blob.capability, claim.kernel, claim.instructions);
      if (!loop) continue;
      const std::string wrong = objection(blob.cubin, claim, blob.capability);
      fine = fine && wrong.empty();
      text += audit_line(cat("sm_", blob.capability, " ", claim.kernel), *loop, wrong);
    }
  if (gpu_blobs().empty()) text += "no GPU kernels: this build had no CUDA compiler\n";
  return fine;
}

Outcome run_gpu(const Options& options, bool show_progress) {
  Outcome outcome;
  CeilingsDocument& document = outcome.document;
  document.kind = "gpu";
  Gpu gpu(*options.gpu);
  const lab::GpuAttributes& a = gpu.attributes();
  if (gpu_blobs().empty())
    throw GpuError("this build has no GPU kernels; build it where nvcc is found (PAGODA_CUDA=ON)");
  const int capability = best_capability(a.major, a.minor);
  load_kernels(gpu, capability, document);

  const Nvml nvml(gpu.pci_bus_id());
  NvmlTrace trace(nvml);
  describe(gpu, nvml, capability, document);
  GpuCeilings ceilings(gpu, trace, options);
  std::vector<Experiment> experiments = ceilings.experiments();
  require_any(options, experiments.size());
  document.not_run.insert(document.not_run.end(), ceilings.not_run().begin(), ceilings.not_run().end());
  std::vector<Ceiling> kept;
  if (!options.resume.empty()) {
    const CeilingsDocument before = documents::load_ceilings(options.resume);
    if (before.name() != document.name())
      throw Error(options.resume + ": was measured on \"" + before.name() + "\", this is \"" + document.name() + "\"");
    // Keep ceilings with a value, and those that failed or lost the device: they would again.
    for (const Ceiling& c : before.ceilings)
      if (c.value || (c.status == documents::CeilingStatus::Unavailable && !c.pending)) kept.push_back(c);
    document.checks = before.checks;
    std::erase_if(experiments, [&](const Experiment& e) {
      return std::ranges::any_of(kept,
                                 [&](const Ceiling& c) { return c.id == e.ceiling.id && c.mode == e.ceiling.mode; });
    });
  }

  ProgressLine line(show_progress);
  const Plan plan = budgeted(kPlans[static_cast<std::size_t>(options.depth)], experiments.size(),
                             options.budget_seconds, options.seed);
  Measured measured = measure(experiments, plan, steady_seconds, [&](const Progress& p) { line.show(p); });
  for (documents::CeilingCheck& check : measured.checks) document.checks.push_back(std::move(check));
  document.ceilings = std::move(measured.ceilings);
  for (const SassClaim& claim : sass_claims())
    for (const GpuBlob& blob : gpu_blobs()) {
      if (blob.capability != capability) continue;
      if (const auto loop = hot_loop(blob.cubin, capability, claim.kernel, claim.instructions))
        attach_code(claim.kernel, *loop, document.ceilings);
      if (const std::string wrong = objection(blob.cubin, claim, capability); !wrong.empty())
        document.checks.push_back({"machine code", false, wrong});
    }
  std::string lost = measured.lost;
  // A stage that fails is reported and the others still run, unless it loses the device.
  const auto stage = [&](const char* name, const std::function<void()>& run) {
    line.show(name);
    try {
      if (!lost.empty()) throw Error("the device is lost");
      run();
    } catch (const std::exception& error) {
      if (dynamic_cast<const DeviceLost*>(&error) != nullptr) lost = error.what();
      document.not_run.push_back(cat(name, ": ", error.what()));
    }
  };
  if (options.counters) stage("counters", [&] { add_counters(gpu, *options.gpu, ceilings, experiments, document); });
  for (Ceiling& c : kept) document.ceilings.push_back(std::move(c));
  if (options.only.empty()) {
    stage("sweep of the second level", [&] {
      outcome.points_csv = "level,working_set_bytes,bytes_per_second\n";
      const std::vector<lab::WorkingSetPoint> sweep = ceilings.l2_sweep();
      for (const lab::WorkingSetPoint& p : sweep)
        outcome.points_csv += cat("l2,", fixed(p.bytes, 0), ",", general(p.bytes_per_second), "\n");
      name_levels(sweep, a.l2_bytes, document);
    });
    stage("negative controls", [&] {
      for (documents::CeilingCheck& check : ceilings.controls()) document.checks.push_back(std::move(check));
    });
  }
  check_modes(document);
  check_order({"dram", "l2", "l1"}, ".read", 1, 0, document);
  if (options.energy) stage("energy", [&] { add_energy(gpu, nvml, ceilings, options, document); });
  line.clear();
  std::uint32_t seen = 0;
  double hottest = 0;
  if (nvml.available()) outcome.trace_csv = "seconds,watts,sm_hz,celsius,reasons\n";
  const std::vector<TracePoint> points = trace.points();
  for (const TracePoint& p : points) {
    seen |= p.disturbances;
    hottest = std::max(hottest, p.celsius);
    outcome.trace_csv +=
        cat(fixed(p.seconds - points.front().seconds, 3), ",", fixed(p.watts, 1), ",", fixed(p.sm_hz, 0), ",",
            fixed(p.celsius, 0), ",", base::joined(names(p.disturbances), " "), "\n");
  }
  document.env["throttle_reasons"] = base::joined(names(seen), " ");
  if (hottest > 0) document.env["hottest_celsius"] = hottest;
  document.env["seed"] = static_cast<std::int64_t>(plan.seed);
  document.env["sample_seconds"] = plan.sample_seconds;
  if (!lost.empty()) {
    document.checks.push_back({"the device lasted", false, lost});
    outcome.exit = kPartial;
    outcome.lost = true;
  }
  return outcome;
}

}  // namespace pagoda::tools::ceilings
