// A management library whose state the test sets by environment variables: NVML_<what>. Two devices where NVML_COUNT
// says so. Without a variable the answer is 3, not supported.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kNotSupported = 3;
int devices[2] = {0, 1};

int answer(const char* name, unsigned* value) {
  const char* text = std::getenv(name);
  if (!text) return kNotSupported;
  *value = static_cast<unsigned>(std::strtoul(text, nullptr, 0));
  return 0;
}
int copy(const char* name, char* buffer, unsigned length) {
  const char* text = std::getenv(name);
  if (!text) return kNotSupported;
  std::strncpy(buffer, text, length);
  return 0;
}

struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

extern "C" {
int nvmlInit_v2() {
  unsigned code = 0;
  answer("NVML_INIT", &code);
  return static_cast<int>(code);
}
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlSystemGetDriverVersion(char* buffer, unsigned length) { return copy("NVML_DRIVER", buffer, length); }
int nvmlDeviceGetCount_v2(unsigned* count) { return answer("NVML_COUNT", count); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = &devices[index % 2];
  return 0;
}
int nvmlDeviceGetName(void*, char* buffer, unsigned length) { return copy("NVML_NAME", buffer, length); }
int nvmlDeviceGetClockInfo(void*, int, unsigned* value) { return answer("NVML_CLOCK", value); }
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* value) { return answer("NVML_MAX_CLOCK", value); }
int nvmlDeviceGetClock(void*, int, int id, unsigned* value) {
  return answer(id == 1 ? "NVML_APP_CLOCK" : "NVML_APP_DEFAULT", value);
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* value) {
  unsigned reasons = 0;
  const int code = answer("NVML_REASONS", &reasons);
  *value = reasons;
  return code;
}
int nvmlDeviceGetAutoBoostedClocksEnabled(void*, unsigned* now, unsigned* usual) {
  *usual = 0;
  return answer("NVML_AUTOBOOST", now);
}
int nvmlDeviceGetPersistenceMode(void*, unsigned* value) { return answer("NVML_PERSISTENCE", value); }
int nvmlDeviceGetEccMode(void*, unsigned* now, unsigned* later) {
  answer("NVML_ECC_PENDING", later);
  return answer("NVML_ECC", now);
}
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* later) {
  *later = 0;
  return device == &devices[0] ? answer("NVML_MIG", now) : kNotSupported;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  unsigned pid = 0;
  *count = 0;
  if (answer("NVML_PROCESS", &pid) != 0) return kNotSupported;
  if (pid == 0 || device != &devices[0]) return 0;
  processes[0] = {pid, 1 << 20, 0, 0};
  *count = 1;
  return 0;
}
}
