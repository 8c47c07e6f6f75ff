// A CUDA driver whose device is the interpreter: cuModuleLoadData takes PTX, cuLaunchKernel executes it, and the
// record of each launch can be inspected.
#pragma once

#include "machine.h"

namespace ptx {

struct Driver {
  int major = 9, minor = 0;  // compute capability
  Order order = Order::Forward;
  bool keeps = false;  // whether launches are kept in `launches`
  std::vector<Work> launches;
  std::map<std::string, Kernel> kernels;
  Memory memory;
  std::map<std::uint64_t, void*> allocated;
  std::string fault;  // of the last call that failed
  // Frees everything that is loaded or allocated.
  void reset();
};
Driver& driver();

}  // namespace ptx
