// pagoda-profile, a C program with ranges and kernels, and a driver and CUPTI that are fakes.
#pragma once

#include <filesystem>
#include <string>

#include "support/workshop.h"

namespace pagoda::test {

struct ProfiledProgram : Workshop {
  ProfiledProgram() {
    std::filesystem::create_directories(path("driver"));
    std::filesystem::copy_file(PAGODA_FAKE_CUDA, path("driver/libcuda.so.1"));
  }

  // Environment variables that select the fake driver.
  std::string driver() const {
    return "PAGODA_CUPTI='" + path("driver/libcuda.so.1") + "' LD_LIBRARY_PATH='" + path("driver") + "' ";
  }

  // `trouble` is FAKE_CUDA, or "none" for no driver at all. `arguments` is shell text; $P is the program.
  Outcome run(const std::string& trouble, const std::string& arguments) const {
    const std::string before = "P='" PAGODA_NVTX_PROGRAM "' ";
    return shell((trouble == "none" ? before : before + "FAKE_CUDA='" + trouble + "' " + driver()) +
                 "sh -c '\"" PAGODA_PROFILE "\" " + arguments + "'");
  }
};

}  // namespace pagoda::test
