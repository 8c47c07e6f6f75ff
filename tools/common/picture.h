// Options of tools that draw: how large a picture is in print, and what its frame shows.
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
// Into `options`. Throws UsageError for what is not a length, and for any of them where `format` is not a picture.
void set_picture(const PictureArguments& arguments, const std::string& format, present::PlotOptions& options);

}  // namespace pagoda::tools
