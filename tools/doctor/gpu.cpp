// GPU checks: driver, devices, clocks, ECC, MIG, other users of the counters, and whether this process may read them.
// Constants come from nvml.h and cuda.h.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cuda_driver.h"
#include "doctor.h"
#include "nvml_library.h"
#include "pagoda/base/number.h"
#include "pagoda/base/process.h"
#include "system_files.h"

namespace pagoda::tools::doctor {
namespace {

using Nvml = NvmlLibrary;

std::string of_device(std::size_t index, std::size_t count) {
  return count > 1 ? "GPU " + std::to_string(index) + ": " : "";
}

void append(std::string& text, const std::string& more) { (text += text.empty() ? "" : "; ") += more; }

bool has_nvidia_hardware(const SystemFiles& files) {
  for (const std::string& name : files.names("/sys/bus/pci/devices"))
    if (files.text("/sys/bus/pci/devices/" + name + "/vendor").value_or("") == "0x10de" &&
        files.text("/sys/bus/pci/devices/" + name + "/class").value_or("").starts_with("0x03"))  // display, 3D
      return true;
  return false;
}

Finding driver(const SystemFiles& files, const Nvml& nvml) {
  Finding finding{.id = "gpu.driver", .title = "NVIDIA driver"};
  const std::string version = nvml.is_ready() ? nvml.text("nvmlSystemGetDriverVersion", nullptr) : "";
  const std::optional<std::string> module = files.text("/proc/driver/nvidia/version");
  if (!version.empty() || module) {
    finding.state = State::Good;
    finding.found = !version.empty() ? "version " + version : module->substr(0, module->find('\n'));
    if (!nvml.is_ready()) {
      finding.state = State::Warning;
      finding.wrong = nvml.why() + ": clocks, power and energy are unknown";
      finding.remedy =
          "install the driver's libraries of the same version as its module (libnvidia-ml.so.1); containers: "
          "start with --gpus all";
    }
    return finding;
  }
  const bool has_hardware = has_nvidia_hardware(files);
  finding.found = std::string("no /proc/driver/nvidia/version, ") + nvml.why() +
                  (has_hardware ? ", and an NVIDIA device on the PCI bus" : ", and no NVIDIA device on the PCI bus");
  finding.state = has_hardware ? State::Problem : State::Absent;
  finding.wrong = has_hardware ? "the driver's module is not loaded" : "";
  if (has_hardware)
    finding.remedy = "install the driver, or modprobe nvidia (as root); containers: start with --gpus all";
  return finding;
}

Finding devices(const Nvml& nvml) {
  Finding finding{.id = "gpu.devices", .title = "GPUs"};
  if (nvml.devices().empty()) {
    finding.found = nvml.is_ready() ? "the management library finds none" : "none";
    if (nvml.is_ready()) {
      finding.state = State::Problem;
      finding.wrong = "the driver is there, and no device with it";
      finding.remedy =
          "dmesg | grep -i nvrm says why; containers: start with --gpus all, and see NVIDIA_VISIBLE_DEVICES";
    }
    return finding;
  }
  for (void* device : nvml.devices()) append(finding.found, nvml.text("nvmlDeviceGetName", device));
  finding.state = State::Good;
  return finding;
}

Finding cuda(const Surroundings& surroundings) {
  Finding finding{.id = "gpu.cuda", .title = "CUDA driver library"};
  std::string why;
  const std::string answer = asked_in_child(
      [&]() -> std::string {
        const DynamicLibrary library(cuda_places(surroundings.cuda));
        if (!library) return "none";
        const CudaDriver driver(library);
        if (!driver.init) return "error -1";
        if (const int code = driver.init(0); code != 0) return "error " + std::to_string(code);
        int version = 0;
        if (driver.version) driver.version(&version);
        return "version " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
      },
      why);
  if (answer.starts_with("version")) {
    finding.state = State::Good;
    finding.found = "CUDA " + answer.substr(8) + " by " + surroundings.cuda;
    return finding;
  }
  if (answer == "none") {
    finding.found = surroundings.cuda + " cannot be opened";
    return finding;
  }
  finding.state = State::Problem;
  if (answer.empty()) {
    finding.found = "cuInit " + why;
    finding.wrong = "the driver's library does not fit its module";
    finding.remedy = "install both from one version of the driver";
    return finding;
  }
  finding.found = "cuInit says " + answer;
  const CudaError& error = cuda_error(base::parse_number<int>(answer.substr(answer.find(' ') + 1)).value_or(-1));
  finding.wrong = error.found;
  finding.remedy = error.remedy;
  return finding;
}

// CAP_SYS_ADMIN is bit 21 of the effective set.
bool is_administrator(const Surroundings& surroundings, const SystemFiles& files) {
  if (surroundings.is_administrator) return *surroundings.is_administrator;
  const auto set = files.field("/proc/self/status", "CapEff");
  std::uint64_t bits = 0;
  if (set) std::from_chars(set->data(), set->data() + set->size(), bits, 16);
  return (bits >> 21 & 1) != 0;
}

Finding privilege(const Surroundings& surroundings, const SystemFiles& files) {
  Finding finding{.id = "gpu.privilege", .title = "GPU counters may be read"};
  const std::optional<std::string> parameters = files.text("/proc/driver/nvidia/params");
  const bool is_admin = is_administrator(surroundings, files);
  if (!parameters) {
    finding.found = "no /proc/driver/nvidia/params";
    return finding;
  }
  const std::string value = field(*parameters, "RmProfilingAdminOnly").value_or("");
  finding.found = (value.empty() ? "no RmProfilingAdminOnly" : "RmProfilingAdminOnly: " + value) +
                  std::string(" in /proc/driver/nvidia/params; this process ") + (is_admin ? "has" : "has not") +
                  " CAP_SYS_ADMIN";
  finding.judge(value != "0" && !is_admin, State::Problem,
                "the driver lets only administrators read counters (ERR_NVGPUCTRPERM); times can be taken without",
                "run as root (containers: --cap-add=SYS_ADMIN), or for everybody: echo 'options nvidia "
                "NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf, then load the "
                "module again (as root)");
  return finding;
}

constexpr int kGraphics = 0, kSm = 1;           // nvmlClockType_t
constexpr int kAppTarget = 1, kAppDefault = 2;  // nvmlClockId_t

std::optional<unsigned> application_clock(const Nvml& nvml, Nvml::Device device, int id) {
  unsigned value = 0;
  const auto f = nvml.symbol<int (*)(Nvml::Device, int, int, unsigned*)>("nvmlDeviceGetClock");
  return f && f(device, kGraphics, id, &value) == 0 ? std::optional(value) : std::nullopt;
}

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

Finding clocks(const Nvml& nvml) {
  Finding finding{.id = "gpu.clocks", .title = "locked clocks", .guide = InForce::Unknown};
  bool is_held = true, is_known = false, is_slowed = false;
  for (std::size_t i = 0; i < nvml.devices().size(); ++i) {
    void* device = nvml.devices()[i];
    const auto now = nvml.number("nvmlDeviceGetClockInfo", device, kSm);
    const auto most = nvml.number("nvmlDeviceGetMaxClockInfo", device, kSm);
    const auto target = application_clock(nvml, device, kAppTarget),
               usual = application_clock(nvml, device, kAppDefault);
    const auto reasons = nvml.clock_reasons(device);
    std::string text = of_device(i, nvml.devices().size());
    text += now ? "SM at " + std::to_string(*now) + " MHz" : "SM clock unknown";
    if (most) text += " of at most " + std::to_string(*most);
    if (target && usual)
      text += ", application clock " + std::to_string(*target) + (*target == *usual ? " (default)" : " (set)");
    std::string because;
    for (const Reason& reason : kReasons)
      if (reasons && (*reasons & reason.bit) != 0) {
        (because += because.empty() ? "" : ", ") += reason.text;
        is_slowed = is_slowed || reason.is_bad;
      }
    if (!because.empty()) text += ", limited by " + because;
    append(finding.found, text);
    is_known = is_known || reasons || (target && usual);
    is_held = is_held && ((reasons && (*reasons & 0x2) != 0) || (target && usual && *target != *usual));
  }
  if (nvml.devices().empty()) {
    finding.found = "no GPU to ask";
    finding.guide = InForce::NotOfTheGuide;
    return finding;
  }
  if (is_known) finding.guide = is_held ? InForce::Yes : InForce::No;
  finding.state = is_slowed ? State::Warning : is_held && is_known ? State::Good : State::Note;
  if (is_slowed) {
    finding.wrong = "the GPU runs slower than it is set to right now";
    finding.remedy = "let it cool, raise its power limit (nvidia-smi -pl WATTS), then measure again";
  } else if (!is_held) {
    finding.wrong = "clocks follow load and temperature; comparisons between runs drift";
    finding.remedy =
        "nvidia-smi -lgc MHZ,MHZ below the boost clock (as root), and nvidia-smi -rgc afterwards; NVML does not "
        "tell a lock by itself, so this is judged by the application clock and the reasons of the limit";
  }
  return finding;
}

Finding autoboost(const Nvml& nvml) {
  Finding finding{.id = "gpu.autoboost", .title = "autoboost", .guide = InForce::Unknown};
  bool is_on = false, is_known = false;
  for (std::size_t i = 0; i < nvml.devices().size(); ++i) {
    const auto boost = nvml.pair("nvmlDeviceGetAutoBoostedClocksEnabled", nvml.devices()[i]);
    if (!boost) continue;
    is_known = true;
    is_on = is_on || (*boost)[0] != 0;
    append(finding.found, of_device(i, nvml.devices().size()) + ((*boost)[0] != 0 ? "on" : "off"));
  }
  if (!is_known) {
    finding.guide = InForce::NotOfTheGuide;
    finding.found = nvml.devices().empty() ? "no GPU to ask"
                                           : "these GPUs have no such switch (Pascal and later); see locked clocks";
    return finding;
  }
  finding.judge(is_on, State::Warning, "the GPU raises its clock by itself",
                "nvidia-smi --auto-boost-default=0 (as root)");
  return finding;
}

Finding persistence(const Nvml& nvml) {
  Finding finding{.id = "gpu.persistence", .title = "persistence mode"};
  bool is_off = false;
  for (std::size_t i = 0; i < nvml.devices().size(); ++i)
    if (const auto mode = nvml.number("nvmlDeviceGetPersistenceMode", nvml.devices()[i])) {
      is_off = is_off || *mode == 0;
      append(finding.found, of_device(i, nvml.devices().size()) + (*mode != 0 ? "on" : "off"));
      finding.state = State::Good;
    }
  if (finding.found.empty()) finding.found = "not reported";
  if (is_off) {
    finding.state = State::Note;
    finding.wrong = "the driver unloads its state when nothing runs: the first call takes seconds, settings are lost";
    finding.remedy = "nvidia-smi -pm 1 (as root)";
  }
  return finding;
}

Finding ecc(const Nvml& nvml) {
  Finding finding{.id = "gpu.ecc", .title = "ECC"};
  for (std::size_t i = 0; i < nvml.devices().size(); ++i)
    if (const auto mode = nvml.pair("nvmlDeviceGetEccMode", nvml.devices()[i])) {
      append(finding.found, of_device(i, nvml.devices().size()) + ((*mode)[0] != 0 ? "on" : "off"));
      if (finding.state == State::Absent) finding.state = State::Good;
      if ((*mode)[0] == (*mode)[1]) continue;
      append(finding.found, (*mode)[1] != 0 ? "on after a reset" : "off after a reset");
      finding.state = State::Note;
      finding.wrong =
          "the setting changes with the next reset; on GDDR memory bandwidth changes with it by about a tenth";
      finding.remedy = "reset the GPU before measuring what is to be compared later (nvidia-smi -r, as root)";
    }
  if (finding.found.empty()) finding.found = nvml.devices().empty() ? "no GPU to ask" : "these GPUs do not tell";
  return finding;
}

Finding mig(const Nvml& nvml) {
  Finding finding{.id = "gpu.mig", .title = "MIG"};
  for (std::size_t i = 0; i < nvml.devices().size(); ++i)
    if (const auto mode = nvml.pair("nvmlDeviceGetMigMode", nvml.devices()[i])) {
      append(finding.found, of_device(i, nvml.devices().size()) + ((*mode)[0] != 0 ? "on" : "off"));
      if (finding.state == State::Absent) finding.state = State::Good;
      if ((*mode)[0] == 0) continue;
      finding.state = State::Warning;
      finding.wrong =
          "peaks and bandwidths are those of a slice; counters of units that instances share (L2, DRAM) may "
          "be unknown";
      finding.remedy = "measure on a whole GPU, or in an isolated instance, and compare with roofs measured in it";
    }
  if (finding.found.empty()) finding.found = nvml.devices().empty() ? "no GPU to ask" : "these GPUs have none";
  return finding;
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

Finding counter_users(const SystemFiles& files) {
  Finding finding{.id = "gpu.counter_users", .title = "other users of the counters"};
  std::string whats;
  for (const std::string& pid : files.names("/proc")) {
    if (pid.empty() || pid[0] < '0' || pid[0] > '9') continue;
    const std::string name = files.text("/proc/" + pid + "/comm").value_or("");
    for (const Holder& holder : kHolders) {
      // comm is truncated to 15 characters.
      if (name != std::string(holder.name).substr(0, 15)) continue;
      append(finding.found, name + " (process " + pid + ")");
      if (whats.find(holder.what) == std::string::npos) append(whats, std::string(holder.what));
    }
  }
  finding.judge(!finding.found.empty(), State::Problem, whats + "; the hardware counts for one client at a time",
                "dcgmi profile --pause (and --resume afterwards) for DCGM; stop the others");
  if (finding.found.empty())
    finding.found = "none of the known ones is running here; those outside of a container cannot be seen";
  return finding;
}

// The nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

Finding sharing(const Nvml& nvml) {
  Finding finding{.id = "gpu.sharing", .title = "other programs on the GPU", .guide = InForce::Unknown};
  const auto processes = nvml.symbol<int (*)(void*, unsigned*, Process*)>("nvmlDeviceGetComputeRunningProcesses_v3");
  std::size_t others = 0;
  for (std::size_t i = 0; processes && i < nvml.devices().size(); ++i) {
    std::array<Process, 128> list{};
    unsigned count = list.size();
    if (processes(nvml.devices()[i], &count, list.data()) != 0) continue;
    if (finding.state == State::Absent) finding.state = State::Good;
    for (unsigned k = 0; k < std::min<unsigned>(count, list.size()); ++k) {
      if (list[k].pid == static_cast<unsigned>(getpid())) continue;
      ++others;
      append(finding.found, of_device(i, nvml.devices().size()) + "process " + std::to_string(list[k].pid));
    }
  }
  if (finding.state == State::Absent) {
    finding.found = nvml.devices().empty() ? "no GPU to ask" : "not reported";
    if (nvml.devices().empty()) finding.guide = InForce::NotOfTheGuide;
    return finding;
  }
  if (others == 0) finding.found = "none";
  finding.judge(others > 0, State::Warning,
                "they take time and bandwidth, and their traffic is in the counters of L2 and DRAM",
                "stop them, or take another GPU (CUDA_VISIBLE_DEVICES)");
  return finding;
}

}  // namespace

std::string asked_in_child(const std::function<std::string()>& ask, std::string& why, double seconds) {
  why.clear();
  try {
    const base::Output answer = base::ask_in_child([&](int to) { return base::write_all(to, ask()) ? 0 : 1; }, seconds);
    if (answer.end.is_late)
      why = "did not return within " + std::to_string(static_cast<int>(seconds)) + " s";
    else if (answer.end.signal)
      why = "crashed (signal " + std::to_string(*answer.end.signal) + ")";
    else if (answer.out.empty())
      why = "said nothing";
    else
      return answer.out;
  } catch (const base::CannotStart& error) {
    why = std::string("could not be asked: ") + error.what();
  }
  return "";
}

std::vector<Finding> examine_gpu(const Surroundings& surroundings) {
  const SystemFiles files(surroundings.root);
  const Nvml nvml(surroundings.nvml);
  return {driver(files, nvml),  devices(nvml), cuda(surroundings), privilege(surroundings, files),
          counter_users(files), sharing(nvml), clocks(nvml),       autoboost(nvml),
          persistence(nvml),    ecc(nvml),     mig(nvml)};
}

}  // namespace pagoda::tools::doctor
