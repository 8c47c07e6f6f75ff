// The files of lib/present/page, compiled in, and the frame of every page: one file that makes no network
// requests, under a content security policy that allows exactly its script and its style.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace pagoda::present::plot {

std::string report_page_script();  // the script of pages of results
// A file with its holes, as in {{title}}, filled.
std::string page_file(std::string_view name, const std::map<std::string_view, std::string>& values = {});

// `body`: the text between <body> and the script.
std::string page_of(std::string_view title, const std::string& body, std::string_view script);

}  // namespace pagoda::present::plot
