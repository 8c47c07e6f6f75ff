// Shrinks scripts by dropping what only a reader needs: reports are sent around more often than their script is read.
#pragma once

#include <string>
#include <string_view>

namespace pagoda::present::plot {

// Drops comments, indentation, blanks next to punctuation, and line ends that end no statement; keeps names and all text
// in quotes, templates and regular expressions.
std::string compact_script(std::string_view script);

}  // namespace pagoda::present::plot
