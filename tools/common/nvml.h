// One device of NVIDIA's management library: power, energy, clocks, temperature and the reasons for lowered clocks.
// Without the library only these facts are missing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nvml_library.h"
#include "pagoda/documents/ceilings.h"

namespace pagoda::tools::ceilings {

class Nvml {
 public:
  // `library` empty: the system's. Never throws: if it cannot be opened, available() is false and why() gives the
  // reason.
  explicit Nvml(const std::string& pci_bus_id, const std::string& library = "");

  bool available() const { return device_ != nullptr; }
  const std::string& why() const { return why_; }

  std::optional<double> watts() const, joules() const, sm_hz() const, memory_hz() const, celsius() const,
      limit_watts() const;
  std::uint32_t disturbances() const;  // current ones, as bits of disturbance.h
  std::string driver() const;
  base::Settings link() const;  // PCIe generation and width

 private:
  template <typename... Arguments>
  std::optional<double> number(double scale, const char* name, Arguments... arguments) const {
    const auto value = library_.number(name, device_, arguments...);
    return value ? std::optional(scale * *value) : std::nullopt;
  }
  NvmlLibrary library_;
  NvmlLibrary::Device device_ = nullptr;
  std::string why_;
};

// Converts the bits of nvmlClocksEventReasons that are disturbances: power cap, heat, hardware slowdown.
std::uint32_t disturbances_of(unsigned long long event_reasons);

// `seconds` is time of the steady clock; values that could not be read are 0.
struct TracePoint {
  double seconds = 0, watts = 0, sm_hz = 0, celsius = 0;
  std::uint32_t disturbances = 0;
};

// Reads the library 50 times a second until destroyed.
class NvmlTrace {
 public:
  explicit NvmlTrace(const Nvml& nvml);
  ~NvmlTrace();
  // Reasons seen and median watts since the last call.
  struct Since {
    std::uint32_t disturbances = 0;
    double watts = 0;
  };
  Since since_last();
  std::vector<TracePoint> points();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pagoda::tools::ceilings
