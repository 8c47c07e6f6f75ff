// NVIDIA's management library and its devices. Names and numbers follow nvml.h.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "nvidia_library.h"

namespace pagoda::tools {

class NvmlLibrary {
 public:
  using Device = void*;

  // `chosen` empty: the driver's library. Never throws: if it cannot be opened or started, is_ready() is false and
  // why() gives the reason.
  explicit NvmlLibrary(const std::string& chosen = "");
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  bool is_ready() const { return is_ready_; }
  const std::string& why() const { return why_; }
  std::vector<Device> devices() const;
  Device device(const std::string& pci_bus_id) const;  // null: no such device

  template <typename Function>
  Function symbol(const char* name) const {
    return library_.symbol<Function>(name);
  }
  // Calls the function of this name; empty if it is missing or fails. A null device stands for the whole machine,
  // about which only texts can be asked.
  std::string text(const char* name, Device device) const;
  template <typename Number = unsigned, typename... Arguments>
  std::optional<Number> number(const char* name, Device device, Arguments... arguments) const {
    Number value = 0;
    const auto f = symbol<int (*)(Device, Arguments..., Number*)>(name);
    return device && f && f(device, arguments..., &value) == 0 ? std::optional(value) : std::nullopt;
  }
  std::optional<std::array<unsigned, 2>> pair(const char* name, Device device) const;  // current and pending

  std::optional<unsigned long long> clock_reasons(Device device) const;  // bits of nvmlClocksEventReasons
  std::optional<double> joules(Device device) const;                     // since the driver was loaded

 private:
  DynamicLibrary library_;
  bool is_ready_ = false;
  std::string why_;
};

}  // namespace pagoda::tools
