// Tensor memory of a block: 128 lanes of 512 32-bit columns, and the state of each word.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ptx {

struct TensorMemory {
  static constexpr unsigned kLanes = 128, kColumns = 512;
  enum class State : std::uint8_t { Unknown, Stored, Waited, Ready };
  unsigned columns = 0;  // allocated
  bool may_take = true;
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(kLanes * kColumns);
  std::vector<State> states = std::vector<State>(kLanes * kColumns, State::Unknown);
  std::uint64_t issued = 0, done = 0;  // products
  std::size_t at(unsigned lane, unsigned column) const { return std::size_t{lane} * kColumns + column; }
};

}  // namespace ptx
