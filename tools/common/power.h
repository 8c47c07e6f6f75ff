// Power sources other than NVML (nvml.h): energy counters of processors (RAPL), and the power rails of a Jetson module,
// which are sampled and integrated.
//
//   RailTrace rails;                                   // samples until it is destroyed
//   if (rails.available()) … trapezoid(rails.total_samples(), start, end);
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "system_files.h"

namespace pagoda::tools {

// The directory tree that PAGODA_POWER_ROOT names in place of /, as tests do; empty: /.
std::string power_root();
// Appended to the name of a source that reads such a tree.
std::string power_root_note();

// Energy counters of the CPU packages. Corrects one wraparound between calls.
class Rapl {
 public:
  explicit Rapl(const std::string& root = power_root());
  bool available() const { return !zones_.empty(); }
  double joules();  // since construction

 private:
  struct Zone {
    std::string path;
    double range = 0, last = 0, total = 0;
  };
  SystemFiles files_;
  std::vector<Zone> zones_;
};

// Power at one moment of the steady clock; NaN: it could not be read.
struct PowerSample {
  double seconds = 0, watts = std::numeric_limits<double>::quiet_NaN();
};

// ∫ P dt between two times: linear between samples, constant before the first and after the last. Empty if the samples
// do not cover the interval: a gap of more than a quarter of a second, or a sample that could not be read.
std::optional<double> trapezoid(std::span<const PowerSample> samples, double start, double end);

struct Rail {
  std::string name;
  double watts = 0;
};

std::vector<std::string> names_of(const std::vector<Rail>& rails);

// The rails in an output line of NVIDIA's tegrastats, each as now/mean: "VDD_IN 5081mW/5004mW", before JetPack 5
// "POM_5V_IN 1750/1628".
std::vector<Rail> parse_tegrastats(std::string_view line);

// The rails that add up to the power of a board. All other rails are parts of these.
struct RailTotal {
  std::string board, scope;        // "Jetson AGX Orin", "the module"
  std::vector<std::string> rails;  // empty: undocumented
};
RailTotal rail_total(std::span<const std::string> names);

// The channels of INA3221 monitors in the kernel's hwmon: V · A of each connected channel.
std::vector<Rail> read_ina3221(const SystemFiles& files);

// Samples the rails until destroyed: via hwmon if their total is known, else via tegrastats if possible.
class RailTrace {
 public:
  explicit RailTrace(const std::string& root = power_root());
  ~RailTrace();
  RailTrace(const RailTrace&) = delete;
  RailTrace& operator=(const RailTrace&) = delete;

  bool available() const { return !names_.empty(); }
  const std::vector<std::string>& names() const { return names_; }
  const RailTotal& total() const { return total_; }
  std::string source() const;  // the rails that are added up and their reader, or why there is no total

  std::vector<PowerSample> samples(std::string_view rail) const;
  std::vector<PowerSample> total_samples() const;  // empty without a known total
  // Energy of the total from the first sample to the latest, like a counter; NaN after a gap of more than a second.
  double joules() const;

 private:
  struct Tegrastats;
  struct Sample {
    double seconds = 0;
    std::vector<double> watts;  // by names_, then the total's
  };
  void start_tegrastats(const std::string& root);
  void sample();
  void add(const std::vector<Rail>& rails);
  std::vector<PowerSample> column(std::size_t index) const;

  SystemFiles files_;
  std::string reader_;
  std::vector<std::string> names_;
  RailTotal total_;
  std::unique_ptr<Tegrastats> tegrastats_;
  mutable std::mutex mutex_;
  std::vector<Sample> samples_;
  PowerSample last_;  // of the total
  double joules_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace pagoda::tools
