// Rooflines of further machines or power modes beside the roofline of the chart's device.
#include <algorithm>
#include <cmath>

#include "draw/text.h"
#include "plot/draw.h"

namespace pagoda::present::plot {
namespace {

std::string roofline_path(const Scale& scale, const Machine& machine) {
  const Frame& frame = scale.frame;
  const double ridge = std::clamp(machine.peak / machine.bandwidth, frame.x0, frame.x1);
  const auto y = [&](double x) { return scale.y(std::min(machine.peak, x * machine.bandwidth)); };
  return filled("M% %L% %L% %",
                {scale.x(frame.x0), y(frame.x0), scale.x(ridge), y(ridge), scale.x(frame.x1), y(frame.x1)});
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
      throw Error(machine.label + ": no peak of " + main.name +
                  " or no bandwidth of memory is known, so that its roofline "
                  "cannot stand beside that of " +
                  chart.device.name);
    machine.bandwidth = *dram->bytes_per_second.value;
    chart.machines.push_back(std::move(machine));
  }
}

void draw_machines(Svg& svg, const Chart& chart, const Layout& layout) {
  if (chart.machines.empty()) return;
  const Scale& scale = layout.scale;
  svg.open("g id='%' fill='none'", {chart.is_energy ? "arches" : "machines"});
  for (std::size_t i = 0; i < chart.machines.size(); ++i) {
    const Machine& machine = chart.machines[i];
    if (chart.is_energy && !machine.energy) continue;
    svg.leaf("path d='%' stroke='%' stroke-width='1.6' stroke-dasharray='9 3'",
             {chart.is_energy ? arch_path(scale, *machine.energy, 160) : roofline_path(scale, machine),
              kPalette[(i + 1) % kColors]});
    const StarLabel& label = layout.machine_labels[i];
    svg.text(label.x, label.y, label.text, "class='halo' text-anchor='end' fill='%'", {kInk});
  }
  svg.close();
}

}  // namespace pagoda::present::plot
