// Calibrations as files: reading, writing, and those compiled in. A key that is not known is a mistake and is named.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>

#include "embedded.h"
#include "pagoda/documents/calibration.h"

namespace pagoda::documents {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "pagoda.calibration/1";

[[noreturn]] void fail(const std::string& place, const std::string& what) { throw Error(place + ": " + what); }

const Json& at(const Json& json, const char* key, const std::string& place) {
  if (!json.is_object() || !json.contains(key)) fail(place, std::string("\"") + key + "\" is missing");
  return json.at(key);
}

std::string text(const Json& json, const char* key, const std::string& place) {
  const Json& value = at(json, key, place);
  if (!value.is_string()) fail(place + "." + key, "expected a string");
  return value.get<std::string>();
}

double number(const Json& json, const char* key, const std::string& place, double least = 0) {
  const Json& value = at(json, key, place);
  const double result = value.is_number() ? value.get<double>() : std::nan("");
  if (!std::isfinite(result) || result < least)
    fail(place + "." + key, "expected a number of at least " + std::to_string(least));
  return result;
}

// The members "low" and "high"; null where no interval is known, never 0.
std::optional<Factors> factors(const Json& json, const std::string& place) {
  if (at(json, "low", place).is_null() && at(json, "high", place).is_null()) return std::nullopt;
  const Factors result{number(json, "low", place), number(json, "high", place)};
  if (result.low == 0) fail(place + ".low", "found 0; expected a number above 0, or null for low and high");
  if (result.high < result.low) fail(place + ".high", "expected a number of at least \"low\"");
  return result;
}

std::vector<std::string> names(const Json& json, const char* key, const std::string& place) {
  const Json& list = at(json, key, place);
  std::vector<std::string> result;
  if (!list.is_array()) fail(place + "." + key, "expected an array of names");
  for (const Json& name : list) {
    if (!name.is_string()) fail(place + "." + key, "expected an array of names");
    result.push_back(name.get<std::string>());
  }
  return result;
}

void only(const Json& json, std::initializer_list<std::string_view> known, const std::string& place) {
  if (!json.is_object()) fail(place, "expected an object");
  for (const auto& [key, value] : json.items())
    if (std::find(known.begin(), known.end(), key) == known.end()) fail(place, "\"" + key + "\" is not known here");
}

std::string_view id_of(const base::EmbeddedFile& file) { return file.name.substr(0, file.name.rfind('.')); }

// Coefficients are worth four digits.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

}  // namespace

Calibration parse_calibration(std::string_view json, std::string_view subject) {
  const std::string place(subject);
  const Json document = Json::parse(json, nullptr, false);
  if (document.is_discarded()) fail(place, "not JSON; expected schema " + std::string(kSchema));
  only(document,
       {"schema", "id", "regime", "source", "launch", "norm", "classes", "shortest_kernel_seconds", "interval",
        "devices", "layouts", "unseen_families"},
       place);
  if (text(document, "schema", place) != kSchema)
    fail(place + ".schema",
         "found \"" + text(document, "schema", place) + "\"; expected \"" + std::string(kSchema) + "\"");
  Calibration result;
  result.id = text(document, "id", place);
  result.regime = text(document, "regime", place);
  result.source = text(document, "source", place);
  result.launch = number(document, "launch", place);
  result.norm = number(document, "norm", place, 1);
  result.shortest_kernel_seconds = number(document, "shortest_kernel_seconds", place);

  const Json& classes = at(document, "classes", place);
  if (!classes.is_object()) fail(place + ".classes", "expected an object");
  for (const auto& [name, json_class] : classes.items()) {
    const auto kind = kernel_class(name);
    const std::string where = place + ".classes." + name;
    if (!kind) fail(where, "no such class of kernels");
    only(json_class, {"work", "bytes", "width", "depth"}, where);
    ClassCoefficients& c = result.classes[static_cast<std::size_t>(*kind)];
    c.bytes = number(json_class, "bytes", where);
    const Place rate = place_of(*kind);
    if (rate != Place::Memory) c.work = number(json_class, "work", where);
    if (rate == Place::Tensor) {
      c.width = number(json_class, "width", where);
      c.depth = number(json_class, "depth", where);
    }
  }
  if (classes.size() != kKernelClasses)
    fail(place + ".classes", "found " + std::to_string(classes.size()) + " classes of kernels; expected all " +
                                 std::to_string(kKernelClasses));

  result.devices = names(document, "devices", place);
  result.layouts = names(document, "layouts", place);

  const std::string interval_place = place + ".interval";
  const Json& interval = at(document, "interval", place);
  only(interval, {"coverage", "low", "high", "elsewhere"}, interval_place);
  result.coverage = number(interval, "coverage", interval_place);
  result.interval = factors(interval, interval_place);
  if (interval.contains("elsewhere")) {
    const std::string elsewhere_place = interval_place + ".elsewhere";
    const Json& elsewhere = interval.at("elsewhere");
    only(elsewhere, {"low", "high", "judge"}, elsewhere_place);
    result.elsewhere = factors(elsewhere, elsewhere_place);
    result.judge = text(elsewhere, "judge", elsewhere_place);
  }
  if (result.coverage >= 1) fail(interval_place + ".coverage", "expected a number below 1");

  const std::string unseen_place = place + ".unseen_families";
  const Json& unseen = at(document, "unseen_families", place);
  only(unseen, {"models", "families", "mean_error", "median_error", "p90_error", "rank_correlation"}, unseen_place);
  result.models = number(unseen, "models", unseen_place);
  result.families = number(unseen, "families", unseen_place);
  result.mean_error = number(unseen, "mean_error", unseen_place);
  result.median_error = number(unseen, "median_error", unseen_place);
  result.p90_error = number(unseen, "p90_error", unseen_place);
  result.rank_correlation = number(unseen, "rank_correlation", unseen_place, -1);
  return result;
}

Calibration load_calibration(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path + ": cannot be opened; expected a calibration file");
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_calibration(content, path);
}

std::string to_json(const Calibration& calibration) {
  Json document;
  document["schema"] = kSchema;
  document["id"] = calibration.id;
  document["regime"] = calibration.regime;
  document["source"] = calibration.source;
  document["devices"] = calibration.devices;
  document["layouts"] = calibration.layouts;
  document["launch"] = rounded(calibration.launch);
  document["norm"] = rounded(calibration.norm);
  for (std::size_t i = 0; i < kKernelClasses; ++i) {
    const ClassCoefficients& c = calibration.classes[i];
    const auto kind = static_cast<KernelClass>(i);
    Json& entry = document["classes"][std::string(to_string(kind))];
    entry["bytes"] = rounded(c.bytes);
    if (place_of(kind) != Place::Memory) entry["work"] = rounded(c.work);
    if (place_of(kind) == Place::Tensor) {
      entry["width"] = rounded(c.width);
      entry["depth"] = rounded(c.depth);
    }
  }
  document["shortest_kernel_seconds"] = rounded(calibration.shortest_kernel_seconds);
  const auto& interval = calibration.interval;
  document["interval"] = {{"coverage", calibration.coverage},
                          {"low", interval ? Json(rounded(interval->low)) : Json()},
                          {"high", interval ? Json(rounded(interval->high)) : Json()}};
  if (const auto& elsewhere = calibration.elsewhere)
    document["interval"]["elsewhere"] = {
        {"low", rounded(elsewhere->low)}, {"high", rounded(elsewhere->high)}, {"judge", calibration.judge}};
  document["unseen_families"] = {
      {"models", std::llround(calibration.models)},    {"families", std::llround(calibration.families)},
      {"mean_error", rounded(calibration.mean_error)}, {"median_error", rounded(calibration.median_error)},
      {"p90_error", rounded(calibration.p90_error)},   {"rank_correlation", rounded(calibration.rank_correlation)}};
  return document.dump(2) + "\n";
}

std::vector<std::string> calibration_ids() {
  std::vector<std::string> ids;
  for (const base::EmbeddedFile& file : documents::calibration_files()) ids.emplace_back(id_of(file));
  return ids;
}

Calibration calibration(std::string_view id) {
  std::string known;
  for (const base::EmbeddedFile& file : documents::calibration_files()) {
    if (id_of(file) == id) return parse_calibration(file.text, "calibration " + std::string(id));
    (known += known.empty() ? "" : ", ") += id_of(file);
  }
  throw Error("calibration \"" + std::string(id) + "\" is not built in; known: " + known);
}

}  // namespace pagoda::documents
