// Grid and ticks, 1-2-5 in each decade. The page redraws them by the same rule when it zooms.
#include "draw/axis.h"
#include "plot/draw.h"

namespace pagoda::present::plot {

void draw_axes(Svg& svg, const Chart& chart, const Layout& layout) {
  const Box& plot = layout.scale.plot;
  const LogAxis x = layout.scale.x_axis(), y = layout.scale.y_axis();
  const std::vector<Tick> x_ticks = log_ticks(x.low, x.high), y_ticks = log_ticks(y.low, y.high);
  // Lines at 1, and thinner ones at 2 and 5, which have labels on short axes.
  std::string major, minor;
  for (const Tick& tick : x_ticks)
    (tick.step == 1 ? major : minor) += filled("M% %V%", {x(tick.value), plot.y0, plot.y1});
  for (const Tick& tick : y_ticks)
    (tick.step == 1 ? major : minor) += filled("M% %H%", {plot.x0, y(tick.value), plot.x1});
  const auto is_labelled = [](const LogAxis& axis, const Tick& tick) { return tick.step == 1 || axis.ratio() < 150; };
  svg.open("g id='axes' fill='none'");
  svg.leaf("path id='grid-minor' class='grid minor' stroke='#f0f2f4' d='%'", {minor});
  svg.leaf("path id='grid-major' class='grid' stroke='#dde1e6' d='%'", {major});
  svg.leaf("rect class='frame' x='%' y='%' width='%' height='%' stroke='#8a939d'",
           {plot.x0, plot.y0, plot.x1 - plot.x0, plot.y1 - plot.y0});
  svg.open("g id='ticks-x' class='ink' fill='%' text-anchor='middle'", {kInk});
  for (const Tick& tick : x_ticks)
    if (is_labelled(x, tick)) svg.text(x(tick.value), plot.y1 + 18, tick.label());
  svg.close().open("g id='ticks-y' class='ink' fill='%' text-anchor='end'", {kInk});
  for (const Tick& tick : y_ticks)
    if (is_labelled(y, tick)) svg.text(plot.x0 - 8, y(tick.value) + 4, tick.label());
  svg.close();
  constexpr const char* kTitle = "id='%' class='ink' text-anchor='middle' font-size='13' fill='%' transform='%'";
  svg.text((plot.x0 + plot.x1) / 2, plot.y1 + 40, "Arithmetic intensity [FLOP / DRAM byte]", kTitle,
           {"title-x", kInk, ""});
  const double middle = (plot.y0 + plot.y1) / 2, left = plot.x0 - (chart.sheet.is_column ? 50 : 62);
  svg.text(left, middle, chart.is_energy ? "Work per joule [FLOP/J]" : "Performance [FLOP/s]", kTitle,
           {"title-y", kInk, filled("rotate(-90 % %)", {left, middle})});
  svg.close();
}

}  // namespace pagoda::present::plot
