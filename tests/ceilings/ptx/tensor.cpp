// Products of a warp (mma.sync) and of a warpgroup (wgmma). Element layout in registers: PTX ISA, matrix fragments.
#include <cstdio>

#include "tiles.h"

namespace ptx {
namespace {

struct Shape {
  int m = 0, n = 0, k = 0;
  std::string accumulator;
  const Elements* elements = nullptr;
};

bool read_shape(const std::string& text, Shape& shape) {
  char rest = 0;
  return std::sscanf(text.c_str(), "m%dn%dk%d%c", &shape.m, &shape.n, &shape.k, &rest) == 3;
}

// The registers of a vector operand, or the one register of a scalar operand.
std::vector<const Operand*> parts_of(const Operand& o) {
  std::vector<const Operand*> all;
  if (o.kind == Operand::Kind::Vector)
    for (const Operand& part : o.parts) all.push_back(&part);
  else
    all.push_back(&o);
  return all;
}

// With group g = lane / 4, t = lane % 4 and `each` elements per operand register: register r of A holds row
// g + 8·(r % 2) from depth t·each + 4·each·(r / 2) on; register r of B holds column g from depth t·each + 4·each·r on;
// element i of D is row g + 8·(i / 2), column 2·t + i % 2.
void warp_product(Step& s, const Shape& shape) {
  s.need_all_lanes();
  const Elements& e = *shape.elements;
  const int each = std::max(32 / e.bits, 1);
  const auto d = parts_of(s.in.operands.at(0)), a = parts_of(s.in.operands.at(1)), b = parts_of(s.in.operands.at(2)),
             c = parts_of(s.in.operands.at(3));
  const auto needs = [&](const auto& parts, int elements, int per) {
    if (static_cast<int>(parts.size()) * 32 * per != elements) s.fault("operands that do not fit its shape");
  };
  needs(a, shape.m * shape.k, each);
  needs(b, shape.n * shape.k, each);
  needs(c, shape.m * shape.n, 1);
  needs(d, shape.m * shape.n, 1);
  Tile left(shape.m, shape.k), right(shape.n, shape.k);
  const auto fill = [&](const std::vector<const Operand*>& parts, Tile& tile, bool of_a) {
    for (int r = 0; r < static_cast<int>(parts.size()); ++r) {
      Lanes scratch;
      const Step::Input in = s.input(*parts[static_cast<std::size_t>(r)], scratch);
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < each; ++i) {
          const bool tall = of_a && shape.m == 16;
          const int row = lane / 4 + (tall ? 8 * (r % 2) : 0), step = tall ? r / 2 : r;
          tile.at(row, lane % 4 * each + 4 * each * step + i) =
              e.value(in.at<std::uint64_t>(lane) >> (e.bits < 32 ? i * e.bits : 0));
        }
    }
  };
  fill(a, left, true);
  fill(b, right, false);
  std::vector<double> sum(static_cast<std::size_t>(shape.m * shape.n));
  const auto place = [&](int lane, int i) {
    return static_cast<std::size_t>((lane / 4 + 8 * (i / 2)) * shape.n + 2 * (lane % 4) + i % 2);
  };
  for (int i = 0; i < static_cast<int>(c.size()); ++i) {
    Lanes scratch;
    const Step::Input in = s.input(*c[static_cast<std::size_t>(i)], scratch);
    for (int lane = 0; lane < 32; ++lane)
      sum[place(lane, i)] = accumulator(in.at<std::uint64_t>(lane), shape.accumulator);
  }
  multiply(left, right, sum);
  for (int i = 0; i < static_cast<int>(d.size()); ++i) {
    std::uint64_t* const to = s.output(*d[static_cast<std::size_t>(i)]);
    for (int lane = 0; lane < 32; ++lane) to[lane] = accumulated(sum[place(lane, i)], shape.accumulator);
  }
  s.block.work->products[e.name] += static_cast<std::uint64_t>(shape.m * shape.n * shape.k);
}

// Two of every 4 elements of a row of A are kept. Register r of A holds row g + 8·(r % 2), the elements kept from depth
// 4·t + 16·(r / 2) on; register r of B holds column g from depth 2·t + 8·r on. Four metadata bits are the two positions
// in a chunk. The assignment of metadata words to rows does not matter, since all must be equal here.
void sparse_product(Step& s) {
  s.need_all_lanes();
  const auto& o = s.in.operands;
  const auto metadata = static_cast<std::uint32_t>(s.uniform(o.at(4)));
  const std::uint32_t low = metadata & 3, high = metadata >> 2 & 3;
  if (metadata != (metadata & 15) * 0x11111111U || low >= high || s.uniform(o.at(5)) != 0)
    s.fault("metadata that are not the same for all chunks, or not in order");
  Tile left(16, 32), right(8, 32);
  const auto each = [&](const Operand& operand, auto put) {
    const auto parts = parts_of(operand);
    if (parts.size() != 4) s.fault("operands that do not fit its shape");
    for (int r = 0; r < 4; ++r) {
      Lanes scratch;
      const Step::Input in = s.input(*parts[static_cast<std::size_t>(r)], scratch);
      for (int lane = 0; lane < 32; ++lane) put(lane / 4, lane % 4, r, in.at<std::uint64_t>(lane));
    }
  };
  std::vector<double> sum(16 * 8);
  const auto place = [](int g, int t, int i) {
    return static_cast<std::size_t>((g + 8 * (i / 2)) * 8 + 2 * t + i % 2);
  };
  each(o[1], [&](int g, int t, int r, std::uint64_t word) {
    const int row = g + 8 * (r % 2), chunk = 4 * t + 16 * (r / 2);
    left.at(row, chunk + static_cast<int>(low)) = decode(word & 0xffff, kHalf);
    left.at(row, chunk + static_cast<int>(high)) = decode(word >> 16 & 0xffff, kHalf);
  });
  each(o[2], [&](int g, int t, int r, std::uint64_t word) {
    for (int i = 0; i < 2; ++i) right.at(g, 2 * t + 8 * r + i) = decode(word >> 16 * i & 0xffff, kHalf);
  });
  each(o[3], [&](int g, int t, int i, std::uint64_t word) { sum[place(g, t, i)] = accumulator(word, "f32"); });
  multiply(left, right, sum);
  const auto d = parts_of(o[0]);
  for (int i = 0; i < 4; ++i) {
    std::uint64_t* const to = s.output(*d.at(static_cast<std::size_t>(i)));
    for (int lane = 0; lane < 32; ++lane) to[lane] = accumulated(sum[place(lane / 4, lane % 4, i)], "f32");
  }
  s.block.work->products["f16"] += 16 * 8 * 16;  // only those that are multiplied
}

// Computes the warp's 16 of the 64 rows. Operand descriptors: start (bits 0-13) and stride (32-45) in units of 16
// bytes, base offset (49-51), swizzle (62-63; 1: 128 bytes). The product owns the accumulators until it is waited for.
void group_product(Step& s, const Shape& shape) {
  s.need_all_lanes();
  const auto& o = s.in.operands;
  const auto d = parts_of(o.at(0));
  if (static_cast<int>(d.size()) * 128 != shape.m * shape.n || shape.m != 64)
    s.fault("operands that do not fit its shape");
  if (s.block.warps.size() % 4 != 0) s.fault("needs whole groups of four warps");
  const std::uint64_t a = s.uniform(o.at(1)), b = s.uniform(o.at(2)), adds = s.uniform(o.at(3)) != 0;
  for (std::size_t i = 4; i < o.size(); ++i)
    if (s.uniform(o[i]) != (i < 6 ? 1 : 0)) s.fault("negated or transposed operands are not modelled");
  // All four warps of a group must issue the same product.
  const std::array<std::uint64_t, 2> number = {s.warp.index / 4, s.warp.products++};
  const std::array<std::uint64_t, 3> said = {a, b, adds};
  if (s.block.group_products.try_emplace(number, said).first->second != said)
    s.fault("the warps of a group issue different products");
  for (const std::uint64_t descriptor : {a, b})
    if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0) s.fault("a layout other than the 128-byte swizzle");
  const int first = static_cast<int>(s.warp.index % 4) * 16;
  const Elements& e = *shape.elements;
  const Tile left = tile_of(s, (a & 0x3fff) << 4, (a >> 32 & 0x3fff) << 4, first, 16, e);
  const Tile right = tile_of(s, (b & 0x3fff) << 4, (b >> 32 & 0x3fff) << 4, 0, shape.n, e);
  if (left.depth != shape.k) s.fault("a depth that is not 32 bytes");
  std::vector<double> sum(static_cast<std::size_t>(16 * shape.n));
  const auto place = [&](int lane, int i) {
    return static_cast<std::size_t>((lane / 4 + 8 * (i / 2 % 2)) * shape.n + 8 * (i / 4) + 2 * (lane % 4) + i % 2);
  };
  for (int i = 0; i < static_cast<int>(d.size()); ++i) {
    const auto r = static_cast<std::size_t>(d[static_cast<std::size_t>(i)]->reg);
    if (s.warp.unfenced[r] && !s.warp.in_flight[r]) s.fault("accumulators were written after the last wgmma.fence");
    if (adds && !s.warp.in_flight[r] && s.warp.defined[r] != s.mask) s.fault("accumulators that were never written");
    for (int lane = 0; lane < 32 && adds; ++lane)
      sum[place(lane, i)] = accumulator(s.warp.values[32 * r + static_cast<std::size_t>(lane)], shape.accumulator);
  }
  multiply(left, right, sum);
  for (int i = 0; i < static_cast<int>(d.size()); ++i) {
    const auto r = static_cast<std::size_t>(d[static_cast<std::size_t>(i)]->reg);
    for (int lane = 0; lane < 32; ++lane)
      s.warp.values[32 * r + static_cast<std::size_t>(lane)] = accumulated(sum[place(lane, i)], shape.accumulator);
    s.warp.defined[r] = 0;
    s.warp.in_flight[r] = 1;
    s.warp.uncommitted.push_back(static_cast<int>(r));
  }
  s.block.work->products[e.name] += static_cast<std::uint64_t>(16 * shape.n * shape.k);
}

void group_fence(Step& s) {
  s.need_all_lanes();
  std::fill(s.warp.unfenced.begin(), s.warp.unfenced.end(), 0);
}

void group_commit(Step& s) {
  s.need_all_lanes();
  s.warp.groups.push_back(std::move(s.warp.uncommitted));
  s.warp.uncommitted.clear();
}

void group_wait(Step& s) {
  s.need_all_lanes();
  const std::size_t left = std::min<std::size_t>(s.uniform(s.in.operands.at(0)), s.warp.groups.size());
  std::vector<int> done;
  for (; s.warp.groups.size() > left; s.warp.groups.erase(s.warp.groups.begin()))
    done.insert(done.end(), s.warp.groups[0].begin(), s.warp.groups[0].end());
  for (const int r : done) {
    s.warp.in_flight[static_cast<std::size_t>(r)] = 0;
    s.warp.defined[static_cast<std::size_t>(r)] = s.mask;
  }
  // Some of these registers may belong to later products, too.
  s.warp.groups.push_back(s.warp.uncommitted);
  for (const auto& group : s.warp.groups)
    for (const int r : group) {
      s.warp.in_flight[static_cast<std::size_t>(r)] = 1;
      s.warp.defined[static_cast<std::size_t>(r)] = 0;
    }
  s.warp.groups.pop_back();
}

}  // namespace

// mma.sync.aligned.SHAPE.row.col.D.A.B.C; wgmma.mma_async.sync.aligned.SHAPE.D.A.B
Handler tensor_handler(const std::string& mnemonic) {
  if (mnemonic == "wgmma.fence.sync.aligned") return group_fence;
  if (mnemonic == "wgmma.commit_group.sync.aligned") return group_commit;
  if (mnemonic == "wgmma.wait_group.sync.aligned") return group_wait;
  if (mnemonic == "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32") return sparse_product;
  const auto words = words_of(mnemonic);
  Shape shape;
  if (mnemonic.starts_with("mma.sync.aligned.") && words.size() == 10 && read_shape(words[3], shape)) {
    shape.accumulator = words[6];
    shape.elements = elements_of(words[7]);
    const bool known =
        words[4] == "row" && words[5] == "col" && words[7] == words[8] && words[6] == words[9] && shape.elements;
    if (!known || shape.n != 8 || (shape.m != 8 && shape.m != 16)) return {};
    return [shape](Step& s) { warp_product(s, shape); };
  }
  if (mnemonic.starts_with("wgmma.mma_async.sync.aligned.") && words.size() == 8 && read_shape(words[4], shape)) {
    shape.accumulator = words[5];
    shape.elements = elements_of(words[6]);
    if (words[6] != words[7] || !shape.elements) return {};
    return [shape](Step& s) { group_product(s, shape); };
  }
  return {};
}

}  // namespace ptx
