// Options of tools that draw: the printed size of a picture, and the range of its frame.
#pragma once

#include <string>

namespace CLI {
class App;
}
namespace pagoda::present {
struct PlotOptions;
}

namespace pagoda::tools {

struct PictureArguments {
  std::string width, font_size, frame;  // as typed; empty: not given
};

void add_picture_options(CLI::App& app, PictureArguments& arguments);
// Stores the arguments in `options`. Throws UsageError for an invalid length, or if `format` is not a picture.
void set_picture(const PictureArguments& arguments, const std::string& format, present::PlotOptions& options);

}  // namespace pagoda::tools
