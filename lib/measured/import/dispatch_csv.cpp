// Tables with one row per dispatch, or per dispatch and counter: AMD's rocprof (results.csv), rocprofv2 and rocprofv3
// (kernel_trace.csv, counter_collection.csv), rocprof-compute (pmc_perf.csv, one column per counter), and Nsight
// Systems (nsys stats --report cuda_gpu_trace or cuda_kern_exec_trace). Also their sums: one row per kernel, with its
// launches.
//
// Columns and counters are as documented in: ROCProfiler "rocprof" and "rocprofv2"; ROCprofiler-SDK "Using rocprofv3",
// output file fields; "MI300 and MI200 series performance counters and metrics"; Nsight Systems "Post-Collection
// Analysis Guide", statistical reports.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "import/formats.h"
#include "import/runs.h"
#include "import/timeline.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/csv_table.h"
#include "pagoda/base/number.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/quantity.h"

namespace pagoda::measured::import {
namespace {

using base::CsvTable, base::has_column;
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

// Requests of 32, 64 and, on MI300, 128 bytes each (TCC_BUBBLE); or the derived FETCH_SIZE in KiB. Empty if the parts
// exceed the sum, since counters of different passes can contradict each other.
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

// The step between the numbers that a cell with an exponent tells apart: 1e7 of "1.86724E+12"; 0 without an exponent.
double cell_step(std::string_view cell) {
  const std::size_t exponent = cell.find_first_of("eE"), mark = cell.find_first_of(".,");
  if (exponent == std::string_view::npos) return 0;
  const double digits = mark < exponent ? static_cast<double>(exponent - mark - 1) : 0;
  const std::size_t sign = cell.substr(exponent + 1).starts_with('+') ? 2 : 1;
  const auto power = base::parse_number<double>(cell.substr(std::min(cell.size(), exponent + sign)));
  return power ? std::pow(10, *power - digits) : 0;
}

// Tables -------------------------------------------------------------------------------------------------------------

void add_missing_of_launches(documents::Measured& measured) {
  add_missing(measured, {{"seconds", "the table holds dispatches; a whole run is not timed"},
                         {"energy", "the table holds none"}});
}

// A table whose rows are sums over the launches of a kernel.
struct Sums {
  CsvTable::Column name, count, seconds, grid = std::nullopt, block = std::nullopt;
  double scale = 1;         // of `seconds`
  bool is_average = false;  // `seconds` is of one launch
  CsvTable::Column mean = std::nullopt;
  double mean_scale = 1;
};

// Skips all rows from the next report on, and notes it: nsys writes several into one file, each below a line of its own
// or below its header alone.
CsvTable::IsRow is_behind_report(std::vector<std::string>& notes) {
  return [is_behind = false, &notes](const CsvTable::Row& row) mutable {
    for (const std::string_view first : {"Processing [", "SKIPPED:", "** ", "Time (%)", "Start ("})
      if (!std::exchange(is_behind, is_behind || row.front().starts_with(first)) && is_behind)
        notes.emplace_back("the file holds several reports; the first with kernels is read, the others are left out");
    return is_behind;
  };
}

// Sums have no order, no streams and no single times. A run is one of `options.runs` equal parts of each sum.
documents::Measured measured_of_sums(CsvTable& table, const Sums& columns, std::string_view subject,
                                     const ImportOptions& options) {
  const std::int64_t runs = options.runs.value_or(1);
  if (options.warmup.value_or(0) > 0)
    base::fail(subject, "holds sums over all launches, from which no run can be left out; leave `warmup` out");
  documents::Measured measured;
  set_runs(static_cast<std::size_t>(runs), 0, measured);
  struct Sum {
    documents::MeasuredKernel kernel;
    double seconds;
    std::string place;
  };
  std::vector<Sum> sums;
  std::int64_t common = 0, all_launches = 0;
  double all_seconds = 0;
  constexpr double kRounding = 0.01;
  table.expect_numbers({columns.count, columns.seconds, columns.mean});
  const CsvTable::IsRow is_skipped = is_behind_report(measured.notes);
  while (table.next(is_skipped)) {
    if (table.cell(columns.name).starts_with("[CUDA mem")) continue;
    documents::MeasuredKernel kernel;
    kernel.name = table.cell(columns.name);
    if (columns.grid) kernel.detail = cat("grid ", table.cell(columns.grid), ", block ", table.cell(columns.block));
    const double count = table.number(columns.count);
    if (!(count >= 1 && count < 1e15) || count != std::floor(count))
      base::fail(table.place(), cat("\"", table.cell(columns.count), "\" is not a number of launches"));
    kernel.launches = static_cast<std::int64_t>(count);
    const double seconds = table.number(columns.seconds) * columns.scale * (columns.is_average ? count : 1);
    const std::optional<double> mean = table.number_or_none(columns.mean);
    const std::size_t mark = table.cell(columns.mean).find_last_of(".,"), size = table.cell(columns.mean).size();
    const double places = mark == std::string::npos ? 0 : static_cast<double>(size - mark - 1);
    const double rounding = kRounding * seconds + std::pow(10, -places) * columns.mean_scale * count;
    if (mean && std::abs(*mean * columns.mean_scale * count - seconds) > rounding)
      base::fail(table.place(),
                 cat("\"", table.cell(columns.seconds), "\" in the column \"", table.names[*columns.seconds],
                     "\" is not ", table.cell(columns.count), " launches of \"", table.cell(columns.mean),
                     "\" in the column \"", table.names[*columns.mean], "\"; export the table again"));
    all_launches += *kernel.launches;
    all_seconds += seconds;
    sums.push_back({std::move(kernel), seconds, table.place()});
  }
  for (auto& [kernel, seconds, place] : sums) {
    const std::int64_t launches = *kernel.launches;
    if (is_total(seconds, all_seconds, sums.size()) && 2 * launches == all_launches) {
      note_total(kernel.name, measured.notes);
      continue;
    }
    if (launches % runs != 0)
      base::fail(place, cat("\"", kernel.name, "\" was launched ", base::counted(launches, "time"), ", which is not ",
                            runs, " equal runs; give another number of runs"));
    common = std::gcd(common, launches);
    kernel.launches = launches / runs;
    if (seconds > 0) kernel.seconds = seconds / static_cast<double>(runs);
    measured.kernels.push_back(std::move(kernel));
  }
  if (measured.kernels.empty()) base::fail(subject, "holds no kernel below its header");
  measured.notes.emplace_back("the table holds a sum for each kernel: its times are means, and overlap is not known");
  if (!options.runs)
    measured.notes.push_back(
        cat("the file does not say how many runs of the model it holds; it is taken as one",
            common > 1 ? cat(": all kernels have a multiple of ", common, " launches, so give ",
                             base::field("runs", "N"), " if it is more")
                       : ""));
  return measured;
}

}  // namespace

documents::Measured import_rocprof(std::string_view text, std::string_view subject, const ImportOptions& options) {
  CsvTable table(
      text, subject,
      [](const CsvTable::Row& row) {
        return has_column(row, "Kernel_Name") || has_column(row, "KernelName") || has_column(row, "TotalDurationNs");
      },
      "has no column Kernel_Name (rocprofv2, rocprofv3), KernelName (rocprof) or TotalDurationNs (their statistics)");
  if (const auto total = table.find({"TotalDurationNs"})) {
    documents::Measured measured = measured_of_sums(table,
                                                    {.name = table.find({"Name", "KERNEL_NAME"}),
                                                     .count = table.find({"Calls"}),
                                                     .seconds = total,
                                                     .scale = kNanosecond},
                                                    subject, options);
    measured.source = "rocprof";
    add_missing_of_launches(measured);
    add_missing(
        measured,
        {{"flops", "statistics hold none"}, {"bytes", "statistics hold none"}, {"device", "the table names none"}});
    return measured;
  }
  const auto name = table.find({"Kernel_Name", "KernelName"}), begin = table.find({"Start_Timestamp", "BeginNs"}),
             end = table.find({"End_Timestamp", "EndNs"}), counter = table.find({"Counter_Name"}),
             count = table.find({"Counter_Value"}), id = table.find({"Dispatch_Id", "Dispatch_ID", "Index"}),
             process = table.find({"Process_Id", "PID", "pid"}),
             queue = table.find({"Queue_Id", "Queue_ID", "queue-id"}),
             agent = table.find({"Agent_Id", "GPU_ID", "gpu-id"}),
             grid = table.find({"Grid_Size", "grd", "Grid_Size_X"}),
             group = table.find({"Workgroup_Size", "wgr", "Workgroup_Size_X"});
  if (!begin || !end)
    table.fail(
        "has no columns Start_Timestamp and End_Timestamp, or BeginNs and EndNs; record them (rocprof's option timestamp, \"on\")");
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
      if (agent) dispatch.agent = table.cell(agent);
      // No stream: streams share a queue, whose packets may overlap, so only a dispatch's own stamps are checked.
      const double from = table.number(begin), to = table.number(end);
      dispatch.start = kNanosecond * from;
      if (std::max(cell_step(table.cell(begin)), cell_step(table.cell(end))) > std::max(0.0, to - from))
        base::fail(table.place(), cat("\"", table.cell(begin),
                                      "\" has lost its digits, as a spreadsheet's saving does; export again"));
      if (from > 0 && to > 0) dispatch.seconds = kNanosecond * (to - from);
    }
    Counters& counters = dispatches[at].counters;
    if (counter) counters[table.cell(counter)] += table.number(count);  // sum over the parts of the chip
    for (const auto& [metric, column] : wide)
      if (!table.row[column].empty()) counters[metric] = table.number(column);
  }
  documents::Measured measured = measured_of(std::move(dispatches), "dispatch", subject, options, amd_sample);
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

namespace {

// A report of nsys stats. Its columns of time have their unit in brackets: "Duration (ns)", formerly "Duration(nsec)".
struct NsysReport {
  std::string_view id, key, name, start, duration, count, grid, block;  // columns; empty: none
  bool is_average = false;
};
// clang-format off
constexpr NsysReport kNsysReports[] = {
    // report                 told by      name           start           time           launches     grid       block
    {"cuda_gpu_trace",       "CorrId",    "Name",        "Start",        "Duration",    "",          "",        ""},
    {"cuda_kern_exec_trace", "DevId",     "Kernel Name", "Kernel Start", "Kernel Dur",  "",          "GridXYZ", "BlockXYZ"},
    {"cuda_gpu_kern_sum",    "Instances", "Name",        "",             "Total Time",  "Instances", "GridXYZ", "BlockXYZ"},
    {"cuda_kern_exec_sum",   "QCount",    "Kernel Name", "",             "KAvg",        "Count",     "",        "", true},
};
// clang-format on

struct TimeColumn {
  CsvTable::Column column;
  double scale = 0;  // 0: no such column, or no known unit
};
TimeColumn time_column(const CsvTable::Row& names, std::string_view name) {
  for (std::size_t i = 0; i < names.size() && !name.empty(); ++i) {
    std::string_view unit = names[i];
    if (!unit.starts_with(name)) continue;
    unit.remove_prefix(name.size());
    if (unit.starts_with(' ')) unit.remove_prefix(1);
    if (!unit.starts_with('(') || !unit.ends_with(')')) continue;
    if (const auto scale = base::unit_factor(base::Measure::Seconds, unit.substr(1, unit.size() - 2))) return {i, *scale};
  }
  return {};
}

bool is_of(const NsysReport& report, const CsvTable::Row& row) {
  return has_column(row, report.key) && has_column(row, report.name) && time_column(row, report.duration).column;
}

}  // namespace

documents::Measured import_nsys(std::string_view text, std::string_view subject, const ImportOptions& options) {
  const NsysReport* report = nullptr;
  CsvTable table(
      text, subject,
      [&](const CsvTable::Row& row) {
        const auto* const found =
            std::ranges::find_if(kNsysReports, [&](const NsysReport& each) { return is_of(each, row); });
        if (found != std::end(kNsysReports)) report = found;
        return report != nullptr;
      },
      "has no columns Name, CorrId and \"Duration (ns)\": it is another report of nsys, or its times have no unit; "
      "export with nsys stats --report cuda_gpu_trace --format csv");
  const auto name = table.find({report->name}), device = table.find({"Device", "DevId"}), stream = table.find({"Strm"}),
             context = table.find({"Ctx", "PID"}), grid = table.find({report->grid}),
             block = table.find({report->block}), count = table.find({report->count});
  const TimeColumn start = time_column(table.names, report->start),
                   duration = time_column(table.names, report->duration);
  documents::Measured measured;
  if (count) {
    const TimeColumn mean = time_column(table.names, report->is_average ? "" : "Avg");
    measured = measured_of_sums(
        table, {name, count, duration.column, grid, block, duration.scale, report->is_average, mean.column, mean.scale},
        subject, options);
  } else {
    std::vector<Launch> dispatches;
    std::size_t copies = 0;
    bool is_lost = false;  // digits of the stamps
    const auto size_of = [&](CsvTable::Column whole, const char* x, const char* y, const char* z) {
      return whole ? table.cell(whole)
                   : cat("(", table.cell(table.find({x})), ", ", table.cell(table.find({y})), ", ",
                         table.cell(table.find({z})), ")");
    };
    table.expect_numbers({duration.column, start.column});
    std::vector<std::string> reports;
    const CsvTable::IsRow is_skipped = is_behind_report(reports);
    while (table.next(is_skipped)) {
      if (table.cell(name).starts_with("[CUDA mem")) {
        ++copies;
        continue;
      }
      Launch& dispatch = dispatches.emplace_back();
      dispatch.kernel.name = table.cell(name);
      dispatch.agent = table.cell(device);
      if (device && report->grid.empty()) dispatch.device = dispatch.agent;
      if (stream) {
        dispatch.kernel.provider = "stream " + table.cell(stream);
        dispatch.stream = cat(dispatch.agent, "\n", table.cell(context), "\n", table.cell(stream));
      }
      dispatch.kernel.detail =
          cat("grid ", size_of(grid, "GrdX", "GrdY", "GrdZ"), ", block ", size_of(block, "BlkX", "BlkY", "BlkZ"));
      if (!table.cell(duration.column).empty()) dispatch.seconds = table.number(duration.column) * duration.scale;
      if (!start.column) continue;
      dispatch.start = table.number(start.column) * start.scale;
      is_lost |= cell_step(table.cell(start.column)) * start.scale > dispatch.seconds.value_or(0);
    }
    if (is_lost)
      for (Launch& dispatch : dispatches) dispatch.start.reset();
    measured = measured_of(std::move(dispatches), "dispatch", subject, options,
                           [](const Launch& dispatch) { return LaunchSample{dispatch.seconds}; });
    if (is_lost) note_lost_digits(measured.notes);
    measured.notes.insert(measured.notes.end(), reports.begin(), reports.end());
    if (copies > 0)
      measured.notes.push_back(cat(base::counted(copies, "copy or fill is", "copies and fills are"),
                                   copies > 1 ? " not kernels and are left out" : " no kernel and is left out"));
  }
  measured.source = "nsys";
  measured.tool = "Nsight Systems";
  add_missing_of_launches(measured);
  add_missing(measured, {{"flops", "a timeline counts none"}, {"bytes", "a timeline counts none"}});
  return measured;
}

}  // namespace pagoda::measured::import
