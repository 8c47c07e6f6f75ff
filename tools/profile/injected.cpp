#include "injected.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "pagoda/base/files.h"
#include "pagoda/documents/metrics.h"

namespace pagoda::tools::profile {

namespace {

namespace fs = std::filesystem;

// The first chip that ran a kernel; empty if no record names one.
std::string recorded_chip(const std::vector<measured::profile::RecordedRun>& runs) {
  for (const measured::profile::RecordedRun& run : runs)
    for (const auto& process : run)
      if (!process.chips.empty()) return process.chips.front();
  return "";
}

}  // namespace

std::string injected_library(const std::string& chosen, const std::string& built) {
  if (!chosen.empty()) return fs::absolute(chosen).string();
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path :
       {self / "libpagoda_inject.so", self / ".." / PAGODA_LIBDIR / "pagoda/libpagoda_inject.so", fs::path(built)})
    if (fs::exists(path, error)) return fs::canonical(path).string();
  return (self / "libpagoda_inject.so").string();
}

std::vector<std::pair<std::string, std::string>> injection(const std::string& library, const Settings& settings) {
  const std::string file = settings.folder + "/settings";
  std::ofstream(file) << write_settings(settings);
  return {{"CUDA_INJECTION64_PATH", library}, {"NVTX_INJECTION64_PATH", library}, {kSettingsVariable, file}};
}

measured::profile::RecordedRun read_records(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".record") paths.push_back(entry.path());
  std::ranges::sort(paths);
  measured::profile::RecordedRun run;
  for (const fs::path& path : paths)
    run.push_back(measured::profile::parse_record(base::read_file(path.string(), "a record"), path.string()));
  return run;
}

documents::Measured evaluated(const std::vector<measured::profile::RecordedRun>& runs,
                              const measured::profile::RecordOptions& options) {
  const std::string chip = recorded_chip(runs);
  const bool has_counters = options.mode != "time" && !chip.empty();
  return measured::profile::measured_of(runs, has_counters ? &documents::chip_metrics(chip) : nullptr, options);
}

}  // namespace pagoda::tools::profile
