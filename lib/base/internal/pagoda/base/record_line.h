// Lines of records and settings: words separated by tabs. Header-only, since the injected library, which does not link
// Pagoda, writes the lines that this library reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::base {

// Escapes the tabs, line ends and backslashes of a word.
inline std::string escaped(std::string_view word) {
  std::string result;
  for (const char c : word) {
    if (c == '\t' || c == '\n' || c == '\\') result += '\\';
    result += c == '\t' ? 't' : c == '\n' ? 'n' : c;
  }
  return result;
}

// The words of a line, unescaped.
inline std::vector<std::string> split_line(std::string_view line) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t')
      words.emplace_back();
    else if (line[i] == '\\' && i + 1 < line.size())
      words.back() += line[++i] == 't' ? '\t' : line[i] == 'n' ? '\n' : line[i];
    else
      words.back() += line[i];
  }
  return words;
}

}  // namespace pagoda::base
#pragma GCC visibility pop
