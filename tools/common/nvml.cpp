// Names and numbers are those of nvml.h; reasons of the clock: bits of nvmlClocksEventReasons.
#include "nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "disturbance.h"
#include "pagoda/base/statistics.h"

namespace ceilings {
namespace {

template <typename Function>
Function symbol(void* library, const char* name) {
  return library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::uint32_t disturbances_of(unsigned long long reasons) {
  std::uint32_t result = 0;
  if (reasons & 0x4) result |= kPowerCap;           // software power cap
  if (reasons & (0x20 | 0x40)) result |= kThermal;  // software and hardware thermal slowdown
  if (reasons & (0x80)) result |= kHwSlowdown;      // external power brake
  // Hardware slowdown (0x8) is set beside its cause; alone it still is one.
  if ((reasons & 0x8) && !(reasons & (0x40 | 0x80))) result |= kHwSlowdown;
  return result;
}

Nvml::Nvml(const std::string& pci_bus_id, const std::string& library) {
  const std::string name = library.empty() ? "libnvidia-ml.so.1" : library;
  library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) {
    why_ = name + " cannot be opened";
    return;
  }
  const auto init = symbol<int (*)()>(library_, "nvmlInit_v2");
  const auto by_bus = symbol<int (*)(const char*, void**)>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  if (!init || !by_bus || init() != 0 || by_bus(pci_bus_id.c_str(), &device_) != 0) {
    device_ = nullptr;
    why_ = name + " does not know the device " + pci_bus_id;
  }
}

Nvml::~Nvml() {
  if (const auto shutdown = symbol<int (*)()>(library_, "nvmlShutdown"); shutdown && device_) shutdown();
}

std::optional<double> Nvml::number(const char* name, double scale, int argument) const {
  if (!device_) return std::nullopt;
  if (argument >= 0) {
    unsigned value = 0;
    const auto f = symbol<int (*)(void*, int, unsigned*)>(library_, name);
    if (!f || f(device_, argument, &value) != 0) return std::nullopt;
    return scale * value;
  }
  unsigned value = 0;
  const auto f = symbol<int (*)(void*, unsigned*)>(library_, name);
  if (!f || f(device_, &value) != 0) return std::nullopt;
  return scale * value;
}

std::optional<double> Nvml::watts() const { return number("nvmlDeviceGetPowerUsage", 1e-3); }
std::optional<double> Nvml::limit_watts() const { return number("nvmlDeviceGetEnforcedPowerLimit", 1e-3); }
std::optional<double> Nvml::sm_hz() const { return number("nvmlDeviceGetClockInfo", 1e6, 1); }
std::optional<double> Nvml::memory_hz() const { return number("nvmlDeviceGetClockInfo", 1e6, 2); }
std::optional<double> Nvml::celsius() const { return number("nvmlDeviceGetTemperature", 1, 0); }

std::optional<double> Nvml::joules() const {
  unsigned long long millijoules = 0;
  const auto f = symbol<int (*)(void*, unsigned long long*)>(library_, "nvmlDeviceGetTotalEnergyConsumption");
  if (!device_ || !f || f(device_, &millijoules) != 0) return std::nullopt;
  return 1e-3 * static_cast<double>(millijoules);
}

std::uint32_t Nvml::disturbances() const {
  if (!device_) return 0;
  unsigned long long reasons = 0;
  // Renamed in 2023; drivers have one or both.
  for (const char* name : {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"})
    if (const auto f = symbol<int (*)(void*, unsigned long long*)>(library_, name); f && f(device_, &reasons) == 0)
      return disturbances_of(reasons);
  return 0;
}

std::string Nvml::driver() const {
  char text[96] = {};
  const auto f = symbol<int (*)(char*, unsigned)>(library_, "nvmlSystemGetDriverVersion");
  return device_ && f && f(text, sizeof text - 1) == 0 ? text : "";
}

pagoda::base::Settings Nvml::link() const {
  pagoda::base::Settings result;
  for (const auto& [key, name] : {std::pair{"pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration"},
                                  std::pair{"pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"}}) {
    if (const auto value = number(name, 1))
      result[key] = static_cast<std::int64_t>(*value);
    else
      result[key] = std::monostate{};
  }
  return result;
}

struct NvmlTrace::State {
  explicit State(const Nvml& source) : nvml(source) {}
  const Nvml& nvml;
  std::mutex mutex;
  std::vector<TracePoint> points;
  std::size_t seen = 0;
  std::atomic<bool> stop{false};
  std::thread thread;
};

NvmlTrace::NvmlTrace(const Nvml& nvml) : state_(std::make_unique<State>(nvml)) {
  if (!nvml.available()) return;
  state_->thread = std::thread([s = state_.get()] {
    while (!s->stop) {
      const TracePoint point{steady_seconds(), s->nvml.watts().value_or(0), s->nvml.sm_hz().value_or(0),
                             s->nvml.celsius().value_or(0), s->nvml.disturbances()};
      {
        const std::lock_guard lock(s->mutex);
        s->points.push_back(point);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
}

NvmlTrace::~NvmlTrace() {
  state_->stop = true;
  if (state_->thread.joinable()) state_->thread.join();
}

NvmlTrace::Since NvmlTrace::since_last() {
  Since result;
  std::vector<double> watts;
  const std::lock_guard lock(state_->mutex);
  for (; state_->seen < state_->points.size(); ++state_->seen) {
    result.disturbances |= state_->points[state_->seen].disturbances;
    if (state_->points[state_->seen].watts > 0) watts.push_back(state_->points[state_->seen].watts);
  }
  if (!watts.empty()) result.watts = pagoda::base::median(watts);
  return result;
}

std::vector<TracePoint> NvmlTrace::points() {
  const std::lock_guard lock(state_->mutex);
  return state_->points;
}

}  // namespace ceilings
