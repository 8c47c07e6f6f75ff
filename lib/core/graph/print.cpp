#include "pagoda/core/print.h"

#include <ostream>

namespace pagoda::inline core {

std::ostream& operator<<(std::ostream& out, const Dim& dim) { return out << dim.to_string(); }

}  // namespace pagoda::inline core
