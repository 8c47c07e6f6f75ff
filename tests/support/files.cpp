#include "support/files.h"

#include "pagoda/base/files.h"

namespace pagoda::test {

std::string source_path(std::string_view name) { return std::string(PAGODA_SOURCE_DIR "/").append(name); }

std::string read_file(const std::string& path) { return base::read_file(path, "a file of the tests"); }

}  // namespace pagoda::test
