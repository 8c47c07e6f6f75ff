#include "nvml_library.h"

namespace pagoda::tools {

NvmlLibrary::NvmlLibrary(const std::string& chosen) : library_(nvml_places(chosen)), why_(library_.why()) {
  if (!library_) return;
  const auto init = symbol<int (*)()>("nvmlInit_v2");
  const int code = init ? init() : -1;
  is_ready_ = code == 0;
  if (is_ready_) return;
  const auto text = symbol<const char* (*)(int)>("nvmlErrorString");
  why_ = "nvmlInit_v2 says " + (text && init ? std::string(text(code)) : "code " + std::to_string(code));
}

NvmlLibrary::~NvmlLibrary() {
  if (const auto shutdown = symbol<int (*)()>("nvmlShutdown"); shutdown && is_ready_) shutdown();
}

std::vector<NvmlLibrary::Device> NvmlLibrary::devices() const {
  std::vector<Device> all;
  unsigned count = 0;
  const auto count_of = symbol<int (*)(unsigned*)>("nvmlDeviceGetCount_v2");
  const auto handle = symbol<int (*)(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2");
  if (!is_ready_ || !count_of || !handle || count_of(&count) != 0) return all;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (handle(i, &device) == 0) all.push_back(device);
  }
  return all;
}

NvmlLibrary::Device NvmlLibrary::device(const std::string& pci_bus_id) const {
  Device device = nullptr;
  const auto find = symbol<int (*)(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
  return is_ready_ && find && find(pci_bus_id.c_str(), &device) == 0 ? device : nullptr;
}

std::string NvmlLibrary::text(const char* name, Device device) const {
  char buffer[128] = {};
  if (device) {
    const auto f = symbol<int (*)(Device, char*, unsigned)>(name);
    return f && f(device, buffer, sizeof buffer - 1) == 0 ? buffer : "";
  }
  const auto f = symbol<int (*)(char*, unsigned)>(name);
  return f && f(buffer, sizeof buffer - 1) == 0 ? buffer : "";
}

std::optional<std::array<unsigned, 2>> NvmlLibrary::pair(const char* name, Device device) const {
  std::array<unsigned, 2> value{};
  const auto f = symbol<int (*)(Device, unsigned*, unsigned*)>(name);
  return f && f(device, &value[0], &value[1]) == 0 ? std::optional(value) : std::nullopt;
}

std::optional<unsigned long long> NvmlLibrary::clock_reasons(Device device) const {
  // The function was renamed in 2023; drivers have one name or both.
  for (const char* name : {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"})
    if (const auto reasons = number<unsigned long long>(name, device)) return reasons;
  return std::nullopt;
}

std::optional<double> NvmlLibrary::joules(Device device) const {
  const auto millijoules = number<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device);
  return millijoules ? std::optional(1e-3 * static_cast<double>(*millijoules)) : std::nullopt;
}

}  // namespace pagoda::tools
