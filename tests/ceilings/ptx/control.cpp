// Branches, barriers, exchanges within a warp, fences and barriers in memory.
#include "machine.h"
#include "tensor_memory.h"

namespace ptx {
namespace {

void shuffle(Step& s, bool exchange) {
  s.need_all_lanes();
  // Operands: value[|predicate], source, lane or mask, clamp, members.
  const std::size_t predicates = s.in.operands.size() == 6 ? 1 : 0;
  const auto& o = s.in.operands;
  Lanes first, second;
  const Step::Input value = s.input(o.at(1 + predicates), first), which = s.input(o.at(2 + predicates), second);
  if (s.uniform(o.at(3 + predicates)) != 31) s.fault("parts of a warp are not modelled");
  if (static_cast<std::uint32_t>(s.uniform(o.at(4 + predicates))) != 0xffffffffU) s.fault("not all lanes are members");
  Lanes before;
  for (int lane = 0; lane < 32; ++lane) before[static_cast<std::size_t>(lane)] = value.at<std::uint32_t>(lane);
  Lanes from;
  for (int lane = 0; lane < 32; ++lane)
    from[static_cast<std::size_t>(lane)] =
        (exchange ? static_cast<std::uint32_t>(lane) ^ which.at<std::uint32_t>(lane) : which.at<std::uint32_t>(lane)) &
        31;
  std::uint64_t* const to = s.output(o[0]);
  for (std::size_t lane = 0; lane < 32; ++lane) to[lane] = before[from[lane]];
  if (predicates) {
    std::uint64_t* const inside = s.output(o[1]);
    for (std::size_t lane = 0; lane < 32; ++lane) inside[lane] = 1;
  }
}

// `lane|predicate, members`: elects one lane. Here it is the last one, since no kernel may rely on the first.
void elect(Step& s) {
  s.need_all_lanes();
  if (static_cast<std::uint32_t>(s.uniform(s.in.operands.at(2))) != 0xffffffffU) s.fault("not all lanes are members");
  if (s.in.operands[0].kind != Operand::Kind::None) s.fault("the elected lane's number is not modelled");
  std::uint64_t* const chosen = s.output(s.in.operands[1]);
  for (std::size_t lane = 0; lane < 32; ++lane) chosen[lane] = lane == 31;
}

void barrier(Step& s) {
  if (s.mask != s.warp.live) s.fault("a barrier in code where the lanes of a warp are apart");
  if (s.uniform(s.in.operands.at(0)) != 0 || s.in.operands.size() != 1) s.fault("a barrier other than 0");
  s.warp.at_barrier = true;
}

// Arriving and waiting are one step here: no instruction may lie between them.
void cluster_arrive(Step& s) {
  if (s.mask != s.warp.live) s.fault("a barrier in code where the lanes of a warp are apart");
}
void cluster_wait(Step& s) {
  cluster_arrive(s);
  if ((&s.in)[-1].mnemonic != "barrier.cluster.arrive.release.aligned") s.fault("waits and did not arrive just before");
  s.warp.at_cluster_barrier = true;
}

void proxy_fence(Step& s) {
  for (int lane = 0; lane < 32; ++lane)
    if (s.has(lane)) s.block.proxy_fences[s.thread(lane)].push_back(s.block.epoch);
}

Block::Barrier& barrier_at(Step& s, const Operand& operand) {
  Lanes scratch;
  const std::uint64_t at = s.address(operand, std::countr_zero(s.mask), scratch);
  if (std::popcount(s.mask) != 1) s.fault("barriers in memory are modelled for one thread at a time");
  const auto found = s.block.barriers.find(at);
  if (found == s.block.barriers.end()) s.fault("no barrier was set up there");
  return found->second;
}

void set_up(Step& s) {
  Lanes scratch;
  const int lane = std::countr_zero(s.mask);
  const std::uint64_t at = s.address(s.in.operands.at(0), lane, scratch), count = s.uniform(s.in.operands.at(1));
  if (std::popcount(s.mask) != 1 || count == 0) s.fault("barriers in memory are modelled for one thread at a time");
  const std::uint64_t word = 0xba44ba44ba44ba44;
  s.store_shared(at, &word, 8, lane);
  Block::Barrier b;
  b.expected = b.pending = static_cast<unsigned>(count);
  s.block.barriers[at] = b;
}

// The phase ends when all threads have arrived and no bytes are outstanding.
void complete(Block::Barrier& b) {
  if (b.pending != 0 || b.expected_bytes != 0) return;
  b.pending = b.expected;
  ++b.phases;
}

// `_, [barrier], bytes`: one arrival, and adds `bytes` to the bytes to wait for.
void expect_bytes(Step& s) {
  if (s.in.operands.at(0).kind != Operand::Kind::None) s.fault("the state of a barrier is not modelled");
  Block::Barrier& b = barrier_at(s, s.in.operands.at(1));
  if (b.pending == 0) s.fault("more arrivals than the barrier was set up for");
  b.expected_bytes += static_cast<std::int64_t>(s.uniform(s.in.operands.at(2)));
  --b.pending;
  complete(b);
}

// `[shared], [global], bytes, [barrier]`: starts the copy; its target is undefined until the copy has landed.
void bulk_copy(Step& s) {
  Block::Barrier& b = barrier_at(s, s.in.operands.at(3));
  Lanes scratch;
  const int lane = std::countr_zero(s.mask);
  const std::uint64_t to = s.address(s.in.operands.at(0), lane, scratch),
                      from = s.address(s.in.operands.at(1), lane, scratch), bytes = s.uniform(s.in.operands.at(2));
  if (bytes == 0 || bytes % 16 != 0 || to % 16 != 0 || from % 16 != 0)
    s.fault("a bulk copy that is not aligned to 16 bytes");
  if (to < kSharedBase || to + bytes > kSharedBase + s.block.shared.size())
    s.fault("a bulk copy outside of shared memory");
  for (std::uint64_t i = to - kSharedBase; i < to - kSharedBase + bytes; ++i) {
    SharedByte& byte = s.block.bytes[i];
    if (byte.read_epoch == s.block.epoch && byte.reader != -1)
      s.fault("a bulk copy to a place that is read, no barrier between");
    byte.writer = -1;
  }
  b.copies.push_back({to, from, bytes});
}

// Carries out the copies. The traffic counts as that of the warp that waits for them.
void land(Step& s, Block::Barrier& b) {
  const int lane = std::countr_zero(s.mask);
  for (const Block::Barrier::Copy& copy : b.copies) {
    s.block.memory->check_defined(copy.from, copy.bytes, s.block.kernel->name);
    Traffic& traffic = s.traffic(copy.from, copy.bytes);
    const std::uint64_t base = s.block.memory->at(copy.from, copy.bytes, "").base;
    for (std::uint64_t i = 0; i < copy.bytes; i += 16) {
      s.store_shared(copy.to + i, reinterpret_cast<const std::byte*>(copy.from) + i, 16, lane);
      ++traffic.loads_of[(copy.from + i - base) / 16];
    }
    traffic.loaded += copy.bytes;
    traffic.load_pieces += copy.bytes / 32;
    b.expected_bytes -= static_cast<std::int64_t>(copy.bytes);
  }
  b.copies.clear();
  complete(b);
}

// Whether the phase of this parity has completed. Pending copies and arrivals land only after one unsuccessful poll.
void try_wait(Step& s) {
  Block::Barrier& b = barrier_at(s, s.in.operands.at(1));
  const std::uint64_t parity = s.uniform(s.in.operands.at(2)) & 1;
  const bool done = (b.phases & 1) != parity;
  if (!done && b.polled && !b.copies.empty()) {
    b.polled = false;
    land(s, b);
  } else if (!done && b.polled && b.arriving > 0) {
    --b.arriving;
    b.polled = false;
    --b.pending;
    complete(b);
  } else if (!done) {
    b.polled = true;
  }
  if (done && s.block.tensor && b.arriving == 0) s.block.tensor->done = std::max(s.block.tensor->done, b.covers);
  s.warp.waits = !done;
  std::uint64_t* const to = s.output(s.in.operands[0]);
  to[std::countr_zero(s.mask)] = done;
}

void nothing(Step&) {}

}  // namespace

const std::vector<HandlerRow>& control_rows() {
  static const std::vector<HandlerRow> kRows = {
      {"bra", [](Step& s) { s.taken = s.mask; }},
      {"bra.uni", [](Step& s) { s.taken = s.mask; }},
      {"ret", [](Step& s) { s.warp.live &= ~s.mask; }},
      {"exit", [](Step& s) { s.warp.live &= ~s.mask; }},
      {"bar.sync", barrier},
      {"barrier.cluster.arrive.release.aligned", cluster_arrive},
      {"barrier.cluster.wait.acquire.aligned", cluster_wait},
      {"bar.warp.sync", [](Step& s) { s.need_all_lanes(); }},
      {"shfl.sync.bfly.b32", [](Step& s) { shuffle(s, true); }},
      {"shfl.sync.idx.b32", [](Step& s) { shuffle(s, false); }},
      {"elect.sync", elect},
      {"fence.proxy.async", proxy_fence},
      {"fence.proxy.async.shared::cta", proxy_fence},
      {"fence.mbarrier_init.release.cluster", nothing},
      {"mbarrier.init.shared::cta.b64", set_up},
      {"mbarrier.arrive.expect_tx.shared::cta.b64", expect_bytes},
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", bulk_copy},
      {"mbarrier.try_wait.parity.shared::cta.b64", try_wait},
  };
  return kRows;
}

}  // namespace ptx
