// What python_cost.py compares Python with: reads and analyses a model COUNT times in one process, and prints the seconds
// that all of it took.
//   analyses MODEL.onnx COUNT
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "pagoda/core/model.h"
#include "pagoda/estimate/make_estimate.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: analyses MODEL.onnx COUNT\n", stderr);
    return 2;
  }
  const int count = std::max(1, std::atoi(argv[2]));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const pagoda::Model model = pagoda::load_model(argv[1]);
    const pagoda::documents::EstimateDocument estimate = pagoda::estimate::make_estimate(model, {});
    if (!estimate.totals.counts.flops) return 1;
  }
  std::printf("%.9f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
