// Answers prepare, run and layers. Options of the config: algorithm (auto), device (cpu or cuda:N), threads, batch,
// input_size, seed; fallback = "none" to have no run of the whole where the algorithm refuses layers; check, the number
// of outputs a layer that are compared; math = "tf32" on cuda.
#include "conv_worker.h"

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "conv_study.h"
#include "pagoda/base/error.h"

namespace pagoda::tools::conv {
namespace {

using Json = nlohmann::json;

Json to_json(const base::Settings& settings) {
  Json json = Json::object();
  for (const auto& [name, setting] : settings)
    std::visit(
        [&json, key = name](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
            json[key] = nullptr;
          else
            json[key] = value;
        },
        setting);
  return json;
}

ConvLibrary library_for(const Json& config) {
  const std::string device = config.value("device", "cpu"), algorithm = config.value("algorithm", "auto");
  if (algorithm == "reference") return reference_library();
  if (!device.starts_with("cuda")) return onednn_library(config.value("threads", 0));
  const std::size_t colon = device.find(':');
  return cudnn_library(colon == std::string::npos ? 0 : std::stoi(device.substr(colon + 1)),
                       config.value("math", "fma") == "tf32");
}

Json layer_json(const documents::LayerTime& row) {
  return {{"name", row.name},
          {"op_type", row.op_type},
          {"seconds", row.seconds ? Json(*row.seconds) : Json()},
          {"facts", to_json(row.facts)},
          {"note", row.note.empty() ? Json() : Json(row.note)}};
}

struct Prepared {
  ConvLibrary library;
  PreparedModel model;
};

Json prepare(const Json& config, Prepared& prepared) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const LayerList list = conv_layers(
      config.value("model_file", config.value("model", "")),
      {.batch = config.value("batch", std::int64_t{1}), .input_size = config.value("input_size", std::int64_t{0})});
  const double load_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (list.layers.empty())
    return {{"event", "unavailable"},
            {"message", list.left_out.empty() ? std::string("the model has no convolutions")
                                              : "no convolution can be run alone: " + list.left_out.front().name +
                                                    ": " + list.left_out.front().reason}};
  prepared.library = library_for(config);
  if (!prepared.library.unavailable.empty())
    return {{"event", "unavailable"},
            {"message", prepared.library.name + " is not available: " + prepared.library.unavailable}};
  const bool fall_back = config.value("fallback", "auto") != "none";
  prepared.model = prepare_model(list, prepared.library,
                                 {.algorithm = config.value("algorithm", "auto"),
                                  .seed = config.value("seed", std::uint64_t{1}),
                                  .check_points = config.value("check", std::int64_t{4096}),
                                  .fall_back = fall_back});
  if (!prepared.model.is_whole())
    return {{"event", "unavailable"},
            {"message", prepared.model.algorithm + " refuses " + std::to_string(prepared.model.refused()) + " of " +
                            std::to_string(list.layers.size()) + " convolutions" +
                            (fall_back ? ", and nothing else runs them" : "; set fallback=auto to run those as auto")}};
  const auto worst = prepared.model.worst_error();
  return {{"event", "ready"},
          {"items", config.value("batch", 1)},
          {"load_seconds", load_seconds},
          {"compile_seconds", prepared.model.prepare_seconds},
          {"versions", {{prepared.library.name, prepared.library.version}}},
          {"metadata",
           {{"convolutions", static_cast<std::int64_t>(list.layers.size())},
            {"convolutions_left_out", static_cast<std::int64_t>(list.left_out.size())},
            {"convolutions_run_as_auto", prepared.model.refused()},
            {"convolution_macs", prepared.model.macs()},
            {"convolution_error", worst ? Json(*worst) : Json()},
            {"device", prepared.library.device}}}};
}

}  // namespace

int conv_worker(std::istream& requests, std::ostream& answers) {
  const auto answer = [&](const Json& event) {
    answers << event.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  };
  Prepared prepared;
  try {
    for (std::string line; std::getline(requests, line);) {
      const Json request = Json::parse(line, nullptr, false);
      const std::string op = request.is_object() ? request.value("op", "") : "";
      if (op == "quit") break;
      if (op == "prepare") {
        answer(prepare(request.value("config", Json::object()), prepared));
      } else if (op == "run" && !prepared.model.layers.empty()) {
        answer({{"event", "times"},
                {"seconds", run_model(prepared.model, request.value("iterations", std::int64_t{1}))},
                {"clock", prepared.library.clock}});
      } else if (op == "layers" && !prepared.model.layers.empty()) {
        Json rows = Json::array();
        for (const documents::LayerTime& row :
             time_layers(prepared.model, {.budget_seconds = 0.2, .warmup_seconds = 0.1}))
          rows.push_back(layer_json(row));
        answer({{"event", "layers"}, {"layers", std::move(rows)}});
      } else {
        answer({{"event", "unsupported"}, {"message", "convolutions cannot do \"" + op + "\""}});
      }
    }
  } catch (const std::bad_alloc&) {
    answer({{"event", "error"}, {"kind", "out_of_memory"}, {"message", "the layers' tensors do not fit into memory"}});
    return 1;
  } catch (const std::exception& error) {
    answer({{"event", "error"}, {"message", error.what()}});
    return 1;
  }
  return 0;
}

}  // namespace pagoda::tools::conv
