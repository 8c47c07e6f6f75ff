#include "pagoda/base/name.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

namespace pagoda::base {
namespace {

constexpr std::size_t kFirstBlock = std::size_t{1} << 10, kLargestBlock = std::size_t{1} << 16;

}  // namespace

Name::Block* Name::allocate(std::size_t bytes) { return new (::operator new(bytes)) Block; }

void Name::free(Block* block) noexcept { ::operator delete(block); }

std::size_t Name::bytes_of(std::string_view text) noexcept {
  constexpr std::size_t kAlignment = alignof(Text);
  return (sizeof(Text) + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
}

Name::Text* Name::place(Block* block, std::size_t offset, std::string_view text) noexcept {
  auto* const at = reinterpret_cast<char*>(block) + offset;
  auto* const placed =
      new (at) Text{.size = static_cast<std::uint32_t>(text.size()), .offset = static_cast<std::uint32_t>(offset)};
  std::memcpy(at + sizeof(Text), text.data(), text.size());
  at[sizeof(Text) + text.size()] = '\0';
  return placed;
}

Name::Name(std::string_view text) {
  if (text.empty()) return;
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("a name of more than 4 GB");
  text_ = place(allocate(sizeof(Block) + bytes_of(text)), sizeof(Block), text);
}

Name NameArena::add(std::string_view text) {
  if (text.empty()) return {};
  const std::size_t bytes = Name::bytes_of(text);
  if (bytes > size_ - used_) {
    if (bytes > kLargestBlock / 8) return {text};
    const std::size_t size = std::clamp(2 * size_, std::max(bytes + sizeof(Name::Block), kFirstBlock), kLargestBlock);
    Name::Block* const block = Name::allocate(size);  // may throw: the arena keeps its block
    leave_block();
    block_ = block;
    used_ = sizeof(Name::Block);
    size_ = size;
  }
  const Name::Text* const placed = Name::place(block_, used_, text);
  used_ += bytes;
  block_->holders.add();
  return Name(placed);
}

Name NameArena::shared(std::string_view text) {
  if (text.empty()) return {};
  const auto at = [&](std::size_t place) { return static_cast<std::size_t>(static_cast<unsigned char>(text[place])); };
  const std::size_t hash = text.size() + 31 * at(0) + 17 * at(text.size() - 1) + 7 * at(text.size() / 2);
  Name& known = remembered_[hash % remembered_.size()];
  if (known != text) known = add(text);
  return known;
}

void NameArena::leave_block() noexcept {
  if (block_ != nullptr && block_->holders.leave()) Name::free(block_);
}

}  // namespace pagoda::base
