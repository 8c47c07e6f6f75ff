// Operations, bytes and time of one kernel launch from Nsight Compute's metrics.
//
// FLOP of a precision are adds + multiplies + 2·FMAs of its SASS counters, which count threads; half-precision counters
// count packed pairs, so twice that. Tensor cores: sm__ops_path_tensor_*, in operations (2·M·N·K of a product). Tensor
// pipe instruction counts give neither types nor sizes; they only mark operations as unknown.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "import/runs.h"
#include "pagoda/documents/metrics.h"

namespace pagoda::measured::import {

// Whether the value of this metric is used; other metrics need not be read. `chip`: null if it is not known.
bool is_used_metric(std::string_view metric, const documents::ChipMetrics* chip);

// The factor that converts a printed value to SI units: 1e-6 for "us", 1e9 for "Gbyte", 1 for counts. Empty: unknown
// unit.
std::optional<double> unit_scale(std::string_view unit);
// The factor of Nsight Compute's base unit of a metric: 1e-9 for times, 1 for bytes. Empty: a count, or not used.
std::optional<double> base_scale(std::string_view metric);

// `metrics`: by name, in SI units. Values that no metric measures are absent from the sample. A chip adds its
// formulas; a precision that it can count but `metrics` do not give then has no value.
LaunchSample sample_of(const std::map<std::string, double>& metrics, const documents::ChipMetrics* chip = nullptr);

// `amounts`: by quantity of the catalogue.
LaunchSample sample_of_amounts(const std::map<std::string, double>& amounts, const documents::ChipMetrics& chip);

// Whether a kernel's name indicates that it uses tensor cores.
bool is_tensor_kernel(std::string_view name);

}  // namespace pagoda::measured::import
