// Operations, bytes and time of one kernel launch out of Nsight Compute's metrics.
//
// FLOP of a precision are adds + multiplies + 2·fused ones of its SASS counters, which count threads; those of half
// precision count packed pairs: twice that. Tensor cores: sm__ops_path_tensor_*, in operations (2·M·N·K of a product).
// Instructions through the tensor pipe alone say nothing of types and sizes and are not used.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "import/runs.h"
#include "pagoda/documents/metrics.h"

namespace pagoda::measured::import {

// Whether the value of this metric is used; the others need not be read.
bool is_used_metric(std::string_view metric);

// The factor that turns a printed value into SI units: 1e-6 for "us", 1e9 for "Gbyte", 1 for counts. Empty: unknown
// unit.
std::optional<double> unit_scale(std::string_view unit);

// `metrics`: by name, in SI units. What no metric measures is absent in the sample.
LaunchSample sample_of(const std::map<std::string, double>& metrics);

// Metrics that a formula of the chip uses, or time. And the sample by these formulas: a precision that the chip can
// count and these metrics do not tell has no value.
bool is_used_metric(std::string_view metric, const documents::ChipMetrics& chip);
LaunchSample sample_of(const std::map<std::string, double>& metrics, const documents::ChipMetrics& chip);

// Whether a kernel's name says that it multiplies on tensor cores.
bool is_tensor_kernel(std::string_view name);

}  // namespace pagoda::measured::import
