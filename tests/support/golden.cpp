#include "support/golden.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "pagoda/base/files.h"
#include "support/files.h"

namespace pagoda::test {

void check_golden(const std::string& name, std::string_view got) {
  const std::string path = source_path("tests/golden/" + name);
  if (std::getenv("PAGODA_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    return base::write_file(path, got);
  }
  const std::string expected = std::filesystem::exists(path) ? read_file(path) : "";
  const bool is_same = got == expected;
  CHECK_MESSAGE(is_same, name, " differs (PAGODA_UPDATE_GOLDEN=1 rewrites it)\n--- got\n", std::string(got),
                "--- expected\n", expected);
}

}  // namespace pagoda::test
