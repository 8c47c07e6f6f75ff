// Results as CSV: tidy tables, and the columns of earlier tools, for which notebooks exist.
#include <algorithm>
#include <array>

#include "pagoda/base/statistics.h"
#include "pagoda/lab/result_report.h"
#include "results/csv.h"
#include "results/groups.h"

namespace pagoda::lab {
namespace {

using documents::Result, results::csv_row, results::setting_names, results::text_of, results::texts_of;
using Number = std::optional<double>;
using Texts = std::vector<std::string>;

constexpr double kMilliseconds = 1e3;

struct CsvRequest {
  const std::vector<Result>& results;
  const ModelFeatures& features;
  std::string_view machine;
};

const base::Latency* latency_of(const Result& r) { return r.timing ? &r.timing->latency : nullptr; }

template <double base::Latency::*Member>
Number of_latency(const Result& r) {
  return r.timing ? std::optional(r.timing->latency.*Member) : std::nullopt;
}

// clang-format off
constexpr std::array<results::NumberColumn, 27> kTidy = {{
    {"p50_seconds", of_latency<&base::Latency::p50>},
    {"p95_seconds", of_latency<&base::Latency::p95>},
    {"p99_seconds", of_latency<&base::Latency::p99>},
    {"mean_seconds", of_latency<&base::Latency::mean>},
    {"std_seconds", of_latency<&base::Latency::std>},
    {"min_seconds", of_latency<&base::Latency::min>},
    {"max_seconds", of_latency<&base::Latency::max>},
    {"p50_low_seconds", [](const Result& r) { const base::Latency* l = latency_of(r); return l && l->ci95 ? std::optional((*l->ci95)[0]) : std::nullopt; }},
    {"p50_high_seconds", [](const Result& r) { const base::Latency* l = latency_of(r); return l && l->ci95 ? std::optional((*l->ci95)[1]) : std::nullopt; }},
    {"runs", [](const Result& r) { return r.timing ? std::optional(static_cast<double>(r.timing->latency.n)) : std::nullopt; }},
    {"converged", [](const Result& r) { return r.timing ? std::optional(r.timing->latency.converged ? 1.0 : 0.0) : std::nullopt; }},
    {"first_call_seconds", [](const Result& r) { return r.timing ? std::optional(r.timing->first_call_seconds) : std::nullopt; }},
    {"warmup_seconds", [](const Result& r) { return r.timing ? std::optional(r.timing->warmup_seconds) : std::nullopt; }},
    {"items", [](const Result& r) { return r.items; }},
    {"items_per_second", [](const Result& r) { const base::Latency* l = latency_of(r); return l && r.items && l->p50 > 0 ? std::optional(*r.items / l->p50) : std::nullopt; }},
    {"load_seconds", [](const Result& r) { return r.load_seconds; }},
    {"compile_seconds", [](const Result& r) { return r.compile_seconds; }},
    {"host_peak_bytes", [](const Result& r) { return r.host_peak_bytes; }},
    {"device_peak_bytes", [](const Result& r) { return r.device_peak_bytes; }},
    {"energy_joules", [](const Result& r) { return r.energy.joules; }},
    {"watts", [](const Result& r) { return r.energy.watts; }},
    {"verification_error", [](const Result& r) { return r.verification ? r.verification->error : std::nullopt; }},
    {"steal_seconds", [](const Result& r) { return r.interference.steal_seconds; }},
    {"temperature_celsius", [](const Result& r) { return r.interference.temperature_celsius; }},
    {"clock_hz_after", [](const Result& r) { return r.interference.clock_hz_after; }},
    {"wall_seconds", [](const Result& r) { return std::optional(r.wall_seconds); }},
    {"layers", [](const Result& r) { return std::optional(static_cast<double>(r.layers.size())); }},
}};
// clang-format on

// A table of the rows that `rows` returns for each record, one or several.
template <typename Rows>
std::string csv_table(std::string header, const std::vector<Result>& all, const Rows& rows) {
  for (const Result& result : all) header += rows(result);
  return header;
}

Texts prefixed(const std::string& prefix, Texts names) {
  for (std::string& name : names) name.insert(0, prefix);
  return names;
}

// The first of these axes that the record has.
std::string first_of(const Result& r, std::initializer_list<const char*> axes) {
  for (const char* axis : axes)
    if (std::string text = text_of(r.config, axis); !text.empty()) return text;
  return {};
}

std::string tidy(const CsvRequest& request) {
  const Texts axes = setting_names(request.results, &Result::config), facts = {"time", "host", "git_commit"};
  Texts numbers, extra;
  for (const results::NumberColumn& column : kTidy) numbers.emplace_back(column.name);
  if (!request.features.empty())
    for (const Feature& feature : request.features.begin()->second) extra.push_back(feature.name);
  const std::string header = csv_row("key", "status", "reason", axes, numbers, "clock", "energy_source", "inputs",
                                     "verification", facts, prefixed("structure_", extra));
  return csv_table(header, request.results, [&](const Result& r) {
    std::vector<Number> values, structure(extra.size());
    for (const results::NumberColumn& column : kTidy) values.push_back(column.value(r));
    if (const auto found = request.features.find(text_of(r.config, "model")); found != request.features.end())
      for (std::size_t i = 0; i < std::min(extra.size(), found->second.size()); ++i)
        structure[i] = found->second[i].value;
    return csv_row(r.key, to_string(r.status), r.reason, texts_of(r.config, axes), values, r.clock, r.energy.source,
                   results::inputs_text(r), r.verification ? to_string(r.verification->code) : "",
                   texts_of(r.metadata, facts), structure);
  });
}

std::string tidy_layers(const CsvRequest& request) {
  std::vector<documents::LayerTime> all;
  for (const Result& r : request.results) all.insert(all.end(), r.layers.begin(), r.layers.end());
  const Texts axes = setting_names(request.results, &Result::config),
              facts = setting_names(all, &documents::LayerTime::facts);
  const std::string header =
      csv_row("key", axes, "layer", "op_type", "seconds", "share", "note", prefixed("layer_", facts));
  return csv_table(header, request.results, [&](const Result& r) {
    double total = 0;
    for (const documents::LayerTime& layer : r.layers) total += layer.seconds.value_or(0);
    std::string rows;
    for (const documents::LayerTime& layer : r.layers) {
      const Number share = layer.seconds && total > 0 ? std::optional(*layer.seconds / total) : std::nullopt;
      rows += csv_row(r.key, texts_of(r.config, axes), layer.name, layer.op_type, layer.seconds, share, layer.note,
                      texts_of(layer.facts, facts));
    }
    return rows;
  });
}

std::string overall(const CsvRequest& request) {
  constexpr const char* kHeader =
      "Model,Algorithm,Device,Batch_Size,Input_Size,Execution_Time_ms,Mean_ms,Std_ms,Min_ms,Max_ms,Power_W,Energy_"
      "J\r\n";
  return csv_table(kHeader, request.results, [](const Result& r) {
    const base::Latency* l = latency_of(r);
    return l ? csv_row(text_of(r.config, "model"), first_of(r, {"algorithm", "compile", "optimization", "backend"}),
                       texts_of(r.config, {"device", "batch", "input_size"}), l->p50 * kMilliseconds,
                       l->mean * kMilliseconds, l->std * kMilliseconds, l->min * kMilliseconds, l->max * kMilliseconds,
                       r.energy.watts, r.energy.joules)
             : "";
  });
}

// Writes 3x3 as 3, as those tables do.
std::string square(const std::string& sizes) {
  const std::size_t cross = sizes.find('x');
  return cross != std::string::npos && sizes.substr(0, cross) == sizes.substr(cross + 1) ? sizes.substr(0, cross)
                                                                                         : sizes;
}

std::string layers(const CsvRequest& request) {
  constexpr const char* kHeader =
      "Model,Layer,Algorithm,Device,Batch_Size,Input_Size,In_Channels,Out_Channels,Kernel_Size,Stride,Padding,"
      "Execution_Time_ms,Percentage_of_Total\r\n";
  return csv_table(kHeader, request.results, [](const Result& r) {
    const base::Latency* whole = latency_of(r);
    std::string rows;
    for (const documents::LayerTime& layer : r.layers) {
      if (!layer.seconds) continue;
      const auto fact = [&](const char* name) { return square(text_of(layer.facts, name)); };
      rows += csv_row(text_of(r.config, "model"), layer.name,
                      first_of(r, {"algorithm", "compile", "optimization", "backend"}),
                      texts_of(r.config, {"device", "batch"}), fact("input"),
                      texts_of(layer.facts, {"in_channels", "out_channels"}), fact("kernel"), fact("stride"),
                      fact("padding"), *layer.seconds * kMilliseconds,
                      whole && whole->p50 > 0 ? std::optional(100 * *layer.seconds / whole->p50) : std::nullopt);
    }
    return rows;
  });
}

// QPS is batches per second times the batch size, as in ONNX Runtime's tables; latencies are in milliseconds.
std::string latency(const CsvRequest& request) {
  constexpr const char* kHeader =
      "engine,version,providers,device,precision,optimizer,io_binding,model_name,inputs,threads,batch_size,"
      "sequence_length,custom_layer_num,datetime,test_times,QPS,average_latency_ms,latency_variance,"
      "latency_90_percentile,latency_95_percentile,latency_99_percentile\r\n";
  return csv_table(kHeader, request.results, [](const Result& r) {
    const base::Latency* l = latency_of(r);
    if (!l) return std::string();
    std::vector<double> sorted = l->samples;
    std::ranges::sort(sorted);
    const std::string engine = text_of(r.config, "backend");
    return csv_row(engine, text_of(r.metadata, "version." + (engine == "ort" ? "onnxruntime" : engine)), "",
                   texts_of(r.config, {"device", "dtype"}), first_of(r, {"optimization", "compile"}), "",
                   text_of(r.config, "model"), "", texts_of(r.config, {"threads", "batch", "sequence"}), "",
                   text_of(r.metadata, "time"), static_cast<double>(l->n),
                   r.items && l->mean > 0 ? std::optional(*r.items / l->mean) : std::nullopt, l->mean * kMilliseconds,
                   l->std * l->std * kMilliseconds * kMilliseconds,
                   sorted.empty() ? std::nullopt : std::optional(base::quantile(sorted, 0.9) * kMilliseconds),
                   l->p95 * kMilliseconds, l->p99 * kMilliseconds);
  });
}

std::string metric_report(const CsvRequest& request) {
  constexpr const char* kHeader =
      "timestamp,suite_name,model_name,experiment_name,accelerator,accelerator_model,xla,xla_flags,dynamo,test,"
      "batch_size,repeat,iterations_per_run,error_message,median_total_time,median_per_iter_time,"
      "xla_median_trace_per_iter_time,xla_compile_time,dynamo_compile_time,outputs_file\r\n";
  return csv_table(kHeader, request.results, [](const Result& r) {
    const Number median = of_latency<&base::Latency::p50>(r);
    const std::string compile = text_of(r.config, "compile"), gpu = text_of(r.metadata, "gpu");
    const bool is_xla = compile == "openxla" || compile == "lazy";
    return csv_row(text_of(r.metadata, "time"), texts_of(r.config, {"backend", "model"}),
                   documents::config_label(results::without_protocol(r.config)), text_of(r.config, "device"),
                   gpu.empty() ? text_of(r.metadata, "cpu") : gpu, is_xla ? "PJRT" : "None",
                   text_of(r.config, "xla_flags"), compile.empty() || compile == "lazy" ? "None" : compile,
                   text_of(r.config, "mode") == "training" ? "train" : "eval", texts_of(r.config, {"batch", "repeat"}),
                   "1", r.status == documents::ResultStatus::Ok ? "" : r.reason, median, median,
                   text_of(r.metadata, "trace_seconds"), is_xla ? r.compile_seconds : std::nullopt,
                   is_xla ? std::nullopt : r.compile_seconds, "");
  });
}

// "resnet" of "models/resnet50.onnx": pagoda-calibrate leaves out the models of a family together.
std::string family_of(const std::string& model) {
  const std::string name = model.substr(model.rfind('/') + 1);
  return name.substr(0, std::min(name.find_first_of("0123456789_-."), name.size()));
}

std::string calibration(const CsvRequest& request) {
  return csv_table("model,family,batch,device,seconds\r\n", request.results, [&](const Result& r) {
    const std::string file = text_of(r.config, "model_file");
    return !r.timing || file.empty() || text_of(r.config, "mode") == "training"
               ? ""
               : csv_row(file, family_of(file), text_of(r.config, "batch"), request.machine, r.timing->latency.p50);
  });
}

struct CsvTable {
  std::string_view name;
  std::string (*write)(const CsvRequest&);
};
// In the order of ResultColumns.
constexpr CsvTable kTables[] = {
    {"tidy", tidy},       {"tidy-layers", tidy_layers},     {"overall", overall},        {"layers", layers},
    {"latency", latency}, {"metric_report", metric_report}, {"calibration", calibration}};

}  // namespace

std::span<const results::NumberColumn> results::number_columns() { return kTidy; }

std::optional<ResultColumns> result_columns(std::string_view name) {
  for (const CsvTable& table : kTables)
    if (table.name == name) return static_cast<ResultColumns>(&table - kTables);
  return std::nullopt;
}

std::string results_csv(const std::vector<Result>& results, ResultColumns columns, const ModelFeatures& features,
                        std::string_view machine) {
  return kTables[static_cast<std::size_t>(columns)].write({results, features, machine});
}

}  // namespace pagoda::lab
