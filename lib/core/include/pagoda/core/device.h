// Devices: the peak rates of a machine, every number with its source.
//
//   DeviceSpec h100 = device("h100-sxm");
//   h100.peak(Precision::Bfloat16, Unit::Tensor)->flops_per_second.value;  // 9.894e14, dense
//   h100.level("dram")->bytes_per_second.source;                           // "NVIDIA H100 … whitepaper …: 3352 GB/s …"
//   DeviceSpec orin = device("orin-agx:30w");                              // a device in one of its power modes
//   DeviceSpec slow = device("orin-agx:gpu=918MHz,mem=2133MHz");           // at clocks of one's own
//   DeviceSpec here = load_device("ceilings.json");                        // as ert-ceilings measured it
//
// Built-in devices are the files of data/devices, compiled in. All rates are dense: structured sparsity never counts.
// A datasheet rate holds at the clock that its source names; a card that runs above that clock can exceed the rate by
// the ratio of the clocks. Values without a source are absent, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/core/precision.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// A number in SI units and where it comes from: a document, a derivation, a measurement or a stated assumption.
struct Quantity {
  std::optional<double> value;  // empty: not known; `source` then states the reason
  std::string source;

  bool known() const { return value.has_value(); }
  bool is_assumed() const { return source.starts_with("assumed"); }  // neither stated nor measured
};

enum class Unit : std::uint8_t {
  Vector,  // CUDA cores, stream processors, SIMD units of a CPU
  Tensor,  // tensor cores, matrix cores
};
std::string_view to_string(Unit unit);  // "vector", "tensor"

// Peak rate of one kind of arithmetic; a multiply-accumulate is two operations.
struct Peak {
  Precision precision = Precision::Float32;
  Unit unit = Unit::Vector;
  std::optional<Precision> accumulate;  // where the rate depends on the accumulator's format
  Quantity flops_per_second;
};

// One level of the memory hierarchy.
struct MemoryLevel {
  std::string level;          // "dram", "l3", "l2", "l1", "shared"
  Quantity bytes_per_second;  // of the whole device
  Quantity capacity_bytes;
  bool per_unit = false;  // the capacity is per SM, compute unit or core
};

// A connection to other devices or to the host.
struct Link {
  std::string name;           // "nvlink", "infinity-fabric", "nvlink-c2c", "pcie"
  Quantity bytes_per_second;  // in one direction, over all lanes of the device
  std::int64_t devices = 0;   // most devices it joins: 2 for a two-board bridge; 0: not stated
  std::string sums_source;    // source for summation in its switches (NVLink SHARP); empty: not stated
};

// Energy cost of work, traffic and time at the clocks of a device or of one of its power modes (energy.h).
struct DeviceEnergy {
  struct Work {
    Precision precision = Precision::Float32;
    Quantity joules_per_flop;
  };
  std::vector<Work> work;    // by precision
  Quantity joules_per_byte;  // of memory
  Quantity constant_watts;   // drawn while anything runs
};

// A configuration of units and clocks that limits power.
struct PowerMode {
  std::string id;
  Quantity units, clock_hz, dram_bytes_per_second, watts;
  std::optional<DeviceEnergy> energy = std::nullopt;
};

struct DeviceSpec {
  std::string id, name, vendor;
  std::string kind;  // "gpu", "cpu", "npu"; empty where a ceilings file does not say
  std::string architecture;
  std::string compute_capability;  // of CUDA devices: "9.0"
  bool measured = false;           // read from a ceilings file
  Quantity units;                  // SMs, compute units, cores
  Quantity boost_clock_hz;
  Quantity tensor_clock_hz;          // at which the tensor peaks are stated, if different
  Quantity memory_clock_hz;          // at which the bandwidth of memory is stated
  Quantity watts;                    // thermal design power
  // Float16 on tensor units for each joule, of the largest data-centre board of its generation, at its stated power.
  Quantity flagship_flops_per_joule;
  Quantity launch_overhead_seconds;  // from one kernel launch to the next when the kernels do nothing
  Quantity special_per_second;       // exp, log, sin, rsqrt … on special-function units
  std::vector<Peak> peaks;           // by precision, unit, accumulator
  std::vector<MemoryLevel> levels;   // from DRAM inwards
  std::vector<Link> links;
  std::vector<PowerMode> power_modes;
  std::optional<DeviceEnergy> energy;  // at these clocks; empty: not known
  std::string power_mode;              // the one this spec is in; empty: as the vendor states the peaks
  std::vector<Precision> lacks;        // formats it is known not to support
  std::vector<std::string> notes;      // parts of a ceilings file that could not be used, and why
  // Numbers in use that are uncertain: "contended: float32 vector peak".
  std::vector<std::string> cautions;
  // Other names: as its driver prints it, "NVIDIA H200"; short ones that could mean several devices, "h100".
  std::vector<std::string> driver_names, aliases;

  // The fastest peak of a kind; null when there is none. `accumulate` requires that accumulator; peaks that do not name
  // one always match.
  const Peak* peak(Precision precision, Unit unit, std::optional<Precision> accumulate = std::nullopt) const;
  // Capacity of the outermost memory; empty: not known.
  std::optional<Int> memory_bytes() const;
  const MemoryLevel* level(std::string_view wanted) const;  // null when there is none
};

// No such device, power mode or clock. what() lists the known ones.
class UnknownDevice : public Error {
 public:
  using Error::Error;
};

// The device with the units, clocks, bandwidth and power of one of its modes: peaks and on-chip rates scale with units
// × clock. Energy constants are those of the mode; if it states none, the device's are kept only when no rate changes.
// Throws UnknownDevice.
DeviceSpec in_power_mode(const DeviceSpec& spec, std::string_view mode);

// The device at other clocks, units or both: "gpu=918MHz,mem=2133MHz", "gpu=624.75MHz,units=8". Peaks and on-chip rates
// scale with units × gpu clock, memory bandwidth with the memory clock; omitted ones stay. Energy constants are dropped
// when a rate changes: they hold only at the clocks of their fit. Throws UnknownDevice for a text without clocks, and
// Error where the device does not state the clock of its rates.
DeviceSpec at_clocks(const DeviceSpec& spec, std::string_view clocks);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
