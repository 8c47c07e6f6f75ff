// Branches, barriers, exchanges within a warp, fences and barriers in memory.
#include "machine.h"
#include "tensor_memory.h"

namespace ptx {
namespace {

void shuffle(Step& s, bool exchange) {
  s.need_all_lanes();
  // value[|predicate], source, lane or mask, clamp, members.
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

// `lane|predicate, members`: one lane, here the last one, since nobody may count on the first.
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

// Arriving and waiting are one for us: nothing lies between them.
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
  s.block.barriers[at] = {static_cast<unsigned>(count), static_cast<unsigned>(count)};
}

// Whether the phase of this parity has completed. What is under way arrives after somebody has asked in vain.
void try_wait(Step& s) {
  Block::Barrier& b = barrier_at(s, s.in.operands.at(1));
  const std::uint64_t parity = s.uniform(s.in.operands.at(2)) & 1;
  const bool done = (b.phases & 1) != parity;
  if (!done && b.polled && b.arriving > 0) {
    --b.arriving;
    b.polled = false;
    if (--b.pending == 0) {
      b.pending = b.expected;
      ++b.phases;
    }
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
      {"mbarrier.try_wait.parity.shared::cta.b64", try_wait},
  };
  return kRows;
}

}  // namespace ptx
