// Einsum: equations of every form, and the cheapest order against an exhaustive search.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kEquations[] = {
    // graph, types, cost, why
    {"a:f32[M,K], b:f32[K,8] -> y = Einsum(a, b) {equation='ij,jk->ik'}", "y:f32[M,8]", "macs=8*M*K arith=0 read=4*M*K+32*K written=32*M", "a matrix product"},
    {"a:f32[B,H,S,64], b:f32[B,H,T,64] -> y = Einsum(a, b) {equation='bhsd,bhtd->bhst'}", "y:f32[B,H,S,T]", "macs=64*B*H*S*T", "scores"},
    {"a:f32[5,2,3], b:f32[2,5] -> y = Einsum(a, b) {equation='bij , jb'}", "error: dims", "", "3 is not 2"},
    {"a:f32[5,2,3], b:f32[3,4] -> y = Einsum(a, b) {equation='bij , jk'}", "y:f32[5,2,4]", "macs=120", "implicit output, spaces"},
    {"a:f32[2,3], b:f32[4,2] -> y = Einsum(a, b) {equation='iB,Ai'}", "y:f32[4,3]", "macs=24", "capitals sort first"},
    {"a:f32[3,4] -> y = Einsum(a) {equation='ij->ji'}", "y:f32[4,3]", "macs=0 arith=0 read=48 written=48", "a transpose"},
    {"a:f32[3,4] -> y = Einsum(a) {equation='ij->i'}", "y:f32[3]", "macs=0 arith=9", "a sum"},
    {"a:f32[N,4,4] -> y = Einsum(a) {equation='bii->bi'}", "y:f32[N,4]", "macs=0 arith=0", "a diagonal"},
    {"a:f32[4,4] -> y = Einsum(a) {equation='ii'}", "y:f32[]", "arith=3", "a trace"},
    {"a:f32[N,4], b:f32[N,4] -> y = Einsum(a, b) {equation='bi,bi->bi'}", "y:f32[N,4]", "macs=0 arith=4*N", "a product of elements"},
    {"a:f32[3], b:f32[4] -> y = Einsum(a, b) {equation='i,j->ij'}", "y:f32[3,4]", "macs=0 arith=12", "an outer product"},
    {"a:f32[3], b:f32[3] -> y = Einsum(a, b) {equation='i,i->'}", "y:f32[]", "macs=3 arith=0", "an inner product"},
    {"a:f32[N,7,2,3], b:f32[7,3,4] -> y = Einsum(a, b) {equation='...ij,...jk->...ik'}", "y:f32[N,7,2,4]", "macs=168*N", "ellipses broadcast"},
    {"a:f32[N,2,3], b:f32[3] -> y = Einsum(a, b) {equation='...i,i'}", "y:f32[N,2]", "macs=6*N", "an implicit ellipsis"},
    {"a:f32[N,2,3] -> y = Einsum(a) {equation='b...->...b'}", "y:f32[2,3,N]", "arith=0", "an ellipsis moved"},
    {"a:f32[8,16], b:f32[16,32], c:f32[32,4] -> y = Einsum(a, b, c) {equation='ij,jk,kl->il'}", "y:f32[8,4]", "macs=2560 arith=0", "right to left: 2048 + 512"},
    {"a:f32[1,3], b:f32[2,4] -> y = Einsum(a, b) {equation='bi,bj->bij'}", "y:f32[2,3,4]", "arith=24", "an axis of 1 is stretched"},
    {"a:f32[N,5], b:f32[5,6] -> y = Einsum(a, b) {equation='ij,jk->k'}", "y:f32[6]", "arith=5*N-5 macs=30", "what is in one operand alone is summed first"},
    {"a:f32[2,2] -> y = Einsum(a)", "error: attribute equation is missing", "", ""},
    {"a:f32[2,2] -> y = Einsum(a) {equation='ijk->i'}", "error: does not describe an operand of rank 2", "", ""},
    {"a:f32[2,2] -> y = Einsum(a) {equation='ij,jk->i'}", "error: does not describe 1 operands", "", ""},
    {"a:f32[2,2] -> y = Einsum(a) {equation='ij->ik'}", "error: is in no operand", "", ""},
    {"a:f32[2,2] -> y = Einsum(a) {equation='ij->ii'}", "error: repeats a label", "", ""},
    {"a:f32[2,2] -> y = Einsum(a) {equation='i1->i'}", "error: the character '1'", "", ""},
    {"a:f32[2,2] -> y = Einsum(a) {equation='i..->i'}", "error: an ellipsis is three dots", "", ""},
    {"a:f32[2,3], b:f32[4,5] -> y = Einsum(a, b) {equation='ij,jk->ik'}", "error: dims 3 and 4", "", ""},
    {"a:f32, b:f32[4,5] -> y = Einsum(a, b) {equation='ij,jk->ik'}", "error: rank of input 0", "", ""},
};
// clang-format on

TEST_CASE("equations of every form have types and work") { check_cases(kEquations); }

// Exhaustive search over the orders in which terms can be contracted in pairs, with sets of letters.
struct Search {
  std::array<std::int64_t, 26> sizes;
  std::set<char> output;

  std::int64_t volume(const std::set<char>& labels) const {
    std::int64_t product = 1;
    for (const char label : labels) product *= sizes[static_cast<std::size_t>(label - 'a')];
    return product;
  }
  // Drops the labels that only terms[i] has, and counts the additions.
  std::int64_t reduce(std::vector<std::set<char>>& terms, std::size_t i) const {
    std::set<char> kept;
    for (const char label : terms[i]) {
      bool needed = output.contains(label);
      for (std::size_t j = 0; j < terms.size(); ++j) needed = needed || (j != i && terms[j].contains(label));
      if (needed) kept.insert(label);
    }
    const std::int64_t additions = volume(terms[i]) - volume(kept);
    terms[i] = kept;
    return additions;
  }
  std::int64_t cheapest(const std::vector<std::set<char>>& terms) const {
    if (terms.size() == 1) return 0;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < terms.size(); ++i)
      for (std::size_t j = i + 1; j < terms.size(); ++j) {
        std::vector<std::set<char>> rest = terms;
        std::set<char> joined = terms[i];
        joined.insert(terms[j].begin(), terms[j].end());
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(j));
        rest[i] = joined;
        const bool contracts = reduce(rest, i) != 0 || rest[i] != joined;
        best = std::min(best, (contracts ? 2 : 1) * volume(joined) + cheapest(rest));
      }
    return best;
  }
  std::int64_t total(std::vector<std::set<char>> terms) const {
    std::int64_t additions = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) additions += reduce(terms, i);
    return additions + cheapest(terms);
  }
};

TEST_CASE("the order of contractions is the cheapest of all") {
  const std::array<std::string_view, 10> equations = {
      "ab,bc,cd->ad", "ab,bc,cd,de->ae",     "abc,cd,bde,ef->af", "ab,bc,ca->",      "abc,abd,ae->cde",
      "ab,ac,ad->a",  "abcd,be,cf,dg->aefg", "a,b,c,d->abcd",     "ab,cb,cd,ed->ae", "abc,cde,efa->bdf"};
  std::uint32_t state = 12345;  // a linear congruential generator: the same sizes on every machine
  for (const std::string_view equation : equations)
    for (int round = 0; round < 8; ++round) {
      Search search{};
      for (std::int64_t& size : search.sizes) {
        state = state * 1664525u + 1013904223u;
        size = 2 + (state >> 24) % 7;
      }
      const std::size_t arrow = equation.find("->");
      search.output = {equation.begin() + static_cast<std::ptrdiff_t>(arrow) + 2, equation.end()};
      std::vector<std::set<char>> terms(1);
      std::string inputs = "t0:f32[", names = "t0";
      for (const char c : equation.substr(0, arrow)) {
        if (c == ',') {
          const std::string name = "t" + std::to_string(terms.size());
          terms.emplace_back();
          inputs += "], " + name + ":f32[";
          names += ", " + name;
          continue;
        }
        if (inputs.back() != '[') inputs += ",";
        inputs += std::to_string(search.sizes[static_cast<std::size_t>(c - 'a')]);
        terms.back().insert(c);
      }
      const std::string text = inputs + "] -> y = Einsum(" + names + ") {equation='" + std::string(equation) + "'}";
      INFO(text);
      const OpCost cost = analyze(graph(text)).totals.cost;
      CHECK(2 * cost.macs + cost.arith == Dim(search.total(terms)));
    }
}

TEST_CASE("the cheapest order of three operands holds at all sizes, also where products and sums are mixed") {
  const auto text = [](const std::string& d, const std::string& e) {
    return "a:f32[2,4," + d + "], b:f32[2], c:f32[4," + e + "," + d +
           "] -> y = Einsum(a, b, c) {equation='aed,a,ebd->db'}";
  };
  const Analysis open = analyze(graph(text("D", "E")));
  for (const std::int64_t d : {1, 2, 3, 50})
    for (const std::int64_t e : {1, 2, 3, 50}) {
      const OpCost fixed = analyze(graph(text(std::to_string(d), std::to_string(e)))).totals.cost;
      const OpCost bound = open.totals.cost.bind({{"D", d}, {"E", e}});
      CAPTURE(d);
      CAPTURE(e);
      CHECK(2 * bound.macs + bound.arith == 2 * fixed.macs + fixed.arith);
    }
}

TEST_CASE("an equation of many operands is ordered greedily and still counted") {
  std::string inputs, names, equation;
  for (char c = 'a'; c < 'k'; ++c) {  // a chain of ten matrices
    const std::string name = std::string("t") + c;
    inputs += (inputs.empty() ? "" : ", ") + name + ":f32[2,2]";
    names += (names.empty() ? "" : ", ") + name;
    equation += (equation.empty() ? "" : ",") + std::string(1, c) + std::string(1, static_cast<char>(c + 1));
  }
  const std::string text = inputs + " -> y = Einsum(" + names + ") {equation='" + equation + "->ak'}";
  CHECK(analyze(graph(text)).totals.cost.macs == Dim(9 * 8));
}

}  // namespace
}  // namespace pagoda::test
