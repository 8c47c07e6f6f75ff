// Canonical JSON, keys and labels of configs.
#include <algorithm>

#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/sha256.h"
#include "pagoda/documents/result.h"

namespace pagoda::documents {

using base::JsonWriter;

std::string canonical(const Config& config) {
  JsonWriter json(JsonWriter::Style::Plain);
  return std::move(json.value(config, JsonWriter::Layout::Compact)).line();
}

Config parse_config(std::string_view json, std::string_view subject) {
  return base::parse_json(json, subject, "a config is an object of values, as `list` prints it").root().settings();
}

namespace {

template <typename T>
std::optional<T> value_of(const Config& config, const std::string& axis) {
  const auto found = config.find(axis);
  const T* const value = found == config.end() ? nullptr : std::get_if<T>(&found->second);
  return value == nullptr ? std::nullopt : std::optional<T>(*value);
}

}  // namespace

std::string text_of(const Config& config, const std::string& axis) {
  return value_of<std::string>(config, axis).value_or("");
}

std::optional<std::int64_t> integer_of(const Config& config, const std::string& axis) {
  return value_of<std::int64_t>(config, axis);
}

std::optional<double> number_of(const Config& config, const std::string& axis) {
  if (const auto value = integer_of(config, axis)) return static_cast<double>(*value);
  return value_of<double>(config, axis);
}

bool is_set(const Config& config, const std::string& axis) { return value_of<bool>(config, axis).value_or(false); }

bool is_axis(std::string_view key) {
  constexpr std::string_view kOthers = " model_file model_name model_sha256 seed repeat layers verify ";
  return kOthers.find(" " + std::string(key) + " ") == std::string_view::npos && !key.starts_with("measure.");
}

std::string config_key(const Config& config) {
  Config deciding = config;
  deciding.erase("model_file");
  JsonWriter identity(JsonWriter::Style::Plain);
  identity.begin_object(JsonWriter::Layout::Compact);
  identity.member("config", deciding).member("schema", "pagoda.result/1").end_object();
  return base::hex(base::sha256(std::move(identity).line())).substr(0, 32);
}

std::string config_label(const Config& config, const std::vector<std::string>& without) {
  std::string text;
  const auto add = [&](const std::string& part) { text.append(text.empty() ? "" : " ").append(part); };
  const auto skip = [&](const std::string& name) {
    return std::find(without.begin(), without.end(), name) != without.end() || !config.contains(name);
  };
  for (const char* bare : {"model", "backend"})
    if (!skip(bare)) add(text_of(config, bare));
  for (const auto& [name, value] : config)
    if (is_axis(name) && name != "model" && name != "backend" && !skip(name))
      add(name + "=" + base::setting_text(value));
  return text;
}

}  // namespace pagoda::documents
