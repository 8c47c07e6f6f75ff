// pagoda-metrics: generates the metric catalogue (data/metrics) from CUPTI's host library, and checks the catalogue
// against the library. Needs CUPTI, but no GPU; up to CUDA 13.1, no driver either.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "metrics.h"
#include "pagoda/base/process.h"
#include "probe.h"
#include "tool.h"

namespace pagoda::tools::profile {
namespace {

// From CUDA 13.2 on, the library does not work without a driver. That of 13.2 crashes, so the query runs in a child.
bool answers(const CuptiLibrary& library) {
  return base::ask_in_child([&](int) { return library.version() != 0 && !library.chips().empty() ? 0 : 1; },
                            kAnswerSeconds)
      .end.succeeded();
}

int run(int argc, char** argv) {
  CLI::App app{"Writes or checks the catalogue of hardware counters; needs CUPTI, no GPU.", "pagoda-metrics"};
  app.set_version_flag("--version", "pagoda-metrics " PAGODA_VERSION);
  std::string folder, path, list, images;
  bool is_check = false;
  app.add_option("--write", folder, "write one file per family of chips into this folder");
  app.add_flag("--check", is_check, "compare the built-in catalogue with the library; exit 77 if there is none");
  app.add_option("--list", list, "print every metric of this chip with what it counts");
  app.add_option(
      "--decode", images,
      "evaluate a counter image of pagoda-profile --keep-raw, or all of a folder, and compare with the values "
      "beside it; exit 77 if there is none");
  app.add_option("--cupti", path, "the library: path of libcupti.so");
  if (!parse(app, argc, argv)) return kDone;
  for (const char* option : {"--write", "--check", "--list", "--decode"}) refuse_beside(app, option, {"--cupti"});
  if (folder.empty() && list.empty() && images.empty() && !is_check)
    throw UsageError("say what to do: --write FOLDER, --check, --list CHIP or --decode IMAGE");
  const CuptiLibrary library(path);
  if (!library.available()) {
    std::fprintf(stderr, "pagoda-metrics: skipped: %s\n", library.why().c_str());
    return kNoLibrary;
  }
  if (!answers(library)) {
    std::fprintf(stderr,
                 "pagoda-metrics: skipped: %s does not answer; from CUDA 13.2 on it needs a driver: give CUPTI of CUDA "
                 "12.6 to 13.1 with --cupti\n",
                 library.path().c_str());
    return kNoLibrary;
  }
  if (!list.empty()) {
    const HostChip host(library, list);
    for (const std::string& name : host.metrics())
      std::printf("%s\t%s\n", name.c_str(), host.description(name).c_str());
    return kDone;
  }
  if (!images.empty()) return decode_images(library, images);
  if (!folder.empty()) return write_catalogue(library, folder), kDone;
  return check_catalogue(library);
}

}  // namespace
}  // namespace pagoda::tools::profile

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("pagoda-metrics", argc, argv, pagoda::tools::profile::run);
}
