// Numbers as JSON that keep their type: 1 as "1.0".
#pragma once

#include <string>

namespace pagoda::base {

std::string json_number(double value);  // finite

}  // namespace pagoda::base
