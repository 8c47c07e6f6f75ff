// Counters of one context by CUPTI's range profiler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../range_profiler.h"
#include "recorder.h"

namespace pagoda::tools::profile {

struct SessionOptions {
  std::string chip;
  std::vector<std::string> metrics;
  std::size_t ranges = 512;  // between start and stop
  bool of_ranges = false;    // true: ranges are pushed; false: every launch is one
  bool replay = false;       // run kernels again for further passes; else metrics must fit into one
  std::string raw_prefix;    // path prefix of counter image files; empty: keep none
};

// Throws Error with a remedy if the device, its driver or another user of the counters prevents it.
std::unique_ptr<CounterSession> open_cupti_session(const CuptiLibrary& library, CUctx_st* context,
                                                   const SessionOptions& options);

}  // namespace pagoda::tools::profile
