// pagoda-bench: runs and times real models.
#include <string_view>

#include "arguments.h"
#include "conv_command.h"
#include "tool.h"

namespace pagoda::tools::bench {
namespace {

int run(int argc, char** argv) {
  // These subcommands parse their own options.
  if (argc > 1 && std::string_view(argv[1]) == "conv") return conv::conv_command(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "matmul") return conv::matmul_command(argc - 1, argv + 1);
  const std::optional<Arguments> arguments = parse_arguments(argc, argv);
  return arguments ? arguments->command(*arguments) : kDone;
}

}  // namespace
}  // namespace pagoda::tools::bench

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("pagoda-bench", argc, argv, pagoda::tools::bench::run);
}
