// From a counter image to numbers, by CUPTI's own host library, without a device. The library also makes the images:
// one per chip, with a range in which nothing was counted.
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <nvperf_host.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cupti_call.h"
#include "cupti_library.h"
#include "pagoda/documents/metrics.h"
#include "pagoda/measured/record.h"
#include "support/workshop.h"

namespace pagoda::tools::profile {
namespace {

using Image = std::vector<std::uint8_t>;

const CuptiLibrary& library() {
  static const CuptiLibrary kLibrary;
  return kLibrary;
}

// Calls a function of the library below CUPTI's; only the copy in CUPTI's own folder works.
template <typename Params>
bool below(const char* name, Params& params) {
  static void* const kHost =
      dlopen((std::filesystem::path(library().path()).parent_path() / "libnvperf_host.so").c_str(), RTLD_NOW);
  const auto function = kHost ? reinterpret_cast<NVPA_Status (*)(Params*)>(dlsym(kHost, name)) : nullptr;
  return function != nullptr && function(&params) == NVPA_STATUS_SUCCESS;
}

// The raw counters that a configuration programs.
std::vector<const char*> raw_counters(const Image& config, std::size_t passes) {
  std::vector<const char*> names;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    NVPW_Config_GetRawCounters_Params get = {};
    get.structSize = NVPW_Config_GetRawCounters_Params_STRUCT_SIZE;
    get.pConfig = config.data();
    get.configSize = config.size();
    get.passIndex = pass;
    if (!below("NVPW_Config_GetRawCounters", get)) return {};
    const std::size_t before = names.size();
    names.resize(before + get.numRawCounters);
    get.ppRawCounterNames = names.data() + before;
    if (!below("NVPW_Config_GetRawCounters", get)) return {};
  }
  return names;
}

Image prefix_of(const std::string& chip, const std::vector<const char*>& counters) {
  NVPW_CounterDataBuilder_Create_Params create = {};
  create.structSize = NVPW_CounterDataBuilder_Create_Params_STRUCT_SIZE;
  create.pChipName = chip.c_str();
  if (!below("NVPW_CounterDataBuilder_Create", create)) return {};
  std::vector<NVPW_RawCounterRequest> requests;
  for (const char* name : counters) {
    NVPW_RawCounterRequest request = {};
    request.pRawCounterName = name;
    request.keepInstances = 1;
    requests.push_back(request);
  }
  NVPW_CounterDataBuilder_AddRawCounters_Params add = {};
  add.structSize = NVPW_CounterDataBuilder_AddRawCounters_Params_STRUCT_SIZE;
  add.pCounterDataBuilder = create.pCounterDataBuilder;
  add.rawCounterRequestStructSize = NVPW_RAW_COUNTER_REQUEST_STRUCT_SIZE;
  add.numRawCounterRequests = requests.size();
  add.pRawCounterRequests = requests.data();
  NVPW_CounterDataBuilder_GetCounterDataPrefix_Params get = {};
  get.structSize = NVPW_CounterDataBuilder_GetCounterDataPrefix_Params_STRUCT_SIZE;
  get.pCounterDataBuilder = create.pCounterDataBuilder;
  if (!below("NVPW_CounterDataBuilder_AddRawCounters", add)) return {};
  if (!below("NVPW_CounterDataBuilder_GetCounterDataPrefix", get)) return {};
  Image prefix(get.bytesCopied);
  get.bytesAllocated = prefix.size();
  get.pBuffer = prefix.data();
  return below("NVPW_CounterDataBuilder_GetCounterDataPrefix", get) ? prefix : Image{};
}

// An image with one range, named "0" like automatic ranges.
Image empty_image(const Image& prefix) {
  CUpti_Profiler_CounterDataImageOptions options = {};
  options.structSize = CUpti_Profiler_CounterDataImageOptions_STRUCT_SIZE;
  options.pCounterDataPrefix = prefix.data();
  options.counterDataPrefixSize = prefix.size();
  options.maxNumRanges = options.maxNumRangeTreeNodes = 2;
  options.maxRangeNameLength = 64;
  CUpti_Profiler_CounterDataImage_CalculateSize_Params size = {};
  size.structSize = CUpti_Profiler_CounterDataImage_CalculateSize_Params_STRUCT_SIZE;
  size.sizeofCounterDataImageOptions = CUpti_Profiler_CounterDataImageOptions_STRUCT_SIZE;
  size.pOptions = &options;
  if (call_cupti(library(), "cuptiProfilerCounterDataImageCalculateSize", &size) != CUPTI_SUCCESS) return {};
  Image image(size.counterDataImageSize);
  CUpti_Profiler_CounterDataImage_Initialize_Params make = {};
  make.structSize = CUpti_Profiler_CounterDataImage_Initialize_Params_STRUCT_SIZE;
  make.sizeofCounterDataImageOptions = CUpti_Profiler_CounterDataImageOptions_STRUCT_SIZE;
  make.pOptions = &options;
  make.counterDataImageSize = image.size();
  make.pCounterDataImage = image.data();
  if (call_cupti(library(), "cuptiProfilerCounterDataImageInitialize", &make) != CUPTI_SUCCESS) return {};
  NVPW_CounterDataCombiner_Create_Params combiner = {};
  combiner.structSize = NVPW_CounterDataCombiner_Create_Params_STRUCT_SIZE;
  combiner.pCounterDataDst = image.data();
  const char* const name = "0";
  NVPW_CounterDataCombiner_CreateRange_Params range = {};
  range.structSize = NVPW_CounterDataCombiner_CreateRange_Params_STRUCT_SIZE;
  range.numDescriptions = 1;
  range.ppDescriptions = &name;
  if (!below("NVPW_CounterDataCombiner_Create", combiner)) return {};
  range.pCounterDataCombiner = combiner.pCounterDataCombiner;
  return below("NVPW_CounterDataCombiner_CreateRange", range) ? image : Image{};
}

TEST_CASE("an image of any chip decodes without a device; where nothing was counted, no value is a number") {
  if (!library().available()) {
    MESSAGE("skipped: ", library().why());
    return;
  }
  const std::string folder = PAGODA_TEST_BINARY_DIR "/decode";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const documents::ChipMetrics& family : documents::metric_catalogue()) {
    CAPTURE(family.family);
    const HostChip chip(library(), family.family);
    const documents::MetricPlan plan = documents::plan_metrics(family, documents::MetricMode::Quick);
    const std::vector<std::string>& metrics = plan.groups.front().metrics;
    const auto counters = raw_counters(chip.config(metrics), 1);
    REQUIRE(counters.size() > 1);
    const Image image = empty_image(prefix_of(family.family, counters));
    REQUIRE_FALSE(image.empty());
    CUpti_RangeProfiler_GetCounterDataInfo_Params info = {};
    info.structSize = CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE;
    info.pCounterDataImage = image.data();
    info.counterDataImageSize = image.size();
    REQUIRE(call_cupti(library(), "cuptiRangeProfilerGetCounterDataInfo", &info) == CUPTI_SUCCESS);
    CHECK(info.numTotalRanges == 1);
    const auto values = chip.evaluate(image, info.numTotalRanges, metrics);
    REQUIRE(values.size() == 1);
    REQUIRE(values[0].size() == metrics.size());
    std::string record = "pagoda.record\t1\ndevice\t1\t" + family.family + "\ta GPU\ngroup\t1\t0";
    std::string launch = "launch\t1\t0\t0\t1\tkernel\t\t\tgrid", notes = "chip\t" + family.family + "\nranges\t1\n";
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      CAPTURE(metrics[i]);
      CHECK(std::isnan(values[0][i]));
      record += "\t" + metrics[i];
      launch += "\tnan";
      notes += "metric\t" + metrics[i] + "\tnan\n";
    }
    // If a device does not report its units, a peak is 0, which means no peak.
    const auto constants = chip.evaluate(image, 1, plan.constants);
    for (const double constant : constants[0]) CHECK_FALSE(constant > 0);
    // Such values must become unknown, never 0.
    const auto measured = measured::profile::measured_of(
        {{measured::profile::parse_record(record + "\n" + launch + "\nend\t1\n", "record")}}, &family,
        {.mode = "quick"});
    REQUIRE(measured.kernels.size() == 1);
    CHECK_FALSE(measured.kernels[0].seconds.has_value());
    CHECK_FALSE(measured.kernels[0].bytes.l2.has_value());
    for (const auto& [precision, flops] : measured.kernels[0].flops) CHECK_FALSE(flops.has_value());
    const std::string path = folder + "/" + family.family;
    std::ofstream(path + ".counters", std::ios::binary)
        .write(reinterpret_cast<const char*>(image.data()), static_cast<std::streamsize>(image.size()));
    std::ofstream(path + ".txt") << notes;
  }
  const test::Workshop shop;
  const auto run = [&](const std::string& arguments) {
    return shop.shell("'" PAGODA_METRICS "' --decode " + arguments).code;
  };
  CHECK(run(folder) == 0);
  CHECK(run(folder + "/GH100.counters") == 0);
  std::ofstream(folder + "/GH100.txt") << "chip\tGH100\nranges\t1\nmetric\tlts__t_bytes.sum\t32\n";
  CHECK(run(folder + "/GH100.counters") == 1);  // different from the recorded value
  CHECK(run(folder) == 1);
  std::ofstream(folder + "/GH100.txt") << "nothing\n";
  CHECK(run(folder + "/GH100.counters") == 1);
  CHECK(run(folder + "/none.counters") == 1);
  std::filesystem::create_directories(folder + "/none");
  CHECK(run(folder + "/none") == 77);
}

}  // namespace
}  // namespace pagoda::tools::profile
