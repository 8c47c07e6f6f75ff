// Each library is optional: PAGODA_GZIP, PAGODA_ZSTD and PAGODA_XZ are defined for those of this build.
#include "pagoda/base/decoded.h"

#include <algorithm>
#include <array>
#include <cstdint>

#ifdef PAGODA_GZIP
#include <zlib.h>
#endif
#ifdef PAGODA_ZSTD
#include <zstd.h>
#endif
#ifdef PAGODA_XZ
#include <lzma.h>
#endif

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/base/what_file.h"

namespace pagoda::base {
namespace {

enum class Outcome { Done, Damaged, CutOff, TooLong };

// Collects the output up to a limit.
class Sink {
 public:
  Sink(std::string& text, std::size_t limit) : text_(text), limit_(limit) {}
  std::array<char, 1 << 16> part;
  bool take(std::size_t length) {
    if (length > limit_ - text_.size()) return false;
    text_.append(part.data(), length);
    return true;
  }

 private:
  std::string& text_;
  std::size_t limit_;
};

#ifdef PAGODA_GZIP
// Reads all members, as `cat a.gz b.gz` joins them; other bytes after a member are padding.
Outcome gunzip(std::string_view bytes, Sink& sink) {
  constexpr int kGzipHeader = 16 + MAX_WBITS;
  constexpr std::size_t kMostInput = std::size_t{1} << 30;  // avail_in is an int's width
  while (bytes.starts_with(kGzip)) {
    z_stream stream{};
    if (inflateInit2(&stream, kGzipHeader) != Z_OK) return Outcome::Damaged;
    Outcome outcome = Outcome::CutOff;
    for (int status = Z_OK; status == Z_OK && outcome == Outcome::CutOff;) {
      if (stream.avail_in == 0 && bytes.empty()) break;
      const std::size_t given = std::min(bytes.size(), kMostInput);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(given);
      stream.next_out = reinterpret_cast<Bytef*>(sink.part.data());
      stream.avail_out = static_cast<uInt>(sink.part.size());
      status = inflate(&stream, Z_NO_FLUSH);
      bytes.remove_prefix(given - stream.avail_in);
      if (!sink.take(sink.part.size() - stream.avail_out))
        outcome = Outcome::TooLong;
      else if (status == Z_STREAM_END)
        outcome = Outcome::Done;
      else if (status != Z_OK && status != Z_BUF_ERROR)
        outcome = Outcome::Damaged;
    }
    inflateEnd(&stream);
    if (outcome != Outcome::Done) return outcome;
  }
  return Outcome::Done;
}
#else
constexpr std::nullptr_t gunzip = nullptr;
#endif

#ifdef PAGODA_ZSTD
Outcome unzstd(std::string_view bytes, Sink& sink) {
  ZSTD_DStream* const stream = ZSTD_createDStream();
  if (stream == nullptr) return Outcome::Damaged;
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  Outcome outcome = Outcome::Done;
  std::size_t left = 0;  // 0: a frame is complete
  for (bool is_full = false; outcome == Outcome::Done && (in.pos < in.size || (is_full && left != 0));) {
    ZSTD_outBuffer out{sink.part.data(), sink.part.size(), 0};
    left = ZSTD_decompressStream(stream, &out, &in);
    is_full = out.pos == out.size;
    if (ZSTD_isError(left) != 0)
      outcome = Outcome::Damaged;
    else if (!sink.take(out.pos))
      outcome = Outcome::TooLong;
  }
  ZSTD_freeDStream(stream);
  return outcome == Outcome::Done && left != 0 ? Outcome::CutOff : outcome;
}
#else
constexpr std::nullptr_t unzstd = nullptr;
#endif

#ifdef PAGODA_XZ
Outcome unxz(std::string_view bytes, Sink& sink) {
  constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 28;  // xz -9 needs 65 MiB
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMostMemory, LZMA_CONCATENATED) != LZMA_OK) return Outcome::Damaged;
  stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  stream.avail_in = bytes.size();
  Outcome outcome = Outcome::Done;
  for (lzma_ret status = LZMA_OK; status == LZMA_OK && outcome == Outcome::Done;) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(sink.part.data());
    stream.avail_out = sink.part.size();
    status = lzma_code(&stream, LZMA_FINISH);
    if (!sink.take(sink.part.size() - stream.avail_out))
      outcome = Outcome::TooLong;
    else if (status == LZMA_BUF_ERROR)
      outcome = Outcome::CutOff;
    else if (status != LZMA_OK && status != LZMA_STREAM_END)
      outcome = Outcome::Damaged;
  }
  lzma_end(&stream);
  return outcome;
}
#else
constexpr std::nullptr_t unxz = nullptr;
#endif

struct Codec {
  std::string_view magic;
  Outcome (*decompress)(std::string_view bytes, Sink& sink);  // null: not in this build
};

constexpr Codec kCodecs[] = {
    {kGzip, gunzip},
    {kZstd, unzstd},
    {kXz, unxz},
};

std::string amount(std::size_t bytes) { return bytes >= 1 << 20 ? cat(bytes >> 20, " MiB") : cat(bytes, " bytes"); }

// Unpaired surrogates become U+FFFD.
std::string from_utf16(std::string_view bytes) {
  const std::size_t low = bytes.starts_with("\xff\xfe") ? 0 : 1;
  const auto unit = [&](std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    return static_cast<char32_t>(byte(at + low) | byte(at + 1 - low) << 8);
  };
  std::string text;
  text.reserve(bytes.size() / 2);
  for (std::size_t at = 2; at + 1 < bytes.size(); at += 2) {
    char32_t code_point = unit(at);
    if (code_point >= 0xD800 && code_point < 0xE000) {
      const char32_t next = at + 3 < bytes.size() ? unit(at + 2) : 0;
      const bool is_pair = code_point < 0xDC00 && next >= 0xDC00 && next < 0xE000;
      code_point = is_pair ? 0x10000 + ((code_point - 0xD800) << 10) + (next - 0xDC00) : kReplacement;
      if (is_pair) at += 2;
    }
    append_utf8(text, code_point);
  }
  return text;
}

}  // namespace

std::optional<std::string> decompressed(std::string_view bytes, std::string_view subject, std::size_t limit) {
  const auto* const codec =
      std::ranges::find_if(kCodecs, [&](const Codec& each) { return bytes.starts_with(each.magic); });
  if (codec == std::end(kCodecs)) return std::nullopt;
  const auto stop = [&](const std::string& problem) {
    fail(subject, cat("is ", what_file(bytes, subject).what, problem));
  };
  if (codec->decompress == nullptr) stop(", which this build cannot read; " + what_file(bytes, subject).remedy);
  std::string text;
  Sink sink(text, limit);
  switch (codec->decompress(bytes, sink)) {
    case Outcome::Done:
      break;
    case Outcome::Damaged:
      stop("; its data are damaged; write or download it again");
      break;
    case Outcome::CutOff:
      stop("; its data end too early, as those of a file that was cut off; write or download it again");
      break;
    case Outcome::TooLong:
      stop(cat("; it holds more than ", amount(limit), ", the most that is read from a compressed file"));
      break;
  }
  return text;
}

std::optional<std::string> decoded(std::string_view bytes, std::string_view subject, std::size_t limit) {
  std::optional<std::string> text = decompressed(bytes, subject, limit);
  const std::string_view plain = text ? *text : bytes;
  const bool is_utf16 = plain.starts_with("\xff\xfe") || plain.starts_with("\xfe\xff");
  const bool is_utf32 = plain.starts_with(std::string_view("\xff\xfe\0\0", 4));
  return is_utf16 && !is_utf32 ? from_utf16(plain) : text;
}

}  // namespace pagoda::base
