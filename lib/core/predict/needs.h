// What an engine needs to know of a device: facts are taken one by one, and those that the device does not state are
// named, so that a message says what to add.
#pragma once

#include <string>
#include <vector>

#include "pagoda/base/text.h"
#include "pagoda/core/device.h"

namespace pagoda::inline core {

class Needs {
 public:
  // The value of a fact; 0 if the device does not state it.
  double operator()(const Quantity* stated, std::string_view name) {
    if (stated != nullptr && stated->known()) return *stated->value;
    missing_.push_back(name);
    return 0;
  }
  double operator()(const Peak* stated, std::string_view name) {
    return (*this)(stated == nullptr ? nullptr : &stated->flops_per_second, name);
  }
  void require(bool is_stated, std::string_view name) {
    if (!is_stated) missing_.push_back(name);
  }

  bool are_met() const { return missing_.empty(); }
  // "no clock or power"; goes on a sentence that begins with the device.
  std::string text() const { return "states no " + base::joined(missing_, " or "); }

 private:
  std::vector<std::string_view> missing_;
};

inline const Quantity* bandwidth_of(const MemoryLevel* level) {
  return level == nullptr ? nullptr : &level->bytes_per_second;
}

}  // namespace pagoda::inline core
