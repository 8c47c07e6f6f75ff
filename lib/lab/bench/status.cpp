// Progress of a study.
#include "pagoda/base/statistics.h"
#include "pagoda/lab/study.h"

namespace pagoda::lab {

StudyStatus study_status(const std::vector<documents::Experiment>& experiments, const documents::ResultSet& done) {
  std::map<std::string, const documents::Result*> by_key;
  for (const documents::Result& result : done.results) by_key[result.key] = &result;
  const auto group = [](const documents::Config& config) {
    return documents::text_of(config, "model") + "\n" + documents::text_of(config, "backend");
  };
  StudyStatus status;
  std::map<std::string, std::vector<double>> wall;
  std::vector<double> all_wall;
  std::vector<const documents::Experiment*> left;
  for (const documents::Experiment& experiment : experiments) {
    ++status.total;
    const auto it = by_key.find(experiment.key);
    if (it == by_key.end()) {
      left.push_back(&experiment);
      continue;
    }
    const documents::Result& result = *it->second;
    if (result.status == documents::ResultStatus::Ok)
      ++status.ok;
    else
      ++status.not_ok[std::string(to_string(result.status))];
    wall[group(result.config)].push_back(result.wall_seconds);
    all_wall.push_back(result.wall_seconds);
  }
  status.left = static_cast<std::int64_t>(left.size());
  if (!all_wall.empty() || left.empty()) status.seconds_left = 0;
  if (all_wall.empty()) return status;
  for (const documents::Experiment* experiment : left) {
    const auto it = wall.find(group(experiment->config));
    *status.seconds_left += base::median(it != wall.end() ? it->second : all_wall);
  }
  return status;
}

}  // namespace pagoda::lab
