// One experiment: the names and values that determine its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/base/settings.h"

#pragma GCC visibility push(default)
namespace pagoda::documents {

// What one experiment runs: axis → value. "model_file" is the path of a model's file, and "model_sha256" its content.
using Config = base::Settings;

// JSON with sorted keys, no spaces and shortest numbers. The key is a hash of it.
std::string canonical(const Config& config);
Config parse_config(std::string_view json, std::string_view subject);

// The value of an axis; empty if the config has none or its type is different.
std::string text_of(const Config& config, const std::string& axis);
std::optional<std::int64_t> integer_of(const Config& config, const std::string& axis);
std::optional<double> number_of(const Config& config, const std::string& axis);  // integers are converted
bool is_set(const Config& config, const std::string& axis);                      // present and true

// The first 32 hexadecimal digits of the SHA-256 of the canonical JSON of {"config": …, "schema": "pagoda.result/1"}.
// The config contains everything that determines the result and is known before the run: the model by its content, not
// its path (model_file is left out), backend, sizes, options, seed, the repeat number, and how it is measured. Limits,
// the host and framework versions are not part of it, so results from several hosts merge by key.
std::string config_key(const Config& config);

// "resnet50 ort batch=1 optimization=all": for display and for filters. `without` lists axes to leave out.
std::string config_label(const Config& config, const std::vector<std::string>& without = {});

// Whether a key of a config is an axis. Other keys are measurement settings, the repeat number and the model's file.
bool is_axis(std::string_view key);

struct Experiment {
  std::string key;
  Config config;
};

}  // namespace pagoda::documents
#pragma GCC visibility pop
