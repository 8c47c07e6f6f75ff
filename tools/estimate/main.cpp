// onnx-estimate: how much work an ONNX model does, where, and how fast a machine could run it, from the file
// alone.
#include <algorithm>
#include <cstdio>

#include "outputs.h"
#include "pagoda/base/heap.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/custom_operators.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/measured_runs.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

int list(const Arguments& arguments) {
  using present::List;
  const List what = arguments.list_ops ? List::Operators : arguments.list_engines ? List::Engines : List::Devices;
  const std::string name = format_of(arguments);
  if (name != "table" && name != "json")
    throw UsageError("a list is a table or json, not " + name + "; give --format json");
  write_output(arguments.output,
               present::list_report(*present::format(name), what, report_options(arguments).width, kTool));
  return kDone;
}

int run(int argc, char** argv) {
  base::prefer_large_pages();
  const std::optional<Arguments> given = parse_arguments(argc, argv);
  if (!given) return kDone;
  const Arguments& arguments = *given;
  if (arguments.list_ops || arguments.list_devices || arguments.list_engines) return list(arguments);
  if (!arguments.new_device.empty()) {
    write_output(arguments.output, documents::device_template(arguments.new_device));
    return kDone;
  }
  check(arguments);
  const estimate::EstimateRequest request = request_of(arguments);
  for (const std::string& name : device_names(arguments))
    if (const std::string note = documents::alias_note(name); !note.empty()) say(note + "\n");
  if (!arguments.then.empty()) {
    bool is_complete = true;
    write_output(arguments.output, pipeline(arguments, request, is_complete));
    return is_complete || !arguments.strict ? kDone : kPartial;
  }
  // Never freed: freeing a million small blocks takes as long as an analysis.
  static const Model& model = *new Model(load(arguments, arguments.model));
  if (arguments.new_custom_ops) {
    write_output(arguments.output, documents::custom_operator_template(model, estimate::analysis_of(model, request)));
    return kDone;
  }
  static documents::EstimateDocument& estimate =
      *new documents::EstimateDocument(estimate::make_estimate(model, request));
  const bool lacks_prediction =
      request.engine.has_value() && request.sweep.empty() && !(estimate.roofline && estimate.roofline->predicted);
  bool is_complete = estimate.is_complete() && !lacks_prediction;
  say(present::diagnostics_report(estimate.diagnostics));
  if (const auto unknown = documents::operators_without_rule(estimate); !unknown.empty())
    say("--custom-ops FILE states what " + base::joined(unknown, ", ", base::printable) +
        " gives and costs; --new-custom-ops writes one to fill in\n");
  if (!arguments.timeline.empty())
    write_output(arguments.timeline, arguments.timeline.ends_with(".svg") ? present::memory_timeline_svg(estimate)
                                                                          : present::memory_timeline_csv(estimate));
  if (!arguments.annotate.empty()) say(annotate(arguments, request, model, estimate));
  if (!arguments.memory && format_of(arguments) != "html") estimate.memory.reset();  // only computed for the timeline

  if (!arguments.profile_structure.empty()) {
    write_output(arguments.output, structure(arguments, request, model, estimate));
  } else {
    say(present::free_dims_report(estimate));
    write_output(arguments.output, arguments.compare.empty() ? output(arguments, request, model, estimate)
                                                             : comparison(arguments, request, estimate, is_complete));
  }
  if (arguments.strict && estimate::is_impossible(estimate)) return kImpossible;
  if (!estimate.budgets) return is_complete || !arguments.strict ? kDone : kPartial;
  say(present::budgets_report(*estimate.budgets));
  const bool fits =
      std::ranges::all_of(*estimate.budgets, [](const auto& budget) { return budget.verdict == Verdict::Fits; });
  return fits && (is_complete || !arguments.strict) ? kDone : kPartial;
}

}  // namespace
}  // namespace pagoda::tools

int main(int argc, char** argv) { return pagoda::tools::run_tool("onnx-estimate", argc, argv, pagoda::tools::run); }
