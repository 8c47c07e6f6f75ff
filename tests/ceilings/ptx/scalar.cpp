// Arithmetic of one thread, by whole mnemonic.
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

// Sums and products wrap around, which only unsigned types may do here.
template <typename T>
Handler add() {
  return each_lane([](T a, T b) { return static_cast<T>(a + b); });
}
template <typename T>
Handler subtract() {
  return each_lane([](T a, T b) { return static_cast<T>(a - b); });
}
template <typename T>
Handler low_product() {
  return each_lane([](T a, T b) { return static_cast<T>(U64{a} * b); });
}
template <typename T>
Handler low_product_sum() {
  return each_lane([](T a, T b, T c) { return static_cast<T>(U64{a} * b + c); });
}
template <typename T>
Handler copy() {
  return each_lane([](T a) { return a; });
}
template <typename T>
Handler choose() {
  return each_lane([](T a, T b, std::uint8_t p) { return p ? a : b; });
}
// Shifts beyond the width give what is left: nothing, or signs.
template <typename T>
Handler left() {
  return each_lane([](T a, U32 by) { return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << by); });
}
template <typename T>
Handler right() {
  return each_lane([](T a, U32 by) {
    const U32 most = 8 * sizeof(T) - 1;
    if (by > most) return static_cast<T>(std::is_signed_v<T> ? a >> most : T{0});
    return static_cast<T>(a >> by);
  });
}
template <typename T, typename F>
Handler compare(F f) {
  return each_lane([f](T a, T b) { return f(a, b); });
}

// Both halves of a word.
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

// Truncated, and the nearest of the type where it is beyond; no number is 0.
S32 truncated(float x) {
  if (std::isnan(x)) return 0;
  if (x >= 2147483648.0F) return 2147483647;
  if (x < -2147483648.0F) return -2147483647 - 1;
  return static_cast<S32>(x);
}

// d = {a, b}, {d, e} = a, or a copy of 32 bits.
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

}  // namespace

// clang-format off
const std::vector<HandlerRow>& scalar_rows() {
  static const std::vector<HandlerRow> kRows = {
      {"mov.b16", copy<U16>()}, {"mov.u16", copy<U16>()}, {"mov.u32", copy<U32>()}, {"mov.f32", copy<U32>()},
      {"mov.u64", copy<U64>()}, {"mov.b64", copy<U64>()}, {"mov.f64", copy<U64>()}, {"mov.b32", move_32},
      {"mov.pred", each_lane([](std::uint8_t a) { return a != 0; })},
      {"cvta.to.global.u64", copy<U64>()},
      // Integers
      {"add.s16", add<U16>()}, {"add.s32", add<U32>()}, {"add.s64", add<U64>()},
      {"sub.s16", subtract<U16>()}, {"sub.s32", subtract<U32>()}, {"sub.s64", subtract<U64>()},
      {"mul.lo.s16", low_product<U16>()}, {"mul.lo.s32", low_product<U32>()}, {"mul.lo.s64", low_product<U64>()},
      {"mad.lo.s32", low_product_sum<U32>()}, {"mad.lo.s64", low_product_sum<U64>()},
      {"mul.wide.u16", each_lane([](U16 a, U16 b) { return U32{a} * b; })},
      {"mul.wide.u32", each_lane([](U32 a, U32 b) { return U64{a} * b; })},
      {"mul.wide.s32", each_lane([](S32 a, S32 b) { return S64{a} * b; })},
      {"mul.hi.u32", each_lane([](U32 a, U32 b) { return static_cast<U32>(U64{a} * b >> 32); })},
      {"mul.hi.s32", each_lane([](S32 a, S32 b) { return static_cast<S32>(S64{a} * b >> 32); })},
      {"div.u16", each_lane([](U16 a, U16 b) { return static_cast<U16>(b ? a / b : 0xffff); })},
      {"neg.s32", each_lane([](U32 a) { return 0U - a; })},
      {"dp4a.s32.s32", each_lane(dot4)},
      {"bfi.b32", each_lane(bits_inserted)},
      // Bits
      {"and.b16", each_lane([](U16 a, U16 b) { return static_cast<U16>(a & b); })},
      {"and.b32", each_lane([](U32 a, U32 b) { return a & b; })},
      {"and.b64", each_lane([](U64 a, U64 b) { return a & b; })},
      {"or.b16", each_lane([](U16 a, U16 b) { return static_cast<U16>(a | b); })},
      {"or.b32", each_lane([](U32 a, U32 b) { return a | b; })},
      {"or.b64", each_lane([](U64 a, U64 b) { return a | b; })},
      {"xor.b16", each_lane([](U16 a, U16 b) { return static_cast<U16>(a ^ b); })},
      {"xor.b32", each_lane([](U32 a, U32 b) { return a ^ b; })},
      {"not.b16", each_lane([](U16 a) { return static_cast<U16>(~a); })},
      {"not.b32", each_lane([](U32 a) { return ~a; })},
      {"and.pred", each_lane([](std::uint8_t a, std::uint8_t b) { return a && b; })},
      {"or.pred", each_lane([](std::uint8_t a, std::uint8_t b) { return a || b; })},
      {"not.pred", each_lane([](std::uint8_t a) { return !a; })},
      {"shl.b16", left<U16>()}, {"shl.b32", left<U32>()}, {"shl.b64", left<U64>()},
      {"shr.u16", right<U16>()}, {"shr.u32", right<U32>()}, {"shr.u64", right<U64>()},
      {"shr.s16", right<S16>()}, {"shr.s32", right<S32>()}, {"shr.s64", right<S64>()},
      {"selp.b16", choose<U16>()}, {"selp.b32", choose<U32>()}, {"selp.u32", choose<U32>()},
      {"selp.f32", choose<U32>()}, {"selp.b64", choose<U64>()},
      // Comparisons
      {"setp.eq.s16", compare<U16>(std::equal_to<>())}, {"setp.ne.s16", compare<U16>(std::not_equal_to<>())},
      {"setp.eq.s32", compare<U32>(std::equal_to<>())}, {"setp.ne.s32", compare<U32>(std::not_equal_to<>())},
      {"setp.eq.b32", compare<U32>(std::equal_to<>())}, {"setp.ne.b32", compare<U32>(std::not_equal_to<>())},
      {"setp.lt.s32", compare<S32>(std::less<>())}, {"setp.gt.s32", compare<S32>(std::greater<>())},
      {"setp.lt.u32", compare<U32>(std::less<>())}, {"setp.gt.u32", compare<U32>(std::greater<>())},
      {"setp.ge.u32", compare<U32>(std::greater_equal<>())}, {"setp.lt.u64", compare<U64>(std::less<>())},
      {"setp.ge.u64", compare<U64>(std::greater_equal<>())},
      {"setp.eq.f32", compare<float>(std::equal_to<>())}, {"setp.eq.f64", compare<double>(std::equal_to<>())},
      // Floating point; the host's operations round to the nearest as well
      {"fma.rn.f32", each_lane([](float a, float b, float c) { return std::fma(a, b, c); })},
      {"fma.rn.f64", each_lane([](double a, double b, double c) { return std::fma(a, b, c); })},
      {"add.f32", each_lane([](float a, float b) { return a + b; })},
      {"add.rn.f32", each_lane([](float a, float b) { return a + b; })},
      {"add.rn.f64", each_lane([](double a, double b) { return a + b; })},
      {"mul.f32", each_lane([](float a, float b) { return a * b; })},
      {"mul.rn.f32", each_lane([](float a, float b) { return a * b; })},
      {"neg.f32", each_lane([](U32 a) { return a ^ 0x80000000U; })},
      {"neg.f64", each_lane([](U64 a) { return a ^ U64{1} << 63; })},
      {"fma.rn.f16x2", fused_pairs(kHalf)}, {"fma.rn.bf16x2", fused_pairs(kBrain)}, {"add.f16x2", added_pairs(kHalf)},
      // Denormal operands count as zero, and so do such results.
      {"ex2.approx.ftz.f32", each_lane([](float a) {
         const float y = static_cast<float>(std::exp2(std::fpclassify(a) == FP_SUBNORMAL ? 0.0 : static_cast<double>(a)));
         return std::fpclassify(y) == FP_SUBNORMAL ? 0.0F : y;
       })},
      // Conversions
      {"cvt.u64.u32", each_lane([](U32 a) { return U64{a}; })},
      {"cvt.s64.s32", each_lane([](S32 a) { return S64{a}; })},
      {"cvt.u32.u64", each_lane([](U64 a) { return static_cast<U32>(a); })},
      {"cvt.u32.u16", each_lane([](U16 a) { return U32{a}; })},
      {"cvt.u16.u32", each_lane([](U32 a) { return static_cast<U16>(a); })},
      {"cvt.rn.f32.s32", each_lane([](S32 a) { return static_cast<float>(a); })},
      {"cvt.rn.f32.u32", each_lane([](U32 a) { return static_cast<float>(a); })},
      {"cvt.rzi.s32.f32", each_lane(truncated)},
      {"cvt.f64.f32", each_lane([](float a) { return static_cast<double>(a); })},
      {"cvt.rn.f16.f32", each_lane([](float a) { return static_cast<U16>(encode(static_cast<double>(a), kHalf)); })},
      {"cvt.rn.bf16.f32", each_lane([](float a) { return static_cast<U16>(encode(static_cast<double>(a), kBrain)); })},
      {"cvt.rn.f16x2.f32", each_lane([](float high, float low) {
         return static_cast<U32>(encode(static_cast<double>(low), kHalf) | encode(static_cast<double>(high), kHalf) << 16);
       })},
  };
  return kRows;
}
// clang-format on

}  // namespace ptx
