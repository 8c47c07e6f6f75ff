// onnx-estimate: how much work an ONNX model does, where, and how fast a machine could run it, from the file
// alone.
#include <algorithm>
#include <cstdio>
#include <set>

#include "arguments.h"
#include "pagoda/base/heap.h"
#include "pagoda/base/number.h"
#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "pagoda/core/model.h"
#include "pagoda/core/structure.h"
#include "pagoda/documents/custom_operators.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/engine_table.h"
#include "pagoda/estimate/measured_runs.h"
#include "pagoda/estimate/pipeline.h"
#include "pagoda/measured/join.h"
#include "pagoda/present/plot.h"
#include "pagoda/present/spell.h"
#include "pagoda/present/viewers.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

using documents::EstimateDocument, estimate::EstimateRequest;

present::PlotEstimate drawn(const std::string& name, EstimateDocument estimate) {
  const std::string sha256 = base::hex(base::sha256(documents::write_estimate(estimate)));
  return {name, sha256, std::move(estimate)};
}

std::string picture(const Arguments& arguments, const present::PlotInput& input) {
  present::PlotOptions options{.tool = input.estimates.front().document.tool};
  const std::string format = format_of(arguments);
  set_picture(arguments.picture, format, options);
  if (format == "html") return present::plot_html(input, options);
  if (format == "svg") return present::plot_svg(input, options);
  return format == "png" ? present::plot_png(input, options) : present::plot_pdf(input, options);
}

// The roofline of this estimate.
std::string chart(const Arguments& arguments, const EstimateRequest& request, const Model& model,
                  EstimateDocument estimate) {
  present::PlotInput input{.device = *request.device, .estimates = {drawn(arguments.model, std::move(estimate))}};
  // Kernels join their nodes; the times of whole runs are in the estimate.
  if (request.measured && !request.measured->kernels.empty())
    input.measured.push_back({arguments.measured, documents::write_measured(*request.measured)});
  if (format_of(arguments) == "html") input.estimates.front().what_if = estimate::what_if(model, request);
  return picture(arguments, input);
}

// The run of --measured, with its kernels joined to nodes.
std::optional<documents::Measured> joined_run(const EstimateRequest& request, const EstimateDocument& estimate) {
  std::optional<documents::Measured> run = request.measured;
  if (run) measured::join(*run, estimate);
  return run;
}

std::string for_viewer(const Arguments& arguments, const EstimateRequest& request, const EstimateDocument& estimate) {
  const std::optional<documents::Measured> run = joined_run(request, estimate);
  const present::Viewed viewed{estimate, run ? &*run : nullptr};
  const std::string fallback = request.device && estimate.can_run() ? "seconds" : "flops";
  const present::Metric* metric = present::metric(arguments.metric.empty() ? fallback : arguments.metric);
  if (const std::string problem = present::refusal(*metric, viewed); !problem.empty()) throw UsageError(problem);
  if (format_of(arguments) == "model-explorer") return present::model_explorer_data(viewed, *metric);
  return present::netron_attachment(viewed, arguments.metric.empty() ? nullptr : metric);
}

// Splits "unet.onnx:50" into path and number of runs.
std::pair<std::string, std::int64_t> path_and_runs(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return {text, 1};
  const auto runs = base::parse_number<std::uint32_t>(std::string_view(text).substr(colon + 1));
  if (!runs) return {text, 1};
  if (*runs == 0) throw UsageError("'" + text + "' runs 0 times; expected at least 1");
  return {text.substr(0, colon), *runs};
}

// Names of the inputs and of their dims.
std::set<std::string> sizes_in(const Model& model) {
  std::set<std::string> names;
  for (const ValueId input : model.main().inputs) {
    const Value& value = model.main().value(input);
    names.insert(value.name);
    if (!value.declared.shape) continue;
    for (const Dim& dim : *value.declared.shape)
      for (const std::string& symbol : dim.symbols()) names.insert(symbol);
  }
  for (const auto& [name, symbol] : model.renamed_dims)
    if (names.contains(symbol)) names.insert(name);
  return names;
}

// Each model of a pipeline keeps only the sizes that it has; a size that no model has is an error.
template <typename Sizes>
void leave_to(const std::set<std::string>& names, Sizes& sizes, std::set<std::string>& used) {
  for (const auto& [name, size] : sizes)
    if (names.contains(name)) used.insert(name);
  std::erase_if(sizes, [&](const auto& each) { return !names.contains(each.first); });
}

void leave_sizes(const Model& model, EstimateRequest& request, std::set<std::string>& used) {
  const std::set<std::string> sizes = sizes_in(model);
  leave_to(sizes, request.sizes.dims, used);
  leave_to(sizes, request.sizes.input_shapes, used);
}

void check_used(const EstimateRequest& request, const std::set<std::string>& used) {
  const auto must_be_used = [&](const auto& given, const char* option) {
    for (const auto& [name, size] : given)
      if (!used.contains(name)) throw UsageError(std::string(option) + " " + name + ": none of the models has it");
  };
  must_be_used(request.sizes.dims, "--dim");
  must_be_used(request.sizes.input_shapes, "--input");
}

std::vector<std::string> models_of(const Arguments& arguments, const std::vector<std::string>& behind) {
  std::vector<std::string> names = {arguments.model};
  names.insert(names.end(), behind.begin(), behind.end());
  return names;
}

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

// MODEL and the models of --then as one report, or several MODELs as a table with a line for each, without the unusable
// ones, which are reported. Prints warnings and assumed sizes of each to standard error.
int several(const Arguments& arguments, const EstimateRequest& request) {
  const bool are_apart = arguments.then.empty();
  const std::vector<std::string>& behind = are_apart ? arguments.others : arguments.then;
  const std::vector<std::string> names = models_of(arguments, behind);
  std::vector<estimate::PipelinePart> parts;
  std::set<std::string> used;
  const auto add = [&](const std::string& name) {
    const auto [path, runs] = are_apart ? std::pair(name, std::int64_t{1}) : path_and_runs(name);
    const Model model = load_model(path);
    EstimateRequest own = request;
    leave_sizes(model, own, used);
    parts.push_back({.estimate = estimate::make_estimate(model, own), .runs = runs});
    const EstimateDocument& estimate = parts.back().estimate;
    const std::string remarks = present::diagnostics_report(estimate.diagnostics) + present::free_dims_report(estimate);
    if (!remarks.empty()) say(path + ":\n" + remarks);
  };
  for (const std::string& name : names) {
    try {
      add(name);
    } catch (const Error& error) {
      if (!are_apart) throw;
      say("onnx-estimate: " + base::printable(present::command_line(error.what())) + "\n");
    }
  }
  if (parts.empty()) return kUnusable;
  const bool is_whole = parts.size() == names.size();
  check_used(request, used);
  estimate::Pipeline whole = estimate::sum_up(std::move(parts));
  whole.are_apart = are_apart;
  write_output(arguments.output,
               present::pipeline_report(*present::format(format_of(arguments)), whole, report_options(arguments)));
  return !is_whole ? kUnusable : whole.partial && arguments.strict ? kPartial : kDone;
}

// A row for each model under each engine, on each machine.
int engine_table(const Arguments& arguments) {
  const std::vector<estimate::EngineChoice> choices = engine_choices(arguments);
  std::vector<estimate::EngineRow> rows;
  std::set<std::string> used;
  for (const std::string& name : models_of(arguments, arguments.others))
    for (const estimate::EngineChoice& choice : choices) {
      estimate::EngineChoice own = choice;
      const Model model = load(arguments, name, own.request);
      leave_sizes(model, own.request, used);
      rows.push_back(estimate::engine_row(model, own));
    }
  check_used({.sizes = sizes_of(arguments)}, used);
  const bool is_whole = std::ranges::all_of(rows, [](const auto& row) { return row.seconds.has_value(); });
  const estimate::EngineTable table = estimate::compare_engines(std::move(rows));
  write_output(arguments.output,
               present::engines_report(*present::format(format_of(arguments)), table, report_options(arguments), kTool));
  return arguments.strict && !is_whole ? kPartial : kDone;
}

// A report or chart of the estimate, in the requested format.
std::string output(const Arguments& arguments, const EstimateRequest& request, const Model& model,
                   const EstimateDocument& estimate) {
  if (is_chart(format_of(arguments))) return chart(arguments, request, model, estimate);
  if (is_for_viewer(format_of(arguments))) return for_viewer(arguments, request, estimate);
  const present::ReportOptions options = report_options(arguments);
  const present::Format format = *present::format(format_of(arguments));
  if (estimate.sweep) return present::sweep_report(format, estimate, options);
  switch (format) {
    case present::Format::Json:
      return documents::write_estimate(estimate, options.top);
    case present::Format::Csv:
      return present::csv_report(estimate, options);
    case present::Format::Markdown:
      return present::markdown_report(estimate, options);
    case present::Format::Table:
      break;
  }
  return present::table_report(estimate, options);
}

// The model's structure as features.
std::string structure(const Arguments& arguments, const EstimateRequest& request, const Model& model,
                      const EstimateDocument& estimate) {
  if (const std::string problem = estimate::impossible_size(estimate); !problem.empty()) throw Error(problem);
  return present::structure_report(*present::format(arguments.profile_structure),
                                   structure_profile(model, estimate::analysis_of(model, request)), request.tool);
}

// The changes from the model of --compare. `is_complete` becomes false if numbers of that model are missing.
std::string comparison(const Arguments& arguments, const EstimateRequest& request, const EstimateDocument& estimate,
                       bool& is_complete) {
  EstimateRequest own = request;
  const Model other = load(arguments, arguments.compare, own);
  const EstimateDocument before = estimate::make_estimate(other, own);
  is_complete = is_complete && before.is_complete();
  if (is_chart(format_of(arguments)))
    return picture(arguments, {.device = *request.device,
                               .estimates = {drawn(arguments.compare, before), drawn(arguments.model, estimate)}});
  return present::comparison_report(*present::format(format_of(arguments)), before, estimate,
                                    estimate::compare(before, estimate), report_options(arguments));
}

// Writes --annotate's copy of the model. Returns notes for the user as lines; empty: none.
std::string annotate(const Arguments& arguments, const EstimateRequest& request, const Model& model,
                     const EstimateDocument& estimate) {
  const std::optional<documents::Measured> run = joined_run(request, estimate);
  const Annotated done =
      write_annotated(model, arguments.annotate,
                      present::annotations({estimate, run ? &*run : nullptr}, estimate::analysis_of(model, request)));
  std::string text;
  const auto say = [&](const std::string& what) { text += arguments.annotate + ": " + what + "\n"; };
  const auto files = [](const std::vector<std::string>& names) { return base::joined(names, ", ", base::printable); };
  if (!done.copied.empty()) say("copied beside it: " + files(done.copied));
  if (!done.missing.empty())
    say("its external data are not where the model says: " + files(done.missing) + "; put them beside it");
  if (done.nameless > 0) say(std::to_string(done.nameless) + " nodes without output and name have no notes");
  return text;
}

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
  if (is_of_engines(arguments)) return engine_table(arguments);
  estimate::EstimateRequest request = request_of(arguments);
  for (const std::string& name : device_names(arguments))
    if (const std::string note = documents::alias_note(name); !note.empty()) say(note + "\n");
  if (!arguments.then.empty() || !arguments.others.empty()) return several(arguments, request);
  // Never freed: freeing a million small blocks takes as long as an analysis.
  static const Model& model = *new Model(load(arguments, arguments.model, request));
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
  bool keeps_limits = is_complete || !arguments.strict;
  if (const std::optional<double> most = most_off_provider(arguments); most && !estimate.placement.empty()) {
    say(present::off_provider_report(estimate.placement.front(), *most));
    keeps_limits = keeps_limits && estimate.placement.front().keeps(*most);
  }
  if (!estimate.budgets) return keeps_limits ? kDone : kPartial;
  say(present::budgets_report(*estimate.budgets));
  const bool fits = std::ranges::all_of(
      *estimate.budgets, [&](const BudgetResult& each) {
        return each.budget.is_question || each.verdict == Verdict::Fits || (each.is_bound_within && !arguments.strict);
      });
  return fits && keeps_limits ? kDone : kPartial;
}

}  // namespace
}  // namespace pagoda::tools

int main(int argc, char** argv) { return pagoda::tools::run_tool("onnx-estimate", argc, argv, pagoda::tools::run); }
