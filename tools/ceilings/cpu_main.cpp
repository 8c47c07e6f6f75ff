// `ert-ceilings --cpu`: measures the machine and creates the document.
#include <algorithm>
#include <array>

#include "code_audit.h"
#include "cpu_run.h"
#include "energy_run.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/lab/ert.h"
#include "run_checks.h"
#include "runs.h"
#include "system_files.h"

namespace pagoda::tools::ceilings {
namespace {

using documents::Ceiling, documents::CeilingsDocument;

// By Depth: quick, normal, full.
// clang-format off
constexpr std::array<Plan, 3> kPlans = {{
    {.sample_seconds = 0.004, .warm_up_seconds = 0.03, .choose_samples = 2, .visits = 4, .min_samples = 12, .max_samples = 40, .half_width = 0.01, .budget_seconds = 16, .seconds_each = 0.5},
    {.sample_seconds = 0.02, .warm_up_seconds = 0.3, .visits = 5, .min_samples = 20, .budget_seconds = 120, .seconds_each = 3},
    {.sample_seconds = 0.1, .warm_up_seconds = 1, .visits = 6, .min_samples = 24, .max_samples = 100, .budget_seconds = 600, .seconds_each = 12},
}};
// clang-format on

void describe(const CpuMachine& machine, CeilingsDocument& document) {
  const Topology& t = machine.topology;
  auto& m = document.machine;
  m["name"] = machine.identity.name;
  m["vendor"] = machine.identity.vendor;
  m["family"] = std::int64_t{machine.identity.family};
  m["model"] = std::int64_t{machine.identity.model};
  m["microarchitecture"] = std::monostate{};
  if (machine.core) m["microarchitecture"] = std::string(machine.core->microarchitecture);
  m["cpus"] = static_cast<std::int64_t>(t.cpus.size());
  m["cores"] = static_cast<std::int64_t>(t.one_per_core().size());
  if (machine.limits.whole_bytes) m["memory_bytes"] = *machine.limits.whole_bytes;
  m["numa_nodes"] = static_cast<std::int64_t>(t.nodes().size());
  m["topology"] = t.source;
  for (int level = 1; level <= t.last_level(); ++level)
    if (const Cache* cache = t.cache(level, t.cpus.front().id)) {
      m[cat("l", level, "_bytes")] = cache->bytes;
      m[cat("l", level, "_cpus")] = static_cast<std::int64_t>(cache->cpus.size());
    }
  m["hypervisor"] = machine.has("hypervisor");
  document.env["kernel"] = kernel_version();
  if (const std::string pages = huge_pages(); !pages.empty()) document.env["huge_pages"] = pages;
  document.env["cgroup_cpus"] = setting(machine.limits.cpus);
  if (machine.limits.memory_bytes) document.env["memory_available_bytes"] = *machine.limits.memory_bytes;
  document.clocks["max_hz"] = setting(machine.max_hz);
}

void add_energy(const CpuMachine& machine, CpuCeilings& cpu, const Options& options, CeilingsDocument& document) {
  Rapl rapl;
  EnergyPlan plan;
  plan.source = "rapl";
  plan.joules = [&] { return rapl.joules(); };
  if (!rapl.available() && !use_rails(plan)) {
    document.not_run.push_back("energy: no readable RAPL counter under /sys/class/powercap; rails of a Jetson: " +
                               (plan.rails->available() ? plan.rails->source() : "none"));
    return;
  }
  if (options.depth == Depth::Quick) {
    plan.settle_seconds = 0.3;
    plan.window_seconds = 1;
  }
  std::vector<Experiment> experiments = cpu.experiments();
  const std::string scope = cpu.scopes().size() > 1 ? ".all" : ".core";
  const std::string isa = machine.has("avx512f") ? "avx512" : machine.has("avx2") ? "avx2" : "neon";
  const std::pair<std::string, std::string> wanted[] = {{cat("float64.", isa, ".fma", scope), "float64"},
                                                        {cat("float32.", isa, ".fma", scope), "float32"},
                                                        {"l1.load" + scope, "l1"},
                                                        {"l2.load" + scope, "l2"},
                                                        {"l3.load" + scope, "l3"},
                                                        {"dram.load" + scope, "dram"}};
  add_loads(experiments, wanted, plan);
  run_energy(plan, document);
}

}  // namespace

bool audit_cpu(const Options& options, std::string& text) {
  bool fine = true;
  const auto line = [&](const auto& k) {
    if (!options.wants(std::string(k.name))) return;
    const CodeAudit found = audit(k.name);
    const std::string wrong = objection(found, k.instruction, k.instructions, 8);
    fine = fine && wrong.empty();
    text += audit_line(k.name, found, wrong);
  };
  for (const ComputeKernel& k : compute_kernels()) line(k);
  for (const BandwidthKernel& k : bandwidth_kernels()) line(k);
  return fine;
}

Outcome run_cpu(const Options& options, bool show_progress) {
  Outcome outcome;
  CeilingsDocument& document = outcome.document;
  document.kind = "cpu";
  const CpuMachine machine = read_machine();
  if (compute_kernels().empty() || machine.topology.cpus.empty())
    throw ToolError(kNoDevice, "no kernels for this CPU; they exist for x86-64 and AArch64");
  describe(machine, document);
  const double load_before = load_average();
  CpuCeilings cpu(machine, options);
  std::vector<Experiment> experiments = cpu.experiments();
  require_any(options, experiments.size());
  document.not_run = cpu.not_run();
  if (options.counters) document.not_run.push_back("counters: hardware counters of CPUs are not read");

  ProgressLine line(show_progress);
  const Plan plan = budgeted(kPlans[static_cast<std::size_t>(options.depth)], experiments.size(),
                             options.budget_seconds, options.seed);
  Measured measured = measure(experiments, plan, steady_seconds, [&](const Progress& p) { line.show(p); });
  document.ceilings = std::move(measured.ceilings);
  document.checks = std::move(measured.checks);
  for (const ComputeKernel& k : compute_kernels()) attach_code(k.name, audit(k.name), document.ceilings);
  for (const BandwidthKernel& k : bandwidth_kernels()) attach_code(k.name, audit(k.name), document.ceilings);

  if (options.only.empty()) {
    line.show("sweep over working sets");
    const std::vector<CpuCeilings::Point> points = cpu.sweep(options.depth == Depth::Quick ? 1.5 : 10);
    const std::vector<lab::WorkingSetPoint> sweep(points.begin(), points.end());
    outcome.points_csv = "working_set_bytes,bytes_per_second,clock_hz,disturbances\n";
    for (const CpuCeilings::Point& p : points)
      outcome.points_csv += cat(fixed(p.bytes, 0), ",", general(p.bytes_per_second), ",", general(p.clock_hz), ",",
                                base::joined(names(p.disturbances), " "), "\n");
    apply_plateaus(lab::find_plateaus(sweep, cpu.known_levels()), "", 1, document);
    check_order({"dram", "l3", "l2", "l1"}, ".load.core", 0.98, 1, document);
    line.show("comparison with ERT's kernel");
    document.ert = compare_with_ert(cpu, options.depth, options.seed);
    document.checks.push_back(lab::judge(*document.ert));
  }
  if (options.energy) {
    line.show("energy");
    add_energy(machine, cpu, options, document);
  }
  line.clear();

  std::vector<double> clocks;
  std::int64_t dropped = 0, kept = 0;
  for (const Ceiling& c : document.ceilings) {
    if (c.clock_hz) clocks.push_back(*c.clock_hz);
    dropped += c.dropped;
    kept += c.n;
  }
  if (!clocks.empty()) {
    document.clocks["observed_min_hz"] = *std::ranges::min_element(clocks);
    document.clocks["observed_max_hz"] = *std::ranges::max_element(clocks);
  }
  document.env["load_average_before"] = load_before;
  document.env["samples_kept"] = kept;
  document.env["samples_dropped"] = dropped;
  document.env["sample_seconds"] = plan.sample_seconds;
  document.env["seed"] = static_cast<std::int64_t>(plan.seed);
  // Report load from other threads once, in addition to the statuses of the ceilings.
  document.checks.push_back({"quiet machine", load_before < 0.2 && dropped * 20 < kept + dropped,
                             cat("load average ", std::to_string(load_before).substr(0, 4), " before, ", dropped,
                                 " of ", kept + dropped, " samples disturbed")});
  return outcome;
}

}  // namespace pagoda::tools::ceilings
