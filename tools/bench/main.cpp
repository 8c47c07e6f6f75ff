// pagoda-bench: runs and times real models.
#include <iostream>
#include <string_view>

#include "cmd_worker.h"
#include "commands.h"
#include "conv_command.h"
#include "tool.h"

namespace pagoda::tools::bench {
namespace {

int worker(const std::string& name) {
  if (name == "cmd") return cmd_worker();
  if (name == "conv") return conv::conv_worker(std::cin, std::cout);
  throw Error("there is no built-in worker \"" + name + "\"");
}

int run(int argc, char** argv) {
  // These subcommands parse their own options.
  if (argc > 1 && std::string_view(argv[1]) == "conv") return conv::conv_command(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "matmul") return conv::matmul_command(argc - 1, argv + 1);
  const std::optional<Arguments> arguments = parse_arguments(argc, argv);
  if (!arguments) return kDone;
  switch (arguments->command) {
    case Command::Run:
      return run_command(*arguments);
    case Command::Resume:
      return resume_command(*arguments);
    case Command::ListModels:
      return list_models_command(*arguments);
    case Command::Status:
      return status_command(*arguments);
    case Command::Submit:
      return submit_command(*arguments);
    case Command::One:
      return one_command(*arguments);
    case Command::Task:
      return task_command(*arguments);
    case Command::Worker:
      return worker(arguments->worker);
  }
  return kUsage;
}

}  // namespace
}  // namespace pagoda::tools::bench

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("pagoda-bench", argc, argv, pagoda::tools::bench::run);
}
