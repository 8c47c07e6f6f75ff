// A session is pagoda-profile without a child process: the same probe, settings and record files, for its own process.
#include "pagoda/measure.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <nvtx3/nvToolsExt.h>

#include "inject/settings.h"
#include "pagoda/base/files.h"
#include "pagoda/documents/metrics.h"
#include "pagoda/measured/record.h"
#include "probe.h"

namespace pagoda::measure {
namespace {

namespace fs = std::filesystem;

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t kDomain = nvtxDomainCreateA("pagoda");
  return kDomain;
}

std::string library_path(const std::string& chosen) {
  if (!chosen.empty()) return fs::absolute(chosen).string();
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {self / "libpagoda_inject.so", self / ".." / PAGODA_LIBDIR / "pagoda/libpagoda_inject.so",
                               fs::path(PAGODA_BUILT_LIBRARY)})
    if (fs::exists(path, error)) return fs::canonical(path).string();
  return (self / "libpagoda_inject.so").string();
}

}  // namespace

Range::Range(const std::string& name) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &event);
}
Range::~Range() { nvtxDomainRangePop(domain()); }

struct Session::State {
  SessionOptions options;
  std::string problem, library;
  std::optional<pagoda::base::TemporaryFolder> folder;
  std::vector<pagoda::documents::Missing> missing;
  bool is_ours = false;
};

Session::Session(const SessionOptions& options) : state_(std::make_unique<State>()) {
  if (options.mode != "time" && options.mode != "quick" && options.mode != "exact")
    throw Error("session mode \"" + options.mode + "\": expected time, quick or exact");
  State& state = *state_;
  state.options = options;
  if (std::getenv(tools::profile::kSettingsVariable) != nullptr) return;  // pagoda-profile runs this program
  state.library = library_path(options.library);
  const bool is_time = options.mode == "time";
  const tools::profile::Probe probed = tools::profile::probe(
      is_time ? tools::profile::ProbeFor::Times : tools::profile::ProbeFor::Counters, state.library);
  state.problem = probed.problem;
  if (!state.problem.empty()) return;
  tools::profile::Settings settings;
  settings.collect = is_time ? tools::profile::Collect::Times : tools::profile::Collect::Launches;
  settings.replay = options.mode == "exact";
  settings.kernel = options.kernel;
  settings.nvtx = options.nvtx;
  for (const tools::profile::ProbedDevice& device : probed.devices) {
    if (is_time) break;
    const pagoda::documents::MetricPlan plan = pagoda::documents::plan_metrics(
        pagoda::documents::chip_metrics(device.chip),
        settings.replay ? pagoda::documents::MetricMode::Exact : pagoda::documents::MetricMode::Quick,
        options.precision);
    settings.groups[device.chip] = pagoda::measured::profile::session_metrics(
        plan, settings.replay ? pagoda::documents::MetricMode::Exact : pagoda::documents::MetricMode::Quick);
    state.missing = plan.missing;
  }
  try {
    state.folder.emplace("pagoda-session");
  } catch (const pagoda::Error& error) {
    state.problem = error.what();
    return;
  }
  settings.folder = state.folder->path();
  const std::string file = state.folder->path("settings");
  std::ofstream(file) << tools::profile::write_settings(settings);
  setenv("CUDA_INJECTION64_PATH", state.library.c_str(), 1);
  setenv("NVTX_INJECTION64_PATH", state.library.c_str(), 1);
  setenv(tools::profile::kSettingsVariable, file.c_str(), 1);
  state.is_ours = true;
}

Session::~Session() {
  try {
    finish();
  } catch (...) {  // an unwritable output must not end the program
  }
}

const std::string& Session::problem() const { return state_->problem; }

pagoda::documents::Measured Session::finish() {
  State& state = *state_;
  pagoda::documents::Measured measured;
  if (!state.is_ours) return measured;
  state.is_ours = false;
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", tools::profile::kSettingsVariable})
    unsetenv(name);
  // If the program used the driver or NVTX, the library is already loaded.
  if (void* const library = dlopen(state.library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
    if (const auto end = reinterpret_cast<void (*)()>(dlsym(library, "pagoda_finish"))) end();
  pagoda::measured::profile::RecordedRun run;
  std::string chip;
  for (const auto& entry : fs::directory_iterator(state.folder->path())) {
    if (entry.path().extension() != ".record") continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    run.push_back(pagoda::measured::profile::parse_record(text, entry.path().string()));
    if (chip.empty() && !run.back().chips.empty()) chip = run.back().chips.front();
  }
  state.folder.reset();
  const pagoda::measured::profile::RecordOptions how{state.options.mode, state.missing, std::nullopt};
  measured = state.options.mode == "time" || chip.empty()
                 ? pagoda::measured::profile::measured_of({run}, how)
                 : pagoda::measured::profile::measured_of({run}, pagoda::documents::chip_metrics(chip), how);
  measured.tool = std::string("pagoda::measure::Session ") + PAGODA_VERSION;
  if (!state.options.output.empty())
    pagoda::base::write_file(state.options.output, pagoda::documents::write_measured(measured));
  return measured;
}

}  // namespace pagoda::measure
