// Which is fastest: the forms of a network, the engines, and the machines that they run on.
//
//   EngineTable table =
//       compare_engines({engine_row(model, {"onnxruntime-cpu", on_cpu}), engine_row(narrow, {"tensorrt", on_gpu})});
//   table.rows[*table.fastest].seconds;  // as predicted
//   table.rivals;                        // rows that may be faster; empty: the verdict is sure
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/estimate/make_estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {

// An engine on a machine.
struct EngineChoice {
  std::string engine;
  EstimateRequest request;   // without `engine`: not predicted
  std::string problem = {};  // why it is not
  std::string form = {};     // "int8" of `request.other_precisions`; empty: that of the file
};

// A model under an engine on a machine.
struct EngineRow {
  std::string model;  // path
  std::string form;   // the type of most multiply-accumulates: "float32", "int8"; empty: not known
  std::string engine, device;
  bool is_on_cpu = false;
  std::optional<double> seconds = {}, low = {}, high = {};  // as predicted
  std::optional<double> least_seconds = {};                 // bound of the device, with launches; empty: no device
  std::vector<std::string> reasons = {};                    // what takes the time, the first for the verdict
  std::string problem = {};                                 // why no time is predicted
};

struct EngineTable {
  std::vector<EngineRow> rows;
  std::optional<std::size_t> fastest = {};  // of the predicted rows; empty: none is
  std::vector<std::size_t> rivals = {};     // the fastest first, then rows that are only bounded
};

// With `choice.request.other_precisions` of one precision: of that form.
EngineRow engine_row(const Model& model, const EngineChoice& choice);

// Two rows of one engine on one machine differ by the ratio of their times, whose error is below that of each: it comes
// from measured pairs. Otherwise intervals decide, and where nothing is predicted the bound.
EngineTable compare_engines(std::vector<EngineRow> rows);

}  // namespace pagoda::estimate
#pragma GCC visibility pop
