#include "pagoda/lab/modes_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/estimate/measured_runs.h"
#include "results/chart.h"
#include "results/csv.h"

namespace pagoda::lab {
namespace {

using documents::MeasuredRun, results::percent;

// "gpu 918 MHz" of gpu_hz=918000000.
std::string setting_name(const std::string& name, const base::Setting& setting) {
  const auto* whole = std::get_if<std::int64_t>(&setting);
  if (whole != nullptr && name.ends_with("_hz"))
    return name.substr(0, name.size() - 3) + " " + base::si_text(static_cast<double>(*whole), "Hz", {.digits = 4});
  return name + "=" + base::setting_text(setting);
}

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Settings with several values among the runs, without those that identify the workload.
std::vector<std::string> mode_settings(const std::vector<MeasuredRun>& runs, const std::vector<std::string>& same) {
  std::map<std::string, std::set<base::Setting>> values;
  for (const MeasuredRun& run : runs)
    for (const auto& [name, setting] : run.config) values[name].insert(setting);
  std::vector<std::string> names;
  for (const auto& [name, known] : values)
    if (known.size() > 1 && !is_in(same, name)) names.push_back(name);
  return names;
}

std::vector<std::string> settings_of(const MeasuredRun& run, const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const std::string& name : names)
    if (const auto found = run.config.find(name); found != run.config.end())
      texts.push_back(setting_name(name, found->second));
  return texts;
}

void finish(ModeStudy& study) {
  auto& modes = study.modes;
  std::ranges::stable_sort(modes, {}, [](const ModeRun& mode) { return std::pair(mode.seconds, mode.joules); });
  double least = INFINITY;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    modes[i].is_on_front = modes[i].joules < least;
    least = std::min(least, modes[i].joules);
    if (modes[i].joules < modes[study.least].joules) study.least = i;
    const bool is_within = modes[i].seconds <= modes.front().seconds * (1 + study.slow_down) * (1 + 1e-12);
    if (is_within && modes[i].joules < modes[study.chosen].joules) study.chosen = i;
  }
}

// "2 runs without seconds or joules are left out"; empty if no run is left out.
std::string left_out_text(const std::vector<ModeStudy>& studies) {
  const std::size_t count = studies.front().left_out;
  if (count == 0) return "";
  return cat(count, count == 1 ? " run" : " runs", " without seconds or joules ", count == 1 ? "is" : "are",
             " left out");
}

constexpr std::string_view kOnlyOne = "the only one";
std::string mode_name(const ModeRun& mode) {
  return mode.settings.empty() ? std::string(kOnlyOne) : base::joined(mode.settings);
}
// False if each work was measured in one mode.
bool has_choice(const std::vector<ModeStudy>& studies) {
  return std::ranges::any_of(studies, [](const ModeStudy& study) { return study.modes.size() > 1; });
}

std::string text_of(const std::vector<ModeStudy>& studies, const std::string& title) {
  base::Grid grid{results::columns_of({"work", ">modes", ">fastest", ">its energy", "chosen", ">longer", ">saved",
                                       ">least energy of all", ">at"}),
                  {}};
  std::string fronts;
  for (const ModeStudy& study : studies) {
    const ModeRun &fastest = study.modes.front(), &chosen = study.modes[study.chosen],
                  &least = study.modes[study.least];
    grid.rows.push_back({base::printable(study.work), cat(study.modes.size()), base::si_seconds(fastest.seconds),
                         results::joules_text(fastest.joules), base::printable(mode_name(chosen)),
                         percent(chosen.seconds / fastest.seconds - 1), percent(study.saving()),
                         results::joules_text(least.joules), base::rounded(least.seconds / fastest.seconds) + "×"});
    fronts += cat("front", study.work.empty() ? "" : " of ", base::printable(study.work), ":\n");
    for (const ModeRun& mode : study.modes)
      if (mode.is_on_front)
        fronts += cat("  ", base::si_seconds(mode.seconds), "  ", results::joules_text(mode.joules), "  ",
                      base::printable(base::joined(mode.settings)), "\n");
  }
  const std::string left_out = left_out_text(studies);
  return cat(base::printable(title), ": the least energy of the modes that take at most ",
             percent(studies.front().slow_down), " longer than the fastest\n\n", base::aligned(grid, 0), "\n", fronts,
             left_out, left_out.empty() ? "" : "\n");
}

std::string csv_of(const std::vector<ModeStudy>& studies) {
  std::string text = "work,mode,seconds,joules,watts,slow_down,saving,front,chosen\r\n";
  for (const ModeStudy& study : studies)
    for (const ModeRun& mode : study.modes) {
      const ModeRun& fastest = study.modes.front();
      text += results::csv_row(study.work, base::joined(mode.settings), mode.seconds, mode.joules,
                               mode.joules / mode.seconds, mode.seconds / fastest.seconds - 1,
                               1 - mode.joules / fastest.joules, mode.is_on_front ? "yes" : "no",
                               &mode == &study.modes[study.chosen] ? "yes" : "no");
    }
  return text;
}

// The settings of a mode that another one does not have: "gpu 918 MHz".
std::string difference(const ModeRun& mode, const ModeRun& from) {
  std::vector<std::string> list = mode.settings;
  std::erase_if(list, [&](const std::string& each) { return is_in(from.settings, each); });
  return base::joined(list);
}

// "ms" for values up to 0.4 s; times are then multiplied by 1000.
std::pair<double, std::string> scale_of(double most, const std::string& unit) {
  const double power = std::clamp(std::floor(std::log10(most) / 3), -3.0, 0.0);
  constexpr std::array<std::string_view, 4> kPrefixes = {"", "m", "µ", "n"};
  return {std::pow(1000, -power), std::string(kPrefixes[static_cast<std::size_t>(-power)]) + unit};
}

// One mode for each work: energy over time, in seconds and joules, since nothing can be compared with a fastest mode.
results::LineChart chart_of_works(const std::vector<ModeStudy>& studies, const std::string& title) {
  double longest = 0, most = 0;
  for (const ModeStudy& study : studies) {
    longest = std::max(longest, study.modes.front().seconds);
    most = std::max(most, study.modes.front().joules);
  }
  const auto [time, seconds] = scale_of(longest, "s");
  const auto [energy, joules] = scale_of(most, "J");
  results::ChartLine line{std::string(kOnlyOne), {}};
  for (const ModeStudy& study : studies)
    line.points.push_back(
        {.x = time * study.modes.front().seconds, .y = energy * study.modes.front().joules, .label = study.work});
  std::ranges::sort(line.points, {}, &results::ChartPoint::x);
  const std::string left_out = left_out_text(studies);
  return {title,
          "one mode for each work: nothing to choose" + (left_out.empty() ? "" : "; " + left_out),
          cat("time [", seconds, "]"),
          cat("energy [", joules, "]"),
          {},
          {std::move(line)}};
}

// Energy over time, both relative to the fastest mode of the same work: all modes as a cloud, the front as a line, the
// chosen mode large, with the settings that differ from the fastest.
results::LineChart chart_of(const std::vector<ModeStudy>& studies, const std::string& title) {
  if (!has_choice(studies)) return chart_of_works(studies, title);
  constexpr double kMostEnergy = 1.25;  // of drawn modes off the front, like the longest time: far worse ones would
                                        // press the front together
  const double limit = 1 + studies.front().slow_down;
  double longest = limit;
  for (const ModeStudy& study : studies)
    for (const ModeRun& mode : study.modes)
      if (mode.is_on_front) longest = std::max(longest, mode.seconds / study.modes.front().seconds);
  longest = 1 + 1.15 * (longest - 1);
  std::size_t drawn = 0, all = 0;
  results::LineChart chart{
      .title = title, .subtitle = {}, .x_title = "time, × the fastest", .y_title = "energy, × that of the fastest"};
  for (std::size_t i = 0; i < studies.size(); ++i) {
    const ModeStudy& study = studies[i];
    results::ChartLine line{study.work.empty() ? "front" : study.work, {}, {}, "", i % 6};
    for (std::size_t at = 0; at < study.modes.size(); ++at) {
      const ModeRun &mode = study.modes[at], &fastest = study.modes.front();
      const results::ChartPoint point{.x = mode.seconds / fastest.seconds, .y = mode.joules / fastest.joules};
      const bool is_shown = mode.is_on_front || (point.x <= longest && point.y <= kMostEnergy);
      drawn += is_shown ? 1 : 0, ++all;
      if (!is_shown) continue;
      std::vector<results::ChartPoint>& points = mode.is_on_front ? line.points : line.cloud;
      points.push_back(point);
      points.back().is_marked = at == study.chosen;
      if (at == study.chosen && at != 0) points.back().label = difference(mode, fastest);
    }
    chart.lines.push_back(std::move(line));
  }
  const std::string left_out = left_out_text(studies);
  chart.subtitle =
      cat("lines: front of time and energy; large: the least energy within the limit; faint: other modes",
          drawn < all ? cat(", ", all - drawn, " of ", all, " beyond") : "", left_out.empty() ? "" : "; ", left_out);
  chart.reference = 1;
  chart.reference_name = "fastest mode";
  chart.limit = limit;
  chart.limit_name = "+" + present::plot::plain(100 * studies.front().slow_down) + " %";
  return chart;
}

results::PageTable table_of(const std::vector<ModeStudy>& studies) {
  results::PageTable table{"Chosen modes", {"work", "mode", "time", "energy", "longer", "energy saved"}};
  for (const ModeStudy& study : studies) {
    const ModeRun& chosen = study.modes[study.chosen];
    table.rows.push_back({study.work, mode_name(chosen), base::si_seconds(chosen.seconds),
                          results::joules_text(chosen.joules),
                          percent(chosen.seconds / study.modes.front().seconds - 1), percent(study.saving())});
  }
  return table;
}

std::string verdict_of(const std::vector<ModeStudy>& studies) {
  if (!has_choice(studies))
    return cat(studies.size() > 1 ? "one mode for each work, " : "one mode, ", kOnlyOne, ": nothing to choose");
  const ModeStudy& study = *std::ranges::max_element(studies, {}, &ModeStudy::saving);
  if (study.chosen == 0) return "the fastest mode also takes the least energy";
  return cat(studies.size() > 1 ? "up to " : "", percent(study.saving()), " less energy for ",
             percent(study.modes[study.chosen].seconds / study.modes.front().seconds - 1), " more time");
}

}  // namespace

std::vector<ModeStudy> study_modes(const documents::Measured& measured, double slow_down,
                                   const std::vector<std::string>& same, std::string_view subject) {
  const std::vector<MeasuredRun> runs = estimate::whole_runs(measured);
  const std::vector<std::string> settings = mode_settings(runs, same);
  std::vector<ModeStudy> studies;
  std::size_t left_out = 0;
  for (const MeasuredRun& run : runs) {
    const std::optional<double> joules = estimate::joules_of(run);
    if (!run.seconds || !(*run.seconds > 0) || !joules || !(*joules > 0)) {
      ++left_out;
      continue;
    }
    const std::string work = base::joined(settings_of(run, same));
    auto study = std::ranges::find(studies, work, &ModeStudy::work);
    if (study == studies.end())
      study = studies.insert(studies.end(), {.work = work, .slow_down = slow_down, .modes = {}});
    study->modes.push_back({.settings = settings_of(run, settings), .seconds = *run.seconds, .joules = *joules});
  }
  if (studies.empty())
    throw Error(cat(subject, ": none of ", left_out,
                    " runs has seconds and joules; expected a table of power modes, or runs with joules"));
  for (ModeStudy& study : studies) {
    study.left_out = left_out;
    finish(study);
  }
  return studies;
}

std::string modes_report(const std::vector<ModeStudy>& studies, ReportFormat format, const std::string& title) {
  const auto html = [&] {
    const std::string left_out = left_out_text(studies);
    return results::page({title,
                          verdict_of(studies),
                          left_out.empty() ? std::vector<std::string>() : std::vector{left_out},
                          {picture_of(chart_of(studies, title))},
                          {table_of(studies)}});
  };
  return results::written(
      format, [&] { return text_of(studies, title); }, [&] { return csv_of(studies); },
      [&] { return results::draw(chart_of(studies, title)); }, html);
}

}  // namespace pagoda::lab
