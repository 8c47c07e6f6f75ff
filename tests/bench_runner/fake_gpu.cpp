// NVIDIA's driver and management library in one, for a GPU that always draws 250 W: an energy counter that moves every
// 50 ms, or power only where FAKE_GPU_COUNTER is "no". Like a driver, it numbers visible devices only.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
int device = 0;
bool counts() {
  const char* said = std::getenv("FAKE_GPU_COUNTER");
  return !said || std::strcmp(said, "no") != 0;
}
}  // namespace

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGet(int* handle, int index) {
  *handle = index;
  return index < 2 ? 0 : 101;
}
int cuDeviceGetPCIBusId(char* text, int size, int handle) {
  std::snprintf(text, static_cast<unsigned>(size), "0000:0%d:00.0", handle + 1);
  return 0;
}
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  *handle = &device;
  return std::strcmp(bus, "0000:02:00.0") == 0 ? 0 : 6;  // not found
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.42");
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* value) {
  *value = 250000;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* value) {
  *value = 700000;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* value) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  *value = static_cast<unsigned long long>(milliseconds / 50 * 50) * 250;  // 250 W for 1 ms is 250 mJ
  return counts() ? 0 : 3;                                                 // not supported
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* value) {
  *value = type == 1 ? 1755 : 3201;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* value) {
  *value = 61;
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* value) {
  *value = 0x4;  // software power cap
  return 0;
}
}
