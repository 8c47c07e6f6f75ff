// A private folder for a test, and programs that run in it through the shell.
//
//   const test::Workshop shop;
//   write_file(shop.path("in.txt"), "7");
//   const test::Outcome result = shop.shell("cat in.txt; echo hm >&2; exit 3");   // 3, "7", "hm\n"
#pragma once

#include <string>

#include "pagoda/base/files.h"

namespace pagoda::test {

struct Outcome {
  int code = -1;  // exit code, or 128 + the signal that ended it
  std::string out, err;

  bool says(const std::string& text) const { return (out + err).find(text) != std::string::npos; }
};

class Workshop {
 public:
  std::string path(const std::string& name) const { return folder_.path(name); }

  // Runs shell text in the folder, without input. Redirections in the text take precedence.
  Outcome shell(const std::string& command) const;

 private:
  const base::TemporaryFolder folder_{"pagoda-test"};

 public:
  const std::string folder = folder_.path();  // lives as long as this object
};

}  // namespace pagoda::test
