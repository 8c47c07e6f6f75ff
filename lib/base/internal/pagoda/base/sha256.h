// SHA-256 (FIPS 180-4): identifies the inputs of a chart in its footer, and a page's script and style in its content
// security policy.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::base {

std::array<std::uint8_t, 32> sha256(std::string_view bytes);
std::string hex(const std::array<std::uint8_t, 32>& digest);
std::string base64(const std::array<std::uint8_t, 32>& digest);

}  // namespace pagoda::base
#pragma GCC visibility pop
