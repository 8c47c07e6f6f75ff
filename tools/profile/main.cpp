// pagoda-profile: runs a program and reports what each of its kernels did on the GPU, and for which node of the model.
#include "arguments.h"
#include "tool.h"

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("pagoda-profile", argc, argv, [](int count, char** words) {
    const auto options = pagoda::tools::profile::parse_options(count, words);
    return options ? pagoda::tools::profile::run(*options) : pagoda::tools::kDone;
  });
}
