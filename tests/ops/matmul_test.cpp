// Matrix products: numpy's rank rules, work against loops that count products, determinants.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kMatMul[] = {
    // graph, types, cost, why
    {"a:f32[N,197,768], b:f32[768,3072]=const -> y = MatMul(a, b)", "y:f32[N,197,3072]", "macs=464781312*N arith=0 params=2359296", "a linear layer"},
    {"a:f32[B,H,S,D], b:f32[B,H,D,S] -> y = MatMul(a, b)", "y:f32[B,H,S,S]", "macs=B*H*S*S*D read=8*B*H*S*D written=4*B*H*S*S", "scores"},
    {"a:f32[2,1,8,16], b:f32[1,3,16,4] -> y = MatMul(a, b)", "y:f32[2,3,8,4]", "macs=3072", "both batches broadcast"},
    {"a:f32[3], b:f32[3] -> y = MatMul(a, b)", "y:f32[]", "macs=3", "an inner product"},
    {"a:f32[3], b:f32[5,3,4] -> y = MatMul(a, b)", "y:f32[5,4]", "macs=60", "a row vector"},
    {"a:f32[5,2,3], b:f32[3] -> y = MatMul(a, b)", "y:f32[5,2]", "macs=30", "a column vector"},
    {"a:f32[2,K], b:f32[3,4] -> y = MatMul(a, b)", "y:f32[2,4]", "macs=24", "K has to be 3"},
    {"a:f16[4,4] -> y = MatMul(a, a)", "y:f16[4,4]", "macs=64 read=32 precision=float16", "one tensor is read once"},
    {"a:f32[2,3], b:f32[4,5] -> y = MatMul(a, b)", "error: inner dims: 3 and 4", "", "3 is not 4"},
    {"a:f32[2,2,3], b:f32[3,3,4] -> y = MatMul(a, b)", "error: do not broadcast", "", "batches"},
    {"a:f32[], b:f32[3] -> y = MatMul(a, b)", "error: an operand is a scalar", "", ""},
    {"a:f32, b:f32[3,4] -> y = MatMul(a, b)", "y:f32", "mark=unmodelled", "unknown rank"},
    {"a:f32[0,3], b:f32[3,4] -> y = MatMul(a, b)", "y:f32[0,4]", "macs=0", "no rows"},
};

constexpr OpCase kInteger[] = {
    {"a:u8[N,64], b:i8[64,32]=const -> y = MatMulInteger(a, b)", "y:i32[N,32]", "macs=2048*N arith=0 read=64*N+2048 written=128*N precision=int8", "32-bit sums"},
    {"a:u8[N,64], b:i8[64,32]=const, za:u8[]=const, zb:i8[]=const -> y = MatMulInteger(a, b, za, zb)", "y:i32[N,32]", "macs=2048*N arith=64*N+2048", "zero points are subtracted"},
    {"a:u8[N,64], b:i8[32,32] -> y = MatMulInteger(a, b)", "error: inner dims", "", "64 is not 32"},
    {"a:u8[N,64], sa:f32[]=const, za:u8[]=const, b:i8[64,32]=const, sb:f32[]=const, zb:i8[]=const, sy:f32[]=const, zy:u8[]=const -> y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy)",
     "y:u8[N,32]", "macs=2048*N arith=64*N+2048+2+160*N comparisons=96*N precision=int8", "then requantised"},
    {"a:u8[N,64], s:f32[]=const, z:u8[]=const, b:u8[32,32]=const -> y = QLinearMatMul(a, s, z, b, s, z, s, z)", "error: inner dims", "", "64 is not 32"},
};

constexpr OpCase kGemm[] = {
    {"a:f32[N,2048], b:f32[1000,2048]=const, c:f32[1000]=const -> y = Gemm(a, b, c) {transB=1}", "y:f32[N,1000]", "macs=2048000*N arith=1000*N params=2049000", "as torch exports Linear"},
    {"a:f32[K,3], b:f32[K,4] -> y = Gemm(a, b) {transA=1}", "y:f32[3,4]", "macs=12*K arith=0", "transposed A, no C"},
    {"a:f32[2,3], b:f32[3,4], c:f32[1,4] -> y = Gemm(a, b, c) {alpha=0.5, beta=2.0}", "y:f32[2,4]", "macs=24 arith=20", "8 scaled, 8 added, 4 of C scaled"},
    {"a:f32[2,3], b:f32[3,4], c:f32[1,4] -> y = Gemm(a, b, c) {beta=0.0}", "y:f32[2,4]", "arith=0 read=72", "C is left out"},
    {"a:f32[2,3], b:f32[3,4], c:f32[] -> y = Gemm(a, b, c)", "y:f32[2,4]", "arith=8", "C is a scalar"},
    {"opset=6: a:f32[2,3], b:f32[3,4], c:f32[4] -> y = Gemm(a, b, c) {broadcast=1}", "y:f32[2,4]", "arith=8", "the old attribute"},
    {"opset=9: a:f32[2,3], b:f32[3,4] -> y = Gemm(a, b)", "error: input 2 is missing", "", "C was mandatory"},
    {"a:f32[2,3], b:f32[4,5] -> y = Gemm(a, b)", "error: inner dims", "", "3 is not 4"},
    {"a:f32[2,3], b:f32[3,4], c:f32[3] -> y = Gemm(a, b, c)", "error: dims of C", "", "3 is not 4"},
    {"a:f32[2,3,4], b:f32[4,5] -> y = Gemm(a, b)", "error: ranks 3 and 2", "", "matrices only"},
};

constexpr OpCase kDet[] = {
    {"x:f32[N,3,3] -> y = Det(x)", "y:f32[N]", "arith=18*N comparisons=3*N read=36*N written=4*N", "3 comparisons, 3 div, 5 mul, 5 sub, 2 mul"},
    {"x:f32[4,4] -> y = Det(x)", "y:f32[]", "arith=43 comparisons=6", "a matrix"},
    {"x:f32[1,1] -> y = Det(x)", "y:f32[]", "arith=0", "itself"},
    {"x:f32[3,4] -> y = Det(x)", "error: rows and columns", "", "not square"},
    {"x:f32[3] -> y = Det(x)", "error: rank 1", "", "not a matrix"},
};
// clang-format on

TEST_CASE("MatMul follows numpy's rules for ranks") { check_cases(kMatMul); }
TEST_CASE("integer products count their zero points") { check_cases(kInteger); }
TEST_CASE("Gemm counts scales and bias where they are") { check_cases(kGemm); }
TEST_CASE("Det is an LU decomposition") { check_cases(kDet); }

// A product written as loops over numpy's broadcast batches; each innermost step is one multiply-accumulate.
std::int64_t counted_macs(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  std::int64_t count = 0;
  std::int64_t batches = 1;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) - 2; ++i) {
    const std::int64_t x = i + 2 < a.size() ? a[a.size() - 3 - i] : 1;
    const std::int64_t y = i + 2 < b.size() ? b[b.size() - 3 - i] : 1;
    batches *= x == 1 ? y : x;
  }
  for (std::int64_t batch = 0; batch < batches; ++batch)
    for (std::int64_t row = 0; row < a[a.size() - 2]; ++row)
      for (std::int64_t column = 0; column < b.back(); ++column)
        for (std::int64_t k = 0; k < a.back(); ++k) ++count;
  return count;
}

std::string listed(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : ",") + std::to_string(size);
  return "[" + text + "]";
}

TEST_CASE("MatMul costs the products that loops count, for all pairs of ranks") {
  const std::array<std::vector<std::int64_t>, 5> lefts = {{{4}, {3, 4}, {2, 3, 4}, {5, 1, 3, 4}, {5, 2, 1, 4}}};
  const std::array<std::vector<std::int64_t>, 5> rights = {{{4}, {4, 6}, {2, 4, 6}, {1, 2, 4, 6}, {5, 1, 4, 1}}};
  for (const auto& a : lefts)
    for (const auto& b : rights) {
      const std::string text = "a:f32" + listed(a) + ", b:f32" + listed(b) + " -> y = MatMul(a, b)";
      INFO(text);
      CHECK(analyze(graph(text)).totals.cost.macs == Dim(counted_macs(a, b)));
    }
}

// Gaussian elimination with partial pivoting, counting instead of computing.
struct Elimination {
  std::int64_t arith = 0, comparisons = 0;
};
Elimination counted_elimination(std::int64_t n) {
  Elimination count;
  for (std::int64_t k = 0; k + 1 < n; ++k) {
    for (std::int64_t i = k + 1; i < n; ++i) ++count.comparisons;  // the largest of the column
    for (std::int64_t i = k + 1; i < n; ++i) {
      ++count.arith;                                              // factor = a[i][k] / a[k][k]
      for (std::int64_t j = k + 1; j < n; ++j) count.arith += 2;  // a[i][j] -= factor · a[k][j]
    }
  }
  for (std::int64_t i = 1; i < n; ++i) ++count.arith;  // the product of the diagonal
  count.arith += count.comparisons;
  return count;
}

TEST_CASE("Det costs the operations that elimination counts") {
  for (std::int64_t n = 1; n < 9; ++n) {
    const std::string text = "x:f32[" + std::to_string(n) + "," + std::to_string(n) + "] -> y = Det(x)";
    const OpCost cost = analyze(graph(text)).totals.cost;
    CHECK(cost.arith == Dim(counted_elimination(n).arith));
    CHECK(cost.comparisons == Dim(counted_elimination(n).comparisons));
  }
}

}  // namespace
}  // namespace pagoda::test
