// Nsight Compute's CSV: the raw page (one column per metric, a row of units below the header, one row per kernel
// launch), or the table that --csv alone prints (one row per metric). Lines of the profiled program before the header
// are skipped.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/formats.h"
#include "import/ncu_metrics.h"
#include "import/runs.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/csv_table.h"

namespace pagoda::measured::import {
namespace {

using base::CsvTable;

// Ranges open at the launch, outermost first. After the thread, a cell of ncu contains one quoted entry per range:
//   1234  "<default domain>:forward:none:none:none:none:none:none" "<default domain>:conv1:none:…"
// An entry is the domain, the name, then six fields of payload, colour and message. Names may contain colons.
std::string nvtx_path(const std::string& text) {
  constexpr int kFieldsAfter = 6;
  std::string path;
  std::size_t begin = text.find('"');
  while (begin != std::string::npos) {
    const std::size_t end = text.find('"', begin + 1);
    if (end == std::string::npos) break;
    std::string entry = text.substr(begin + 1, end - begin - 1);
    for (int i = 0; i < kFieldsAfter && std::ranges::count(entry, ':') > 1; ++i) entry.resize(entry.rfind(':'));
    if (const std::size_t domain = entry.find(':'); domain != std::string::npos) entry.erase(0, domain + 1);
    if (!entry.empty()) (path += path.empty() ? "" : "/") += entry;
    begin = text.find('"', end + 1);
  }
  return path;
}

bool is_header(const CsvTable::Row& row) { return base::has_column(row, "Kernel Name") && base::has_column(row, "ID"); }

// Splits off a unit in the header, as in some exports: "dram__bytes.sum [Mbyte]", "gpu__time_duration.sum (us)".
std::string split_unit(std::string& name) {
  for (const auto& [open, close] : {std::pair{'[', ']'}, std::pair{'(', ')'}}) {
    if (name.empty() || name.back() != close) continue;
    const std::size_t at = name.rfind(open);
    if (at == std::string::npos || at < 2 || name[at - 1] != ' ') continue;
    std::string unit = name.substr(at + 1, name.size() - at - 2);
    name.resize(at - 1);
    return unit;
  }
  return "";
}

class NcuTable {
 public:
  NcuTable(std::string_view text, std::string_view subject, const documents::ChipMetrics* chip)
      : table_(text, subject, is_header,
               "has no header with \"ID\" and \"Kernel Name\"; expected the output of ncu --csv --page raw"),
        chip_(chip),
        units_(table_.names.size()) {
    for (std::size_t i = 0; i < table_.names.size(); ++i) {
      std::string& name = table_.names[i];
      units_[i] = split_unit(name);
      if (name.find("Push/Pop_Range") != std::string::npos || name == "NVTX Range" ||
          name.find("Start/Stop_Range") != std::string::npos)
        nvtx_.push_back(i);
      if (is_used_metric(name, chip_)) metrics_.push_back(i);
    }
    std::vector<CsvTable::Column> numbers(metrics_.begin(), metrics_.end());
    numbers.push_back(table_.find({"Metric Value"}));
    table_.expect_numbers(numbers);
  }

  std::vector<Launch> launches() {
    const bool is_long = table_.find({"Metric Name"}).has_value();
    const auto is_message = [](const CsvTable::Row& row) { return row.front().starts_with("=="); };  // of ncu
    while (table_.next(is_message)) is_long ? add_metric() : add_launch();
    if (launches_.empty()) table_.fail("holds no kernel launch below its header");
    return std::move(launches_);
  }

  const std::set<std::string>& unread() const { return unread_; }
  const std::set<std::string>& without_unit() const { return without_unit_; }

 private:
  const std::string& cell(std::string_view name) const { return table_.cell(table_.find({name})); }

  Launch describe() const {
    Launch launch{.device = cell("device__attribute_display_name"), .agent = cell("Device")};
    documents::MeasuredKernel& kernel = launch.kernel;
    kernel.name = cell("Kernel Name");
    if (const std::string& stream = cell("Stream"); !stream.empty()) kernel.provider = "stream " + stream;
    if (const std::string& grid = cell("Grid Size"); !grid.empty())
      kernel.detail = cat("grid ", grid, ", block ", cell("Block Size"));
    for (const std::size_t column : nvtx_)
      if (const std::string path = nvtx_path(table_.row[column]); !path.empty())
        (kernel.nvtx += kernel.nvtx.empty() ? "" : "/") += path;
    return launch;
  }

  void add_launch() {
    if (cell("ID").empty()) {  // the row of units
      for (const std::size_t column : metrics_) units_[column] = table_.row[column];
      return;
    }
    Launch& launch = launches_.emplace_back(describe());
    for (const std::size_t column : metrics_) put(launch, table_.names[column], units_[column], column);
  }

  void add_metric() {
    const auto [found, is_new] = by_id_.try_emplace(cat(cell("Process ID"), "\n", cell("ID")), launches_.size());
    if (is_new) launches_.push_back(describe());
    const std::string& metric = cell("Metric Name");
    if (is_used_metric(metric, chip_))
      put(launches_[found->second], metric, cell("Metric Unit"), table_.find({"Metric Value"}));
  }

  void put(Launch& launch, const std::string& metric, const std::string& unit, CsvTable::Column column) {
    const std::optional<double> number = table_.number_or_none(column), base_unit = base_scale(metric);
    const bool is_time = base_unit && *base_unit != 1;
    if (!number || *number < 0 || (is_time && *number == 0)) {
      unread_.insert(metric);
      return;
    }
    std::optional<double> scale = unit_scale(unit);
    if (unit.empty() && base_unit) {
      // In the base unit these are whole, in the units that ncu chooses they rarely are.
      if (*number != std::floor(*number))
        base::fail(table_.place(), cat("\"", metric, "\" is ", table_.cell(column),
                                       " without a unit; expected the row of units below the header. Export with ncu "
                                       "--csv --page raw, and keep that row"));
      scale = base_unit;
      without_unit_.insert(metric);
    }
    if (!scale)
      base::fail(table_.place(),
                 cat("\"", metric, "\" is in \"", unit,
                     "\"; expected a unit of time, bytes or counts. Export with ncu --print-units base"));
    launch.counters[metric] = *number * *scale;
  }

  CsvTable table_;                      // whose names have no units
  const documents::ChipMetrics* chip_;  // null: not known
  CsvTable::Row units_;
  std::vector<std::size_t> nvtx_, metrics_;  // columns
  std::map<std::string, std::size_t> by_id_;
  std::vector<Launch> launches_;
  std::set<std::string> unread_;        // metrics without a number for some launch
  std::set<std::string> without_unit_;  // read in the base unit
};

// If a kernel's name indicates tensor cores but no metric counts them, marks its sum of operations as unknown.
LaunchSample sample_of_launch(const Launch& launch, const documents::ChipMetrics* chip) {
  LaunchSample sample = sample_of(launch.counters, chip);
  const bool has_tensor = std::ranges::any_of(sample.flops, [](const auto& f) { return f.first.ends_with(".tensor"); });
  if (!has_tensor && !sample.flops.empty() && is_tensor_kernel(launch.kernel.name))
    sample.flops["float16.tensor"] = std::nullopt;
  return sample;
}

void name_missing(documents::Measured& measured) {
  using documents::MeasuredKernel;
  const auto unless = [&](auto has, const char* what, const char* why) {
    if (std::ranges::none_of(measured.kernels, has)) add_missing(measured, {{what, why}});
  };
  unless([](const MeasuredKernel& k) { return k.seconds.has_value(); }, "kernel seconds",
         "no gpu__time_duration.sum in the file");
  unless([](const MeasuredKernel& k) { return !k.flops.empty(); }, "flops",
         "no sm__sass_thread_inst_executed_op_*_pred_on.sum in the file");
  unless(
      [](const MeasuredKernel& k) {
        return std::ranges::any_of(k.flops, [](const auto& f) { return f.first.ends_with(".tensor") && f.second; });
      },
      "flops of tensor cores",
      "no sm__ops_path_tensor_*.sum in the file, and no rate of them with time and clock; instructions through the "
      "tensor pipe do not tell how many operations they are");
  unless([](const MeasuredKernel& k) { return k.bytes.dram.has_value(); }, "bytes.dram",
         "no dram__bytes_read.sum and dram__bytes_write.sum in the file");
  unless([](const MeasuredKernel& k) { return k.bytes.l2.has_value(); }, "bytes.l2",
         "no lts__t_sectors_srcunit_tex.sum or lts__t_bytes.sum in the file");
  unless([](const MeasuredKernel& k) { return k.bytes.l1.has_value(); }, "bytes.l1",
         "no l1tex__t_bytes.sum in the file");
  add_missing(measured, {{"seconds", "ncu runs kernels one by one; a whole run is not timed"},
                         {"energy", "ncu measures no energy"}});
}

}  // namespace

documents::Measured import_ncu(std::string_view text, std::string_view subject, const ImportOptions& options) {
  const documents::ChipMetrics* chip = options.chip.empty() ? nullptr : &documents::chip_metrics(options.chip);
  NcuTable table(text, subject, chip);
  documents::Measured measured = measured_of(table.launches(), "launch", subject, options,
                                             [&](const Launch& launch) { return sample_of_launch(launch, chip); });
  measured.source = "ncu";
  measured.tool = "Nsight Compute";
  name_missing(measured);
  if (measured.device.empty()) add_missing(measured, {{"device", "no device__attribute_display_name in the file"}});
  for (const std::string& metric : table.unread())
    measured.notes.push_back(metric +
                             " has no number for some kernels (n/a, negative, or no time); it is unknown there");
  for (const std::string& metric : table.without_unit())
    measured.notes.push_back(cat(metric, " has no unit in the file; it is read in Nsight Compute's base unit, ",
                                 *base_scale(metric) == 1 ? "bytes" : "nanoseconds"));
  return measured;
}

}  // namespace pagoda::measured::import
