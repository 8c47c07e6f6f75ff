// Compares whole outputs with files in tests/golden. PAGODA_UPDATE_GOLDEN=1 rewrites the files; review the diff.
#pragma once

#include <string>
#include <string_view>

namespace pagoda::test {

// Checks that `got` is the content of tests/golden/<name>.
void check_golden(const std::string& name, std::string_view got);

}  // namespace pagoda::test
