// roofline-plot: estimates and measurements of models under the roofs of a machine, as a picture, a page or data.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/terminal.h"
#include "pagoda/base/text.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/estimate/measured_runs.h"
#include "pagoda/measured/against.h"
#include "pagoda/measured/import.h"
#include "pagoda/present/plot.h"
#include "pagoda/present/run_comparison.h"
#include "pagoda/present/spell.h"
#include "picture.h"
#include "tool.h"
#include "units.h"

namespace pagoda::tools {
namespace {

using Writer = std::string (*)(const present::PlotInput&, const present::PlotOptions&);

struct PlotArguments {
  std::string ceilings, output;      // paths; empty: not given
  std::vector<std::string> devices;  // ids or paths; the first one's roofs are the chart's
  std::vector<std::string> estimates, measured;
  std::vector<std::string> models;   // in place of estimates, of two runs to compare
  std::string against;               // the second of these; empty: a chart
  std::optional<std::int64_t> runs;  // in each profile that does not say so
  present::PlotOptions options;
  PictureArguments picture;
  std::string format;
  Writer write = nullptr;  // by format
};

constexpr const char* kExamples = R"(Examples:
  onnx-estimate resnet50.onnx --batch 8 --device h200 -o r50.json
  roofline-plot --device h200 --estimate r50.json -o r50.html
      a page that works offline: filters, zoom, a table of all operators
  roofline-plot --ceilings ceilings.json --device h200 --estimate r50.json --measured run.json -o r50.svg
      measured roofs with the vendor's beside them; each operator as estimated and as measured
  roofline-plot --measured run.json -o run.svg
      under the peaks that the device reported to pagoda-profile, at the clock of the run; with --device h200,run.json
      beside those that the vendor states
  roofline-plot --device h200 --estimate r50.json -o -
      in the terminal
  roofline-plot --device h200 --estimate base.json --estimate new.json -o change.html
      several models, sizes or runs: whole-model points, arrows for what moved
  roofline-plot --device orin-agx:maxn,orin-agx:30w,orin-agx:gpu=918MHz,mem=2133MHz --estimate r50.json -o modes.svg
      the rooflines of several power modes in one chart
  roofline-plot --estimate fp32.json --estimate int8.json --measured fp32_profile.json --against int8_profile.json
      two runs of one network, node by node: where time was gained and lost; -o F.csv, F.json, or F.html with --device
  roofline-plot --device orin-agx --energy --estimate r50.json --measured r50.csv -o energy.svg
      FLOP/J over FLOP/B: the arch, its balances, and the runs that have joules

What FILE ends in gives the format: svg, png, pdf, html, csv, json. PNG and PDF need rsvg-convert (librsvg2-bin).
Exit codes: 0 done, 1 unusable input, 2 usage, 4 no such device.)";

// clang-format off
constexpr std::array<std::pair<std::string_view, Writer>, 7> kFormats = {{
    {"csv", present::plot_csv}, {"html", present::plot_html}, {"json", present::plot_json}, {"pdf", present::plot_pdf},
    {"png", present::plot_png}, {"svg", present::plot_svg}, {"text", present::plot_text}}};
// clang-format on

// Rejects options that the format does not show.
void refuse_unseen(const CLI::App& app, const std::string& format) {
  static const std::vector<std::string> kDrawn = {"svg", "png", "pdf", "html", "json", "text"};
  static const std::pair<const char*, std::vector<std::string>> kShown[] = {
      {"--title", {"svg", "png", "pdf", "html", "json"}},
      {"--precision", kDrawn},
      {"--xlim", kDrawn},
      {"--ylim", kDrawn},
      {"--max-dots", kDrawn},
      {"--labels", {"svg", "png", "pdf", "html", "text"}},
      {"--columns", {"text"}},
      {"--lines", {"text"}},
  };
  for (const auto& [option, formats] : kShown)
    if (app.count(option) > 0 && std::ranges::find(formats, format) == formats.end())
      throw UsageError(cat(option, " is for ", base::joined(formats), "; ", format, " does not show it"));
}

// Two runs, each with the model that ran.
void check_against(const CLI::App& app, PlotArguments& arguments) {
  const std::size_t models = arguments.estimates.size() + arguments.models.size();
  if (arguments.measured.size() != 1)
    throw UsageError("--against compares two runs; give the first, and no other, with --measured");
  if (!arguments.estimates.empty() && !arguments.models.empty())
    throw UsageError("--estimate and MODEL are two ways to name the same; give one kind");
  if (models < 1 || models > 2)
    throw UsageError("--against needs the models that ran, as --estimate or MODEL: one for both runs, or one for each");
  if (app.count("--output") == 0) arguments.output = "-";
}

// Empty after --help or --version. Throws UsageError.
std::optional<PlotArguments> parse_plot(int argc, char** argv) {
  CLI::App app("Draws rooflines: estimates and measurements of models under the roofs of a machine.", "roofline-plot");
  app.set_version_flag("--version", "roofline-plot " PAGODA_VERSION);
  app.footer(kExamples);
  PlotArguments arguments;
  arguments.options.tool = "roofline-plot " PAGODA_VERSION;
  std::string format, precision;
  std::vector<double> x_limits, y_limits;
  app.add_option("--ceilings", arguments.ceilings, "Measured roofs: a file of ert-ceilings")->type_name("FILE");
  std::vector<std::string> devices;
  const auto add_files = [&](const char* name, std::vector<std::string>& files, const char* what, const char* type) {
    app.add_option(name, files, what)->type_name(type)->expected(1)->take_all();
  };
  add_files(
      "--device", devices,
      "Roofs as the vendor states them: an id of onnx-estimate --list-devices, ID:MODE, ID:gpu=918MHz,mem=2133MHz "
      "or a file, also a measurement whose device reported its peaks; with --ceilings dotted beside the measured "
      "ones. More of them, repeated or with commas: their rooflines beside that of the first",
      "NAME|FILE");
  add_files("--estimate", arguments.estimates, "A file of onnx-estimate --format json; repeatable", "FILE");
  add_files("--measured", arguments.measured, "A file of pagoda-import or pagoda-profile; repeatable", "FILE");
  app.add_option("MODEL", arguments.models,
                 "With --against: the models that ran, in place of --estimate; free sizes count as 1")
      ->expected(0, 2);
  CLI::Option* const against = app.add_option(
      "--against", arguments.against,
      "A second run of the same network: compares it with --measured, node by node. The second --estimate "
      "or MODEL is that of this run; one alone is that of both");
  against->type_name("FILE");
  app.add_option("--runs", arguments.runs, "Runs of the model in each --measured profile that does not say so")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
  CLI::Option* const output =
      app.add_option("-o,--output", arguments.output,
                     "The file to write, whole or not at all; - for the terminal, as --against alone");
  app.add_option("--format", format, "svg, png, pdf, html, csv, json or text; default: what FILE ends in");
  app.add_option("--title", arguments.options.title, "Instead of models and machine");
  app.add_option("--precision", precision, "Whose peak is the main roof; default: that of most of the time");
  app.add_option("--xlim", x_limits, "Ends of the intensity axis in FLOP/B; default: as --frame says")->expected(2);
  app.add_option("--ylim", y_limits, "Ends of the performance axis in FLOP/s")
      ->transform(in(base::Measure::FlopsPerSecond))
      ->expected(2);
  app.add_option("--max-dots", arguments.options.max_dots,
                 "Dots drawn, most time first; the rest joins by type and place (default 2000)");
  app.add_option("--labels", arguments.options.labels, "Operators with their name beside them (default 6)");
  app.add_flag(
      "--energy", arguments.options.energy,
      "Work per joule instead of time: the arch by the constants of the device, or fitted to the runs, and dots and "
      "stars of what has joules");
  add_picture_options(app, arguments.picture);
  app.add_option("--columns", arguments.options.columns,
                 "Width of the terminal picture (default: that of the terminal, else 100)")
      ->check(CLI::Range(40, 400));
  app.add_option("--lines", arguments.options.lines, "Height of the terminal picture (default 30)")
      ->check(CLI::Range(12, 200));
  if (!parse(app, argc, argv)) return std::nullopt;
  for (const std::string& text : devices)
    for (std::string& name : documents::split_devices(text)) arguments.devices.push_back(std::move(name));
  if (*against)
    check_against(app, arguments);
  else if (!*output)
    throw UsageError("--output is required: the file to write, or - for the terminal");
  else if (!arguments.models.empty())
    throw UsageError(
        cat(arguments.models.front(), ": models are read with --against; give --estimate, a file of onnx-estimate"));
  if (arguments.ceilings.empty() && arguments.devices.empty() && arguments.measured.empty())
    throw UsageError("give --ceilings FILE, --device NAME, or a --measured FILE whose device reported its peaks");
  const std::size_t dot = arguments.output.rfind('.');
  if (format.empty())
    format = arguments.output == "-" ? "text" : dot == std::string::npos ? "" : arguments.output.substr(dot + 1);
  const auto named = std::ranges::find(kFormats, format, [](const auto& each) { return each.first; });
  if (named == kFormats.end())
    throw UsageError(
        cat("no format \"", format, "\"; end the file in .svg, .png, .pdf, .html, .csv or .json, or give --format"));
  arguments.write = named->second;
  if (!arguments.against.empty() && format != "html") {
    if (format != "text" && format != "csv" && format != "json")
      throw UsageError(cat("--against writes text, csv, json or html; ", format, " shows one run"));
    refuse_beside(app, "--against", {"--measured", "--estimate", "MODEL", "--runs", "--output", "--format"});
  }
  arguments.format = format;
  refuse_unseen(app, format);
  if (arguments.options.energy && app.count("--frame") > 0 && format != "html")
    throw UsageError(
        "--frame is for rooflines of time; an energy roofline fits its data: set its ends with --xlim and --ylim");
  set_picture(arguments.picture, format, arguments.options);
  if (!precision.empty() && !(arguments.options.precision = pagoda::precision(precision)))
    throw UsageError(cat("\"", precision, "\" is not a precision; known: ", precision_names()));
  if (!x_limits.empty()) arguments.options.x_limits = {x_limits[0], x_limits[1]};
  if (!y_limits.empty()) arguments.options.y_limits = {y_limits[0], y_limits[1]};
  const bool is_shown = arguments.output == "-" && base::is_output_terminal();
  if (const std::size_t columns = base::output_columns(); is_shown && app.count("--columns") == 0 && columns > 0)
    arguments.options.columns = static_cast<int>(std::clamp<std::size_t>(columns, 40, 400));
  arguments.options.color = is_shown;
  return arguments;
}

present::PlotFile read(const std::string& path, std::string_view expected, base::Reads reads = base::Reads::Json) {
  return {path, base::read_text(path, expected, reads)};
}

// Also accepts profiles of engines and tables of boards.
present::PlotFile read_measured(const std::string& path, const std::optional<std::int64_t>& runs, bool prints = true) {
  present::PlotFile file = read(path, "a measurement", base::Reads::Profile);
  const auto format = measured::recognise_profile(file.text);
  if (!format || *format == measured::ProfileFormat::Measured) return file;
  documents::Measured measured = measured::import_profile(file.text, path, {.runs = runs});
  for (std::string& note : measured.notes) {
    note = present::command_line(note);
    if (prints) std::fprintf(stderr, "%s: %s\n", path.c_str(), base::printable(note).c_str());
  }
  file.text = documents::write_measured(measured);
  return file;
}

// Adds the run of each measurement to the estimate at its place, as onnx-estimate --measured does, so that both give
// one verdict. Runs of other sizes or models are left to the chart, which says so.
void add_runs(present::PlotInput& input) {
  for (std::size_t i = 0; i < input.measured.size() && !input.estimates.empty(); ++i) {
    documents::EstimateDocument& estimate = input.estimates[std::min(i, input.estimates.size() - 1)].document;
    if (estimate.measured || estimate.sweep) continue;
    try {
      estimate::add_measured(documents::parse_measured(input.measured[i].text, input.measured[i].name), estimate);
    } catch (const Error&) {
    }
  }
}

std::vector<present::PlotEstimate> read_estimates(const PlotArguments& arguments) {
  std::vector<present::PlotEstimate> estimates;
  for (const std::string& path : arguments.estimates)
    estimates.push_back(present::read_plot_estimate(path, read(path, "an estimate").text));
  for (const std::string& path : arguments.models)
    estimates.push_back({.name = path, .sha256 = "", .document = estimate::make_estimate(load_model(path))});
  return estimates;
}

// `arguments` has two runs.
measured::RunComparison compared(const PlotArguments& arguments, const std::vector<present::PlotEstimate>& estimates) {
  const auto run = [&](const std::string& path, const present::PlotEstimate& of) {
    const std::string text = read_measured(path, arguments.runs, false).text;  // remarks hold its notes
    return measured::ModelRun{path.substr(path.find_last_of("/\\") + 1), documents::parse_measured(text, path),
                              &of.document};
  };
  return measured::compare_runs(run(arguments.measured.front(), estimates.front()),
                                run(arguments.against, estimates.back()));
}

int compare_runs(const PlotArguments& arguments) {
  const std::vector<present::PlotEstimate> estimates = read_estimates(arguments);
  const measured::RunComparison comparison = compared(arguments, estimates);
  constexpr std::size_t kShown = 10;
  write_output(arguments.output, arguments.format == "csv" ? present::runs_csv(comparison)
                                 : arguments.format == "json"
                                     ? present::runs_json(comparison, arguments.options.tool)
                                     : present::runs_table(comparison, kShown, base::output_columns()));
  return kDone;
}

int plot(int argc, char** argv) {
  std::optional<PlotArguments> arguments = parse_plot(argc, argv);
  if (!arguments) return kDone;
  present::PlotInput input;
  if (!arguments->against.empty()) {
    if (arguments->format != "html") return compare_runs(*arguments);
    input.estimates = read_estimates(*arguments);
    const measured::RunComparison comparison = compared(*arguments, input.estimates);
    arguments->options.remarks = comparison.remarks;
    arguments->options.remarks.insert(arguments->options.remarks.begin(), present::runs_verdict(comparison));
    arguments->measured.push_back(arguments->against);
  }
  const std::vector<std::string>& devices = arguments->devices;
  for (const std::string& name : devices)
    if (const std::string note = documents::alias_note(name); !note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
  if (!arguments->ceilings.empty()) {
    input.ceilings = read(arguments->ceilings, "a ceilings file");
    input.device = documents::parse_device(input.ceilings->text, arguments->ceilings);
    if (!devices.empty()) input.spec = documents::find_device(devices.front());
  } else if (devices.empty()) {
    const present::PlotFile file = read_measured(arguments->measured.front(), arguments->runs);
    input.device = documents::parse_device(file.text, file.name);
  } else {
    input.device = documents::find_device(devices.front());
    // A device that is a ceilings file also supplies the ceilings.
    if (input.device.measured) input.ceilings = read(devices.front(), "a ceilings file");
  }
  for (std::size_t i = 1; i < devices.size(); ++i) input.others.push_back(documents::find_device(devices[i]));
  if (input.estimates.empty()) input.estimates = read_estimates(*arguments);
  for (const std::string& path : arguments->measured) input.measured.push_back(read_measured(path, arguments->runs));
  add_runs(input);
  write_output(arguments->output, arguments->write(input, arguments->options));
  return kDone;
}

}  // namespace
}  // namespace pagoda::tools

int main(int argc, char** argv) { return pagoda::tools::run_tool("roofline-plot", argc, argv, pagoda::tools::plot); }
