// Lines of a record and of the settings: words with tabs between them. Header alone, since the injected library, which
// links nothing of Pagoda, writes what the library reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::base {

// Tabs, line ends and backslashes of a word, so that they do not end it.
inline std::string escaped(std::string_view word) {
  std::string result;
  for (const char c : word) {
    if (c == '\t' || c == '\n' || c == '\\') result += '\\';
    result += c == '\t' ? 't' : c == '\n' ? 'n' : c;
  }
  return result;
}

// The words of a line, without escapes.
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
