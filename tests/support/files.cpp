#include "support/files.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace pagoda::test {

std::string source_path(std::string_view name) { return std::string(PAGODA_SOURCE_DIR "/").append(name); }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace pagoda::test
