// Checks of libraries and programs that measurements use: CUPTI, Nsight Compute, and Python packages, which are not
// imported.
#include <initializer_list>
#include <map>
#include <sstream>

#include "doctor.h"
#include "nvidia_library.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/process.h"
#include "system_files.h"

namespace pagoda::tools::doctor {
namespace {

constexpr const char* kToolkit = "/usr/local/cuda";

struct SoftwareMachine {
  const Surroundings& surroundings;
  std::string python, why;                      // file of the interpreter; why nothing is known about its packages
  std::map<std::string, std::string> packages;  // name → version; "python"; "Python.h" → file

  bool has_torch() const { return packages.contains("torch"); }
};

void cupti(const SoftwareMachine& on, Finding& finding) {
  const Surroundings& surroundings = on.surroundings;
  std::string why;
  // Without a driver most CUPTI calls are undefined. The version query is defined, but a child process is cheap
  // insurance.
  const std::string answer = asked_in_child(
      [&]() -> std::string {
        for (const std::string& place :
             surroundings.cupti.empty() ? cupti_places("", surroundings.root) : surroundings.cupti) {
          const DynamicLibrary library({place});
          const auto version_of = library.symbol<int (*)(unsigned*)>("cuptiGetVersion");
          unsigned version = 0;
          if (!version_of || version_of(&version) != 0) continue;
          const bool has_ranges = library.address("cuptiRangeProfilerEnable") != nullptr;
          const bool has_host = DynamicLibrary({"libnvperf_host.so"}) || open_neighbours(library);
          return cat(version, has_ranges ? " ranges" : " old", has_host ? " host " : " alone ", place);
        }
        return "none";
      },
      why);
  if (answer.empty() || answer == "none")
    return finding.is(
        answer.empty() ? State::Problem : State::Absent,
        answer.empty() ? "its library " + why : "no libcupti.so.13 or .12 where the loader or the toolkit has it",
        "pagoda-profile cannot count or trace",
        "install the CUDA toolkit 12.6 or later (package cuda-cupti), or set LD_LIBRARY_PATH to its "
        "extras/CUPTI/lib64");
  std::istringstream parts(answer);
  std::string version, ranges, host, place;
  parts >> version >> ranges >> host >> place;
  finding.is(State::Good, cat("API version ", version, ", ", place));
  if (ranges == "old")
    finding.judge(true, State::Problem, "it has no range profiler (before CUDA 12.6)",
                  "install the CUDA toolkit 12.6 or later");
  else if (host == "alone")
    finding.judge(true, State::Warning,
                  "libnvperf_host.so is not where the loader finds it: metrics cannot be resolved",
                  "set LD_LIBRARY_PATH to the folder of libcupti");
}

void nsight_compute(const SoftwareMachine& on, Finding& finding) {
  const std::string& root = on.surroundings.root;
  std::vector<std::string> folders = {cat(root, kToolkit, "/bin")};
  for (const std::string& name : SystemFiles(root).names("/opt/nvidia/nsight-compute"))
    folders.push_back(cat(root, "/opt/nvidia/nsight-compute/", name));
  const std::string file = program_file("ncu", on.surroundings.path, folders);
  if (!file.empty()) return finding.is(State::Good, file);
  finding.is(State::Absent, "no ncu in PATH, in the toolkit or in /opt/nvidia",
             "pagoda-profile --mode ncu and --verify ncu have nothing to run",
             "install Nsight Compute (package nsight-compute of NVIDIA's repository)");
}

// Uses package metadata: importing PyTorch takes seconds and may initialise CUDA.
constexpr const char* kAskPackages = R"(
import importlib.metadata as m, sys
print("python", sys.version.split()[0])
for name in ("torch", "onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "onnx", "nvtx", "torchvision", "transformers", "tensorrt", "triton", "numpy"):
    try: print(name, m.version(name))
    except m.PackageNotFoundError: pass
import os, sysconfig
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
if os.path.exists(header): print("Python.h", header)
)";

// torch.compile needs a compiler and headers at run time, and Triton on a GPU: compile a small function to find out.
constexpr const char* kTryCompile = R"(
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.arange(64.0, device=device)
y = torch.compile(lambda t: torch.sin(t) * 2 + t)(x)
assert torch.allclose(y, torch.sin(x) * 2 + x, atol=1e-5), "wrong numbers"
print("runs", device)
)";

SoftwareMachine asked(const Surroundings& surroundings) {
  SoftwareMachine machine{surroundings, surroundings.python, "", {}};
  std::string &file = machine.python, &why = machine.why;
  if (file.empty()) {
    why = "nobody was asked";
    return machine;
  }
  if (file.find('/') == std::string::npos) file = program_file(file, surroundings.path, {});
  if (file.empty()) {
    why = surroundings.python + " is not in PATH";
    return machine;
  }
  std::string answer;
  try {
    const base::Output output =
        base::run_and_capture({file, "-I", "-c", kAskPackages}, {.err = base::Stream::Null, .seconds = 20});
    if (output.end.succeeded()) answer = output.out;
    if (answer.empty()) why = output.end.is_late ? cat(file, " ", to_string(output.end)) : "said nothing";
  } catch (const base::CannotStart& error) {
    why = error.what();
  }
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t blank = line.find(' '); blank != std::string::npos)
      machine.packages[line.substr(0, blank)] = line.substr(blank + 1);
  if (machine.packages.empty() && why.empty()) why = file + " gave no answer";
  return machine;
}

void package(const SoftwareMachine& on, Finding& finding, std::initializer_list<const char*> names, const char* missing,
             const char* remedy) {
  const auto python = on.packages.find("python");
  const std::string version = python == on.packages.end() ? "?" : python->second;
  std::string found;
  for (const char* name : names)
    if (const auto at = on.packages.find(name); at != on.packages.end())
      found += cat(found.empty() ? "" : ", ", name, " ", at->second);
  if (!found.empty()) return finding.is(State::Good, cat(found, " of Python ", version));
  finding.is(State::Absent, on.why.empty() ? cat("Python ", version, " has none") : on.why, missing, remedy);
}

void onnxruntime(const SoftwareMachine& on, Finding& finding) {
  package(on, finding, {"onnxruntime", "onnxruntime-gpu", "onnxruntime-directml"}, "models cannot be run by it",
          "pip install onnxruntime, or onnxruntime-gpu beside CUDA");
}

void pytorch(const SoftwareMachine& on, Finding& finding) {
  package(on, finding, {"torch", "torchvision", "transformers"}, "models/run_torch.py and named models cannot be run",
          "pip install torch torchvision transformers");
  if (!on.has_torch())
    finding.state = State::Absent;
  else if (on.packages.at("torch").find("+cpu") != std::string::npos)
    finding.judge(true, State::Note, "this build has no CUDA support",
                  "pip install torch --index-url https://download.pytorch.org/whl/cu130, where there is a GPU");
}

void triton(const SoftwareMachine& on, Finding& finding) {
  package(on, finding, {"triton"}, "torch.compile makes no kernels for a GPU", "pip install triton");
}

void nvtx(const SoftwareMachine& on, Finding& finding) {
  package(on, finding, {"nvtx"}, "models/run_torch.py falls back to ranges of PyTorch, without a domain",
          "pip install nvtx");
}

// A missing compiler is a warning if PyTorch is installed: its compiled models need one.
void compilers(const SoftwareMachine& on, Finding& finding) {
  bool has_host = false;
  for (const std::string name : {"g++", "clang++", "nvcc"}) {
    const std::string file = program_file(name, on.surroundings.path, {cat(on.surroundings.root, kToolkit, "/bin")});
    if (file.empty()) continue;
    finding.found += (finding.found.empty() ? "" : ", ") + file;
    has_host = has_host || name != "nvcc";
  }
  if (finding.found.empty()) finding.found = "no g++, clang++ or nvcc in PATH";
  finding.judge(!has_host, on.has_torch() ? State::Warning : State::Note,
                "torch.compile cannot build its kernels, and Pagoda cannot be built", "apt install g++");
}

void python_headers(const SoftwareMachine& on, Finding& finding) {
  if (const auto header = on.packages.find("Python.h"); header != on.packages.end())
    return finding.is(State::Good, header->second);
  finding.is(!on.why.empty()  ? State::Absent
             : on.has_torch() ? State::Warning
                              : State::Note,
             on.why.empty() ? "this Python has no Python.h" : on.why,
             "Triton and torch.compile cannot build what they launch kernels with",
             "apt install python3-dev, or the headers of the Python that --python names");
}

// Compiles and runs a function, which takes seconds to minutes: only on request.
void torch_compile(const SoftwareMachine& on, Finding& finding) {
  if (!on.has_torch())
    return finding.is(State::Absent, "no PyTorch to try it with", "--compile inductor cannot run", "pip install torch");
  if (!on.surroundings.tries_compile)
    return finding.is(State::Note, "not tried: --need torch.compile compiles and runs a small function");
  try {
    const base::Output output =
        base::run_and_capture({on.python, "-I", "-c", kTryCompile}, {.err = base::Stream::Pipe, .seconds = 300});
    // Output of imports and compilers precedes the answer.
    const std::size_t answer = output.out.rfind("runs ");
    if (output.end.succeeded() && answer != std::string::npos) {
      const std::string device = output.out.substr(answer + 5);
      return finding.is(State::Good, "compiled and ran a function on " + device.substr(0, device.find('\n')));
    }
    std::string last = output.err.substr(0, output.err.find_last_not_of(" \n") + 1);
    last = last.substr(last.rfind('\n') + 1);
    finding.found = output.end.is_late || last.empty() ? "the attempt " + to_string(output.end) : last;
  } catch (const base::CannotStart& error) {
    finding.found = error.what();
  }
  finding.judge(true, State::Problem, "--compile inductor cannot run",
                "install a compiler and the headers of Python (above), and on a GPU triton");
}

constexpr Check<SoftwareMachine> kSoftwareChecks[] = {
    {"software.cupti", "CUPTI", cupti},
    {"software.ncu", "Nsight Compute", nsight_compute},
    {"software.onnxruntime", "ONNX Runtime", onnxruntime},
    {"software.pytorch", "PyTorch", pytorch},
    {"software.triton", "Triton", triton},
    {"software.compilers", "compilers", compilers},
    {"software.python_headers", "headers of Python", python_headers},
    {"software.torch_compile", "torch.compile", torch_compile},
    {"software.nvtx", "NVTX for Python", nvtx},
};

}  // namespace

std::vector<Finding> examine_software(const Surroundings& surroundings) {
  return findings_of(asked(surroundings), kSoftwareChecks);
}

}  // namespace pagoda::tools::doctor
