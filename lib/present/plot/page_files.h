// The files of lib/present/plot/page, compiled in.
#pragma once

#include <string>

namespace pagoda::plot {

std::string page_script();
std::string page_style();

}  // namespace pagoda::plot
