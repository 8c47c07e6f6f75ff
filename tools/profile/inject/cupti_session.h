// Counters of one context by CUPTI's range profiler: the one layer that needs a device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../cupti_library.h"
#include "recorder.h"

struct CUctx_st;

namespace pagoda::tools::profile {

struct SessionOptions {
  std::string chip;
  std::vector<std::string> metrics;
  std::size_t ranges = 512;  // between start and stop
  bool of_ranges = false;    // pushed ones; else every launch is one
  bool replay = false;       // kernels again for further passes; else metrics must fit into one
  std::string raw_prefix;    // files of counter images; empty: none are kept
};

// Throws Error with the remedy where the device, its driver or its users do not allow it.
std::unique_ptr<CounterSession> open_cupti_session(const CuptiLibrary& library, CUctx_st* context,
                                                   const SessionOptions& options);

// What a device can count; empty where CUPTI does not say. Never without a driver: it crashes there.
std::vector<std::uint8_t> counter_availability(const CuptiLibrary& library, CUctx_st* context);

std::string chip_name(const CuptiLibrary& library, std::size_t device);

}  // namespace pagoda::tools::profile
