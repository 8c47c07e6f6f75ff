#include "pagoda/base/heap.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#endif

namespace pagoda::base {

void prefer_large_pages() {
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
  constexpr int kAhead = 256 << 20;        // address space: unused pages take no memory
  constexpr int kLargestBlock = 32 << 20;  // glibc's limit for blocks from the heap
  constexpr int kMappedBlock = 1 << 20;    // once the heap is full, larger blocks are mapped alone
  constexpr std::uintptr_t kLargePage = 2 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLargestBlock);
  ::mallopt(M_TRIM_THRESHOLD, INT_MAX);
  ::mallopt(M_TOP_PAD, kAhead);
  const auto begin = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  // Larger than what a program has free when it starts, so that the heap grows, once. Volatile, because compilers
  // remove a block that nothing uses.
  void* const volatile block = std::malloc(kLargestBlock / 2);
  std::free(block);
  ::mallopt(M_MMAP_THRESHOLD, kMappedBlock);
  const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  // Small models stay in small pages, which take less memory. A system without large pages refuses, and nothing is
  // lost.
  const std::uintptr_t first = begin / kLargePage * kLargePage + 2 * kLargePage;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

}  // namespace pagoda::base
