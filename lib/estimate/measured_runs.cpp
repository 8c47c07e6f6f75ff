#include "pagoda/estimate/measured_runs.h"

#include <algorithm>
#include <map>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"

namespace pagoda::estimate {

using namespace documents;

namespace {

// FLOPs of the kernels by format, as counters name it: "tf32.tensor" → Tf32. Empty where nothing was counted.
std::map<Precision, double> counted_flops(const Measured& measured) {
  std::map<Precision, double> flops;
  for (const MeasuredKernel& kernel : measured.kernels)
    for (const auto& [unit, amount] : kernel.flops)
      if (const auto format = precision(std::string_view(unit).substr(0, unit.find('.'))); format && amount)
        flops[*format] += *amount;
  return flops;
}

// The dim of the estimate whose size a setting of a run gives; empty: none.
std::string dim_of(const EstimateDocument& estimate, const std::string& setting) {
  if (estimate.bindings.contains(setting)) return setting;
  if (setting == "batch")
    for (const char* name : {"batch", "batch_size", "N", "n"})
      if (estimate.bindings.contains(name)) return name;
  return {};
}

// The sizes of a run along the axes of a sweep, looked up by the user's name or, with a single axis, by its symbols in
// formulas.
std::vector<std::int64_t> sizes_along(const EstimateSweep& sweep, const Bindings& sizes) {
  std::vector<std::int64_t> along;
  for (const std::string& dim : sweep.dims) {
    auto size = sizes.find(dim);
    if (sweep.dims.size() == 1)
      for (const std::string& symbol : sweep.symbols)
        if (size == sizes.end()) size = sizes.find(symbol);
    if (size != sizes.end()) along.push_back(size->second);
  }
  return along;
}

// The times of some kernels, but not of all, are known, and no other time of the run.
bool is_sum_of_known(const Measured& measured) {
  return basis_of(measured) == MeasuredBasis::Kernels && !measured.kernel_seconds() && measured.known_seconds() > 0;
}

// add_point() and add_run() keep the fastest run of a size and count the others in `slower`. They return why the sizes
// of the run do not match the estimate; empty if they match.
std::string add_point(const MeasuredRun& run, const Bindings& sizes, EstimateSweep& sweep, std::size_t& slower) {
  sweep.has_measurements = true;
  const std::vector<std::int64_t> wanted = sizes_along(sweep, sizes);
  bool is_found = false;
  for (EstimatePoint& point : sweep.points) {
    if (point.sizes != wanted) continue;
    if (point.measured_seconds) ++slower;
    if (!point.measured_seconds || *run.seconds < *point.measured_seconds) {
      point.measured_seconds = run.seconds;
      point.measured_joules = joules_of(run);
    }
    is_found = true;
  }
  return is_found ? "" : "no run has a size of the sweep";
}

std::string add_run(const Measured& measured, const MeasuredRun& run, const Bindings& sizes, EstimateDocument& estimate,
                    std::size_t& slower) {
  for (const auto& [dim, size] : sizes)
    if (size != 1)
      return cat("a run has ", dim, "=", size, ", which the estimate takes as 1; set it with `batch` or `dims`");
  if (estimate.measured) ++slower;
  if (estimate.measured && estimate.measured->seconds <= *run.seconds) return "";
  EstimateMeasured& part = estimate.measured.emplace();
  part.source = measured.source;
  part.basis = basis_of(measured);
  part.seconds = *run.seconds;
  part.at_least = is_sum_of_known(measured);
  part.joules = joules_of(run);
  if (measured.spread && measured.runs.size() <= 1) {
    part.shortest = measured.spread->min;
    part.longest = measured.spread->max;
  }
  part.precision = estimate.precision ? estimate.precision : products_of(measured);
  if (estimate.roofline && estimate.roofline->totals.seconds > 0 && !part.at_least)
    part.bound_share = (estimate.training && estimate.training->time ? estimate.training->time->seconds
                                                                     : estimate.roofline->totals.seconds) /
                       part.seconds;
  // Advice lowers the bound, which a run far above it does not feel.
  if (part.bound_share && *part.bound_share * kFarAboveBound <= 1)
    std::erase_if(estimate.advice, [](const EstimateAdvice& each) { return each.kind != AdviceKind::Fit; });
  return "";
}

const char* said_of(MeasuredBasis basis) {
  switch (basis) {
    case MeasuredBasis::Run:
      return "the run took";
    case MeasuredBasis::Busy:
      return "its kernels ran for";
    case MeasuredBasis::Kernels:
      return "its kernels add up to";
  }
  return "";
}

// Runs of several batches can be told apart only by an estimate that has one.
void require_batch(const Measured& measured, const EstimateDocument& estimate) {
  if (!dim_of(estimate, "batch").empty()) return;
  std::vector<std::string> batches;
  for (const MeasuredRun& run : measured.runs)
    if (const auto found = run.config.find("batch"); found != run.config.end())
      if (std::string text = base::setting_text(found->second);
          std::find(batches.begin(), batches.end(), text) == batches.end())
        batches.push_back(std::move(text));
  if (batches.size() > 1)
    throw Error("`measured`: the file has runs of batches " + base::joined(batches) +
                ", and this estimate has no batch of its own; give " + base::field("batch", batches.front()));
}

std::optional<double> at(const std::string& formula, const Bindings& sizes) {
  const std::optional<Dim> dim = Dim::parse(formula);
  return dim ? std::optional(static_cast<double>(dim->evaluate(sizes))) : std::nullopt;
}

// The point of a sweep at these sizes; null if there is none.
const EstimatePoint* swept(const EstimateSweep& sweep, const Bindings& sizes) {
  const auto found = std::ranges::find(sweep.points, sizes_along(sweep, sizes), &EstimatePoint::sizes);
  return found == sweep.points.end() ? nullptr : &*found;
}

}  // namespace

std::optional<double> joules_of(const MeasuredRun& run) {
  if (!run.note.empty() || !run.seconds) return std::nullopt;
  if (run.energy_joules || !run.watts) return run.energy_joules;
  return *run.watts * *run.seconds;
}

std::string short_model_name(const EstimateDocument& estimate) {
  std::string name = estimate.model.path.empty() ? estimate.model.name : estimate.model.path;
  name.erase(0, name.find_last_of("/\\") + 1);  // npos + 1 is 0
  if (name.ends_with(".onnx")) name.resize(name.size() - 5);
  return name;
}

TotalWork total_work(const EstimateDocument& estimate) {
  const EstimateCounts totals = estimate.moved();
  if (!estimate.training || is_published(estimate.count))  // whose totals are already for the step
    return {real(totals.flops), real(totals.bytes)};
  const EstimateCounts& step = estimate.training->step;
  return {real(step.flops),
          step.bytes_read && step.bytes_written ? real(*step.bytes_read + *step.bytes_written) : std::nullopt};
}

std::optional<RunWork> run_work(const EstimateDocument& estimate, const MeasuredRun& run, std::string& problem) {
  const Bindings sizes = run_sizes(estimate, run.config, problem);
  if (!problem.empty()) return std::nullopt;
  auto [flops, bytes] = total_work(estimate);
  const EstimatePoint* point = estimate.sweep ? swept(*estimate.sweep, sizes) : nullptr;
  if (point != nullptr) {  // the published counts have no formulas
    flops = real(point->counts.flops);
    bytes = real(point->counts.bytes);
  } else if (!sizes.empty() && estimate.symbolic && !estimate.training) {
    flops = at(estimate.symbolic->totals.flops, sizes);
    bytes =
        at(estimate.traffic ? estimate.traffic->bytes_formula : std::string(estimate.symbolic->totals.bytes), sizes);
  } else if (std::any_of(sizes.begin(), sizes.end(), [](const auto& each) { return each.second != 1; })) {
    flops = bytes = std::nullopt;  // the totals take free sizes as 1
  }
  if (!run.seconds || *run.seconds <= 0)
    problem = "it has no time";
  else if (!flops || *flops <= 0 || !bytes || *bytes <= 0)
    problem = "the FLOPs or bytes of the estimate are unknown";
  return problem.empty() ? std::optional(RunWork{*flops, *bytes}) : std::nullopt;
}

MeasuredBasis basis_of(const Measured& measured) {
  constexpr double kNotable = 0.98;
  if (!measured.runs.empty() || measured.seconds) return MeasuredBasis::Run;
  const Amount sum = measured.kernel_seconds();
  return measured.busy_seconds && !(sum && *measured.busy_seconds > kNotable * *sum) ? MeasuredBasis::Busy
                                                                                     : MeasuredBasis::Kernels;
}

std::vector<MeasuredRun> whole_runs(const Measured& measured) {
  if (!measured.runs.empty()) return measured.runs;
  MeasuredRun run;
  run.config = measured.env;
  const Amount by_basis[] = {measured.seconds, measured.busy_seconds, measured.kernel_seconds()};
  run.seconds = by_basis[static_cast<std::size_t>(basis_of(measured))];
  return run.seconds ? std::vector{run} : std::vector<MeasuredRun>();
}

Bindings run_sizes(const EstimateDocument& estimate, const base::Settings& config, std::string& problem) {
  Bindings sizes;
  for (const auto& [name, setting] : config) {
    const auto* size = std::get_if<std::int64_t>(&setting);
    const std::string dim = dim_of(estimate, name);
    if (size == nullptr || dim.empty()) continue;
    const std::optional<std::int64_t>& bound = estimate.bindings.at(dim);
    if (!bound)
      sizes[dim] = *size;
    else if (*bound != *size)
      problem =
          cat("it ran ", dim, "=", *size, ", the estimate has ", *bound, "; leave the dim free, or estimate that size");
  }
  const auto mode = config.find("mode");
  const std::string ran = mode == config.end() ? "" : base::setting_text(mode->second);
  if (ran == "training" && !estimate.training)
    problem = "it ran a training step, the estimate is of inference; estimate it with `training`";
  else if (ran == "inference" && estimate.training)
    problem = "it ran inference, the estimate is of a training step; estimate it without `training`";
  return sizes;
}

std::string run_label(const MeasuredRun& run, const std::vector<MeasuredRun>& runs) {
  std::vector<std::string> parts;
  for (const auto& [name, setting] : run.config) {
    const bool differs = std::any_of(runs.begin(), runs.end(), [&key = name, &value = setting](const auto& other) {
      const auto found = other.config.find(key);
      return found == other.config.end() || found->second != value;
    });
    if (differs) parts.push_back(name + "=" + base::setting_text(setting));
  }
  return base::joined(parts);
}

std::optional<Precision> products_of(const Measured& measured) {
  const std::map<Precision, double> flops = counted_flops(measured);
  const auto most = std::ranges::max_element(flops, {}, [](const auto& each) { return each.second; });
  const bool is_known = most != flops.end() && most->second > 0 && most->first != Precision::Float32;
  return is_known ? std::optional(most->first) : std::nullopt;
}

void set_measured(documents::Measured measured, EstimateRequest& request) {
  if (!request.device && request.other_devices.empty()) request.device = device_of_driver(measured.device);
  request.measured = std::move(measured);
}

bool is_impossible(const EstimateDocument& estimate) {
  return estimate.measured && !estimate.measured->at_least && estimate.roofline && !estimate.training &&
         !estimate.roofline->totals.at_least &&
         estimate.measured->seconds < estimate.roofline->totals.floor_seconds;
}

std::string add_measured(const Measured& measured, EstimateDocument& estimate) {
  std::size_t slower = 0;
  for (const std::string& member : measured.unknown)
    estimate.diagnostics.push_back({.severity = Severity::Warning, .node = "", .message = left_out(member)});
  for (const std::string& note : measured.notes)
    estimate.diagnostics.push_back({.severity = Severity::Warning, .node = "", .message = cat("`measured`: ", note)});
  require_batch(measured, estimate);
  std::string problem = "it holds no time of a whole run";
  const auto unknown = std::ranges::count_if(measured.kernels, [](const auto& kernel) { return !kernel.seconds; });
  if (unknown > 0)
    problem +=
        cat(", and ", unknown, " of its ", base::counted(static_cast<std::int64_t>(measured.kernels.size()), "kernel"),
            unknown == 1 ? " has" : " have", " no time");
  bool is_found = false;
  std::vector<MeasuredRun> runs = whole_runs(measured);
  if (is_sum_of_known(measured) && !estimate.sweep) {
    runs.emplace_back().config = measured.env;
    runs.back().seconds = measured.known_seconds();
  }
  for (const MeasuredRun& run : runs) {
    if (!run.seconds || *run.seconds <= 0) continue;
    std::string mismatch;
    const Bindings sizes = run_sizes(estimate, run.config, mismatch);
    if (mismatch.empty())
      mismatch = estimate.sweep ? add_point(run, sizes, *estimate.sweep, slower)
                                : add_run(measured, run, sizes, estimate, slower);
    if (mismatch.empty())
      is_found = true;
    else
      problem = mismatch;
  }
  if (!is_found)
    throw Error("`measured`: no run of the file matches this estimate: " + problem +
                (measured.notes.empty() ? "" : " (" + base::joined(measured.notes, "; ") + ")"));
  std::string text;
  const auto ran_on = device_of_driver(measured.device);
  if (ran_on && estimate.roofline && ran_on->id != estimate.roofline->device)
    text = cat("`measured`: it ran on ", ran_on->id, ", and the bound is of ", estimate.roofline->device);
  else if (is_impossible(estimate))
    text = cat(
        "`measured`: ", said_of(estimate.measured->basis), " ", base::si_seconds(estimate.measured->seconds),
        ", and whatever an engine fuses, ", estimate.roofline->device, " needs ",
        base::si_seconds(estimate.roofline->totals.floor_seconds),
        " for this work: it is of another model, size or device, or of narrower arithmetic; give `precision` for that");
  else if (!estimate.roofline && !estimate.sweep)
    text = cat("`measured`: ", said_of(estimate.measured->basis), " ", base::si_seconds(estimate.measured->seconds),
               "; the file names no device, so give `device` to hold it against what one can do");
  if (slower == 0) return text;
  return cat(text, text.empty() ? "" : "; ",
             "`measured`: the file has several runs of the same sizes; the fastest of each size is shown, without ",
             slower, slower == 1 ? " slower one" : " slower ones");
}

}  // namespace pagoda::estimate
