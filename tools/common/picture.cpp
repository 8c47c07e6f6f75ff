#include "picture.h"

#include <CLI/CLI.hpp>

#include "pagoda/base/cat.h"
#include "pagoda/base/quantity.h"
#include "pagoda/present/plot.h"
#include "tool.h"

namespace pagoda::tools {

void add_picture_options(CLI::App& app, PictureArguments& arguments) {
  app.add_option(
         "--width", arguments.width,
         "Printed width of a picture (svg, png, pdf), as 85mm, 3.35in or 240pt; as narrow as a column of a paper, its "
         "legend stands below")
      ->type_name("LENGTH");
  app.add_option("--font-size", arguments.font_size, "Printed size of its text, as 7pt (default 9pt)")
      ->type_name("LENGTH");
  app.add_option(
         "--frame", arguments.frame,
         "fit (default): the axes span what takes the time; machine: what the device can do, alike for all its charts")
      ->check(CLI::Validator(CLI::IsMember({"fit", "machine"})).description(""))
      ->type_name("fit|machine");
}

void set_picture(const PictureArguments& arguments, const std::string& format, present::PlotOptions& options) {
  const bool is_picture = format == "svg" || format == "png" || format == "pdf";
  const auto check = [&](const char* option, const std::string& text) {
    if (!text.empty() && !is_picture)
      throw UsageError(std::string(option) + " needs a picture: svg, png or pdf, not " + format);
  };
  const auto length = [&](const char* option, const std::string& text, std::optional<double>& to) {
    check(option, text);
    if (text.empty()) return;
    to = parsed(option, [&] { return base::quantity(base::Measure::Length, text).value; });
    constexpr double kMost = 72 / 0.0254 * 5;  // 5 m
    if (!(*to > 0 && *to <= kMost))
      throw UsageError(cat(option, ": '", text, "' is not a length of a picture; expected one above 0 and up to 5 m"));
  };
  length("--width", arguments.width, options.width_points);
  length("--font-size", arguments.font_size, options.font_points);
  check("--frame", arguments.frame);
  options.machine_frame = arguments.frame == "machine";
}

}  // namespace pagoda::tools
