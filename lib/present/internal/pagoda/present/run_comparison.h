// Two measured runs of one network, as a table, CSV and JSON. The first line of the table and `verdict` in JSON say
// which run is faster, and where it gained or lost.
#pragma once

#include <cstddef>
#include <string>

#include "pagoda/measured/against.h"

#pragma GCC visibility push(default)
namespace pagoda::present {

// "int8.json is 2.4× faster than fp32.json: 45.1 → 18.5 ms a run; layer3 -8.1 ms, …".
std::string runs_verdict(const measured::RunComparison& comparison);

// The verdict, remarks, time by part, kernels that changed, the `top` blocks that changed most, and what is not
// compared. Blocks whose names differ only in numbers, with the same kernels, are one row.
std::string runs_table(const measured::RunComparison& comparison, std::size_t top = 10, std::size_t width = 0);

// One row per block, then one per kernel that joined no node: their seconds add up to those of all kernels.
std::string runs_csv(const measured::RunComparison& comparison);

// "pagoda.comparison/1", of two runs.
std::string runs_json(const measured::RunComparison& comparison, const std::string& tool = {});

}  // namespace pagoda::present
#pragma GCC visibility pop
