// A driver library: CUDA_INIT is the result of cuInit; "crash" ends the process, "hang" never returns.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

extern "C" {
int cuInit(unsigned) {
  const char* text = std::getenv("CUDA_INIT");
  if (text && std::strcmp(text, "crash") == 0) std::raise(SIGSEGV);
  if (text && std::strcmp(text, "hang") == 0)
    for (;;) pause();
  return text ? std::atoi(text) : 0;
}
int cuDriverGetVersion(int* version) {
  *version = 13020;
  return 0;
}
// The part of CUPTI that reports a version.
int cuptiGetVersion(unsigned* version) {
  *version = 130001;
  return 0;
}
}
