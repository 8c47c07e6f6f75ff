// pagoda-bench conv: measures convolutions of models over algorithms and input sizes.
#pragma once

namespace pagoda::tools::conv {

// Arguments as in main, beginning with the subcommand's name. Returns the exit code.
int conv_command(int argc, char** argv);

}  // namespace pagoda::tools::conv
