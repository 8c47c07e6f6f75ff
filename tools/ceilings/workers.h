// Persistent threads, each pinned to a CPU, and samples of the rate at which they work.
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

// Private memory of a worker: in huge pages if available, and first touched by the CPU that uses it.
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

  // Runs job(worker) on all workers at once and waits for the end. Throws what the first worker that failed threw.
  void run(const std::function<void(std::size_t)>& job);

  // Runs `work(worker)` on all workers at once, between two readings of the core's clock if a chain is given. The rate
  // is `amount` (of all workers together) over the time from the first start to the last end.
  Sample sample(const std::function<void(std::size_t)>& work, double amount, const ChainKernel* chain);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Memory of at least `bytes` for each worker, filled with 1.0 by that worker.
std::vector<Buffer> filled(Workers& workers, std::size_t bytes);

// Clock of the core this thread runs on: each addition of a dependent chain takes one clock. Uses the fastest of a few
// short runs, because disturbances can only lengthen a run.
double core_clock_hz(const ChainKernel& chain);

}  // namespace pagoda::tools::ceilings
