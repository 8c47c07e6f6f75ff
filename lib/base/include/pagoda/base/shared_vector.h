// SharedVector: a std::vector of eight bytes, whose copies share the elements until one of them is written to. A model
// of 100,000 nodes has as many shapes, and each is repeated in the values, the rows and the document.
//
//   SharedVector<int> sizes = {1, 3, 224, 224};
//   SharedVector<int> same = sizes;             // counts a holder, copies no elements
//   same[0] = 8;                                // now it copies them: sizes[0] is 1
//   for (const int size : std::as_const(sizes)) …
//
// Access through a vector that is not const makes the elements its own, and invalidates references if they were shared.
// Vectors that share elements may be read and copied by several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "pagoda/base/small_vector.h"

// Since 2.32, glibc states whether a process has one thread. For older ones zig has the header, too, and refuses it.
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define PAGODA_HAS_SINGLE_THREADED
#endif
#endif

#pragma GCC visibility push(default)
namespace pagoda::base {

// Counts the holders of a shared object. In a process without other threads the count is not atomic: atomic counting
// would cost more than the work on most shared objects.
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

template <typename T>
class SharedVector : public ListOperations<SharedVector<T>, T> {
  using Operations = ListOperations<SharedVector<T>, T>;
  static_assert(std::is_nothrow_move_constructible_v<T> && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

 public:
  SharedVector() noexcept = default;
  // Each begins as an empty list, whose destructor frees the elements so far if the next one throws.
  explicit SharedVector(std::size_t count, const T& value = T()) : SharedVector() { this->resize(count, value); }
  SharedVector(std::initializer_list<T> items) : SharedVector(items.begin(), items.end()) {}
  template <std::input_iterator Iterator>
  SharedVector(Iterator first, Iterator last) : SharedVector() {
    this->append(first, last);
  }
  SharedVector(const SharedVector& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->holders.add();
  }
  SharedVector(SharedVector&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedVector& operator=(SharedVector other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedVector() { leave(); }

  std::size_t size() const noexcept { return block_ == nullptr ? 0 : block_->size; }
  const T* data() const noexcept { return items(); }
  T* data() { return own(); }

  void reserve(std::size_t count) {
    if (count > capacity()) move_to(count);
  }
  void clear() noexcept {
    leave();
    block_ = nullptr;
  }
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (block_ != nullptr && block_->holders.is_one() && block_->size < block_->capacity) {
      T* const made = new (items() + block_->size) T(std::forward<Arguments>(arguments)...);
      ++block_->size;  // once nothing can throw
      return *made;
    }
    T item(std::forward<Arguments>(arguments)...);  // the arguments may be elements of this list
    move_to(size() < capacity() ? capacity() : std::max<std::size_t>(size() + 1, 2 * capacity()));
    return *new (items() + block_->size++) T(std::move(item));
  }

 private:
  friend Operations;
  struct Block {  // `capacity` elements follow it
    Holders holders;
    std::uint32_t size = 0, capacity;
  };
  static constexpr std::size_t kHeader = (sizeof(Block) + alignof(T) - 1) / alignof(T) * alignof(T);

  std::size_t capacity() const noexcept { return block_ == nullptr ? 0 : block_->capacity; }
  T* items() const noexcept {
    return block_ == nullptr ? nullptr : reinterpret_cast<T*>(reinterpret_cast<std::byte*>(block_) + kHeader);
  }
  T* own() {
    if (block_ != nullptr && !block_->holders.is_one()) move_to(block_->size);
    return items();
  }

  // Moves the elements, or copies them if others hold them, to a block of this capacity.
  void move_to(std::size_t capacity) {
    SharedVector larger;
    larger.block_ = new (::operator new(kHeader + capacity * sizeof(T)))
        Block{.holders = {}, .size = 0, .capacity = static_cast<std::uint32_t>(capacity)};
    if (block_ != nullptr && block_->holders.is_one())
      std::uninitialized_move(items(), items() + size(), larger.items());
    else
      std::uninitialized_copy(items(), items() + size(), larger.items());
    larger.block_->size = static_cast<std::uint32_t>(size());
    std::swap(block_, larger.block_);
  }

  void shrink(std::size_t count) {
    T* const first = own();
    std::destroy(first + count, first + size());
    if (block_ != nullptr) block_->size = static_cast<std::uint32_t>(count);
  }

  void leave() noexcept {
    if (block_ == nullptr || !block_->holders.leave()) return;
    std::destroy(items(), items() + block_->size);
    block_->~Block();
    ::operator delete(block_);
  }

  Block* block_ = nullptr;
};

}  // namespace pagoda::base
#pragma GCC visibility pop
