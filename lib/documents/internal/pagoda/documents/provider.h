// Execution providers of ONNX Runtime as data: the files of data/providers, schema pagoda.provider/1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/placement.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

std::vector<std::string> provider_ids();

// The built-in provider with this id ("cuda"), or the one in a file. Throws Error if there is neither, or if the file
// states an unknown test or type.
Provider find_provider(std::string_view id_or_path);
Provider parse_provider(std::string_view json, std::string_view subject);

}  // namespace pagoda::documents
#pragma GCC visibility pop
