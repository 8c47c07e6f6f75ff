// Answers prepare, run and layers. Options of the config: algorithm (auto), device (cpu or cuda:N), threads, batch,
// input_size, seed; fallback = "none" to skip the run of the whole if the algorithm refuses layers; check, the number
// of outputs per layer to compare; math = "tf32" on cuda.
#include "conv_command.h"
#include "conv_study.h"
#include "pagoda/base/cat.h"
#include "pagoda/documents/result.h"
#include "system_files.h"
#include "worker_json.h"

namespace pagoda::tools::conv {
namespace {

using bench::JsonValue, bench::JsonWriter, documents::Config, documents::integer_of, documents::text_of;

std::string text_or(const Config& config, const char* axis, const char* otherwise) {
  const std::string text = text_of(config, axis);
  return text.empty() ? otherwise : text;
}

ConvLibrary library_for(const Config& config) {
  if (text_of(config, "algorithm") == "reference") return reference_library();
  return library_of(text_or(config, "device", "cpu"), static_cast<int>(integer_of(config, "threads").value_or(0)),
                    text_of(config, "math") == "tf32");
}

LayerList layers_of(const Config& config) {
  LayerOptions options{.batch = integer_of(config, "batch").value_or(1)};
  if (const auto size = config.find("input_size"); size != config.end()) options.input_size = input_sizes(size->second);
  return conv_layers(text_of(config, config.contains("model_file") ? "model_file" : "model"), options);
}

struct Prepared {
  ConvLibrary library;
  PreparedModel model;
};

std::string ready(const Config& config, const LayerList& list, const Prepared& prepared, double load_seconds) {
  const PreparedModel& model = prepared.model;
  return bench::event("ready", [&](JsonWriter& json) {
    json.member("items", integer_of(config, "batch").value_or(1)).member("load_seconds", load_seconds);
    json.member("compile_seconds", model.prepare_seconds);
    json.key("versions").begin_object().member(prepared.library.name, prepared.library.version).end_object();
    json.key("metadata").begin_object();
    json.member("convolutions", static_cast<std::int64_t>(list.layers.size()));
    json.member("convolutions_left_out", static_cast<std::int64_t>(list.left_out.size()));
    json.member("convolutions_run_as_auto", model.refused).member("convolution_macs", model.macs);
    json.member("convolution_error", model.verification.error).member("device", prepared.library.device).end_object();
  });
}

std::string prepare(const Config& config, Prepared& prepared) {
  const double start = steady_seconds();
  const LayerList list = layers_of(config);
  const double load_seconds = steady_seconds() - start;
  prepared.library = library_for(config);
  const auto unavailable = [](const std::string& why) { return bench::event("unavailable", why); };
  if (list.layers.empty())
    return unavailable(list.left_out.empty() ? "the model has no convolutions"
                                             : cat("no convolution can be run alone: ", list.left_out.front().name,
                                                   ": ", list.left_out.front().reason));
  if (!prepared.library.unavailable.empty())
    return unavailable(cat(prepared.library.name, " is not available: ", prepared.library.unavailable));
  const bool falls_back = text_of(config, "fallback") != "none";
  prepared.model = prepare_model(list, prepared.library,
                                 {.algorithm = text_or(config, "algorithm", "auto"),
                                  .seed = static_cast<std::uint64_t>(integer_of(config, "seed").value_or(1)),
                                  .check_points = integer_of(config, "check").value_or(4096),
                                  .fall_back = falls_back});
  if (!prepared.model.is_whole)
    return unavailable(cat(prepared.model.refusal(),
                           falls_back ? ", and nothing else runs them" : "; set fallback=auto to run those as auto"));
  return ready(config, list, prepared, load_seconds);
}

std::string answer_to(const JsonValue& asked, Prepared& prepared) {
  const std::string op = bench::text(asked, "op");
  if (op == "prepare") return prepare(bench::settings(asked, "config"), prepared);
  if (op == "run" && !prepared.model.layers.empty())
    return bench::event("times", [&](JsonWriter& json) {
      const auto runs = static_cast<std::int64_t>(bench::number(asked, "iterations").value_or(1));
      json.member("seconds", run_model(prepared.model, runs)).member("clock", prepared.library.clock);
    });
  if (op != "layers" || prepared.model.layers.empty())
    return bench::event("unsupported", "convolutions cannot do \"" + op + "\"");
  return bench::event("layers", [&](JsonWriter& json) {
    json.key("layers").begin_array();
    for (const documents::LayerTime& row :
         time_layers(prepared.model, {.budget_seconds = 0.2, .warmup_seconds = 0.1})) {
      json.begin_object().member("name", row.name).member("op_type", row.op_type).member("seconds", row.seconds);
      json.member("facts", row.facts).member_or_null("note", row.note).end_object();
    }
    json.end_array();
  });
}

}  // namespace

int conv_worker(std::istream& requests, std::ostream& answers) {
  Prepared prepared;
  return bench::serve(requests, answers, "the layers' tensors do not fit into memory",
                      [&](const JsonValue& asked) { return answer_to(asked, prepared); });
}

}  // namespace pagoda::tools::conv
