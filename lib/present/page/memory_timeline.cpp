// The memory in use while the model runs, as a table of steps and as a chart.
#include "page/views.h"
#include "pagoda/base/csv_line.h"
#include "report/rows.h"

namespace pagoda::present {

std::string memory_timeline_csv(const documents::EstimateDocument& estimate) {
  const documents::EstimateMemory& plan = *estimate.memory;
  base::CsvLine header;
  for (const char* name : {"step", "node", "name", "op_type", "bytes"}) header.add(std::string_view(name));
  std::string text = std::move(header).end();
  for (std::size_t step = 0; step < plan.timeline.size(); ++step) {
    base::CsvLine line;
    line.add(std::to_string(step)).add(std::to_string(plan.order[step]));
    line.name(plan.names[step]).name(plan.op_types[step]).add(documents::Count(plan.timeline[step]));
    text += std::move(line).end();
  }
  return text;
}

std::string memory_timeline_svg(const documents::EstimateDocument& estimate) {
  const std::string& model = estimate.model.path.empty() ? estimate.model.name : estimate.model.path;
  return plot::draw_memory(estimate, "Activations alive at each step, " + model, plot::kPictureWidth);
}

}  // namespace pagoda::present
