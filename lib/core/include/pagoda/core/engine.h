// Predicted time: how long an engine that runs a model will take, as opposed to the roofline's lower bound. An engine
// is one record: what it predicts, how it lowers and times a model, and its coefficients, which a calibration holds.
//
//   DeviceSpec l40s = documents::device("l40s");
//   Prediction time = predict(model, analysis, l40s, documents::calibration("tensorrt"));
//   *time.seconds;          // the prediction
//   *time.low, *time.high;  // holds the measured time in `coverage` of runs like those left out of the fit
//
// Coefficients have no unit or count cycles where that lets them carry over to other devices; rates, clocks and watts
// are the device's. A calibration holds only in its regime.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/calibration.h"
#include "pagoda/core/device.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/parallel.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// The run to predict.
struct EngineRun {
  const Model& model;
  const Analysis& analysis;  // at `precision`
  const DeviceSpec& device;
  const Calibration& calibration;
  std::optional<Precision> precision = {};  // requested of all floats; empty: those of the file
  // Analyzes the model again with floats in another format; empty: those of the file. By default analyze() without
  // sizes.
  std::function<Analysis(std::optional<Precision>)> analyze_as = {};
  Bindings bindings = {};      // sizes of free dims, for engines of eager kernels; missing ones are 1
  bool is_rewritten = false;   // the model is the quantised form of the file
  bool channels_last = false;  // images and convolution weights are stored as N, H, W, C (NHWC)
  // One device's work in a step of several; null: the model runs on one device. Parts of a step that pass through
  // stages one after another overlap: `overlap` is the step's time over the sum of its stages'.
  const Share* share = nullptr;
  LinkRate link = {};
  double overlap = 1;
};

// Resident bytes that loading a model and running it add to a process.
struct EngineMemory {
  std::int64_t bytes = 0;       // the larger of load_bytes and run_bytes
  std::int64_t load_bytes = 0;  // the peak while the session is created: the file's tensors and their copies
  std::int64_t run_bytes = 0;   // what the session keeps, plus the activation arena as the engine grows it
  std::int64_t low = 0, high = 0;
  double coverage = 0;  // nominal fraction of networks whose peak lies between `low` and `high`
};

// Time while a host has the processors of a virtual machine where they were less often when the calibration was
// measured: with different last-level caches (`is_apart`), or with one.
struct EnginePlacement {
  bool is_apart = true;
  double seconds = 0;
  double share = 0;  // of the calibration's rounds
};

struct Prediction {
  std::optional<double> seconds = {};  // empty: `notes` give the reason
  std::optional<double> low = {}, high = {}, coverage = {};
  std::string no_interval = {};          // the reason if `low` is empty
  std::vector<std::string> notes = {};   // limits of the prediction and findings, each a warning
  std::vector<double> row_seconds = {};  // by Analysis::nodes: sums to `seconds`; empty: only the total is predicted
  std::int64_t kernels = 0;
  std::int64_t unknown_rows = 0;                        // > 0: the prediction covers only the other rows
  std::optional<EnginePlacement> other_placement = {};  // empty: not measured
  std::optional<EngineMemory> memory = {};              // empty: the engine has no model of its memory
  // Nodes of a model with quantised products: products that still run in floats, and conversions that are kernels of
  // their own.
  std::vector<std::string> float_products = {}, unfused_conversions = {};
};

struct Engine {
  std::string_view id, what;
  std::string_view schema;            // of its calibration files
  std::string_view calibration = {};  // the built-in default; empty: pagoda-calibrate --here makes one
  bool is_of_one_machine = false;     // predicts only the machine that a calibration was measured on
  // Requests.
  std::span<const Precision> precisions;    // that it predicts; the first is that of its products
  std::optional<Precision> rewritten = {};  // --what-if may also ask for this one: the model is rewritten for it
  std::string_view covers;                  // begins the refusal of another precision; {} is the calibration's id
  std::string_view remedy = {};             // ends the refusal of a --precision
  bool runs_on_groups = false;              // predicts a step on several devices
  std::string_view interval_of = {};        // follows the percentage of an interval: " of models"
  // Optimizations that the requested bound may ignore.
  bool fuses = false;
  // Precision of products unless the request names one: the first for which the device has tensor units, else the last.
  // Empty: that of the file.
  std::span<const Precision> products = {};
  std::string_view others = {};
  // Its coefficients, as files name them.
  CoefficientRows (*coefficients)();
  CoefficientRows (*powers)() = nullptr;  // of Calibration::powers; null: it has none
  // Lowers the model to the engine's kernels and sums their times.
  Prediction (*predict)(const EngineRun& run);
};

std::span<const Engine* const> engines();        // the first is the default
const Engine& engine(std::string_view id);       // throws Error, which lists the known ones
const Engine* find_engine(std::string_view id);  // null: not known

// Whether a node of the model multiplies numbers of one of these types.
bool multiplies(const Analysis& analysis, std::initializer_list<ElementType> types);
// Whether a value of the main graph has one of these types, such as the numbers between the two nodes of a Q/DQ pair.
bool holds(const Analysis& analysis, std::initializer_list<ElementType> types);

// By the engine of the calibration. Throws Error where the engine does not run the model.
Prediction predict(const EngineRun& run);
Prediction predict(const Model& model, const Analysis& analysis, const DeviceSpec& device,
                   const Calibration& calibration);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
