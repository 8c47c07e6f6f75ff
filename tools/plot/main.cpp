// roofline-plot: estimates and measurements of models under the roofs of a machine, as a picture, a page or data.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "arguments.h"
#include "pagoda/documents/device.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

present::PlotFile read(const std::string& path) {
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure))
    throw Error(path + ": is a folder, expected a JSON file; name the file in it");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(path + ": cannot be opened: " + std::strerror(errno) + "; check the path");
  return {path, std::string(std::istreambuf_iterator<char>(stream), {})};
}

int plot(int argc, char** argv) {
  const std::optional<PlotArguments> arguments = parse_plot(argc, argv);
  if (!arguments) return kDone;
  present::PlotInput input;
  if (const std::string note = documents::alias_note(arguments->device); !note.empty())
    std::fprintf(stderr, "%s\n", note.c_str());
  if (!arguments->ceilings.empty()) {
    input.ceilings = read(arguments->ceilings);
    input.device = documents::parse_device(input.ceilings->text, arguments->ceilings);
    if (!arguments->device.empty()) input.spec = documents::find_device(arguments->device);
  } else {
    input.device = documents::find_device(arguments->device);
    // A ceilings file given as a device is one all the same.
    if (input.device.measured) input.ceilings = read(arguments->device);
  }
  for (const std::string& path : arguments->estimates)
    input.estimates.push_back(present::read_plot_estimate(path, read(path).text));
  for (const std::string& path : arguments->measured) input.measured.push_back(read(path));
  write_output(arguments->output, arguments->write(input, arguments->options));
  return kDone;
}

}  // namespace
}  // namespace pagoda::tools

int main(int argc, char** argv) { return pagoda::tools::run_tool("roofline-plot", argc, argv, pagoda::tools::plot); }
