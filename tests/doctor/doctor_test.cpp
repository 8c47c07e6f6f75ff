// Machines made of small files and a management library with settable state: what the doctor reports about each.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "doctor.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/workshop.h"
#include "system_files.h"

namespace pagoda::tools::doctor {
namespace {

namespace fs = std::filesystem;

// A machine made of files; the destructor unsets its environment variables.
class Machine {
 public:
  Machine() { fs::create_directories(root_); }
  ~Machine() {
    fs::remove_all(root_);
    for (const std::string& name : variables_) unsetenv(name.c_str());
  }
  Machine& file(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << '\n';
    return *this;
  }
  Machine& set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    variables_.push_back(name);
    return *this;
  }
  // A server with four CPUs on two cores, with ideal settings.
  Machine& quiet() {
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
      file(folder + "/cpufreq/scaling_governor", "performance");
      file(folder + "/topology/thread_siblings_list", cpu % 2 == 0 ? "0,2" : "1,3");
    }
    file("/sys/devices/system/cpu/online", "0-3").file("/sys/devices/system/cpu/smt/active", "1");
    file("/sys/devices/system/cpu/intel_pstate/no_turbo", "1");
    file("/proc/stat", "cpu  1000 0 100 8900 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0");
    file("/proc/loadavg", "0.05 0.1 0.1 1/100 1").file("/proc/sys/kernel/perf_event_paranoid", "2");
    file("/proc/meminfo", "MemTotal:       16777216 kB").file("/proc/self/cgroup", "0::/job");
    file("/sys/fs/cgroup/job/cgroup.controllers", "cpu memory").file("/sys/fs/cgroup/job/cpu.max", "max 100000");
    file("/sys/fs/cgroup/job/cpu.stat", "usage_usec 5\nnr_throttled 0").file("/sys/fs/cgroup/job/memory.max", "max");
    file("/sys/devices/system/node/node0/cpulist", "0-3").file("/sys/class/powercap/intel-rapl:0/energy_uj", "5");
    return *this;
  }
  Machine& gpu() {
    file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65")
        .file("/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0");
    set("NVML_COUNT", "1").set("NVML_NAME", "NVIDIA H200").set("NVML_DRIVER", "580.65.06").set("NVML_CLOCK", "1500");
    set("NVML_MAX_CLOCK", "1980")
        .set("NVML_APP_CLOCK", "1500")
        .set("NVML_APP_DEFAULT", "1980")
        .set("NVML_REASONS", "2");
    set("NVML_PERSISTENCE", "1").set("NVML_ECC", "1").set("NVML_ECC_PENDING", "1").set("NVML_MIG", "0");
    set("NVML_PROCESS", "0").set("CUDA_INIT", "0");
    return *this;
  }
  Surroundings surroundings() const {
    Surroundings s;
    s.root = root_;
    s.nvml = PAGODA_FAKE_NVML;
    s.cuda = PAGODA_FAKE_CUDA;
    s.cupti = {"/no/such/libcupti.so"};
    s.python = "";
    s.path = root_ + "/bin";
    s.sample_seconds = 0;
    s.allowed_cpus = {0, 1};
    s.is_administrator = false;
    return s;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_ = (fs::temp_directory_path() / ("pagoda_doctor_" + std::to_string(getpid()))).string();
  std::vector<std::string> variables_;
};

Finding cpu_finding(const Machine& machine, const char* id, std::vector<int> allowed = {0, 1}) {
  Surroundings s = machine.surroundings();
  s.allowed_cpus = std::move(allowed);
  const std::vector<Finding> findings = examine_cpu(s);
  REQUIRE_MESSAGE(find(findings, id), id);
  return *find(findings, id);
}

Finding gpu_finding(const Machine& machine, const char* id) {
  const std::vector<Finding> findings = examine_gpu(machine.surroundings());
  REQUIRE_MESSAGE(find(findings, id), id);
  return *find(findings, id);
}

}  // namespace

TEST_CASE("a thread runs on the CPU that it is pinned to, and stays where it is for one that does not exist") {
  std::thread([] {
    const std::vector<int> before = allowed_cpus();
    REQUIRE_FALSE(before.empty());
    pin_to_cpu(before.back());
    CHECK(allowed_cpus() == std::vector{before.back()});
    pin_to_cpu(65535);  // beyond the 1,024 of one cpu_set_t
    CHECK(allowed_cpus() == std::vector{before.back()});
  }).join();
}

TEST_CASE("a quiet CPU: everything of the guide is in force, nothing is wrong") {
  Machine machine;
  machine.quiet();
  for (const Finding& finding : examine_cpu(machine.surroundings())) {
    CHECK_MESSAGE(finding.state == State::Good, finding.id << ": " << finding.found);
    CHECK_MESSAGE(finding.wrong.empty(), finding.id);
    CHECK_MESSAGE(finding.remedy.empty(), finding.id);
    CHECK_MESSAGE((finding.guide == InForce::Yes || finding.guide == InForce::NotOfTheGuide), finding.id);
  }
}

TEST_CASE("each disturbance of the CPU is found, explained, and has its remedy") {
  struct Row {
    const char *path, *text, *id, *found, *remedy;
  };
  const std::vector<Row> rows = {
      {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave", "cpu.governor", "powersave on CPUs 1",
       "cpupower frequency-set -g performance"},
      {"/sys/devices/system/cpu/intel_pstate/no_turbo", "0", "cpu.turbo", "no_turbo is 0", "intel_pstate/no_turbo"},
      {"/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0,2", "cpu.smt", "2 CPUs on 1 cores", "taskset"},
      {"/proc/loadavg", "3.50 1 1 1/1 1", "cpu.load", "3.50 runnable", "top"},
      {"/proc/stat", "cpu  1000 0 100 8800 0 0 0 100 0 0", "cpu.steal", "1.0 % since boot", "another time"},
      {"/sys/fs/cgroup/job/cpu.max", "150000 100000", "cpu.quota", "cpu.max is 150000 100000", "--cpuset-cpus"},
      {"/proc/sys/kernel/perf_event_paranoid", "3", "cpu.perf_events", "is 3", "kernel.perf_event_paranoid=2"},
  };
  for (const Row& row : rows) {
    Machine machine;
    machine.quiet().file(row.path, row.text);
    const Finding finding = cpu_finding(machine, row.id);
    CHECK_MESSAGE(finding.state == State::Warning, row.id);
    CHECK_MESSAGE(test::contains(finding.found, row.found), finding.found);
    CHECK_MESSAGE(test::contains(finding.remedy, row.remedy), finding.remedy);
    CHECK_MESSAGE(!finding.wrong.empty(), row.id);
  }
}

TEST_CASE("boost instead of intel_pstate, quotas and limits of cgroup version 1, memory nodes that balance") {
  Machine machine;
  machine.quiet();
  fs::remove_all(machine.root() + "/sys/devices/system/cpu/intel_pstate");
  fs::remove_all(machine.root() + "/sys/fs/cgroup/job");
  CHECK(cpu_finding(machine, "cpu.turbo").guide == InForce::Unknown);
  machine.file("/sys/devices/system/cpu/cpufreq/boost", "1");
  CHECK(test::contains(cpu_finding(machine, "cpu.turbo").remedy, "cpufreq/boost"));
  machine.file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1").file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  CHECK(cpu_finding(machine, "cpu.quota").state == State::Good);
  machine.file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000");
  CHECK(cpu_finding(machine, "cpu.quota").state == State::Warning);
  machine.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824");
  const Finding memory = cpu_finding(machine, "cpu.memory_limit");
  CHECK(memory.state == State::Note);
  CHECK(test::contains(memory.found, "1024 MiB of the machine's 16384 MiB"));
  machine.file("/sys/devices/system/node/node1/cpulist", "4-7").file("/proc/sys/kernel/numa_balancing", "1");
  CHECK(test::contains(cpu_finding(machine, "cpu.memory_placement").remedy, "numactl"));
}

TEST_CASE("pinning: fewer CPUs than are online, or none to choose from") {
  Machine machine;
  machine.quiet();
  CHECK(cpu_finding(machine, "cpu.pinning", {0, 1}).guide == InForce::Yes);
  const Finding loose = cpu_finding(machine, "cpu.pinning", {0, 1, 2, 3});
  CHECK(loose.guide == InForce::No);
  CHECK(test::contains(loose.remedy, "taskset -c 0-1"));
  machine.file("/sys/devices/system/cpu/online", "0");
  CHECK(cpu_finding(machine, "cpu.pinning", {0}).guide == InForce::Yes);
}

TEST_CASE("a machine that tells nothing: absent, never good, and no crash") {
  Machine machine;
  machine.file("/proc/cpuinfo", "flags : fpu hypervisor");
  const Finding governor = cpu_finding(machine, "cpu.governor");
  CHECK(governor.state == State::Absent);
  CHECK(governor.guide == InForce::Unknown);
  CHECK(test::contains(governor.found, "virtual machine"));
  for (const char* id :
       {"cpu.turbo", "cpu.smt", "cpu.pinning", "cpu.load", "cpu.steal", "cpu.perf_events", "cpu.energy"})
    CHECK_MESSAGE(cpu_finding(machine, id).state == State::Absent, id);
  Surroundings nothing = machine.surroundings();
  nothing.nvml = nothing.cuda = "/no/such/library.so";
  for (const Finding& finding : examine_gpu(nothing))
    CHECK_MESSAGE((finding.state == State::Absent || finding.id == "gpu.counter_users"), finding.id);
}

TEST_CASE("a Jetson: the rails of its module instead of RAPL") {
  Machine machine;
  const std::string monitor = "/sys/class/hwmon/hwmon3/";
  machine.file(monitor + "name", "ina3221");
  const char* const rails[] = {"VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"};
  for (int i = 0; i < 3; ++i) {
    const std::string channel = std::to_string(i + 1);
    machine.file(monitor + "in" + channel + "_label", rails[i]).file(monitor + "in" + channel + "_input", "5000");
    machine.file(monitor + "curr" + channel + "_input", "400");
  }
  const Finding energy = cpu_finding(machine, "cpu.energy");
  CHECK(energy.state == State::Good);
  CHECK(energy.found == "power of VDD_IN, VDD_CPU_GPU_CV, VDD_SOC; the module takes VDD_IN");
  machine.file(monitor + "in1_label", "NC");
  CHECK(test::contains(cpu_finding(machine, "cpu.energy").found, "is not documented"));
}

TEST_CASE("an H200 with locked clocks: nothing is wrong") {
  Machine machine;
  machine.gpu();
  for (const Finding& finding : examine_gpu(machine.surroundings())) {
    const bool is_absent = finding.id == "gpu.autoboost";  // Hopper has no such switch
    CHECK_MESSAGE(finding.state == (is_absent ? State::Absent : State::Good), finding.id << ": " << finding.found);
  }
  CHECK(test::contains(gpu_finding(machine, "gpu.cuda").found, "CUDA 13.2"));
  CHECK(test::contains(gpu_finding(machine, "gpu.clocks").found,
                       "SM at 1500 MHz of at most 1980, application clock 1500 (set)"));
  CHECK(gpu_finding(machine, "gpu.clocks").guide == InForce::Yes);
}

TEST_CASE("counters: for administrators alone, unless the module or the process says otherwise") {
  Machine machine;
  machine.gpu().file("/proc/driver/nvidia/params", "Mobile: 1\nRmProfilingAdminOnly: 1\nOther: 0");
  const Finding closed = gpu_finding(machine, "gpu.privilege");
  CHECK(closed.state == State::Problem);
  CHECK(test::contains(closed.found, "RmProfilingAdminOnly: 1"));
  CHECK(test::contains(closed.remedy, "NVreg_RestrictProfilingToAdminUsers=0"));
  CHECK(test::contains(closed.remedy, "--cap-add=SYS_ADMIN"));
  Surroundings s = machine.surroundings();
  s.is_administrator.reset();
  // CAP_SYS_ADMIN is bit 21: 0x200000.
  machine.file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000200000");
  CHECK(find(examine_gpu(s), "gpu.privilege")->state == State::Good);
  machine.file("/proc/self/status", "Name:\tx\nCapEff:\t00000000a80425fb");  // a container's default
  CHECK(find(examine_gpu(s), "gpu.privilege")->state == State::Problem);
}

TEST_CASE("each disturbance of a GPU is found") {
  struct Row {
    const char *variable, *value, *id;
    State state;
    const char *found, *remedy;
  };
  const std::vector<Row> rows = {
      {"NVML_REASONS", "0x44", "gpu.clocks", State::Warning, "power cap, thermal slowdown by hardware",
       "nvidia-smi -pl"},
      {"NVML_AUTOBOOST", "1", "gpu.autoboost", State::Warning, "on", "--auto-boost-default=0"},
      {"NVML_PERSISTENCE", "0", "gpu.persistence", State::Note, "off", "nvidia-smi -pm 1"},
      {"NVML_ECC_PENDING", "0", "gpu.ecc", State::Note, "on; off after a reset", "nvidia-smi -r"},
      {"NVML_MIG", "1", "gpu.mig", State::Warning, "on", "whole GPU"},
      {"NVML_PROCESS", "1", "gpu.sharing", State::Warning, "process 1", "CUDA_VISIBLE_DEVICES"},
      {"NVML_INIT", "9", "gpu.driver", State::Warning, "580.65", "--gpus all"},
      {"NVML_COUNT", "0", "gpu.devices", State::Problem, "finds none", "NVIDIA_VISIBLE_DEVICES"},
      {"CUDA_INIT", "34", "gpu.cuda", State::Problem, "error 34", "stubs"},
      {"CUDA_INIT", "100", "gpu.cuda", State::Problem, "error 100", "--gpus all"},
      {"CUDA_INIT", "802", "gpu.cuda", State::Problem, "error 802", "nvidia-fabricmanager"},
      {"CUDA_INIT", "804", "gpu.cuda", State::Problem, "error 804", "cuda-compat"},
      {"CUDA_INIT", "1", "gpu.cuda", State::Problem, "error 1", "dmesg"},
      {"CUDA_INIT", "999", "gpu.cuda", State::Problem, "error 999", "nvidia_uvm"},
      {"CUDA_INIT", "crash", "gpu.cuda", State::Problem, "crashed (signal 11)", "one version"},
  };
  for (const Row& row : rows) {
    Machine machine;
    machine.gpu().set(row.variable, row.value);
    const Finding finding = gpu_finding(machine, row.id);
    CHECK_MESSAGE(finding.state == row.state, row.id << " " << row.value);
    CHECK_MESSAGE(test::contains(finding.found, row.found), finding.found);
    CHECK_MESSAGE(test::contains(finding.remedy, row.remedy), finding.remedy);
  }
  Machine free;
  free.gpu().set("NVML_REASONS", "0").set("NVML_APP_CLOCK", "1980");
  CHECK(gpu_finding(free, "gpu.clocks").guide == InForce::No);
  CHECK(test::contains(gpu_finding(free, "gpu.clocks").remedy, "nvidia-smi -lgc"));
  Machine two;
  two.gpu().set("NVML_COUNT", "2").set("NVML_MIG", "1");
  CHECK(gpu_finding(two, "gpu.mig").found == "GPU 0: on");
  CHECK(gpu_finding(two, "gpu.devices").found == "NVIDIA H200; NVIDIA H200");
}

TEST_CASE("who else may hold the counters: by the names of processes") {
  Machine machine;
  machine.gpu()
      .file("/proc/17/comm", "nv-hostengine")
      .file("/proc/18/comm", "bash")
      .file("/proc/19/comm", "nvidia-cuda-mps");
  const Finding finding = gpu_finding(machine, "gpu.counter_users");
  CHECK(finding.state == State::Problem);
  CHECK(finding.found == "nv-hostengine (process 17); nvidia-cuda-mps (process 19)");
  CHECK(test::contains(finding.remedy, "dcgmi profile --pause"));
}

TEST_CASE("a driver that is missing where the hardware is there is a problem") {
  Machine machine;
  Surroundings s = machine.surroundings();
  s.nvml = "/no/such/library.so";
  CHECK(find(examine_gpu(s), "gpu.driver")->state == State::Absent);
  machine.file("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de")
      .file("/sys/bus/pci/devices/0000:01:00.0/class", "0x030200");
  const std::vector<Finding> findings = examine_gpu(s);
  CHECK(find(findings, "gpu.driver")->state == State::Problem);
  CHECK(test::contains(find(findings, "gpu.driver")->remedy, "modprobe nvidia"));
}

TEST_CASE("software: CUPTI by its version and range profiler, ncu by its file, packages by a Python") {
  Machine machine;
  Surroundings s = machine.surroundings();
  CHECK(find(examine_software(s), "software.cupti")->state == State::Absent);
  s.cupti = {PAGODA_FAKE_CUDA};  // answers cuptiGetVersion, but has no range profiler
  CHECK(find(examine_software(s), "software.cupti")->state == State::Problem);
  CHECK(test::contains(find(examine_software(s), "software.cupti")->wrong, "no range profiler"));
  CHECK(find(examine_software(s), "software.ncu")->state == State::Absent);
  const std::string ncu = "/opt/nvidia/nsight-compute/2025.3.1/ncu";
  machine.file(ncu, "#!/bin/sh");
  fs::permissions(machine.root() + ncu, fs::perms::owner_all);
  CHECK(find(examine_software(s), "software.ncu")->found == machine.root() + ncu);
  const auto python = [&](const char* text) {
    machine.file("/bin/python", std::string("#!/bin/sh\n") + text);
    fs::permissions(machine.root() + "/bin/python", fs::perms::owner_all);
    s.python = machine.root() + "/bin/python";
    return examine_software(s);
  };
  const std::vector<Finding> findings = python("echo python 3.11.7; echo torch 2.9.0+cpu; echo onnxruntime-gpu 1.23.0");
  CHECK(find(findings, "software.pytorch")->state == State::Note);
  CHECK(test::contains(find(findings, "software.pytorch")->wrong, "no CUDA"));
  CHECK(find(findings, "software.onnxruntime")->found == "onnxruntime-gpu 1.23.0 of Python 3.11.7");
  CHECK(find(findings, "software.nvtx")->state == State::Absent);
  CHECK(test::contains(find(python("exit 3"), "software.pytorch")->found, "said nothing"));
}

TEST_CASE("compilers, headers of Python, Triton, and a torch.compile that runs") {
  Machine machine;
  Surroundings s = machine.surroundings();
  s.path = machine.root() + "/bin";
  CHECK(find(examine_software(s), "software.compilers")->state == State::Note);
  const auto program = [&](const std::string& name, const std::string& text) {
    machine.file("/bin/" + name, "#!/bin/sh\n" + text);
    fs::permissions(machine.root() + "/bin/" + name, fs::perms::owner_all);
  };
  program("g++", "true");
  CHECK(find(examine_software(s), "software.compilers")->found == machine.root() + "/bin/g++");
  s.python = machine.root() + "/bin/python";
  program("python", "echo python 3.11.7; echo torch 2.9.0; echo triton 3.5.0");
  std::vector<Finding> findings = examine_software(s);
  CHECK(find(findings, "software.triton")->found == "triton 3.5.0 of Python 3.11.7");
  CHECK(find(findings, "software.python_headers")->state == State::Warning);
  CHECK(find(findings, "software.torch_compile")->state == State::Note);  // not tried unless requested
  program("python",
          "case $3 in *torch.compile*) echo a warning; echo runs cpu;; *) echo torch 2.9.0; "
          "echo 'Python.h /opt/my python/Python.h';; esac");
  s.tries_compile = true;
  findings = examine_software(s);
  CHECK(find(findings, "software.python_headers")->found == "/opt/my python/Python.h");
  CHECK(find(findings, "software.torch_compile")->found == "compiled and ran a function on cpu");
  program("python", "case $3 in *torch.compile*) echo 'RuntimeError: no g++' >&2; exit 1;; *) echo torch 2.9.0;; esac");
  findings = examine_software(s);
  CHECK(find(findings, "software.torch_compile")->state == State::Problem);
  CHECK(find(findings, "software.torch_compile")->found == "RuntimeError: no g++");
}

TEST_CASE("a machine without a GPU says so once") {
  Machine machine;
  Surroundings s = machine.surroundings();
  s.nvml = s.cuda = "/no/such/library.so";
  const std::vector<Finding> findings = examine_gpu(s);
  REQUIRE(findings.size() > 3);
  const std::string text = findings_text(findings);
  CHECK(test::contains(text, "the other " + std::to_string(findings.size() - 1) + " checks of a GPU"));
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = text.find("absent", at)) != std::string::npos; ++at) ++lines;
  CHECK(lines == 1);
}

TEST_CASE("a child that crashes, hangs or says nothing costs no more than its time") {
  std::string why;
  CHECK(asked_in_child([] { return std::string("yes"); }, why) == "yes");
  CHECK(why.empty());
  CHECK(asked_in_child([]() -> std::string { abort(); }, why).empty());
  CHECK(test::contains(why, "crashed (signal 6)"));
  CHECK(asked_in_child(
            []() -> std::string {
              for (;;) pause();
            },
            why, 0.1)
            .empty());
  CHECK(test::contains(why, "did not return"));
  CHECK(asked_in_child([] { return std::string(); }, why).empty());
  CHECK(why == "said nothing");
  const std::string large(1 << 20, 'x');  // more than a pipe buffers
  CHECK(asked_in_child([&] { return large; }, why) == large);
}

TEST_CASE("lists of CPUs and fields of status files") {
  CHECK(cpu_list("0-3,8") == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(cpu_list("").empty());
  CHECK(cpu_list("x,-1,5").size() == 1);
  CHECK(cpu_list("0-1000000").size() == 65536);
  CHECK(ranges({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
  CHECK(*field("Name:\tx\nCapEffX: 1\nCapEff:  2", "CapEff") == "2");
  CHECK(!field("CapEffX: 1", "CapEff"));
}

TEST_CASE("the report for people names the guide, the one for programs follows its schema") {
  Machine machine;
  machine.quiet().gpu().file("/sys/devices/system/cpu/intel_pstate/no_turbo", "0");
  const std::vector<Finding> findings = examine(machine.surroundings());
  const std::string text = findings_text(findings);
  CHECK(test::contains(text,
                       "in force: other programs on the GPU, locked clocks, frequency governor, pinning, other load"));
  CHECK(test::contains(text, "not in force: turbo"));
  CHECK(test::contains(text, "0 problems, 1 warning"));
  test::check_schema(findings_json(findings), "doctor");
  CHECK(nlohmann::json::parse(findings_json(findings))["findings"].size() == findings.size());
}

TEST_CASE("the command line: exit codes of needs, of strictness, of usage") {
  Machine machine;
  machine.quiet().gpu();
  const test::Workshop shop;
  test::Outcome last;
  const auto run = [&](const std::string& arguments) {
    last = shop.shell("'" PAGODA_DOCTOR "' --root '" + machine.root() +
                      "' --nvml '" PAGODA_FAKE_NVML "' --cuda '" PAGODA_FAKE_CUDA "' --python /nonexistent/python " +
                      arguments);
    return last.code;
  };
  CHECK(run("") == 0);
  CHECK(run("--need gpu") == 0);
  CHECK(run("--need onnxruntime") == 4);
  CHECK(test::contains(last.err, "pip install onnxruntime"));
  machine.set("CUDA_INIT", "100");
  CHECK(run("--need gpu") == 4);
  CHECK(run("--strict") == 3);
  CHECK(run("--json -") == 0);
  CHECK(nlohmann::json::parse(last.out)["schema"] == "pagoda.doctor/1");
  CHECK(run("--json /nonexistent/x.json") == 1);
  CHECK(run("--need everything") == 2);
  CHECK(run("--help") == 0);
}

}  // namespace pagoda::tools::doctor
