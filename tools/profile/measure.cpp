// A session is pagoda-profile without a child process: the same probe, settings and record files, for its own process.
#include "pagoda/measure.h"

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "injected.h"
#include "pagoda/base/files.h"
#include "pagoda/documents/metrics.h"
#include "probe.h"

namespace pagoda::measure {
namespace {

using documents::MetricMode;
using namespace tools::profile;

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t kDomain = nvtxDomainCreateA("pagoda");
  return kDomain;
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
  std::optional<base::TemporaryFolder> folder;
  std::vector<std::pair<std::string, std::string>> environment;  // empty: this session measures nothing
  std::vector<documents::Missing> missing;
};

Session::Session(const SessionOptions& options) : state_(std::make_unique<State>()) {
  if (options.mode != "time" && options.mode != "quick" && options.mode != "exact")
    throw Error("session mode \"" + options.mode + "\": expected time, quick or exact");
  State& state = *state_;
  state.options = options;
  if (std::getenv(kSettingsVariable) != nullptr) return;  // pagoda-profile runs this program
  state.library = injected_library(options.library, PAGODA_BUILT_LIBRARY);
  const bool is_time = options.mode == "time";
  const Probe probed = probe(is_time ? ProbeFor::Times : ProbeFor::Counters, state.library);
  state.problem = probed.problem;
  if (!state.problem.empty()) return;
  Settings settings;
  settings.collect = is_time ? Collect::Times : Collect::Launches;
  settings.replay = options.mode == "exact";
  settings.kernel = options.kernel;
  settings.nvtx = options.nvtx;
  const MetricMode mode = settings.replay ? MetricMode::Exact : MetricMode::Quick;
  for (const ProbedDevice& device : probed.devices) {
    if (is_time) break;
    const documents::MetricPlan plan =
        documents::plan_metrics(documents::chip_metrics(device.chip), mode, options.precision);
    settings.groups[device.chip] = measured::profile::session_metrics(plan, mode);
    state.missing = plan.missing;
  }
  try {
    settings.folder = state.folder.emplace("pagoda-session").path();
  } catch (const Error& error) {
    state.problem = error.what();
    return;
  }
  state.environment = injection(state.library, settings);
  for (const auto& [name, value] : state.environment) setenv(name.c_str(), value.c_str(), 1);
}

Session::~Session() {
  try {
    finish();
  } catch (...) {  // an unwritable output must not end the program
  }
}

const std::string& Session::problem() const { return state_->problem; }

documents::Measured Session::finish() {
  State& state = *state_;
  if (state.environment.empty()) return {};
  for (const auto& [name, value] : std::exchange(state.environment, {})) unsetenv(name.c_str());
  // If the program used the driver or NVTX, the library is already loaded.
  if (void* const library = dlopen(state.library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
    if (const auto end = reinterpret_cast<void (*)()>(dlsym(library, "pagoda_finish"))) end();
  const measured::profile::RecordedRun run = read_records(state.folder->path());
  state.folder.reset();
  documents::Measured measured = evaluated({run}, {state.options.mode, state.missing, std::nullopt});
  measured.tool = std::string("pagoda::measure::Session ") + PAGODA_VERSION;
  if (!state.options.output.empty()) base::write_file(state.options.output, documents::write_measured(measured));
  return measured;
}

}  // namespace pagoda::measure
