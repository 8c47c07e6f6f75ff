// JSON text of doubles that keeps the type: 1 becomes "1.0".
#pragma once

#include <string>

namespace pagoda::base {

std::string json_number(double value);  // finite

}  // namespace pagoda::base
