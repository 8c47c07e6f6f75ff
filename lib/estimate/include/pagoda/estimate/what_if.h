// The data a page needs to recompute an estimate for other sizes, precisions and devices: formulas with free dims, and
// the devices' rates.
//
//   Model model = load_model("bert.onnx");
//   estimate::EstimateRequest request{.device = documents::device("h200")};
//   std::optional<estimate::WhatIf> open = estimate::what_if(model, request);
//   open->sizes;  // that a reader may change, at those of the request
//
// Numbers computed from it equal those of make_estimate() at the same sizes. Results that do not follow from formulas
// of rows and kernels, such as predictions and arena layout, are not included.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/conventions.h"
#include "pagoda/core/roofline_table.h"
#include "pagoda/estimate/make_estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {

struct WhatIf {
  // A size that the reader of the page can change.
  struct Size {
    std::string name;                   // as in the file: "batch", "sequence"; "past" of a phase
    std::string field;                  // of the request, before its value: "`batch=`", "`dims=sequence=`"
    std::vector<std::string> symbols;   // symbols of the formulas, all set to this size
    std::optional<std::int64_t> value;  // value set by the request; empty: free, taken as 1
    std::optional<std::int64_t> most;   // above it, the model's operators contradict each other; empty: not found
    bool is_batch = false;              // it is the number of items
  };
  struct Counts {
    std::uint32_t macs = 0, arith = 0, special = 0, comparisons = 0, bytes_read = 0, bytes_written = 0;
  };
  // Rows and fused kernels at one precision.
  struct Case {
    std::optional<Precision> precision;
    RooflineWork rows, fused;
    Counts totals;
    std::uint32_t fused_read = 0, fused_written = 0;
    std::optional<std::uint32_t> memory;  // bytes needed by a run (core/fit.h); empty: no formula is known
  };
  FormulaTable formulas;
  std::vector<Size> sizes;
  std::vector<Case> cases;
  std::size_t at = 0;                   // index in `cases` of the request's precision
  std::vector<std::int32_t> group_of;   // by row: index in Case::fused
  std::optional<std::uint32_t> tokens;  // in a phase: new tokens of a run
  std::vector<DeviceSpec> devices;      // the request's device first
  std::vector<std::string> arguments;   // words of a command common to all: model, phase, count
};

// Empty if the request has a training step, several devices, a sweep, resident traffic or published counts, or has no
// device.
std::optional<WhatIf> what_if(const Model& model, const EstimateRequest& request);

}  // namespace pagoda::estimate
#pragma GCC visibility pop
