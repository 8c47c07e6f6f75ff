// Arithmetic of one thread, by full mnemonic.
#include <algorithm>
#include <cmath>

#include "formats.h"
#include "machine.h"

namespace ptx {
namespace {

using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

// Applies f to both halves of a word.
template <typename F>
U32 halves(U32 a, U32 b, U32 c, F f) {
  const auto low = f(a & 0xffff, b & 0xffff, c & 0xffff), high = f(a >> 16, b >> 16, c >> 16);
  return static_cast<U32>(low | high << 16);
}
Handler fused_pairs(Format format) {
  return each_lane([format](U32 a, U32 b, U32 c) {
    return halves(a, b, c, [&](U64 x, U64 y, U64 z) { return fused(x, y, z, format); });
  });
}
Handler added_pairs(Format format) {
  return each_lane([format](U32 a, U32 b) {
    return halves(a, b, 0,
                  [&](U64 x, U64 y, U64) { return encode(odd_sum(decode(x, format), decode(y, format)), format); });
  });
}

S32 dot4(U32 a, U32 b, S32 c) {
  U32 sum = static_cast<U32>(c);
  for (int byte = 0; byte < 32; byte += 8)
    sum += static_cast<U32>(static_cast<std::int8_t>(a >> byte) * static_cast<std::int8_t>(b >> byte));
  return static_cast<S32>(sum);
}

U32 bits_inserted(U32 a, U32 b, U32 at, U32 count) {
  const U32 from = at & 0xff, wide = std::min(count & 0xff, 32 - std::min(from, 32U));
  if (wide == 0) return b;
  const U32 mask = (wide == 32 ? ~0U : (1U << wide) - 1) << from;
  return (b & ~mask) | (a << from & mask);
}

// Truncates; saturates beyond the type's range; NaN becomes 0.
S32 truncated(float x) {
  if (std::isnan(x)) return 0;
  if (x >= 2147483648.0F) return 2147483647;
  if (x < -2147483648.0F) return -2147483647 - 1;
  return static_cast<S32>(x);
}

// d = {a, b}, {d, e} = a, or a 32-bit copy.
void move_32(Step& s) {
  Lanes first, second;
  const Operand &to = s.in.operands[0], &from = s.in.operands[1];
  if (from.kind == Operand::Kind::Vector) {
    const Step::Input low = s.input(from.parts.at(0), first), high = s.input(from.parts.at(1), second);
    std::uint64_t* const d = s.output(to);
    for (int lane = 0; lane < 32; ++lane)
      if (s.has(lane)) s.put<U32>(d, lane, low.at<U16>(lane) | U32{high.at<U16>(lane)} << 16);
    return;
  }
  const Step::Input word = s.input(from, first);
  const bool apart = to.kind == Operand::Kind::Vector;
  for (std::size_t part = 0; part < (apart ? 2 : 1); ++part) {
    std::uint64_t* const d = s.output(apart ? to.parts.at(part) : to);
    for (int lane = 0; lane < 32; ++lane)
      if (s.has(lane)) s.put<U32>(d, lane, apart ? word.at<U32>(lane) >> 16 * part & 0xffff : word.at<U32>(lane));
  }
}

// Rows for all integers of a width: signed (s), unsigned (u) or untyped bits (b).
using Rows = std::vector<HandlerRow>;
template <typename U, typename S>
void add_integers(Rows& rows) {
  const std::string width = std::to_string(8 * sizeof(U));
  const auto row = [&](const char* name, char type, Handler handler) {
    rows.push_back({name + std::string(1, type) + width, std::move(handler)});
  };
  for (const char type : {'s', 'u', 'b', 'f'}) row("mov.", type, each_lane([](U a) { return a; }));
  // Sums and products wrap around, which C++ allows for unsigned types only: the low half is the same for both.
  for (const char type : {'s', 'u'}) {
    row("add.", type, each_lane([](U a, U b) { return static_cast<U>(a + b); }));
    row("sub.", type, each_lane([](U a, U b) { return static_cast<U>(a - b); }));
    row("mul.lo.", type, each_lane([](U a, U b) { return static_cast<U>(U64{a} * b); }));
    row("mad.lo.", type, each_lane([](U a, U b, U c) { return static_cast<U>(U64{a} * b + c); }));
  }
  row("neg.", 's', each_lane([](U a) { return static_cast<U>(U{0} - a); }));
  row("min.", 's', each_lane([](S a, S b) { return std::min(a, b); }));
  row("max.", 's', each_lane([](S a, S b) { return std::max(a, b); }));
  row("min.", 'u', each_lane([](U a, U b) { return std::min(a, b); }));
  row("max.", 'u', each_lane([](U a, U b) { return std::max(a, b); }));
  row("div.", 'u', each_lane([](U a, U b) { return static_cast<U>(b ? a / b : ~U{0}); }));
  row("rem.", 'u', each_lane([](U a, U b) { return static_cast<U>(b ? a % b : a); }));
  row("and.", 'b', each_lane([](U a, U b) { return static_cast<U>(a & b); }));
  row("or.", 'b', each_lane([](U a, U b) { return static_cast<U>(a | b); }));
  row("xor.", 'b', each_lane([](U a, U b) { return static_cast<U>(a ^ b); }));
  row("not.", 'b', each_lane([](U a) { return static_cast<U>(~a); }));
  // Shifts beyond the width leave nothing, or only sign bits.
  static constexpr U32 kMost = 8 * sizeof(U) - 1;
  row("shl.", 'b', each_lane([](U a, U32 by) { return by > kMost ? U{0} : static_cast<U>(U64{a} << by); }));
  row("shr.", 'u', each_lane([](U a, U32 by) { return by > kMost ? U{0} : static_cast<U>(a >> by); }));
  row("shr.", 'b', each_lane([](U a, U32 by) { return by > kMost ? U{0} : static_cast<U>(a >> by); }));
  row("shr.", 's', each_lane([](S a, U32 by) { return static_cast<S>(a >> std::min(by, kMost)); }));
  for (const char type : {'s', 'u', 'b', 'f'})
    row("selp.", type, each_lane([](U a, U b, std::uint8_t p) { return p ? a : b; }));
}

// Comparisons. With a NaN operand all floating-point comparisons are false, also ne, which requires numbers.
template <typename T>
void add_comparisons(Rows& rows, const std::string& type) {
  rows.push_back({"setp.eq." + type, each_lane([](T a, T b) { return a == b; })});
  rows.push_back({"setp.ne." + type, each_lane([](T a, T b) { return a < b || a > b; })});
  rows.push_back({"setp.lt." + type, each_lane([](T a, T b) { return a < b; })});
  rows.push_back({"setp.le." + type, each_lane([](T a, T b) { return a <= b; })});
  rows.push_back({"setp.gt." + type, each_lane([](T a, T b) { return a > b; })});
  rows.push_back({"setp.ge." + type, each_lane([](T a, T b) { return a >= b; })});
}

// Without a rounding mode they also round to nearest, as the host's operations do.
template <typename T>
void add_floats(Rows& rows, const std::string& type) {
  for (const std::string mode : {".", ".rn."}) {
    rows.push_back({"add" + mode + type, each_lane([](T a, T b) { return a + b; })});
    rows.push_back({"sub" + mode + type, each_lane([](T a, T b) { return a - b; })});
    rows.push_back({"mul" + mode + type, each_lane([](T a, T b) { return a * b; })});
  }
  rows.push_back({"fma.rn." + type, each_lane([](T a, T b, T c) { return std::fma(a, b, c); })});
}

}  // namespace

// clang-format off
const std::vector<HandlerRow>& scalar_rows() {
  static const Rows kRows = [] {
    Rows rows = {
        {"mov.b32", move_32},  // packs and unpacks
        {"mov.pred", each_lane([](std::uint8_t a) { return a != 0; })},
        {"cvta.to.global.u64", each_lane([](U64 a) { return a; })},
        {"mul.wide.u16", each_lane([](U16 a, U16 b) { return U32{a} * b; })},
        {"mul.wide.s16", each_lane([](S16 a, S16 b) { return S32{a} * b; })},
        {"mul.wide.u32", each_lane([](U32 a, U32 b) { return U64{a} * b; })},
        {"mul.wide.s32", each_lane([](S32 a, S32 b) { return S64{a} * b; })},
        {"mad.wide.u32", each_lane([](U32 a, U32 b, U64 c) { return U64{a} * b + c; })},
        {"mul.hi.u32", each_lane([](U32 a, U32 b) { return static_cast<U32>(U64{a} * b >> 32); })},
        {"mul.hi.s32", each_lane([](S32 a, S32 b) { return static_cast<S32>(S64{a} * b >> 32); })},
        {"dp4a.s32.s32", each_lane(dot4)},
        {"bfi.b32", each_lane(bits_inserted)},
        {"and.pred", each_lane([](std::uint8_t a, std::uint8_t b) { return a && b; })},
        {"or.pred", each_lane([](std::uint8_t a, std::uint8_t b) { return a || b; })},
        {"xor.pred", each_lane([](std::uint8_t a, std::uint8_t b) { return a != b; })},
        {"not.pred", each_lane([](std::uint8_t a) { return !a; })},
        {"neg.f32", each_lane([](U32 a) { return a ^ 0x80000000U; })},
        {"neg.f64", each_lane([](U64 a) { return a ^ U64{1} << 63; })},
        {"fma.rn.f16x2", fused_pairs(kHalf)}, {"fma.rn.bf16x2", fused_pairs(kBrain)},
        {"add.f16x2", added_pairs(kHalf)}, {"add.rn.f16x2", added_pairs(kHalf)},
        // Denormal operands count as zero, and so do denormal results.
        {"ex2.approx.ftz.f32", each_lane([](float a) {
           const float y = static_cast<float>(std::exp2(std::fpclassify(a) == FP_SUBNORMAL ? 0.0 : static_cast<double>(a)));
           return std::fpclassify(y) == FP_SUBNORMAL ? 0.0F : y;
         })},
        {"cvt.u64.u32", each_lane([](U32 a) { return U64{a}; })},
        {"cvt.s64.s32", each_lane([](S32 a) { return S64{a}; })},
        {"cvt.u32.u64", each_lane([](U64 a) { return static_cast<U32>(a); })},
        {"cvt.u32.u16", each_lane([](U16 a) { return U32{a}; })},
        {"cvt.s32.s16", each_lane([](S16 a) { return S32{a}; })},
        {"cvt.u16.u32", each_lane([](U32 a) { return static_cast<U16>(a); })},
        {"cvt.rn.f32.s32", each_lane([](S32 a) { return static_cast<float>(a); })},
        {"cvt.rn.f32.u32", each_lane([](U32 a) { return static_cast<float>(a); })},
        {"cvt.rn.f64.s32", each_lane([](S32 a) { return static_cast<double>(a); })},
        {"cvt.rn.f64.u32", each_lane([](U32 a) { return static_cast<double>(a); })},
        {"cvt.rzi.s32.f32", each_lane(truncated)},
        {"cvt.f64.f32", each_lane([](float a) { return static_cast<double>(a); })},
        {"cvt.rn.f16.f32", each_lane([](float a) { return static_cast<U16>(encode(static_cast<double>(a), kHalf)); })},
        {"cvt.rn.bf16.f32", each_lane([](float a) { return static_cast<U16>(encode(static_cast<double>(a), kBrain)); })},
        {"cvt.rn.f16x2.f32", each_lane([](float high, float low) {
           return static_cast<U32>(encode(static_cast<double>(low), kHalf) | encode(static_cast<double>(high), kHalf) << 16);
         })},
    };
    add_integers<U16, S16>(rows);
    add_integers<U32, S32>(rows);
    add_integers<U64, S64>(rows);
    for (const char type : {'u', 'b'}) {
      add_comparisons<U16>(rows, type + std::string("16"));
      add_comparisons<U32>(rows, type + std::string("32"));
      add_comparisons<U64>(rows, type + std::string("64"));
    }
    add_comparisons<S16>(rows, "s16");
    add_comparisons<S32>(rows, "s32");
    add_comparisons<S64>(rows, "s64");
    add_comparisons<float>(rows, "f32");
    add_comparisons<double>(rows, "f64");
    add_floats<float>(rows, "f32");
    add_floats<double>(rows, "f64");
    return rows;
  }();
  return kRows;
}
// clang-format on

}  // namespace ptx
