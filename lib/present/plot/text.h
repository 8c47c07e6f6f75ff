// Text in charts: how wide it is, how numbers read, how it is escaped. Widths come from a table, so that labels can be
// placed without a font engine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pagoda::present::plot {

// Pixels that `text` takes in DejaVu Sans (Verdana has nearly the same widths) at `size` pixels.
double text_width(std::string_view text, double size);
// At most `width` pixels: the middle is replaced by "…".
std::string fit(const std::string& text, double size, double width);
// Broken between words into rows of at most `width` pixels; more than `most` rows end in "…".
std::vector<std::string> wrapped(const std::string& text, double size, double width, std::size_t most);
inline constexpr double kBold = 1.15;  // as wide as plain text
// The last parts of a name like "/layer1/layer1.0/conv1/Conv" that say where it is.
std::string short_name(const std::string& name, std::size_t columns);
// Of several names at once: those that differ still differ, by the part in which they do.
std::vector<std::string> short_names(const std::vector<std::string>& names, std::size_t columns);

// For XML content and quoted attributes; control characters and what misleads a reader become visible.
std::string xml(std::string_view text);

// A ratio: three digits, no prefix below 10,000: "0.0833", "332".
std::string plain(double value);
// Of a power of ten, at an axis: "100 T", "0.01".
std::string decade(int exponent);
std::string percent_text(double fraction);  // "12.3%", "0.04%"
std::string count_text(std::size_t count, std::string_view singular, std::string_view plural);

// A coordinate with at most two decimals. Must be finite.
std::string px(double value);
// A number with at most `digits` significant digits.
std::string number(double value, int digits);

}  // namespace pagoda::present::plot
