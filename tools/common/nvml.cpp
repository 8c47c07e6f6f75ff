// Clock reasons are bits of nvmlClocksEventReasons.
#include "nvml.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "disturbance.h"
#include "pagoda/base/statistics.h"
#include "system_files.h"

namespace pagoda::tools::ceilings {

std::uint32_t disturbances_of(unsigned long long reasons) {
  std::uint32_t result = 0;
  if (reasons & 0x4) result |= kPowerCap;           // software power cap
  if (reasons & (0x20 | 0x40)) result |= kThermal;  // software and hardware thermal slowdown
  if (reasons & (0x80)) result |= kHwSlowdown;      // external power brake
  // Hardware slowdown (0x8) is set together with its cause; without one it still counts as a slowdown.
  if ((reasons & 0x8) && !(reasons & (0x40 | 0x80))) result |= kHwSlowdown;
  return result;
}

Nvml::Nvml(const std::string& pci_bus_id, const std::string& library)
    : library_(library), device_(library_.device(pci_bus_id)), why_(library_.why()) {
  if (library_.is_ready() && !device_) why_ = "the management library does not know the device " + pci_bus_id;
}

std::optional<double> Nvml::watts() const { return number(1e-3, "nvmlDeviceGetPowerUsage"); }
std::optional<double> Nvml::limit_watts() const { return number(1e-3, "nvmlDeviceGetEnforcedPowerLimit"); }
std::optional<double> Nvml::sm_hz() const { return number(1e6, "nvmlDeviceGetClockInfo", 1); }
std::optional<double> Nvml::memory_hz() const { return number(1e6, "nvmlDeviceGetClockInfo", 2); }
std::optional<double> Nvml::celsius() const { return number(1, "nvmlDeviceGetTemperature", 0); }
std::optional<double> Nvml::joules() const { return library_.joules(device_); }

std::uint32_t Nvml::disturbances() const { return disturbances_of(library_.clock_reasons(device_).value_or(0)); }

std::string Nvml::driver() const { return device_ ? library_.text("nvmlSystemGetDriverVersion", nullptr) : ""; }

base::Settings Nvml::link() const {
  base::Settings result;
  for (const auto& [key, name] : {std::pair{"pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration"},
                                  std::pair{"pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"}}) {
    const auto value = library_.number(name, device_);
    result[key] = value ? base::Setting(std::int64_t{*value}) : std::monostate{};
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
  if (!watts.empty()) result.watts = base::median(watts);
  return result;
}

std::vector<TracePoint> NvmlTrace::points() {
  const std::lock_guard lock(state_->mutex);
  return state_->points;
}

}  // namespace pagoda::tools::ceilings
