#include "support/comma_locale.h"

#include <clocale>
#include <cstdlib>

#include "pagoda/base/files.h"

namespace pagoda::test {
namespace {

constexpr const char* kName = "de_DE.UTF-8";

struct Punctuation : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

// The folder of the locale, made at the first call; it may stay empty.
const std::string& made_locales() {
  static const base::TemporaryFolder folder("pagoda-locale");
  [[maybe_unused]] static const int made =
      std::system(("localedef -i de_DE -f UTF-8 " + folder.path(kName) + " >/dev/null 2>&1").c_str());
  return folder.path();
}

}  // namespace

CommaLocale::CommaLocale() : before_(std::locale::global(std::locale(std::locale::classic(), new Punctuation))) {
  if (std::setlocale(LC_ALL, kName) == nullptr) {
    ::setenv("LOCPATH", made_locales().c_str(), 1);
    std::setlocale(LC_ALL, kName);
  }
  is_of_c_ = std::string_view(std::localeconv()->decimal_point) == ",";
}

CommaLocale::~CommaLocale() {
  ::unsetenv("LOCPATH");
  std::setlocale(LC_ALL, "C");
  std::locale::global(before_);
}

}  // namespace pagoda::test
