// Copies of a model for engines that take the sizes in its file literally.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Writes the model at `model_path` with these shapes of inputs, by name, in place of those that the file states. Stated
// shapes of other values are left out: they may hold for the old ones only. References to external data stay as they
// are, relative to the model's folder. Throws Error.
void write_resized(const std::string& model_path, const std::string& output_path,
                   const std::map<std::string, std::vector<std::int64_t>>& shapes);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
