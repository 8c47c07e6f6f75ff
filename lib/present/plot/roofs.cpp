#include "plot/roofs.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/text.h"
#include "pagoda/core/roofline.h"

namespace pagoda::present::plot {
namespace {

constexpr double kSameRoof = 1e-9;  // relative difference up to which two formats share a roof

bool same(double a, double b) { return std::abs(a - b) <= kSameRoof * std::max(std::abs(a), std::abs(b)); }

// The theoretical value of a measured rate: the ceilings document contains it, the device made from it does not.
std::optional<double> stated(const std::optional<documents::CeilingsDocument>& ceilings, documents::CeilingKind kind,
                             double value) {
  if (!ceilings) return std::nullopt;
  for (const documents::Ceiling& ceiling : ceilings->ceilings)
    if (ceiling.kind == kind && ceiling.value && same(*ceiling.value, value))
      return ceiling.theory.datasheet ? ceiling.theory.datasheet : ceiling.theory.max_clock;
  return std::nullopt;
}

}  // namespace

std::string level_name(std::string_view level) {
  if (level == "shared") return "shared memory";
  std::string name(level);
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
  return name;
}

std::string short_name(Precision precision) {
  constexpr base::EnumNames<Precision::Int4> kNames("FP64", "FP32", "TF32", "FP16", "BF16", "FP8", "FP4", "INT32",
                                                    "INT16", "INT8", "INT4");
  return std::string(kNames[precision]);
}

std::string Roof::unit_text() const {
  if (is_energy) return kind == Kind::Bandwidth ? "B/J" : "FLOP/J";
  if (kind == Kind::Bandwidth) return "B/s";
  const bool is_integer =
      std::ranges::all_of(precisions, [](Precision type) { return short_name(type).starts_with("INT"); });
  return is_integer ? "OP/s" : "FLOP/s";
}

std::string Roof::label() const {
  const std::string rate = unit_text();
  std::string text = name + " " + base::si_text(value, rate);
  if (!measured) return text;
  return text + (spec ? " (measured; spec " + base::si_text(*spec, rate) + ")" : " (measured)");
}

std::string Roof::brief() const {
  const std::string rate = unit_text();
  return name + " " + base::si_text(value, rate.starts_with("FLOP") ? "" : rate);
}

Roofs make_roofs(const PlotInput& input, const std::optional<documents::CeilingsDocument>& ceilings) {
  Roofs roofs;
  for (const Peak& peak : input.device.peaks) {
    if (!peak.flops_per_second.known()) continue;
    const double value = *peak.flops_per_second.value;
    const auto found = std::ranges::find_if(roofs.compute, [&](const Roof& other) {
      return other.unit == peak.unit && other.accumulate == peak.accumulate && same(other.value, value);
    });
    if (found != roofs.compute.end()) {
      if (std::ranges::find(found->precisions, peak.precision) == found->precisions.end())
        found->precisions.push_back(peak.precision);
      continue;
    }
    Roof roof{.kind = Roof::Kind::Compute,
              .id = cat(to_string(peak.unit), "-", to_string(peak.precision)),
              .value = value,
              .precisions = {peak.precision},
              .unit = peak.unit,
              .accumulate = peak.accumulate,
              .measured = input.device.measured,
              .source = peak.flops_per_second.source};
    if (peak.accumulate) roof.id += cat("-", to_string(*peak.accumulate));
    roof.spec = stated(ceilings, documents::CeilingKind::Compute, value);
    if (input.spec)
      if (const Peak* stated_peak = input.spec->peak(peak.precision, peak.unit, peak.accumulate))
        roof.spec = stated_peak->flops_per_second.value;
    roofs.compute.push_back(std::move(roof));
  }
  std::ranges::stable_sort(roofs.compute, std::greater(), &Roof::value);
  for (Roof& roof : roofs.compute) {
    roof.name = cat(base::joined(roof.precisions, ", ", [](Precision each) { return short_name(each); }), " ",
                    to_string(roof.unit));
    if (roof.accumulate) roof.name += cat(" (", short_name(*roof.accumulate), " sums)");
  }
  for (const MemoryLevel& level : input.device.levels) {
    if (!level.bytes_per_second.known()) continue;
    Roof roof{.kind = Roof::Kind::Bandwidth,
              .id = level.level,
              .name = level_name(level.level),
              .value = *level.bytes_per_second.value,
              .level = level.level,
              .measured = input.device.measured,
              .source = level.bytes_per_second.source,
              .shown = true};
    roof.spec = stated(ceilings, documents::CeilingKind::Bandwidth, roof.value);
    if (input.spec)
      if (const MemoryLevel* stated_level = input.spec->level(level.level))
        if (stated_level->bytes_per_second.known()) roof.spec = stated_level->bytes_per_second.value;
    roofs.bandwidth.push_back(std::move(roof));
  }
  const auto dram = std::ranges::find_if(roofs.bandwidth, [](const Roof& r) { return r.level == "dram"; });
  if (dram == roofs.bandwidth.end())
    throw Error(input.device.name + ": no bandwidth of level \"dram\" is known; a roofline needs one");
  if (roofs.compute.empty()) throw Error(input.device.name + ": no compute peak is known; a roofline needs one");
  std::rotate(roofs.bandwidth.begin(), dram, dram + 1);
  return roofs;
}

// x: from two decades below 1 FLOP/B, so that elementwise FP32 work (1 FLOP per 12 B) is inside, to a decade beyond the
// furthest ridge and at least 10^4, where large convolutions lie.
// y: from a decade below the slowest memory at the left end to the decade above the fastest roof.
Frame make_frame(const Roofs& roofs, const PlotOptions& options) {
  const double peak = roofs.compute.front().value, slow = roofs.bandwidth.front().value;
  Frame frame;
  frame.x0 = 0.01;
  frame.x1 = std::max(1e4, std::pow(10, std::ceil(std::log10(peak / slow)) + 1));
  frame.y0 = std::pow(10, std::floor(std::log10(frame.x0 * slow)) - 1);
  frame.y1 = std::pow(10, std::ceil(std::log10(peak * 1.4)));
  if (options.x_limits) frame.x0 = (*options.x_limits)[0], frame.x1 = (*options.x_limits)[1];
  if (options.y_limits) frame.y0 = (*options.y_limits)[0], frame.y1 = (*options.y_limits)[1];
  const auto check = [](double low, double high, const char* what) {
    if (!(low > 0 && high / low >= 2 && std::isfinite(high)))
      throw Error(cat("limits of ", what, ": expected two numbers above 0, the second at least twice the first"));
  };
  check(frame.x0, frame.x1, "intensity");
  check(frame.y0, frame.y1, "performance");
  return frame;
}

std::optional<std::size_t> roof_of(const Roofs& roofs, Precision type, bool contraction) {
  std::optional<std::size_t> own, wider;
  const auto faster = [&](std::size_t i, const std::optional<std::size_t>& than) {
    return !than || roofs.compute[i].value > roofs.compute[*than].value;
  };
  for (std::size_t i = 0; i < roofs.compute.size(); ++i) {
    const Roof& roof = roofs.compute[i];
    if (roof.unit == Unit::Tensor && !contraction) continue;
    const auto& formats = roof.precisions;
    if (std::ranges::find(formats, type) != formats.end()) {
      if (faster(i, own)) own = i;
    } else if (std::ranges::any_of(formats, [&](Precision format) { return pagoda::holds(format, type); })) {
      if (faster(i, wider)) wider = i;
    }
  }
  if (own && wider && roofs.compute[*wider].value <= kClearlyFaster * roofs.compute[*own].value) return own;
  return wider && (!own || faster(*wider, own)) ? wider : own;
}

std::optional<std::size_t> roof_named(const Roofs& roofs, Precision type, Unit unit) {
  const auto found = std::ranges::find_if(roofs.compute, [&](const Roof& roof) {
    return roof.unit == unit && std::ranges::find(roof.precisions, type) != roof.precisions.end();
  });
  if (found == roofs.compute.end()) return std::nullopt;
  return static_cast<std::size_t>(found - roofs.compute.begin());
}

double attainable(const Roof& compute, const Roof& bandwidth, double intensity) {
  return std::min(compute.value, intensity * bandwidth.value);
}

}  // namespace pagoda::present::plot
