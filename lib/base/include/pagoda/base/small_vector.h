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

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

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
    if (size_ < capacity_) return *new (data_ + size_++) T(std::forward<Arguments>(arguments)...);
    T item(std::forward<Arguments>(arguments)...);  // the arguments may be elements of this list
    grow(size_ + 1);
    return *new (data_ + size_++) T(std::move(item));
  }
  void push_back(const T& item) { emplace_back(item); }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  void pop_back() { shrink(size_ - 1); }
  // Inserts before `place`.
  T* insert(const T* place, T item) {
    const std::ptrdiff_t at = place - data_;
    push_back(std::move(item));
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
    return data_ + at;
  }
  T* erase(const T* first, const T* last) {
    T* const place = data_ + (first - data_);
    T* const rest = std::move(data_ + (last - data_), end(), place);
    shrink(static_cast<std::size_t>(rest - data_));
    return place;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* own() noexcept { return reinterpret_cast<T*>(own_); }

  template <typename Iterator>
  void append(Iterator first, Iterator last) {
    reserve(size_ + static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
  }

  void shrink(std::size_t count) noexcept {
    std::destroy(data_ + count, data_ + size_);
    size_ = static_cast<std::uint32_t>(count);
  }

  void grow(std::size_t count) {
    const std::size_t capacity = std::max<std::size_t>(count, 2 * std::size_t{capacity_});
    T* const items = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), items);
    std::destroy(begin(), end());
    if (data_ != own()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = items;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }

  void drop() noexcept {
    std::destroy(begin(), end());
    if (data_ != own()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = own();
    size_ = 0;
    capacity_ = N;
  }

  // This list is empty and has no block.
  void take(SmallVector& other) noexcept {
    if (other.data_ == other.own()) {
      std::uninitialized_move(other.begin(), other.end(), own());
      size_ = other.size_;
      other.clear();
    } else {
      data_ = std::exchange(other.data_, other.own());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(N));
    }
  }

  T* data_ = own();
  std::uint32_t size_ = 0, capacity_ = N;
  alignas(T) std::byte own_[N * sizeof(T)];
};

}  // namespace pagoda::base
#pragma GCC visibility pop
