// The files of lib/present/page, compiled in, and the frame of every page: one file that makes no network
// requests, under a content security policy that allows exactly its script and its style.
#pragma once

#include <string>
#include <string_view>

namespace pagoda::present::plot {

std::string page_script();         // of charts
std::string report_page_script();  // of results
std::string page_style();

// `body`: the text between <body> and the script.
std::string page_of(std::string_view title, std::string_view body, std::string_view script);

}  // namespace pagoda::present::plot
