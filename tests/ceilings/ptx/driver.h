// A CUDA driver whose device is the interpreter: what cuModuleLoadData is given is PTX, what cuLaunchKernel launches is
// executed, and the record of it can be looked at.
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
  // Everything that is loaded or allocated goes.
  void reset();
};
Driver& driver();

}  // namespace ptx
