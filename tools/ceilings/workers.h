// Threads that stay, each pinned to a CPU, and what a measured stretch of work on them was worth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cpu_kernels.h"
#include "protocol.h"

namespace pagoda::tools::ceilings {

double seconds_now();

// Private memory of a worker: huge pages where the kernel gives them, touched first by the CPU that uses it.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  char* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Workers {
 public:
  explicit Workers(std::vector<int> cpus);
  ~Workers();
  std::size_t size() const;
  const std::vector<int>& cpus() const;

  // Runs job(worker) on every worker at once and waits.
  void run(const std::function<void(std::size_t)>& job);

  // Runs `work(worker)` on every worker at once, between two readings of the core's clock where a chain is given. The
  // rate is `amount` (of all workers together) over the time from the first start to the last end.
  Sample sample(const std::function<void(std::size_t)>& work, double amount, const ChainKernel* chain);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Clock of the core this thread runs on: additions of a dependent chain take one clock each. The fastest of a few short
// stretches, because a disturbance only ever makes one longer.
double core_clock_hz(const ChainKernel& chain);

}  // namespace pagoda::tools::ceilings
