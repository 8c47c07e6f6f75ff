// A machine that runs kernels one block at a time, with warps in a chosen or random order, and records
// what they did: each instruction is counted by lane, each address is checked against the allocations,
// and each value must have been written.
//
//   Memory memory;                     // device memory; addresses are the host's
//   memory.add(pointer, bytes);
//   Work work = run(kernels.at("fma_f32"), {.blocks = 2, .threads = 256, .arguments = a}, memory, Order::Forward);
//   work.lanes["fma.rn.f32"]           // lanes that executed it
//
// Faults: an address outside of allocations; a register or word that was never written; diverged lanes where they must
// be together; a read of another thread's write without a barrier between; tensor core operands that no proxy fence
// made visible; results read before they were waited for; tensor memory that was not freed.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <random>

#include "module.h"

namespace ptx {

// Bytes that lanes requested, and the number of requests per 16 bytes. Pieces are what the hardware needs for them:
// sectors of 32 bytes (global) or passes over the 32 banks (shared).
struct Traffic {
  std::uint64_t loaded = 0, stored = 0, atomics = 0;
  std::uint64_t load_pieces = 0, store_pieces = 0;
  std::vector<std::uint32_t> loads_of, stores_of;
};

struct Work {
  std::string kernel;
  unsigned blocks = 0, threads = 0;
  std::vector<std::uint64_t> arguments;           // as 64-bit words
  std::map<std::string, std::uint64_t> lanes;     // by mnemonic
  std::map<std::string, std::uint64_t> products;  // multiply-adds of tensor cores, by format
  std::map<std::uint64_t, Traffic> global;        // by the first address of the allocation
  Traffic shared;
  std::vector<std::uint32_t> operands;  // per 16 bytes of shared memory, how often tensor cores read it
};

class Memory {
 public:
  struct Piece {
    std::uint64_t base = 0, bytes = 0;
    std::vector<bool> defined;  // per 4 bytes
  };
  void add(std::uint64_t base, std::uint64_t bytes, bool defined = false);
  void remove(std::uint64_t base);
  // The piece that contains all of these bytes; throws Fault otherwise.
  Piece& at(std::uint64_t address, std::uint64_t bytes, const std::string& what);
  void define(std::uint64_t address, std::uint64_t bytes);
  void check_defined(std::uint64_t address, std::uint64_t bytes, const std::string& what);

 private:
  std::map<std::uint64_t, Piece> pieces_;
  Piece* last_ = nullptr;
};

// The order of warps and blocks where no synchronisation fixes it: results must not depend on it.
enum class Order { Forward, Backward, Random };

struct Launch {
  unsigned blocks = 1, threads = 32, shared_bytes = 0;
  std::vector<std::vector<std::byte>> arguments;
};

Work run(const Kernel& kernel, const Launch& launch, Memory& memory, Order order, std::uint64_t seed = 1);

// The rest is for instruction handlers -------------------------------------------------------------------------------

using Lanes = std::array<std::uint64_t, 32>;

struct Warp {
  unsigned index = 0;
  std::uint32_t live = 0;
  std::array<int, 32> pc{};
  bool together = true;  // all lanes at pc[0] of the lowest live one
  bool at_barrier = false, at_cluster_barrier = false;
  bool waits = false;  // polled without success: another warp's turn
  bool may_run() const { return live != 0 && !at_barrier && !at_cluster_barrier; }
  std::vector<std::uint64_t> values;   // 32 × register + lane
  std::vector<std::uint32_t> defined;  // lanes with a value, by register
  // Registers that a product or load in flight will write, and which nothing may touch before they are waited for.
  std::vector<int> uncommitted;
  std::vector<std::vector<int>> groups;
  std::vector<char> in_flight;  // by register
  std::vector<char> unfenced;   // by register: written since the last fence of products
  unsigned products = 0;        // issued, to compare the warps of a group
};

// A byte of shared memory: who wrote and read it, and when, counted in barriers.
struct SharedByte {
  std::int16_t writer = -1, reader = -1;  // -2: several threads
  std::uint16_t write_epoch = 0, read_epoch = 0;
  std::uint16_t fences = 0;  // proxy fences that its writer had executed before the write
};

struct TensorMemory;

struct Block {
  const Kernel* kernel = nullptr;
  const Launch* launch = nullptr;
  Memory* memory = nullptr;
  Work* work = nullptr;
  std::vector<Block>* cluster = nullptr;  // the blocks that run together, including this one
  unsigned index = 0;
  std::uint16_t epoch = 1;
  std::vector<Warp> warps;
  std::vector<std::byte> parameters;
  std::vector<std::byte> shared;
  std::vector<SharedByte> bytes;
  std::vector<std::vector<std::uint16_t>> proxy_fences;  // by thread, the epochs of its fences
  std::uint64_t clock_reads = 0, timer_reads = 0;
  // By warpgroup and number of the product: descriptors, and whether it accumulates.
  std::map<std::array<std::uint64_t, 2>, std::array<std::uint64_t, 3>> group_products;
  std::vector<std::uint16_t> tensor_fences;  // by thread, the epoch of its last tcgen05.fence::after_thread_sync
  struct Barrier {
    unsigned expected = 0, pending = 0;
    std::uint64_t phases = 0;    // completed
    std::uint64_t arriving = 0;  // asynchronous arrivals on their way
    std::uint64_t covers = 0;    // tensor products that are done when the barrier completes
    bool polled = false;
    // Bulk copies in flight; the phase waits for their bytes.
    struct Copy {
      std::uint64_t to = 0, from = 0, bytes = 0;
    };
    std::vector<Copy> copies;
    std::int64_t expected_bytes = 0;
  };
  std::map<std::uint64_t, Barrier> barriers;  // by shared address
  std::shared_ptr<TensorMemory> tensor;
};

// One instruction of one warp with its active lanes.
struct Step {
  Block& block;
  Warp& warp;
  const Instruction& in;
  std::uint32_t mask;
  std::uint32_t taken = 0;  // lanes that take the branch

  struct Input {
    const std::uint64_t* values;
    int stride;
    template <typename T>
    T at(int lane) const {
      T value;
      std::memcpy(&value, values + lane * stride, sizeof value);
      return value;
    }
  };
  Input input(const Operand& operand, Lanes& scratch);
  std::uint64_t* output(const Operand& operand);
  template <typename T>
  void put(std::uint64_t* to, int lane, T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    to[lane] = bits;
  }
  bool has(int lane) const { return mask >> lane & 1; }
  std::uint16_t thread(int lane) const {
    return static_cast<std::uint16_t>(warp.index * 32 + static_cast<unsigned>(lane));
  }
  // The value, which must be the same in every lane, as operands of whole warps must be.
  std::uint64_t uniform(const Operand& operand);
  // Faults unless the whole warp is active.
  void need_all_lanes() const;
  [[noreturn]] void fault(const std::string& what, int lane = -1) const;

  std::uint64_t address(const Operand& operand, int lane, Lanes& scratch);
  void load_shared(std::uint64_t address, void* to, std::size_t bytes, int lane);
  void store_shared(std::uint64_t address, const void* from, std::size_t bytes, int lane);
  // Reads as tensor cores do, through the asynchronous proxy: the bytes must have been made visible there.
  const std::byte* shared_by_proxy(std::uint64_t address, std::size_t bytes);
  Traffic& traffic(std::uint64_t address, std::uint64_t bytes);
};

// Handlers by full mnemonic.
struct HandlerRow {
  std::string mnemonic;
  Handler handler;
};
const std::vector<HandlerRow>& scalar_rows();
const std::vector<HandlerRow>& control_rows();
Handler access_handler(const std::string& mnemonic);  // loads, stores, atomics; empty for others
Handler tensor_handler(const std::string& mnemonic);  // mma.sync and wgmma
Handler tcgen05_handler(const std::string& mnemonic);

// d = f(a, b, …) on every lane; the types of f's parameters determine how the operands are read.
template <typename R, typename... A, typename F, std::size_t... I>
void apply(Step& s, F f, std::index_sequence<I...>) {
  if (s.in.operands.size() != 1 + sizeof...(A)) s.fault("another number of operands");
  Lanes scratch[sizeof...(A)];
  const Step::Input inputs[] = {s.input(s.in.operands[I + 1], scratch[I])...};
  std::uint64_t* const to = s.output(s.in.operands[0]);
  for (int lane = 0; lane < 32; ++lane)
    if (s.has(lane)) s.put<R>(to, lane, f(inputs[I].template at<A>(lane)...));
}
template <typename F, typename R, typename... A>
Handler each_lane(F f, R (F::*)(A...) const) {
  return [f](Step& s) { apply<R, A...>(s, f, std::index_sequence_for<A...>()); };
}
template <typename F>
Handler each_lane(F f) {
  return each_lane(f, &F::operator());
}
template <typename R, typename... A>
Handler each_lane(R (*f)(A...)) {
  return [f](Step& s) { apply<R, A...>(s, f, std::index_sequence_for<A...>()); };
}

}  // namespace ptx
