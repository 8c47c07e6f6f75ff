// Checks what a machine offers to measurements, and what disturbs them: findings, each with its problem and remedy.
//
//   const std::vector<Finding> findings = examine({});       // this machine
//   std::cout << findings_text(findings);
//   examine({.root = "tests/machine", .nvml = "./fake.so"})  // another one, for tests
//
// Links no drivers or libraries: they are opened at run time, in a child process if they may crash without a driver.
// Changes nothing on the machine.
#pragma once

#include <cstddef>
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
  Warning,  // makes numbers noisy, or prevents some of them
  Problem,  // makes a measurement impossible
  Absent,   // not on this machine, or it cannot be queried
};
std::string_view to_string(State state);  // "good", "note", "warning", "problem", "absent"

// Whether a recommendation of the noise guide (docs/doctor.md) is followed.
enum class InForce : std::uint8_t { NotOfTheGuide, Yes, No, Unknown };

struct Finding {
  std::string id = {};     // "gpu.privilege": stable, for programs
  std::string title = {};  // "counters may be read"
  State state = State::Absent;
  std::string found = {};   // what was seen, and where: "RmProfilingAdminOnly: 1 in /proc/driver/nvidia/params"
  std::string wrong = {};   // empty if nothing is wrong
  std::string remedy = {};  // a command if there is one; empty if there is nothing to do
  InForce guide = InForce::NotOfTheGuide;

  void is(State now, std::string seen, std::string why = {}, std::string cure = {});
  // Good, or `bad` for the reason `why` with its remedy; a recommendation of the guide is in force where it is good.
  void judge(bool is_bad, State bad, std::string why, std::string cure);
};

// A row of the table of checks: `look` fills in a finding about a machine.
template <typename Machine>
struct Check {
  const char *id, *title;
  void (*look)(const Machine& machine, Finding& finding);
  InForce guide = InForce::NotOfTheGuide;  // before `look`
};
template <typename Machine, std::size_t N>
std::vector<Finding> findings_of(const Machine& machine, const Check<Machine> (&checks)[N]) {
  std::vector<Finding> findings;
  for (const Check<Machine>& check : checks)
    check.look(machine, findings.emplace_back(Finding{.id = check.id, .title = check.title, .guide = check.guide}));
  return findings;
}

struct Surroundings {
  std::string root = {};                              // prefix of /proc, /sys and /opt; empty: this machine
  std::string nvml = "libnvidia-ml.so.1";             // the management library
  std::string cuda = "libcuda.so.1";                  // the driver
  std::vector<std::string> cupti = {};                // candidates; empty: the usual places
  std::string python = "python3";                     // interpreter to ask for packages; empty: do not ask
  bool tries_compile = false;                         // compile a function with torch.compile, and run it
  std::string path = {};                              // PATH to search for programs; empty: the environment's
  double sample_seconds = 0.25;                       // how long steal time and throttling are observed
  std::optional<std::vector<int>> allowed_cpus = {};  // empty: those of this process
  std::optional<bool> is_administrator = {};          // empty: whether this process is
};

std::vector<Finding> examine(const Surroundings& surroundings);

// The parts, in the order of examine().
std::vector<Finding> examine_gpu(const Surroundings& surroundings);
std::vector<Finding> examine_software(const Surroundings& surroundings);
std::vector<Finding> examine_cpu(const Surroundings& surroundings);

const Finding* find(const std::vector<Finding>& findings, std::string_view id);

// One line per finding, with its problem and remedy below; then the noise guide: what is in force, what is not.
std::string findings_text(const std::vector<Finding>& findings);
// Schema pagoda.doctor/1.
std::string findings_json(const std::vector<Finding>& findings);

// Runs `ask` in a child process and returns its result; empty, with `why` set, if it crashed, timed out or returned
// nothing. Without a driver some CUPTI calls terminate the process.
std::string asked_in_child(const std::function<std::string()>& ask, std::string& why, double seconds = 20);

}  // namespace pagoda::tools::doctor
