// One experiment: what is run, by the names and values that decide its result.
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

// JSON with sorted keys and no spaces; numbers shortest. What the key is the hash of.
std::string canonical(const Config& config);
Config parse_config(std::string_view json, std::string_view subject);

// The value of an axis; empty where the config has none, or one of another type.
std::string text_of(const Config& config, const std::string& axis);
std::optional<std::int64_t> integer_of(const Config& config, const std::string& axis);
std::optional<double> number_of(const Config& config, const std::string& axis);  // an integer, too
bool is_set(const Config& config, const std::string& axis);                      // to true

// The first 32 hexadecimal digits of the SHA-256 of the canonical JSON of {"config": …, "schema": "pagoda.result/1"}.
// The config holds all that decides the result and can be known before the run: the model by its content and not by
// its path (model_file is left out), backend, sizes, options, seed, the number of the repeat, and how it is measured.
// Limits, the host and the versions of frameworks are not in it: results of several hosts merge by key.
std::string config_key(const Config& config);

// "resnet50 ort batch=1 optimization=all": what people read and filters search. `without` leaves out axes.
std::string config_label(const Config& config, const std::vector<std::string>& without = {});

// Whether a key of a config is an axis. The others say how it is measured, which repeat it is, and the model's file.
bool is_axis(std::string_view key);

struct Experiment {
  std::string key;
  Config config;
};

}  // namespace pagoda::documents
#pragma GCC visibility pop
