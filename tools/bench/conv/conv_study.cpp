// Prepares each distinct shape once; layers of the same shape share operands and measurements.
#include "conv_study.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "gpu_watch.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"
#include "system_files.h"

namespace pagoda::tools::conv {
namespace {

std::shared_ptr<Work> prepare_work(const ConvLayer& layer, const ConvLibrary& library, const PrepareOptions& options) {
  auto work = std::make_shared<Work>();
  const Operands operands = random_operands(layer, options.seed);
  const auto attempt = [&](const std::string& algorithm) {
    const double start = steady_seconds();
    ConvRun run = library.prepare(layer, operands, algorithm);
    work->prepare_seconds += steady_seconds() - start;
    if (!run.refused.empty()) return run.refused;
    work->ran_as = algorithm;
    work->run = std::move(run);
    return std::string();
  };
  work->refused = attempt(options.algorithm);
  if (!work->refused.empty() && options.fall_back && options.algorithm != "auto") attempt("auto");
  if (work->ran_as.empty()) return work;
  work->run.time(1);
  work->error = compare(layer, operands, work->run.output(), options.check_points);
  return work;
}

documents::LayerTime row_of(const PreparedLayer& prepared, const PreparedModel& model) {
  const ConvLayer& l = prepared.layer;
  const Work& work = *prepared.work;
  documents::LayerTime row{.name = l.name, .op_type = "Conv", .seconds = {}, .facts = {}, .note = work.refused};
  base::Settings& facts = row.facts;
  facts = {{"algorithm", model.algorithm},
           {"batch", l.batch},
           {"in_channels", l.in_channels},
           {"out_channels", l.out_channels},
           {"groups", l.groups},
           {"input", join(l.in)},
           {"output", join(l.out)},
           {"kernel", join(l.kernel)},
           {"stride", join(l.strides)},
           {"dilation", join(l.dilations)},
           {"padding", l.pads_begin == l.pads_end ? join(l.pads_begin) : join(l.pads_begin) + ":" + join(l.pads_end)},
           {"bias", l.has_bias},
           {"macs", l.macs()}};
  if (work.refused.empty()) {
    facts["implementation"] = work.run.implementation;
    if (work.run.workspace_bytes) facts["workspace_bytes"] = *work.run.workspace_bytes;
    facts["checked_points"] = work.error.points;
    if (work.error.mean) facts["error"] = *work.error.mean;
    if (work.error.worst) facts["error_worst"] = *work.error.worst;
    if (!work.error.finite) row.note = "the result is not finite";
  } else if (!work.ran_as.empty()) {
    facts["in_the_whole_run_as"] = work.ran_as;
  }
  return row;
}

}  // namespace

std::string PreparedModel::refusal() const {
  return cat(algorithm, " refuses ", refused, " of ", layers.size(), " convolutions");
}

ConvLibrary library_of(const std::string& device, int threads, bool tensor_math) {
  const std::optional<int> gpu = bench::gpu_of(device);
  return gpu ? cudnn_library(*gpu, tensor_math) : onednn_library(threads);
}

PreparedModel prepare_model(const LayerList& list, const ConvLibrary& library, const PrepareOptions& options) {
  if (!library.unavailable.empty()) throw Error(cat(library.name, " is not available: ", library.unavailable));
  if (std::ranges::find(library.algorithms, options.algorithm) == library.algorithms.end())
    throw Error(
        cat(library.name, " has no algorithm \"", options.algorithm, "\"; it has ", base::joined(library.algorithms)));
  using documents::VerificationCode;
  PreparedModel model{.algorithm = options.algorithm, .is_whole = !list.layers.empty()};
  documents::Verification& verified = model.verification;
  verified.reference = "each layer by its definition, in double precision";
  verified.threshold = options.threshold;
  std::int64_t checked = 0, points = 0;
  for (ConvLayer layer : list.layers) {
    if (!library.adds_bias) layer.has_bias = false;
    const auto same =
        std::ranges::find_if(model.layers, [&](const PreparedLayer& other) { return other.layer.same_work(layer); });
    const bool is_known = same != model.layers.end();
    std::shared_ptr<Work> work = is_known ? same->work : prepare_work(layer, library, options);
    if (!is_known) model.prepare_seconds += work->prepare_seconds;
    model.macs += layer.macs();
    model.is_whole = model.is_whole && !work->ran_as.empty();
    if (work->refused.empty()) {
      ++checked;
      points += work->error.points;
      if (work->error.mean) verified.error = std::max(verified.error.value_or(0), *work->error.mean);
      if (!work->error.finite) verified.code = VerificationCode::NonFinite;
    }
    model.layers.push_back({std::move(layer), std::move(work)});
  }
  model.refused = std::ssize(model.layers) - checked;
  verified.detail = cat(checked, " of ", model.layers.size(), " layers, ", points, " outputs compared");
  if (checked == 0) verified.code = VerificationCode::NoReference;
  if (verified.code == VerificationCode::Pass && (!verified.error || *verified.error > options.threshold))
    verified.code = VerificationCode::Fail;
  return model;
}

std::vector<double> run_model(const PreparedModel& model, std::int64_t n) {
  std::vector<double> seconds(static_cast<std::size_t>(std::max<std::int64_t>(n, 0)));
  for (double& sum : seconds)
    for (const PreparedLayer& l : model.layers)
      if (!l.work->ran_as.empty()) sum += l.work->run.time(1).at(0);
  return seconds;
}

std::vector<documents::LayerTime> time_layers(const PreparedModel& model, const base::TimingOptions& timing) {
  std::vector<documents::LayerTime> rows;
  std::map<const Work*, base::Latency> measured;
  for (const PreparedLayer& l : model.layers) {
    documents::LayerTime row = row_of(l, model);
    if (l.work->refused.empty()) {
      auto found = measured.find(l.work.get());
      if (found == measured.end())
        found = measured.emplace(l.work.get(), base::time_runs(l.work->run.time, timing).latency).first;
      const base::Latency& latency = found->second;
      if (latency.n > 0) row.seconds = latency.p50;
      row.facts["runs"] = latency.n;
      if (latency.ci95) {
        row.facts["seconds_low"] = (*latency.ci95)[0];
        row.facts["seconds_high"] = (*latency.ci95)[1];
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace pagoda::tools::conv
