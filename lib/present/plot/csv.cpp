// One row per operator or kernel of every series, with the numbers behind its dot.
#include "pagoda/base/csv_line.h"
#include "pagoda/base/text.h"
#include "plot/draw.h"

namespace pagoda::present::plot {
namespace {

using documents::ratio;

constexpr std::string_view kHeader =
    "series,name,op_type,scope,shape,precision,launches,drawn,limit,flops,bytes,counted_flops,dram_bytes,"
    "l2_bytes,l1_bytes,intensity,flops_per_second,bytes_per_second,bound_seconds,compute_seconds,"
    "memory_seconds,seconds,min_seconds,max_seconds,share,roof_share,joules,flops_per_joule,roof,nodes,flags\r\n";

std::string node_names(const Chart& chart, const Series& series, const Item& item) {
  if (item.nodes.size() < 2 || !series.estimate) return item.name;
  return base::joined(item.nodes, " + ",
                      [&](std::size_t at) { return chart.estimates[*series.estimate].nodes[at]->shown_name(); });
}

Item whole_model(const Star& run) {
  Item item;
  item.name = run.label;
  item.type = "whole model";
  item.flops = run.flops;
  item.bytes = run.bytes;
  item.seconds = run.seconds;
  item.min_seconds = run.shortest;
  item.max_seconds = run.longest;
  item.joules = run.joules;
  return item;
}

}  // namespace

std::string chart_csv(const Chart& chart) {
  std::string text(kHeader);
  for (const Series& series : chart.series) {
    std::vector<Item> items = series.items;
    for (const std::vector<Star>* runs : {&series.runs, &series.other_runs})
      for (const Star& run : *runs) items.push_back(whole_model(run));
    for (const Item& item : items) {
      const bool is_measured = series.has_time() || item.seconds;
      const std::optional<double> time = is_measured ? item.seconds : item.bound_seconds;
      base::CsvLine line;
      line.name(series.label).name(item.name).name(item.type).name(item.scope).name(item.shape);
      line.add(item.dtype).add(item.launches);
      line.add(to_string(item.absence)).add(to_string(item.limit));
      line.add(item.flops).add(item.bytes).add(item.counted_flops);
      line.add(item.dram_bytes).add(item.l2_bytes).add(item.l1_bytes);
      line.add(ratio(item.work(), item.traffic())).add(ratio(item.work(), time)).add(ratio(item.traffic(), time));
      line.add(item.bound_seconds).add(item.compute_seconds).add(item.memory_seconds);
      line.add(item.seconds).add(item.min_seconds).add(item.max_seconds);
      const bool has_share = series.has_time() || !item.seconds;
      line.add(has_share ? ratio(time, series.seconds) : std::nullopt).add(item.roof_share()).add(item.joules);
      line.add(ratio(item.work(), item.joules));
      line.add(item.roof ? chart.roofs.compute[*item.roof].id : "");
      line.name(node_names(chart, series, item)).add(item.flags);
      text += std::move(line).end();
    }
  }
  return text;
}

}  // namespace pagoda::present::plot
