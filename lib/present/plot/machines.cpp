// Rooflines of further machines or power modes beside the roofline of the chart's device.
#include <algorithm>
#include <cmath>

#include "plot/draw.h"
#include "plot/text.h"

namespace pagoda::present::plot {
namespace {

std::string roofline_path(const Scale& scale, const Machine& machine) {
  const double ridge = machine.peak / machine.bandwidth;
  const auto point = [&](double x, double y) { return px(scale.x(x)) + " " + px(scale.y(y)); };
  const auto at = [&](double x) { return point(x, std::min(machine.peak, x * machine.bandwidth)); };
  return "M" + at(scale.frame.x0) + "L" + at(std::clamp(ridge, scale.frame.x0, scale.frame.x1)) + "L" + at(scale.frame.x1);
}

std::string arch_path(const Scale& scale, const EnergyModel& model) {
  std::string path;
  constexpr int kSteps = 160;
  for (int i = 0; i <= kSteps; ++i) {
    const double x = scale.frame.x0 * std::pow(scale.frame.x1 / scale.frame.x0, static_cast<double>(i) / kSteps);
    path += (path.empty() ? "M" : "L") + px(scale.x(x)) + " " + px(scale.y(flops_per_joule(model, x)));
  }
  return path;
}

}  // namespace

void add_machines(Chart& chart, const std::vector<DeviceSpec>& others) {
  const Roof& main = chart.roofs.compute[chart.roofs.main];
  for (const DeviceSpec& other : others) {
    Machine machine;
    machine.mode = other.power_mode;
    machine.label = other.id + (other.power_mode.empty() ? "" : ":" + other.power_mode);
    for (const Precision precision : main.precisions) {
      const Peak* peak = other.peak(precision, main.unit);
      if (peak == nullptr || *peak->flops_per_second.value <= machine.peak) continue;
      machine.peak = *peak->flops_per_second.value;
      machine.energy = energy_model(other, precision);
    }
    const MemoryLevel* dram = other.level("dram");
    if (machine.peak <= 0 || dram == nullptr || !dram->bytes_per_second.known())
      throw Error(machine.label + ": no peak of " + main.name + " or no bandwidth of memory is known, so that its roofline "
                  "cannot stand beside that of " + chart.device.name);
    machine.bandwidth = *dram->bytes_per_second.value;
    chart.machines.push_back(std::move(machine));
  }
}

void draw_machines(Svg& svg, const Chart& chart, const Layout& layout) {
  if (chart.machines.empty()) return;
  const Scale& scale = layout.scale;
  svg.open("g", {{"id", chart.is_energy ? "arches" : "machines"}, {"fill", "none"}});
  for (std::size_t i = 0; i < chart.machines.size(); ++i) {
    const Machine& machine = chart.machines[i];
    const std::string color(kPalette[(i + 1) % kColors]);
    if (chart.is_energy && !machine.energy) continue;
    svg.leaf("path", {{"d", chart.is_energy ? arch_path(scale, *machine.energy) : roofline_path(scale, machine)},
                      {"stroke", color},
                      {"stroke-width", "1.6"},
                      {"stroke-dasharray", "9 3"}});
    const StarLabel& label = layout.machine_labels[i];
    svg.text(label.x, label.y, label.text, {{"class", "halo"}, {"text-anchor", "end"}, {"fill", std::string(kInk)}});
  }
  svg.close();
}

}  // namespace pagoda::present::plot
