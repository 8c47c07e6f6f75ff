// A process whose decimal point is a comma, as programs set it that embed the library: a Python program that calls
// locale.setlocale(), or one of Qt.
//
//   const test::CommaLocale locale;        // until the end of the scope
//   CHECK(report() == report_before);
#pragma once

#include <locale>

namespace pagoda::test {

class CommaLocale {
 public:
  CommaLocale();
  ~CommaLocale();
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  // Whether C's functions have the comma, too. They need a locale of the system, installed or made by its localedef;
  // C++'s streams need none.
  bool is_of_c() const { return is_of_c_; }

 private:
  std::locale before_;
  bool is_of_c_ = false;
};

}  // namespace pagoda::test
