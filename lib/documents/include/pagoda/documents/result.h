// Experiments, by the names and values that determine them, and their results: one line of JSON each, in an append-only
// file.
//
//   append_result("out/results.jsonl", result);       // one write(): whole, or a torn last line
//   ResultSet set = load_results("out");              // every *.jsonl of the folder, merged by key
//   set.results; set.torn; set.duplicates;
//
// Schema pagoda.result/1 (data/schemas/result.schema.json): SI units without prefix; values that were not measured are
// null.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/base/settings.h"
#include "pagoda/base/timing.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

// What one experiment runs: axis → value. "model_file" is the path of a model's file, and "model_sha256" its content.
using Config = base::Settings;

// JSON with sorted keys, no spaces and shortest numbers. The key is a hash of it.
std::string canonical(const Config& config);
Config parse_config(std::string_view json, std::string_view subject);

// The value of an axis; empty if the config has none or its type is different.
std::string text_of(const Config& config, const std::string& axis);
std::optional<std::int64_t> integer_of(const Config& config, const std::string& axis);
std::optional<double> number_of(const Config& config, const std::string& axis);  // integers are converted
bool is_set(const Config& config, const std::string& axis);                      // present and true

// The first 32 hexadecimal digits of the SHA-256 of the canonical JSON of {"config": …, "schema": "pagoda.result/1"}.
// The config contains everything that determines the result and is known before the run: the model by its content, not
// its path (model_file is left out), backend, sizes, options, seed, the repeat number, and how it is measured. Limits,
// the host and framework versions are not part of it, so results from several hosts merge by key.
std::string config_key(const Config& config);

// "resnet50 ort batch=1 optimization=all": for display and for filters. `without` lists axes to leave out.
std::string config_label(const Config& config, const std::vector<std::string>& without = {});

// Whether a key of a config is an axis. Other keys are measurement settings, the repeat number and the model's file.
bool is_axis(std::string_view key);

struct Experiment {
  std::string key;
  Config config;
};

// Ok; Failed: it reported a failure, exited with an error or crashed; Timeout and OutOfMemory: exceeded its limits, or
// the system's memory; Killed: by an external signal that the runner did not send; NotAvailable: a dependency is not
// installed, or it does not support the request.
enum class ResultStatus : std::uint8_t { Ok, Failed, Timeout, OutOfMemory, Killed, NotAvailable };
std::string_view to_string(
    ResultStatus status);  // "ok", "failed", "timeout", "out_of_memory", "killed", "not_available"

// One layer or operator of a model: seconds in one run.
struct LayerTime {
  std::string name;
  std::string op_type;
  std::optional<double> seconds;
  base::Settings facts;  // sizes, algorithm, "workspace_bytes", "error", …
  std::string note;      // why there is no time; empty if there is one
};

// One input of the model, as it was run.
struct InputTensor {
  std::string name;
  std::string type;  // "float32", "int64", …
  std::vector<std::int64_t> shape;
};
// "x:float32[8,3,224,224]".
std::string to_string(const InputTensor& input);

// Outputs compared with a reference: Pass, Fail, or the reason why they could not be compared.
enum class VerificationCode : std::uint8_t {
  Pass,
  Fail,               // the error is above the threshold
  NoReference,        // the backend has no reference for this model, or the run is the reference
  ReferenceFailed,    // the reference did not run
  UnsupportedOutput,  // no tensors, or of a type that cannot be compared
  CountDiffers,       // a different number of outputs
  ShapesDiffer,
  NonFinite,  // infinities or NaN where the reference is finite
};
std::string_view to_string(VerificationCode code);  // "PASS", "FAIL", "NO_REFERENCE", …

struct Verification {
  VerificationCode code = VerificationCode::Pass;
  std::string reference;        // label of the reference run
  std::optional<double> error;  // maximum over the outputs of Σ|got − reference| / Σ|reference|
  double threshold = 0.02;
  std::string detail;
};

// Possible disturbances of a run; members are empty if the system does not report them.
struct Interference {
  std::optional<double> steal_seconds;  // stolen by the hypervisor, over all processors
  std::optional<double> load;           // runnable tasks at the end, one-minute mean
  std::optional<double> clock_hz_before, clock_hz_after, temperature_celsius;
  std::vector<std::string> throttle;
  // Until one processor sees what another wrote: before the timed runs, after them, and after the times of layers.
  std::vector<double> handoff_seconds;
};
// Which caches a run's processors had: of one, of different ones, or first the one, then the other.
enum class CachePlacement : std::uint8_t { Unknown, Together, Apart, Moved };
CachePlacement placement(const Interference& interference);

// Mean power of one rail of a board during the measured runs.
struct RailPower {
  std::string name;             // "VDD_GPU_SOC"
  std::optional<double> watts;  // empty: it could not be read throughout
  bool is_counted = false;      // part of the total; if not, another rail includes it, or not known
};

struct RunEnergy {
  std::optional<double> joules = {};          // of one run
  std::optional<double> watts = {};           // mean during the measured runs
  std::string source = {};                    // what was read, or why nothing was; empty: nothing to read
  std::optional<std::int64_t> samples = {};   // power samples during those runs; empty: an energy counter was read
  std::optional<double> period_seconds = {};  // between two samples
  std::vector<RailPower> rails = {};
};

struct Result {
  std::string key;
  Config config;
  ResultStatus status = ResultStatus::Ok;
  std::string reason;       // why it is not ok; empty if it is
  std::string stderr_tail;  // if not ok
  std::optional<int> exit_code, signal;

  std::optional<base::Timing> timing;  // of one run of the model
  std::string clock;                   // "steady", "device events"; empty: not timed
  std::optional<double> items;         // processed per run (images, sequences); throughput is items / p50
  std::optional<double> load_seconds, compile_seconds;
  std::optional<double> host_peak_bytes;    // resident, of the worker's processes
  std::optional<double> device_peak_bytes;  // allocated on the device, as counted by the framework
  RunEnergy energy;
  Interference interference;
  std::vector<InputTensor> inputs;  // empty: the worker did not say
  std::vector<LayerTime> layers;
  std::optional<Verification> verification;
  double wall_seconds = 0;           // of the experiment, start to end
  std::vector<std::string> unknown;  // members of the line that this version does not know
  base::Settings metadata;           // "time", "host", "cpu", "git_commit", "driver", "version.onnxruntime", …
};

// One line of JSON, without the line end.
std::string write_result(const Result& result);
// Members unknown to this version are listed in `unknown`. Throws Error.
Result parse_result(std::string_view json, std::string_view subject);

// Appends with a single write() under a lock and waits until the data is on disk. Starts a new line after one torn by a
// crash. Throws Error.
void append_result(const std::string& path, const Result& result);

struct ResultSet {
  std::vector<Result> results;  // unique keys: the last line of a key wins; in the order of first lines
  // Lines that are left out, so that their experiments run again: torn ones end early, unreadable ones hold no result
  // that this version reads.
  std::int64_t torn = 0, unreadable = 0;
  std::string unreadable_reason;     // of the first
  std::int64_t duplicates = 0;       // lines superseded by a later line with the same key
  std::vector<std::string> unknown;  // members of the lines that this version does not know, each once
};
ResultSet parse_results(std::string_view jsonl, std::string_view subject);
// Loads a file, or every *.jsonl in a folder in name order. A folder without any gives an empty set.
ResultSet load_results(const std::string& path);

}  // namespace pagoda::documents
#pragma GCC visibility pop
