// Boxed: like std::optional, but the value has a block of its own, so that an empty one takes 8 bytes. It is for what
// only a few of a hundred thousand nodes and tensors have.
#pragma once

#include <memory>
#include <utility>

#pragma GCC visibility push(default)
namespace pagoda::base {

template <typename T>
class Boxed {
 public:
  Boxed() noexcept = default;
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}  // implicit, as std::optional's
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    if (this != &other) *this = Boxed(other);
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  explicit operator bool() const noexcept { return value_ != nullptr; }
  bool has_value() const noexcept { return value_ != nullptr; }
  T& operator*() noexcept { return *value_; }
  const T& operator*() const noexcept { return *value_; }
  T* operator->() noexcept { return value_.get(); }
  const T* operator->() const noexcept { return value_.get(); }
  // The value or null.
  const T* get() const noexcept { return value_.get(); }

  template <typename... Arguments>
  T& emplace(Arguments&&... arguments) {
    value_ = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    return *value_;
  }
  void reset() noexcept { value_.reset(); }

  friend bool operator==(const Boxed& a, const Boxed& b) { return a && b ? *a == *b : !a && !b; }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace pagoda::base
#pragma GCC visibility pop
