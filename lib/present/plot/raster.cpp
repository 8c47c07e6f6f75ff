// PNG and PDF by rsvg-convert of librsvg, as a process of its own: no library to link, and the SVG stays the master.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "plot/outputs.h"

namespace pagoda::present::plot {
namespace {

// A folder of its own that goes away with it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pagoda-plot-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw Error("cannot make a folder in " + std::filesystem::temp_directory_path().string());
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(const char* name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

bool succeeds(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

std::string rasterize(const std::string& svg, std::string_view format) {
  if (!succeeds("command -v rsvg-convert >/dev/null 2>&1"))
    throw Error(
        "PNG and PDF need rsvg-convert, which is not installed; install librsvg2-bin and fonts-dejavu-core, or write "
        ".svg or .html");
  // Without any font librsvg draws boxes for letters and reports success.
  if (!succeeds("command -v fc-list >/dev/null 2>&1 && fc-list : family 2>/dev/null | grep -q ."))
    throw Error(
        "PNG and PDF need a font and fontconfig's fc-list; none was found; install fontconfig and fonts-dejavu-core");
  const Scratch scratch;
  const std::string in = scratch.path("chart.svg"), out = scratch.path("chart.out"), log = scratch.path("log");
  std::ofstream(in, std::ios::binary) << svg;
  // A PDF holds the time it was made at unless this is set; 2x makes a PNG sharp on dense screens.
  const std::string zoom = format == "png" ? " --zoom 2" : "";
  if (!succeeds("SOURCE_DATE_EPOCH=0 rsvg-convert --format " + std::string(format) + zoom + " --output " + quoted(out) +
                " " + quoted(in) + " >" + quoted(log) + " 2>&1")) {
    std::ifstream stream(log);
    throw Error("rsvg-convert failed: " + std::string(std::istreambuf_iterator<char>(stream), {}));
  }
  std::ifstream stream(out, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(stream), {});
  if (bytes.empty()) throw Error("rsvg-convert wrote nothing");
  return bytes;
}

}  // namespace pagoda::present::plot
