// The facts of a device that an engine needs. They are taken one by one; a message names all that the device lacks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
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

  // The rates made of these facts; empty if one is missing: `lacks` then receives "states no clock or power".
  template <typename Rates>
  std::optional<Rates> met_by(const Rates& rates, std::string* lacks) const {
    if (missing_.empty()) return rates;
    if (lacks != nullptr) *lacks = "states no " + base::joined(missing_, " or ");
    return std::nullopt;
  }

 private:
  std::vector<std::string_view> missing_;
};

inline const Quantity* bandwidth_of(const MemoryLevel* level) {
  return level == nullptr ? nullptr : &level->bytes_per_second;
}

}  // namespace pagoda::inline core
