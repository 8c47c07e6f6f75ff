#include "pagoda/base/settings.h"

#include <charconv>

namespace pagoda::base {

std::string setting_text(const Setting& setting) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const {
      char text[32];
      const auto end = std::to_chars(text, text + sizeof text, value).ptr;
      return {text, end};
    }
    std::string operator()(const std::string& value) const { return value; }
  };
  return std::visit(Visitor(), setting);
}

}  // namespace pagoda::base
