// The files of lib/src/plot/page, compiled in.
#pragma once

#include <string_view>

namespace pagoda::plot {

std::string_view page_script();
std::string_view page_style();

}  // namespace pagoda::plot
