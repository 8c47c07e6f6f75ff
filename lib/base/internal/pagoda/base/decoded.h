// The text of files that are compressed or in UTF-16, as PowerShell's > writes it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::base {

// A few kilobytes can decompress to terabytes.
inline constexpr std::size_t kMostDecompressed = std::size_t{1} << 31;

// What gzip, zstd or xz compressed; empty for other bytes. Throws Error, which names `subject`, for damaged data, for
// more than `limit` bytes, and with the command to type where this build has not the library (PAGODA_COMPRESSION).
std::optional<std::string> decompressed(std::string_view bytes, std::string_view subject,
                                        std::size_t limit = kMostDecompressed);

// The bytes as UTF-8: decompressed and, with a byte order mark of UTF-16, converted. Empty where nothing is to do.
// Throws Error as decompressed() does.
std::optional<std::string> decoded(std::string_view bytes, std::string_view subject,
                                   std::size_t limit = kMostDecompressed);

}  // namespace pagoda::base
#pragma GCC visibility pop
