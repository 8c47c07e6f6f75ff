// SmallVector: a std::vector that holds its first few elements itself. Graphs have millions of lists of one or two
// elements, and a block of memory for each would take longer to allocate than the elements take to fill in.
//
//   SmallVector<std::int32_t, 2> readers;
//   readers.push_back(7);                       // no allocation up to two elements
//   for (const std::int32_t node : readers) …
//
// As in std::vector, growing, moving and assigning invalidate references to elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)
namespace pagoda::base {

template <typename T, std::size_t N>
class SmallVector {
  static_assert(std::is_nothrow_move_constructible_v<T> && N > 0);

 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() noexcept {}
  explicit SmallVector(std::size_t count, const T& value = T()) { resize(count, value); }
  SmallVector(std::initializer_list<T> items) : SmallVector(items.begin(), items.end()) {}
  template <std::input_iterator Iterator>
  SmallVector(Iterator first, Iterator last) {
    append(first, last);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  SmallVector& operator=(std::initializer_list<T> items) {
    assign(items.begin(), items.end());
    return *this;
  }
  ~SmallVector() { drop(); }

  T* data() noexcept { return is_inside() ? own() : block_; }
  const T* data() const noexcept { return is_inside() ? own() : block_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  void clear() noexcept { shrink(0); }
  void resize(std::size_t count, const T& value = T()) {
    if (count < size_) shrink(count);
    reserve(count);
    while (size_ < count) emplace_back(value);
  }
  template <typename Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    append(first, last);
  }
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ < capacity_) return *new (data() + size_++) T(std::forward<Arguments>(arguments)...);
    T item(std::forward<Arguments>(arguments)...);  // the arguments may be elements of this list
    grow(size_ + 1);
    return *new (block_ + size_++) T(std::move(item));
  }
  void push_back(const T& item) { emplace_back(item); }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  void pop_back() { shrink(size_ - 1); }
  // Inserts before `place`.
  T* insert(const T* place, T item) {
    const std::ptrdiff_t at = place - data();
    push_back(std::move(item));
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }
  T* erase(const T* first, const T* last) {
    T* const place = begin() + (first - begin());
    T* const rest = std::move(begin() + (last - begin()), end(), place);
    shrink(static_cast<std::size_t>(rest - begin()));
    return place;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  bool is_inside() const noexcept { return capacity_ == N; }
  T* own() noexcept { return std::launder(reinterpret_cast<T*>(own_)); }
  const T* own() const noexcept { return std::launder(reinterpret_cast<const T*>(own_)); }

  template <typename Iterator>
  void append(Iterator first, Iterator last) {
    reserve(size_ + static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
  }

  void shrink(std::size_t count) noexcept {
    std::destroy(begin() + count, end());
    size_ = static_cast<std::uint32_t>(count);
  }

  void grow(std::size_t count) {
    const std::size_t capacity = std::max<std::size_t>(count, 2 * std::size_t{capacity_});
    T* const items = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), items);
    std::destroy(begin(), end());
    if (!is_inside()) std::allocator<T>().deallocate(block_, capacity_);
    block_ = items;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }

  void drop() noexcept {
    std::destroy(begin(), end());
    if (!is_inside()) std::allocator<T>().deallocate(block_, capacity_);
    size_ = 0;
    capacity_ = N;
  }

  // This list is empty and has no block.
  void take(SmallVector& other) noexcept {
    if (other.is_inside()) {
      std::uninitialized_move(other.begin(), other.end(), own());
      size_ = other.size_;
      other.clear();
    } else {
      block_ = other.block_;
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(N));
    }
  }

  union {
    alignas(T) std::byte own_[N * sizeof(T)];
    T* block_ = nullptr;  // of more than N elements
  };
  std::uint32_t size_ = 0, capacity_ = N;
};

}  // namespace pagoda::base
#pragma GCC visibility pop
