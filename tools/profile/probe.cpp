// Names and numbers are those of cuda.h. The child prints a line before each step, which locates a crash.
#include "probe.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "cuda_driver.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/process.h"
#include "pagoda/base/record_line.h"
#include "pagoda/base/text.h"

namespace pagoda::tools::profile {
namespace {

// Writes a line of the child's answer.
template <typename... Words>
void say(int to, const Words&... words) {
  base::write_all(to, base::joined(std::array{base::escaped(cat(words))...}, "\t") + "\n");
}

using ProbeFunction = int (*)(int device, int what, char*, std::size_t, char*, std::size_t);

int ask(int to, ProbeFor what, const std::string& library) {
  const auto fails = [to](const std::string& problem, const char* kind = "problem") {
    say(to, kind, problem);
    return 1;
  };
  say(to, "stage", "opening libcuda.so.1");
  const DynamicLibrary library_of_driver(cuda_places(), true);
  if (!library_of_driver)
    return fails(
        "there is no NVIDIA driver (libcuda.so.1 cannot be opened); install it, and in containers start with --gpus "
        "all");
  const CudaDriver driver(library_of_driver);
  if (!driver.init || !driver.device_count || !driver.device_name || !driver.version)
    return fails("libcuda.so.1 is not a CUDA driver; look at what LD_LIBRARY_PATH finds");
  say(to, "stage", "starting the driver");
  int devices = 0, number = 0;
  if (const int result = driver.init(0); result != 0) return fails(cuda_problem(result));
  if (driver.version(&number) == 0) say(to, "driver", number);
  if (const int result = driver.device_count(&devices); result != 0 || devices == 0)
    return fails(cuda_problem(result != 0 ? result : 100));
  ProbeFunction chips = nullptr;
  if (what != ProbeFor::Driver) {
    say(to, "stage", "opening " + library);
    chips = DynamicLibrary({library}).symbol<ProbeFunction>("pagoda_probe");
    if (chips == nullptr)
      return fails(library + " cannot be loaded; build Pagoda where CUDA's headers are found, or give --library");
  }
  for (int device = 0; device < devices; ++device) {
    char device_name[256] = {}, chip[64] = {}, problem[1024] = {};
    driver.device_name(device_name, sizeof device_name - 1, device);
    if (chips != nullptr) {
      say(to, "stage", cat("asking CUPTI for device ", device));
      if (const int failed = chips(device, static_cast<int>(what), chip, sizeof chip, problem, sizeof problem))
        return fails(problem, failed == kProbeOldDriver ? "old" : "problem");
    }
    say(to, "device", device, device_name, chip);
  }
  return 0;
}

void understand(const std::string& line, Probe& result, std::string& stage) {
  const std::vector<std::string> words = base::split_line(line);
  if (words.size() < 2) return;
  const std::string &kind = words[0], &text = words[1];
  if (kind == "stage") stage = text;
  if (kind == "old" || (kind == "problem" && result.problem.empty())) result.problem = text;
  if (kind == "old") result.is_driver_old = true;
  if (kind == "driver") result.driver = base::parse_number<int>(text).value_or(0);
  if (kind == "device" && words.size() >= 4)
    result.devices.push_back({base::parse_number<int>(text).value_or(0), words[2], words[3]});
}

}  // namespace

Probe probe(ProbeFor what, const std::string& library) {
  Probe result;
  base::Output answer;
  try {
    answer = base::ask_in_child(
        [&](int to) {
          for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) unsetenv(name);  // other tools'
          return ask(to, what, library);
        },
        kAnswerSeconds);
  } catch (const base::CannotStart& error) {
    result.problem = error.what();
    return result;
  }
  std::string stage = "starting", &text = answer.out;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    understand(text.substr(0, end), result, stage);
    text.erase(0, end + 1);
  }
  if (answer.end.is_late || answer.end.signal)
    result.problem = (answer.end.is_late ? "no answer within " + std::to_string(kAnswerSeconds) + " s while "
                                         : std::string(strsignal(*answer.end.signal)) + " while ") +
                     stage + "; the driver and CUPTI do not fit each other: pagoda-doctor says which are found";
  else if (result.problem.empty() && !answer.end.succeeded())
    result.problem = "the probe ended while " + stage;
  return result;
}

}  // namespace pagoda::tools::profile
