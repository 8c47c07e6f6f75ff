// Roofs: the lines that no operator can exceed, and the frame that they span.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "draw/axis.h"
#include "pagoda/core/device.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/present/plot.h"

namespace pagoda::present::plot {

struct Roof {
  enum class Kind { Compute, Bandwidth };
  Kind kind = Kind::Compute;
  std::string id = {};                     // for element ids: "tensor-float16", "dram"
  std::string name = {};                   // "FP16, BF16 tensor", "DRAM"
  double value = 0;                        // FLOP/s or B/s
  std::vector<Precision> precisions = {};  // compute roofs: all formats with this unit and value
  Unit unit = Unit::Vector;
  std::optional<Precision> accumulate = {};
  std::string level = {};  // bandwidth roofs only
  bool measured = false;
  std::optional<double> spec = {};  // the vendor's figure, beside a measured value
  std::string source = {};
  bool is_energy = false;  // FLOP/J or B/J
  bool shown = false;      // drawn initially; the page can switch on the others

  std::string unit_text() const;  // "FLOP/s"; "OP/s" if every format is an integer; "B/s"
  std::string label() const;      // "DRAM 4.25 TB/s (measured; spec 4.8)"
  std::string brief() const;      // "DRAM 4.25 TB/s", "FP16 tensor 989 T": the axis has the unit of FLOPs
};

struct Roofs {
  std::vector<Roof> compute;    // fastest first
  std::vector<Roof> bandwidth;  // from memory inwards; [0] is DRAM
  std::size_t main = 0;         // index in compute: the roof that most FLOPs run under
  // More than half of the FLOPs run under the main roof, or it was asked for: it is solid, and its ridge is drawn. Else
  // no roof is the model's, and no ridge says which side of the chart is bound by what.
  bool has_main = false;

  // True if one compute roof applies to all work: left of its ridge memory is the bound, right of it arithmetic.
  bool is_single() const {
    return std::ranges::count_if(compute, [](const Roof& r) { return r.shown; }) == 1;
  }
  double ridge(std::size_t of, std::size_t level = 0) const { return compute[of].value / bandwidth[level].value; }
};

// Ends of the axes, FLOP/B and FLOP/s.
struct Frame {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;

  bool holds(const Point& at) const { return at.x >= x0 && at.x <= x1 && at.y >= y0 && at.y <= y1; }
};

Roofs make_roofs(const PlotInput& input, const std::optional<documents::CeilingsDocument>& ceilings);

// Whole decades around the roofs. Unless the options set limits, depends only on the device, so that charts of one
// machine are comparable.
Frame make_frame(const Roofs& roofs, const PlotOptions& options);

// The roof for work of `type`: the fastest one whose format represents every value of the type; roofs of tensor units
// only apply to contractions. Of equally fast roofs, the type's own. Empty if the device states no such peak.
std::optional<std::size_t> roof_of(const Roofs& roofs, Precision type, bool contraction);
// The roof of exactly this precision and unit, as estimates name them.
std::optional<std::size_t> roof_named(const Roofs& roofs, Precision type, Unit unit);

// min(peak, intensity × bandwidth).
double attainable(const Roof& compute, const Roof& bandwidth, double intensity);

std::string level_name(std::string_view level);  // "L2"
std::string short_name(Precision precision);     // "FP16"

}  // namespace pagoda::present::plot
