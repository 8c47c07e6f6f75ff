// What a machine offers to measurements, and what disturbs them: findings, each with what is wrong and how to mend it.
//
//   const std::vector<Finding> findings = examine({});       // this machine
//   std::cout << findings_text(findings);
//   examine({.root = "tests/machine", .nvml = "./fake.so"})  // another one, for tests
//
// Nothing is linked: drivers and libraries are opened at run time, those that may crash without a driver in a child.
// Nothing is changed on the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pagoda::tools::doctor {

enum class State : std::uint8_t {
  Good,     // as measurements want it
  Note,     // worth knowing; neither good nor bad
  Warning,  // makes numbers noisy or leaves something out
  Problem,  // makes a measurement impossible
  Absent,   // not on this machine, or it cannot be asked
};
std::string_view to_string(State state);  // "good", "note", "warning", "problem", "absent"

// Whether an advice of the noise guide (docs/doctor.md) is followed.
enum class InForce : std::uint8_t { NotOfTheGuide, Yes, No, Unknown };

struct Finding {
  std::string id = {};     // "gpu.privilege": stable, for programs
  std::string title = {};  // "counters may be read"
  State state = State::Absent;
  std::string found = {};   // what was seen, with where: "RmProfilingAdminOnly: 1 in /proc/driver/nvidia/params"
  std::string wrong = {};   // empty where nothing is
  std::string remedy = {};  // a command where there is one; empty where nothing is wrong
  InForce guide = InForce::NotOfTheGuide;
};

struct Surroundings {
  std::string root = {};                              // before /proc, /sys and /opt; empty: this machine
  std::string nvml = "libnvidia-ml.so.1";             // the management library
  std::string cuda = "libcuda.so.1";                  // the driver
  std::vector<std::string> cupti = {};                // candidates; empty: the usual places
  std::string python = "python3";                     // who is asked for packages; empty: nobody
  bool tries_compile = false;                         // compile a function by torch.compile, and run it
  std::string path = {};                              // PATH to look for programs in; empty: the environment's
  double sample_seconds = 0.25;                       // over which steal time and throttling are watched
  std::optional<std::vector<int>> allowed_cpus = {};  // empty: of this process
  std::optional<bool> is_administrator = {};          // empty: of this process
};

std::vector<Finding> examine(const Surroundings& surroundings);

// The parts, in the order of examine().
std::vector<Finding> examine_gpu(const Surroundings& surroundings);
std::vector<Finding> examine_software(const Surroundings& surroundings);
std::vector<Finding> examine_cpu(const Surroundings& surroundings);

const Finding* find(const std::vector<Finding>& findings, std::string_view id);

// One line a finding with what is wrong and its remedy below, then the noise guide: what is in force, what is not.
std::string findings_text(const std::vector<Finding>& findings);
// Schema pagoda.doctor/1.
std::string findings_json(const std::vector<Finding>& findings);

// Runs `ask` in a child process and returns what it returned; empty where it crashed, did not return in time or said
// nothing, with `why` set. Without a driver some calls of CUPTI end the process.
std::string asked_in_child(const std::function<std::string()>& ask, std::string& why, double seconds = 20);

}  // namespace pagoda::tools::doctor
