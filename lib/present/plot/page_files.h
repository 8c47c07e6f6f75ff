// The files of lib/present/plot/page, compiled in.
#pragma once

#include <string>

namespace pagoda::present::plot {

std::string page_script();
std::string page_style();

}  // namespace pagoda::present::plot
