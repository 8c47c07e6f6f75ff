#include "pagoda/base/settings.h"

#include "pagoda/base/text.h"

namespace pagoda::base {

std::string setting_text(const Setting& setting) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return shortest(value); }
    std::string operator()(const std::string& value) const { return value; }
  };
  return std::visit(Visitor(), setting);
}

}  // namespace pagoda::base
