// One row per operator or kernel of every series, with the numbers that its dot is drawn from.
#include "pagoda/base/csv_line.h"
#include "plot/outputs.h"

namespace pagoda::present::plot {
namespace {

std::string members(const Chart& chart, const Series& series, const Item& item) {
  if (item.nodes.size() < 2 || !series.estimate) return item.name;
  std::string text;
  for (const std::size_t at : item.nodes)
    text += (text.empty() ? "" : " + ") + chart.estimates[*series.estimate].nodes()[at].name;
  return text;
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
  return item;
}

}  // namespace

std::string chart_csv(const Chart& chart) {
  base::CsvLine header;
  for (const char* name : {"series",
                           "name",
                           "op_type",
                           "scope",
                           "shape",
                           "precision",
                           "launches",
                           "drawn",
                           "limit",
                           "flops",
                           "bytes",
                           "counted_flops",
                           "dram_bytes",
                           "l2_bytes",
                           "l1_bytes",
                           "intensity",
                           "flops_per_second",
                           "bytes_per_second",
                           "bound_seconds",
                           "compute_seconds",
                           "memory_seconds",
                           "seconds",
                           "min_seconds",
                           "max_seconds",
                           "share",
                           "roof_share",
                           "joules",
                           "roof",
                           "nodes",
                           "flags"})
    header.add(std::string_view(name));
  std::string text = std::move(header).end();
  for (const Series& series : chart.series) {
    std::vector<Item> items = series.items;
    for (const Star& run : series.runs) items.push_back(whole_model(run));
    for (const Item& item : items) {
      const bool is_measured = series.has_time() || item.seconds;
      const std::optional<double> time = is_measured ? item.seconds : item.bound_seconds;
      const auto over = [](const std::optional<double>& a, const std::optional<double>& b) {
        return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
      };
      base::CsvLine line;
      line.name(series.label).name(item.name).name(item.type).name(item.scope).name(item.shape);
      line.add(std::string_view(item.dtype)).add(item.launches ? std::to_string(*item.launches) : std::string());
      line.add(to_string(item.absence)).add(to_string(item.limit));
      line.add(item.flops)
          .add(item.bytes)
          .add(item.counted_flops)
          .add(item.dram_bytes)
          .add(item.l2_bytes)
          .add(item.l1_bytes);
      line.add(over(item.work(), item.traffic())).add(over(item.work(), time)).add(over(item.traffic(), time));
      line.add(item.bound_seconds).add(item.compute_seconds).add(item.memory_seconds);
      line.add(item.seconds).add(item.min_seconds).add(item.max_seconds);
      const bool has_share = series.has_time() || !item.seconds;
      line.add(has_share ? over(time, series.seconds) : std::nullopt).add(item.roof_share()).add(item.joules);
      line.add(item.roof ? std::string_view(chart.roofs.compute[*item.roof].id) : std::string_view());
      line.name(members(chart, series, item)).add(std::string_view(item.flags));
      text += std::move(line).end();
    }
  }
  return text;
}

}  // namespace pagoda::present::plot
