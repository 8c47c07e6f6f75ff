// The bounds of roofline.h as data, for programs that evaluate them for other sizes and devices themselves, such as a
// web page.
//
//   Model model = load_model("bert.onnx");
//   Analysis analysis = analyze(model);                  // dims may be free
//   Traffic fused = traffic(model, analysis);
//   RooflineTables tables;
//   RooflineWork rows = tables.add(analysis);            // every row a kernel
//   RooflineWork groups = tables.add(analysis, &fused);  // groups as kernels
//   FormulaTable formulas = tables.formulas();           // that all of them share
//   DeviceRates rates = device_rates(device("h200"));
//
// A kernel's least time is that of roofline(). With C contraction operations, L lane issues and S special evaluations a
// second, and sums over the parts of the kernel:
//   tensor  = 2 macs / C on tensor units, else 0
//   issues  = max(0, arith - comparisons) / 2 + comparisons, and where C is of vector lanes + 2 macs / C · L
//   seconds = max(Σ tensor, Σ issues / L, Σ (issues + special) / (L + S), bytes / bandwidth of each level)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/device.h"
#include "pagoda/core/dim.h"
#include "pagoda/core/traffic.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// The work of one row, as indices into FormulaTable::formulas.
struct RooflinePart {
  std::uint32_t macs = 0, arith = 0, comparisons = 0, special = 0, needed_bytes = 0;
  std::optional<Precision> precision;  // empty: no rate is known
  std::optional<Precision> narrowest;  // in which an engine that folds quantisation may multiply

  bool operator==(const RooflinePart&) const = default;
  // Not <=>, which libc++ lacks for vectors and optionals before 17.
  friend bool operator<(const RooflinePart& a, const RooflinePart& b) {
    const auto key = [](const RooflinePart& part) {
      return std::tie(part.macs, part.arith, part.comparisons, part.special, part.needed_bytes, part.precision,
                      part.narrowest);
    };
    return key(a) < key(b);
  }
};

// A unit of execution: a row, or a group of rows that moves its bytes together.
struct RooflineKernel {
  std::vector<RooflinePart> parts;
  std::uint32_t bytes_read = 0, bytes_written = 0;
  std::uint32_t runs = 0;  // how often it is launched: in a loop, once a trip

  bool operator==(const RooflineKernel&) const = default;
  friend bool operator<(const RooflineKernel& a, const RooflineKernel& b) {
    return std::tie(a.parts, a.bytes_read, a.bytes_written, a.runs) <
           std::tie(b.parts, b.bytes_read, b.bytes_written, b.runs);
  }
};

struct RooflineWork {
  std::vector<RooflineKernel> kernels;  // each distinct one once
  std::vector<std::int32_t> kernel_of;  // by row or group; -1: runs nothing
  std::int64_t unmodelled = 0;          // rows
};

class DimTable;

class RooflineTables {
 public:
  RooflineTables();
  ~RooflineTables();

  // Without `traffic` every row is a kernel.
  RooflineWork add(const Analysis& analysis, const Traffic* traffic = nullptr);
  std::uint32_t add(const Dim& formula);
  // The formulas of everything added.
  FormulaTable formulas();

 private:
  std::unique_ptr<DimTable> table_;
};

// Rates of a device, per second.
struct DeviceRates {
  struct Rate {
    double contraction = 0;                    // operations of multiply-accumulates; 0: not known
    Precision precision = Precision::Float32;  // of the peak that contractions run at
    Unit unit = Unit::Vector;
    double lanes = 0;  // issues of vector lanes; 0: not known
  };
  struct Level {
    std::string level;
    double bytes_per_second = 0;
    double inside_bytes = 0;  // capacity of the levels inside it
  };
  std::vector<Rate> rates;  // by Precision
  double special_per_second = 0;
  std::vector<Level> levels;  // levels that limit a kernel
};
DeviceRates device_rates(const DeviceSpec& device);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
