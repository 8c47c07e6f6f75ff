// A management library whose state the test sets: power, energy, clock throttle reasons.
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace {
unsigned long long reasons = 0, millijoules = 0;
unsigned milliwatts = 0;
int device = 0;
}  // namespace

extern "C" {
void fake_set(unsigned long long new_reasons, unsigned new_milliwatts, unsigned long long new_millijoules) {
  reasons = new_reasons;
  milliwatts = new_milliwatts;
  millijoules = new_millijoules;
}
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  *handle = &device;
  return std::strcmp(bus, "0000:01:00.0") == 0 ? 0 : 6;  // not found
}
int nvmlDeviceGetPowerUsage(void*, unsigned* value) {
  *value = milliwatts;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* value) {
  *value = millijoules;
  // For manual runs of the tool: a board that always draws this power.
  if (const char* watts = std::getenv("FAKE_NVML_WATTS"))
    *value = static_cast<unsigned long long>(
        1e3 * std::atof(watts) *
        std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* value) {
  *value = type == 1 ? 1755 : 3201;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned*) { return 3; }  // not supported
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* value) {
  *value = reasons;
  return 0;
}
}
