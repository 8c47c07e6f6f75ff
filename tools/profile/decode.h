// Counter images that pagoda-profile --keep-raw left, evaluated again: needs CUPTI's host library and neither a GPU nor
// a driver.
#pragma once

#include <string>

#include "cupti_library.h"

namespace pagoda::tools::profile {

// Evaluates one image (FILE.counters, with its FILE.txt), or all of a folder, and prints a line a metric with its value
// in each range. 0: each value is what was evaluated where the image was taken; 1: one is not; 77: there is no image.
int decode_images(const CuptiLibrary& library, const std::string& path);

}  // namespace pagoda::tools::profile
