// Persistent threads, each pinned to a CPU, and samples of the rate at which they work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cpu_kernels.h"
#include "protocol.h"

namespace pagoda::tools::ceilings {

// Private memory of a worker: in huge pages if available, and first touched by the CPU that uses it.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  char* data() const { return memory_.get(); }
  std::size_t size() const { return memory_.get_deleter().bytes; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(char* memory) const;
  };
  std::unique_ptr<char, Unmap> memory_;
};

class Workers {
 public:
  explicit Workers(std::vector<int> cpus);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  std::size_t size() const { return cpus_.size(); }
  const std::vector<int>& cpus() const { return cpus_; }

  // Runs job(worker) on all workers at once and waits for the end. Throws what the first worker that failed threw.
  void run(const std::function<void(std::size_t)>& job);

  // Runs `work(worker)` on all workers at once, between two readings of the core's clock if a chain is given. The rate
  // is `amount` (of all workers together) over the time from the first start to the last end.
  Sample sample(const std::function<void(std::size_t)>& work, double amount, const ChainKernel* chain);

 private:
  void loop(std::size_t worker);
  void barrier();

  std::vector<int> cpus_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  const std::function<void(std::size_t)>* job_ = nullptr;
  std::uint64_t round_ = 0;
  std::size_t busy_ = 0;
  bool stop_ = false;
  std::atomic<std::size_t> arrived_{0};
  std::exception_ptr failure_;           // the first of the round
  std::atomic<bool> has_failed_{false};  // nobody waits for a worker that failed
};

// Memory of at least `bytes` for each worker, filled with 1.0 by that worker.
std::vector<Buffer> filled(Workers& workers, std::size_t bytes);

// Clock of the core this thread runs on: each addition of a dependent chain takes one clock. Uses the fastest of a few
// short runs, because disturbances can only lengthen a run.
double core_clock_hz(const ChainKernel& chain);

}  // namespace pagoda::tools::ceilings
