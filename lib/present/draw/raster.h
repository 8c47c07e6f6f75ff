// PNG and PDF of any picture.
#pragma once

#include <string>
#include <string_view>

namespace pagoda::present::plot {

// `format`: "png" or "pdf"; `in_print`: the PNG has 300 dots per inch, otherwise two dots per pixel.
std::string rasterize(const std::string& svg, std::string_view format, bool in_print = false);

}  // namespace pagoda::present::plot
