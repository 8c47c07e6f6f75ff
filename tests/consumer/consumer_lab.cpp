#include <pagoda/lab/result_report.h>
#include <pagoda/lab/runner.h>
#include <pagoda/pagoda.h>

#include <cstdio>

// Times the analysis of a model.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const pagoda::Model model = pagoda::load_model(argv[1]);
  const pagoda::documents::Result result =
      pagoda::lab::time_function({{"model", model.path}}, [&] { pagoda::analyze(model); },
                                 {.timing = {.budget_seconds = 0.01, .warmup_seconds = 0}, .items = 1});
  std::printf("%s", pagoda::lab::times_report({result}, pagoda::lab::ReportFormat::Text).c_str());
  return result.timing && result.timing->latency.n > 0 ? 0 : 1;
}
