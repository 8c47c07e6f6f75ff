// Evaluates the counter images that pagoda-profile --keep-raw wrote a second time: needs CUPTI's host library, but
// neither a GPU nor a driver.
#pragma once

#include <string>

#include "cupti_library.h"

namespace pagoda::tools::profile {

// Evaluates one image (FILE.counters with its FILE.txt), or all images of a folder, and prints one line per metric with
// its value in each range. Returns 0 if all values equal those evaluated on the machine that took the image, 1 if any
// differs, 77 if there is no image.
int decode_images(const CuptiLibrary& library, const std::string& path);

}  // namespace pagoda::tools::profile
