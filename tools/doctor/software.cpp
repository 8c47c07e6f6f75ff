// Checks of libraries and programs that measurements use: CUPTI, Nsight Compute, and Python packages, which are not
// imported.
#include <map>
#include <sstream>

#include "doctor.h"
#include "nvidia_library.h"
#include "pagoda/base/process.h"
#include "system_files.h"

namespace pagoda::tools::doctor {
namespace {

constexpr const char* kToolkit = "/usr/local/cuda";

Finding cupti(const Surroundings& surroundings) {
  Finding finding{.id = "software.cupti", .title = "CUPTI"};
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
          return std::to_string(version) + (has_ranges ? " ranges" : " old") + (has_host ? " host" : " alone") + " " +
                 place;
        }
        return "none";
      },
      why);
  if (answer.empty() || answer == "none") {
    finding.found =
        answer.empty() ? "its library " + why : "no libcupti.so.13 or .12 where the loader or the toolkit has it";
    finding.state = answer.empty() ? State::Problem : State::Absent;
    finding.wrong = "pagoda-profile cannot count or trace";
    finding.remedy =
        "install the CUDA toolkit 12.6 or later (package cuda-cupti), or set LD_LIBRARY_PATH to its "
        "extras/CUPTI/lib64";
    return finding;
  }
  std::istringstream parts(answer);
  std::string version, ranges, host, place;
  parts >> version >> ranges >> host >> place;
  finding.found = "API version " + version + ", " + place;
  finding.state = State::Good;
  if (ranges == "old") {
    finding.state = State::Problem;
    finding.wrong = "it has no range profiler (before CUDA 12.6)";
    finding.remedy = "install the CUDA toolkit 12.6 or later";
  } else if (host == "alone") {
    finding.state = State::Warning;
    finding.wrong = "libnvperf_host.so is not where the loader finds it: metrics cannot be resolved";
    finding.remedy = "set LD_LIBRARY_PATH to the folder of libcupti";
  }
  return finding;
}

Finding nsight_compute(const Surroundings& surroundings, const SystemFiles& files) {
  Finding finding{.id = "software.ncu", .title = "Nsight Compute"};
  std::vector<std::string> folders = {surroundings.root + kToolkit + "/bin"};
  for (const std::string& name : files.names("/opt/nvidia/nsight-compute"))
    folders.push_back(surroundings.root + "/opt/nvidia/nsight-compute/" + name);
  const std::string file = program_file("ncu", surroundings.path, folders);
  finding.found = file.empty() ? "no ncu in PATH, in the toolkit or in /opt/nvidia" : file;
  finding.state = file.empty() ? State::Absent : State::Good;
  if (file.empty()) {
    finding.wrong = "pagoda-profile --mode ncu and --verify ncu have nothing to run";
    finding.remedy = "install Nsight Compute (package nsight-compute of NVIDIA's repository)";
  }
  return finding;
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

std::map<std::string, std::string> packages(const Surroundings& surroundings, std::string& why) {
  if (surroundings.python.empty()) {
    why = "nobody was asked";
    return {};
  }
  const std::string file = surroundings.python.find('/') != std::string::npos
                               ? surroundings.python
                               : program_file(surroundings.python, surroundings.path, {});
  if (file.empty()) {
    why = surroundings.python + " is not in PATH";
    return {};
  }
  std::string answer;
  try {
    const base::Output output =
        base::run_and_capture({file, "-I", "-c", kAskPackages}, {.err = base::Stream::Null, .seconds = 20});
    if (output.end.succeeded()) answer = output.out;
    if (answer.empty()) why = output.end.is_late ? file + " " + to_string(output.end) : "said nothing";
  } catch (const base::CannotStart& error) {
    why = error.what();
  }
  std::map<std::string, std::string> result;
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t blank = line.find(' '); blank != std::string::npos)
      result[line.substr(0, blank)] = line.substr(blank + 1);
  if (result.empty() && why.empty()) why = file + " gave no answer";
  return result;
}

Finding package(const std::map<std::string, std::string>& found, const std::string& why, const char* id,
                const char* title, const std::vector<std::string>& names, const char* missing, const char* remedy) {
  Finding finding{.id = id, .title = title};
  for (const std::string& name : names)
    if (const auto at = found.find(name); at != found.end())
      finding.found += (finding.found.empty() ? "" : ", ") + name + " " + at->second;
  if (!finding.found.empty()) {
    finding.found += " of Python " + (found.contains("python") ? found.at("python") : "?");
    finding.state = State::Good;
    return finding;
  }
  finding.found = why.empty() ? "Python " + (found.contains("python") ? found.at("python") : "?") + " has none" : why;
  finding.wrong = missing;
  finding.remedy = remedy;
  return finding;
}

// A missing compiler is a warning if PyTorch is installed: its compiled models need one.
Finding compilers(const Surroundings& surroundings, bool has_torch) {
  Finding finding{.id = "software.compilers", .title = "compilers"};
  bool has_host = false;
  for (const char* name : {"g++", "clang++", "nvcc"}) {
    const std::string file =
        program_file(name, surroundings.path, {surroundings.root + kToolkit + "/bin"});
    if (file.empty()) continue;
    finding.found += (finding.found.empty() ? "" : ", ") + file;
    has_host = has_host || std::string(name) != "nvcc";
  }
  if (finding.found.empty()) finding.found = "no g++, clang++ or nvcc in PATH";
  finding.state = has_host ? State::Good : has_torch ? State::Warning : State::Note;
  if (!has_host) {
    finding.wrong = "torch.compile cannot build its kernels, and Pagoda cannot be built";
    finding.remedy = "apt install g++";
  }
  return finding;
}

Finding headers(const std::map<std::string, std::string>& found, const std::string& why) {
  Finding finding{.id = "software.python_headers", .title = "headers of Python"};
  const auto header = found.find("Python.h");
  if (header != found.end()) {
    finding.found = header->second;
    finding.state = State::Good;
    return finding;
  }
  finding.found = why.empty() ? "this Python has no Python.h" : why;
  finding.state = !why.empty() ? State::Absent : found.contains("torch") ? State::Warning : State::Note;
  finding.wrong = "Triton and torch.compile cannot build what they launch kernels with";
  finding.remedy = "apt install python3-dev, or the headers of the Python that --python names";
  return finding;
}

// Compiles and runs a function, which takes seconds to minutes: only on request.
Finding compile(const Surroundings& surroundings, const std::map<std::string, std::string>& found) {
  Finding finding{.id = "software.torch_compile", .title = "torch.compile"};
  if (!found.contains("torch")) {
    finding.found = "no PyTorch to try it with";
    finding.wrong = "--compile inductor cannot run";
    finding.remedy = "pip install torch";
    return finding;
  }
  if (!surroundings.tries_compile) {
    finding.found = "not tried: --need torch.compile compiles and runs a small function";
    finding.state = State::Note;
    return finding;
  }
  const std::string file = surroundings.python.find('/') != std::string::npos
                               ? surroundings.python
                               : program_file(surroundings.python, surroundings.path, {});
  try {
    const base::Output output =
        base::run_and_capture({file, "-I", "-c", kTryCompile}, {.err = base::Stream::Pipe, .seconds = 300});
    // Output of imports and compilers precedes the answer.
    const std::size_t answer = output.out.rfind("runs ");
    if (output.end.succeeded() && answer != std::string::npos) {
      const std::string device = output.out.substr(answer + 5);
      finding.found = "compiled and ran a function on " + device.substr(0, device.find('\n'));
      finding.state = State::Good;
      return finding;
    }
    std::string last = output.err.substr(0, output.err.find_last_not_of(" \n") + 1);
    last = last.substr(last.rfind('\n') + 1);
    finding.found = output.end.is_late || last.empty() ? "the attempt " + to_string(output.end) : last;
  } catch (const base::CannotStart& error) {
    finding.found = error.what();
  }
  finding.state = State::Problem;
  finding.wrong = "--compile inductor cannot run";
  finding.remedy = "install a compiler and the headers of Python (above), and on a GPU triton";
  return finding;
}

}  // namespace

std::vector<Finding> examine_software(const Surroundings& surroundings) {
  const SystemFiles files(surroundings.root);
  std::string why;
  const std::map<std::string, std::string> found = packages(surroundings, why);
  std::vector<Finding> findings = {cupti(surroundings), nsight_compute(surroundings, files)};
  findings.push_back(package(found, why, "software.onnxruntime", "ONNX Runtime",
                             {"onnxruntime", "onnxruntime-gpu", "onnxruntime-directml"}, "models cannot be run by it",
                             "pip install onnxruntime, or onnxruntime-gpu beside CUDA"));
  Finding torch =
      package(found, why, "software.pytorch", "PyTorch", {"torch", "torchvision", "transformers"},
              "models/run_torch.py and named models cannot be run", "pip install torch torchvision transformers");
  const auto version = found.find("torch");
  if (version == found.end()) {
    torch.state = State::Absent;
  } else if (version->second.find("+cpu") != std::string::npos) {
    torch.state = State::Note;
    torch.wrong = "this build has no CUDA support";
    torch.remedy = "pip install torch --index-url https://download.pytorch.org/whl/cu130, where there is a GPU";
  }
  findings.push_back(std::move(torch));
  findings.push_back(package(found, why, "software.triton", "Triton", {"triton"},
                             "torch.compile makes no kernels for a GPU", "pip install triton"));
  findings.push_back(compilers(surroundings, found.contains("torch")));
  findings.push_back(headers(found, why));
  findings.push_back(compile(surroundings, found));
  findings.push_back(package(found, why, "software.nvtx", "NVTX for Python", {"nvtx"},
                             "models/run_torch.py falls back to ranges of PyTorch, without a domain",
                             "pip install nvtx"));
  return findings;
}

}  // namespace pagoda::tools::doctor
