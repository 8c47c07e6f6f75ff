// Runs a shell command for each run. Options of the config: command, in which {batch} and other axes are replaced;
// pattern, a regular expression whose first group matches a time in the command's output; scale, the seconds per unit
// of that time; items, the number of items per run (default: the batch).
#include <algorithm>
#include <iostream>
#include <regex>

#include "experiment_run.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/process.h"
#include "pagoda/documents/result.h"
#include "system_files.h"

namespace pagoda::tools::bench {
namespace {

using documents::Config;

// Replaces {name} by the config's value; other braces remain.
std::string substituted(std::string command, const Config& config) {
  for (const auto& [name, value] : config) {
    if (name == "command") continue;
    const std::string mark = "{" + name + "}", text = base::setting_text(value);
    for (std::size_t at = 0; (at = command.find(mark, at)) != std::string::npos; at += text.size())
      command.replace(at, mark.size(), text);
  }
  return command;
}

// All times that match the pattern, in seconds.
std::vector<double> printed_times(const std::string& text, const std::regex& pattern, double scale) {
  std::vector<double> times;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
    if (it->size() > 1 && (*it)[1].matched) {
      const std::string found = (*it)[1];
      const std::size_t begin = std::min(found.find_first_not_of(" \t+"), found.size());
      if (const auto time = base::leading_number<double>(found.substr(begin))) times.push_back(*time * scale);
    }
  return times;
}

// The command to run, after prepare().
struct Prepared {
  std::string command;
  std::optional<std::regex> pattern;
  double scale = 1;
};

Prepared prepare(const Config& config) {
  Prepared prepared;
  prepared.command = substituted(documents::text_of(config, "command"), config);
  prepared.scale = documents::number_of(config, "scale").value_or(1);
  try {
    if (config.contains("pattern")) prepared.pattern = std::regex(documents::text_of(config, "pattern"));
  } catch (const std::regex_error& error) {
    throw Error(cat("pattern: ", error.what()));
  }
  return prepared;
}

// Seconds of each of `wanted` runs. Throws Error.
std::vector<double> run(const Prepared& prepared, std::size_t wanted) {
  std::vector<double> seconds;
  while (seconds.size() < wanted) {
    const double start = steady_seconds();
    // The shell gets the user's command unchanged.
    const base::Output output = base::run_and_capture({"/bin/sh", "-c", prepared.command});
    const double taken = steady_seconds() - start;
    if (!output.end.succeeded()) throw Error(cat("the command ", to_string(output.end)));
    if (!prepared.pattern) {
      seconds.push_back(taken);
      continue;
    }
    const std::vector<double> times = printed_times(output.out, *prepared.pattern, prepared.scale);
    if (times.empty()) throw Error("the command printed nothing that fits the pattern");
    seconds.insert(seconds.end(), times.begin(), times.end());
  }
  return seconds;
}

std::string answer_to(const JsonValue& asked, Prepared& prepared) {
  const std::string op = text(asked, "op");
  if (op == "prepare") {
    const Config config = settings(asked, "config");
    prepared = prepare(config);
    const auto items = documents::number_of(config, config.contains("items") ? "items" : "batch");
    return event("ready", [&](JsonWriter& json) { json.member("items", items); });
  }
  if (op != "run") return event("unsupported", "a command cannot do \"" + op + "\"");
  const auto seconds = run(prepared, static_cast<std::size_t>(number(asked, "iterations").value_or(1)));
  return event("times", [&](JsonWriter& json) {
    json.member("seconds", seconds).member("clock", prepared.pattern ? "as printed" : "steady, whole process");
  });
}

}  // namespace

int cmd_worker() {
  Prepared prepared;
  return serve(std::cin, std::cout, "the command's output does not fit into memory",
               [&](const JsonValue& asked) { return answer_to(asked, prepared); });
}

}  // namespace pagoda::tools::bench
