// Compressed text and text in UTF-16 read like the plain text.
#include "pagoda/base/decoded.h"

#include <doctest/doctest.h>

#include <vector>

#include "pagoda/base/files.h"
#include "pagoda/documents/device.h"
#include "pagoda/measured/import.h"
#include "support/files.h"

namespace pagoda::base {
namespace {

using namespace std::string_literals;

const std::string kText = "[1, 2]\n";

// kText as `gzip -n`, `zstd` and `xz` compress it.
struct Sample {
  const char* command;
  std::vector<int> bytes;
  std::string text() const { return {bytes.begin(), bytes.end()}; }
};
// clang-format off
const Sample kSamples[] = {
    {"gzip -d", {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x8b, 0x36, 0xd4, 0x51, 0x30, 0x8a, 0xe5, 0x02,
     0x00, 0xf9, 0x20, 0xb4, 0x1f, 0x07, 0x00, 0x00, 0x00}},
    {"zstd -d", {0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x07, 0x39, 0x00, 0x00, 0x5b, 0x31, 0x2c, 0x20, 0x32, 0x5d, 0x0a, 0x5b, 0x01,
     0xb9, 0x1c}},
    {"xz -d", {0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21, 0x01, 0x16, 0x00,
     0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x06, 0x5b, 0x31, 0x2c, 0x20, 0x32, 0x5d, 0x0a, 0x00, 0x00,
     0x10, 0x71, 0x8c, 0xd9, 0x92, 0x4f, 0x92, 0x8d, 0x00, 0x01, 0x1f, 0x07, 0x16, 0x2e, 0xb8, 0x73, 0x1f, 0xb6,
     0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a}},
};
// clang-format on

// Without its library a build names the command.
bool is_left_out(const Sample& sample) {
  const std::string said = test::error_of([&] { (void)decompressed(sample.text(), "x"); });
  if (said.empty()) return false;
  CHECK(said.find("which this build cannot read; decompress it first: "s + sample.command + " x") != std::string::npos);
  return true;
}

TEST_CASE("gzip, zstd and xz are read, one part after another, within a limit") {
  for (const Sample& sample : kSamples) {
    CAPTURE(sample.command);
    const std::string bytes = sample.text();
    if (is_left_out(sample)) continue;
    CHECK(decompressed(bytes, "x") == kText);
    CHECK(decompressed(bytes + bytes, "x") == kText + kText);
    CHECK(decompressed(bytes, "x", kText.size()) == kText);
    for (std::size_t length = 7; length < bytes.size() - 1; ++length) {
      const std::string said = test::error_of([&] { (void)decompressed(bytes.substr(0, length), "x"); });
      CHECK_MESSAGE(said.find("write or download it again") != std::string::npos, length << said);
    }
    std::string many;
    for (int i = 0; i < 100; ++i) many += bytes;
    CHECK(decompressed(many, "x")->size() == 100 * kText.size());
    CHECK(test::error_of([&] {
            (void)decompressed(many, "x", 600);
          }).find("; it holds more than 600 bytes, the most that is read") != std::string::npos);
  }
  CHECK(!decompressed(kText, "x"));
}

TEST_CASE("a compressed file cannot fill the memory") {
  // 2 MB of zeros in blocks of one byte each, as RFC 8878 repeats them: 16 blocks of 128 KiB.
  const Sample& zstd = kSamples[1];
  if (is_left_out(zstd)) return;
  std::string bomb = "\x28\xb5\x2f\xfd\x00\x38"s;
  for (int i = 0; i < 16; ++i) bomb += {static_cast<char>(i == 15 ? 0x03 : 0x02), '\0', '\x10', '\0'};
  CHECK(decompressed(bomb, "x")->size() == std::size_t{2} << 20);
  CHECK(test::error_of([&] { (void)decompressed(bomb, "x", std::size_t{1} << 20); }).find("more than 1 MiB") !=
        std::string::npos);
}

TEST_CASE("UTF-16 with a byte order mark becomes UTF-8") {
  const auto text = [](std::u16string_view units, bool is_little) {
    std::string bytes;
    for (const char16_t unit : units) {
      const char low = static_cast<char>(unit & 0xff), high = static_cast<char>(unit >> 8);
      (bytes += is_little ? low : high) += is_little ? high : low;
    }
    return bytes;
  };
  for (const bool is_little : {true, false}) {
    CHECK(decoded(text(u"\xFEFFµs €, \U0001F40D\n", is_little), "x") == "µs €, 🐍\n");
    CHECK(decoded(text(u"\xFEFF", is_little), "x") == "");
    const char16_t unpaired[] = {0xFEFF, 0xD800, 'a', 0xDC00, 0};
    CHECK(decoded(text(unpaired, is_little), "x") == "\uFFFDa\uFFFD");
    CHECK(decoded(text(u"\xFEFFzy", is_little) + "c", "x") == "zy");  // half a unit
  }
  CHECK(!decoded("\xff\xfe\0\0a\0\0\0"s, "x"));  // UTF-32
  CHECK(!decoded("\xEF\xBB\xBFplain", "x"));
}

TEST_CASE("readers take compressed files and UTF-16") {
  const TemporaryFolder folder("pagoda-decoded");
  const std::string device = documents::device_text("h200");
  std::string wide = "\xff\xfe";
  for (const char c : device) (wide += c) += '\0';
  write_file(folder.path("device.json"), wide);
  CHECK(documents::load_device(folder.path("device.json")).id == "h200");
  const std::string profile = test::read_file(test::source_path("tests/import/data/nsys_gpu_trace.csv"));
  wide = "\xfe\xff";
  for (const char c : profile) (wide += '\0') += c;
  write_file(folder.path("profile.csv"), wide);
  CHECK(measured::load_profile(folder.path("profile.csv")).kernels.size() ==
        measured::import_profile(profile, "profile.csv").kernels.size());
  if (is_left_out(kSamples[0])) return;
  write_file(folder.path("a.json.gz"), kSamples[0].text());
  CHECK(read_text(folder.path("a.json.gz"), "a list") == kText);
  CHECK(test::error_of([&] { read_text(folder.path("a.json.gz"), "a list", Reads::Json, 27); }).empty());
  CHECK(test::error_of([&] { measured::load_profile(folder.path("a.json.gz")); }).find("is JSON of no known kind") !=
        std::string::npos);
}

}  // namespace
}  // namespace pagoda::base
