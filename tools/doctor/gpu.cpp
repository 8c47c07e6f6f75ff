// GPU checks: driver, devices, clocks, ECC, MIG, other users of the counters, and whether this process may read them.
// Constants come from nvml.h and cuda.h.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "cuda_driver.h"
#include "doctor.h"
#include "nvml_library.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/process.h"
#include "system_files.h"

namespace pagoda::tools::doctor {
namespace {

using Nvml = NvmlLibrary;

struct GpuMachine {
  const Surroundings& surroundings;
  SystemFiles files;
  Nvml nvml;
  std::vector<Nvml::Device> devices = nvml.devices();

  std::string named(std::size_t index) const { return devices.size() > 1 ? cat("GPU ", index, ": ") : ""; }
  std::string silence(const char* without) const { return devices.empty() ? "no GPU to ask" : without; }
};

void append(std::string& text, std::string_view more) { (text += text.empty() ? "" : "; ") += more; }

// Adds the answers of the GPUs; `ask` returns "" for a GPU that does not answer. Good if one answers.
template <typename Ask>
void ask_each(const GpuMachine& on, Finding& finding, const Ask& ask) {
  for (std::size_t i = 0; i < on.devices.size(); ++i)
    if (const std::string answer = ask(on.devices[i]); !answer.empty()) {
      append(finding.found, on.named(i) + answer);
      finding.state = State::Good;
    }
}

std::string on_off(unsigned value) { return value != 0 ? "on" : "off"; }

// Lists each GPU's mode; `query` returns the current and the pending one. True if the mode is on at any GPU.
bool ask_mode(const GpuMachine& on, Finding& finding, const char* query) {
  bool is_on = false;
  ask_each(on, finding, [&](Nvml::Device device) {
    const auto mode = on.nvml.pair(query, device);
    is_on = is_on || (mode && (*mode)[0] != 0);
    return mode ? on_off((*mode)[0]) : "";
  });
  return is_on;
}

bool has_nvidia_hardware(const SystemFiles& files) {
  const std::string folder = "/sys/bus/pci/devices/";
  return std::ranges::any_of(files.names(folder), [&](const std::string& name) {
    return files.text(folder + name + "/vendor").value_or("") == "0x10de" &&
           files.text(folder + name + "/class").value_or("").starts_with("0x03");  // display, 3D
  });
}

void driver(const GpuMachine& on, Finding& finding) {
  const std::string version = on.nvml.is_ready() ? on.nvml.text("nvmlSystemGetDriverVersion", nullptr) : "";
  const std::optional<std::string> module = on.files.text("/proc/driver/nvidia/version");
  if (!version.empty() || module) {
    std::string found = !version.empty() ? "version " + version : module->substr(0, module->find('\n'));
    if (on.nvml.is_ready()) return finding.is(State::Good, std::move(found));
    return finding.is(State::Warning, std::move(found), on.nvml.why() + ": clocks, power and energy are unknown",
                      "install the driver's libraries of the same version as its module (libnvidia-ml.so.1); "
                      "containers: start with --gpus all");
  }
  const std::string missing = cat("no /proc/driver/nvidia/version, ", on.nvml.why());
  if (!has_nvidia_hardware(on.files))
    return finding.is(State::Absent, missing + ", and no NVIDIA device on the PCI bus");
  finding.is(State::Problem, missing + ", and an NVIDIA device on the PCI bus", "the driver's module is not loaded",
             "install the driver, or modprobe nvidia (as root); containers: start with --gpus all");
}

void devices(const GpuMachine& on, Finding& finding) {
  if (!on.devices.empty()) {
    for (const Nvml::Device device : on.devices) append(finding.found, on.nvml.text("nvmlDeviceGetName", device));
    finding.state = State::Good;
  } else if (on.nvml.is_ready()) {
    finding.is(State::Problem, "the management library finds none", "the driver is there, and no device with it",
               "dmesg | grep -i nvrm says why; containers: start with --gpus all, and see NVIDIA_VISIBLE_DEVICES");
  } else {
    finding.found = "none";
  }
}

void cuda(const GpuMachine& on, Finding& finding) {
  const std::string& name = on.surroundings.cuda;
  std::string why;
  const std::string answer = asked_in_child(
      [&]() -> std::string {
        const DynamicLibrary library(cuda_places(name));
        if (!library) return "none";
        const CudaDriver driver(library);
        if (!driver.init) return "error -1";
        if (const int code = driver.init(0); code != 0) return cat("error ", code);
        int version = 0;
        if (driver.version) driver.version(&version);
        return cat("version ", version / 1000, ".", version % 1000 / 10);
      },
      why);
  if (answer.starts_with("version")) return finding.is(State::Good, cat("CUDA ", answer.substr(8), " by ", name));
  if (answer == "none") return finding.is(State::Absent, name + " cannot be opened");
  if (answer.empty())
    return finding.is(State::Problem, "cuInit " + why, "the driver's library does not fit its module",
                      "install both from one version of the driver");
  const CudaError& error = cuda_error(base::parse_number<int>(answer.substr(answer.find(' ') + 1)).value_or(-1));
  finding.is(State::Problem, "cuInit says " + answer, error.found, error.remedy);
}

// CAP_SYS_ADMIN is bit 21 of the effective set.
bool is_administrator(const Surroundings& surroundings, const SystemFiles& files) {
  if (surroundings.is_administrator) return *surroundings.is_administrator;
  const auto set = files.field("/proc/self/status", "CapEff");
  std::uint64_t bits = 0;
  if (set) std::from_chars(set->data(), set->data() + set->size(), bits, 16);
  return (bits >> 21 & 1) != 0;
}

void privilege(const GpuMachine& on, Finding& finding) {
  const std::optional<std::string> parameters = on.files.text("/proc/driver/nvidia/params");
  if (!parameters) return finding.is(State::Absent, "no /proc/driver/nvidia/params");
  const bool is_admin = is_administrator(on.surroundings, on.files);
  const std::string value = field(*parameters, "RmProfilingAdminOnly").value_or("");
  finding.found = cat(value.empty() ? "no RmProfilingAdminOnly" : "RmProfilingAdminOnly: ", value,
                      " in /proc/driver/nvidia/params; this process ", is_admin ? "has" : "has not", " CAP_SYS_ADMIN");
  finding.judge(value != "0" && !is_admin, State::Problem,
                "the driver lets only administrators read counters (ERR_NVGPUCTRPERM); times can be taken without",
                "run as root (containers: --cap-add=SYS_ADMIN), or for everybody: echo 'options nvidia "
                "NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf, then load the "
                "module again (as root)");
}

constexpr int kGraphics = 0, kSm = 1;           // nvmlClockType_t
constexpr int kAppTarget = 1, kAppDefault = 2;  // nvmlClockId_t

// Reasons that currently limit the clock, as bits of nvmlClocksEventReasons.
struct Reason {
  unsigned long long bit;
  std::string_view text;
  bool is_bad;
};
constexpr std::array<Reason, 9> kReasons = {{
    {0x1, "idle", false},
    {0x2, "application clocks", false},
    {0x4, "power cap", true},
    {0x8, "hardware slowdown", true},
    {0x10, "sync boost", false},
    {0x20, "thermal slowdown by software", true},
    {0x40, "thermal slowdown by hardware", true},
    {0x80, "power brake", true},
    {0x100, "display clocks", false},
}};

void clocks(const GpuMachine& on, Finding& finding) {
  finding.guide = InForce::NotOfTheGuide;
  if (on.devices.empty()) return finding.is(State::Absent, "no GPU to ask");
  bool is_held = true, is_known = false, is_slowed = false;
  ask_each(on, finding, [&](Nvml::Device device) {
    const auto now = on.nvml.number("nvmlDeviceGetClockInfo", device, kSm),
               most = on.nvml.number("nvmlDeviceGetMaxClockInfo", device, kSm),
               target = on.nvml.number("nvmlDeviceGetClock", device, kGraphics, kAppTarget),
               usual = on.nvml.number("nvmlDeviceGetClock", device, kGraphics, kAppDefault);
    const auto reasons = on.nvml.clock_reasons(device);
    std::string text = now ? cat("SM at ", *now, " MHz") : "SM clock unknown";
    if (most) text += cat(" of at most ", *most);
    if (target && usual) text += cat(", application clock ", *target, *target == *usual ? " (default)" : " (set)");
    std::string because;
    for (const Reason& reason : kReasons)
      if (reasons && (*reasons & reason.bit) != 0) {
        (because += because.empty() ? ", limited by " : ", ") += reason.text;
        is_slowed = is_slowed || reason.is_bad;
      }
    is_known = is_known || reasons || (target && usual);
    is_held = is_held && ((reasons && (*reasons & 0x2) != 0) || (target && usual && *target != *usual));
    return text + because;
  });
  finding.guide = !is_known ? InForce::Unknown : is_held ? InForce::Yes : InForce::No;
  if (is_slowed)
    finding.is(State::Warning, finding.found, "the GPU runs slower than it is set to right now",
               "let it cool, raise its power limit (nvidia-smi -pl WATTS), then measure again");
  else if (!is_held)
    finding.is(State::Note, finding.found, "clocks follow load and temperature; comparisons between runs drift",
               "nvidia-smi -lgc MHZ,MHZ below the boost clock (as root), and nvidia-smi -rgc afterwards; NVML does "
               "not tell a lock by itself, so this is judged by the application clock and the reasons of the limit");
  else if (!is_known)
    finding.state = State::Note;
}

void autoboost(const GpuMachine& on, Finding& finding) {
  const bool is_on = ask_mode(on, finding, "nvmlDeviceGetAutoBoostedClocksEnabled");
  if (finding.state == State::Absent) {
    finding.guide = InForce::NotOfTheGuide;
    finding.found = on.silence("these GPUs have no such switch (Pascal and later); see locked clocks");
  } else {
    finding.judge(is_on, State::Warning, "the GPU raises its clock by itself",
                  "nvidia-smi --auto-boost-default=0 (as root)");
  }
}

void persistence(const GpuMachine& on, Finding& finding) {
  bool is_off = false;
  ask_each(on, finding, [&](Nvml::Device device) {
    const auto mode = on.nvml.number("nvmlDeviceGetPersistenceMode", device);
    is_off = is_off || (mode && *mode == 0);
    return mode ? on_off(*mode) : "";
  });
  if (finding.found.empty()) finding.found = "not reported";
  if (is_off)
    finding.judge(true, State::Note,
                  "the driver unloads its state when nothing runs: the first call takes seconds, settings are lost",
                  "nvidia-smi -pm 1 (as root)");
}

void ecc(const GpuMachine& on, Finding& finding) {
  bool changes = false;
  ask_each(on, finding, [&](Nvml::Device device) -> std::string {
    const auto mode = on.nvml.pair("nvmlDeviceGetEccMode", device);
    if (!mode) return "";
    const auto [now, pending] = *mode;
    changes = changes || now != pending;
    return on_off(now) + (now == pending ? "" : cat("; ", on_off(pending), " after a reset"));
  });
  if (finding.found.empty()) finding.found = on.silence("these GPUs do not tell");
  if (changes)
    finding.judge(true, State::Note,
                  "the setting changes with the next reset; on GDDR memory bandwidth changes with it by about a tenth",
                  "reset the GPU before measuring what is to be compared later (nvidia-smi -r, as root)");
}

void mig(const GpuMachine& on, Finding& finding) {
  const bool is_on = ask_mode(on, finding, "nvmlDeviceGetMigMode");
  if (finding.found.empty()) finding.found = on.silence("these GPUs have none");
  if (is_on)
    finding.judge(true, State::Warning,
                  "peaks and bandwidths are those of a slice; counters of units that instances share (L2, DRAM) may "
                  "be unknown",
                  "measure on a whole GPU, or in an isolated instance, and compare with roofs measured in it");
}

// Programs that occupy the counters, or that must not run beside a profiler.
struct Holder {
  std::string_view name, what;
};
constexpr std::array<Holder, 9> kHolders = {{
    {"nv-hostengine", "DCGM reads the counters"},
    {"dcgm-exporter", "DCGM reads the counters"},
    {"dcgmi", "DCGM reads the counters"},
    {"ncu", "Nsight Compute reads the counters"},
    {"nsys", "Nsight Systems may read the counters"},
    {"nsys-launcher", "Nsight Systems may read the counters"},
    {"dynolog", "dynolog reads the counters"},
    {"cuda-gdb", "the debugger holds the device"},
    {"nvidia-cuda-mps", "the multi-process service: its clients' counters cannot be told apart"},
}};

void counter_users(const GpuMachine& on, Finding& finding) {
  std::string whats;
  for (const std::string& pid : on.files.names("/proc")) {
    if (pid.empty() || pid[0] < '0' || pid[0] > '9') continue;
    const std::string name = on.files.text("/proc/" + pid + "/comm").value_or("");
    for (const Holder& holder : kHolders) {
      if (name != holder.name.substr(0, 15)) continue;  // comm is truncated to 15 characters
      append(finding.found, cat(name, " (process ", pid, ")"));
      if (whats.find(holder.what) == std::string::npos) append(whats, holder.what);
    }
  }
  finding.judge(!finding.found.empty(), State::Problem, whats + "; the hardware counts for one client at a time",
                "dcgmi profile --pause (and --resume afterwards) for DCGM; stop the others");
  if (finding.found.empty())
    finding.found = "none of the known ones is running here; those outside of a container cannot be seen";
}

// The nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

void sharing(const GpuMachine& on, Finding& finding) {
  const auto processes = on.nvml.symbol<int (*)(void*, unsigned*, Process*)>("nvmlDeviceGetComputeRunningProcesses_v3");
  for (std::size_t i = 0; processes && i < on.devices.size(); ++i) {
    std::array<Process, 128> list{};
    unsigned count = list.size();
    if (processes(on.devices[i], &count, list.data()) != 0) continue;
    finding.state = State::Good;
    for (unsigned k = 0; k < std::min<unsigned>(count, list.size()); ++k)
      if (list[k].pid != static_cast<unsigned>(getpid()))
        append(finding.found, cat(on.named(i), "process ", list[k].pid));
  }
  if (finding.state == State::Absent) {
    finding.found = on.silence("not reported");
    if (on.devices.empty()) finding.guide = InForce::NotOfTheGuide;
    return;
  }
  finding.judge(!finding.found.empty(), State::Warning,
                "they take time and bandwidth, and their traffic is in the counters of L2 and DRAM",
                "stop them, or take another GPU (CUDA_VISIBLE_DEVICES)");
  if (finding.found.empty()) finding.found = "none";
}

constexpr Check<GpuMachine> kGpuChecks[] = {
    {"gpu.driver", "NVIDIA driver", driver},
    {"gpu.devices", "GPUs", devices},
    {"gpu.cuda", "CUDA driver library", cuda},
    {"gpu.privilege", "GPU counters may be read", privilege},
    {"gpu.counter_users", "other users of the counters", counter_users},
    {"gpu.sharing", "other programs on the GPU", sharing, InForce::Unknown},
    {"gpu.clocks", "locked clocks", clocks, InForce::Unknown},
    {"gpu.autoboost", "autoboost", autoboost, InForce::Unknown},
    {"gpu.persistence", "persistence mode", persistence},
    {"gpu.ecc", "ECC", ecc},
    {"gpu.mig", "MIG", mig},
};

}  // namespace

std::string asked_in_child(const std::function<std::string()>& ask, std::string& why, double seconds) {
  why.clear();
  try {
    const base::Output answer = base::ask_in_child([&](int to) { return base::write_all(to, ask()) ? 0 : 1; }, seconds);
    if (answer.end.is_late)
      why = cat("did not return within ", static_cast<int>(seconds), " s");
    else if (answer.end.signal)
      why = cat("crashed (signal ", *answer.end.signal, ")");
    else if (answer.out.empty())
      why = "said nothing";
    else
      return answer.out;
  } catch (const base::CannotStart& error) {
    why = cat("could not be asked: ", error.what());
  }
  return "";
}

std::vector<Finding> examine_gpu(const Surroundings& surroundings) {
  return findings_of(GpuMachine{surroundings, SystemFiles(surroundings.root), Nvml(surroundings.nvml)}, kGpuChecks);
}

}  // namespace pagoda::tools::doctor
