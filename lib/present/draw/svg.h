// The drawing kit of all charts: writes SVG element by element, in the fonts and colours of this header. Attributes are
// plain values (librsvg does not support CSS variables); classes are for the page, whose style overrides the attributes
// in dark mode.
//
// Markup is given as a pattern. Its holes "%" take the values in order: numbers print as coordinates, texts are
// escaped. Single quotes print as double ones. An attribute whose value comes out empty does not apply and is left out.
//
//   svg.leaf("path class='ridge' stroke='%' d='M% %V%'", {kMuted, x, y, plot.y1});
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pagoda::present::plot {

inline constexpr double kSmallText = 12;  // pixels
inline constexpr std::string_view kFont = "DejaVu Sans, Verdana, sans-serif";
inline constexpr std::string_view kInk = "#1f2328", kMuted = "#59636e", kWarn = "#b42318", kPath = "#8a4baf";

inline constexpr std::string_view kStart = "text-anchor='start'", kMiddle = "text-anchor='middle'",
                                  kEnd = "text-anchor='end'";

// Okabe and Ito's palette, distinguishable with every type of colour vision; the last colour is for "other". Three of
// the colours have less than 3:1 contrast on white, so that dots have outlines: filled ones a dark one, hollow ones a
// darker shade of their colour. The page's script has the same colours (data.js).
inline constexpr std::size_t kColors = 6;  // types with a colour of their own; the rest is "other"
inline constexpr std::array<std::string_view, kColors + 1> kPalette = {"#0072B2", "#E69F00", "#009E73", "#D55E00",
                                                                       "#CC79A7", "#56B4E9", "#999999"};
inline constexpr std::array<std::string_view, kColors + 1> kEdges = {"#0072B2", "#A66F00", "#007F5C", "#B84F00",
                                                                     "#A85580", "#2C86BD", "#6E6E6E"};

// The value of a hole of a pattern.
class SvgValue {
 public:
  SvgValue(double number) : number_(number), is_number_(true) {}
  SvgValue(std::integral auto number) : SvgValue(static_cast<double>(number)) {}
  SvgValue(std::string_view text) : text_(text) {}
  SvgValue(const std::string& text) : text_(text) {}
  SvgValue(const char* text) : text_(text) {}

  void append_to(std::string& markup) const;

 private:
  double number_ = 0;
  std::string_view text_;
  bool is_number_ = false;
};
using SvgValues = std::initializer_list<SvgValue>;

// A pattern with its holes filled, such as the data of a path: filled("M% %H%", {left, y, right}).
std::string filled(std::string_view pattern, SvgValues values);

class Svg {
 public:
  Svg& open(std::string_view pattern, SvgValues values = {});
  Svg& close();
  Svg& leaf(std::string_view pattern, SvgValues values = {});
  // An element around escaped text.
  Svg& element(std::string_view pattern, std::string_view content, SvgValues values = {});
  Svg& text(double x, double y, std::string_view content, std::string_view pattern = {}, SvgValues values = {});
  // Text in kInk, kMuted or kWarn, which have a class each. `style`: attributes between the class and the colour.
  Svg& note(double x, double y, std::string_view content, std::string_view color = kMuted, std::string_view style = {});
  Svg& raw(std::string_view markup) {
    text_ += markup;
    return *this;
  }

  std::string done() &&;

 private:
  void attributes(std::string_view pattern, SvgValues values);

  std::string text_, open_;  // open_: tags, each followed by a blank
};

}  // namespace pagoda::present::plot
