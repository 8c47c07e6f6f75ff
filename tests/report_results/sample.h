// Results drawn from known distributions.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "pagoda/documents/result.h"

namespace pagoda::test {

struct Made {
  std::string model = "resnet50", compile = "eager";
  std::int64_t batch = 1, repeats = 1, samples = 60;
  std::function<double()> process = [] { return 1.0; };  // factor of a whole process
  std::function<double()> run = [] { return 1.0; };      // seconds of one run
  std::string time = "2026-01-01T00:00:00Z";
};

inline std::vector<documents::Result> made(const Made& m) {
  std::vector<documents::Result> list;
  for (std::int64_t repeat = 0; repeat < m.repeats; ++repeat) {
    documents::Result result;
    result.config = {{"backend", std::string("torch")}, {"batch", m.batch},       {"compile", m.compile},
                     {"device", std::string("cpu")},    {"model", m.model},       {"repeat", repeat},
                     {"measure.budget_seconds", 1.0},   {"seed", std::int64_t{1}}};
    result.key = documents::config_key(result.config);
    result.items = static_cast<double>(m.batch);
    result.metadata = {{"time", m.time}, {"host", std::string("box")}};
    const double factor = m.process();
    std::vector<double> seconds;
    for (std::int64_t i = 0; i < m.samples; ++i) seconds.push_back(factor * m.run());
    base::Timing timing;
    timing.latency = base::summarize_latency(seconds, 0.01);
    result.timing = timing;
    list.push_back(std::move(result));
  }
  return list;
}

inline void append(std::vector<documents::Result>& all, std::vector<documents::Result> more) {
  for (documents::Result& result : more) all.push_back(std::move(result));
}

// exp(sigma · gaussian), occasionally much slower: the shape of real timings.
class Noise {
 public:
  Noise(std::uint64_t seed, double sigma, double spikes = 0) : random_(seed), sigma_(sigma), spikes_(spikes) {}
  double operator()() {
    const double factor = std::exp(sigma_ * gaussian_(random_));
    return uniform_(random_) < spikes_ ? factor * (1 + 3 * uniform_(random_)) : factor;
  }

 private:
  std::mt19937_64 random_;
  double sigma_, spikes_;
  std::normal_distribution<double> gaussian_;
  std::uniform_real_distribution<double> uniform_;
};

}  // namespace pagoda::test
