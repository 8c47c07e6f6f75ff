// Tables with one row per dispatch, or per dispatch and counter: AMD's rocprofv3 (kernel_trace.csv,
// counter_collection.csv), rocprof-compute (pmc_perf.csv, one column per counter), and Nsight Systems (nsys stats
// --report cuda_gpu_trace --format csv).
//
// Columns and counters are as documented in: ROCprofiler-SDK "Using rocprofv3", output file fields; "MI300 and MI200
// series performance counters and metrics"; Nsight Systems "Post-Collection Analysis Guide", cuda_gpu_trace.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/formats.h"
#include "import/runs.h"
#include "pagoda/base/csv_reader.h"
#include "pagoda/base/fail.h"

namespace pagoda::measured::import {
namespace {

using Counters = std::map<std::string, double>;

struct Dispatch {
  std::string name, stream, detail, device;
  std::optional<double> seconds;
  Counters counters;
};

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

std::optional<double> value(const Counters& counters, const std::string& name) {
  const auto found = counters.find(name);
  return found == counters.end() ? std::nullopt : std::optional(found->second);
}

// TCC_EA_… on MI200, TCC_EA0_… on MI300.
std::optional<double> memory_requests(const Counters& counters, const std::string& what) {
  const auto found = value(counters, "TCC_EA0_" + what + "_sum");
  return found ? found : value(counters, "TCC_EA_" + what + "_sum");
}

// Requests of 32, 64 and, on MI300, 128 bytes each (TCC_BUBBLE); or the derived FETCH_SIZE in KiB. Empty where the parts
// exceed all of them: counters of different passes can contradict each other.
std::optional<double> bytes_read(const Counters& counters) {
  if (const auto kilobytes = value(counters, "FETCH_SIZE")) return *kilobytes * kKibibyte;
  const auto all = memory_requests(counters, "RDREQ"), small = memory_requests(counters, "RDREQ_32B");
  const auto large = value(counters, "TCC_BUBBLE_sum");
  const bool is_mi300 = counters.contains("TCC_EA0_RDREQ_sum");
  if (!all || !small || (is_mi300 && !large) || *small + large.value_or(0) > *all) return std::nullopt;
  return 32 * *small + 128 * large.value_or(0) + 64 * (*all - *small - large.value_or(0));
}

std::optional<double> bytes_written(const Counters& counters) {
  if (const auto kilobytes = value(counters, "WRITE_SIZE")) return *kilobytes * kKibibyte;
  const auto all = memory_requests(counters, "WRREQ"), full = memory_requests(counters, "WRREQ_64B");
  if (!all || !full || *full > *all) return std::nullopt;
  return 64 * *full + 32 * (*all - *full);
}

LaunchSample amd_sample(const Dispatch& dispatch) {
  LaunchSample sample;
  sample.seconds = dispatch.seconds;
  const Counters& counters = dispatch.counters;
  for (const Unit& vector : kVector) {
    const auto of = [&](const char* op) {
      return value(counters, std::string("SQ_INSTS_VALU_") + op + "_" + vector.counter);
    };
    const auto adds = of("ADD"), multiplies = of("MUL"), fused = of("FMA");
    if (!adds && !multiplies && !fused) continue;
    std::optional<double>& flops = sample.flops[vector.precision];
    if (adds && multiplies && fused) flops = kLanes * (*adds + *multiplies + 2 * *fused);
  }
  for (const Unit& matrix : kMatrix)
    if (const auto operations = value(counters, std::string("SQ_INSTS_VALU_MFMA_MOPS_") + matrix.counter))
      sample.flops[matrix.precision] = kMatrixUnit * *operations;
  sample.bytes.dram_read = bytes_read(counters);
  sample.bytes.dram_write = bytes_written(counters);
  if (sample.bytes.dram_read && sample.bytes.dram_write)
    sample.bytes.dram = *sample.bytes.dram_read + *sample.bytes.dram_write;
  return sample;
}

// Tables -------------------------------------------------------------------------------------------------------------

// Finds columns of a table by the names used in different versions.
class Columns {
 public:
  explicit Columns(std::vector<std::string> names) : names_(std::move(names)) {}
  std::optional<std::size_t> find(std::initializer_list<std::string_view> spellings) const {
    for (const std::string_view name : spellings)
      if (const auto at = std::find(names_.begin(), names_.end(), name); at != names_.end())
        return static_cast<std::size_t>(at - names_.begin());
    return std::nullopt;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view subject, std::string_view key)
      : rows_(text, subject), subject_(subject) {
    std::vector<std::string> row;
    while (rows_.next(row))  // skips lines of the profiled program or of nsys before the header
      if (std::find(row.begin(), row.end(), key) != row.end()) {
        columns.emplace(row);
        return;
      }
    base::fail(subject, "has no column \"" + std::string(key) + "\"");
  }

  bool next() {
    if (!rows_.next(row_)) return false;
    if (row_.size() < columns->names().size())
      base::fail(rows_.place(), "has " + std::to_string(row_.size()) + " cells, expected " +
                                    std::to_string(columns->names().size()) + "; the file may have been cut off");
    return true;
  }
  const std::string& cell(const std::optional<std::size_t>& column) const {
    static const std::string kNone;
    return column ? row_[*column] : kNone;
  }
  double number(const std::optional<std::size_t>& column) const {
    const std::optional<double> found = base::printed_number(cell(column));
    if (!found || !(*found >= 0) || *found > 1e30)
      base::fail(rows_.place(), "\"" + cell(column) + "\" is not a number that is 0 or more");
    return *found;
  }
  const std::vector<std::string>& row() const { return row_; }

  std::optional<Columns> columns;

 private:
  base::CsvReader rows_;
  std::string_view subject_;
  std::vector<std::string> row_;
};

// Merges launches into rows of kernels, over options.runs equal runs.
documents::Measured measured_of(const std::vector<Dispatch>& dispatches, std::string_view subject,
                                const ImportOptions& options, LaunchSample (*sample_of)(const Dispatch&)) {
  if (dispatches.empty()) base::fail(subject, "holds no dispatch below its header");
  const auto runs = static_cast<std::size_t>(std::max<std::int64_t>(1, options.runs.value_or(1)));
  if (dispatches.size() % runs != 0)
    base::fail(subject, "holds " + std::to_string(dispatches.size()) + " dispatches, which are not " +
                            std::to_string(runs) + " equal runs");
  const std::size_t per_run = dispatches.size() / runs;
  documents::Measured measured;
  measured.warmup = warmup_runs(static_cast<std::int64_t>(runs), options);
  measured.repeats = static_cast<std::int64_t>(runs) - measured.warmup;
  KernelRows rows;
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    const Dispatch& dispatch = dispatches[i];
    if (dispatch.name != dispatches[i % per_run].name)
      base::fail(subject, "dispatch " + std::to_string(i % per_run + 1) + " of run " + std::to_string(i / per_run + 1) +
                              " is \"" + dispatch.name + "\", of run 1 \"" + dispatches[i % per_run].name +
                              "\"; the runs differ, so give another number of runs");
    documents::MeasuredKernel kernel;
    kernel.name = dispatch.name;
    kernel.provider = dispatch.stream;
    kernel.detail = dispatch.detail;
    if (measured.device.empty()) measured.device = dispatch.device;
    rows.add(dispatch.name + '\n' + dispatch.detail, kernel, i / per_run, sample_of(dispatch));
  }
  std::move(rows).finish(static_cast<std::size_t>(measured.warmup), runs, measured);
  if (!options.runs)
    measured.notes.push_back("the file does not say how many runs of the model it holds; it is taken as one");
  measured.missing.push_back({"seconds", "the table holds dispatches; a whole run is not timed"});
  measured.missing.push_back({"energy", "the table holds none"});
  return measured;
}

}  // namespace

documents::Measured import_rocprof(std::string_view text, std::string_view subject, const ImportOptions& options) {
  const bool is_old = text.substr(0, 1 << 16).find("Kernel_Name") == std::string_view::npos;
  Reader reader(text, subject, is_old ? "KernelName" : "Kernel_Name");
  const Columns& columns = *reader.columns;
  const auto name = columns.find({"Kernel_Name", "KernelName"}), begin = columns.find({"Start_Timestamp", "BeginNs"}),
             end = columns.find({"End_Timestamp", "EndNs"}), counter = columns.find({"Counter_Name"}),
             count = columns.find({"Counter_Value"}), id = columns.find({"Dispatch_Id", "Dispatch_ID", "Index"}),
             process = columns.find({"Process_Id", "PID", "pid"}), queue = columns.find({"Queue_Id", "queue-id"}),
             grid = columns.find({"Grid_Size", "grd", "Grid_Size_X"}),
             group = columns.find({"Workgroup_Size", "wgr", "Workgroup_Size_X"});
  if (!begin || !end) base::fail(subject, "has no columns Start_Timestamp and End_Timestamp");
  if (counter.has_value() != count.has_value()) base::fail(subject, "has one of Counter_Name and Counter_Value alone");
  // In a table with one column per counter, counter names begin with a hardware unit in capitals.
  std::vector<std::pair<std::string, std::size_t>> wide;
  for (std::size_t i = 0; i < columns.names().size(); ++i)
    if (const std::string& column = columns.names()[i];
        !counter &&
        (column.starts_with("SQ_") || column.starts_with("TCC_") || column == "FETCH_SIZE" || column == "WRITE_SIZE"))
      wide.emplace_back(column, i);

  std::vector<Dispatch> dispatches;
  std::map<std::string, std::size_t> index;
  while (reader.next()) {
    const std::string key = reader.cell(process) + '\n' + reader.cell(id);
    std::size_t at = dispatches.size();
    if (counter && id) {
      const auto [found, is_new] = index.try_emplace(key, at);
      at = found->second;
    }
    if (at == dispatches.size()) {
      Dispatch dispatch;
      dispatch.name = reader.cell(name);
      if (queue) dispatch.stream = "queue " + reader.cell(queue);
      if (grid) dispatch.detail = "grid " + reader.cell(grid) + (group ? ", group " + reader.cell(group) : "");
      const double from = reader.number(begin), to = reader.number(end);
      if (to >= from && to > 0) dispatch.seconds = 1e-9 * (to - from);
      dispatches.push_back(std::move(dispatch));
    }
    Counters& counters = dispatches[at].counters;
    if (counter) counters[reader.cell(counter)] += reader.number(count);  // sum over the parts of the chip
    for (const auto& [metric, column] : wide)
      if (!reader.row()[column].empty()) counters[metric] = reader.number(column);
  }
  documents::Measured measured = measured_of(dispatches, subject, options, amd_sample);
  measured.source = "rocprof";
  measured.missing.push_back({"device", "the table numbers agents and does not name them"});
  measured.missing.push_back(
      {"bytes.l2", "sizes of these requests differ from chip to chip, which the table does not name"});
  measured.missing.push_back(
      {"bytes.l1", "sizes of these requests differ from chip to chip, which the table does not name"});
  const auto none = [&](auto has) { return std::none_of(measured.kernels.begin(), measured.kernels.end(), has); };
  if (none([](const documents::MeasuredKernel& k) { return !k.flops.empty(); }))
    measured.missing.push_back(
        {"flops", "no SQ_INSTS_VALU_*_F16, F32, F64 and no SQ_INSTS_VALU_MFMA_MOPS_* in the file"});
  else
    measured.notes.push_back("operations of vector units are those of full wavefronts, masked lanes included");
  if (none([](const documents::MeasuredKernel& k) { return k.bytes.dram.has_value(); }))
    measured.missing.push_back(
        {"bytes.dram",
         "neither FETCH_SIZE and WRITE_SIZE nor TCC_EA*_RDREQ, RDREQ_32B, WRREQ, WRREQ_64B are whole in the file"});
  return measured;
}

documents::Measured import_nsys(std::string_view text, std::string_view subject, const ImportOptions& options) {
  Reader reader(text, subject, "CorrId");
  const Columns& columns = *reader.columns;
  struct TimeUnit {
    const char* column;
    double scale;
  };
  constexpr std::array<TimeUnit, 4> kUnits = {
      {{"Duration (ns)", 1e-9}, {"Duration (us)", 1e-6}, {"Duration (ms)", 1e-3}, {"Duration (s)", 1}}};
  std::optional<std::size_t> duration;
  double scale = 0;
  for (const TimeUnit& unit : kUnits)
    if (const auto found = columns.find({unit.column})) duration = found, scale = unit.scale;
  const auto name = columns.find({"Name"}), device = columns.find({"Device"}), stream = columns.find({"Strm"});
  if (!duration || !name)
    base::fail(
        subject,
        "has no columns \"Duration (ns)\" and Name; export with nsys stats --report cuda_gpu_trace --format csv");
  const auto size_of = [&](const char* letters) {
    std::vector<std::string> sizes;
    for (const char axis : {'X', 'Y', 'Z'}) sizes.push_back(reader.cell(columns.find({std::string(letters) + axis})));
    return "(" + sizes[0] + ", " + sizes[1] + ", " + sizes[2] + ")";
  };
  std::vector<Dispatch> dispatches;
  std::size_t copies = 0;
  while (reader.next()) {
    if (reader.cell(name).starts_with("[CUDA mem")) {
      ++copies;
      continue;
    }
    Dispatch dispatch;
    dispatch.name = reader.cell(name);
    dispatch.device = reader.cell(device);
    if (stream) dispatch.stream = "stream " + reader.cell(stream);
    dispatch.detail = "grid " + size_of("Grd") + ", block " + size_of("Blk");
    dispatch.seconds = reader.number(duration) * scale;
    dispatches.push_back(std::move(dispatch));
  }
  documents::Measured measured = measured_of(dispatches, subject, options, [](const Dispatch& dispatch) {
    return LaunchSample{dispatch.seconds, {}, {}};
  });
  measured.source = "nsys";
  measured.tool = "Nsight Systems";
  for (const char* what : {"flops", "bytes"}) measured.missing.push_back({what, "a timeline counts none"});
  if (copies > 0)
    measured.notes.push_back(std::to_string(copies) + " copies and fills are not kernels and are left out");
  return measured;
}

}  // namespace pagoda::measured::import
