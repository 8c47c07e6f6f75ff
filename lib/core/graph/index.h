// Ids are 32-bit to keep graphs of many nodes small; tables are indexed by std::size_t.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pagoda::inline core {

constexpr std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace pagoda::inline core
