// roofline-plot: estimates and measurements of models under the roofs of a machine, as a picture, a page or data.
#include <cstdio>

#include "arguments.h"
#include "pagoda/base/files.h"
#include "pagoda/documents/device.h"
#include "pagoda/measured/import.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

present::PlotFile read(const std::string& path, std::string_view expected) {
  return {path, base::read_file(path, expected)};
}

// Also accepts profiles of engines and tables of boards.
present::PlotFile read_measured(const std::string& path) {
  present::PlotFile file = read(path, "a measurement");
  const auto format = measured::recognise_profile(file.text);
  if (format && *format != measured::ProfileFormat::Measured)
    file.text = documents::write_measured(measured::import_profile(file.text, path));
  return file;
}

int plot(int argc, char** argv) {
  const std::optional<PlotArguments> arguments = parse_plot(argc, argv);
  if (!arguments) return kDone;
  present::PlotInput input;
  const std::vector<std::string>& devices = arguments->devices;
  for (const std::string& name : devices)
    if (const std::string note = documents::alias_note(name); !note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
  if (!arguments->ceilings.empty()) {
    input.ceilings = read(arguments->ceilings, "a ceilings file");
    input.device = documents::parse_device(input.ceilings->text, arguments->ceilings);
    if (!devices.empty()) input.spec = documents::find_device(devices.front());
  } else if (devices.empty()) {
    const present::PlotFile file = read_measured(arguments->measured.front());
    input.device = documents::parse_device(file.text, file.name);
  } else {
    input.device = documents::find_device(devices.front());
    // A device that is a ceilings file also supplies the ceilings.
    if (input.device.measured) input.ceilings = read(devices.front(), "a ceilings file");
  }
  for (std::size_t i = 1; i < devices.size(); ++i) input.others.push_back(documents::find_device(devices[i]));
  for (const std::string& path : arguments->estimates)
    input.estimates.push_back(present::read_plot_estimate(path, read(path, "an estimate").text));
  for (const std::string& path : arguments->measured) input.measured.push_back(read_measured(path));
  write_output(arguments->output, arguments->write(input, arguments->options));
  return kDone;
}

}  // namespace
}  // namespace pagoda::tools

int main(int argc, char** argv) { return pagoda::tools::run_tool("roofline-plot", argc, argv, pagoda::tools::plot); }
