// The text of files that are compressed or in UTF-16, as PowerShell's > writes it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::base {

// First bytes.
inline constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd", kXz = "\3757zXZ";

// A few kilobytes can decompress to terabytes.
inline constexpr std::size_t kMostDecompressed = std::size_t{1} << 31;

// Decompresses gzip, zstd and xz; empty for other bytes. Throws Error, which names `subject`, for damaged data, for more
// than `limit` bytes, and, with the command to type, where this build lacks the library (PAGODA_COMPRESSION).
std::optional<std::string> decompressed(std::string_view bytes, std::string_view subject,
                                        std::size_t limit = kMostDecompressed);

// The bytes as UTF-8: decompressed and, with a byte order mark of UTF-16, converted. Empty if the bytes
// need neither. Throws Error as decompressed() does.
std::optional<std::string> decoded(std::string_view bytes, std::string_view subject,
                                   std::size_t limit = kMostDecompressed);

}  // namespace pagoda::base
#pragma GCC visibility pop
