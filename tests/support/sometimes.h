// A condition under which something is checked: fails if it never held, since the check then proved nothing.
//
//   test::Sometimes is_bounded("a lower bound");                            // before the loop
//   if (is_bounded(dim.lower_bound())) CHECK(*dim.lower_bound() <= value);  // within
#pragma once

#include <doctest/doctest.h>

namespace pagoda::test {

class Sometimes {
 public:
  explicit Sometimes(const char* what) : what_(what) {}
  ~Sometimes() { CHECK_MESSAGE(has_held_, "never seen: ", what_); }
  Sometimes(const Sometimes&) = delete;
  Sometimes& operator=(const Sometimes&) = delete;

  template <typename Condition>
  bool operator()(const Condition& condition) {
    const bool holds = static_cast<bool>(condition);
    has_held_ = has_held_ || holds;
    return holds;
  }

 private:
  const char* what_;
  bool has_held_ = false;
};

}  // namespace pagoda::test
