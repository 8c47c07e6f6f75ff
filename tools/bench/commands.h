// The commands of pagoda-bench, one function each. Each returns the exit code and throws Error.
#pragma once

#include "arguments.h"

namespace pagoda::tools::bench {

int run_command(const Arguments& arguments);
int resume_command(const Arguments& arguments);
int list_models_command(const Arguments& arguments);
int one_command(const Arguments& arguments);
int task_command(const Arguments& arguments);
int submit_command(const Arguments& arguments);
int status_command(const Arguments& arguments);

}  // namespace pagoda::tools::bench
