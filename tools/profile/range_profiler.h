// CUPTI's range profiler on one context: the calls that need a device. They follow the order of CUPTI's documentation:
// chip description (HostChip), configuration, enable, counter data image, then start, stop and decode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cupti_library.h"

struct CUctx_st;
struct CUpti_RangeProfiler_Object;

namespace pagoda::tools::profile {

// Must precede all other calls of the profiler, including the chip's name, as in NVIDIA's samples.
void initialize_profiler(const CuptiLibrary& library);

// Image of the counters that a device has. Do not call without a driver: CUPTI crashes.
std::vector<std::uint8_t> counter_availability(const CuptiLibrary& library, CUctx_st* context);

std::string chip_name(const CuptiLibrary& library, std::size_t device);

// All members throw Error, with a remedy, if the device, its driver or another user of the counters prevents the call.
class RangeProfiler {
 public:
  // `config` is HostChip's of `metrics`; `most_ranges` bounds those between start() and stop().
  RangeProfiler(const CuptiLibrary& library, CUctx_st* context, std::vector<std::uint8_t> config,
                const std::vector<std::string>& metrics, std::size_t most_ranges);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  // Empties the image. `of_ranges`: ranges are pushed, and the caller repeats their work for further passes; otherwise
  // every launch is a range, which CUPTI repeats.
  void prepare(bool of_ranges);
  void start();
  void push(const std::string& name);
  void pop();
  bool stop();  // whether all passes are submitted
  // Returns the ranges that did not fit.
  std::size_t decode();
  std::size_t ranges();  // in the image
  const std::vector<std::uint8_t>& image() const { return image_; }

 private:
  RangeProfiler(const CuptiLibrary& library, std::vector<std::uint8_t> config, std::size_t most_ranges)
      : library_(library), config_(std::move(config)), most_ranges_(most_ranges) {}
  template <typename Params>
  Params call(const char* what, const char* name, Params params);

  const CuptiLibrary& library_;
  std::vector<std::uint8_t> config_, image_;
  std::size_t most_ranges_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
};

}  // namespace pagoda::tools::profile
