// Runs one experiment in a worker and creates its record.
#include "experiment_run.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>

#include "gpu_watch.h"
#include "machine_state.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/base/timing.h"
#include "pagoda/present/spell.h"

namespace pagoda::tools::bench {
namespace {

using documents::Config, documents::is_set, documents::Result, documents::ResultStatus, documents::text_of,
    documents::Verification, documents::VerificationCode;

std::string prepare_request(const PreparedModel& prepared, const std::string& folder) {
  return request("prepare", [&](JsonWriter& json) {
    json.member("protocol", 1).member("config", prepared.config).member("folder", folder);
    if (!prepared.sizes) return;
    json.key("inputs").begin_array();
    for (const documents::InputTensor& input : prepared.sizes->inputs) {
      json.begin_object(JsonWriter::Layout::Compact).member("name", input.name).member("type", input.type);
      json.member("shape", input.shape).end_object();
    }
    json.end_array();
  });
}

std::string outputs_request(const std::string& path) {
  return request("outputs", [&](JsonWriter& json) { json.member("path", path); });
}

// Timing options of the experiment's config.
base::TimingOptions timing_options(const Config& config) {
  base::TimingOptions options;
  const auto number = [&](const char* name, double& into) { into = documents::number_of(config, name).value_or(into); };
  const auto count = [&](const char* name, std::int64_t& into) {
    into = documents::integer_of(config, name).value_or(into);
  };
  number("measure.budget_seconds", options.budget_seconds);
  number("measure.half_width", options.half_width);
  number("measure.warmup_seconds", options.warmup_seconds);
  number("measure.settle", options.settle);
  count("measure.min_iterations", options.min_iterations);
  count("measure.max_iterations", options.max_iterations);
  count("measure.warmup_iterations", options.warmup_iterations);
  return options;
}

void note_handoff(Result& result) {
  if (const auto seconds = handoff_seconds()) result.interference.handoff_seconds.push_back(*seconds);
}

// Times the model; also records energy, the GPU's state and its driver.
void time_model(Session& session, const Config& config, std::optional<int> gpu, Result& result) {
  Meters meters(gpu);
  std::string clock = "steady";
  const auto run = [&](std::int64_t n) {
    const JsonValue answer =
        session.ask(request("run", [&](JsonWriter& json) { json.member("iterations", n); }), "times");
    std::vector<double> seconds = numbers(answer, "seconds");
    std::erase_if(seconds, [](double value) { return value < 0; });
    if (const std::string named = text(answer, "clock"); !named.empty()) clock = named;
    return seconds;
  };
  note_handoff(result);
  const MeteredTiming timed = time_with_energy(meters, run, timing_options(config));
  note_handoff(result);
  if (timed.timing.latency.n == 0) throw Ended{End::Line, "error", "", "the worker made no runs"};
  result.timing = timed.timing;
  result.clock = clock;
  result.energy = timed.energy;
  if (!meters.trace) return;
  if (!timed.measured.empty())
    note_gpu(meters.trace->points(), timed.measured.front().start, timed.measured.back().end, result.interference);
  if (const std::string driver = meters.nvml->driver(); !driver.empty()) result.metadata["driver"] = driver;
  if (const auto watts = meters.nvml->limit_watts()) result.metadata["gpu_power_limit_watts"] = *watts;
}

void read_layers(Session& session, Result& result) {
  const JsonValue answer = session.ask_if_known(request("layers"), "layers");
  for (const JsonValue& entry : array(answer, "layers"))
    if (entry.is_object())
      result.layers.push_back({text(entry, "name"), text(entry, "op_type"), number(entry, "seconds"),
                               settings(entry, "facts"), text(entry, "note")});
}

// Status and reason of a run whose conversation ended early, other than by an interrupt.
std::pair<ResultStatus, std::string> outcome(const Ended& ended, const Exit& exit, std::int64_t seen_bytes,
                                             const lab::ExperimentLimits& limits) {
  switch (ended.end) {
    case End::Timeout:
      return {ResultStatus::Timeout, cat("not done after ", base::shortest(limits.seconds), " s")};
    case End::Memory:
      return {ResultStatus::OutOfMemory, cat("held ", seen_bytes, " bytes, the limit is ", limits.memory_bytes)};
    case End::Line:
      if (ended.event != "error") return {ResultStatus::NotAvailable, ended.message};
      return {ended.kind == "out_of_memory" ? ResultStatus::OutOfMemory : ResultStatus::Failed, ended.message};
    case End::Closed:
    case End::Interrupted:
      break;
  }
  if (!exit.signal)
    return {ResultStatus::Failed, cat("exited with ", exit.code.value_or(-1), " before it had answered")};
  const std::string signal = cat("signal ", *exit.signal, " (", ::strsignal(*exit.signal), ")");
  constexpr int kCrashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};
  if (std::ranges::find(kCrashes, *exit.signal) != std::end(kCrashes))
    return {ResultStatus::Failed, "crashed with " + signal};
  if (exit.kernel_out_of_memory) return {ResultStatus::OutOfMemory, "killed by the kernel for want of memory"};
  return {ResultStatus::Killed, "ended by " + signal};
}

// Starts a worker, asks it, ends it and records how it ended. False: interrupted.
bool converse(const std::vector<std::string>& command, const RunOptions& options,
              const std::function<void(Session&)>& asks, Result& result) {
  Session session(command, options);
  std::optional<Ended> ended;
  try {
    asks(session);
  } catch (const Ended& early) {
    ended = early;
  }
  const bool kill_now = ended && ended->end != End::Closed && ended->end != End::Line;
  const Exit exit = session.finish(kill_now);
  result.exit_code = exit.code;
  if (!kill_now) result.signal = exit.signal;
  if (exit.peak_bytes > 0) result.host_peak_bytes = static_cast<double>(exit.peak_bytes);
  if (!ended) return true;
  if (ended->end == End::Interrupted) return false;
  std::tie(result.status, result.reason) = outcome(*ended, exit, session.seen_bytes(), options.limits);
  result.stderr_tail = session.stderr_tail();
  return true;
}

// Outputs of the reference, which runs once and is kept in the folder.
struct Reference {
  std::vector<OutputTensor> outputs;
  std::string failure;  // empty: outputs are valid
};

// Empty if interrupted.
std::optional<Reference> reference_outputs(const Config& config, const Workers& workers, const RunOptions& options) {
  const std::string folder = options.folder + "/references/" + documents::config_key(config);
  const std::string index = folder + "/outputs.json";
  Reference reference;
  try {
    if (!std::filesystem::exists(index)) {
      std::filesystem::create_directories(folder);
      JsonValue event;
      const auto asks = [&](Session& session) {
        session.stage("reference run");
        session.ask(prepare_request(prepared_model(config, options), folder), "ready");
        event = session.ask(outputs_request(folder + "/outputs.bin"), "outputs");
      };
      Result run;
      if (!converse(workers.at(text_of(config, "backend")), options, asks, run)) return std::nullopt;
      reference.failure = run.reason;
      if (run.status != ResultStatus::Ok) return reference;
      base::write_file(index, event.dump());
    }
    const auto event = parse_line(base::read_file(index, "outputs of a reference run"));
    if (event) reference.outputs = load_outputs(*event);
  } catch (const std::exception& error) {
    reference.failure = error.what();
  }
  return reference;
}

// Call before timing: state left by earlier runs must not change the outputs.
Verification verify(Session& session, const Config& config, const Reference& reference, const RunOptions& options) {
  Verification v;
  v.threshold = options.threshold;
  const std::string path = options.folder + cat("/outputs-", ::getpid(), ".bin");
  try {
    const JsonValue event = session.ask(outputs_request(path), "outputs");
    v = reference.failure.empty()
            ? compare_outputs(load_outputs(event), reference.outputs, options.threshold)
            : Verification{VerificationCode::ReferenceFailed, "", {}, options.threshold, reference.failure};
  } catch (const Error& error) {
    v.code = VerificationCode::UnsupportedOutput;
    v.detail = error.what();
  }
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  v.reference = documents::config_label(config);
  return v;
}

// Adds an answer's facts about the run's machine and framework.
void read_metadata(const JsonValue& answer, Result& result) {
  for (const auto& [name, value] : settings(answer, "metadata")) result.metadata[name] = value;
}

void read_ready(const JsonValue& ready, const std::optional<lab::bench::RunSizes>& sizes, Result& result) {
  result.items = number(ready, "items");
  if (sizes) result.items = sizes->batch ? std::optional(static_cast<double>(*sizes->batch)) : std::nullopt;
  result.load_seconds = number(ready, "load_seconds");
  result.compile_seconds = number(ready, "compile_seconds");
  for (const auto& [name, value] : settings(ready, "versions"))
    if (std::holds_alternative<std::string>(value)) result.metadata["version." + name] = value;
  read_metadata(ready, result);
  for (const JsonValue& entry : array(ready, "inputs")) {
    documents::InputTensor input{.name = text(entry, "name"), .type = text(entry, "type"), .shape = {}};
    for (const double size : numbers(entry, "shape"))
      if (size >= 0) input.shape.push_back(static_cast<std::int64_t>(size));
    result.inputs.push_back(std::move(input));
  }
}

// Whether a run equals its own reference, so that a PASS would mean nothing. Axes that are not given equal the
// reference, except ONNX Runtime's optimisation, which is on by default.
bool is_own_reference(const Config& config, const Config& reference) {
  return std::ranges::all_of(reference, [&](const auto& axis) {
    const auto it = config.find(axis.first);
    return it == config.end() ? axis.first != "optimization" : it->second == axis.second;
  });
}

}  // namespace

Workers workers(const Workers& of_user, const std::string& python, const std::string& folder, const std::string& self) {
  Workers all = of_user;
  for (const std::string name : {"ort", "torch", "jax"})
    all.emplace(name, std::vector{python, cat(folder, "/", name, "_worker.py")});
  for (const std::string name : {"cmd", "conv"}) all.emplace(name, std::vector{self, std::string("worker"), name});
  return all;
}

std::optional<Config> reference_config(const Config& config) {
  const std::string backend = text_of(config, "backend");
  if (backend != "ort" && backend != "torch") return std::nullopt;
  Config reference;
  for (const char* name : {"model", "model_name", "model_file", "model_sha256", "backend", "batch", "sequence",
                           "input_size", "seed", "data", "mode", "optimizer"})
    if (const auto it = config.find(name); it != config.end()) reference[name] = it->second;
  reference["device"] = "cpu";
  if (backend == "ort") {
    reference["optimization"] = "disable";
    if (const auto it = config.find("dtype"); it != config.end()) reference["dtype"] = it->second;
  } else {
    reference["compile"] = "eager";
    reference["dtype"] = "float32";
  }
  return reference;
}

std::optional<Result> run_experiment(const documents::Experiment& experiment, const Workers& workers,
                                     const RunOptions& options) {
  const Clock::time_point start = Clock::now();
  Result result;
  result.key = experiment.key;
  result.config = experiment.config;
  result.metadata = options.metadata;
  result.metadata["time"] = base::utc_now();
  const std::string backend = text_of(experiment.config, "backend");
  const auto command = workers.find(backend);
  if (command == workers.end()) {
    result.status = ResultStatus::NotAvailable;
    result.reason = cat("there is no worker for the backend \"", backend, "\"");
    return result;
  }
  std::filesystem::create_directories(options.folder);

  std::optional<Reference> reference;
  const bool verifies = is_set(experiment.config, "verify");
  const std::optional<Config> plain = verifies ? reference_config(experiment.config) : std::nullopt;
  const bool is_reference = plain && is_own_reference(experiment.config, *plain);
  if (plain && !is_reference) {
    reference = reference_outputs(*plain, workers, options);
    if (!reference) return std::nullopt;
  } else if (verifies) {
    result.verification = Verification{.code = VerificationCode::NoReference,
                                       .reference = "",
                                       .error = {},
                                       .detail = is_reference ? "this run is the reference of the others" : ""};
  }

  const std::optional<int> gpu = cuda_index(text_of(experiment.config, "device"));
  const MachineState before = machine_state();
  try {
    const PreparedModel prepared = prepared_model(experiment.config, options);
    if (prepared.is_filled) result.metadata["weights"] = "random: the model's file has none";
    if (prepared.sizes && prepared.sizes->is_resized)
      result.metadata["resized"] = "the model's file fixes other sizes; a copy with these ran";
    const auto asks = [&](Session& session) {
      session.stage("preparing");
      read_ready(session.ask(prepare_request(prepared, options.folder), "ready"), prepared.sizes, result);
      if (reference) result.verification = verify(session, *plain, *reference, options);
      session.stage("measuring", false);
      time_model(session, experiment.config, gpu, result);
      if (is_set(experiment.config, "layers")) {
        session.stage("layers");
        read_layers(session, result);
        note_handoff(result);
      }
      // Facts that are known only after the runs.
      result.device_peak_bytes = number(session.ask_if_known(request("memory"), "memory"), "device_peak_bytes");
      read_metadata(session.ask_if_known(request("facts"), "facts"), result);
    };
    if (!converse(command->second, options, asks, result)) return std::nullopt;
  } catch (const Error& error) {
    result.status = ResultStatus::NotAvailable;
    result.reason = present::command_line(error.what());
  }
  if (interrupted) return std::nullopt;
  note_machine(before, machine_state(), gpu.has_value(), result.interference);
  result.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

}  // namespace pagoda::tools::bench
