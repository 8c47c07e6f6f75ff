// Results of experiments: one line of JSON each, in a file that only grows.
//
//   append_result("out/results.jsonl", result);       // one write(): whole, or a torn last line
//   ResultSet set = load_results("out");              // every *.jsonl of the folder, merged by key
//   set.results; set.torn; set.duplicates;
//
// Schema pagoda.result/1 (data/schemas/result.schema.json): SI units without prefix; what was not measured is null.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/base/timing.h"
#include "pagoda/documents/experiment.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

// Ok; Failed: it said so, exited with an error or crashed; Timeout and OutOfMemory: beyond its limits, or the system's
// memory; Killed: by a signal from outside that the runner did not send; NotAvailable: what it needs is not installed,
// or it cannot do what was asked.
enum class ResultStatus : std::uint8_t { Ok, Failed, Timeout, OutOfMemory, Killed, NotAvailable };
std::string_view to_string(
    ResultStatus status);  // "ok", "failed", "timeout", "out_of_memory", "killed", "not_available"

// One layer or operator of a model: seconds in one run.
struct LayerTime {
  std::string name;
  std::string op_type;
  std::optional<double> seconds;
  base::Settings facts;  // sizes, algorithm, "workspace_bytes", "error", …
  std::string note;      // why there is no time; empty: there is
};

// One input of the model, as it was run.
struct InputTensor {
  std::string name;
  std::string type;  // "float32", "int64", …
  std::vector<std::int64_t> shape;
};
// "x:float32[8,3,224,224]".
std::string to_string(const InputTensor& input);

// Outputs held against a reference. Pass, Fail; the others say why it could not be told.
enum class VerificationCode : std::uint8_t {
  Pass,
  Fail,               // the error is above the threshold
  NoReference,        // the backend has none for this model, or the run is the reference
  ReferenceFailed,    // it did not run
  UnsupportedOutput,  // no tensors, or of a type that cannot be compared
  CountDiffers,       // another number of outputs
  ShapesDiffer,
  NonFinite,  // infinities or NaN where the reference has numbers
};
std::string_view to_string(VerificationCode code);  // "PASS", "FAIL", "NO_REFERENCE", …

struct Verification {
  VerificationCode code = VerificationCode::Pass;
  std::string reference;        // label of the run that it is held against
  std::optional<double> error;  // worst of the outputs: Σ|got − reference| / Σ|reference|
  double threshold = 0.02;
  std::string detail;
};

// What disturbed a run, or may have: empty where the system does not say.
struct Interference {
  std::optional<double> steal_seconds;  // that the hypervisor gave to others, over all processors
  std::optional<double> load;           // runnable tasks at the end, one-minute mean
  std::optional<double> clock_hz_before, clock_hz_after, temperature_celsius;
  std::vector<std::string> throttle;
};

// Mean power of one rail of a board while the measured runs were made.
struct RailPower {
  std::string name;             // "VDD_GPU_SOC"
  std::optional<double> watts;  // empty: it could not be read throughout
  bool is_counted = false;      // it is a part of the total; what is not is within another one, or unknown
};

struct RunEnergy {
  std::optional<double> joules = {};          // of one run
  std::optional<double> watts = {};           // mean while the measured runs were made
  std::string source = {};                    // what was read, or why nothing was; empty: there is nothing to read
  std::optional<std::int64_t> samples = {};   // of power, in those runs; empty: a counter of energy was read
  std::optional<double> period_seconds = {};  // between two samples
  std::vector<RailPower> rails = {};
};

struct Result {
  std::string key;
  Config config;
  ResultStatus status = ResultStatus::Ok;
  std::string reason;       // why it is not ok; empty: it is
  std::string stderr_tail;  // of what is not ok
  std::optional<int> exit_code, signal;

  std::optional<base::Timing> timing;  // of one run of the model
  std::string clock;                   // "steady", "device events"; empty: not timed
  std::optional<double> items;         // that one run handles (images, sequences); throughput is items / p50
  std::optional<double> load_seconds, compile_seconds;
  std::optional<double> host_peak_bytes;    // resident, of the worker's processes
  std::optional<double> device_peak_bytes;  // allocated on the device, as the framework counts
  RunEnergy energy;
  Interference interference;
  std::vector<InputTensor> inputs;  // empty: the worker did not say
  std::vector<LayerTime> layers;
  std::optional<Verification> verification;
  double wall_seconds = 0;  // of the experiment, start to end
  base::Settings metadata;  // "time", "host", "cpu", "git_commit", "driver", "version.onnxruntime", …
};

// One line of JSON, without its end.
std::string write_result(const Result& result);
// Unknown keys are ignored. Throws Error.
Result parse_result(std::string_view json, std::string_view subject);

// Appends by one write() under a lock and waits until it is on the disk. After a line that a crash tore it starts a
// new one. Throws Error.
void append_result(const std::string& path, const Result& result);

struct ResultSet {
  std::vector<Result> results;  // no key twice: the last line of a key counts; in the order of their first lines
  std::int64_t torn = 0;        // lines that are no result, to be run again
  std::int64_t duplicates = 0;  // earlier lines of a key that has later ones
};
ResultSet parse_results(std::string_view jsonl, std::string_view subject);
// A file, or every *.jsonl in a folder, in the order of their names. A folder without any is an empty set.
ResultSet load_results(const std::string& path);

}  // namespace pagoda::documents
#pragma GCC visibility pop
