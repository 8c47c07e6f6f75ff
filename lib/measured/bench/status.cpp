// How far a study is.
#include "pagoda/base/statistics.h"
#include "pagoda/measured/study.h"

namespace pagoda {

StudyStatus study_status(const std::vector<Experiment>& experiments, const ResultSet& done) {
  std::map<std::string, const Result*> by_key;
  for (const Result& result : done.results) by_key[result.key] = &result;
  const auto group = [](const Config& config) { return text_of(config, "model") + "\n" + text_of(config, "backend"); };
  StudyStatus status;
  std::map<std::string, std::vector<double>> wall;
  std::vector<double> all_wall;
  std::vector<const Experiment*> left;
  for (const Experiment& experiment : experiments) {
    ++status.total;
    const auto it = by_key.find(experiment.key);
    if (it == by_key.end()) {
      left.push_back(&experiment);
      continue;
    }
    const Result& result = *it->second;
    if (result.status == ResultStatus::Ok)
      ++status.ok;
    else
      ++status.not_ok[std::string(to_string(result.status))];
    wall[group(result.config)].push_back(result.wall_seconds);
    all_wall.push_back(result.wall_seconds);
  }
  status.left = static_cast<std::int64_t>(left.size());
  if (!all_wall.empty() || left.empty()) status.seconds_left = 0;
  if (all_wall.empty()) return status;
  for (const Experiment* experiment : left) {
    const auto it = wall.find(group(experiment->config));
    *status.seconds_left += median(it != wall.end() ? it->second : all_wall);
  }
  return status;
}

}  // namespace pagoda
