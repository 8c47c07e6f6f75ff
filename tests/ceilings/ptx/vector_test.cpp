// The CUDA core kernels, executed from their PTX by the tool's own experiments: results against the closed forms of its
// checks, and executed operations against those credited, exactly.
#include <doctest/doctest.h>

#include <cmath>

#include "bench.h"

namespace {

using namespace ptx;

// Operations per lane of each kernel's instruction.
const std::map<std::string, std::pair<std::string, double>> kWorth = {
    {"fma_f32", {"fma.rn.f32", 2}},
    {"add_f32", {"add.rn.f32", 1}},
    {"mul_f32", {"mul.rn.f32", 1}},
    {"fma_f64", {"fma.rn.f64", 2}},
    {"add_f64", {"add.rn.f64", 1}},
    {"fma_f16", {"fma.rn.f16x2", 4}},
    {"add_f16", {"add.f16x2", 2}},
    {"fma_bf16", {"fma.rn.bf16x2", 4}},
    {"imad_i32", {"mad.lo.s32", 2}},
    {"dp4a_i8", {"dp4a.s32.s32", 8}},
    {"special_f32", {"ex2.approx.ftz.f32", 1}},
};

// Other instructions that a trip may execute: the loop's counter, test and jump, copies, and sign changes,
// which are an operand bit in machine code.
bool is_overhead(const std::string& mnemonic) {
  for (const char* prefix : {"add.s32", "setp.", "bra", "mov.", "ld.param.", "neg.f", "cvta."})
    if (mnemonic.starts_with(prefix)) return true;
  return false;
}

}  // namespace

TEST_CASE("arithmetic kernels do the operations that are credited, no fewer and no more") {
  if (capabilities("vector").empty()) std::exit(77);
  for (const int capability : capabilities("vector")) {
    CAPTURE(capability);
    Bench bench(capability, {"vector"}, {"cuda"});
    int seen = 0;
    for (ceilings::Experiment& e : bench.runs->experiments()) {
      CAPTURE(e.ceiling.id);
      if (e.ceiling.mode == pagoda::documents::CeilingMode::Issue)
        for (const Order order : {Order::Forward, Order::Random}) {
          driver().order = order;
          const ceilings::Verdict v = e.verify();
          CHECK_MESSAGE(v.right, v.detail);
        }
      driver().order = Order::Forward;
      // Both modes run the same code on different operands; all occupancies are equivalent here.
      const ceilings::Candidate& candidate =
          e.candidates.at(e.ceiling.mode == pagoda::documents::CeilingMode::Issue ? 0 : 1);
      const auto few = bench.run(candidate, 1), many = bench.run(candidate, 2);
      CHECK(many.amount == 2 * few.amount);
      CHECK(few.clock_hz == doctest::Approx(1.5e9));
      const auto& [instruction, worth] = kWorth.at(candidate.name);
      const auto executed = more(few.launches, many.launches);
      double threads = 0, overhead = 0;
      for (const Work& w : few.launches) threads += w.blocks * w.threads;
      for (const auto& entry : executed) {
        const std::string& name = entry.first;
        CAPTURE(name);
        if (name == instruction) continue;
        CHECK(is_overhead(name));
        if (!name.starts_with("neg.")) overhead += entry.second;
      }
      CHECK(executed.at(instruction) * worth == few.amount);
      CHECK(overhead <= 16 * threads);
      ++seen;
    }
    CHECK(seen == (capability >= 80 ? 22 : 20));
  }
}

TEST_CASE("a kernel of other arithmetic is found by the tool's own checks") {
  struct Row {
    const char *id, *kernel, *from, *to;
    int nth;
  };
  const Row rows[] = {
      {"float32.cuda.mul", "mul_f32", "mul.rn.f32", "add.rn.f32", 200},
      {"float32.cuda.fma", "fma_f32", "fma.rn.f32", "//", 511},
      {"float64.cuda.fma", "fma_f64", "st.global.f64", "//", 3},
      {"float64.cuda.add", "add_f64", "add.rn.f64", "//", 40},
      {"int32.cuda.fma", "imad_i32", "mad.lo.s32", "mad.hi.s32", 17},
      {"special", "special_f32", "neg.f32", "mov.f32", 127},
  };
  for (const int capability : capabilities("vector"))
    for (const Row& row : rows) {
      CAPTURE(row.kernel);
      CHECK(said_of(capability, "vector", row.id, {}) == "");
      CHECK(said_of(capability, "vector", row.id,
                    [&](std::string& t) { change(t, row.kernel, row.from, row.to, row.nth); }) != "");
    }
}

TEST_CASE("instructions that are missing and change no result are missed in the count") {
  if (capabilities("vector").empty()) return;
  // Two steps x = b - x of a chain cancel each other: with two sign changes instead
  // of two sums, the result is the same.
  Bench bench(capabilities("vector").back(), {"vector"}, {"float32.cuda.add"}, [](std::string& text) {
    for (const int nth : {80, 87}) {
      std::size_t at = text.find("entry add_f32(");
      for (int i = 0; i <= nth; ++i) at = text.find("add.rn.f32", at + 1);
      const std::size_t end = text.find(';', at), first = text.find(',', at), second = text.find(',', first + 1);
      const std::string to = text.substr(at + 10, first - at - 10), from = text.substr(second + 1, end - second - 1);
      text.replace(at, end - at, "neg.f32 " + to + ", " + from);
    }
  });
  auto list = bench.runs->experiments();
  CHECK(list.at(0).verify().right);
  const auto few = bench.run(list.at(0).candidates[0], 1), many = bench.run(list.at(0).candidates[0], 2);
  CHECK(more(few.launches, many.launches).at("add.rn.f32") == few.amount * 510 / 512);
}
