// Whole outputs compared with files in tests/golden. PAGODA_UPDATE_GOLDEN=1 rewrites the files; the diff is reviewed.
#pragma once

#include <string>
#include <string_view>

namespace pagoda::test {

// Checks that `got` is the content of tests/golden/<name>.
void check_golden(const std::string& name, std::string_view got);

}  // namespace pagoda::test
