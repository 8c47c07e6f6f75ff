// Data-centre Blackwell's tensor cores (tcgen05): tensor memory, products issued by one thread, barriers that tell when
// they are done. Bits of descriptors and where scales lie: PTX ISA, sections on tcgen05.
#include "tensor_memory.h"
#include "tiles.h"

namespace ptx {
namespace {

using State = TensorMemory::State;

TensorMemory& memory_of(Step& s) {
  if (!s.block.tensor || s.block.tensor->columns == 0) s.fault("no tensor memory was taken");
  return *s.block.tensor;
}

void allocate(Step& s) {
  s.need_all_lanes();
  if (!s.block.tensor) s.block.tensor = std::make_shared<TensorMemory>();
  TensorMemory& t = *s.block.tensor;
  const auto columns = static_cast<unsigned>(s.uniform(s.in.operands.at(1)));
  if (!t.may_take || t.columns != 0) s.fault("tensor memory is taken a second time, or after the permit was given up");
  if (columns < 32 || columns > 512 || !std::has_single_bit(columns))
    s.fault("a number of columns that cannot be taken");
  t.columns = columns;
  Lanes scratch;
  const std::uint32_t first = 0;
  s.store_shared(s.address(s.in.operands.at(0), 0, scratch), &first, 4, 0);
}

void release(Step& s) {
  s.need_all_lanes();
  TensorMemory& t = memory_of(s);
  if (s.uniform(s.in.operands.at(0)) != 0 || s.uniform(s.in.operands.at(1)) != t.columns)
    s.fault("gives back other tensor memory than was taken");
  if (t.done != t.issued) s.fault("gives tensor memory back while products are in flight");
  t.columns = 0;
}

// Words of one warp's part: its 32 lanes × `count` columns.
std::size_t part_of(Step& s, const Operand& operand, std::size_t count) {
  s.need_all_lanes();
  if (s.block.tensor_fences[s.thread(0)] != s.block.epoch)
    s.fault("no tcgen05.fence::after_thread_sync after the barrier");
  Operand base = operand;
  base.kind = Operand::Kind::Register;
  const std::uint64_t at = s.uniform(base) + operand.bits;
  const std::uint64_t lane = at >> 16, column = at & 0xffff;
  if (lane != 32 * (s.warp.index % 4)) s.fault("a warp reaches only the lanes of its own part");
  if (column + count > memory_of(s).columns) s.fault("columns that were not taken");
  return s.block.tensor->at(static_cast<unsigned>(lane), static_cast<unsigned>(column));
}

void store(Step& s) {
  const auto& parts = s.in.operands.at(1).parts;
  const std::size_t first = part_of(s, s.in.operands.at(0), parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Lanes scratch;
    const Step::Input in = s.input(parts[i], scratch);
    for (int lane = 0; lane < 32; ++lane) {
      const std::size_t at = first + static_cast<std::size_t>(lane) * TensorMemory::kColumns + i;
      s.block.tensor->words[at] = in.at<std::uint32_t>(lane);
      s.block.tensor->states[at] = State::Stored;
    }
  }
}

void load(Step& s) {
  const auto& parts = s.in.operands.at(0).parts;
  const std::size_t first = part_of(s, s.in.operands.at(1), parts.size());
  if (s.block.tensor->done != s.block.tensor->issued) s.fault("results are read before their products were waited for");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::uint64_t* const to = s.output(parts[i]);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::size_t at = first + lane * TensorMemory::kColumns + i;
      if (s.block.tensor->states[at] != State::Ready)
        s.fault("tensor memory that nothing wrote", static_cast<int>(lane));
      to[lane] = s.block.tensor->words[at];
    }
    const auto r = static_cast<std::size_t>(parts[i].reg);
    s.warp.in_flight[r] = 1;
    s.warp.defined[r] = 0;
    s.warp.uncommitted.push_back(parts[i].reg);
  }
}

void wait_loads(Step& s) {
  s.need_all_lanes();
  for (const int r : s.warp.uncommitted) {
    s.warp.in_flight[static_cast<std::size_t>(r)] = 0;
    s.warp.defined[static_cast<std::size_t>(r)] = s.mask;
  }
  s.warp.uncommitted.clear();
}

// Stores of the warp's part move on: to waited for, and by the fence before a barrier to ready for others.
void promote(Step& s, State from, State to) {
  if (!s.block.tensor) return;
  const std::size_t first = s.block.tensor->at(32 * (s.warp.index % 4), 0);
  for (std::size_t i = first; i < first + std::size_t{32} * TensorMemory::kColumns; ++i)
    if (s.block.tensor->states[i] == from) s.block.tensor->states[i] = to;
}

struct Kind {
  const char* name;
  int scales;              // of a row in one product's depth; 0: none
  const char* formats[6];  // of operands, by their number in the instruction's descriptor
};
// clang-format off
constexpr Kind kKinds[] = {
    {"kind::f16", 0, {"f16", "bf16"}},
    {"kind::tf32", 0, {nullptr, nullptr, "tf32"}},
    {"kind::f8f6f4", 0, {"e4m3"}},
    {"kind::i8", 0, {nullptr, "s8"}},
    {"kind::mxf8f6f4.block_scale.scale_vec::1X", 1, {"e4m3"}},
    {"kind::mxf4.block_scale.scale_vec::2X", 2, {nullptr, "e2m1"}},
    {"kind::mxf4nvf4.block_scale.scale_vec::4X", 4, {nullptr, "e2m1"}},
};
// clang-format on

// The scale of a row and block: lane row % 32, column row / 32, a byte a block; all four parts must hold the same.
double scale_of(Step& s, const TensorMemory& t, std::uint64_t base, int row, int block, bool powers) {
  std::uint32_t word = 0;
  for (unsigned part = 0; part < 4; ++part) {
    const std::size_t at = t.at(32 * part + static_cast<unsigned>(row % 32),
                                static_cast<unsigned>(base) + static_cast<unsigned>(row / 32));
    if (t.states[at] != State::Ready) s.fault("scales that were not stored, waited for and fenced");
    if (part > 0 && t.words[at] != word) s.fault("scales that differ between the parts of tensor memory");
    word = t.words[at];
  }
  const unsigned byte = word >> 8 * block & 0xff;
  if (powers) return byte == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(byte) - 127);  // ue8m0
  return decode(byte & 0x7f, kE4m3);                                                              // ue4m3
}

void scale_tile(Step& s, const TensorMemory& t, Tile& tile, std::uint64_t base, int blocks, bool powers) {
  if (base >> 16 != 0 || base + static_cast<std::uint64_t>(tile.rows / 32) > t.columns)
    s.fault("scales outside of tensor memory");
  for (int row = 0; row < tile.rows; ++row)
    for (int block = 0; block < blocks; ++block) {
      const double scale = scale_of(s, t, base, row, block, powers);
      for (int k = tile.depth / blocks * block; k < tile.depth / blocks * (block + 1); ++k) tile.at(row, k) *= scale;
    }
}

// [d], a, b, instruction, [scales of a], [scales of b], whether it adds.
void product(Step& s, const Kind& kind) {
  if (std::popcount(s.mask) != 1) s.fault("a product is issued by one thread");
  TensorMemory& t = memory_of(s);
  const int lane = std::countr_zero(s.mask);
  if (s.block.tensor_fences[s.thread(lane)] != s.block.epoch)
    s.fault("no tcgen05.fence::after_thread_sync after the barrier");
  const auto& o = s.in.operands;
  const bool scaled = kind.scales > 0;
  Lanes scratch;
  const std::uint64_t d = s.address(o.at(0), lane, scratch), a = s.uniform(o.at(1)), b = s.uniform(o.at(2));
  const std::uint64_t how = s.uniform(o.at(3)), adds = s.uniform(o.at(scaled ? 6 : 4));
  const auto bits = [&](int from, int count) { return static_cast<int>(how >> from & ((1U << count) - 1)); };
  const int m = 16 * bits(24, 5), n = 8 * bits(17, 6), format = bits(7, 3);
  if (m != 128 || n < 16 || n > 256 || n % 16 != 0) s.fault("a shape that is not modelled");
  if (bits(0, 4) != 0 || bits(13, 4) != 0 || format != bits(10, 3))
    s.fault("an instruction descriptor that is not modelled");
  const Elements* const e = format < 6 && kind.formats[format] ? elements_of(kind.formats[format]) : nullptr;
  if (!e) s.fault("a format of operands that this kind does not have, or is not modelled");
  const bool integers = e->bits == 8 && std::string_view(e->name) == "s8";
  if (scaled ? bits(4, 2) != 0 || bits(29, 3) != 0
             : bits(4, 2) != (integers ? 2 : 1) || bits(23, 1) != 0 || bits(29, 3) != 0)
    s.fault("a kind of accumulators or of scales that is not modelled");
  if (scaled && (bits(23, 1) == 1) != (kind.scales < 4)) s.fault("scales of another format");
  // Bits 46-48 of a descriptor hold 1, 61-63 the swizzle: 2 is that of 128 bytes.
  for (const std::uint64_t x : {a, b})
    if (x >> 61 != 2 || (x >> 46 & 7) != 1 || (x >> 49 & 0xfff) != 0)
      s.fault("a layout other than the 128-byte swizzle");
  Tile left = tile_of(s, (a & 0x3fff) << 4, (a >> 32 & 0x3fff) << 4, 0, m, *e);
  Tile right = tile_of(s, (b & 0x3fff) << 4, (b >> 32 & 0x3fff) << 4, 0, n, *e);
  if (scaled) {
    scale_tile(s, t, left, s.address(o.at(4), lane, scratch), kind.scales, bits(23, 1) == 1);
    scale_tile(s, t, right, s.address(o.at(5), lane, scratch), kind.scales, bits(23, 1) == 1);
  }
  if (d >> 16 != 0 || d + static_cast<std::uint64_t>(n) > t.columns) s.fault("accumulators outside of tensor memory");
  const char* const accumulates = integers ? "s32" : "f32";
  std::vector<double> sum(static_cast<std::size_t>(m * n));
  const auto at = [&](int row, int column) {
    return t.at(static_cast<unsigned>(row), static_cast<unsigned>(d) + static_cast<unsigned>(column));
  };
  for (int row = 0; row < m && adds; ++row)
    for (int column = 0; column < n; ++column) {
      if (t.states[at(row, column)] != State::Ready) s.fault("adds to tensor memory that nothing wrote");
      sum[static_cast<std::size_t>(row * n + column)] = accumulator(t.words[at(row, column)], accumulates);
    }
  multiply(left, right, sum);
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      t.words[at(row, column)] =
          static_cast<std::uint32_t>(accumulated(sum[static_cast<std::size_t>(row * n + column)], accumulates));
      t.states[at(row, column)] = State::Ready;
    }
  ++t.issued;
  s.block.work->products[e->name] += static_cast<std::uint64_t>(m * n * left.depth);
}

void commit(Step& s) {
  Lanes scratch;
  if (std::popcount(s.mask) != 1) s.fault("commits of several threads are not modelled");
  const auto found = s.block.barriers.find(s.address(s.in.operands.at(0), std::countr_zero(s.mask), scratch));
  if (found == s.block.barriers.end()) s.fault("no barrier was set up there");
  ++found->second.arriving;
  found->second.covers = memory_of(s).issued;
}

void after_fence(Step& s) {
  for (int lane = 0; lane < 32; ++lane)
    if (s.has(lane)) s.block.tensor_fences[s.thread(lane)] = s.block.epoch;
}

}  // namespace

Handler tcgen05_handler(const std::string& mnemonic) {
  static const std::map<std::string, Handler> kRows = {
      {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", allocate},
      {"tcgen05.dealloc.cta_group::1.sync.aligned.b32", release},
      {"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
       [](Step& s) {
         s.need_all_lanes();
         memory_of(s).may_take = false;
       }},
      {"tcgen05.st.sync.aligned.32x32b.x4.b32", store},
      {"tcgen05.st.sync.aligned.32x32b.x8.b32", store},
      {"tcgen05.ld.sync.aligned.32x32b.x8.b32", load},
      {"tcgen05.wait::ld.sync.aligned", wait_loads},
      {"tcgen05.wait::st.sync.aligned",
       [](Step& s) {
         s.need_all_lanes();
         promote(s, State::Stored, State::Waited);
       }},
      {"tcgen05.fence::before_thread_sync", [](Step& s) { promote(s, State::Waited, State::Ready); }},
      {"tcgen05.fence::after_thread_sync", after_fence},
      {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64", commit},
  };
  if (const auto found = kRows.find(mnemonic); found != kRows.end()) return found->second;
  constexpr std::string_view kProduct = "tcgen05.mma.cta_group::1.";
  if (!mnemonic.starts_with(kProduct)) return {};
  for (const Kind& kind : kKinds)
    if (mnemonic.substr(kProduct.size()) == kind.name) return [&kind](Step& s) { product(s, kind); };
  return {};
}

}  // namespace ptx
