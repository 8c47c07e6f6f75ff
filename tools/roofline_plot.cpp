// roofline-plot: estimates and measurements of models under the roofs of a machine, as a picture, a page or data.
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "pagoda/core/device.h"
#include "pagoda/documents/device.h"
#include "pagoda/present/plot.h"
#include "pagoda/present/report.h"

namespace {

constexpr int kUnusableInput = 1, kUsage = 2, kNoDevice = 4;

constexpr const char* kExamples = R"(Examples:
  onnx-estimate resnet50.onnx --batch 8 --device h200 -o r50.json
  roofline-plot --device h200 --estimate r50.json -o r50.html
      a page that works offline: filters, zoom, a table of all operators
  roofline-plot --ceilings ceilings.json --device h200 --estimate r50.json --measured run.json -o r50.svg
      measured roofs with the vendor's beside them; each operator as estimated and as measured
  roofline-plot --device h200 --estimate r50.json -o -
      in the terminal
  roofline-plot --device h200 --estimate base.json --estimate new.json -o change.html
      several models, sizes or runs: whole-model points, arrows for what moved

What FILE ends in gives the format: svg, png, pdf, html, csv, json. PNG and PDF need rsvg-convert (librsvg2-bin).
Exit codes: 0 done, 1 unusable input, 2 usage, 4 no such device.)";

using Writer = std::string (*)(const pagoda::present::PlotInput&, const pagoda::present::PlotOptions&);
// clang-format off
constexpr std::array<std::pair<const char*, Writer>, 7> kFormats = {{
    {"csv", pagoda::present::plot_csv}, {"html", pagoda::present::plot_html}, {"json", pagoda::present::plot_json}, {"pdf", pagoda::present::plot_pdf},
    {"png", pagoda::present::plot_png}, {"svg", pagoda::present::plot_svg}, {"text", pagoda::present::plot_text}}};
// clang-format on

Writer writer_of(const std::string& format) {
  for (const auto& [name, writer] : kFormats)
    if (format == name) return writer;
  return nullptr;
}

pagoda::present::PlotFile read(const std::string& path) {
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure))
    throw pagoda::Error(path + ": is a folder, expected a JSON file; name the file in it");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw pagoda::Error(path + ": cannot be opened: " + std::strerror(errno) + "; check the path");
  return {path, std::string(std::istreambuf_iterator<char>(stream), {})};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Draws rooflines: estimates and measurements of models under the roofs of a machine.", "roofline-plot");
  app.set_version_flag("--version", "roofline-plot " PAGODA_VERSION);
  app.footer(kExamples);
  std::string ceilings, device, output, format, precision;
  std::vector<std::string> estimates, measured;
  std::vector<double> x_limits, y_limits;
  pagoda::present::PlotOptions options;
  options.tool = "roofline-plot " PAGODA_VERSION;
  app.add_option("--ceilings", ceilings, "Measured roofs: a file of ert-ceilings")->type_name("FILE");
  app.add_option("--device", device,
                 "Roofs as the vendor states them: an id of onnx-estimate --list-devices, ID:MODE, or a file; with "
                 "--ceilings dotted beside the measured ones. One chart shows one machine")
      ->type_name("NAME|FILE");
  app.add_option("--estimate", estimates, "A file of onnx-estimate --format json; repeatable")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  app.add_option("--measured", measured, "A file of pagoda-import or pagoda-profile; repeatable")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  app.add_option("-o,--output", output, "The file to write, whole or not at all; - for the terminal")->required();
  app.add_option("--format", format, "svg, png, pdf, html, csv, json or text; default: what FILE ends in");
  app.add_option("--title", options.title, "Instead of models and machine");
  app.add_option("--precision", precision, "Whose peak is the main roof; default: that of most of the time");
  app.add_option("--xlim", x_limits, "Ends of the intensity axis in FLOP/B; default: from the roofs alone")
      ->expected(2);
  app.add_option("--ylim", y_limits, "Ends of the performance axis in FLOP/s")->expected(2);
  app.add_option("--max-dots", options.max_dots,
                 "Dots drawn, most time first; the rest joins by type and place (default 2000)");
  app.add_option("--labels", options.labels, "Operators with their name beside them (default 10)");
  app.add_option("--columns", options.columns, "Width of the terminal picture (default 100)")
      ->check(CLI::Range(40, 400));
  app.add_option("--lines", options.lines, "Height of the terminal picture (default 30)")->check(CLI::Range(12, 200));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  const auto misuse = [](const std::string& text) {
    std::cerr << "roofline-plot: " << text << '\n';
    return kUsage;
  };
  if (ceilings.empty() && device.empty()) return misuse("give --ceilings FILE or --device NAME");
  const std::size_t dot = output.rfind('.');
  if (format.empty()) format = output == "-" ? "text" : dot == std::string::npos ? "" : output.substr(dot + 1);
  const Writer write = writer_of(format);
  if (write == nullptr)
    return misuse("no format \"" + format +
                  "\"; end the file in .svg, .png, .pdf, .html, .csv or .json, or give --format");
  if (!precision.empty() && !(options.precision = pagoda::precision(precision)))
    return misuse("\"" + precision + "\" is no precision; known: " + pagoda::precision_names());
  if (!x_limits.empty()) options.x_limits = {x_limits[0], x_limits[1]};
  if (!y_limits.empty()) options.y_limits = {y_limits[0], y_limits[1]};
  options.color = output == "-" && isatty(STDOUT_FILENO) != 0;
  try {
    pagoda::present::PlotInput input;
    if (!ceilings.empty()) {
      input.ceilings = read(ceilings);
      input.device = pagoda::documents::parse_device(input.ceilings->text, ceilings);
      if (!device.empty()) input.spec = pagoda::documents::find_device(device);
    } else {
      input.device = pagoda::documents::find_device(device);
      // A ceilings file given as a device is one all the same.
      if (input.device.measured) input.ceilings = read(device);
    }
    for (const std::string& path : estimates) input.estimates.push_back(read(path));
    for (const std::string& path : measured) input.measured.push_back(read(path));
    const std::string text = write(input, options);
    if (output == "-") {
      if (!(std::cout << text << std::flush)) throw pagoda::Error("standard output: cannot be written");
    } else {
      pagoda::base::write_file(output, text);
    }
  } catch (const pagoda::UnknownDevice& error) {
    std::cerr << "roofline-plot: " << error.what() << '\n';
    return kNoDevice;
  } catch (const std::exception& error) {
    std::cerr << "roofline-plot: " << error.what() << '\n';
    return kUnusableInput;
  }
  return 0;
}
