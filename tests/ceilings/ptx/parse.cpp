// Parses PTX text into kernels. Names are scoped: inline assembly opens its own scope for predicates and labels.
#include <bit>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "module.h"

namespace ptx {
namespace {

struct Token {
  enum class Kind { Word, Number, Punctuation, Text, End };
  Kind kind = Kind::End;
  std::string text;
  int line = 0;
  bool is(std::string_view what) const { return text == what && kind != Kind::Text; }
};

bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool in_word(char c) { return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)); }

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (std::isspace(static_cast<unsigned char>(c)) || c == '\0') {
      ++i;
      continue;
    }
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (text.substr(i, 2) == "/*") {
      i = std::min(text.find("*/", i), text.size() - 2) + 2;
      continue;
    }
    std::size_t end = i + 1;
    Token::Kind kind = Token::Kind::Punctuation;
    if (c == '"') {
      kind = Token::Kind::Text;
      end = std::min(text.find('"', end), text.size() - 1) + 1;
    } else if (starts_word(c)) {
      kind = Token::Kind::Word;
      // A double colon belongs to a qualifier, a single one ends a label.
      while (end < text.size() && (in_word(text[end]) || text.substr(end, 2) == "::"))
        end += text.substr(end, 2) == "::" ? 2 : 1;
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      kind = Token::Kind::Number;
      while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) ++end;
    }
    tokens.push_back({kind, std::string(text.substr(i, end - i)), line});
    i = end;
  }
  tokens.push_back({});
  return tokens;
}

std::uint64_t bytes_of_type(const std::string& type) {
  if (type == ".pred") return 1;
  const auto digits = type.find_first_of("0123456789");
  return digits == std::string::npos ? 0 : std::strtoull(type.c_str() + digits, nullptr, 10) / 8;
}

std::uint64_t aligned(std::uint64_t offset, std::uint64_t to) { return (offset + to - 1) / to * to; }

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens_of(text)) {}

  std::map<std::string, Kernel> module() {
    while (peek().kind != Token::Kind::End) {
      if (peek().is(".entry")) {
        next();
        Kernel kernel = entry();
        kernels_[kernel.name] = std::move(kernel);
      } else if (peek().is(".shared")) {
        const Variable v = variable();
        expect(";");
        if (v.bytes != 0) fail("shared memory of a module that has a size");
        pool_ = v;
      } else if (peek().is(".func") || peek().is(".global") || peek().is(".const")) {
        fail("functions and variables of modules");
      } else {
        next();  // version, target, address size, visibility
      }
    }
    return std::move(kernels_);
  }

 private:
  struct Scope {
    std::map<std::string, int> registers;
    std::map<std::string, std::pair<int, int>> ranges;  // prefix: first number, how many
    std::map<std::string, int> labels;
    std::vector<std::pair<int, std::string>> branches;  // instructions whose labels are not resolved yet
  };

  const Token& peek(int ahead = 0) const {
    return tokens_[std::min(at_ + static_cast<std::size_t>(ahead), tokens_.size() - 1)];
  }
  Token next() {
    Token t = peek();
    ++at_;
    return t;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Fault("line " + std::to_string(peek().line) + ", at '" + peek().text + "': " + what +
                (kernel_.name.empty() ? "" : ", in " + kernel_.name));
  }
  void expect(std::string_view text) {
    if (!peek().is(text)) fail("'" + std::string(text) + "' expected");
    next();
  }
  std::uint64_t number() {
    const bool negative = peek().is("-");
    if (negative) next();
    if (peek().kind != Token::Kind::Number) fail("a number expected");
    const std::string text = next().text;
    std::uint64_t value = 0;
    if (text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") || text.starts_with("0D"))
      value = std::strtoull(text.c_str() + 2, nullptr, 16);
    else
      value = std::strtoull(text.c_str(), nullptr, 0);
    return negative ? -value : value;
  }

  // `.shared .align 8 .b8 name[16]`, also for parameters; pointer parameters also describe what they point to.
  Variable variable() {
    Variable v;
    std::uint64_t each = 0;
    while (peek().kind == Token::Kind::Word && peek().text[0] == '.') {
      const std::string word = next().text;
      if (word == ".ptr") {
        while (peek().is(".align") || peek().is(".global")) {
          if (next().text == ".align") number();
        }
      } else if (word == ".align") {
        v.align = number();
      } else if (bytes_of_type(word) > 0) {
        each = bytes_of_type(word);
      } else if (word != ".param" && word != ".shared" && word != ".extern") {
        fail("unknown '" + word + "' of a variable");
      }
    }
    v.name = next().text;
    v.align = std::max(v.align, each);
    v.bytes = each;
    if (peek().is("[")) {
      next();
      v.bytes = peek().is("]") ? 0 : each * number();
      expect("]");
    }
    return v;
  }

  Kernel entry() {
    kernel_ = {};
    shared_.clear();
    kernel_.name = next().text;
    std::uint64_t offset = 0;
    if (peek().is("(")) {
      next();
      while (!peek().is(")")) {
        Variable v = variable();
        v.offset = offset = aligned(offset, v.align);
        offset += v.bytes;
        kernel_.parameters.push_back(v);
        if (peek().is(",")) next();
      }
      next();
    }
    while (!peek().is("{")) {
      const std::string word = next().text;
      if (word == ".maxntid") {
        kernel_.most_threads = static_cast<unsigned>(number());
        for (; peek().is(","); next(), kernel_.most_threads *= static_cast<unsigned>(number())) {
        }
      } else if (word == ".reqnctapercluster") {
        kernel_.cluster = static_cast<unsigned>(number());
        for (; peek().is(","); next(), kernel_.cluster *= static_cast<unsigned>(number())) {
        }
      } else if (word == ".explicitcluster") {
      } else if (word == ".minnctapersm") {
        number();
      } else {
        fail("unknown '" + word + "' of a kernel");
      }
    }
    next();
    scopes_ = {Scope{}};
    while (!scopes_.empty()) statement();
    place_variables();
    return std::move(kernel_);
  }

  void statement() {
    if (peek().is("{")) {
      next();
      scopes_.emplace_back();
    } else if (peek().is("}")) {
      next();
      close_scope();
    } else if (peek().is(".reg")) {
      registers();
    } else if (peek().is(".shared")) {
      Variable v = variable();
      expect(";");
      v.offset = aligned(kernel_.static_shared, v.align);
      kernel_.static_shared = v.offset + v.bytes;
      shared_[v.name] = kSharedBase + v.offset;
    } else if (peek().is(".pragma")) {
      while (!next().is(";")) {
      }
    } else if (peek(1).is(":")) {
      scopes_.back().labels[next().text] = static_cast<int>(kernel_.code.size());
      next();
    } else {
      instruction();
    }
  }

  void close_scope() {
    Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    for (auto& branch : scope.branches) {
      if (const auto label = scope.labels.find(branch.second); label != scope.labels.end())
        kernel_.code[static_cast<std::size_t>(branch.first)].target = label->second;
      else if (scopes_.empty())
        fail("no label " + branch.second);
      else
        scopes_.back().branches.push_back(branch);
    }
  }

  int add_register(const std::string& name) {
    kernel_.registers.push_back(name);
    return static_cast<int>(kernel_.registers.size()) - 1;
  }
  void registers() {
    next();
    next();  // the type is ignored: instructions determine how they read a register
    for (;;) {
      const std::string name = next().text;
      if (peek().is("<")) {
        next();
        const int count = static_cast<int>(number());
        expect(">");
        scopes_.back().ranges[name] = {static_cast<int>(kernel_.registers.size()), count};
        for (int i = 0; i < count; ++i) add_register(name + std::to_string(i));
      } else {
        scopes_.back().registers[name] = add_register(name);
      }
      if (!peek().is(",")) break;
      next();
    }
    expect(";");
  }
  std::optional<int> find_register(const std::string& name) const {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->registers.find(name); found != scope->registers.end()) return found->second;
      if (const auto range = scope->ranges.find(name.substr(0, digits));
          range != scope->ranges.end() && digits < name.size()) {
        const int n = std::atoi(name.c_str() + digits);
        if (n < range->second.second) return range->second.first + n;
      }
    }
    return std::nullopt;
  }

  void instruction() {
    Instruction i;
    if (peek().is("@")) {
      next();
      if (peek().is("!")) next(), i.negated = true;
      const auto guard = find_register(next().text);
      if (!guard) fail("an unknown predicate");
      i.guard = *guard;
    }
    if (peek().kind != Token::Kind::Word) fail("an instruction expected");
    i.mnemonic = next().text;
    const int index = static_cast<int>(kernel_.code.size());
    if (i.mnemonic == "bra" || i.mnemonic == "bra.uni") {
      scopes_.back().branches.emplace_back(index, next().text);
    } else {
      while (!peek().is(";")) {
        i.operands.push_back(operand());
        // A second result: `value|predicate`.
        while (peek().is("|")) {
          next();
          i.operands.push_back(operand());
        }
        if (peek().is(",")) next();
      }
    }
    expect(";");
    try {
      i.handler = handler_of(i.mnemonic);
    } catch (const Fault& fault) {
      fail(fault.what());
    }
    kernel_.code.push_back(std::move(i));
  }

  Operand operand() {
    Operand o;
    if (peek().is("{")) {
      o.kind = Operand::Kind::Vector;
      for (next(); !peek().is("}");) {
        o.parts.push_back(operand());
        if (peek().is(",")) next();
      }
      next();
    } else if (peek().is("[")) {
      next();
      o = operand();
      if (o.kind != Operand::Kind::Register && o.kind != Operand::Kind::Immediate && o.name.empty())
        fail("an address expected");
      o.kind = Operand::Kind::Address;
      while (peek().is("+")) {
        next();
        o.bits += number();
      }
      expect("]");
    } else if (peek().kind == Token::Kind::Number || peek().is("-")) {
      o.kind = Operand::Kind::Immediate;
      o.bits = number();
    } else if (peek().kind == Token::Kind::Word) {
      const std::string name = next().text;
      if (const auto reg = find_register(name)) {
        o.kind = Operand::Kind::Register;
        o.reg = *reg;
      } else if (name[0] == '%') {
        o.kind = Operand::Kind::Special;
        o.name = name;
      } else if (name != "_") {
        o.kind = Operand::Kind::Immediate;
        o.name = name;  // a variable
      }
    } else {
      fail("an operand expected");
    }
    return o;
  }

  // Variables become addresses once the size of the kernel's own shared memory is known: the launch's follows it.
  void place_variables() {
    for (const Variable& v : kernel_.parameters) shared_.try_emplace(v.name, v.offset);
    for (Instruction& i : kernel_.code)
      for (Operand& o : i.operands) {
        if (o.kind == Operand::Kind::Special || o.name.empty()) continue;
        if (o.name == pool_.name) {
          kernel_.pool_align = pool_.align;
          o.bits += kSharedBase + aligned(kernel_.static_shared, pool_.align);
        } else if (const auto found = shared_.find(o.name); found != shared_.end()) {
          o.bits += found->second;
        } else {
          fail("no variable " + o.name);
        }
        o.name.clear();
      }
    if (kernel_.pool_align > 0) kernel_.static_shared = aligned(kernel_.static_shared, kernel_.pool_align);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::map<std::string, Kernel> kernels_;
  Kernel kernel_;
  Variable pool_;
  std::map<std::string, std::uint64_t> shared_;  // addresses of the kernel's variables
  std::vector<Scope> scopes_;
};

}  // namespace

std::map<std::string, Kernel> parse(std::string_view text) { return Parser(text).module(); }

}  // namespace ptx
