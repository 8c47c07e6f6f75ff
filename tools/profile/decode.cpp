// Compares the values that CUPTI's host library evaluates from an image with those from the machine with the device.
#include "metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/base/number.h"
#include "pagoda/base/record_line.h"
#include "tool.h"

namespace pagoda::tools::profile {
namespace {

namespace fs = std::filesystem;

struct Expected {
  std::string metric;
  std::vector<double> values;  // one per range; a single one for a peak, which is the same in all ranges
};

struct Notes {
  std::string chip;
  std::size_t ranges = 0;
  std::vector<Expected> metrics;
};

Notes read_notes(const fs::path& path) {
  std::ifstream file(path);
  if (!file) throw Error(path.string() + ": cannot be read; it holds the image's chip, ranges and metrics");
  Notes notes;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = base::split_line(line);
    if (words.size() < 2) continue;
    if (words[0] == "chip") notes.chip = words[1];
    if (words[0] == "ranges") notes.ranges = base::parse_number<std::size_t>(words[1]).value_or(0);
    if (words[0] != "metric" && words[0] != "peak") continue;
    notes.metrics.push_back({words[1], {}});
    for (std::size_t i = 2; i < words.size(); ++i)
      notes.metrics.back().values.push_back(base::parse_number<double>(words[i]).value_or(0));
  }
  if (notes.chip.empty() || notes.ranges == 0 || notes.metrics.empty())
    throw Error(path.string() + ": names no chip, no ranges or no metric; take the file that --keep-raw wrote");
  return notes;
}

// Equal to the last printed digit; two NaNs are equal.
bool is_same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= 1e-15 * std::abs(b);
}

int decode(const CuptiLibrary& library, const fs::path& path) {
  const Notes notes = read_notes(fs::path(path).replace_extension(".txt"));
  std::ifstream file(path, std::ios::binary);
  const std::vector<std::uint8_t> image(std::istreambuf_iterator<char>(file), {});
  if (image.empty()) throw Error(path.string() + ": is empty or cannot be read");
  std::vector<std::string> names;
  for (const Expected& expected : notes.metrics) names.push_back(expected.metric);
  const HostChip chip(library, notes.chip);
  const std::vector<std::vector<double>> values = chip.evaluate(image, notes.ranges, names);
  std::printf("%s: %s, %zu ranges\n", path.filename().c_str(), notes.chip.c_str(), notes.ranges);
  int result = kDone;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::printf("  %s", names[i].c_str());
    for (std::size_t range = 0; range < values.size(); ++range) {
      const double value = values[range][i];
      std::printf(" %.17g", value);
      if (range >= notes.metrics[i].values.size() || is_same(value, notes.metrics[i].values[range])) continue;
      std::printf(" (was %.17g)", notes.metrics[i].values[range]);
      result = kUnusable;
    }
    std::printf("\n");
  }
  return result;
}

}  // namespace

int decode_images(const CuptiLibrary& library, const std::string& path) {
  if (!fs::is_directory(path)) return decode(library, path);
  std::vector<fs::path> images;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".counters") images.push_back(entry.path());
  std::ranges::sort(images);
  if (images.empty()) {
    std::fprintf(
        stderr,
        "pagoda-metrics: skipped: %s holds no image; pagoda-profile --keep-raw leaves them on a machine with a "
        "GPU (FILE.counters with FILE.txt)\n",
        path.c_str());
    return kNoLibrary;
  }
  int result = kDone;
  for (const fs::path& image : images) result = std::max(result, decode(library, image));
  return result;
}

}  // namespace pagoda::tools::profile
