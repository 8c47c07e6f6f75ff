// Files that tests read.
#pragma once

#include <string>
#include <string_view>

namespace pagoda::test {

// A path in the source tree: source_path("data/ops.csv"). The tree itself for "".
std::string source_path(std::string_view name);

// The whole file; throws std::runtime_error when it cannot be read.
std::string read_file(const std::string& path);

}  // namespace pagoda::test
