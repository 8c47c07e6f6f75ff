// data/metrics, compiled in (lib/embed_metrics.cmake).
#pragma once

#include <span>
#include <string_view>

namespace pagoda::profile {

struct BuiltinMetrics {
  std::string_view family, json;
};
std::span<const BuiltinMetrics> builtin_metrics();

}  // namespace pagoda::profile
