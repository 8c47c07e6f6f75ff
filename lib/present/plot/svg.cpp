#include "plot/svg.h"

#include <cassert>

#include "plot/text.h"

namespace pagoda::present::plot {

void Svg::begin(std::string_view tag, std::initializer_list<Attribute> attributes) {
  (text_ += '<') += tag;
  for (const auto& [name, value] : attributes) {
    if (value.empty()) continue;  // an attribute that does not apply
    (text_ += ' ') += name;
    text_ += "=\"" + xml(value) + '"';
  }
}

Svg& Svg::open(std::string_view tag, std::initializer_list<Attribute> attributes) {
  begin(tag, attributes);
  text_ += ">\n";
  (open_ += tag) += ' ';
  return *this;
}

Svg& Svg::close() {
  assert(!open_.empty());
  open_.pop_back();
  const std::size_t start = open_.rfind(' ') + 1;  // npos + 1 is 0
  text_ += "</" + open_.substr(start) + ">\n";
  open_.resize(start);
  return *this;
}

Svg& Svg::leaf(std::string_view tag, std::initializer_list<Attribute> attributes) {
  begin(tag, attributes);
  text_ += "/>\n";
  return *this;
}

Svg& Svg::element(std::string_view tag, std::string_view content, std::initializer_list<Attribute> attributes) {
  begin(tag, attributes);
  text_ += ">" + xml(content) + "</";
  (text_ += tag) += ">\n";
  return *this;
}

Svg& Svg::text(double x, double y, std::string_view content, std::initializer_list<Attribute> attributes) {
  text_ += "<text x=\"" + px(x) + "\" y=\"" + px(y) + '"';
  for (const auto& [name, value] : attributes) {
    if (value.empty()) continue;
    (text_ += ' ') += name;
    text_ += "=\"" + xml(value) + '"';
  }
  text_ += ">" + xml(content) + "</text>\n";
  return *this;
}

std::string Svg::done() && {
  assert(open_.empty());
  return std::move(text_);
}

}  // namespace pagoda::present::plot
