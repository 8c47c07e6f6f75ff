// The tensor core kernels, executed from their PTX by the tool's own experiments: products against the closed forms of
// its checks, multiply-adds against those credited, and operand tiles that are read where descriptors point, evenly,
// and only after the fences that make them visible.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "bench.h"
#include "cuda/tcgen05_layout.h"
#include "support/sometimes.h"

namespace {

using namespace ptx;

double multiply_adds(const std::vector<Work>& launches) {
  double sum = 0;
  for (const Work& w : launches)
    for (const auto& [format, products] : w.products) sum += static_cast<double>(products);
  return sum;
}

void check_verdict(const ceilings::Experiment& e, Order order) {
  driver().order = order;
  const ceilings::Verdict v = e.verify();
  CHECK_MESSAGE(v.right, v.detail);
  driver().order = Order::Forward;
}

// Checks what a candidate multiplies and stores.
void check_products(Bench& bench, const ceilings::Experiment& e) {
  const ceilings::Candidate& candidate = e.candidates.at(0);
  const auto few = bench.run(candidate, 1), many = bench.run(candidate, 2);
  CHECK(few.clock_hz == doctest::Approx(1.5e9));
  // All multiply-adds are in the loop.
  CHECK(2 * multiply_adds(few.launches) == few.amount);
  CHECK(2 * multiply_adds(many.launches) == many.amount);
  CHECK(many.amount == 2 * few.amount);
  REQUIRE(few.launches.size() == 1);
  const Work& w = few.launches[0];
  CHECK(w.products.size() == 1);
  // Results: each location is written once, and values are finite where the operands are random.
  const Traffic out = sum_of(few.launches, 2);
  const std::uint64_t each = e.ceiling.precision == "float64" ? 8 : 4;
  CHECK(strays(out.stores_of, out.stored / 16, 16 / each) == 0);
  CHECK(32 * out.store_pieces == out.stored);
  CHECK(out.loaded == 0);
  const std::string accumulate = e.ceiling.accumulate;
  std::size_t zeros = 0, infinite = 0;
  const std::size_t results = out.stored / each;
  for (std::size_t i = 0; i < results; ++i) {
    double x = 0;
    if (each == 8) {
      std::memcpy(&x, reinterpret_cast<const double*>(w.arguments[2]) + i, 8);
    } else {
      std::uint32_t word = 0;
      std::memcpy(&word, reinterpret_cast<const std::uint32_t*>(w.arguments[2]) + i, 4);
      x = accumulate == "int32" ? static_cast<double>(static_cast<std::int32_t>(word))
                                : static_cast<double>(std::bit_cast<float>(word));
    }
    zeros += x == 0;
    infinite += !std::isfinite(x);
  }
  CHECK(infinite == 0);
  if (e.ceiling.mode == pagoda::documents::CeilingMode::Issue)
    CHECK(zeros == results);
  else
    CHECK(zeros < results / 100);
  // A warpgroup's tiles: each row of A is read by its warp, four times per trip; B by all eight warps.
  if (candidate.name.starts_with("wgmma")) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 6144; ++i) wrong += w.operands[i] != (i < 2048 ? 4 : 32) * w.blocks;
    CHECK(wrong == 0);
  }
  // One block's tiles begin where the launch's shared memory does: every byte is an operand four times per trip.
  if (e.ceiling.id.find("tcgen05") != std::string::npos && e.ceiling.id.find("pair") == std::string::npos) {
    const std::size_t first = w.operands.size() - tcgen05::kShared / 16;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < tcgen05::kBytes / 16; ++i) wrong += w.operands[first + i] != 4 * w.blocks;
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("products of warps and warpgroups are right, as many as are credited, from operands that are visible") {
  if (capabilities("tensor").empty()) std::exit(77);
  pagoda::test::Sometimes is_listed("an architecture of the list");
  for (const int capability : capabilities("tensor")) {
    CAPTURE(capability);
    Bench bench(capability, {"tensor"}, {"mma"});
    int seen = 0;
    for (const ceilings::Experiment& e : bench.runs->experiments()) {
      CAPTURE(e.ceiling.id);
      if (e.ceiling.mode == pagoda::documents::CeilingMode::Issue)
        for (const Order order : {Order::Forward, Order::Random}) check_verdict(e, order);
      check_products(bench, e);
      ++seen;
    }
    // mma.sync with float16 (75), bfloat16, tf32, int8, float64 (80, 90, 100), fp8 (89, 120); five of wgmma.
    const std::map<int, int> kernels = {{75, 1}, {80, 5}, {89, 5}, {90, 10}, {100, 5}, {103, 4}, {120, 5}};
    if (is_listed(kernels.count(capability))) CHECK(seen == 2 * kernels.at(capability));
  }
}

TEST_CASE("tcgen05's products are right, as many as are credited, and waited for") {
  for (const int capability : capabilities("tcgen05")) {
    CAPTURE(capability);
    Bench bench(capability, {"tcgen05"}, {"tcgen05"});
    int seen = 0;
    for (const ceilings::Experiment& e : bench.runs->experiments()) {
      CAPTURE(e.ceiling.id);
      if (e.ceiling.mode == pagoda::documents::CeilingMode::Issue) check_verdict(e, Order::Random);
      check_products(bench, e);
      ++seen;
    }
    // Eight formats from one block and from a pair; 10.3 has no int8, but two longer products.
    CHECK(seen == 2 * 16);
  }
}

TEST_CASE("a tensor kernel that is not quite right is found") {
  struct Row {
    const char *id, *kernel, *from, *to;
    int nth;
    const char *message, *why;
  };
  const Row rows[] = {
      {"float16.mma", "mma_f16", "mma.sync", "//", 33, "must be", "a product is missing"},
      {"float16.wgmma", "wgmma_f16", "{ .reg .pred p; setp", "// ", 9, "must be", "a product is missing"},
      {"int8.wgmma", "wgmma_i8", "fence.proxy.async", "//", 0, "no proxy fence", "tiles are not made visible"},
      {"bfloat16.wgmma", "wgmma_bf16", "bar.sync", "//", 0, "no barrier", "tiles of other threads"},
      {"bfloat16.wgmma", "wgmma_bf16", "wgmma.fence", "//", 0, "after the last wgmma.fence",
       "accumulators not handed over"},
      {"float8.wgmma", "wgmma_fp8", "wgmma.wait_group", "//", 0, "before what writes it was waited for",
       "results not waited for"},
      {"float8.wgmma", "wgmma_fp8", "wgmma.commit_group", "//", 0, "before what writes it was waited for",
       "nothing to wait for"},
      {"tf32.wgmma", "wgmma_tf32", "4611686293305360384", "9223372311732748288", 0, "128-byte swizzle",
       "another swizzle"},
      {"tf32.wgmma", "wgmma_tf32", "4611686293305360384", "4611686568183267328", 3, "must be",
       "groups of rows too far apart"},
      {"bfloat16.wgmma", "wgmma_bf16", ", 261152;", ", 261120;", 0, "must be", "a product reads another's depth"},
      {"bfloat16.tcgen05", "tcgen05_bf16", "{ .reg .pred p; setp", "// ", 9, "must be", "a product is missing"},
      {"float8.tcgen05.pair", "tcgen05_pair_fp8", "{ .reg .pred p; setp", "// ", 31, "must be", "a product is missing"},
      {"float16.tcgen05", "tcgen05_f16", "fence.proxy.async", "//", 0, "no proxy fence", "tiles are not made visible"},
      {"float16.tcgen05", "tcgen05_f16", "@!done bra again;", "", 1, "before their products were waited for",
       "the end is not waited for"},
      {"tf32.tcgen05", "tcgen05_tf32", "tcgen05.wait::ld", "//", 0, "before what writes it was waited for",
       "loads are not waited for"},
      {"tf32.tcgen05", "tcgen05_tf32", "tcgen05.fence::after_thread_sync", "//", 2, "after_thread_sync",
       "results are not ordered after the barrier"},
      {"tf32.tcgen05", "tcgen05_tf32", "tcgen05.dealloc", "//", 0, "holds tensor memory", "nothing is given back"},
      {"float4.tcgen05.nv", "tcgen05_nvfp4", "tcgen05.wait::st", "//", 0, "scales that were not stored",
       "scales are not waited for"},
      {"float4.tcgen05.mx", "tcgen05_mxfp4", "tcgen05.fence::before_thread_sync", "//", 1,
       "scales that were not stored", "scales are not handed over"},
      {"float8.tcgen05.mx", "tcgen05_mxfp8", "setp.ne.b32 p, ", "setp.eq.b32 p, ", 0, "nothing wrote",
       "the first product adds"},
      {"float16.tcgen05.pair", "tcgen05_pair_f16", "barrier.cluster.arrive", "//", 0, "did not arrive",
       "the pair does not meet"},
  };
  for (const int capability : {80, 90, 100})
    for (const Row& row : rows) {
      const std::string source = std::string(row.kernel).starts_with("tcgen05") ? "tcgen05" : "tensor";
      if (text_of(source, capability).find(std::string("entry ") + row.kernel + "(") == std::string::npos) continue;
      CAPTURE(row.why);
      const std::string said = said_of(capability, source, row.id,
                                       [&](std::string& t) { change(t, row.kernel, row.from, row.to, row.nth); });
      CAPTURE(said);
      CHECK(said.find(row.message) != std::string::npos);
    }
}

TEST_CASE("the sparse product of the GPU scripts is what they expect of it") {
  std::ifstream file(PAGODA_SPARSE_PTX);
  std::ostringstream text;
  text << file.rdbuf();
  if (text.str().empty()) return;
  for (const bool altered : {false, true}) {
    std::string code = text.str();
    if (altered) code.replace(code.find("1145324612"), 10, "1145324613");  // 0x44444444, with one chunk changed
    const auto kernels = parse(code);
    std::array<float, 32> out{};
    Memory memory;
    memory.add(reinterpret_cast<std::uint64_t>(out.data()), sizeof out);
    const auto pointer = reinterpret_cast<std::uint64_t>(out.data());
    std::vector<std::byte> argument(8);
    std::memcpy(argument.data(), &pointer, 8);
    const Launch launch{1, 32, 0, {argument}};
    if (altered) {
      CHECK_THROWS_WITH_AS(run(kernels.begin()->second, launch, memory, Order::Forward), doctest::Contains("metadata"),
                           Fault);
      continue;
    }
    const Work work = run(kernels.begin()->second, launch, memory, Order::Forward);
    for (const float x : out) CHECK(x == 64);
    CHECK(work.products.at("f16") == 16 * 8 * 16);
  }
}
