// PNG and PDF by librsvg's rsvg-convert as a separate process: no library to link, and all pictures derive from the
// SVG.
#include <fstream>
#include <optional>

#include "draw/picture.h"
#include "pagoda/base/error.h"
#include "pagoda/base/files.h"
#include "pagoda/base/process.h"

namespace pagoda::present::plot {
namespace {

// The output of a program; empty if it cannot be started.
std::optional<base::Output> output_of(const std::vector<std::string>& words, const base::ProcessOptions& options) {
  try {
    return base::run_and_capture(words, options);
  } catch (const base::CannotStart&) {
    return std::nullopt;
  }
}

}  // namespace

std::string rasterize(const std::string& svg, std::string_view format, bool in_print) {
  // Without fonts, librsvg draws boxes instead of letters and still reports success.
  const std::optional<base::Output> fonts = output_of({"fc-list", ":", "family"}, {.err = base::Stream::Null});
  const base::TemporaryFolder scratch("pagoda-plot");
  const std::string in = scratch.path("chart.svg"), out = scratch.path("chart.out");
  std::ofstream(in, std::ios::binary) << svg;
  std::vector<std::string> words = {"rsvg-convert", "--format", std::string(format), "--output", out, in};
  // 2x makes a PNG sharp on dense screens; a PDF contains its creation time unless SOURCE_DATE_EPOCH is set.
  if (format == "png" && in_print) words.insert(words.begin() + 1, {"--dpi-x", "300", "--dpi-y", "300"});
  if (format == "png" && !in_print) words.insert(words.begin() + 1, {"--zoom", "2"});
  const std::optional<base::Output> drawn =
      output_of(words, {.err = base::Stream::Pipe, .environment = {{"SOURCE_DATE_EPOCH", "0"}}});
  if (!drawn)
    throw Error(
        "PNG and PDF need rsvg-convert, which is not installed; install librsvg2-bin and fonts-dejavu-core, or write "
        ".svg or .html");
  if (!fonts || fonts->out.empty())
    throw Error(
        "PNG and PDF need a font and fontconfig's fc-list; none was found; install fontconfig and fonts-dejavu-core");
  if (!drawn->end.succeeded()) throw Error("rsvg-convert failed: " + drawn->out + drawn->err);
  std::string bytes = base::read_file(out, "the picture of rsvg-convert");
  if (bytes.empty()) throw Error("rsvg-convert wrote nothing");
  return bytes;
}

}  // namespace pagoda::present::plot
