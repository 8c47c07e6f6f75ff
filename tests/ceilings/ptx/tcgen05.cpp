// Tensor cores of data-centre Blackwell (tcgen05): tensor memory, products issued by one thread, barriers that signal
// their completion. Descriptor bits and the layout of scales: PTX ISA, sections on tcgen05.
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

// Index of the first word of a warp's part: its 32 lanes × `count` columns.
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

// Moves the warp's stores to the next state: waited for, then, by the fence before a barrier, ready for other threads.
void promote(Step& s, State from, State to) {
  if (!s.block.tensor) return;
  const std::size_t first = s.block.tensor->at(32 * (s.warp.index % 4), 0);
  for (std::size_t i = first; i < first + std::size_t{32} * TensorMemory::kColumns; ++i)
    if (s.block.tensor->states[i] == from) s.block.tensor->states[i] = to;
}

struct Kind {
  const char* name;
  int scales;              // per row in one product's depth; 0: none
  const char* formats[6];  // of operands, by their code in the instruction descriptor
  int bytes = 32;          // of depth
  bool powers = true;      // scales are powers of two (ue8m0), not e4m3
};
constexpr Kind kKinds[] = {
    {"kind::f16", 0, {"f16", "bf16"}},
    {"kind::tf32", 0, {nullptr, nullptr, "tf32"}},
    {"kind::f8f6f4", 0, {"e4m3"}},
    {"kind::i8", 0, {nullptr, "s8"}},
    {"kind::mxf8f6f4.block_scale.scale_vec::1X", 1, {"e4m3"}},
    {"kind::mxf4.block_scale.scale_vec::2X", 2, {nullptr, "e2m1"}},
    {"kind::mxf4nvf4.block_scale.scale_vec::4X", 4, {nullptr, "e2m1"}, 32, false},
    {"kind::mxf4.block_scale.block32", 3, {nullptr, "e2m1"}, 48},
    {"kind::mxf4nvf4.block_scale.block16", 6, {nullptr, "e2m1"}, 48, false},
};

// The scale of a row and block: lane row % 32, column row / 32, one byte per block; all four parts must
// hold the same scale. Where a row has more scales than a word holds, only equal scales are modelled,
// in all columns that an operand may use.
double scale_of(Step& s, std::uint64_t base, int row, int block, const Kind& kind) {
  const TensorMemory& t = memory_of(s);
  std::uint32_t word = 0;
  const bool alike = kind.bytes == 48;
  for (unsigned part = 0; part < 4; ++part)
    for (unsigned column = 0; column < (alike ? 32 : 1); ++column) {
      const std::size_t at = t.at(32 * part + static_cast<unsigned>(row % 32),
                                  static_cast<unsigned>(base) + (alike ? column : static_cast<unsigned>(row / 32)));
      if (t.states[at] != State::Ready) s.fault("scales that were not stored, waited for and fenced");
      if ((part > 0 || column > 0) && t.words[at] != word) s.fault("scales that must be alike and are not");
      word = t.words[at];
    }
  if (alike && word != (word & 0xff) * 0x01010101U) s.fault("scales that must be alike and are not");
  const unsigned byte = word >> 8 * (alike ? 0 : block) & 0xff;
  if (kind.powers) return byte == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(byte) - 127);
  return decode(byte & 0x7f, kE4m3);
}

void scale_tile(Step& s, Tile& tile, std::uint64_t base, const Kind& kind) {
  if (base >> 16 != 0 || base + 32 > memory_of(s).columns) s.fault("scales outside of tensor memory");
  for (int row = 0; row < tile.rows; ++row)
    for (int block = 0; block < kind.scales; ++block) {
      const double scale = scale_of(s, base, row, block, kind);
      const int depth = tile.depth / kind.scales;
      for (int k = depth * block; k < depth * (block + 1); ++k) tile.at(row, k) *= scale;
    }
}

// Checks the instruction descriptor against what is modelled; returns the operand format.
const Elements& checked_format(Step& s, std::uint64_t how, const Kind& kind, int blocks) {
  const auto bits = [&](int from, int count) { return static_cast<int>(how >> from & ((1U << count) - 1)); };
  const int format = bits(7, 3);
  if (16 * bits(24, 5) != 128 * blocks || 8 * bits(17, 6) != 256) s.fault("a shape that is not modelled");
  if (bits(0, 4) != 0 || bits(6, 1) != 0 || bits(13, 4) != 0 || format != bits(10, 3))
    s.fault("an instruction descriptor that is not modelled");
  const Elements* const e = format < 6 && kind.formats[format] ? elements_of(kind.formats[format]) : nullptr;
  if (!e) s.fault("a format of operands that this kind does not have, or is not modelled");
  const bool integers = std::string_view(e->name) == "s8", scaled = kind.scales > 0;
  // With block scales, bits 4-5 and 29-30 select the first scale within a word, 23 is
  // the scale format, 31 the long depth.
  if (bits(4, 2) != (scaled     ? 0
                     : integers ? 2
                                : 1) ||
      bits(29, 2) != 0 || bits(31, 1) != (kind.bytes == 48) || (bits(23, 1) == 1) != (scaled && kind.powers))
    s.fault("accumulators or scales that are not modelled, or not this kind's");
  return *e;
}

// Computes the 128 rows of D in this block, from its rows of A and the rows of B of all blocks.
void multiply_here(Step& here, const std::vector<Block*>& blocks, const Kind& kind, const Elements& e, std::uint64_t d,
                   std::uint64_t a, std::uint64_t b, std::uint64_t scales_a, std::uint64_t scales_b, bool adds) {
  constexpr int kRows = 128, kColumns = 256;
  TensorMemory& t = memory_of(here);
  const auto start = [](std::uint64_t x) { return (x & 0x3fff) << 4; };
  const auto stride = [](std::uint64_t x) { return (x >> 32 & 0x3fff) << 4; };
  Tile left = tile_of(here, start(a), stride(a), 0, kRows, e, kind.bytes), right(kColumns, left.depth);
  const int share = kColumns / static_cast<int>(blocks.size());
  for (int i = 0; i < static_cast<int>(blocks.size()); ++i) {
    Step there{*blocks[static_cast<std::size_t>(i)], here.warp, here.in, here.mask};
    Tile part = tile_of(there, start(b), stride(b), 0, share, e, kind.bytes);
    for (int row = 0; row < share; ++row)
      for (int k = 0; k < part.depth; ++k) right.at(i * share + row, k) = part.at(row, k);
  }
  if (kind.scales > 0) {
    scale_tile(here, left, scales_a, kind);
    scale_tile(here, right, scales_b, kind);
  }
  if (d >> 16 != 0 || d + kColumns > t.columns) here.fault("accumulators outside of tensor memory");
  const char* const type = std::string_view(e.name) == "s8" ? "s32" : "f32";
  std::vector<double> sum(std::size_t{kRows} * kColumns);
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned column = 0; column < kColumns && adds; ++column) {
      const std::size_t at = t.at(row, static_cast<unsigned>(d) + column);
      if (t.states[at] != State::Ready) here.fault("adds to tensor memory that nothing wrote");
      sum[row * kColumns + column] = accumulator(t.words[at], type);
    }
  multiply(left, right, sum);
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned column = 0; column < kColumns; ++column) {
      const std::size_t at = t.at(row, static_cast<unsigned>(d) + column);
      t.words[at] = static_cast<std::uint32_t>(accumulated(sum[row * kColumns + column], type));
      t.states[at] = State::Ready;
    }
  ++t.issued;
  here.block.work->products[e.name] += static_cast<std::uint64_t>(kRows * kColumns * left.depth);
}

// The blocks of a group of one or two: this one, or the cluster's two, of which the first issues the product.
std::vector<Block*> group_of(Step& s, int blocks) {
  if (blocks == 1) return {&s.block};
  if (s.block.cluster->size() != 2 || &s.block != s.block.cluster->data()) s.fault("a pair's first block issues");
  return {s.block.cluster->data(), s.block.cluster->data() + 1};
}

// [d], a, b, instruction, [scales of a], [scales of b], whether to accumulate.
void product(Step& s, const Kind& kind, int blocks) {
  if (std::popcount(s.mask) != 1) s.fault("a product is issued by one thread");
  const int lane = std::countr_zero(s.mask);
  if (s.block.tensor_fences[s.thread(lane)] != s.block.epoch)
    s.fault("no tcgen05.fence::after_thread_sync after the barrier");
  const auto& o = s.in.operands;
  const bool scaled = kind.scales > 0;
  Lanes scratch;
  const std::uint64_t d = s.address(o.at(0), lane, scratch), a = s.uniform(o.at(1)), b = s.uniform(o.at(2));
  const Elements& e = checked_format(s, s.uniform(o.at(3)), kind, blocks);
  // Bits 46-48 of a descriptor hold 1, 61-63 the swizzle (2: 128 bytes). Bit 52: for a long depth, the leading offset
  // is the address of the data beyond the row; here there is none.
  for (const std::uint64_t x : {a, b})
    if (x >> 61 != 2 || (x >> 46 & 7) != 1 || (x >> 49 & 0xfff) != (kind.bytes == 48 ? 8 : 0))
      s.fault("a layout other than the 128-byte swizzle");
  const std::vector<Block*> group = group_of(s, blocks);
  for (Block* const block : group) {
    Step here{*block, s.warp, s.in, s.mask};
    multiply_here(here, group, kind, e, d, a, b, scaled ? s.address(o.at(4), lane, scratch) : 0,
                  scaled ? s.address(o.at(5), lane, scratch) : 0, s.uniform(o.at(scaled ? 6 : 4)) != 0);
  }
}

// One arrival at this block's barrier, or at those of all blocks in a mask, once all products so far are done.
void commit(Step& s) {
  Lanes scratch;
  if (std::popcount(s.mask) != 1) s.fault("commits of several threads are not modelled");
  const std::uint64_t at = s.address(s.in.operands.at(0), std::countr_zero(s.mask), scratch);
  const std::uint64_t mask = s.in.operands.size() > 1 ? s.uniform(s.in.operands[1])
                                                      : std::uint64_t{1} << (s.block.index % s.block.kernel->cluster);
  for (std::size_t i = 0; i < s.block.cluster->size(); ++i) {
    if (!(mask >> i & 1)) continue;
    Block& block = (*s.block.cluster)[i];
    const auto found = block.barriers.find(at);
    if (found == block.barriers.end()) s.fault("no barrier was set up there");
    ++found->second.arriving;
    Step there{block, s.warp, s.in, s.mask};
    found->second.covers = memory_of(there).issued;
  }
}

void after_fence(Step& s) {
  for (int lane = 0; lane < 32; ++lane)
    if (s.has(lane)) s.block.tensor_fences[s.thread(lane)] = s.block.epoch;
}

}  // namespace

// Each block of a pair allocates and frees its own tensor memory.
Handler tcgen05_handler(const std::string& mnemonic) {
  const bool pair = mnemonic.find("cta_group::2") != std::string::npos;
  std::string name = mnemonic;
  if (pair) name.replace(name.find("cta_group::2"), 12, "cta_group::1");
  static const std::map<std::string, Handler> kRows = {
      {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", allocate},
      {"tcgen05.dealloc.cta_group::1.sync.aligned.b32", release},
      {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64", commit},
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
  if (const auto found = kRows.find(name); found != kRows.end()) return found->second;
  constexpr std::string_view kProduct = "tcgen05.mma.cta_group::1.";
  if (!name.starts_with(kProduct)) return {};
  for (const Kind& kind : kKinds)
    if (name.substr(kProduct.size()) == kind.name) return [&kind, pair](Step& s) { product(s, kind, pair ? 2 : 1); };
  return {};
}

}  // namespace ptx
