// Tables with one row per dispatch, or per dispatch and counter: AMD's rocprofv3 (kernel_trace.csv,
// counter_collection.csv), rocprof-compute (pmc_perf.csv, one column per counter), and Nsight Systems (nsys stats
// --report cuda_gpu_trace --format csv).
//
// Columns and counters are as documented in: ROCprofiler-SDK "Using rocprofv3", output file fields; "MI300 and MI200
// series performance counters and metrics"; Nsight Systems "Post-Collection Analysis Guide", cuda_gpu_trace.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "import/formats.h"
#include "import/runs.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/csv_table.h"

namespace pagoda::measured::import {
namespace {

using base::CsvTable;
using Counters = std::map<std::string, double>;

// Counters of AMD's CDNA chips ---------------------------------------------------------------------------------------

// Counters count instructions per wavefront of 64 lanes, including masked lanes, so results are upper bounds. Functions
// (TRANS) do not count as operations, as on other chips.
constexpr double kLanes = 64, kMatrixUnit = 512, kKibibyte = 1024;

struct Unit {
  const char *counter, *precision;
};
constexpr std::array<Unit, 3> kVector = {{{"F16", "float16"}, {"F32", "float32"}, {"F64", "float64"}}};
constexpr std::array<Unit, 7> kMatrix = {{{"BF16", "bfloat16.tensor"},
                                          {"F16", "float16.tensor"},
                                          {"F32", "float32.tensor"},
                                          {"F64", "float64.tensor"},
                                          {"F8", "float8.tensor"},
                                          {"I8", "int8.tensor"},
                                          {"XF32", "tf32.tensor"}}};

// TCC_EA_… on MI200, TCC_EA0_… on MI300.
std::optional<double> memory_requests(const Counters& counters, const std::string& what) {
  const auto found = documents::amount(counters, "TCC_EA0_" + what + "_sum");
  return found ? found : documents::amount(counters, "TCC_EA_" + what + "_sum");
}

// Requests of 32, 64 and, on MI300, 128 bytes each (TCC_BUBBLE); or the derived FETCH_SIZE in KiB. Empty where the
// parts exceed all of them: counters of different passes can contradict each other.
std::optional<double> bytes_read(const Counters& counters) {
  if (const auto kilobytes = documents::amount(counters, "FETCH_SIZE")) return *kilobytes * kKibibyte;
  const auto all = memory_requests(counters, "RDREQ"), small = memory_requests(counters, "RDREQ_32B");
  const auto large = documents::amount(counters, "TCC_BUBBLE_sum");
  const bool is_mi300 = counters.contains("TCC_EA0_RDREQ_sum");
  if (!all || !small || (is_mi300 && !large) || *small + large.value_or(0) > *all) return std::nullopt;
  return 32 * *small + 128 * large.value_or(0) + 64 * (*all - *small - large.value_or(0));
}

std::optional<double> bytes_written(const Counters& counters) {
  if (const auto kilobytes = documents::amount(counters, "WRITE_SIZE")) return *kilobytes * kKibibyte;
  const auto all = memory_requests(counters, "WRREQ"), full = memory_requests(counters, "WRREQ_64B");
  if (!all || !full || *full > *all) return std::nullopt;
  return 64 * *full + 32 * (*all - *full);
}

LaunchSample amd_sample(const Launch& dispatch) {
  LaunchSample sample{dispatch.seconds};
  const Counters& counters = dispatch.counters;
  for (const Unit& vector : kVector) {
    const auto of = [&](const char* op) {
      return documents::amount(counters, std::string("SQ_INSTS_VALU_") + op + "_" + vector.counter);
    };
    const auto adds = of("ADD"), multiplies = of("MUL"), fused = of("FMA");
    if (!adds && !multiplies && !fused) continue;
    std::optional<double>& flops = sample.flops[vector.precision];
    if (adds && multiplies && fused) flops = kLanes * (*adds + *multiplies + 2 * *fused);
  }
  for (const Unit& matrix : kMatrix)
    if (const auto operations = documents::amount(counters, std::string("SQ_INSTS_VALU_MFMA_MOPS_") + matrix.counter))
      sample.flops[matrix.precision] = kMatrixUnit * *operations;
  sample.bytes.dram_read = bytes_read(counters);
  sample.bytes.dram_write = bytes_written(counters);
  sample.bytes.dram = sample.bytes.all_dram();
  return sample;
}

// Tables -------------------------------------------------------------------------------------------------------------

void add_missing_of_launches(documents::Measured& measured) {
  add_missing(measured, {{"seconds", "the table holds dispatches; a whole run is not timed"},
                         {"energy", "the table holds none"}});
}

}  // namespace

documents::Measured import_rocprof(std::string_view text, std::string_view subject, const ImportOptions& options) {
  const bool is_old = text.substr(0, 1 << 16).find("Kernel_Name") == std::string_view::npos;
  const std::string key_column = is_old ? "KernelName" : "Kernel_Name";
  CsvTable table(text, subject, base::has_column(key_column), cat("has no column \"", key_column, "\""));
  const auto name = table.find({"Kernel_Name", "KernelName"}), begin = table.find({"Start_Timestamp", "BeginNs"}),
             end = table.find({"End_Timestamp", "EndNs"}), counter = table.find({"Counter_Name"}),
             count = table.find({"Counter_Value"}), id = table.find({"Dispatch_Id", "Dispatch_ID", "Index"}),
             process = table.find({"Process_Id", "PID", "pid"}), queue = table.find({"Queue_Id", "queue-id"}),
             grid = table.find({"Grid_Size", "grd", "Grid_Size_X"}),
             group = table.find({"Workgroup_Size", "wgr", "Workgroup_Size_X"});
  if (!begin || !end) table.fail("has no columns Start_Timestamp and End_Timestamp");
  if (counter.has_value() != count.has_value()) table.fail("has one of Counter_Name and Counter_Value alone");
  // In a table with one column per counter, counter names begin with a hardware unit in capitals.
  std::vector<std::pair<std::string, std::size_t>> wide;
  for (std::size_t i = 0; i < table.names.size(); ++i)
    if (const std::string& column = table.names[i];
        !counter &&
        (column.starts_with("SQ_") || column.starts_with("TCC_") || column == "FETCH_SIZE" || column == "WRITE_SIZE"))
      wide.emplace_back(column, i);

  std::vector<CsvTable::Column> numbers = {begin, end, count};
  for (const auto& [metric, column] : wide) numbers.emplace_back(column);
  table.expect_numbers(numbers);

  std::vector<Launch> dispatches;
  std::map<std::string, std::size_t> index;
  while (table.next()) {
    const std::string key = table.cell(process) + '\n' + table.cell(id);
    std::size_t at = dispatches.size();
    if (counter && id) {
      const auto [found, is_new] = index.try_emplace(key, at);
      at = found->second;
    }
    if (at == dispatches.size()) {
      Launch& dispatch = dispatches.emplace_back();
      dispatch.kernel.name = table.cell(name);
      if (queue) dispatch.kernel.provider = "queue " + table.cell(queue);
      if (grid) dispatch.kernel.detail = "grid " + table.cell(grid) + (group ? ", group " + table.cell(group) : "");
      const double from = table.number(begin), to = table.number(end);
      if (to >= from && to > 0) dispatch.seconds = 1e-9 * (to - from);
    }
    Counters& counters = dispatches[at].counters;
    if (counter) counters[table.cell(counter)] += table.number(count);  // sum over the parts of the chip
    for (const auto& [metric, column] : wide)
      if (!table.row[column].empty()) counters[metric] = table.number(column);
  }
  documents::Measured measured = measured_of(dispatches, "dispatch", subject, options, amd_sample);
  measured.source = "rocprof";
  add_missing_of_launches(measured);
  constexpr const char* kSizes = "sizes of these requests differ from chip to chip, which the table does not name";
  add_missing(
      measured,
      {{"device", "the table numbers agents and does not name them"}, {"bytes.l2", kSizes}, {"bytes.l1", kSizes}});
  const auto none = [&](auto has) { return std::ranges::none_of(measured.kernels, has); };
  if (none([](const documents::MeasuredKernel& k) { return !k.flops.empty(); }))
    add_missing(measured, {{"flops", "no SQ_INSTS_VALU_*_F16, F32, F64 and no SQ_INSTS_VALU_MFMA_MOPS_* in the file"}});
  else
    measured.notes.emplace_back("operations of vector units are those of full wavefronts, masked lanes included");
  if (none([](const documents::MeasuredKernel& k) { return k.bytes.dram.has_value(); }))
    add_missing(measured, {{"bytes.dram",
                            "neither FETCH_SIZE and WRITE_SIZE nor TCC_EA*_RDREQ, RDREQ_32B, WRREQ, WRREQ_64B are "
                            "whole in the file"}});
  return measured;
}

documents::Measured import_nsys(std::string_view text, std::string_view subject, const ImportOptions& options) {
  CsvTable table(text, subject, base::has_column("CorrId"), "has no column \"CorrId\"");
  constexpr std::pair<const char*, double> kUnits[] = {
      {"Duration (ns)", 1e-9}, {"Duration (us)", 1e-6}, {"Duration (ms)", 1e-3}, {"Duration (s)", 1}};
  CsvTable::Column duration;
  double scale = 0;
  for (const auto& [column, factor] : kUnits)
    if (const auto found = table.find({column})) duration = found, scale = factor;
  const auto name = table.find({"Name"}), device = table.find({"Device"}), stream = table.find({"Strm"});
  if (!duration || !name)
    table.fail(
        "has no columns \"Duration (ns)\" and Name; export with nsys stats --report cuda_gpu_trace --format csv");
  const auto size_of = [&](const char* x, const char* y, const char* z) {
    return cat("(", table.cell(table.find({x})), ", ", table.cell(table.find({y})), ", ", table.cell(table.find({z})),
               ")");
  };
  table.expect_numbers({duration});
  std::vector<Launch> dispatches;
  std::size_t copies = 0;
  while (table.next()) {
    if (table.cell(name).starts_with("[CUDA mem")) {
      ++copies;
      continue;
    }
    Launch& dispatch = dispatches.emplace_back();
    dispatch.kernel.name = table.cell(name);
    dispatch.device = table.cell(device);
    if (stream) dispatch.kernel.provider = "stream " + table.cell(stream);
    dispatch.kernel.detail = cat("grid ", size_of("GrdX", "GrdY", "GrdZ"), ", block ", size_of("BlkX", "BlkY", "BlkZ"));
    dispatch.seconds = table.number(duration) * scale;
  }
  documents::Measured measured = measured_of(dispatches, "dispatch", subject, options,
                                             [](const Launch& dispatch) { return LaunchSample{dispatch.seconds}; });
  measured.source = "nsys";
  measured.tool = "Nsight Systems";
  add_missing_of_launches(measured);
  add_missing(measured, {{"flops", "a timeline counts none"}, {"bytes", "a timeline counts none"}});
  if (copies > 0) measured.notes.push_back(cat(copies, " copies and fills are not kernels and are left out"));
  return measured;
}

}  // namespace pagoda::measured::import
