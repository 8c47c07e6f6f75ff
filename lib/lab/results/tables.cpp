// Results as CSV: tidy tables, and the columns of earlier tools, for which notebooks exist.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/statistics.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/lab/result_report.h"
#include "results/groups.h"

namespace pagoda::lab {
namespace {

using results::text_of;

constexpr double kMilliseconds = 1e3;

std::optional<double> integer(const std::optional<std::int64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

const base::Latency* latency_of(const documents::Result& r) { return r.timing ? &r.timing->latency : nullptr; }

struct NumberColumn {
  const char* name;
  std::optional<double> (*value)(const documents::Result&);
};

template <double base::Latency::*Member>
std::optional<double> of_latency(const documents::Result& r) {
  const base::Latency* latency = latency_of(r);
  return latency ? std::optional(latency->*Member) : std::nullopt;
}

// clang-format off
constexpr std::array<NumberColumn, 27> kTidy = {{
    {"p50_seconds", of_latency<&base::Latency::p50>},
    {"p95_seconds", of_latency<&base::Latency::p95>},
    {"p99_seconds", of_latency<&base::Latency::p99>},
    {"mean_seconds", of_latency<&base::Latency::mean>},
    {"std_seconds", of_latency<&base::Latency::std>},
    {"min_seconds", of_latency<&base::Latency::min>},
    {"max_seconds", of_latency<&base::Latency::max>},
    {"p50_low_seconds", [](const documents::Result& r) { const base::Latency* l = latency_of(r); return l && l->ci95 ? std::optional((*l->ci95)[0]) : std::nullopt; }},
    {"p50_high_seconds", [](const documents::Result& r) { const base::Latency* l = latency_of(r); return l && l->ci95 ? std::optional((*l->ci95)[1]) : std::nullopt; }},
    {"runs", [](const documents::Result& r) { return r.timing ? integer(r.timing->latency.n) : std::nullopt; }},
    {"converged", [](const documents::Result& r) { return r.timing ? std::optional(r.timing->latency.converged ? 1.0 : 0.0) : std::nullopt; }},
    {"first_call_seconds", [](const documents::Result& r) { return r.timing ? std::optional(r.timing->first_call_seconds) : std::nullopt; }},
    {"warmup_seconds", [](const documents::Result& r) { return r.timing ? std::optional(r.timing->warmup_seconds) : std::nullopt; }},
    {"items", [](const documents::Result& r) { return r.items; }},
    {"items_per_second", [](const documents::Result& r) { const base::Latency* l = latency_of(r); return l && r.items && l->p50 > 0 ? std::optional(*r.items / l->p50) : std::nullopt; }},
    {"load_seconds", [](const documents::Result& r) { return r.load_seconds; }},
    {"compile_seconds", [](const documents::Result& r) { return r.compile_seconds; }},
    {"host_peak_bytes", [](const documents::Result& r) { return r.host_peak_bytes; }},
    {"device_peak_bytes", [](const documents::Result& r) { return r.device_peak_bytes; }},
    {"energy_joules", [](const documents::Result& r) { return r.energy.joules; }},
    {"watts", [](const documents::Result& r) { return r.energy.watts; }},
    {"verification_error", [](const documents::Result& r) { return r.verification ? r.verification->error : std::nullopt; }},
    {"steal_seconds", [](const documents::Result& r) { return r.interference.steal_seconds; }},
    {"temperature_celsius", [](const documents::Result& r) { return r.interference.temperature_celsius; }},
    {"clock_hz_after", [](const documents::Result& r) { return r.interference.clock_hz_after; }},
    {"wall_seconds", [](const documents::Result& r) { return std::optional(r.wall_seconds); }},
    {"layers", [](const documents::Result& r) { return std::optional(static_cast<double>(r.layers.size())); }},
}};
// clang-format on

// The sorted names of all settings that occur in any record.
template <typename Settings_of>
std::vector<std::string> setting_names(const std::vector<documents::Result>& results, const Settings_of& settings_of) {
  std::set<std::string> all;
  for (const documents::Result& result : results)
    for (const base::Settings* settings : settings_of(result))
      for (const auto& [name, value] : *settings) all.insert(name);
  return {all.begin(), all.end()};
}

std::vector<const base::Settings*> config_of(const documents::Result& r) { return {&r.config}; }

std::vector<const base::Settings*> layer_facts_of(const documents::Result& r) {
  std::vector<const base::Settings*> list;
  for (const documents::LayerTime& layer : r.layers) list.push_back(&layer.facts);
  return list;
}

std::vector<std::string> feature_names(const ModelFeatures& features) {
  std::vector<std::string> list;
  if (!features.empty())
    for (const Feature& feature : features.begin()->second) list.push_back(feature.name);
  return list;
}

void add_features(base::CsvLine& line, const documents::Result& r, const ModelFeatures& features, std::size_t count) {
  const auto found = features.find(text_of(r.config, "model"));
  for (std::size_t i = 0; i < count; ++i)
    line.add(found != features.end() && i < found->second.size() ? found->second[i].value : std::nullopt);
}

std::string tidy(const std::vector<documents::Result>& results, const ModelFeatures& features) {
  const std::vector<std::string> axes = setting_names(results, config_of), extra = feature_names(features);
  std::vector<std::string> columns = {"key", "status", "reason"};
  columns.insert(columns.end(), axes.begin(), axes.end());
  for (const NumberColumn& column : kTidy) columns.emplace_back(column.name);
  for (const char* name : {"clock", "energy_source", "inputs", "verification", "time", "host", "git_commit"})
    columns.emplace_back(name);
  for (const std::string& name : extra) columns.push_back("structure_" + name);
  std::string csv = base::csv_line(columns);
  for (const documents::Result& r : results) {
    base::CsvLine line;
    line.add(r.key).add(to_string(r.status)).name(r.reason);
    for (const std::string& axis : axes) line.name(text_of(r.config, axis));
    for (const NumberColumn& column : kTidy) line.add(column.value(r));
    line.name(r.clock).name(r.energy.source).name(base::joined(r.inputs, "; ", [](const documents::InputTensor& input) {
      return documents::to_string(input);
    }));
    line.add(r.verification ? to_string(r.verification->code) : "");
    for (const char* name : {"time", "host", "git_commit"}) line.name(text_of(r.metadata, name));
    add_features(line, r, features, extra.size());
    csv += std::move(line).end();
  }
  return csv;
}

std::string tidy_layers(const std::vector<documents::Result>& results) {
  const std::vector<std::string> axes = setting_names(results, config_of),
                                 facts = setting_names(results, layer_facts_of);
  std::vector<std::string> columns = {"key"};
  columns.insert(columns.end(), axes.begin(), axes.end());
  for (const char* name : {"layer", "op_type", "seconds", "share", "note"}) columns.emplace_back(name);
  for (const std::string& name : facts) columns.push_back("layer_" + name);
  std::string csv = base::csv_line(columns);
  for (const documents::Result& r : results) {
    double total = 0;
    for (const documents::LayerTime& layer : r.layers) total += layer.seconds.value_or(0);
    for (const documents::LayerTime& layer : r.layers) {
      base::CsvLine line;
      line.add(r.key);
      for (const std::string& axis : axes) line.name(text_of(r.config, axis));
      line.name(layer.name).name(layer.op_type).add(layer.seconds);
      line.add(layer.seconds && total > 0 ? std::optional(*layer.seconds / total) : std::nullopt).name(layer.note);
      for (const std::string& name : facts) line.name(text_of(layer.facts, name));
      csv += std::move(line).end();
    }
  }
  return csv;
}

std::string first_of(const documents::Result& r, std::initializer_list<const char*> axes) {
  for (const char* axis : axes)
    if (std::string text = text_of(r.config, axis); !text.empty()) return text;
  return {};
}

// Writes 3x3 as 3, as those tables do.
std::string square(const std::string& sizes) {
  const std::size_t cross = sizes.find('x');
  return cross != std::string::npos && sizes.substr(0, cross) == sizes.substr(cross + 1) ? sizes.substr(0, cross)
                                                                                         : sizes;
}

std::string overall(const std::vector<documents::Result>& results) {
  std::string csv = base::csv_line({"Model", "Algorithm", "Device", "Batch_Size", "Input_Size", "Execution_Time_ms",
                                    "Mean_ms", "Std_ms", "Min_ms", "Max_ms", "Power_W", "Energy_J"});
  for (const documents::Result& r : results) {
    if (!r.timing) continue;
    base::CsvLine line;
    line.name(text_of(r.config, "model")).name(first_of(r, {"algorithm", "compile", "optimization", "backend"}));
    for (const char* axis : {"device", "batch", "input_size"}) line.name(text_of(r.config, axis));
    const base::Latency& l = r.timing->latency;
    for (const double seconds : {l.p50, l.mean, l.std, l.min, l.max}) line.add(seconds * kMilliseconds);
    line.add(r.energy.watts).add(r.energy.joules);
    csv += std::move(line).end();
  }
  return csv;
}

std::string layers(const std::vector<documents::Result>& results) {
  std::string csv =
      base::csv_line({"Model", "Layer", "Algorithm", "Device", "Batch_Size", "Input_Size", "In_Channels",
                      "Out_Channels", "Kernel_Size", "Stride", "Padding", "Execution_Time_ms", "Percentage_of_Total"});
  for (const documents::Result& r : results) {
    for (const documents::LayerTime& layer : r.layers) {
      if (!layer.seconds) continue;
      base::CsvLine line;
      line.name(text_of(r.config, "model")).name(layer.name);
      line.name(first_of(r, {"algorithm", "compile", "optimization", "backend"}));
      for (const char* axis : {"device", "batch"}) line.name(text_of(r.config, axis));
      line.name(square(text_of(layer.facts, "input")));
      for (const char* fact : {"in_channels", "out_channels"}) line.name(text_of(layer.facts, fact));
      for (const char* fact : {"kernel", "stride", "padding"}) line.name(square(text_of(layer.facts, fact)));
      line.add(*layer.seconds * kMilliseconds);
      const base::Latency* whole = latency_of(r);
      line.add(whole && whole->p50 > 0 ? std::optional(100 * *layer.seconds / whole->p50) : std::nullopt);
      csv += std::move(line).end();
    }
  }
  return csv;
}

std::string version_of(const documents::Result& r) {
  const std::string backend = text_of(r.config, "backend");
  for (const std::string& name : {backend == "ort" ? std::string("onnxruntime") : backend})
    if (std::string version = text_of(r.metadata, "version." + name); !version.empty()) return version;
  return {};
}

// QPS is batches per second times the batch size, as in ONNX Runtime's tables; latencies are in milliseconds.
std::string latency(const std::vector<documents::Result>& results) {
  std::string csv = base::csv_line({"engine",
                                    "version",
                                    "providers",
                                    "device",
                                    "precision",
                                    "optimizer",
                                    "io_binding",
                                    "model_name",
                                    "inputs",
                                    "threads",
                                    "batch_size",
                                    "sequence_length",
                                    "custom_layer_num",
                                    "datetime",
                                    "test_times",
                                    "QPS",
                                    "average_latency_ms",
                                    "latency_variance",
                                    "latency_90_percentile",
                                    "latency_95_percentile",
                                    "latency_99_percentile"});
  for (const documents::Result& r : results) {
    const base::Latency* l = latency_of(r);
    if (!l) continue;
    std::vector<double> sorted = l->samples;
    std::sort(sorted.begin(), sorted.end());
    base::CsvLine line;
    line.name(text_of(r.config, "backend")).name(version_of(r)).add("");
    line.name(text_of(r.config, "device")).name(text_of(r.config, "dtype"));
    line.name(first_of(r, {"optimization", "compile"})).add("");
    line.name(text_of(r.config, "model")).add("");
    for (const char* axis : {"threads", "batch", "sequence"}) line.name(text_of(r.config, axis));
    line.add("").name(text_of(r.metadata, "time")).add(static_cast<double>(l->n));
    line.add(r.items && l->mean > 0 ? std::optional(*r.items / l->mean) : std::nullopt);
    line.add(l->mean * kMilliseconds).add(l->std * l->std * kMilliseconds * kMilliseconds);
    line.add(sorted.empty() ? std::nullopt : std::optional(base::quantile(sorted, 0.9) * kMilliseconds));
    line.add(l->p95 * kMilliseconds).add(l->p99 * kMilliseconds);
    csv += std::move(line).end();
  }
  return csv;
}

std::string metric_report(const std::vector<documents::Result>& results) {
  std::string csv = base::csv_line({"timestamp",
                                    "suite_name",
                                    "model_name",
                                    "experiment_name",
                                    "accelerator",
                                    "accelerator_model",
                                    "xla",
                                    "xla_flags",
                                    "dynamo",
                                    "test",
                                    "batch_size",
                                    "repeat",
                                    "iterations_per_run",
                                    "error_message",
                                    "median_total_time",
                                    "median_per_iter_time",
                                    "xla_median_trace_per_iter_time",
                                    "xla_compile_time",
                                    "dynamo_compile_time",
                                    "outputs_file"});
  for (const documents::Result& r : results) {
    const base::Latency* l = latency_of(r);
    const std::string compile = text_of(r.config, "compile");
    base::CsvLine line;
    line.name(text_of(r.metadata, "time")).name(text_of(r.config, "backend")).name(text_of(r.config, "model"));
    line.name(documents::config_label(results::without_protocol(r.config))).name(text_of(r.config, "device"));
    const std::string device = text_of(r.metadata, "gpu");
    line.name(device.empty() ? text_of(r.metadata, "cpu") : device);
    const bool is_xla = compile == "openxla" || compile == "lazy";
    line.name(is_xla ? "PJRT" : "None").name(text_of(r.config, "xla_flags"));
    line.name(compile.empty() || compile == "lazy" ? "None" : compile);
    line.add(text_of(r.config, "mode") == "training" ? "train" : "eval");
    line.name(text_of(r.config, "batch")).name(text_of(r.config, "repeat")).add("1");
    line.name(r.status == documents::ResultStatus::Ok ? std::string() : r.reason);
    const std::optional<double> median = l ? std::optional(l->p50) : std::nullopt;
    line.add(median).add(median).name(text_of(r.metadata, "trace_seconds"));
    line.add(is_xla ? r.compile_seconds : std::nullopt);
    line.add(is_xla ? std::nullopt : r.compile_seconds).add("");
    csv += std::move(line).end();
  }
  return csv;
}

// "resnet" of "models/resnet50.onnx": pagoda-calibrate leaves out the models of a family together.
std::string family_of(const std::string& model) {
  const std::string name = model.substr(model.rfind('/') + 1);
  return name.substr(0, std::min(name.find_first_of("0123456789_-."), name.size()));
}

std::string calibration(const std::vector<documents::Result>& results, std::string_view machine) {
  std::string csv = base::csv_line({"model", "family", "batch", "device", "seconds"});
  for (const documents::Result& r : results) {
    const base::Latency* l = latency_of(r);
    const std::string file = text_of(r.config, "model_file");
    if (!l || file.empty() || text_of(r.config, "mode") == "training") continue;
    base::CsvLine line;
    line.name(file).name(family_of(file)).name(text_of(r.config, "batch")).name(std::string(machine)).add(l->p50);
    csv += std::move(line).end();
  }
  return csv;
}

}  // namespace

std::optional<ResultColumns> result_columns(std::string_view name) {
  constexpr base::EnumNames<ResultColumns::Calibration> kColumnNames("tidy", "tidy-layers", "overall", "layers", "latency",
                                                               "metric_report", "calibration");
  return kColumnNames.value(name);
}

std::string results_csv(const std::vector<documents::Result>& results, ResultColumns columns,
                        const ModelFeatures& features, std::string_view machine) {
  switch (columns) {
    case ResultColumns::Tidy:
      return tidy(results, features);
    case ResultColumns::TidyLayers:
      return tidy_layers(results);
    case ResultColumns::Overall:
      return overall(results);
    case ResultColumns::Layers:
      return layers(results);
    case ResultColumns::Latency:
      return latency(results);
    case ResultColumns::MetricReport:
      return metric_report(results);
    case ResultColumns::Calibration:
      return calibration(results, machine);
  }
  return {};
}

}  // namespace pagoda::lab
