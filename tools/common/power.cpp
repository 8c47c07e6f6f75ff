// Power rails of boards, and a thread that reads them.
#include "power.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "pagoda/base/number.h"
#include "pagoda/base/process.h"
#include "pagoda/base/text.h"

namespace pagoda::tools {
namespace {

constexpr double kLargestGap = 0.25;
constexpr double kLongestBridge = 1;  // seconds; longest gap in joules(): a load on all cores may delay samples
// Reading all channels over I2C takes a few milliseconds.
constexpr std::chrono::milliseconds kHwmonPeriod(20);
constexpr int kTegrastatsMilliseconds = 100;

double at(const PowerSample& a, const PowerSample& b, double seconds) {
  return b.seconds > a.seconds ? a.watts + (b.watts - a.watts) * (seconds - a.seconds) / (b.seconds - a.seconds)
                               : a.watts;
}

struct BoardRow {
  std::string_view board, scope;
  std::array<std::string_view, 6> rails;
};

// Boards by their rails. Power that two rails measure must not be added twice.
// clang-format off
constexpr BoardRow kBoards[] = {
    // board                            scope                        rails that add up
    // Jetson Linux Developer Guide r36.4.3, "Software-Based Power Consumption Modeling": VDDQ_VDD2_1V8AO (memory) is
    // also included in VIN_SYS_5V0. GPU, SOC, CPU and CV are supplied from the other input of the module, SYS_VIN_HV
    // (data sheet DS-10662-001).
    {"Jetson AGX Orin",                 "the module",                {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"}},
    // VDD_IN is the only main supply of these modules (design guides, chapter Power, such as DG-10141-001 of TX2 NX) and
    // includes the other rails: forums.developer.nvidia.com/t/200883 (NVIDIA: "VDD_IN is the total power of module").
    {"Jetson with VDD_IN",              "the module",                {"VDD_IN"}},
    // forums.developer.nvidia.com/t/73608 (NVIDIA): POM_5V_IN is the whole 5 V input; GPU and CPU are parts of it.
    {"Jetson Nano",                     "the module",                {"POM_5V_IN"}},
    // Design guide DG-09840-001, figure 5-14: six monitors, each at the input of one regulator; five are fed by SYS_VIN_HV,
    // SYS5V by SYS_VIN_MV (table 5-2: VDDRQ's regulator by SYS_VIN_HV).
    {"Jetson AGX Xavier",               "the module",                {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"}},
    // forums.developer.nvidia.com/t/366461 (NVIDIA): the INA238 at VIN measures Jetson and carrier board.
    {"Jetson AGX Thor",                 "module and carrier board",  {"VIN"}},
};
// clang-format on

// "1234mW/1200mW" or "1234/1200" → 1234.
std::optional<double> milliwatts(std::string_view word) {
  std::vector<std::int64_t> powers;
  for (std::string part : base::split(word, "/")) {
    if (part.ends_with("mW")) part.resize(part.size() - 2);
    const auto power = base::parse_number<std::int64_t>(part);
    if (!power) return std::nullopt;
    powers.push_back(*power);
  }
  return powers.size() == 2 ? std::optional(static_cast<double>(powers.front())) : std::nullopt;
}

}  // namespace

std::vector<std::string> names_of(const std::vector<Rail>& rails) {
  std::vector<std::string> names;
  names.reserve(rails.size());
  for (const Rail& rail : rails) names.push_back(rail.name);
  return names;
}

std::string power_root() {
  const char* named = std::getenv("PAGODA_POWER_ROOT");
  return named ? named : "";
}

std::string power_root_note() {
  const std::string root = power_root();
  return root.empty() ? "" : ", of the tree PAGODA_POWER_ROOT=" + root;
}

Rapl::Rapl(const std::string& root) : files_(root) {
  const std::string folder = "/sys/class/powercap/";
  for (const std::string& name : files_.names(folder)) {
    // Packages only ("intel-rapl:0", also on AMD): they include their parts ("intel-rapl:0:0").
    if (std::ranges::count(name, ':') != 1) continue;
    const std::string zone = folder + name;
    if (!files_.text(zone + "/name").value_or("").starts_with("package")) continue;
    const auto now = files_.number(zone + "/energy_uj"), range = files_.number(zone + "/max_energy_range_uj");
    if (now && range)
      zones_.push_back({zone + "/energy_uj", static_cast<double>(*range), static_cast<double>(*now), 0});
  }
}

double Rapl::joules() {
  double total = 0;
  for (Zone& zone : zones_) {
    if (const auto now = files_.number(zone.path)) {
      const double value = static_cast<double>(*now);
      zone.total += value >= zone.last ? value - zone.last : value + zone.range - zone.last;
      zone.last = value;
    }
    total += zone.total;
  }
  return total * 1e-6;
}

std::optional<double> trapezoid(std::span<const PowerSample> samples, double start, double end) {
  if (samples.empty() || end <= start || samples.front().seconds > start + kLargestGap ||
      samples.back().seconds < end - kLargestGap)
    return std::nullopt;
  double joules = 0;
  // Constant before the first sample and after the last.
  if (samples.front().seconds > start)
    joules += samples.front().watts * (std::min(end, samples.front().seconds) - start);
  if (samples.back().seconds < end) joules += samples.back().watts * (end - std::max(start, samples.back().seconds));
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    const PowerSample &a = samples[i], &b = samples[i + 1];
    const double from = std::max(start, a.seconds), to = std::min(end, b.seconds);
    if (to <= from) continue;
    if (b.seconds - a.seconds > kLargestGap) return std::nullopt;
    joules += (at(a, b, from) + at(a, b, to)) / 2 * (to - from);
  }
  return std::isnan(joules) ? std::nullopt : std::optional(joules);
}

std::vector<Rail> parse_tegrastats(std::string_view line) {
  const std::vector<std::string> parts = words(line);
  std::vector<Rail> rails;
  // A rail is a name before two powers. "RAM 1923/3964MB" and "cpu@45C" are not rails; "NC" is not connected.
  for (std::size_t i = 0; i + 1 < parts.size(); ++i)
    if (const auto value = milliwatts(parts[i + 1]);
        value && parts[i] != "NC" && parts[i].find_first_of("@%[(/") == std::string::npos)
      rails.push_back({parts[i], 1e-3 * *value});
  return rails;
}

RailTotal rail_total(std::span<const std::string> names) {
  for (const BoardRow& row : kBoards) {
    RailTotal total{std::string(row.board), std::string(row.scope), {}};
    for (const std::string_view rail : row.rails)
      if (!rail.empty()) total.rails.emplace_back(rail);
    if (std::ranges::all_of(total.rails,
                            [&](const std::string& rail) { return std::ranges::find(names, rail) != names.end(); }))
      return total;
  }
  return {};
}

std::vector<Rail> read_ina3221(const SystemFiles& files) {
  std::vector<Rail> rails;
  for (const std::string& monitor : files.names("/sys/class/hwmon")) {
    const std::string folder = "/sys/class/hwmon/" + monitor;
    if (files.text(folder + "/name") != "ina3221") continue;
    // Only real channels: 4 and 7 are sums of currents and of shunts.
    for (const char* channel : {"1", "2", "3"}) {
      const auto name = files.text(folder + "/in" + channel + "_label");
      const auto millivolts = files.real(folder + "/in" + channel + "_input"),
                 milliamperes = files.real(folder + "/curr" + channel + "_input");
      if (name && !name->empty() && *name != "NC" && millivolts && milliamperes)
        rails.push_back({*name, 1e-6 * *millivolts * *milliamperes});
    }
  }
  return rails;
}

// A running tegrastats process.
struct RailTrace::Tegrastats {
  explicit Tegrastats(const std::string& program)
      : child({program, "--interval", std::to_string(kTegrastatsMilliseconds)},
              {.in = base::Stream::Null, .out = base::Stream::Pipe, .err = base::Stream::Null, .is_group = true}),
        from(child.take_out()) {}
  ~Tegrastats() { ::close(from); }

  // The rails in the next line, waiting at most `milliseconds`; empty: none.
  std::vector<Rail> next(int milliseconds) {
    for (;;) {
      if (const std::size_t end = buffer.find('\n'); end != std::string::npos) {
        const std::vector<Rail> rails = parse_tegrastats(std::string_view(buffer).substr(0, end));
        buffer.erase(0, end + 1);
        return rails;
      }
      pollfd ready{from, POLLIN, 0};
      char bytes[4096];
      if (is_over || ::poll(&ready, 1, milliseconds) <= 0) return {};
      const ssize_t got = ::read(from, bytes, sizeof bytes);
      is_over = got <= 0;
      if (!is_over) buffer.append(bytes, static_cast<std::size_t>(got));
    }
  }

  base::ChildProcess child;
  int from;
  bool is_over = false;
  std::string buffer;
};

RailTrace::RailTrace(const std::string& root)
    : files_(root), reader_("INA3221 by hwmon"), names_(names_of(read_ina3221(files_))), total_(rail_total(names_)) {
  if (total_.rails.empty()) start_tegrastats(root);
  if (!names_.empty()) thread_ = std::thread([this] { sample(); });
}

RailTrace::~RailTrace() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void RailTrace::start_tegrastats(const std::string& root) {
  const std::string program = program_file("tegrastats", root.empty() ? "" : root + "/usr/bin");
  if (program.empty()) return;
  try {
    auto started = std::make_unique<Tegrastats>(program);
    const std::vector<std::string> names = names_of(started->next(2000));
    const RailTotal total = rail_total(names);
    if (names.empty() || (total.rails.empty() && !names_.empty())) return;
    tegrastats_ = std::move(started);
    reader_ = "tegrastats";
    names_ = names;
    total_ = total;
  } catch (const base::CannotStart&) {
    // Treat it as not installed.
  }
}

void RailTrace::sample() {
  while (!stop_) {
    if (!tegrastats_) {
      add(read_ina3221(files_));
      std::this_thread::sleep_for(kHwmonPeriod);
    } else if (const std::vector<Rail> rails = tegrastats_->next(kTegrastatsMilliseconds); !rails.empty()) {
      add(rails);
    } else if (tegrastats_->is_over) {
      return;
    }
  }
}

void RailTrace::add(const std::vector<Rail>& rails) {
  const auto watts_of = [&](const std::string& name) {
    const auto found = std::ranges::find(rails, name, &Rail::name);
    return found == rails.end() ? std::nan("") : found->watts;
  };
  PowerSample now{steady_seconds(), total_.rails.empty() ? std::nan("") : 0};
  for (const std::string& rail : total_.rails) now.watts += watts_of(rail);
  Sample sample{now.seconds, {}};
  for (const std::string& name : names_) sample.watts.push_back(watts_of(name));
  sample.watts.push_back(now.watts);
  const std::lock_guard lock(mutex_);
  if (!std::isnan(now.watts)) {
    // Bridge failed readings, but not gaps longer than kLongestBridge.
    if (!std::isnan(last_.watts))
      joules_ += now.seconds - last_.seconds > kLongestBridge
                     ? std::nan("")
                     : (last_.watts + now.watts) / 2 * (now.seconds - last_.seconds);
    last_ = now;
  }
  samples_.push_back(std::move(sample));
}

std::vector<PowerSample> RailTrace::column(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  std::vector<PowerSample> result;
  result.reserve(samples_.size());
  for (const Sample& sample : samples_) result.push_back({sample.seconds, sample.watts[index]});
  return result;
}

std::vector<PowerSample> RailTrace::samples(std::string_view rail) const {
  const auto found = std::ranges::find(names_, rail);
  if (found == names_.end()) return {};
  return column(static_cast<std::size_t>(found - names_.begin()));
}

std::vector<PowerSample> RailTrace::total_samples() const {
  if (total_.rails.empty()) return {};
  return column(names_.size());
}

double RailTrace::joules() const {
  const std::lock_guard lock(mutex_);
  return joules_;
}

std::string RailTrace::source() const {
  if (total_.rails.empty())
    return "none: no documentation says which rails of this board add up (" + base::joined(names_, ", ") + ")";
  return "power of " + total_.scope + " (" + base::joined(total_.rails, " + ") + ", " + reader_ + ")" +
         power_root_note();
}

}  // namespace pagoda::tools
