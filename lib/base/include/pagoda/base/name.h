// Name: an immutable text of eight bytes, whose copies share the characters. A model of 100,000 nodes has half a million
// names, which its analysis and its document repeat: as std::strings they would take more memory and time than the
// numbers beside them.
//
//   NameArena arena;
//   Name name = arena.add("layer0/MatMul");  // in a block of memory with the arena's other names
//   Name copy = name;                        // counts a holder, copies no characters
//   if (name == "layer0/MatMul") …           // reads as a std::string_view
//
// A name from an arena keeps its whole block alive; a name made alone has a block of its own. Names may be read and
// copied by several threads, an arena is used by one at a time.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

#include "pagoda/base/shared_vector.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

class Name {
 public:
  Name() noexcept = default;  // empty
  Name(std::string_view text);
  Name(const std::string& text) : Name(std::string_view(text)) {}
  Name(const char* text) : Name(std::string_view(text)) {}
  Name(const Name& other) noexcept : text_(other.text_) {
    if (text_ != nullptr) block().holders.add();
  }
  Name(Name&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
  Name& operator=(Name other) noexcept {
    std::swap(text_, other.text_);
    return *this;
  }
  ~Name() {
    if (text_ != nullptr && block().holders.leave()) free(&block());
  }

  std::string_view view() const noexcept {
    return text_ == nullptr ? std::string_view() : std::string_view(characters(), text_->size);
  }
  operator std::string_view() const noexcept { return view(); }
  operator std::string() const { return std::string(view()); }
  const char* c_str() const noexcept { return text_ == nullptr ? "" : characters(); }
  bool empty() const noexcept { return text_ == nullptr; }
  std::size_t size() const noexcept { return text_ == nullptr ? 0 : text_->size; }
  char front() const noexcept { return *characters(); }
  bool starts_with(std::string_view text) const noexcept { return view().starts_with(text); }
  bool ends_with(std::string_view text) const noexcept { return view().ends_with(text); }
  std::size_t find(std::string_view text, std::size_t from = 0) const noexcept { return view().find(text, from); }
  const char* begin() const noexcept { return c_str(); }
  const char* end() const noexcept { return c_str() + size(); }

  friend bool operator==(const Name& a, const Name& b) noexcept { return a.text_ == b.text_ || a.view() == b.view(); }
  friend bool operator==(const Name& a, std::string_view b) noexcept { return a.view() == b; }
  friend bool operator==(const Name& a, const std::string& b) noexcept { return a.view() == b; }
  friend bool operator==(const Name& a, const char* b) noexcept { return a.view() == b; }
  friend std::strong_ordering operator<=>(const Name& a, const Name& b) noexcept {
    return a.view().compare(b.view()) <=> 0;  // libc++ 14 has no <=> of views
  }

  friend std::string operator+(std::string a, const Name& b) { return std::move(a.append(b.view())); }
  friend std::string operator+(const char* a, const Name& b) { return std::string(a).append(b.view()); }
  friend std::string operator+(const Name& a, std::string_view b) { return std::string(a.view()).append(b); }
  template <std::same_as<Name> Other>  // not types that convert to a Name
  friend std::string operator+(const Name& a, const Other& b) {
    return a + b.view();
  }
  template <typename Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Name& name) {
    return out << name.view();
  }

 private:
  friend class NameArena;
  struct Block {  // texts follow it
    Holders holders;
  };
  struct Text {  // the characters and a zero follow it
    std::uint32_t size;
    std::uint32_t offset;  // from its block
  };

  explicit Name(const Text* text) noexcept : text_(text) {}
  static Block* allocate(std::size_t bytes);
  static void free(Block* block) noexcept;
  static Text* place(Block* block, std::size_t offset, std::string_view text) noexcept;
  static std::size_t bytes_of(std::string_view text) noexcept;

  const char* characters() const noexcept { return reinterpret_cast<const char*>(text_ + 1); }
  Block& block() const noexcept {
    auto* const start = reinterpret_cast<const char*>(text_) - text_->offset;
    return *reinterpret_cast<Block*>(const_cast<char*>(start));
  }

  const Text* text_ = nullptr;
};

// Makes names that share blocks of memory.
class NameArena {
 public:
  NameArena() = default;
  NameArena(const NameArena&) = delete;
  NameArena& operator=(const NameArena&) = delete;
  ~NameArena() { leave_block(); }

  Name add(std::string_view text);
  // For texts that repeat, such as operators: remembers a few of them.
  Name shared(std::string_view text);

 private:
  void leave_block() noexcept;

  Name::Block* block_ = nullptr;
  std::size_t used_ = 0, size_ = 0;  // bytes of the block
  std::array<Name, 64> remembered_ = {};
};

}  // namespace pagoda::base
#pragma GCC visibility pop
