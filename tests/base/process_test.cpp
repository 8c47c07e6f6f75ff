// Programs are started from their words, whatever characters these contain; the end of a child does not end its parent.
#include "pagoda/base/process.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "pagoda/base/files.h"
#include "support/files.h"
#include "support/workshop.h"

namespace pagoda::base {
namespace {

namespace fs = std::filesystem;

TEST_CASE("words reach the program as they are: spaces, quotes and $(…) mean nothing") {
  const test::Workshop shop;
  for (const std::string word : {"two words", "it's \"quoted\"", "$(touch made)", "`touch made`", "a;touch made", "",
                                 "*", "-n\nnext", "\\", "ümlaut"}) {
    const Output output = run_and_capture({"printf", "%s|", word, "end"}, {.folder = shop.folder});
    CHECK(output.out == word + "|end|");
    CHECK(output.end.succeeded());
    const std::string file = shop.path("of " + std::to_string(word.size()) + " $(touch made) '\".sh");
    write_file(file, "#!/bin/sh\nprintf '%s' \"$1\"\n");
    fs::permissions(file, fs::perms::owner_all);
    CHECK(run_and_capture({file, word}, {.folder = shop.folder}).out == word);
  }
  CHECK_FALSE(fs::exists(shop.path("made")));
}

TEST_CASE("a program that cannot be started is an error that says why") {
  const test::Workshop shop;
  write_file(shop.path("plain"), "no program");
  const auto error_of = [](const std::vector<std::string>& words, const ProcessOptions& options = {}) {
    try {
      run_and_capture(words, options);
    } catch (const CannotStart& failure) {
      CHECK(std::string(failure.what()).starts_with(words[0] + ": cannot be started: "));
      return failure.error;
    }
    return 0;
  };
  CHECK(error_of({"/no/such/program"}) == ENOENT);
  CHECK(error_of({"pagoda-no-such-program"}) == ENOENT);
  CHECK(error_of({shop.path("plain")}) == EACCES);
  CHECK(error_of({"true"}, {.folder = shop.path("missing")}) == ENOENT);
}

TEST_CASE("the end of a program is its code, its signal or its time") {
  CHECK(run_and_capture({"true"}).end.succeeded());
  const ProcessEnd three = run_and_capture({"sh", "-c", "exit 3"}).end;
  CHECK(three.code == 3);
  CHECK(to_string(three) == "exited with 3");
  const ProcessEnd killed = run_and_capture({"sh", "-c", "kill -9 $$"}).end;
  CHECK(killed.signal == 9);
  CHECK_FALSE(killed.succeeded());
  CHECK(to_string(killed) == "was ended by signal 9");
  const auto start = std::chrono::steady_clock::now();
  // Its child also holds the pipe open: the whole process group is killed.
  const ProcessEnd late = run_and_capture({"sh", "-c", "sleep 60 & sleep 60"}, {.is_group = true, .seconds = 0.2}).end;
  CHECK(late.is_late);
  CHECK_FALSE(late.succeeded());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("streams, folder, environment and large outputs") {
  const test::Workshop shop;
  const Output both =
      run_and_capture({"sh", "-c", "echo out; echo err >&2; pwd; echo $PAGODA_WORD"},
                      {.err = Stream::Pipe, .environment = {{"PAGODA_WORD", "a $b"}}, .folder = shop.folder});
  CHECK(both.out == "out\n" + fs::canonical(shop.folder).string() + "\na $b\n");
  CHECK(both.err == "err\n");
  CHECK(std::getenv("PAGODA_WORD") == nullptr);
  CHECK(run_and_capture({"cat"}, {.in = Stream::Null}).out.empty());
  const Output large =
      run_and_capture({"sh", "-c", "head -c 3000000 /dev/zero >&2; head -c 2000000 /dev/zero"}, {.err = Stream::Pipe});
  CHECK(large.out.size() == 2000000);
  CHECK(large.err.size() == 3000000);
  ChildProcess cat({"cat"}, {.in = Stream::Pipe, .out = Stream::Pipe});
  const int in = cat.take_in(), out = cat.take_out();
  CHECK(write_all(in, "through"));
  ::close(in);
  char text[16] = {};
  CHECK(::read(out, text, sizeof text - 1) == 7);
  ::close(out);
  CHECK(cat.wait().succeeded());
  CHECK(cat.ended()->succeeded());
}

TEST_CASE("a child is gone with its object, and no descriptor leaks into it") {
  pid_t pid = 0;
  {
    const ChildProcess sleeper({"sleep", "60"}, {.out = Stream::Pipe});
    pid = sleeper.pid();
    CHECK(::kill(pid, 0) == 0);
  }
  CHECK(::kill(pid, 0) != 0);
  const auto descriptors = [] { return run_and_capture({"ls", "/proc/self/fd"}, {.in = Stream::Null}).out; };
  const std::string before = descriptors();
  const ChildProcess other({"cat"}, {.in = Stream::Pipe, .out = Stream::Pipe, .err = Stream::Pipe});
  CHECK(descriptors() == before);
}

TEST_CASE("a question in a child costs its answer, not the asker") {
  const auto answer = [](int to) { return write_all(to, "yes") ? 0 : 1; };
  CHECK(ask_in_child(answer, 10).out == "yes");
  const Output crashed = ask_in_child(
      [](int to) -> int {
        write_all(to, "so far");
        std::abort();
      },
      10);
  CHECK(crashed.out == "so far");
  CHECK(crashed.end.signal == SIGABRT);
  CHECK(ask_in_child([](int) -> int { throw Error("lost"); }, 10).end.code == 1);
  const Output hung = ask_in_child(
      [](int) -> int {
        for (;;) ::pause();
      },
      0.1);
  CHECK(hung.end.is_late);
  CHECK(hung.end.signal == SIGKILL);
}

}  // namespace
}  // namespace pagoda::base
