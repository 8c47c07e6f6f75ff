// No exception escapes a tool's main, and each kind gives its documented exit code and message.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "pagoda/core/device.h"
#include "support/files.h"
#include "support/workshop.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

struct Said {
  int code;
  std::string err;
};

Said said(int (*body)(int, char**)) {
  const test::Workshop shop;
  std::fflush(stderr);
  const int before = ::dup(2), file = ::open(shop.path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(file, 2);
  const int code = run_tool("some-tool", 0, nullptr, body);
  std::fflush(stderr);
  ::dup2(before, 2);
  ::close(before);
  ::close(file);
  return {code, test::read_file(shop.path("err"))};
}

int help(int, char**) { throw CLI::CallForHelp(); }
int parsed(int, char**) { throw CLI::ExtrasError({"--what"}); }
int usage(int, char**) { throw UsageError("--a needs --b"); }
int own(int, char**) { throw ToolError(77, "no library"); }
int device(int, char**) { throw UnknownDevice("no device \"h300\""); }
int error(int, char**) { throw Error("a\x1b[2Jb.onnx: is empty"); }
int lines(int, char**) { throw Error("a: 2 mistakes:\n  b\n  c\x1b"); }
int standard(int, char**) { throw std::runtime_error("odd"); }
int memory(int, char**) { throw std::bad_alloc(); }
int unknown(int, char**) { throw 7; }

TEST_CASE("each kind of failure has its exit code and names the tool") {
  struct Row {
    int (*body)(int, char**);
    int code;
    const char* err;
  };
  const Row rows[] = {
      {help, kDone, ""},
      {parsed, kUsage, "some-tool: The following argument was not expected: --what; see some-tool --help\n"},
      {usage, kUsage, "some-tool: --a needs --b; see some-tool --help\n"},
      {own, 77, "some-tool: no library\n"},
      {device, kNoDevice, "some-tool: no device \"h300\"\n"},
      {error, kUnusable, "some-tool: a\\x1b[2Jb.onnx: is empty\n"},
      {lines, kUnusable, "some-tool: a: 2 mistakes:\n  b\n  c\\x1b\n"},
      {standard, kUnusable, "some-tool: odd\n"},
      {memory, kUnusable, "some-tool: there is not enough memory\n"},
      {unknown, kUnusable, "some-tool: an exception of an unknown type ended it; please report this\n"},
  };
  for (const Row& row : rows) {
    const Said result = said(row.body);
    CHECK(result.code == row.code);
    CHECK(result.err == row.err);
  }
  CHECK(said([](int, char**) { return int{kPartial}; }).code == kPartial);
}

}  // namespace
}  // namespace pagoda::tools
