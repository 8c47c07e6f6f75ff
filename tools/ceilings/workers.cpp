// Pinned threads, and samples on them with the observed disturbances.
#include "workers.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <new>
#include <utility>

#include "machine.h"
#include "system_files.h"

namespace pagoda::tools::ceilings {
namespace {

// CPU time of this thread.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

void Buffer::Unmap::operator()(char* memory) const { munmap(memory, bytes); }

Buffer::Buffer(std::size_t bytes) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  const std::size_t whole = (bytes + kHuge - 1) / kHuge * kHuge;
  void* memory = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = {static_cast<char*>(memory), Unmap{whole}};
  madvise(memory, whole, MADV_HUGEPAGE);
}

double core_clock_hz(const ChainKernel& chain) {
  constexpr std::uint64_t kTrips = 3000;  // about 0.1 ms
  double best = 1e30;
  for (int i = 0; i < 4; ++i) {
    const double start = steady_seconds();
    chain.run(kTrips);
    best = std::min(best, steady_seconds() - start);
  }
  return static_cast<double>(kTrips * kChainClocks) / best;
}

void Workers::loop(std::size_t worker) {
  pin_to_cpu(cpus_[worker]);
  flush_denormals();
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    const auto* work = job_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      (*work)(worker);
    } catch (...) {
      thrown = std::current_exception();
      has_failed_ = true;
    }
    lock.lock();
    if (!failure_) failure_ = thrown;
    if (--busy_ == 0) idle_.notify_one();
  }
}

// All workers leave together. Yields, so that two workers on the same CPU do not block each other for long.
void Workers::barrier() {
  arrived_.fetch_add(1);
  for (int spins = 0; arrived_.load() < cpus_.size() && !has_failed_; ++spins)
    if (spins > 20000) std::this_thread::yield();
}

Workers::Workers(std::vector<int> cpus) : cpus_(std::move(cpus)) {
  for (std::size_t i = 0; i < cpus_.size(); ++i) threads_.emplace_back([this, i] { loop(i); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(const std::function<void(std::size_t)>& job) {
  std::unique_lock lock(mutex_);
  job_ = &job;
  busy_ = cpus_.size();
  arrived_ = 0;
  has_failed_ = false;
  ++round_;
  wake_.notify_all();
  idle_.wait(lock, [&] { return busy_ == 0; });
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
}

Sample Workers::sample(const std::function<void(std::size_t)>& work, double amount, const ChainKernel* chain) {
  struct Seen {
    double start = 0, end = 0, clock_before = 0, clock_after = 0;
    bool preempted = false, stolen = false;
  };
  std::vector<Seen> seen(size());
  run([&](std::size_t worker) {
    Seen& s = seen[worker];
    const std::int64_t stolen = stolen_ticks(cpus_[worker]);
    if (chain) s.clock_before = core_clock_hz(*chain);
    barrier();
    const long switches = involuntary_switches();
    const double cpu_start = cpu_seconds();
    s.start = steady_seconds();
    work(worker);
    s.end = steady_seconds();
    // Elapsed time in which this thread did not run: interrupts and other threads.
    const double lost = s.end - s.start - (cpu_seconds() - cpu_start);
    s.preempted = involuntary_switches() != switches || lost > 3e-5 + 0.003 * (s.end - s.start);
    if (chain) s.clock_after = core_clock_hz(*chain);
    s.stolen = stolen_ticks(cpus_[worker]) != stolen;
  });
  Sample result;
  double start = seen[0].start, end = seen[0].end;
  for (const Seen& s : seen) {
    start = std::min(start, s.start);
    end = std::max(end, s.end);
    // Take the higher reading: disturbances only lower a reading, and the work ran between the two.
    result.clock_hz += std::max(s.clock_before, s.clock_after) / static_cast<double>(seen.size());
    if (s.preempted) result.disturbances |= kPreempted;
    if (s.stolen) result.disturbances |= kStolen;
  }
  result.seconds = end - start;
  result.rate = amount / result.seconds;
  return result;
}

std::vector<Buffer> filled(Workers& workers, std::size_t bytes) {
  std::vector<Buffer> memory(workers.size());
  workers.run([&](std::size_t worker) {
    Buffer buffer(bytes + 65536);  // room for gaps between arrays
    std::fill_n(reinterpret_cast<double*>(buffer.data()), buffer.size() / sizeof(double), 1.0);
    memory[worker] = std::move(buffer);
  });
  return memory;
}

}  // namespace pagoda::tools::ceilings
