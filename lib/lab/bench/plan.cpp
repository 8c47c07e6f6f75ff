// Expands a study into experiments: products, stages, filters, order, progress.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "pagoda/base/cat.h"
#include "pagoda/base/sha256.h"
#include "pagoda/base/statistics.h"
#include "pagoda/base/text.h"
#include "pagoda/base/what_file.h"
#include "pagoda/lab/axes.h"
#include "pagoda/lab/model_sizes.h"
#include "pagoda/lab/study.h"

namespace pagoda::lab {
namespace {

using namespace bench;

constexpr std::size_t kQuick = 10;

// Hash of a file's content, read once; empty if the file cannot be read.
std::string hash_of(const std::string& path, std::map<std::string, std::string>& known) {
  const auto [it, is_new] = known.try_emplace(path);
  if (!is_new) return it->second;
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  if (std::filesystem::is_regular_file(path, error) && content << file.rdbuf())
    it->second = base::hex(base::sha256(content.str()));
  return it->second;
}

// Whether a model is given as a path; other texts are names, such as resnet50.
bool names_file(const std::string& model) {
  if (model.ends_with(".onnx") || model == "-" || model.find("://") != std::string::npos ||
      model.find_first_of("*?[") != std::string::npos)
    return true;
  const std::filesystem::path path(model);
  std::error_code error;
  return (path.has_parent_path() || path.has_extension()) && std::filesystem::exists(path, error);
}

std::string why_unreadable(const std::string& path) {
  std::error_code error;
  return cat(path, ": ",
             std::filesystem::is_directory(path, error) ? base::is_folder(path, base::Reads::Model)
                                                        : base::why_not_opened(path, ENOENT));
}

documents::Config with_protocol(documents::Config config, const Study& study) {
  config["seed"] = study.seed;
  if (study.layers) config["layers"] = true;
  if (study.verify) config["verify"] = true;
  config["repeat"] = std::int64_t{0};
  config["measure.budget_seconds"] = study.measure.budget_seconds;
  config["measure.half_width"] = study.measure.half_width;
  config["measure.warmup_seconds"] = study.measure.warmup_seconds;
  config["measure.settle"] = study.measure.settle;
  config["measure.min_iterations"] = study.measure.min_iterations;
  config["measure.max_iterations"] = study.measure.max_iterations;
  // Only if requested, so that the keys of older records do not change.
  if (study.measure.warmup_iterations > 0) config["measure.warmup_iterations"] = study.measure.warmup_iterations;
  return config;
}

// Throws Error for an axis that no experiment of the block can have: silently dropped, it would seem to have been
// tried.
void require_used_axes(const std::vector<Axis>& block) {
  const auto texts = [&](std::string_view axis) {
    std::vector<std::string> all;
    for (const auto& [name, values] : block)
      if (name == axis)
        for (const base::Setting& value : values) all.push_back(base::setting_text(value));
    return all;
  };
  const std::vector<std::string> backends = texts("backend"), modes = texts("mode");
  for (const Axis& each : block) {
    const std::string& axis = each.first;
    const auto has = [&](const std::string& backend) { return has_axis(backend, axis); };
    if (!backends.empty() && std::ranges::none_of(backends, has))
      throw Error(cat(axis, ": found backend ", base::joined(backends), ", expected ", backends_with(axis),
                      " or a worker of your own"));
    if (axis == "optimizer" && std::ranges::find(modes, "training") == modes.end())
      throw Error(
          cat("optimizer: found mode ", modes.empty() ? "inference" : base::joined(modes), ", expected training"));
  }
}

// Turns one point of the product into a config: leaves out axes that the backend does not have and fills in defaults.
documents::Config make_config(const documents::Config& point, const Study& study) {
  documents::Config config;
  const std::string backend = documents::text_of(point, "backend");
  for (const auto& [axis, value] : point)
    if (has_axis(backend, axis)) config[axis] = value;
  const auto fill = [&](const char* axis, const base::Setting& value) {
    if (has_axis(backend, axis)) config.try_emplace(axis, value);
  };
  fill("mode", "inference");
  fill("device", "cpu");
  if (backend == "torch") fill("compile", "eager");
  if (backend == "ort") fill("optimization", "all");
  if (backend == "conv") fill("algorithm", "auto");
  if (documents::text_of(config, "mode") != "training") config.erase("optimizer");
  return with_protocol(std::move(config), study);
}

// The sizes of files, each loaded and each combination of sizes checked once.
class KnownSizes {
 public:
  // Sets the batch if the config has none. Returns why the file does not run at the config's sizes; empty: it does.
  std::string set_batch(documents::Config& config) {
    const std::string file = documents::text_of(config, "model_file");
    const bool is_asked = has_axis(documents::text_of(config, "backend"), "batch") && !config.contains("batch");
    std::optional<std::int64_t> batch;
    std::string problem;
    try {
      if (has_model_sizes(config)) {
        documents::Config sizes = config;
        std::erase_if(sizes, [](const auto& each) { return !decides_sizes(each.first); });
        const auto [known, is_new] = known_.try_emplace(documents::canonical(sizes));
        if (is_new) known->second = checked(file, sizes);
        batch = known->second.first;
        problem = known->second.second;
      } else if (is_asked && !file.empty()) {
        batch = model(file).fixed_batch();
      }
    } catch (const Error&) {  // the engine reports the file's fault
    }
    if (is_asked) config["batch"] = batch.value_or(1);
    return problem;
  }

 private:
  static bool decides_sizes(const std::string& name) {
    return name == "backend" || name == "model_file" || name == "batch" || name == "sequence" || name == "input_size" ||
           (documents::is_axis(name) && find_axis(name) == nullptr);
  }
  const ModelSizes& model(const std::string& file) { return models_.try_emplace(file, file).first->second; }
  std::pair<std::optional<std::int64_t>, std::string> checked(const std::string& file, const documents::Config& sizes) {
    try {
      return {model(file).at(sizes).batch, ""};
    } catch (const Error& error) {
      return {std::nullopt, error.what()};
    }
  }

  std::map<std::string, ModelSizes> models_;
  std::map<std::string, std::pair<std::optional<std::int64_t>, std::string>> known_;
};

// Fills in the model that the backend runs; returns the reason if it cannot.
std::optional<std::string> set_model(documents::Config& config, const Study& study,
                                     std::map<std::string, std::string>& hashes) {
  const std::string model = documents::text_of(config, "model"), backend = documents::text_of(config, "backend");
  if (model.empty()) {
    if (backend == "cmd" || study.backends.contains(backend)) return std::nullopt;
    return "no model is named";
  }
  const bool is_file = names_file(model);
  const auto known = study.models.find(model);
  const std::string label =
      known == study.models.end() && is_file ? std::filesystem::path(model).stem().string() : model;
  const ModelForms forms =
      known != study.models.end() ? known->second : ModelForms{is_file ? model : "", is_file ? "" : model};
  config["model"] = label;
  if (forms.onnx.empty() || (backend == "torch" && !forms.named.empty())) {
    if (forms.named.empty()) return "[models] has neither a file nor a name for it";
    if (forms.named != label) config["model_name"] = forms.named;
    return std::nullopt;
  }
  config["model_file"] = forms.onnx;
  const std::string hash = hash_of(forms.onnx, hashes);
  if (hash.empty()) return why_unreadable(forms.onnx);
  config["model_sha256"] = hash;
  return std::nullopt;
}

// Calls `visit` with every point of the product, the last axis fastest.
template <typename Visit>
void product(const std::vector<Axis>& axes, Visit visit) {
  std::vector<std::size_t> at(axes.size(), 0);
  while (true) {
    documents::Config point;
    for (std::size_t i = 0; i < axes.size(); ++i) point[axes[i].first] = axes[i].second[at[i]];
    visit(point);
    std::size_t i = axes.size();
    while (i > 0 && ++at[i - 1] == axes[i - 1].second.size()) at[--i] = 0;
    if (i == 0) return;
  }
}

// Orders experiments by their sizes, smallest first.
bool smaller(const documents::Experiment& a, const documents::Experiment& b) {
  const auto number = [](const documents::Experiment& e, const char* axis) -> std::optional<std::int64_t> {
    const auto found = e.config.find(axis);
    const auto pair = found == e.config.end() ? std::nullopt : height_and_width(found->second);
    return pair ? std::optional((*pair)[0] * (*pair)[1]) : std::nullopt;
  };
  for (const char* size : {"batch", "input_size", "sequence"})
    if (const auto x = number(a, size), y = number(b, size); x != y) return x < y;
  return false;
}

// Repeatedly picks the experiment with the most values not covered yet, the smallest among equals, up to `limit`.
std::vector<documents::Experiment> representative(const std::vector<documents::Experiment>& all, std::size_t limit) {
  const auto values_of = [](const documents::Experiment& e) {
    std::set<std::string> values;
    for (const auto& [axis, value] : e.config)
      if (documents::is_axis(axis)) values.insert(cat(axis, "=", base::setting_text(value)));
    return values;
  };
  std::vector<documents::Experiment> chosen;
  std::set<std::string> shown;
  std::vector<bool> taken(all.size(), false);
  while (chosen.size() < std::min(limit, all.size())) {
    std::size_t best = all.size(), best_gain = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (taken[i]) continue;
      std::size_t gain = 0;
      for (const std::string& value : values_of(all[i])) gain += !shown.contains(value);
      if (best == all.size() || gain > best_gain || (gain == best_gain && smaller(all[i], all[best]))) {
        best = i;
        best_gain = gain;
      }
    }
    taken[best] = true;
    shown.merge(values_of(all[best]));
    chosen.push_back(all[best]);
  }
  return chosen;
}

std::optional<std::regex> expression(const std::string& text, const char* what) {
  if (text.empty()) return std::nullopt;
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    throw Error(cat(what, " \"", text, "\": ", error.what(), "; expected a regular expression as ECMAScript has them"));
  }
}

}  // namespace

StudyPlan expand(const Study& study, const SupportCheck& also) {
  StudyPlan plan;
  std::map<std::string, std::string> hashes;  // by file
  KnownSizes sizes;
  std::set<std::string> keys, refused;
  for (const std::vector<Axis>& block : study.blocks) {
    require_used_axes(block);
    product(block, [&](const documents::Config& point) {
      documents::Config config = make_config(point, study);
      std::optional<std::string> reason = set_model(config, study, hashes);
      const std::string problem = sizes.set_batch(config);
      if (!reason) reason = unsupported_reason(config, study);
      if (!reason && also) reason = also(config);
      if (!reason && !problem.empty()) reason = problem;
      std::string id = documents::config_key(config);
      if (reason) {
        if (refused.insert(std::move(id)).second) plan.unsupported.push_back({std::move(config), std::move(*reason)});
      } else if (keys.insert(id).second) {
        plan.experiments.push_back({std::move(id), std::move(config)});
      }
    });
  }
  return plan;
}

void select_experiments(StudyPlan& plan, const StudySelection& selection) {
  const auto filter = expression(selection.filter, "--filter"), exclude = expression(selection.exclude, "--exclude");
  const auto unwanted = [&](const documents::Config& config) {
    const std::string text = documents::config_label(config);
    return (filter && !std::regex_search(text, *filter)) || (exclude && std::regex_search(text, *exclude));
  };
  std::erase_if(plan.experiments, [&](const documents::Experiment& e) { return unwanted(e.config); });
  std::erase_if(plan.unsupported, [&](const UnsupportedExperiment& u) { return unwanted(u.config); });
  if (selection.stage == StudyStage::Sanity && !plan.experiments.empty())
    plan.experiments = {*std::ranges::min_element(plan.experiments, smaller)};
  if (selection.stage == StudyStage::Quick) plan.experiments = representative(plan.experiments, kQuick);
}

std::vector<documents::Experiment> run_order(const StudyPlan& plan, const Study& study) {
  std::mt19937_64 random(static_cast<std::uint64_t>(study.seed));
  std::vector<documents::Experiment> all;
  for (std::int64_t repeat = 0; repeat < study.repeats; ++repeat) {
    std::vector<documents::Experiment> round = plan.experiments;
    // Fisher and Yates; std::shuffle differs between standard libraries. The modulo's bias is below 2⁻⁵⁰.
    for (std::size_t i = round.size(); i > 1; --i) std::swap(round[i - 1], round[random() % i]);
    for (documents::Experiment& experiment : round) {
      if (repeat > 0) {
        experiment.config["repeat"] = repeat;
        experiment.key = documents::config_key(experiment.config);
      }
      all.push_back(std::move(experiment));
    }
  }
  return all;
}

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
    ++(result.status == documents::ResultStatus::Ok ? status.ok : status.not_ok[std::string(to_string(result.status))]);
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
