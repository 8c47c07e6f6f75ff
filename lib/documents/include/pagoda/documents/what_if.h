// What a page needs to answer for other sizes, precisions and devices by itself: formulas with the dims left open, and
// the devices' rates.
//
//   Model model = load_model("bert.onnx");
//   documents::EstimateRequest request{.device = documents::device("h200")};
//   std::optional<documents::WhatIf> open = documents::what_if(model, request);
//   open->sizes;  // that a reader may change, at those of the request
//
// Every number that follows from it is the one of make_estimate() at those sizes. What does not follow from formulas of
// rows and kernels, such as predictions and the layout of an arena, is not in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/conventions.h"
#include "pagoda/core/roofline_table.h"
#include "pagoda/documents/make_estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

struct WhatIf {
  // A size that a reader may change.
  struct Size {
    std::string name;                   // as in the file: "batch", "sequence"; "past" of a phase
    std::string option;                 // that sets it: "--batch ", "--dim sequence="
    std::vector<std::string> symbols;   // of the formulas, all alike
    std::optional<std::int64_t> value;  // at which the request sets it; empty: free, taken as 1
    std::optional<std::int64_t> most;   // beyond it the file's operators contradict each other; empty: not found
    bool is_batch = false;              // items are counted in it
  };
  struct Counts {
    std::uint32_t macs = 0, arith = 0, special = 0, comparisons = 0, bytes_read = 0, bytes_written = 0;
  };
  // One precision, rows and fused kernels.
  struct Case {
    std::optional<Precision> precision;
    RooflineWork rows, fused;
    Counts totals;
    std::uint32_t fused_read = 0, fused_written = 0;
    std::optional<std::uint32_t> memory;  // bytes that a run needs (core/fit.h); empty: no formula is known
  };
  FormulaTable formulas;
  std::vector<Size> sizes;
  std::vector<Case> cases;
  std::size_t at = 0;                   // in cases: the request's
  std::vector<std::int32_t> group_of;   // by row: in Case::fused
  std::optional<std::uint32_t> tokens;  // of a phase: new ones of a run
  std::vector<DeviceSpec> devices;      // the request's first
  std::vector<std::string> arguments;   // of onnx-estimate, that hold for all: model, phase, count
};

// Empty where the request is of a training step, several devices, a sweep, a resident traffic or published counts, or
// has no device.
std::optional<WhatIf> what_if(const Model& model, const EstimateRequest& request);

}  // namespace pagoda::documents
#pragma GCC visibility pop
