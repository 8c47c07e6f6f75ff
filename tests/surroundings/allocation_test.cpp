// Without memory every output ends in std::bad_alloc or an Error, unless it can do without, and leaves nothing behind.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "pagoda/base/error.h"
#include "surroundings/outputs.h"

namespace {

std::atomic<std::int64_t> allocations = 0, live = 0, fails_at = -1;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations++ == fails_at) throw std::bad_alloc();
  void* const memory = alignment > alignof(std::max_align_t)
                           ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                           : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  ++live;
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) --live;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 1); }
// std::stable_sort allocates its buffer with this operator, and sorts in place if it returns null.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocate(bytes, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace pagoda {
namespace {

// How a call ends in which one allocation fails, and how many blocks of memory it leaves behind.
struct Ending {
  bool is_exception = false, is_same = false;
  std::int64_t left = 0;
};

Ending ending_of(const test::Output& output, const std::string& expected, std::int64_t at) {
  Ending ending;
  const std::int64_t before = live;
  allocations = 0;
  fails_at = at;
  try {
    ending.is_same = output.make() == expected;
  } catch (const std::bad_alloc&) {
    ending.is_exception = true;
  } catch (const Error&) {
    ending.is_exception = true;
  }
  fails_at = -1;
  ending.left = live - before;
  return ending;
}

}  // namespace

TEST_CASE("an allocation that fails is an exception, and nothing is lost") {
  constexpr std::int64_t kEach = 100, kSome = 40;  // the first ones, and some over all the rest
  for (const test::Output& output : test::outputs()) {
    CAPTURE(std::string(output.name));
    (void)output.make();  // tables that are made once
    allocations = 0;
    const std::string expected = output.make();
    const std::int64_t all = allocations;
    REQUIRE(all > 0);
    for (std::int64_t at = 0; at < all; at += at < kEach ? 1 : std::max<std::int64_t>(1, all / kSome)) {
      const Ending ending = ending_of(output, expected, at);
      CAPTURE(at);
      // A sort whose buffer was not allocated gives the expected output.
      REQUIRE((ending.is_exception || ending.is_same));
      REQUIRE(ending.left == 0);
    }
  }
}

}  // namespace pagoda
