// Loads, stores and atomics of parameters, shared and global memory.
#include <algorithm>

#include "tiles.h"

namespace ptx {
namespace {

struct Access {
  enum class Verb { Load, Store, Atomic, Reduction };
  Verb verb = Verb::Load;
  std::string space, operation;
  std::size_t count = 1, bytes = 0;  // elements of a vector, bytes of an element
  std::size_t all() const { return count * bytes; }
};

// Addresses of the active lanes.
struct Addresses {
  Lanes at{};
  Addresses(Step& s, const Operand& operand) {
    if (operand.kind != Operand::Kind::Address) s.fault("an operand that is not an address");
    Lanes scratch;
    Operand base = operand;
    base.kind = operand.reg < 0 ? Operand::Kind::Immediate : Operand::Kind::Register;
    const Step::Input in = s.input(base, scratch);
    for (std::size_t lane = 0; lane < 32; ++lane)
      at[lane] = in.at<std::uint64_t>(static_cast<int>(lane)) + (operand.reg < 0 ? 0 : operand.bits);
  }
};

// Number of distinct values; sorts `values` and removes duplicates.
std::size_t distinct(std::vector<std::uint64_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values.size();
}

// Number of 32-byte sectors that a warp's request touches.
std::uint64_t sectors(const Step& s, const Addresses& a, std::size_t bytes) {
  std::vector<std::uint64_t> seen;
  seen.reserve(64);
  for (int lane = 0; lane < 32; ++lane) {
    const std::uint64_t at = a.at[static_cast<std::size_t>(lane)];
    for (std::uint64_t x = at / 32; s.has(lane) && x <= (at + bytes - 1) / 32; ++x) seen.push_back(x);
  }
  return distinct(seen);
}

// Passes over the 32 banks of 4 bytes: a pass serves 8 lanes for 16-byte accesses and 16 lanes for 8-byte ones.
// Lanes that access the same word share it.
std::uint64_t rounds(const Step& s, const Addresses& a, std::size_t bytes) {
  const int lanes = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
  std::uint64_t all = 0;
  std::vector<std::uint64_t> words;
  words.reserve(32);
  for (int first = 0; first < 32; first += lanes) {
    words.clear();
    for (int lane = first; lane < first + lanes; ++lane)
      for (std::size_t b = 0; s.has(lane) && b < std::max<std::size_t>(bytes, 4); b += 4)
        words.push_back((a.at[static_cast<std::size_t>(lane)] + b) / 4);
    distinct(words);
    std::array<std::uint64_t, 32> banks{};
    for (const std::uint64_t word : words) ++banks[word % 32];
    all += *std::max_element(banks.begin(), banks.end());
  }
  return all;
}

void mark(std::vector<std::uint32_t>& counts, std::uint64_t offset, std::size_t bytes) {
  for (std::uint64_t slot = offset / 16; slot <= (offset + bytes - 1) / 16; ++slot) ++counts[slot];
}

// Registers of a result or of a stored value: one, or a vector of them.
std::vector<const Operand*> elements(Step& s, const Operand& o, std::size_t count) {
  std::vector<const Operand*> all;
  if (o.kind == Operand::Kind::Vector)
    for (const Operand& part : o.parts) all.push_back(&part);
  else
    all.push_back(&o);
  if (all.size() != count) s.fault("a vector of another length");
  return all;
}

void load_parameter(Step& s, const Access& a) {
  const std::uint64_t offset = s.in.operands.at(1).bits;
  if (s.in.operands[1].reg >= 0 || offset + a.all() > s.block.parameters.size()) s.fault("outside of the parameters");
  std::uint64_t value = 0;
  std::memcpy(&value, s.block.parameters.data() + offset, a.all());
  std::uint64_t* const to = s.output(s.in.operands[0]);
  for (int lane = 0; lane < 32; ++lane)
    if (s.has(lane)) to[lane] = value;
}

void load(Step& s, const Access& a) {
  const Addresses from(s, s.in.operands.at(1));
  const auto parts = elements(s, s.in.operands[0], a.count);
  std::array<std::uint64_t*, 4> to{};
  for (std::size_t i = 0; i < a.count; ++i) to[i] = s.output(*parts[i]);
  const bool shared = a.space == "shared";
  Traffic* traffic = &s.block.work->shared;
  std::array<std::byte, 32> bytes{};
  for (int lane = 0; lane < 32; ++lane) {
    if (!s.has(lane)) continue;
    const std::uint64_t at = from.at[static_cast<std::size_t>(lane)];
    if (shared) {
      s.load_shared(at, bytes.data(), a.all(), lane);
      mark(traffic->loads_of, at - kSharedBase, a.all());
    } else {
      if (at % a.all() != 0) s.fault("an address that is not aligned", lane);
      traffic = &s.traffic(at, a.all());
      s.block.memory->check_defined(at, a.all(), s.block.kernel->name);
      std::memcpy(bytes.data(), reinterpret_cast<const void*>(at), a.all());
      mark(traffic->loads_of, at - s.block.memory->at(at, a.all(), "").base, a.all());
    }
    traffic->loaded += a.all();
    for (std::size_t i = 0; i < a.count; ++i) {
      to[i][lane] = 0;
      std::memcpy(to[i] + lane, bytes.data() + i * a.bytes, a.bytes);
    }
  }
  traffic->load_pieces += shared ? rounds(s, from, a.all()) : sectors(s, from, a.all());
}

void store(Step& s, const Access& a) {
  const Addresses to(s, s.in.operands.at(0));
  const auto parts = elements(s, s.in.operands.at(1), a.count);
  std::array<Lanes, 4> scratch;
  std::vector<Step::Input> from;
  for (std::size_t i = 0; i < a.count; ++i) from.push_back(s.input(*parts[i], scratch[i]));
  const bool shared = a.space == "shared";
  Traffic* traffic = &s.block.work->shared;
  std::array<std::byte, 32> bytes{};
  for (int lane = 0; lane < 32; ++lane) {
    if (!s.has(lane)) continue;
    const std::uint64_t at = to.at[static_cast<std::size_t>(lane)];
    for (std::size_t i = 0; i < a.count; ++i) {
      const auto value = from[i].at<std::uint64_t>(lane);
      std::memcpy(bytes.data() + i * a.bytes, &value, a.bytes);
    }
    if (shared) {
      s.store_shared(at, bytes.data(), a.all(), lane);
      mark(traffic->stores_of, at - kSharedBase, a.all());
    } else {
      if (at % a.all() != 0) s.fault("an address that is not aligned", lane);
      if (a.all() < 4) s.fault("stores of less than 4 bytes to global memory are not modelled", lane);
      traffic = &s.traffic(at, a.all());
      std::memcpy(reinterpret_cast<void*>(at), bytes.data(), a.all());
      s.block.memory->define(at, a.all());
      mark(traffic->stores_of, at - s.block.memory->at(at, a.all(), "").base, a.all());
    }
    traffic->stored += a.all();
  }
  traffic->store_pieces += shared ? rounds(s, to, a.all()) : sectors(s, to, a.all());
}

// Memory that was not written before stays undefined: a sum with it is not a result.
void atomic(Step& s, const Access& a) {
  const bool returns = a.verb == Access::Verb::Atomic;
  const Addresses to(s, s.in.operands.at(returns ? 1 : 0));
  Lanes scratch;
  const Step::Input by = s.input(s.in.operands.at(returns ? 2 : 1), scratch);
  std::uint64_t* const before = returns ? s.output(s.in.operands[0]) : nullptr;
  for (int lane = 0; lane < 32; ++lane) {
    if (!s.has(lane)) continue;
    const std::uint64_t at = to.at[static_cast<std::size_t>(lane)];
    if (at % 4 != 0) s.fault("an address that is not aligned", lane);
    Traffic& traffic = s.traffic(at, 4);
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(at), 4);
    if (before) before[lane] = word;
    word = a.operation == "add" ? word + by.at<std::uint32_t>(lane) : word ^ by.at<std::uint32_t>(lane);
    std::memcpy(reinterpret_cast<void*>(at), &word, 4);
    traffic.atomics += 4;
  }
}

}  // namespace

// `ld.volatile.shared.u32`, `st.global.cs.v4.u32`, `red.global.add.u32`: the verb, then the other parts in any order.
Handler access_handler(const std::string& mnemonic) {
  const std::vector<std::string> words = words_of(mnemonic);
  static const std::map<std::string, Access::Verb> kVerbs = {{"ld", Access::Verb::Load},
                                                             {"st", Access::Verb::Store},
                                                             {"atom", Access::Verb::Atomic},
                                                             {"red", Access::Verb::Reduction}};
  const auto verb = kVerbs.find(words[0]);
  if (verb == kVerbs.end()) return {};
  Access a;
  a.verb = verb->second;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i];
    if (w == "global" || w == "shared" || w == "param")
      a.space = w;
    else if (w == "v2" || w == "v4")
      a.count = w == "v2" ? 2 : 4;
    else if (w == "add" || w == "xor")
      a.operation = w;
    else if (w.size() > 1 && std::string("bfsu").find(w[0]) != std::string::npos &&
             std::isdigit(static_cast<unsigned char>(w[1])))
      a.bytes = std::stoul(w.substr(1)) / 8;
    else if (w != "ca" && w != "cg" && w != "cs" && w != "volatile")  // cache hints change no value
      return {};
  }
  if (a.space.empty() || a.bytes == 0) return {};
  if (a.verb == Access::Verb::Atomic || a.verb == Access::Verb::Reduction) {
    if (a.space != "global" || a.bytes != 4 || a.count != 1 || a.operation.empty()) return {};
    return [a](Step& s) { atomic(s, a); };
  }
  if (!a.operation.empty()) return {};
  if (a.space == "param") {
    if (a.verb != Access::Verb::Load || a.count != 1) return {};
    return [a](Step& s) { load_parameter(s, a); };
  }
  if (a.verb == Access::Verb::Load) return [a](Step& s) { load(s, a); };
  return [a](Step& s) { store(s, a); };
}

}  // namespace ptx
