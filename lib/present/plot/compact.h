// Script without what only its reader needs. A report is sent around more often than its script is read.
#pragma once

#include <string>
#include <string_view>

namespace pagoda::present::plot {

// Drops comments, indentation and blanks beside punctuation; keeps line ends, names and all text in quotes, templates
// and regular expressions.
std::string compact_script(std::string_view script);

}  // namespace pagoda::present::plot
