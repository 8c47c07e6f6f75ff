// Settings to and from JSON.
#include "pagoda/base/settings_json.h"

namespace pagoda::base {

Json to_json(const Setting& setting) {
  struct Visitor {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(bool value) const { return value; }
    Json operator()(std::int64_t value) const { return value; }
    Json operator()(double value) const { return value; }
    Json operator()(const std::string& value) const { return value; }
  };
  return std::visit(Visitor(), setting);
}

Json to_json(const Settings& settings) {
  Json object = Json::object();
  for (const auto& [name, value] : settings) object[name] = to_json(value);
  return object;
}

Settings settings_from(const Json& object, const std::string& place) {
  if (!object.is_object()) throw Error(place + ": found " + object.type_name() + ", expected an object");
  Settings settings;
  for (const auto& [name, value] : object.items()) {
    if (value.is_null())
      settings[name] = std::monostate();
    else if (value.is_boolean())
      settings[name] = value.get<bool>();
    else if (value.is_number_integer())
      settings[name] = value.get<std::int64_t>();
    else if (value.is_number())
      settings[name] = value.get<double>();
    else if (value.is_string())
      settings[name] = value.get<std::string>();
    else
      throw Error(place + ": " + name + ": found " + value.type_name() + ", expected a plain value");
  }
  return settings;
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace pagoda::base
