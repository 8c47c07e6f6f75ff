// Writes SVG element by element. Attributes are plain values (librsvg does not support CSS variables); classes are for
// the page, whose style overrides the attributes in dark mode.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace pagoda::present::plot {

using Attribute = std::pair<std::string_view, std::string>;

class Svg {
 public:
  Svg& open(std::string_view tag, std::initializer_list<Attribute> attributes = {});
  Svg& close();
  Svg& leaf(std::string_view tag, std::initializer_list<Attribute> attributes);
  // Escapes `content`.
  Svg& text(double x, double y, std::string_view content, std::initializer_list<Attribute> attributes = {});
  Svg& element(std::string_view tag, std::string_view content, std::initializer_list<Attribute> attributes = {});
  Svg& raw(std::string_view markup) {
    text_ += markup;
    return *this;
  }

  std::string done() &&;

 private:
  void begin(std::string_view tag, std::initializer_list<Attribute> attributes);

  std::string text_, open_;  // open_: tags, each followed by a blank
};

}  // namespace pagoda::present::plot
