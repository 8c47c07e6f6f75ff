// One record as pagoda.measured/1: its layers are the kernels.
#include "pagoda/base/cat.h"
#include "pagoda/lab/result_report.h"
#include "results/groups.h"

namespace pagoda::lab {
documents::Measured measured_of(const documents::Result& result) {
  if (result.status != documents::ResultStatus::Ok || !result.timing)
    throw Error(cat(result.key, ": is ", to_string(result.status),
                    ", there is no time to convert; choose another record with --key"));
  documents::Measured measured;
  measured.source = "pagoda-bench";
  measured.tool = results::text_of(result.metadata, "runner");
  for (const char* name : {"gpu", "device", "cpu"})
    if (measured.device.empty()) measured.device = results::text_of(result.metadata, name);
  measured.env = result.config;
  if (!result.inputs.empty()) measured.env["inputs"] = results::inputs_text(result);
  for (const auto& [name, value] : result.metadata)
    if (name.starts_with("version.") || name == "driver" || name == "governor") measured.env[name] = value;
  if (result.interference.clock_hz_after) measured.clocks["cpu_hz"] = *result.interference.clock_hz_after;
  const base::Latency& latency = result.timing->latency;
  measured.repeats = latency.n;
  measured.warmup = result.timing->warmup_iterations;
  measured.seconds = latency.p50;
  measured.spread = documents::Spread{.min = latency.min, .max = latency.max, .mean = latency.mean, .n = latency.n};
  // The layers of a model file are its nodes. The layers of a named model are modules of the framework, which
  // correspond to scopes of nodes.
  const bool are_nodes = result.config.contains("model_file");
  for (const documents::LayerTime& layer : result.layers) {
    documents::MeasuredKernel kernel;
    kernel.name = layer.name;
    kernel.op_type = layer.op_type;
    (are_nodes ? kernel.node : kernel.nvtx) = layer.name;
    kernel.seconds = layer.seconds;
    kernel.detail = layer.note;
    measured.kernels.push_back(std::move(kernel));
  }
  if (result.layers.empty()) measured.missing.push_back({"kernels", "the experiment measured no layers: --layers"});
  for (const char* what : {"flops", "bytes"}) measured.missing.push_back({what, "pagoda-bench reads no counters"});
  if (!result.energy.joules) {
    const std::string& why = result.energy.source;
    measured.missing.push_back({"energy_joules", why.empty() ? "no counter of energy could be read" : why});
  } else {
    documents::MeasuredRun run;
    run.config = result.config;
    run.seconds = latency.p50;
    run.energy_joules = result.energy.joules;
    run.watts = latency.p50 > 0 ? std::optional(*result.energy.joules / latency.p50) : std::nullopt;
    measured.runs.push_back(std::move(run));
  }
  return measured;
}

documents::Measured measured_runs_of(const std::vector<documents::Result>& all) {
  documents::Measured measured;
  for (const results::Group& group : results::groups(all)) {
    if (group.repeats.empty()) continue;
    const documents::Result& first = *group.repeats.front();
    if (measured.runs.empty()) {
      documents::Result whole = first;
      whole.layers.clear();
      measured = measured_of(whole);
      measured.runs.clear();
      measured.seconds.reset();
      measured.spread.reset();
    }
    documents::MeasuredRun run;
    run.config = group.config;
    run.seconds = results::median_seconds(group);
    run.energy_joules = results::median_of(group.repeats, "energy_joules");
    run.watts = results::median_of(group.repeats, "watts");
    measured.runs.push_back(std::move(run));
  }
  if (measured.runs.empty()) throw Error(cat("none of ", all.size(), " records has a time to convert"));
  return measured;
}

}  // namespace pagoda::lab
