// Where onnx-estimate spends its time, step by step in one process: nanoseconds of processor time per node.
//   steps MODEL.onnx [REPEATS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/present/report.h"

namespace {

// The median seconds of `repeats` calls. Each result is destroyed before the next call.
template <typename Call>
double seconds_of(int repeats, const Call& call) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const std::clock_t begin = std::clock();
    const auto result = call();
    seconds.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[static_cast<std::size_t>(repeats / 2)];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: steps MODEL.onnx [REPEATS]\n", stderr);
    return 2;
  }
  const int repeats = argc > 2 ? std::max(1, std::atoi(argv[2])) : 5;
  const pagoda::Model model = pagoda::load_model(argv[1]);
  const pagoda::documents::EstimateDocument estimate = pagoda::estimate::make_estimate(model, {});
  const double nodes = static_cast<double>(std::max<std::size_t>(model.main().nodes.size(), 1));
  const auto print = [&](const char* step, double seconds) { std::printf("%s\t%.0f\n", step, seconds / nodes * 1e9); };
  print("load", seconds_of(repeats, [&] { return pagoda::load_model(argv[1]); }));
  print("analyze again", seconds_of(repeats, [&] { return pagoda::analyze(model); }));
  // As a search does, which asks for one size after another.
  pagoda::AnalyzeOptions sizes;
  for (const std::string& dim : pagoda::estimate::free_dims(estimate)) sizes.dims[dim] = 8;
  print("the same, sizes given", seconds_of(repeats, [&] { return pagoda::analyze(model, sizes); }));
  print("estimate", seconds_of(repeats, [&] { return pagoda::estimate::make_estimate(model, {}); }));
  print("table", seconds_of(repeats, [&] {
          return pagoda::present::table_report(estimate, {.rows = pagoda::present::Rows::None});
        }));
  print("json", seconds_of(repeats, [&] { return pagoda::documents::write_estimate(estimate); }));
  print("csv", seconds_of(repeats, [&] { return pagoda::present::csv_report(estimate); }));
}
