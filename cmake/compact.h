// Drops from a script what only its readers need: comments, indentation, blanks next to punctuation, and line ends that
// end no statement; keeps names and all text in quotes, templates and regular expressions. Pages are sent around more
// often than their script is read. cmake/compact.cpp runs it when the page's files are embedded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace pagoda {

class Compactor {
 public:
  explicit Compactor(std::string_view script) : in_(script) {}

  std::string run() && {
    while (at_ < in_.size()) code();
    return std::move(out_);
  }

 private:
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
  }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  char last() const { return out_.empty() ? '\n' : out_.back(); }
  void copy() { out_ += in_[at_++]; }

  // Processes one token outside quoted text.
  void code() {
    const char c = peek();
    if (c == '/' && peek(1) == '/') {
      while (at_ < in_.size() && peek() != '\n') ++at_;
    } else if (c == '/' && peek(1) == '*') {
      at_ = std::min(in_.find("*/", at_ + 2), in_.size() - 2) + 2;
    } else if (c == ' ') {
      blanks();
    } else if (c == '\n') {
      // After these, a line end separates nothing; after a word, ")" or "}" it may end a statement.
      while (last() == ' ') out_.pop_back();
      if (std::string_view("\n;{,(").find(last()) == std::string_view::npos) out_ += '\n';
      ++at_;
    } else if (c == '"' || c == '\'') {
      quoted(c);
    } else if (c == '`') {
      quote_template();
    } else if (c == '/' && begins_expression()) {
      regular_expression();
    } else {
      copy();
    }
  }

  // Keeps a blank between words, and where "+ +" or "- -" would become a different operator.
  void blanks() {
    while (peek() == ' ') ++at_;
    const char before = last(), after = peek();
    const bool is_needed = (is_word(before) && is_word(after)) || (before == after && (before == '+' || before == '-'));
    if (is_needed) out_ += ' ';
  }

  // Whether an expression begins here, so that a slash starts a regular expression and is not a division.
  bool begins_expression() const {
    std::size_t end = out_.size();
    while (end > 0 && out_[end - 1] == ' ') --end;
    const std::string_view before = std::string_view(out_).substr(0, end);
    if (before.ends_with("return") && (end == 6 || !is_word(before[end - 7]))) return true;
    return end == 0 || std::string_view("(,=:[!&|?{};\n>").find(out_[end - 1]) != std::string_view::npos;
  }

  void quoted(char quote) {
    copy();
    while (at_ < in_.size() && peek() != quote) {
      if (peek() == '\\') copy();
      copy();
    }
    if (at_ < in_.size()) copy();
  }

  void regular_expression() {
    copy();
    for (bool in_class = false; at_ < in_.size() && (peek() != '/' || in_class);) {
      if (peek() == '[') in_class = true;
      if (peek() == ']') in_class = false;
      if (peek() == '\\') copy();
      copy();
    }
    if (at_ < in_.size()) copy();
  }

  // Text up to the closing quote; the contents of ${ } are code and may contain further templates.
  void quote_template() {
    copy();
    while (at_ < in_.size() && peek() != '`') {
      if (peek() == '$' && peek(1) == '{') {
        copy();
        copy();
        for (int depth = 1; at_ < in_.size();) {
          if (peek() == '{') ++depth;
          if (peek() == '}' && --depth == 0) break;
          code();
        }
        continue;
      }
      if (peek() == '\\') copy();
      copy();
    }
    if (at_ < in_.size()) copy();
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
};

inline std::string compact_script(std::string_view script) { return Compactor(script).run(); }

}  // namespace pagoda
