#include "draw/text.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <utility>

#include "pagoda/base/number.h"
#include "pagoda/base/text.h"

namespace pagoda::present::plot {
namespace {

// Advance widths of DejaVu Sans 2.37 for U+0020 … U+007E in thousandths of the font size (its table hmtx / 2048).
// clang-format off
constexpr std::array<short, 95> kAdvance = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
    636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
    1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
    603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
    500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
    635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};
// clang-format on
constexpr double kOther = 0.838;  // "×", "±" and letters of European scripts at their widest
constexpr double kWide = 1.0;     // from U+1100: wide scripts, and signs such as "…", "→", "≥"

double advance(char32_t code_point) {
  if (code_point >= 0x20 && code_point < 0x7F) return kAdvance[code_point - 0x20] / 1000.0;
  if (code_point == U'·') return 0.318;
  if (code_point == U'µ') return 0.636;
  if (code_point == U'–') return 0.5;
  return code_point >= 0x1100 ? kWide : kOther;
}

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  for (std::size_t i = 0; i < text.size();) width += advance(base::next_code_point(text, i));
  return width * size;
}

std::string fit(const std::string& text, double size, double width) {
  if (text_width(text, size) <= width) return text;
  for (std::size_t columns = base::display_width(text); columns > 1; --columns) {
    std::string shorter = base::elide(text, columns);
    if (text_width(shorter, size) <= width) return shorter;
  }
  return "…";
}

std::vector<std::string> wrapped(const std::string& text, double size, double width, std::size_t most) {
  std::vector<std::string> rows;
  std::string row;
  for (const std::string& word : base::split(text, " ")) {
    const std::string longer = row.empty() ? word : row + " " + word;
    if (row.empty() || text_width(longer, size) <= width) {
      row = longer;
    } else if (rows.size() + 1 == most) {
      rows.push_back(fit(row + " …", size, width));
      return rows;
    } else {
      rows.push_back(std::exchange(row, word));
    }
  }
  if (!row.empty()) rows.push_back(fit(row, size, width));
  return rows;
}

std::string short_name(const std::string& name, std::size_t columns) {
  std::size_t begin = name.rfind('/');
  while (begin != std::string::npos && begin > 0) {
    const std::size_t slash = name.rfind('/', begin - 1);
    if (slash != std::string::npos && name.size() - slash - 1 > columns) break;
    begin = slash;
  }
  std::string tail = name.substr(begin == std::string::npos ? 0 : begin);
  if (tail.size() > 1 && tail.front() == '/') tail.erase(0, 1);
  return base::elide(tail, columns);
}

namespace {

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts = base::split(name, "/");
  std::erase(parts, "");
  return parts;
}

// "layer1.0…conv1/Conv": the part at `at`, and as much of the end as fits.
std::string with_part(const std::vector<std::string>& parts, std::size_t at, std::size_t columns) {
  const std::string last = parts.empty() ? "" : parts.back();
  if (at + 1 >= parts.size()) return base::elide(last, columns);
  const std::string head = base::elide(parts[at], std::max<std::size_t>(columns / 2, 4));
  const std::size_t room = columns - std::min(columns, base::display_width(head) + 1);
  std::string tail = last;
  std::size_t from = parts.size() - 1;
  while (from > at + 1 && base::display_width(parts[from - 1] + "/" + tail) <= room)
    tail.insert(0, parts[--from] + "/");
  return head + (from == at + 1 ? "/" : "…") + base::elide(tail, std::max<std::size_t>(room, 4));
}

}  // namespace

std::vector<std::string> short_names(const std::vector<std::string>& names, std::size_t columns) {
  std::vector<std::string> shorter(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) shorter[i] = short_name(names[i], columns);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::size_t> alike;
    for (std::size_t k = i; k < names.size(); ++k)
      if (shorter[k] == shorter[i]) alike.push_back(k);
    if (alike.size() < 2) continue;
    // The first part in which two of them differ.
    const std::vector<std::string> first = parts_of(names[i]);
    std::size_t at = first.size();
    for (const std::size_t k : alike) {
      const std::vector<std::string> other = parts_of(names[k]);
      for (std::size_t p = 0; p < std::min({at, first.size(), other.size()}); ++p)
        if (first[p] != other[p]) at = p;
    }
    for (const std::size_t k : alike) shorter[k] = with_part(parts_of(names[k]), at, columns);
  }
  return shorter;
}

std::string xml(std::string_view text) {
  constexpr std::pair<char32_t, const char*> kEscapes[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string escaped;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t code_point = base::next_code_point(text, i);
    const auto escape = std::ranges::find(kEscapes, code_point, [](const auto& each) { return each.first; });
    if (escape != std::end(kEscapes))
      escaped += escape->second;
    else  // XML 1.0 cannot represent most control characters, not even as references.
      base::append_utf8(escaped, base::is_unsafe(code_point) ? base::kReplacement : code_point);
  }
  return escaped;
}

std::string number(double value, int digits) { return base::decimal(value, std::chars_format::general, digits); }

std::string plain(double value) {
  if (value == 0) return "0";
  if (value >= 9999.5 || value < 1e-4) return base::si_text(value, "");
  const int exponent = static_cast<int>(std::floor(std::log10(value)));
  const double scale = std::pow(10, exponent - 2);
  const double shown = std::round(value / scale) * scale;
  return shown >= 1000 ? base::grouped(std::llround(shown)) : number(shown, 4);
}

std::string decade(int exponent) {
  if (exponent < 0 && exponent >= -4) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + "1";
  if (exponent >= 0) return base::si_text(std::pow(10, exponent), "");
  // "10 µ" would be read as a prefix of the axis' unit.
  constexpr std::array<std::string_view, 10> kSuperscripts = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = "10⁻";
  for (const char digit : std::to_string(-exponent)) text += kSuperscripts[static_cast<std::size_t>(digit - '0')];
  return text;
}

std::string percent_text(double fraction) {
  const double percent = 100 * fraction;
  if (percent == 0) return "0%";
  if (percent > 0 && percent < 0.01) return "<0.01%";
  return number(percent, percent >= 99.95 ? 4 : percent >= 9.995 ? 3 : 2) + "%";
}

std::string count_text(std::size_t count, std::string_view singular, std::string_view plural) {
  return base::grouped(static_cast<Int>(count)) + " " + std::string(count == 1 ? singular : plural);
}

std::string px(double value) {
  assert(std::isfinite(value));
  const auto hundredths = static_cast<long long>(std::llround(value * 100));
  const long long magnitude = std::abs(hundredths);
  std::string text = hundredths < 0 ? "-" : "";
  text += std::to_string(magnitude / 100);
  if (const long long rest = magnitude % 100; rest != 0) {
    text += '.';
    text += static_cast<char>('0' + rest / 10);
    if (rest % 10 != 0) text += static_cast<char>('0' + rest % 10);
  }
  return text;
}

}  // namespace pagoda::present::plot
