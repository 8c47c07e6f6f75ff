// Measures a function of this program, and where pagoda-bench is given a study of commands, each in a process of its
// own; prints both as one table.
//
//   08_run_a_study [PAGODA_BENCH]
#include <pagoda/lab/runner.h>
#include <pagoda/lab/result_report.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  std::vector<pagoda::documents::Result> results;

  std::vector<float> image(1 << 16, 0.5f);
  results.push_back(pagoda::lab::time_function(
      {{"model", "tanh"}, {"batch", std::int64_t{1}}},
      [&] {
        for (float& pixel : image) pixel = std::tanh(pixel);
      },
      {.timing = {.budget_seconds = 0.05, .warmup_seconds = 0.02}, .items = 1}));

  if (argc > 1) {
    const pagoda::lab::Study study = pagoda::lab::parse_study(
        "model = 'sleep'\nbackend = 'cmd'\ncommand = 'sleep 0.00{batch}'\nbatch = '1,2..3'\n"
        "[measure]\nmin_iterations = 3\nmax_iterations = 3\nwarmup_iterations = 1\n",
        "the example's study");
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "pagoda-example-study";
    std::filesystem::remove_all(folder);
    const pagoda::lab::StudyRun run =
        pagoda::lab::run_study(study, {.folder = folder.string(), .program = argv[1]});
    std::cout << run.results.size() << " experiments, " << run.not_ok << " not ok\n";
    results.insert(results.end(), run.results.begin(), run.results.end());
    if (run.results.size() != 3 || run.not_ok > 0) return 1;
  }
  std::cout << pagoda::lab::times_report(results, pagoda::lab::ReportFormat::Text);
  return results.front().timing->latency.n > 0 ? 0 : 1;
}
