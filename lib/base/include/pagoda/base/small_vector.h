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

// The operations of a std::vector, for the lists of this layer, which store their elements in their own way. `List` has
// data(), size(), reserve(), emplace_back() and shrink(), which removes elements from the end.
template <typename List, typename T>
class ListOperations {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  bool empty() const noexcept { return self().size() == 0; }
  const T* begin() const noexcept { return self().data(); }
  const T* end() const noexcept { return self().data() + self().size(); }
  const T& operator[](std::size_t i) const { return self().data()[i]; }
  const T& front() const { return self().data()[0]; }
  const T& back() const { return self().data()[self().size() - 1]; }
  T* begin() { return self().data(); }
  T* end() { return self().data() + self().size(); }
  T& operator[](std::size_t i) { return self().data()[i]; }
  T& front() { return self().data()[0]; }
  T& back() { return self().data()[self().size() - 1]; }

  void push_back(const T& item) { self().emplace_back(item); }
  void push_back(T&& item) { self().emplace_back(std::move(item)); }
  void pop_back() { self().shrink(self().size() - 1); }
  void resize(std::size_t count, const T& value = T()) {
    if (count < self().size()) self().shrink(count);
    if (count <= self().size()) return;
    T item(value);  // it may be an element of this list
    self().reserve(count);
    while (self().size() + 1 < count) self().emplace_back(item);
    self().emplace_back(std::move(item));
  }
  template <typename Iterator>
  void assign(Iterator first, Iterator last) {
    self() = List(first, last);
  }
  // Inserts before `place`.
  T* insert(const T* place, const T& item) { return insert(place, 1, item); }
  T* insert(const T* place, std::size_t count, const T& item) {
    return insert_with(place, [&] { resize(self().size() + count, item); });
  }
  template <std::input_iterator Iterator>
  T* insert(const T* place, Iterator first, Iterator last) {
    return insert_with(place, [&] { append(first, last); });
  }
  T* erase(const T* place) { return erase(place, place + 1); }
  T* erase(const T* first, const T* last) {
    const std::ptrdiff_t at = first - std::as_const(*this).begin(), count = last - first;
    T* const rest = std::move(begin() + at + count, end(), begin() + at);
    self().shrink(static_cast<std::size_t>(rest - begin()));
    return begin() + at;
  }

  friend bool operator==(const List& a, const List& b) {
    return a.data() == b.data() ? a.size() == b.size() : std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 protected:
  template <typename Iterator>
  void append(Iterator first, Iterator last) {
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    if (count == 0) return;
    self().reserve(self().size() + count);
    for (; first != last; ++first) self().emplace_back(*first);
  }

 private:
  List& self() noexcept { return static_cast<List&>(*this); }
  const List& self() const noexcept { return static_cast<const List&>(*this); }

  template <typename Append>
  T* insert_with(const T* place, const Append& append_items) {
    const std::ptrdiff_t at = place - std::as_const(*this).begin();
    const auto before = static_cast<std::ptrdiff_t>(self().size());
    append_items();
    std::rotate(begin() + at, begin() + before, end());
    return begin() + at;
  }
};

template <typename T, std::size_t N>
class SmallVector : public ListOperations<SmallVector<T, N>, T> {
  using Operations = ListOperations<SmallVector<T, N>, T>;
  static_assert(std::is_nothrow_move_constructible_v<T> && N > 0);

 public:
  SmallVector() noexcept {}
  // Each begins as an empty list, whose destructor frees the elements so far if the next one throws.
  explicit SmallVector(std::size_t count, const T& value = T()) : SmallVector() { this->resize(count, value); }
  SmallVector(std::initializer_list<T> items) : SmallVector(items.begin(), items.end()) {}
  template <std::input_iterator Iterator>
  SmallVector(Iterator first, Iterator last) : SmallVector() {
    this->append(first, last);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this == &other) return *this;
    clear();
    this->append(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    drop();
    take(other);
    return *this;
  }
  SmallVector& operator=(std::initializer_list<T> items) { return *this = SmallVector(items); }
  ~SmallVector() { drop(); }

  T* data() noexcept { return is_inside() ? own() : block_; }
  const T* data() const noexcept { return is_inside() ? own() : block_; }
  std::size_t size() const noexcept { return size_; }

  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  void clear() noexcept { shrink(0); }
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == capacity_) {
      T item(std::forward<Arguments>(arguments)...);  // the arguments may be elements of this list
      grow(size_ + 1);
      return *new (block_ + size_++) T(std::move(item));
    }
    T* const made = new (data() + size_) T(std::forward<Arguments>(arguments)...);
    ++size_;  // once nothing can throw
    return *made;
  }

 private:
  friend Operations;
  bool is_inside() const noexcept { return capacity_ == N; }
  T* own() noexcept { return std::launder(reinterpret_cast<T*>(own_)); }
  const T* own() const noexcept { return std::launder(reinterpret_cast<const T*>(own_)); }

  void shrink(std::size_t count) noexcept {
    std::destroy(data() + count, data() + size_);
    size_ = static_cast<std::uint32_t>(count);
  }

  void grow(std::size_t count) {
    const std::size_t capacity = std::max<std::size_t>(count, 2 * std::size_t{capacity_});
    T* const items = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(data(), data() + size_, items);
    std::destroy(data(), data() + size_);
    if (!is_inside()) std::allocator<T>().deallocate(block_, capacity_);
    block_ = items;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }

  void drop() noexcept {
    std::destroy(data(), data() + size_);
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
