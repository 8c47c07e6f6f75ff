// Nsight Compute's CSV: the raw page (one column per metric, a row of units below the header, one row per kernel
// launch), or the table that --csv alone prints (one row per metric). Lines of the profiled program before the header
// are skipped.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/formats.h"
#include "import/ncu_metrics.h"
#include "import/runs.h"
#include "pagoda/base/csv_reader.h"
#include "pagoda/base/fail.h"

namespace pagoda::measured::import {
namespace {

struct Launch {
  std::string name, grid, block, stream, nvtx, device;
  std::map<std::string, double> metrics;
};

struct NcuColumns {
  std::vector<std::string> names, units;
  std::map<std::string, std::size_t> index;

  std::size_t find(const std::string& name) const {
    const auto found = index.find(name);
    return found == index.end() ? names.size() : found->second;
  }
};

const std::string& cell(const std::vector<std::string>& row, std::size_t column) {
  static const std::string kNone;
  return column < row.size() ? row[column] : kNone;
}

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
    for (int i = 0; i < kFieldsAfter && std::count(entry.begin(), entry.end(), ':') > 1; ++i)
      entry.resize(entry.rfind(':'));
    if (const std::size_t domain = entry.find(':'); domain != std::string::npos) entry.erase(0, domain + 1);
    if (!entry.empty()) (path += path.empty() ? "" : "/") += entry;
    begin = text.find('"', end + 1);
  }
  return path;
}

bool is_header(const std::vector<std::string>& row) {
  return std::find(row.begin(), row.end(), "Kernel Name") != row.end() &&
         std::find(row.begin(), row.end(), "ID") != row.end();
}

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

double scaled(const std::string& metric, const std::string& unit, double printed, const std::string& place) {
  const std::optional<double> scale = unit_scale(unit);
  if (!scale)
    base::fail(place, "\"" + metric + "\" is in \"" + unit +
                          "\"; expected a unit of time, bytes or counts. Export with ncu --print-units base");
  return printed * *scale;
}

class Table {
 public:
  Table(std::string_view text, std::string_view subject, const documents::ChipMetrics* chip)
      : reader_(text, subject), subject_(subject), chip_(chip) {}

  std::vector<Launch> launches() {
    read_header();
    std::vector<std::string> row;
    const bool is_long = columns_.find("Metric Name") < columns_.names.size();
    while (reader_.next(row)) {
      if (row == columns_.names || row.front().starts_with("==")) continue;  // a repeated header, or messages of ncu
      if (row.size() < columns_.names.size())
        base::fail(reader_.place(), "has " + std::to_string(row.size()) + " cells, expected " +
                                        std::to_string(columns_.names.size()) + "; the file may have been cut off");
      is_long ? add_metric(row) : add_launch(row);
    }
    if (launches_.empty()) base::fail(subject_, "holds no kernel launch below its header");
    return std::move(launches_);
  }

  const std::set<std::string>& unread() const { return unread_; }

 private:
  bool is_used(const std::string& metric) const {
    return chip_ ? is_used_metric(metric, *chip_) : is_used_metric(metric);
  }

  void read_header() {
    std::vector<std::string> row;
    do {
      if (!reader_.next(row))
        base::fail(subject_,
                   "has no header with \"ID\" and \"Kernel Name\"; expected the output of ncu --csv --page raw");
    } while (!is_header(row));
    columns_.names = row;
    columns_.units.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      columns_.units[i] = split_unit(row[i]);
      columns_.index.emplace(row[i], i);
      if (row[i].find("Push/Pop_Range") != std::string::npos || row[i] == "NVTX Range") nvtx_.push_back(i);
      if (row[i].find("Start/Stop_Range") != std::string::npos) nvtx_.push_back(i);
      if (is_used(row[i])) metrics_.push_back(i);
    }
    metric_names_ = row;
  }

  Launch describe(const std::vector<std::string>& row) const {
    Launch launch;
    launch.name = cell(row, columns_.find("Kernel Name"));
    launch.grid = cell(row, columns_.find("Grid Size"));
    launch.block = cell(row, columns_.find("Block Size"));
    launch.stream = cell(row, columns_.find("Stream"));
    launch.device = cell(row, columns_.find("device__attribute_display_name"));
    for (const std::size_t column : nvtx_) {
      const std::string path = nvtx_path(cell(row, column));
      if (!path.empty()) (launch.nvtx += launch.nvtx.empty() ? "" : "/") += path;
    }
    return launch;
  }

  void add_launch(const std::vector<std::string>& row) {
    if (cell(row, columns_.find("ID")).empty()) {  // the row of units
      for (const std::size_t column : metrics_) columns_.units[column] = row[column];
      return;
    }
    Launch launch = describe(row);
    for (const std::size_t column : metrics_) put(launch, metric_names_[column], columns_.units[column], row[column]);
    launches_.push_back(std::move(launch));
  }

  void add_metric(const std::vector<std::string>& row) {
    const std::string& process = cell(row, columns_.find("Process ID"));
    const std::string id = process + '\n' + cell(row, columns_.find("ID"));
    const auto [found, is_new] = by_id_.try_emplace(id, launches_.size());
    if (is_new) launches_.push_back(describe(row));
    const std::string& metric = cell(row, columns_.find("Metric Name"));
    if (is_used(metric))
      put(launches_[found->second], metric, cell(row, columns_.find("Metric Unit")),
          cell(row, columns_.find("Metric Value")));
  }

  void put(Launch& launch, const std::string& metric, const std::string& unit, const std::string& printed) {
    const std::optional<double> number = base::printed_number(printed);
    if (!number || *number < 0) {
      unread_.insert(metric);
      return;
    }
    launch.metrics[metric] = scaled(metric, unit, *number, reader_.place());
  }

  base::CsvReader reader_;
  std::string_view subject_;
  const documents::ChipMetrics* chip_;  // null: not known
  NcuColumns columns_;
  std::vector<std::string> metric_names_;    // headers without units
  std::vector<std::size_t> nvtx_, metrics_;  // columns
  std::map<std::string, std::size_t> by_id_;
  std::vector<Launch> launches_;
  std::set<std::string> unread_;  // metrics without a number for some launch
};

void require_equal_runs(const std::vector<Launch>& launches, std::size_t per_run, std::string_view subject) {
  for (std::size_t i = per_run; i < launches.size(); ++i) {
    const Launch &now = launches[i], &before = launches[i % per_run];
    if (now.name != before.name || now.nvtx != before.nvtx)
      base::fail(subject, "launch " + std::to_string(i % per_run + 1) + " of run " + std::to_string(i / per_run + 1) +
                              " is \"" + now.name + "\", of run 1 \"" + before.name +
                              "\"; the runs differ, so give another number of runs");
  }
}

// If a kernel's name indicates tensor cores but no metric counts them, marks its sum of operations as unknown.
LaunchSample sample_of_launch(const Launch& launch, const documents::ChipMetrics* chip) {
  LaunchSample sample = chip ? sample_of(launch.metrics, *chip) : sample_of(launch.metrics);
  const bool has_tensor = std::any_of(sample.flops.begin(), sample.flops.end(),
                                      [](const auto& f) { return f.first.ends_with(".tensor"); });
  if (!has_tensor && !sample.flops.empty() && is_tensor_kernel(launch.name)) sample.flops["float16.tensor"] = std::nullopt;
  return sample;
}

void name_missing(documents::Measured& measured) {
  const auto none = [&](auto has) { return std::none_of(measured.kernels.begin(), measured.kernels.end(), has); };
  if (none([](const documents::MeasuredKernel& k) { return k.seconds.has_value(); }))
    measured.missing.push_back({"kernel seconds", "no gpu__time_duration.sum in the file"});
  if (none([](const documents::MeasuredKernel& k) { return !k.flops.empty(); }))
    measured.missing.push_back({"flops", "no sm__sass_thread_inst_executed_op_*_pred_on.sum in the file"});
  if (none([](const documents::MeasuredKernel& k) {
        return std::any_of(k.flops.begin(), k.flops.end(),
                           [](const auto& f) { return f.first.ends_with(".tensor") && f.second; });
      }))
    measured.missing.push_back({"flops of tensor cores",
                                "no sm__ops_path_tensor_*.sum in the file, and no rate of them with time and clock; "
                                "instructions through the tensor pipe do not tell how many operations they are"});
  const auto bytes = [&](const char* what, std::optional<double> documents::LevelBytes::*field, const char* metric) {
    if (none([&](const documents::MeasuredKernel& k) { return (k.bytes.*field).has_value(); }))
      measured.missing.push_back({std::string("bytes.") + what, std::string("no ") + metric + " in the file"});
  };
  bytes("dram", &documents::LevelBytes::dram, "dram__bytes_read.sum and dram__bytes_write.sum");
  bytes("l2", &documents::LevelBytes::l2, "lts__t_sectors_srcunit_tex.sum or lts__t_bytes.sum");
  bytes("l1", &documents::LevelBytes::l1, "l1tex__t_bytes.sum");
  measured.missing.push_back({"seconds", "ncu runs kernels one by one; a whole run is not timed"});
  measured.missing.push_back({"energy", "ncu measures no energy"});
}

}  // namespace

documents::Measured import_ncu(std::string_view text, std::string_view subject, const ImportOptions& options) {
  const documents::ChipMetrics* chip = options.chip.empty() ? nullptr : &documents::chip_metrics(options.chip);
  Table table(text, subject, chip);
  const std::vector<Launch> launches = table.launches();
  const auto runs = static_cast<std::size_t>(std::max<std::int64_t>(1, options.runs.value_or(1)));
  if (launches.size() % runs != 0)
    base::fail(subject, "holds " + std::to_string(launches.size()) + " launches, which are not " +
                            std::to_string(runs) + " equal runs");
  const std::size_t per_run = launches.size() / runs;
  require_equal_runs(launches, per_run, subject);

  documents::Measured measured;
  measured.source = "ncu";
  measured.tool = "Nsight Compute";
  measured.warmup = warmup_runs(static_cast<std::int64_t>(runs), options);
  measured.repeats = static_cast<std::int64_t>(runs) - measured.warmup;
  KernelRows rows;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    if (measured.device.empty()) measured.device = launch.device;
    documents::MeasuredKernel kernel;
    kernel.name = launch.name;
    kernel.nvtx = launch.nvtx;
    if (!launch.stream.empty()) kernel.provider = "stream " + launch.stream;
    if (!launch.grid.empty()) kernel.detail = "grid " + launch.grid + ", block " + launch.block;
    rows.add(launch.nvtx + '\n' + launch.name + '\n' + launch.grid + '\n' + launch.block, kernel, i / per_run,
             sample_of_launch(launch, chip));
  }
  std::move(rows).finish(static_cast<std::size_t>(measured.warmup), runs, measured);
  name_missing(measured);
  if (measured.device.empty()) measured.missing.push_back({"device", "no device__attribute_display_name in the file"});
  if (!options.runs)
    measured.notes.push_back("the file does not say how many runs of the model it holds; it is taken as one");
  for (const std::string& metric : table.unread())
    measured.notes.push_back(metric + " has no number for some kernels (n/a or negative); it is unknown there");
  return measured;
}

}  // namespace pagoda::measured::import
