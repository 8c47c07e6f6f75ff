// Power modes: the Pareto front of time and energy against a search of all pairs, and the choice within a limit.
#include "pagoda/lab/modes_report.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "pagoda/base/text.h"
#include "support/sometimes.h"

using namespace pagoda;
using doctest::Approx;

namespace {

documents::MeasuredRun run(std::int64_t batch, std::int64_t gpu_hz, double seconds, double watts,
                           std::string note = "") {
  return {.config = {{"batch", batch}, {"gpu_hz", gpu_hz}, {"cores", std::int64_t{12}}},
          .seconds = seconds,
          .watts = watts,
          .energy_joules = seconds * watts,
          .note = std::move(note)};
}

documents::Measured table() {
  documents::Measured measured;
  for (int i = 0; i < 40; ++i) {
    // Slower clocks take more time and less power, with bumps, so that some modes are not on the front.
    const double clock = 0.4 + 0.02 * i, watts = 12 + 30 * clock * clock + (i % 3 == 0 ? 4 : 0);
    measured.runs.push_back(run(1, 400000000 + 20000000LL * i, 0.1 / clock, watts));
    measured.runs.push_back(run(8, 400000000 + 20000000LL * i, 0.5 / clock, watts + 3));
  }
  measured.runs.push_back(run(8, 100000000, 0.01, 1, "power is far from that of the next smaller and larger batch"));
  return measured;
}

}  // namespace

TEST_CASE("the front holds exactly the modes that no other beats in time and in energy") {
  const auto studies = lab::study_modes(table(), 0.1);
  REQUIRE(studies.size() == 2);
  CHECK(studies[0].work == "batch=1");
  for (const lab::ModeStudy& study : studies) {
    CHECK(study.modes.size() == 40);  // the suspicious one is left out
    for (const lab::ModeRun& mode : study.modes) {
      const bool is_beaten = std::any_of(study.modes.begin(), study.modes.end(), [&](const lab::ModeRun& other) {
        return other.seconds <= mode.seconds && other.joules <= mode.joules &&
               (other.seconds < mode.seconds || other.joules < mode.joules);
      });
      CHECK(mode.is_on_front == !is_beaten);
    }
    CHECK(std::is_sorted(study.modes.begin(), study.modes.end(),
                         [](const auto& a, const auto& b) { return a.seconds < b.seconds; }));
  }
}

TEST_CASE("the chosen mode takes the least energy of those within the limit, and a limit of 0 chooses the fastest") {
  test::Sometimes is_within("another mode within the limit");
  for (const double limit : {0.0, 0.05, 0.5, 10.0})
    for (const lab::ModeStudy& study : lab::study_modes(table(), limit)) {
      const lab::ModeRun &chosen = study.modes[study.chosen], &fastest = study.modes.front();
      CHECK(chosen.seconds <= fastest.seconds * (1 + limit) * (1 + 1e-9));
      for (const lab::ModeRun& mode : study.modes)
        if (is_within(&mode != &chosen && mode.seconds <= fastest.seconds * (1 + limit)))
          CHECK(chosen.joules <= mode.joules);
      CHECK(study.saving() == Approx(1 - chosen.joules / fastest.joules));
      CHECK((limit > 0 || study.chosen == 0));
    }
}

TEST_CASE("modes are named by the settings in which they differ, and every format holds them") {
  const auto studies = lab::study_modes(table(), 0.1);
  CHECK(studies[0].modes.front().settings == std::vector<std::string>{"gpu 1.18 GHz"});
  const std::string csv = lab::modes_report(studies, lab::ReportFormat::Csv, "orin");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 81);
  CHECK(csv.find("batch=8,gpu 400 MHz") != std::string::npos);
  CHECK(lab::modes_report(studies, lab::ReportFormat::Text, "orin").find("front of batch=8") !=
        std::string::npos);
  CHECK(lab::modes_report(studies, lab::ReportFormat::Svg, "orin").find("<svg") != std::string::npos);
  CHECK(lab::modes_report(studies, lab::ReportFormat::Html, "orin").find("Chosen modes") != std::string::npos);
}

TEST_CASE("how many runs are left out is said in text, pictures and pages") {
  const auto studies = lab::study_modes(table(), 0.1);
  CHECK(studies[0].left_out == 1);
  for (const auto format : {lab::ReportFormat::Text, lab::ReportFormat::Svg, lab::ReportFormat::Html})
    CHECK(lab::modes_report(studies, format, "orin").find("1 run without seconds or joules is left out") !=
          std::string::npos);
  documents::Measured whole = table();
  whole.runs.pop_back();
  CHECK(lab::modes_report(lab::study_modes(whole, 0.1), lab::ReportFormat::Text, "orin").find("left out") ==
        std::string::npos);
}

TEST_CASE("one mode for each work leaves nothing to choose, and the page says so") {
  documents::Measured measured = table();
  std::erase_if(measured.runs, [](const documents::MeasuredRun& each) {
    return each.config.at("gpu_hz") != base::Setting(std::int64_t{400000000});
  });
  const auto studies = lab::study_modes(measured, 0.1);
  REQUIRE(studies.size() == 2);
  const std::string page = lab::modes_report(studies, lab::ReportFormat::Html, "orin");
  CHECK(page.find("the only one") != std::string::npos);
  CHECK(page.find("least energy") == std::string::npos);
  // Each work has its own place, with ticks on both axes.
  CHECK(page.find("time [s]") != std::string::npos);
  CHECK(page.find(">batch=8<") != std::string::npos);
  CHECK(lab::modes_report(studies, lab::ReportFormat::Text, "orin").find("the only one") != std::string::npos);
}

TEST_CASE("the page names time and energy of each chosen mode") {
  const auto studies = lab::study_modes(table(), 0.1);
  const lab::ModeRun& chosen = studies[0].modes[studies[0].chosen];
  const std::string page = lab::modes_report(studies, lab::ReportFormat::Html, "orin");
  CHECK(page.find(base::si_seconds(chosen.seconds)) != std::string::npos);
  CHECK(page.find(base::si_text(chosen.joules, "J")) != std::string::npos);
}

TEST_CASE("conditions leave the runs with these settings, and say which settings there are") {
  const documents::Measured one = lab::runs_where(table(), {"batch=8,cores=12"});
  CHECK(one.runs.size() == 41);
  for (const documents::MeasuredRun& run : one.runs) CHECK(run.config.at("batch") == base::Setting(std::int64_t{8}));
  CHECK(lab::study_modes(one, 0.1).size() == 1);
  CHECK(lab::runs_where(table(), {"batch=8", "gpu_hz=400000000"}).runs.size() == 1);
  CHECK_THROWS_WITH_AS(lab::runs_where(table(), {"batch=9"}), doctest::Contains("no run has these values"), Error);
  CHECK_THROWS_WITH_AS(lab::runs_where(table(), {"bs=8"}), doctest::Contains("theirs are: batch, cores, gpu_hz"),
                       Error);
}

TEST_CASE("runs without joules choose nothing: they are refused") {
  documents::Measured measured = table();
  for (documents::MeasuredRun& each : measured.runs) each.energy_joules = each.watts = std::nullopt;
  CHECK_THROWS_WITH_AS(lab::study_modes(measured, 0.1, {"batch"}, "t.csv"),
                       doctest::Contains("t.csv: none of 81 runs has seconds and joules"), Error);
}
