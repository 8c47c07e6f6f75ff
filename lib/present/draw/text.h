// Text in charts: its width, number formats and escaping. Widths come from a table, so that labels can be placed
// without a font engine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pagoda::present::plot {

// Width of `text` in pixels, in DejaVu Sans (Verdana has nearly the same widths) at `size` pixels.
double text_width(std::string_view text, double size);
// Shortens to at most `width` pixels by replacing the middle with "…".
std::string fit(const std::string& text, double size, double width);
// Breaks between words into rows of at most `width` pixels; after `most` rows the text ends in "…".
std::vector<std::string> wrapped(const std::string& text, double size, double width, std::size_t most);
inline constexpr double kBold = 1.15;  // width of bold text over plain text
// The last parts of a name like "/layer1/layer1.0/conv1/Conv", which identify its place.
std::string short_name(const std::string& name, std::size_t columns);
// Shortens several names at once; different names stay different, by the part in which they differ.
std::vector<std::string> short_names(const std::vector<std::string>& names, std::size_t columns);

// Escapes for XML content and quoted attributes; control characters and misleading characters become visible.
std::string xml(std::string_view text);

// A ratio with three digits and no prefix below 10,000: "0.0833", "332".
std::string plain(double value);
// The axis label of a power of ten: "100 T", "0.01", "10⁻⁵".
std::string decade(int exponent);
std::string percent_text(double fraction);  // "12.3%", "0.04%"
std::string count_text(std::size_t count, std::string_view singular, std::string_view plural);

// A coordinate with at most two decimals. Must be finite.
std::string px(double value);
// A number with at most `digits` significant digits.
std::string number(double value, int digits);

}  // namespace pagoda::present::plot
