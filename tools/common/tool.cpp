#include "tool.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "pagoda/base/files.h"
#include "pagoda/base/open_file.h"
#include "pagoda/base/terminal.h"
#include "pagoda/base/text.h"
#include "pagoda/core/device.h"
#include "pagoda/present/spell.h"

namespace pagoda::tools {
namespace {

int say(const char* name, const char* what, int code) {
  std::fprintf(stderr, "%s: %s%s%s%s\n", name, what, code == kUsage ? "; see " : "", code == kUsage ? name : "",
               code == kUsage ? " --help" : "");
  return code;
}

// Keeps the line breaks of a message whose further lines are indented, and escapes all other control characters.
std::string lines(std::string_view message) {
  constexpr std::string_view kNext = "\n  ";
  return base::joined(base::split(message, kNext), kNext, base::printable);
}

std::vector<std::string_view> command_words;  // of this process, without the program's name

// True if the command names a file twice: the file that it writes is also read. A word may be an option with its value,
// or a list.
bool is_named_twice(const base::FileState& file) {
  int times = 0;
  const auto names_it = [&](std::string_view word) {
    const auto there = word.empty() ? std::nullopt : base::file_state(std::string(word));
    return there && there->is_same_file(file);
  };
  for (std::string_view word : command_words) {
    if (word.starts_with("--") && word.find('=') != std::string_view::npos) word.remove_prefix(word.find('=') + 1);
    const bool is_attached = word.starts_with("-o") && !word.starts_with("--");
    if (is_attached) word.remove_prefix(2);
    bool is_named = names_it(word);
    for (std::size_t comma = word.find(','); !is_named && comma != std::string_view::npos; comma = word.find(',')) {
      is_named = names_it(word.substr(0, comma));
      word.remove_prefix(comma + 1);
      is_named |= names_it(word);
    }
    times += is_named ? 1 : 0;
  }
  return times > 1;
}

// A variable of a script that is not set gives an option without its value.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (!option->get_positional())
      for (const std::string& value : option->results())
        if (value.empty())
          throw UsageError(option->get_name() + " is given an empty value, expected one or no such option");
  for (const CLI::App* command : app.get_subcommands()) refuse_empty_values(*command);
}

}  // namespace

bool parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    refuse_empty_values(app);
    return true;
  } catch (const CLI::Success& request) {  // --help, --version
    app.exit(request);
    return false;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

void refuse_beside(const CLI::App& app, const std::string& option, const std::vector<std::string>& takes) {
  if (app.count(option) == 0) return;
  for (const CLI::Option* other : app.get_options()) {
    const std::string name = other->get_name();
    if (other->count() > 0 && name != option && std::ranges::find(takes, name) == takes.end())
      throw UsageError(option + " answers by itself; it does not go with " + name);
  }
}

int run_tool(const char* name, int argc, char** argv, int (*body)(int, char**)) noexcept {
  // The message may quote arbitrary input: escape it, so that the terminal does not interpret it.
  const auto fail = [&](const char* what, int code) {
    try {
      return say(name, lines(present::command_line(what)).c_str(), code);
    } catch (...) {
      return say(name, what, code);
    }
  };
  base::prepare_standard_streams();
  try {
    command_words.assign(argv + std::min(argc, 1), argv + argc);
    return body(argc, argv);
  } catch (const CLI::Success&) {
    return kDone;
  } catch (const CLI::ParseError& error) {
    return fail(error.what(), kUsage);
  } catch (const ToolError& error) {
    return fail(error.what(), error.exit_code);
  } catch (const UnknownDevice& error) {
    return fail(error.what(), kNoDevice);
  } catch (const std::bad_alloc&) {
    return say(name, "there is not enough memory", kUnusable);
  } catch (const std::exception& error) {
    return fail(error.what(), kUnusable);
  } catch (...) {
    return say(name, "an exception of an unknown type ended it; please report this", kUnusable);
  }
}

void write_output(const std::string& path, const std::string& text) {
  if (!path.empty() && path != "-") {
    const auto there = base::file_state(path);
    if (there && there->kind == base::FileKind::Regular && is_named_twice(*there))
      throw Error(path + ": is an input of this command, expected another name for the output");
    return base::write_file(path, text);
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error(std::string("standard output: cannot be written: ") + std::strerror(errno));
}

}  // namespace pagoda::tools
