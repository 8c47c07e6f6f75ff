#include "draw/svg.h"

#include <cassert>
#include <utility>

#include "draw/text.h"

namespace pagoda::present::plot {
namespace {

// Appends `pattern` with its holes filled from `next` on.
void fill(std::string& markup, std::string_view pattern, const SvgValue*& next) {
  for (const char c : pattern)
    if (c == '%')
      (next++)->append_to(markup);
    else
      markup += c;
}

}  // namespace

void SvgValue::append_to(std::string& markup) const { markup += is_number_ ? px(number_) : xml(text_); }

std::string filled(std::string_view pattern, SvgValues values) {
  std::string text;
  const SvgValue* next = values.begin();
  fill(text, pattern, next);
  assert(next == values.end());
  return text;
}

void Svg::attributes(std::string_view pattern, SvgValues values) {
  const SvgValue* next = values.begin();
  while (!pattern.empty()) {
    const std::size_t begin = pattern.find('\''), end = pattern.find('\'', begin + 1);  // npos + 1 is 0
    text_ += pattern.substr(0, begin);  // "path d=" or " d=", or a tag without attributes
    if (begin == std::string_view::npos) break;
    text_ += '"';
    const std::size_t content = text_.size();
    fill(text_, pattern.substr(begin + 1, end - begin - 1), next);
    if (text_.size() > content)
      text_ += '"';
    else
      text_.resize(text_.rfind(' '));
    pattern.remove_prefix(end + 1);
  }
  assert(next == values.end());
}

Svg& Svg::open(std::string_view pattern, SvgValues values) {
  text_ += '<';
  attributes(pattern, values);
  text_ += ">\n";
  (open_ += pattern.substr(0, pattern.find(' '))) += ' ';
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

Svg& Svg::leaf(std::string_view pattern, SvgValues values) {
  text_ += '<';
  attributes(pattern, values);
  text_ += "/>\n";
  return *this;
}

Svg& Svg::element(std::string_view pattern, std::string_view content, SvgValues values) {
  text_ += '<';
  attributes(pattern, values);
  text_ += ">" + xml(content) + "</";
  (text_ += pattern.substr(0, pattern.find(' '))) += ">\n";
  return *this;
}

Svg& Svg::text(double x, double y, std::string_view content, std::string_view pattern, SvgValues values) {
  text_ += filled("<text x=\"%\" y=\"%\"", {x, y});
  if (!pattern.empty()) text_ += ' ';
  attributes(pattern, values);
  text_ += ">" + xml(content) + "</text>\n";
  return *this;
}

Svg& Svg::note(double x, double y, std::string_view content, std::string_view color, std::string_view style) {
  std::string pattern = color == kInk ? "class='ink'" : color == kWarn ? "class='warn'" : "class='muted'";
  if (!style.empty()) (pattern += ' ') += style;
  return text(x, y, content, pattern + " fill='%'", {color});
}

std::string Svg::done() && {
  assert(open_.empty());
  return std::move(text_);
}

}  // namespace pagoda::present::plot
