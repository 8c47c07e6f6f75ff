// Roofs: the lines that no operator can be above, and the frame they span.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/device.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/present/plot.h"

namespace pagoda::present::plot {

struct Roof {
  enum class Kind { Compute, Bandwidth };
  Kind kind = Kind::Compute;
  std::string id;                     // "tensor-float16", "dram": for element ids
  std::string name;                   // "FP16, BF16 tensor", "DRAM"
  double value = 0;                   // FLOP/s or B/s
  std::vector<Precision> precisions;  // of a compute roof: all that share unit and value
  Unit unit = Unit::Vector;
  std::string level;  // of a bandwidth roof
  bool measured = false;
  std::optional<double> spec;  // what the vendor states, beside a measured value
  std::string source;
  bool is_energy = false;  // FLOP/J or B/J
  bool shown = false;      // drawn at first; the others can be switched on in the page

  std::string unit_text() const;  // "FLOP/s"; "OP/s" where every format is an integer; "B/s"
  std::string label() const;      // "DRAM 4.25 TB/s (measured; spec 4.8)"
};

struct Roofs {
  std::vector<Roof> compute;    // fastest first
  std::vector<Roof> bandwidth;  // from memory inwards; [0] is DRAM
  std::size_t main = 0;         // of compute: the one that the ridge is drawn for

  // Whether one compute roof holds for all work: left of its ridge memory bounds, right of it arithmetic.
  bool is_single() const {
    return std::count_if(compute.begin(), compute.end(), [](const Roof& r) { return r.shown; }) == 1;
  }
  double ridge(std::size_t of, std::size_t level = 0) const { return compute[of].value / bandwidth[level].value; }
};

// Ends of the axes, FLOP/B and FLOP/s.
struct Frame {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;

  bool holds(double x, double y) const { return x >= x0 && x <= x1 && y >= y0 && y <= y1; }
};

Roofs make_roofs(const PlotInput& input, const std::optional<documents::CeilingsDocument>& ceilings);

// Whole decades around the roofs: a function of the device alone, so that charts of one machine compare.
Frame make_frame(const Roofs& roofs, const PlotOptions& options);

// The roof that work of `type` is held against: the fastest whose format holds every value of it, of tensor units too
// where the work is contractions. Of equal ones the type's own. Empty: the device states none.
std::optional<std::size_t> roof_of(const Roofs& roofs, Precision type, bool contraction);
// The roof of a precision and unit as an estimate names them.
std::optional<std::size_t> roof_named(const Roofs& roofs, Precision type, Unit unit);

// min(peak, intensity × bandwidth).
double attainable(const Roof& compute, const Roof& bandwidth, double intensity);

std::string level_name(std::string_view level);  // "L2"
std::string short_name(Precision precision);     // "FP16"

}  // namespace pagoda::present::plot
