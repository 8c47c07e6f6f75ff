// The power-mode tables of Pagoda (arXiv 2509.20189): whole batches of a model on a Jetson in many power modes.
//
//   cores,cpu,gpu,mem,observed_time(ms/batch),bs,observed_power(W)
//
// Columns are found by name, in any order. Clocks are in MHz, kHz or Hz: a Jetson's clocks lie between 0.1 and 4 GHz,
// so their magnitude determines the unit. Seconds and joules are per batch.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "import/formats.h"
#include "import/runs.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/csv_table.h"
#include "pagoda/base/text.h"

namespace pagoda::measured::import {
namespace {

using base::CsvTable;

constexpr double kMilliwatt = 1e-3;

// What a column's numbers are in, from the brackets in its name: "(ms/batch)".
struct Printed {
  double scale;    // to SI units
  std::string of;  // "batch"; empty: it does not say
};
Printed unit_of(const CsvTable& table, std::size_t column, const std::map<std::string, double>& units,
                const std::vector<std::string_view>& parts, std::string_view expected) {
  const std::string& name = table.names[column];
  const std::size_t open = name.find('('), end = name.find(')', std::min(open, name.size()));
  if (open == std::string::npos || end == std::string::npos)
    base::fail(table.place(), cat("column \"", name, "\" has no unit; expected ", expected));
  const std::string inside = name.substr(open + 1, end - open - 1);
  const std::size_t slash = std::min(inside.find('/'), inside.size());
  const auto found = units.find(inside.substr(0, slash));
  const std::string of = inside.substr(std::min(slash + 1, inside.size()));
  if (found == units.end() || (!of.empty() && std::ranges::find(parts, of) == parts.end()))
    base::fail(table.place(), cat("column \"", name, "\" is in a unit that is not known; expected ", expected));
  return {found->second, of};
}

double hertz(double printed) {
  if (printed >= 1e8) return printed;
  if (printed >= 1e5) return printed * 1e3;
  return printed * 1e6;
}

std::int64_t rounded(double value) { return static_cast<std::int64_t>(std::llround(value)); }

// Power grows slowly with batch. A power is marked as a bad sample if the two neighbouring batch sizes in the same mode
// agree within 50 % and the power differs from both by a factor of two or more.
void mark_outliers(std::vector<documents::MeasuredRun>& runs) {
  std::map<base::Settings, std::map<base::Setting, documents::MeasuredRun*>> modes;
  for (documents::MeasuredRun& run : runs) {
    base::Settings mode = run.config;
    mode.erase("batch");
    modes[mode][run.config.at("batch")] = &run;
  }
  for (const auto& [mode, by_batch] : modes) {
    for (auto at = by_batch.begin(); at != by_batch.end(); ++at) {
      if (at == by_batch.begin() || std::next(at) == by_batch.end()) continue;
      const double before = *std::prev(at)->second->watts, after = *std::next(at)->second->watts;
      const double low = std::min(before, after), high = std::max(before, after), watts = *at->second->watts;
      if (!(low > 0) || high > 1.5 * low || (watts > low / 2 && watts < 2 * high)) continue;
      at->second->note = "power is far from that of the next smaller and larger batch";
    }
  }
}

}  // namespace

documents::Measured import_jetson(std::string_view text, std::string_view subject, const ImportOptions& /*options*/) {
  const auto is_header = [](const CsvTable::Row& row) {
    return std::ranges::any_of(row, [](const std::string& name) { return base::lower(name).starts_with("observed_"); });
  };
  CsvTable table(text, subject, is_header,
                 "has no header; expected cores, cpu, gpu, mem, observed_time(ms/batch), bs, observed_power(W)");
  for (std::string& name : table.names) name = base::lower(name);
  const auto column = [&](std::string_view beginning) {
    const auto found =
        std::ranges::find_if(table.names, [&](const std::string& name) { return name.starts_with(beginning); });
    if (found == table.names.end())
      base::fail(table.place(),
                 cat("has no column \"", beginning,
                     "\"; expected cores, cpu, gpu, mem, observed_time(ms/batch), bs, observed_power(W)"));
    return static_cast<std::size_t>(found - table.names.begin());
  };
  const std::size_t cores = column("cores"), cpu = column("cpu"), gpu = column("gpu"), mem = column("mem"),
                    time = column("observed_time"), batch = column("bs"), power = column("observed_power");
  const Printed second = unit_of(table, time, {{"ms", kMillisecond}, {"s", 1.0}, {"us", kMicrosecond}},
                                 {"batch", "image", "img", "item", "sample"}, "observed_time(ms/batch)");
  const Printed watt = unit_of(table, power, {{"w", 1.0}, {"mw", kMilliwatt}}, {}, "observed_power(W)");
  const bool is_of_batch = second.of.empty() || second.of == "batch";

  table.expect_numbers({cores, cpu, gpu, mem, time, batch, power});

  documents::Measured measured;
  measured.source = "jetson";
  while (table.next()) {
    const auto value = [&](std::size_t at) {
      const std::optional<double> number = table.number_or_none(at);
      if (!number || !(*number > 0) || *number > 1e15)
        base::fail(table.place(), cat("\"", table.row[at], "\" is not a positive number"));
      return *number;
    };
    const auto whole = [&](std::size_t at) {
      const double number = value(at);
      if (number != std::floor(number))
        base::fail(table.place(),
                   cat("column \"", table.names[at], "\": found ", table.row[at], ", expected a whole number"));
      return rounded(number);
    };
    documents::MeasuredRun& run = measured.runs.emplace_back();
    run.config = {{"cores", whole(cores)},
                  {"cpu_hz", rounded(hertz(value(cpu)))},
                  {"gpu_hz", rounded(hertz(value(gpu)))},
                  {"mem_hz", rounded(hertz(value(mem)))},
                  {"batch", whole(batch)}};
    run.seconds = value(time) * second.scale * (is_of_batch ? 1 : value(batch));
    run.watts = value(power) * watt.scale;
    run.energy_joules = *run.watts * *run.seconds;  // the board's mean power over the batch
  }
  if (measured.runs.empty()) table.fail("holds no row below its header");
  mark_outliers(measured.runs);
  if (!is_of_batch)
    measured.notes.push_back(
        cat("times of the table are per ", second.of, "; those of a batch are its size times as long"));
  add_missing(measured, {{"kernels", "the table holds whole batches alone"},
                         {"tool", "the table does not name it"},
                         {"device", "the table does not name it"}});
  return measured;
}

}  // namespace pagoda::measured::import
