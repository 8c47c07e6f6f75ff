// Launches: blocks one after the other, warps in the chosen order, lanes together where their program counters agree.
#include "machine.h"

#include <algorithm>

#include "tensor_memory.h"

namespace ptx {
namespace {

constexpr std::uint64_t kMostSteps = 5'000'000;  // per block; beyond, it counts as hung

std::string hex(std::uint64_t x) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(x));
  return text;
}

}  // namespace

// Device memory ------------------------------------------------------------------------------------------------------

void Memory::add(std::uint64_t base, std::uint64_t bytes, bool defined) {
  pieces_[base] = {base, bytes, std::vector<bool>((bytes + 3) / 4, defined)};
  last_ = nullptr;
}

void Memory::remove(std::uint64_t base) {
  if (pieces_.erase(base) == 0) throw Fault("memory at " + hex(base) + " is released and was not allocated");
  last_ = nullptr;
}

Memory::Piece& Memory::at(std::uint64_t address, std::uint64_t bytes, const std::string& what) {
  const auto holds = [&](const Piece& p) {
    return address >= p.base && address - p.base <= p.bytes && bytes <= p.bytes - (address - p.base);
  };
  if (last_ && holds(*last_)) return *last_;
  auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin() || !holds(std::prev(after)->second))
    throw Fault(what + ": " + std::to_string(bytes) + " bytes at " + hex(address) + " are not allocated");
  last_ = &std::prev(after)->second;
  return *last_;
}

void Memory::define(std::uint64_t address, std::uint64_t bytes) {
  Piece& p = at(address, bytes, "a write");
  const auto first = static_cast<std::ptrdiff_t>((address - p.base) / 4);
  std::fill(p.defined.begin() + first, p.defined.begin() + first + static_cast<std::ptrdiff_t>(bytes / 4), true);
}

void Memory::check_defined(std::uint64_t address, std::uint64_t bytes, const std::string& what) {
  const Piece& p = at(address, bytes, what);
  const auto first = static_cast<std::ptrdiff_t>((address - p.base) / 4),
             count = static_cast<std::ptrdiff_t>(bytes / 4);
  const auto from = p.defined.begin() + first, to = from + count;
  if (const auto hole = std::find(from, to, false); hole != to)
    throw Fault(what + ": word " + std::to_string(hole - from) + " of " + std::to_string(count) + " at " +
                hex(address) + " was never written");
}

// Operands -----------------------------------------------------------------------------------------------------------

void Step::fault(const std::string& what, int lane) const {
  std::string where = block.kernel->name + ", '" + in.mnemonic + "', block " + std::to_string(block.index);
  where += lane >= 0 ? ", thread " + std::to_string(thread(lane)) : ", warp " + std::to_string(warp.index);
  throw Fault(where + ": " + what);
}

void Step::need_all_lanes() const {
  if (mask != warp.live || mask != 0xffffffffU) fault("needs all 32 lanes together");
}

Step::Input Step::input(const Operand& operand, Lanes& scratch) {
  switch (operand.kind) {
    case Operand::Kind::Register: {
      const auto r = static_cast<std::size_t>(operand.reg);
      if ((warp.defined[r] & mask) != mask)
        fault("register " + block.kernel->registers[r] +
              (warp.in_flight[r] ? " is read before what writes it was waited for" : " is read and was never written"));
      return {warp.values.data() + 32 * r, 1};
    }
    case Operand::Kind::Immediate:
    case Operand::Kind::Address:
      return {&operand.bits, 0};
    case Operand::Kind::Special: {
      const std::string& name = operand.name;
      for (int lane = 0; lane < 32; ++lane) {
        auto& value = scratch[static_cast<std::size_t>(lane)];
        if (name == "%tid.x")
          value = thread(lane);
        else if (name == "%ntid.x")
          value = block.launch->threads;
        else if (name == "%ctaid.x")
          value = block.index;
        else if (name == "%cluster_ctarank")
          value = block.index % block.kernel->cluster;
        else if (name == "%nctaid.x")
          value = block.launch->blocks;
        else if (name == "%laneid")
          value = static_cast<std::uint64_t>(lane);
        // Scripted time: a millisecond passes between two reads in a block, which is 1.5 million clocks at 1.5 GHz.
        else if (name == "%clock64")
          value = 77'000'000 + (block.clock_reads + (has(lane) ? 1 : 0)) * 1'500'000;
        else if (name == "%globaltimer")
          value = 55'000'000 + (block.timer_reads + (has(lane) ? 1 : 0)) * 1'000'000;
        else
          fault("unknown special register " + name);
      }
      block.clock_reads += name == "%clock64";
      block.timer_reads += name == "%globaltimer";
      return {scratch.data(), 1};
    }
    case Operand::Kind::Vector:
    case Operand::Kind::None:
      break;
  }
  fault("an operand that cannot be read");
}

std::uint64_t* Step::output(const Operand& operand) {
  if (operand.kind != Operand::Kind::Register) fault("a result that is not a register");
  const auto r = static_cast<std::size_t>(operand.reg);
  if (warp.in_flight[r])
    fault("register " + block.kernel->registers[r] + " is written while something else in flight writes it");
  warp.defined[r] |= mask;
  warp.unfenced[r] = 1;
  return warp.values.data() + 32 * r;
}

std::uint64_t Step::uniform(const Operand& operand) {
  Lanes scratch;
  const Input values = input(operand, scratch);
  const int first = std::countr_zero(mask);
  const auto value = values.at<std::uint64_t>(first);
  for (int lane = first; lane < 32; ++lane)
    if (has(lane) && values.at<std::uint64_t>(lane) != value)
      fault("an operand differs between the lanes of a warp", lane);
  return value;
}

std::uint64_t Step::address(const Operand& operand, int lane, Lanes& scratch) {
  if (operand.kind != Operand::Kind::Address) fault("an operand that is not an address");
  if (operand.reg < 0) return operand.bits;
  Operand base;
  base.kind = Operand::Kind::Register;
  base.reg = operand.reg;
  return input(base, scratch).at<std::uint64_t>(lane) + operand.bits;
}

Traffic& Step::traffic(std::uint64_t address, std::uint64_t bytes) {
  const Memory::Piece& piece = block.memory->at(address, bytes, block.kernel->name);
  Traffic& t = block.work->global[piece.base];
  if (t.loads_of.empty()) {
    t.loads_of.resize((piece.bytes + 15) / 16);
    t.stores_of.resize(t.loads_of.size());
  }
  return t;
}

// Shared memory ------------------------------------------------------------------------------------------------------

void Step::load_shared(std::uint64_t address, void* to, std::size_t bytes, int lane) {
  if (address < kSharedBase || address + bytes > kSharedBase + block.shared.size())
    fault(std::to_string(bytes) + " bytes at " + hex(address) + " are outside of shared memory", lane);
  if (address % bytes != 0) fault("address " + hex(address) + " is not aligned", lane);
  const std::size_t first = address - kSharedBase;
  const auto me = static_cast<std::int16_t>(thread(lane));
  for (std::size_t i = first; i < first + bytes; ++i) {
    SharedByte& b = block.bytes[i];
    if (b.writer == -1) fault("shared byte " + hex(i) + " is read and was never written", lane);
    if (b.writer != me && b.write_epoch == block.epoch)
      fault("shared byte " + hex(i) + " was written by thread " + std::to_string(b.writer) + ", no barrier between",
            lane);
    b.reader = b.read_epoch == block.epoch && b.reader != me ? -2 : me;
    b.read_epoch = block.epoch;
  }
  std::memcpy(to, block.shared.data() + first, bytes);
}

void Step::store_shared(std::uint64_t address, const void* from, std::size_t bytes, int lane) {
  if (address < kSharedBase || address + bytes > kSharedBase + block.shared.size())
    fault(std::to_string(bytes) + " bytes at " + hex(address) + " are outside of shared memory", lane);
  if (address % bytes != 0) fault("address " + hex(address) + " is not aligned", lane);
  const std::size_t first = address - kSharedBase;
  const auto me = static_cast<std::int16_t>(thread(lane));
  const auto* source = static_cast<const std::byte*>(from);
  for (std::size_t i = first; i < first + bytes; ++i) {
    SharedByte& b = block.bytes[i];
    if (b.read_epoch == block.epoch && b.reader != me)
      fault("shared byte " + hex(i) + " is written and another thread reads it, no barrier between", lane);
    // Two threads may write the same value.
    if (b.writer != -1 && b.write_epoch == block.epoch && b.writer != me && block.shared[i] != source[i - first])
      fault("shared byte " + hex(i) + " is also written by thread " + std::to_string(b.writer) +
                ", with another value and no barrier between",
            lane);
    b.writer = me;
    b.write_epoch = block.epoch;
    b.fences = static_cast<std::uint16_t>(block.proxy_fences[static_cast<std::size_t>(me)].size());
    block.shared[i] = source[i - first];
  }
}

// The writer must have executed a proxy fence after its write, and a barrier must lie between that fence and this read.
const std::byte* Step::shared_by_proxy(std::uint64_t address, std::size_t bytes) {
  if (address < kSharedBase || address + bytes > kSharedBase + block.shared.size())
    fault("operands at " + hex(address) + " are outside of shared memory");
  const std::size_t first = address - kSharedBase;
  for (std::size_t i = first; i < first + bytes; ++i) {
    const SharedByte& b = block.bytes[i];
    if (b.writer == -1) fault("operand byte " + hex(i) + " was never written");
    const auto& fences = block.proxy_fences[static_cast<std::size_t>(b.writer)];
    if (b.fences >= fences.size())
      fault("operand byte " + hex(i) + " is read by the asynchronous proxy, no proxy fence after it was written");
    if (fences[b.fences] == block.epoch) fault("operand byte " + hex(i) + ": no barrier after the proxy fence");
  }
  for (std::size_t slot = first / 16; slot <= (first + bytes - 1) / 16; ++slot) ++block.work->operands[slot];
  return block.shared.data() + first;
}

// Launches -----------------------------------------------------------------------------------------------------------

namespace {

Warp new_warp(const Kernel& kernel, unsigned index, unsigned threads) {
  Warp w;
  w.index = index;
  const unsigned lanes = std::min(32U, threads - 32 * index);
  w.live = lanes == 32 ? 0xffffffffU : (1U << lanes) - 1;
  w.values.resize(32 * kernel.registers.size());
  w.defined.resize(kernel.registers.size());
  w.in_flight.resize(kernel.registers.size());
  w.unfenced.resize(kernel.registers.size());
  return w;
}

void reset(Warp& w, unsigned threads) {
  const unsigned lanes = std::min(32U, threads - 32 * w.index);
  w.live = lanes == 32 ? 0xffffffffU : (1U << lanes) - 1;
  w.pc.fill(0);
  w.together = true;
  w.at_barrier = w.at_cluster_barrier = false;
  w.products = 0;
  std::fill(w.defined.begin(), w.defined.end(), 0);
  std::fill(w.in_flight.begin(), w.in_flight.end(), 0);
  std::fill(w.unfenced.begin(), w.unfenced.end(), 0);
}

void prepare(Block& block, unsigned index, std::size_t shared) {
  const unsigned threads = block.launch->threads;
  block.index = index;
  block.epoch = 1;
  for (Warp& w : block.warps) reset(w, threads);
  block.shared.assign(shared, std::byte{0xa5});
  block.bytes.assign(shared, {});
  block.proxy_fences.assign(threads, {});
  block.group_products.clear();
  block.tensor_fences.assign(threads, 0);
  block.barriers.clear();
  block.tensor.reset();
  block.clock_reads = block.timer_reads = 0;
}

// Executes one instruction of the lanes that are furthest behind, so that diverged lanes reconverge.
void step(Block& block, Warp& w, std::vector<std::uint64_t>& executed) {
  const int first = std::countr_zero(w.live);
  int pc = w.pc[static_cast<std::size_t>(first)];
  std::uint32_t group = w.live;
  if (!w.together) {
    for (int lane = first; lane < 32; ++lane)
      if (w.live >> lane & 1) pc = std::min(pc, w.pc[static_cast<std::size_t>(lane)]);
    group = 0;
    for (int lane = first; lane < 32; ++lane)
      if ((w.live >> lane & 1) && w.pc[static_cast<std::size_t>(lane)] == pc) group |= 1U << lane;
    if (group == w.live) w.together = true;
  }
  const auto& code = block.kernel->code;
  if (pc >= static_cast<int>(code.size())) throw Fault(block.kernel->name + " runs past its end");
  const Instruction& in = code[static_cast<std::size_t>(pc)];
  Step s{block, w, in, group};
  if (in.guard >= 0) {
    Operand guard;
    guard.kind = Operand::Kind::Register;
    guard.reg = in.guard;
    Lanes scratch;
    const Step::Input predicate = s.input(guard, scratch);
    std::uint32_t holds = 0;
    for (int lane = 0; lane < 32; ++lane)
      if (s.has(lane) && (predicate.at<std::uint8_t>(lane) != 0) != in.negated) holds |= 1U << lane;
    s.mask = holds;
  }
  if (s.mask != 0) {
    executed[static_cast<std::size_t>(pc)] += static_cast<std::uint64_t>(std::popcount(s.mask));
    in.handler(s);
  }
  if (w.together && (s.taken == 0 || s.taken == group)) {
    w.pc[static_cast<std::size_t>(first)] = s.taken ? in.target : pc + 1;
    if (w.live != group && w.live != 0)  // some lanes have exited; the others are where the first was
      w.pc[static_cast<std::size_t>(std::countr_zero(w.live))] = pc + 1;
    return;
  }
  if (w.together) std::fill(w.pc.begin(), w.pc.end(), pc);
  w.together = false;
  for (int lane = 0; lane < 32; ++lane)
    if (group >> lane & 1) w.pc[static_cast<std::size_t>(lane)] = s.taken >> lane & 1 ? in.target : pc + 1;
}

// Releases warps at a barrier once all warps of the block, or of the cluster, wait there or have ended.
bool released(std::vector<Block>& cluster) {
  bool any = false, all_at_cluster = true, some_at_cluster = false;
  for (Block& block : cluster) {
    bool waiting = false, complete = true;
    for (const Warp& w : block.warps) {
      waiting = waiting || w.at_barrier;
      complete = complete && (w.live == 0 || w.at_barrier);
      some_at_cluster = some_at_cluster || w.at_cluster_barrier;
      all_at_cluster = all_at_cluster && (w.live == 0 || w.at_cluster_barrier);
    }
    if (!waiting || !complete) continue;
    for (Warp& w : block.warps) w.at_barrier = false;
    ++block.epoch;
    any = true;
  }
  if (!some_at_cluster || !all_at_cluster) return any;
  for (Block& block : cluster) {
    for (Warp& w : block.warps) w.at_cluster_barrier = false;
    ++block.epoch;
  }
  return true;
}

void run_cluster(std::vector<Block>& cluster, Order order, std::mt19937_64& random,
                 std::vector<std::uint64_t>& executed) {
  std::vector<std::pair<Block*, Warp*>> turn;
  for (Block& block : cluster)
    for (Warp& w : block.warps) turn.emplace_back(&block, &w);
  if (order == Order::Backward) std::reverse(turn.begin(), turn.end());
  for (std::uint64_t steps = 0;;) {
    if (order == Order::Random) std::shuffle(turn.begin(), turn.end(), random);
    const auto next = std::find_if(turn.begin(), turn.end(), [](const auto& t) { return t.second->may_run(); });
    if (next == turn.end()) {
      if (released(cluster)) continue;
      for (const auto& [block, w] : turn)
        if (w->live != 0) throw Fault(block->kernel->name + ": warps wait at barriers that others never reach");
      return;
    }
    const std::uint64_t turns = order == Order::Random ? 1 + random() % 40 : kMostSteps;
    auto [block, w] = *next;
    w->waits = false;
    for (std::uint64_t left = turns; left > 0 && w->may_run() && !w->waits; --left) {
      if (++steps > kMostSteps) throw Fault(block->kernel->name + " does not end");
      step(*block, *w, executed);
    }
    if (order != Order::Random) std::rotate(turn.begin(), std::next(next), turn.end());
  }
}

}  // namespace

Work run(const Kernel& kernel, const Launch& launch, Memory& memory, Order order, std::uint64_t seed) {
  Work work;
  work.kernel = kernel.name;
  work.blocks = launch.blocks;
  work.threads = launch.threads;
  if (launch.threads == 0 || launch.threads > 1024 || (kernel.most_threads && launch.threads > kernel.most_threads))
    throw Fault(kernel.name + ": blocks of " + std::to_string(launch.threads) + " threads");
  if (launch.arguments.size() != kernel.parameters.size())
    throw Fault(kernel.name + " takes " + std::to_string(kernel.parameters.size()) + " arguments, not " +
                std::to_string(launch.arguments.size()));
  if (launch.blocks % kernel.cluster != 0) throw Fault(kernel.name + ": blocks that make no whole clusters");
  std::vector<Block> cluster(kernel.cluster);
  Block& block = cluster[0];
  block.kernel = &kernel;
  block.launch = &launch;
  block.memory = &memory;
  block.work = &work;
  block.cluster = &cluster;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Variable& p = kernel.parameters[i];
    const auto& given = launch.arguments[i];
    if (given.size() != p.bytes)
      throw Fault(kernel.name + ": argument " + std::to_string(i) + " has " + std::to_string(given.size()) +
                  " bytes, not " + std::to_string(p.bytes));
    block.parameters.resize(p.offset + p.bytes);
    std::copy(given.begin(), given.end(), block.parameters.begin() + static_cast<std::ptrdiff_t>(p.offset));
    work.arguments.emplace_back();
    std::memcpy(&work.arguments.back(), given.data(), std::min<std::size_t>(8, given.size()));
  }
  const std::size_t shared = kernel.static_shared + launch.shared_bytes;
  work.shared.loads_of.resize((shared + 15) / 16);
  work.shared.stores_of.resize((shared + 15) / 16);
  work.operands.resize((shared + 15) / 16);
  for (unsigned i = 0; 32 * i < launch.threads; ++i) block.warps.push_back(new_warp(kernel, i, launch.threads));
  for (std::size_t i = 1; i < cluster.size(); ++i) cluster[i] = block;
  std::vector<std::uint64_t> executed(kernel.code.size());
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < launch.blocks; i += kernel.cluster) {
    const unsigned first = order == Order::Backward ? launch.blocks - kernel.cluster - i : i;
    for (unsigned rank = 0; rank < kernel.cluster; ++rank) prepare(cluster[rank], first + rank, shared);
    run_cluster(cluster, order, random, executed);
    for (const Block& b : cluster) {
      for (const Warp& w : b.warps)
        if (!w.uncommitted.empty() || !w.groups.empty()) throw Fault(kernel.name + " ends with products in flight");
      if (b.tensor && b.tensor->columns > 0) throw Fault(kernel.name + " ends and holds tensor memory");
    }
  }
  for (std::size_t i = 0; i < executed.size(); ++i)
    if (executed[i] > 0) work.lanes[kernel.code[i].mnemonic] += executed[i];
  return work;
}

Handler handler_of(const std::string& mnemonic) {
  static const std::map<std::string, Handler> rows = [] {
    std::map<std::string, Handler> all;
    for (const auto* table : {&scalar_rows(), &control_rows()})
      for (const HandlerRow& row : *table) all.try_emplace(row.mnemonic, row.handler);
    return all;
  }();
  if (const auto found = rows.find(mnemonic); found != rows.end()) return found->second;
  for (const auto make : {access_handler, tensor_handler, tcgen05_handler})
    if (Handler handler = make(mnemonic)) return handler;
  throw Fault("unknown instruction " + mnemonic);
}

}  // namespace ptx
