// Runs a shell command for each run. Options of the config: command, in which {batch} and other axes are replaced;
// pattern, an expression whose first group is a time in what the command prints; scale, seconds of one of its units;
// items, what one run handles (default: the batch).
#include "cmd_worker.h"

#include <chrono>
#include <iostream>
#include <regex>

#include "pagoda/base/process.h"
#include "pagoda/documents/experiment.h"
#include "session.h"

namespace pagoda::tools::bench {
namespace {

using documents::Config;

void answer(const Json& event) { std::cout << event.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl; }

void answer_error(const std::string& message) { answer({{"event", "error"}, {"message", message}}); }

std::string text_value(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// {name} → the config's value; other braces stay.
std::string substituted(std::string command, const Json& config) {
  for (const auto& [name, value] : config.items()) {
    if (name == "command") continue;
    const std::string mark = "{" + name + "}";
    for (std::size_t at = 0; (at = command.find(mark, at)) != std::string::npos;) {
      const std::string text = text_value(value);
      command.replace(at, mark.size(), text);
      at += text.size();
    }
  }
  return command;
}

struct Finished {
  double seconds = 0;
  std::string printed, failure;
};

// The command is a line for the shell, as its user wrote it.
Finished execute(const std::string& command) {
  const auto start = std::chrono::steady_clock::now();
  const base::Output output = base::run_and_capture({"/bin/sh", "-c", command});
  return {.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          .printed = output.out,
          .failure = output.end.succeeded() ? "" : to_string(output.end)};
}

// Every time that the pattern finds, in seconds.
std::vector<double> printed_times(const std::string& text, const std::regex& pattern, double scale) {
  std::vector<double> times;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
    if (it->size() > 1 && (*it)[1].matched) times.push_back(std::strtod((*it)[1].str().c_str(), nullptr) * scale);
  return times;
}

}  // namespace

int cmd_worker() {
  std::string command;
  std::optional<std::regex> pattern;
  double scale = 1;
  for (std::string line; std::getline(std::cin, line);) {
    const Json request = Json::parse(line, nullptr, false);
    const std::string op = request.is_object() ? request.value("op", "") : "";
    if (op == "quit") break;
    if (op == "prepare") {
      const Json config = request.value("config", Json::object());
      command = substituted(config.value("command", ""), config);
      scale = config.value("scale", 1.0);
      try {
        if (config.contains("pattern")) pattern = std::regex(config.value("pattern", ""));
      } catch (const std::regex_error& error) {
        answer_error(std::string("pattern: ") + error.what());
        return 1;
      }
      answer({{"event", "ready"},
              {"items", config.contains("items") ? config["items"] : config.value("batch", Json())},
              {"load_seconds", nullptr},
              {"compile_seconds", nullptr}});
    } else if (op == "run") {
      std::vector<double> seconds;
      const auto wanted = static_cast<std::size_t>(request.value("iterations", 1));
      while (seconds.size() < wanted) {
        const Finished run = execute(command);
        if (!run.failure.empty()) {
          answer_error("the command " + run.failure);
          return 1;
        }
        if (!pattern) {
          seconds.push_back(run.seconds);
          continue;
        }
        const std::vector<double> times = printed_times(run.printed, *pattern, scale);
        if (times.empty()) {
          answer_error("the command printed nothing that fits the pattern");
          return 1;
        }
        seconds.insert(seconds.end(), times.begin(), times.end());
      }
      answer({{"event", "times"}, {"seconds", seconds}, {"clock", pattern ? "as printed" : "steady, whole process"}});
    } else {
      answer({{"event", "unsupported"}, {"message", "a command cannot do \"" + op + "\""}});
    }
  }
  return 0;
}

}  // namespace pagoda::tools::bench
