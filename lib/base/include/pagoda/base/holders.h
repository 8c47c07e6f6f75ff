// Counts the holders of a shared object. In a process without other threads the count is not atomic: atomic counting
// would cost more than the work on most shared objects.
#pragma once

#include <atomic>
#include <cstdint>

// Since 2.32, glibc says whether a process has one thread. For older ones, zig has the file, too, and refuses it.
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define PAGODA_HAS_SINGLE_THREADED
#endif
#endif

#pragma GCC visibility push(default)
namespace pagoda::base {

class Holders {
 public:
  Holders() = default;
  Holders(const Holders&) noexcept {}  // of a copy: its maker alone
  Holders& operator=(const Holders&) = delete;

  void add() noexcept {
    if (is_alone())
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else
      count_.fetch_add(1, std::memory_order_relaxed);
  }
  // Whether nobody else holds the object, which may then be written to.
  bool is_one() const noexcept { return count_.load(std::memory_order_acquire) == 1; }
  // Whether the last holder left.
  bool leave() noexcept {
    if (!is_alone()) return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    const std::uint32_t left = count_.load(std::memory_order_relaxed) - 1;
    count_.store(left, std::memory_order_relaxed);
    return left == 0;
  }

 private:
  static bool is_alone() {
#ifdef PAGODA_HAS_SINGLE_THREADED
    return __libc_single_threaded != 0;
#else
    return false;
#endif
  }

  std::atomic<std::uint32_t> count_ = 1;
};

}  // namespace pagoda::base
#pragma GCC visibility pop
