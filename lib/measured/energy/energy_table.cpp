// Tables of runs with joules, from CSV, from measured runs and from profiled kernels.
#include "pagoda/measured/energy_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "pagoda/base/cat.h"
#include "pagoda/base/csv_table.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "pagoda/estimate/measured_runs.h"

namespace pagoda::measured {
namespace {

using base::CsvTable;

// The factor of a unit: 1e9 for "GFLOP" with noun "flop"; 0 if it is not such a unit.
double factor_of(std::string_view text, std::string_view noun) {
  std::string unit = base::lower(text);
  const bool is_milli = text.starts_with('m');
  if (unit.ends_with("s") && unit.ends_with(std::string(noun) + "s")) unit.pop_back();  // "FLOPs"
  if (!unit.ends_with(noun)) return 0;
  unit.resize(unit.size() - noun.size());
  constexpr std::array<std::pair<std::string_view, double>, 8> kPrefixes = {
      {{"", 1}, {"k", 1e3}, {"g", 1e9}, {"t", 1e12}, {"p", 1e15}, {"u", 1e-6}, {"n", 1e-9}, {"\u00b5", 1e-6}}};
  for (const auto& [prefix, factor] : kPrefixes)
    if (unit == prefix) return factor;
  return unit == "m" ? (is_milli ? 1e-3 : 1e6) : 0;
}

struct Column {
  std::size_t at = 0;
  double factor = 1;
};

constexpr std::string_view kExpected = "expected flops, bytes, seconds, and joules or watts";

// A column's name without its unit: "time" of "Time (ms)".
std::string name_of(const std::string& cell) {
  std::string name = base::lower(cell.substr(0, cell.find_first_of("([")));
  while (!name.empty() && (name.back() == ' ' || name.back() == '_')) name.pop_back();
  return name;
}

// The columns of a table with the factors of their units.
class Header {
 public:
  explicit Header(const CsvTable& table) : table_(table) {
    for (const std::string& cell : table.names) names_.push_back(name_of(cell));
  }

  std::optional<Column> find(std::initializer_list<std::string_view> names, std::string_view noun) {
    for (const std::string_view name : names)
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (names_[i] != name) continue;
        const std::string& cell = table_.names[i];
        const std::size_t open = cell.find_first_of("([");
        const std::string unit =
            open == std::string::npos ? "" : cell.substr(open + 1, cell.find_first_of(")]/", open) - open - 1);
        const double factor = unit.empty() ? 1 : factor_of(unit, noun);
        if (!(factor > 0))
          base::fail(table_.place(), cat("column \"", names_[i], "\": \"", unit, "\" is not a unit of it"));
        taken_.push_back(i);
        return Column{i, factor};
      }
    return std::nullopt;
  }
  Column need(std::initializer_list<std::string_view> names, std::string_view noun) {
    if (const auto found = find(names, noun)) return *found;
    base::fail(table_.place(), cat("has no column \"", *names.begin(), "\"; ", kExpected));
  }
  bool is_taken(std::size_t i) const { return std::ranges::find(taken_, i) != taken_.end(); }
  const std::vector<std::string>& names() const { return names_; }

 private:
  const CsvTable& table_;
  std::vector<std::string> names_;
  std::vector<std::size_t> taken_;
};

base::Setting setting_of(const CsvTable& table, std::size_t column) {
  if (const auto whole = base::parse_number<std::int64_t>(table.cell(column))) return *whole;
  if (const auto real = table.number_or_none(column)) return *real;
  return table.cell(column);
}

// "resnet50 batch=8": model, name or label, then the batch.
std::string label_of(const base::Settings& config) {
  std::string label, sizes;
  for (const auto& [name, setting] : config) {
    if (name == "batch" || name == "bs") sizes += " batch=" + base::setting_text(setting);
    if (name != "model" && name != "name" && name != "label") continue;
    label += (label.empty() ? "" : " ") + base::setting_text(setting);
  }
  return (label.empty() ? "run" : label) + sizes;
}

// Adds a run to the rows, or to those left out if a number is missing.
void add(EnergyTable& table, EnergyRun run) {
  for (const auto& [value, missing] : {std::pair{run.seconds, ": no time"},
                                       {run.joules, ": no joules"},
                                       {run.flops, ": no FLOPs"},
                                       {run.bytes, ": no bytes"}})
    if (!std::isfinite(value) || !(value > 0)) return table.left_out.push_back(run.label + missing);
  table.rows.push_back(std::move(run));
}

}  // namespace

EnergyTable read_energy_csv(std::string_view text, std::string_view subject) {
  const std::initializer_list<std::string_view> flop_names = {"flops", "flop", "work"};
  const auto is_header = [&](const CsvTable::Row& row) {
    return std::ranges::any_of(
        row, [&](const std::string& cell) { return std::ranges::find(flop_names, name_of(cell)) != flop_names.end(); });
  };
  CsvTable csv(text, subject, is_header, cat("has no column \"flops\"; ", kExpected));
  csv.expect_all_numbers();
  Header header(csv);
  const Column flops = header.need(flop_names, "flop"), bytes = header.need({"bytes", "traffic", "dram_bytes"}, "b"),
               seconds = header.need({"measured_seconds", "seconds", "time"}, "s");
  const auto joules = header.find({"measured_joules", "joules", "energy"}, "j");
  const Column energy = joules ? *joules : header.need({"measured_watts", "watts", "power"}, "w");
  EnergyTable table;
  while (csv.next([](const CsvTable::Row& row) { return row.front().starts_with('#'); })) {
    const auto value = [&](const Column& column) { return csv.number_or_none(column.at).value_or(0) * column.factor; };
    EnergyRun run{.label = {},
                  .config = {},
                  .flops = value(flops),
                  .bytes = value(bytes),
                  .seconds = value(seconds),
                  .joules = joules ? value(energy) : value(energy) * value(seconds)};
    for (std::size_t i = 0; i < header.names().size(); ++i)
      if (!header.is_taken(i)) run.config[header.names()[i]] = setting_of(csv, i);
    run.label = label_of(run.config);
    const bool is_measured = run.seconds > 0 || run.joules > 0;  // unmeasured points of a sweep have neither
    if (is_measured) add(table, std::move(run));
  }
  return table;
}

void add_energy_runs(EnergyTable& table, const documents::Measured& measured,
                     const documents::EstimateDocument* estimate, std::string_view subject) {
  if (estimate == nullptr) {
    if (measured.kernels.empty())
      base::fail(subject, "holds whole runs, whose work it does not say; give the model's estimate with `estimate`");
    for (const documents::MeasuredKernel& kernel : measured.kernels) {
      documents::Amount flops = 0;
      for (const auto& [precision, amount] : kernel.flops) flops = documents::plus(flops, amount);
      add(table, {.label = kernel.node.empty() ? kernel.name : kernel.node,
                  .config = {{"kernel", kernel.name}},
                  .flops = flops.value_or(0),
                  .bytes = kernel.bytes.all_dram().value_or(0),
                  .seconds = kernel.seconds.value_or(0),
                  .joules = kernel.energy_joules.value_or(0)});
    }
    return;
  }
  for (const documents::MeasuredRun& run : estimate::whole_runs(measured)) {
    std::string problem;
    const auto work = estimate::run_work(*estimate, run, problem);
    base::Settings config = run.config;
    config["model"] = estimate::short_model_name(*estimate);
    const std::string label = label_of(config);
    if (!work) {
      table.left_out.push_back(label + ": " + problem);
      continue;
    }
    EnergyRun row{.label = label,
                  .config = std::move(config),
                  .flops = work->flops,
                  .bytes = work->bytes,
                  .seconds = run.seconds.value_or(0),
                  .joules = estimate::joules_of(run).value_or(0)};
    if (!run.note.empty())
      table.left_out.push_back(label + ": " + run.note);
    else
      add(table, std::move(row));
  }
}

EnergyFit fit_energy(const std::vector<EnergyRun>& rows, const EnergyFitOptions& options) {
  std::vector<EnergyRow> fitted;
  fitted.reserve(rows.size());
  for (const EnergyRun& run : rows) fitted.push_back({{run.flops, run.bytes}, run.seconds, run.joules});
  return fit_energy({"joules_per_flop", "joules_per_byte"}, fitted, options);
}

std::vector<std::pair<std::string, std::vector<EnergyRun>>> grouped_by(const std::vector<EnergyRun>& rows,
                                                                       const std::vector<std::string>& settings) {
  std::vector<std::pair<std::string, std::vector<EnergyRun>>> groups;
  for (const EnergyRun& run : rows) {
    std::string key;
    for (const std::string& name : settings) {
      const auto found = run.config.find(name);
      if (found == run.config.end())
        throw Error(cat(run.label, ": has no setting \"", name,
                        "\"; known: ", base::joined(run.config, ", ", [](const auto& each) { return each.first; })));
      key += cat(key.empty() ? "" : ", ", name, "=", base::setting_text(found->second));
    }
    auto group = std::ranges::find(groups, key, [](const auto& each) { return each.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {key, {}});
    group->second.push_back(run);
  }
  return groups;
}

}  // namespace pagoda::measured
