// pagoda-bench conv: convolutions of models over algorithms and input sizes.
#pragma once

namespace pagoda::tools::conv {

// Arguments as of main, the subcommand's name first. Returns the exit code.
int conv_command(int argc, char** argv);

}  // namespace pagoda::tools::conv
