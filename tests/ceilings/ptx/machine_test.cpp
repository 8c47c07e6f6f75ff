// The interpreter itself, on programs of a few lines: their results, and every fault that it must find.
#include <doctest/doctest.h>

#include <cmath>

#include "formats.h"
#include "machine.h"

namespace {

using namespace ptx;

constexpr const char* kHead = ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 pool[];\n";

// A kernel `k` with one pointer argument; `out` receives what it writes.
struct Program {
  std::map<std::string, Kernel> kernels;
  alignas(128) std::array<std::uint32_t, 64> out{};
  Memory memory;
  explicit Program(const std::string& body)
      : kernels(parse(std::string(kHead) +
                      ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<9>; .reg .b16 %h<9>; "
                      ".reg .b32 %r<20>; .reg .b32 %f<20>; .reg .b64 %d<20>;\n"
                      "ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4;\n"
                      "add.s64 %d2, %d0, %d1;\n" +
                      body + "\nret;\n}\n")) {
    memory.add(reinterpret_cast<std::uint64_t>(out.data()), 4 * out.size());
  }
  Work go(unsigned threads = 32, unsigned shared = 4096, Order order = Order::Forward) {
    const auto pointer = reinterpret_cast<std::uint64_t>(out.data());
    std::vector<std::byte> argument(8);
    std::memcpy(argument.data(), &pointer, 8);
    return run(kernels.at("k"), {1, threads, shared, {argument}}, memory, order);
  }
};

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

}  // namespace

TEST_CASE("instructions compute what the PTX ISA says") {
  struct Row {
    const char* code;  // leaves its result in %r1
    std::uint32_t want;
    const char* why;
  };
  const Row rows[] = {
      {"add.s32 %r1, 2147483647, 1;", 0x80000000, "wraps around"},
      {"mad.lo.s32 %r1, 65536, 65537, 5;", 65541, "low half"},
      {"mul.hi.s32 %r1, -3, 1431655766;", 0xfffffffe, "signed high half"},
      {"shr.s32 %r1, -8, 1;", 0xfffffffc, "signs come in"},
      {"shr.u32 %r1, 5, 40;", 0, "beyond the width"},
      {"shl.b32 %r1, 5, 31;", 0x80000000, ""},
      {"dp4a.s32.s32 %r1, 0x01020304, 0x04030201, 3;", 23, "20 and 3; reversed it would be 33"},
      {"dp4a.s32.s32 %r1, -1, 2, 0;", 0xfffffffe, "bytes have signs"},
      {"bfi.b32 %r1, 5, 0, 4, 3;", 0x50, ""},
      {"mov.b16 %h0, 1; mov.b16 %h1, 2; mov.b32 %r1, {%h0, %h1};", 0x20001, "the first is low"},
      {"mov.b32 %r2, 131073; mov.b32 {%h0, %h1}, %r2; cvt.u32.u16 %r1, %h1;", 2, ""},
      {"fma.rn.f32 %r1, 0f3F800001, 0f3F800001, 0fBF800000;", bits(std::fma(1 + 0x1p-23F, 1 + 0x1p-23F, -1.0F)),
       "once rounded"},
      {"mul.rn.f32 %r1, 0f3F000000, 0fC0000000;", bits(-1), ""},
      {"fma.rn.f16x2 %r1, 0x3c003c00, 0x40004000, 0x3c003c00;", 0x42004200, "1 · 2 + 1"},
      {"fma.rn.bf16x2 %r1, 0x3f803f80, 0x40004000, 0x3f803f80;", 0x40404040, "1 · 2 + 1"},
      {"add.f16x2 %r1, 0x3c003c00, 0x10001000;", 0x3c003c00, "half a last place rounds to even"},
      {"cvt.rn.f16.f32 %h0, 0f477FF000; cvt.u32.u16 %r1, %h0;", 0x7c00, "65520 is infinity"},
      {"cvt.rn.f16.f32 %h0, 0f33800000; cvt.u32.u16 %r1, %h0;", 1, "the smallest of all"},
      {"cvt.rn.bf16.f32 %h0, 0f3F808000; cvt.u32.u16 %r1, %h0;", 0x3f80, "a half rounds to even"},
      {"cvt.rn.f16x2.f32 %r1, 0f40000000, 0f3F800000;", 0x40003c00, "the second is low"},
      {"cvt.rzi.s32.f32 %r1, 0fC0200000;", 0xfffffffe, "-2.5"},
      {"ex2.approx.ftz.f32 %r1, 0fBF800000;", bits(0.5F), ""},
      {"setp.lt.s32 %p0, -1, 0; selp.b32 %r1, 7, 8, %p0;", 7, "signed"},
      {"setp.lt.u32 %p0, -1, 0; selp.b32 %r1, 7, 8, %p0;", 8, "unsigned"},
      {"setp.eq.f32 %p0, 0f80000000, 0f00000000; selp.b32 %r1, 7, 8, %p0;", 7, "both zeros"},
      {"mov.pred %p0, -1; not.pred %p1, %p0; selp.b32 %r1, 7, 8, %p1;", 8, ""},
      {"mov.u32 %r1, 1; setp.ne.s32 %p0, %r0, %r0; @!%p0 bra $L; mov.u32 %r1, 2; $L: add.s32 %r1, %r1, 1;", 2, "jumps"},
      {"{ .reg .b32 %r1x; mov.u32 %r1x, 9; mov.u32 %r1, %r1x; } ", 9, "names of a scope"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.code);
    CAPTURE(row.why);
    Program p(std::string(row.code) + " st.global.u32 [%d2], %r1;");
    const Work work = p.go();
    CHECK(p.out[0] == row.want);
    CHECK(p.out[31] == row.want);
    CHECK(work.lanes.at("st.global.u32") == 32);
  }
}

TEST_CASE("halves are fused exactly") {
  __extension__ typedef __int128 Wide;
  // Products of two 11-bit significands plus a third number, against long integer arithmetic.
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t a = random() % 0x7c00, b = random() % 0x7c00, c = random() % 0x7c00 | (random() & 0x8000);
    const auto units = [](std::uint64_t h) {  // in units of 2^-24
      const auto exponent = static_cast<int>(h >> 10 & 31);
      return static_cast<Wide>((h & 1023) | (exponent ? 1024 : 0)) << (exponent ? exponent - 1 : 0);
    };
    const Wide sum = units(a) * units(b) + ((c & 0x8000 ? -units(c) : units(c)) << 24);  // in units of 2^-48
    const Wide size = sum < 0 ? -sum : sum;
    int bits_of = 0;
    while (bits_of < 120 && size >> bits_of != 0) ++bits_of;
    const int drop = std::max(bits_of - 11, 24);  // not below 2^-24
    Wide kept = size >> drop;
    const Wide rest = size - (kept << drop), half = static_cast<Wide>(1) << (drop - 1);
    if (rest > half || (rest == half && (kept & 1))) ++kept;
    const double want = std::ldexp(static_cast<double>(kept), drop - 48);
    const double got = std::abs(decode(fused(a, b, c, kHalf), kHalf));
    REQUIRE((want >= 65520 ? std::isinf(got) : got == want));
  }
}

TEST_CASE("numbers of few bits have the values of their formats") {
  CHECK(decode(0x7e, kE4m3) == 448);
  CHECK(std::isnan(decode(0x7f, kE4m3)));
  CHECK(decode(0x38, kE4m3) == 1);
  CHECK(decode(0x01, kE4m3) == std::ldexp(1, -9));
  const double fp4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (unsigned code = 0; code < 8; ++code) {
    CHECK(decode(code, kE2m1) == fp4[code]);
    CHECK(decode(code | 8, kE2m1) == -fp4[code]);
  }
  for (std::uint32_t h = 0; h < 0x7c00; ++h) REQUIRE(encode(decode(h, kHalf), kHalf) == h);
  CHECK(encode(-0.0, kHalf) == 0x8000);
}

TEST_CASE("lanes go apart and meet again, warps meet at barriers, in any order") {
  for (const Order order : {Order::Forward, Order::Backward, Order::Random}) {
    // Odd lanes loop tid times, then each thread reads what its neighbour in the other warp wrote.
    Program p(
        "mov.u32 %r1, 0; and.b32 %r2, %r0, 1; setp.eq.s32 %p0, %r2, 0; @%p0 bra $M;\n"
        "$L: add.s32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r0; @%p1 bra $L;\n"
        "$M: shl.b32 %r3, %r0, 2; mov.u32 %r4, pool; add.s32 %r5, %r4, %r3; st.shared.u32 [%r5], %r1;\n"
        "bar.sync 0; xor.b32 %r6, %r3, 128; add.s32 %r7, %r4, %r6; ld.shared.u32 %r8, [%r7];\n"
        "st.global.u32 [%d2], %r8;");
    const Work work = p.go(64, 256, order);
    for (unsigned t = 0; t < 64; ++t) CHECK(p.out[t] == ((t ^ 32) % 2 ? (t ^ 32) : 0));
    CHECK(work.shared.stored == 256);
    CHECK(work.shared.load_pieces == 2);
  }
}

TEST_CASE("lanes exchange values and one is elected") {
  Program p(
      "shfl.sync.bfly.b32 %r1, %r0, 4, 31, -1; shfl.sync.idx.b32 %r2|%p0, %r0, 9, 31, -1;\n"
      "elect.sync _|%p1, 0xffffffff; @%p1 add.s32 %r2, %r2, 100; add.s32 %r3, %r1, %r2; st.global.u32 [%d2], %r3;");
  p.go();
  for (unsigned t = 0; t < 32; ++t) CHECK(p.out[t] == (t ^ 4) + 9 + (t == 31 ? 100 : 0));
}

TEST_CASE("banks and sectors are counted as the hardware must serve them") {
  // 16 bytes per lane, `stride` bytes apart: 4 passes per warp without conflicts, 8 at a stride of 32.
  for (const auto& [stride, want] : {std::pair{16, 4}, {32, 8}, {64, 16}}) {
    Program p("mul.lo.s32 %r1, %r0, " + std::to_string(stride) +
              "; mov.u32 %r2, pool; add.s32 %r2, %r2, %r1; st.shared.v4.u32 [%r2], {%r0,%r0,%r0,%r0};");
    CHECK(p.go(32, 4096).shared.store_pieces == static_cast<unsigned>(want));
  }
  Program p("st.global.u32 [%d2], %r0;");
  CHECK(p.go().global.begin()->second.store_pieces == 4);
}

TEST_CASE("a program that does what it must not is stopped") {
  struct Row {
    const char *code, *message;
    unsigned threads = 32;
  };
  const Row rows[] = {
      {"st.global.u32 [%d2], %r5;", "register %r5 is read and was never written"},
      {"setp.eq.s32 %p0, %r0, 3; @%p0 mov.u32 %r5, 1; st.global.u32 [%d2], %r5;", "never written"},
      {"st.global.u32 [%d2+256], %r0;", "not allocated"},
      {"ld.global.u32 %r1, [%d2+-4];", "not allocated"},
      {"ld.global.u32 %r1, [%d2];", "was never written"},
      {"st.global.u32 [%d2+2], %r0;", "not aligned"},
      {"mov.u32 %r1, pool; ld.shared.u32 %r2, [%r1];", "was never written"},
      {"mov.u32 %r1, pool; st.shared.u32 [%r1+4096], %r0;", "outside of shared memory"},
      {"mov.u32 %r1, 0; st.shared.u32 [%r1], %r0;", "outside of shared memory"},
      {"mov.u32 %r1, pool; st.shared.u32 [%r1], %r0;", "with another value and no barrier"},
      {"mov.u32 %r1, pool; st.shared.u32 [%r1], 7; ld.shared.u32 %r2, [%r1];", "no barrier between"},
      {"mov.u32 %r1, pool; shl.b32 %r2, %r0, 2; add.s32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0; bar.sync 0;\n"
       "ld.shared.u32 %r4, [%r1]; st.shared.u32 [%r3], %r4;",
       "another thread reads it", 64},
      {"setp.eq.s32 %p0, %r0, 3; @%p0 bra $L; bar.sync 0; $L: mov.u32 %r1, 0;", "apart"},
      {"setp.eq.s32 %p0, %r0, 3; @%p0 shfl.sync.bfly.b32 %r1, %r0, 4, 31, -1;", "all 32 lanes"},
      {"$L: bra $L;", "does not end"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.code);
    Program p(row.code);
    CHECK_THROWS_WITH_AS(p.go(row.threads), doctest::Contains(row.message), Fault);
  }
}

TEST_CASE("a product of a warp is the product of its matrices, wherever their elements lie") {
  // Row r of A is r + 1 at depth 0 and zero elsewhere, column c of B is c + 1 at depth 0: D = (r + 1) · (c + 1). A lane
  // holds row lane / 4 and the row 8 below, and columns 2 · (lane % 4) and the next.
  for (const bool half : {true, false}) {
    const std::string convert = half ? "cvt.rn.f16.f32 %h0, %f1; mov.b16 %h1, 0; mov.b32 %r3, {%h0, %h1};\n"
                                       "cvt.rn.f16.f32 %h0, %f2; mov.b32 %r4, {%h0, %h1};\n"
                                     : "mov.b32 %r3, %f1; mov.b32 %r4, %f2;\n";
    const std::string name = half ? "m16n8k16.row.col.f32.f16.f16.f32" : "m16n8k8.row.col.f32.tf32.tf32.f32";
    Program p(
        "shr.u32 %r1, %r0, 2; add.s32 %r1, %r1, 1; and.b32 %r2, %r0, 3; setp.eq.s32 %p0, %r2, 0;\n"
        "add.s32 %r5, %r1, 8; cvt.rn.f32.u32 %f1, %r1; cvt.rn.f32.u32 %f2, %r5;\n" +
        convert +
        "selp.b32 %r3, %r3, 0, %p0; selp.b32 %r4, %r4, 0, %p0; mov.u32 %r6, 0; mov.f32 %f3, 0f3F800000;\n"
        "mma.sync.aligned." +
        name +
        " {%f4,%f5,%f6,%f7}, {%r3,%r4,%r6,%r6}, {%r3,%r6}, {%f3,%f3,%f3,%f3};\n"
        "cvt.rzi.s32.f32 %r7, %f5; cvt.rzi.s32.f32 %r8, %f6; st.global.u32 [%d2], %r7; st.global.u32 [%d2+128], %r8;");
    const Work work = p.go();
    for (unsigned lane = 0; lane < 32; ++lane) {
      CHECK(p.out[lane] == 1 + (lane / 4 + 1) * (2 * (lane % 4) + 2));       // row g, column 2t + 1
      CHECK(p.out[32 + lane] == 1 + (lane / 4 + 9) * (2 * (lane % 4) + 1));  // row g + 8, column 2t
    }
    CHECK(work.products.at(half ? "f16" : "tf32") == 16 * 8 * (half ? 16 : 8));
  }
}

TEST_CASE("text that is not known is refused") {
  CHECK_THROWS_WITH_AS(Program("popc.b32 %r1, %r0;"), doctest::Contains("unknown instruction popc.b32"), Fault);
  CHECK_THROWS_WITH_AS(Program("bra $nowhere;"), doctest::Contains("no label"), Fault);
  CHECK_THROWS_WITH_AS(Program("mov.u32 %r1, elsewhere;"), doctest::Contains("no variable"), Fault);
  CHECK_THROWS_WITH_AS(Program("ld.local.u32 %r1, [%d2];"), doctest::Contains("unknown instruction"), Fault);
}
