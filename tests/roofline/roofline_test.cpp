// Time bounds of rows and models: against hand calculation, and by properties that hold for all of them.
#include "pagoda/core/roofline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "pagoda/documents/device.h"
#include "support/text_graph.h"

using namespace pagoda;
using doctest::Approx;

namespace {

Roofline bound_of(const char* graph, const DeviceSpec& spec, const RooflineOptions& options = {}) {
  return roofline(analyze(test::graph(graph)), spec, options);
}

Roofline bound_in(Precision precision, const char* graph, const DeviceSpec& spec) {
  return roofline(analyze(test::graph(graph), {.precision = precision}), spec);
}

// Round numbers: 100 TFLOP/s float32, 800 TFLOP/s float16 on tensor units, 1 TB/s, 4 TB/s from L2, 1 µs per launch.
DeviceSpec round_device(const std::string& extra = "") {
  return documents::parse_device(R"({"schema": "pagoda.device/1", "id": "round", "name": "Round", "kind": "gpu",
    "launch_overhead": {"value": 1e-6, "unit": "s", "source": "test"},
    "special_per_second": {"value": 10e12, "unit": "1/s", "source": "test"},
    "peaks": [
      {"precision": "float32", "unit": "vector", "flops_per_second": {"value": 100e12, "unit": "FLOP/s", "source": "test"}},
      {"precision": "tf32", "unit": "tensor", "flops_per_second": {"value": 400e12, "unit": "FLOP/s", "source": "test"}},
      {"precision": "float16", "unit": "tensor", "accumulate": "float16", "flops_per_second": {"value": 800e12, "unit": "FLOP/s", "source": "test"}},
      {"precision": "float16", "unit": "tensor", "accumulate": "float32", "flops_per_second": {"value": 200e12, "unit": "FLOP/s", "source": "test"}}],
    "levels": [
      {"level": "dram", "bytes_per_second": {"value": 1e12, "unit": "B/s", "source": "test"}},
      {"level": "l2", "bytes_per_second": {"value": 4e12, "unit": "B/s", "source": "test"}},
      {"level": "shared", "bytes_per_second": {"value": 0.5e12, "unit": "B/s", "source": "test"}}])" +
                                     extra + "}",
                                 "round");
}

constexpr const char* kMatMul = "a:f32[4096,4096], b:f32[4096,4096] -> y = MatMul(a, b)";
constexpr double kMatMulFlops = 2.0 * 4096 * 4096 * 4096, kMatMulBytes = 3.0 * 4 * 4096 * 4096;

}  // namespace

TEST_CASE("a contraction takes the longer of work over peak and bytes over bandwidth") {
  const Roofline result = bound_of(kMatMul, round_device());
  REQUIRE(result.rows.size() == 1);
  const RowBound& row = result.rows[0];
  CHECK(row.compute_seconds == Approx(kMatMulFlops / 100e12));
  CHECK(row.memory_seconds == Approx(kMatMulBytes / 1e12));
  CHECK(row.seconds == row.compute_seconds);
  CHECK(row.bound == Bound::Compute);
  CHECK(row.level == "dram");
  CHECK(row.flops == kMatMulFlops);
  CHECK(row.bytes == kMatMulBytes);
  CHECK(*row.intensity == Approx(kMatMulFlops / kMatMulBytes));
  CHECK(row.share == 1);
  CHECK(*row.headroom == Approx(row.compute_seconds / row.memory_seconds));
  CHECK(row.precision == Precision::Float32);
  CHECK(row.unit == Unit::Vector);
}

TEST_CASE("float32 contractions use TF32 only when it is asked for") {
  CHECK(bound_of(kMatMul, round_device()).rows[0].compute_seconds == Approx(kMatMulFlops / 100e12));
  const RowBound tf32 = bound_in(Precision::Tf32, kMatMul, round_device()).rows[0];
  CHECK(tf32.compute_seconds == Approx(kMatMulFlops / 400e12));
  CHECK(tf32.bytes == kMatMulBytes);  // TF32 is stored in 32 bits
  CHECK(tf32.unit == Unit::Tensor);
}

TEST_CASE("a precision that is asked for changes work and traffic of floats, not of integers") {
  const RowBound half = bound_in(Precision::Float16, kMatMul, round_device()).rows[0];
  CHECK(half.compute_seconds == Approx(kMatMulFlops / 800e12));
  CHECK(half.bytes == kMatMulBytes / 2);
  CHECK(bound_in(Precision::Float64, kMatMul, round_device()).rows[0].bytes == 2 * kMatMulBytes);
  const char* integers = "a:i32[64], b:i32[64] -> y = Add(a, b)";
  CHECK(bound_in(Precision::Float16, integers, round_device()).rows[0].bytes == 3 * 4 * 64);
}

TEST_CASE("the fastest accumulator bounds, unless one is asked for") {
  const char* graph = "a:f16[4096,4096], b:f16[4096,4096] -> y = MatMul(a, b)";
  CHECK(bound_of(graph, round_device()).rows[0].compute_seconds == Approx(kMatMulFlops / 800e12));
  // With a float32 accumulator, TF32 can represent float16 and is faster.
  const RowBound row = bound_of(graph, round_device(), {.accumulate = Precision::Float32}).rows[0];
  CHECK(row.compute_seconds == Approx(kMatMulFlops / 400e12));
  CHECK(row.precision == Precision::Tf32);
  const DeviceSpec geforce = documents::device("rtx-4090");
  CHECK(bound_of(graph, geforce, {.accumulate = Precision::Float32}).rows[0].compute_seconds ==
        Approx(kMatMulFlops / 165.2e12));
}

TEST_CASE("a type that the device lacks runs in the best format that holds it") {
  const char* bf16 = "a:bf16[4096,4096], b:bf16[4096,4096] -> y = MatMul(a, b)";
  CHECK(bound_of(bf16, round_device()).rows[0].precision == Precision::Tf32);
  CHECK(bound_of(bf16, documents::device("v100")).rows[0].compute_seconds <=
        kMatMulFlops / 15.7e12);  // no tensor format holds it
  const char* int8 = "a:i8[4096,4096], b:i8[4096,4096] -> y = MatMulInteger(a, b)";
  CHECK(bound_of(int8, documents::device("v100")).rows[0].precision == Precision::Float16);
  CHECK(bound_of(int8, documents::device("h100-sxm")).rows[0].compute_seconds == Approx(kMatMulFlops / 1978.9e12));
}

TEST_CASE("two additions or multiplications share a lane-cycle, a comparison does not") {
  // A million elements on 50e12 lanes; one comparison per cycle, but two sums or products per cycle.
  const DeviceSpec spec = round_device();
  CHECK(bound_of("x:f32[1000000] -> y = Relu(x)", spec).rows[0].compute_seconds == Approx(1e6 / 50e12));
  CHECK(bound_of("x:f32[1000000], z:f32[1000000] -> y = Add(x, z)", spec).rows[0].compute_seconds ==
        Approx(0.5e6 / 50e12));
  // The vector unit lists no float16 rate: operations may be packed in pairs.
  CHECK(bound_of("x:f16[1000000] -> y = Relu(x)", spec).rows[0].compute_seconds == Approx(0.5e6 / 50e12));
}

TEST_CASE("a special evaluation takes an issue of the special units or of a lane") {
  CHECK(bound_of("x:f32[1000000] -> y = Exp(x)", round_device()).rows[0].compute_seconds == Approx(1e6 / 60e12));
}

TEST_CASE("shared memory bounds nothing: a kernel may bypass it") {
  const RowBound row = bound_of("x:f32[1000000] -> y = Relu(x)", round_device()).rows[0];
  CHECK(row.memory_seconds == Approx(8e6 / 1e12));
  CHECK(row.level == "dram");
  CHECK(row.bound == Bound::Memory);
  CHECK(*row.headroom == Approx(row.memory_seconds / 1e-6));  // the next limit is the launch
}

TEST_CASE("a level that is slower than memory is the one that bounds") {
  DeviceSpec spec = round_device();
  spec.levels[1].bytes_per_second.value = 0.25e12;
  const RowBound row = bound_of("x:f32[1000000] -> y = Relu(x)", spec).rows[0];
  CHECK(row.level == "l2");
  CHECK(row.memory_seconds == Approx(8e6 / 0.25e12));
}

TEST_CASE("small rows are bound by the launch, and launches bound eager execution") {
  const Roofline result = bound_of("x:f32[8] -> a = Relu(x); b = Exp(a); y = Relu(b)", round_device());
  for (const RowBound& row : result.rows) {
    CHECK(row.bound == Bound::Latency);
    CHECK(*row.headroom == Approx(1e-6 / row.seconds));
  }
  CHECK(*result.totals.eager_seconds == Approx(3e-6));
  CHECK(result.totals.seconds == Approx(3 * 64 / 1e12));
}

TEST_CASE("views, host work and folded rows take no time and are not launched") {
  const Roofline result = bound_of(
      "x:f32[N,8], c:i64[2]=[0,-1] -> a = Relu(x); b = Reshape(a, c); s = Shape(b); y = Relu(b)", round_device());
  for (const RowBound& row : result.rows) {
    if (row.bound != Bound::None) continue;
    CHECK(row.seconds == 0);
    CHECK(row.bytes == 0);
    CHECK(row.share == 0);
  }
  CHECK(result.totals.launches == 2);
  CHECK(*result.totals.eager_seconds == Approx(2e-6));
  CHECK(result.totals.seconds < 2e-6);
  CHECK_FALSE(result.totals.at_least);
}

TEST_CASE("a device without a stated launch overhead has no eager time and no latency-bound rows") {
  DeviceSpec spec = round_device();
  spec.launch_overhead_seconds = {std::nullopt, "test"};
  const Roofline result = bound_of("x:f32[8] -> y = Relu(x)", spec);
  CHECK_FALSE(result.totals.eager_seconds.has_value());
  CHECK(result.rows[0].bound == Bound::Memory);
}

TEST_CASE("a row that is not modelled is unknown and makes the total a lower bound") {
  const Roofline result = bound_of("x:f32[8] -> a = no.such.Op(x); y = Relu(x)", round_device());
  CHECK(result.rows[0].bound == Bound::Unknown);
  CHECK(result.rows[0].seconds == 0);
  CHECK(result.totals.unknown_rows == 1);
  CHECK(result.totals.at_least);
}

TEST_CASE("a device of which only tensor rates are known bounds contractions and leaves the rest unknown") {
  DeviceSpec spec = round_device();
  std::erase_if(spec.peaks, [](const Peak& peak) { return peak.unit == Unit::Vector; });
  const Roofline result = bound_of("a:f16[64,64], b:f16[64,64] -> c = MatMul(a, b); y = Relu(c)", spec);
  CHECK(result.rows[0].compute_seconds == Approx(2.0 * 64 * 64 * 64 / 800e12));
  CHECK(result.rows[1].bound == Bound::Unknown);
  CHECK(result.rows[1].seconds == Approx(2 * 2 * 64 * 64 / 1e12));  // its traffic is known
  CHECK(result.totals.at_least);
}

TEST_CASE("totals are the sums of the rows and shares add up to one") {
  const Roofline result = bound_of(
      "x:f32[64,256], w:f32[256,512], v:f32[512,256] -> a = MatMul(x, w); b = Relu(a); c = MatMul(b, v); y = "
      "Softmax(c)",
      documents::device("a100-80gb"));
  double seconds = 0, share = 0;
  for (const RowBound& row : result.rows) {
    CHECK(row.seconds == std::max(row.compute_seconds, row.memory_seconds));
    seconds += row.seconds;
    share += row.share;
  }
  CHECK(result.totals.seconds == Approx(seconds));
  CHECK(result.totals.floor_seconds <= result.totals.seconds);
  CHECK(share == Approx(1));
  CHECK(*result.totals.eager_seconds >= result.totals.seconds);
  CHECK(*result.totals.eager_seconds >= 4 * *documents::device("a100-80gb").launch_overhead_seconds.value);
}

TEST_CASE("the floor holds whatever is fused: units side by side, weights read once") {
  // 64 x 512 x 512 multiply-accumulates; the weight has 1 MiB; the lookup reads 4
  // embedding rows of 2 KiB and 4 indices.
  const Roofline dense =
      bound_of("x:f32[64,512], w:f32[512,512]=const -> a = MatMul(x, w); y = Relu(a)", round_device());
  CHECK(dense.totals.floor_seconds == Approx(4.0 * 512 * 512 / 1e12));
  CHECK(dense.totals.floor_seconds < dense.totals.seconds);
  const Roofline busy =
      bound_of("x:f32[64000,512], w:f32[512,512]=const -> a = MatMul(x, w); y = Relu(a)", round_device());
  CHECK(busy.totals.floor_seconds == Approx(2.0 * 64000 * 512 * 512 / 100e12 + 64000.0 * 512 / 50e12));
  const Roofline lookup = bound_of("i:i64[4], w:f32[50000,512]=const -> y = Gather(w, i)", round_device());
  CHECK(lookup.totals.floor_seconds <= (4 * 2048 + 4 * 8) / 1e12);
}

TEST_CASE("the floor reads what of weights, inputs and caches the chip cannot hold") {
  DeviceSpec spec = round_device();
  const char* add = "x:f32[1000000], w:f32[1000000]=const -> y = Add(x, w)";
  CHECK(bound_of(add, spec).totals.floor_seconds == Approx(8e6 / 1e12));
  spec.levels[1].capacity_bytes.value = 3e6;
  CHECK(bound_of(add, spec).totals.floor_seconds == Approx(5e6 / 1e12));
  spec.units.value = 10;  // with 64 kB of shared memory each
  spec.levels[2].capacity_bytes.value = 64e3;
  spec.levels[2].per_unit = true;
  CHECK(bound_of(add, spec).totals.floor_seconds == Approx(4.36e6 / 1e12));
  spec.levels[1].capacity_bytes.value = 50e6;
  CHECK(bound_of(add, spec).totals.floor_seconds == Approx((8e6 - 0.64e6) / 4e12));  // all traffic passes through L2

  // 200 past rows of 2 heads of 64 in each of two caches, and one new row; through a view, and in a branch.
  const DeviceSpec bare = round_device();
  constexpr double kRow = 2 * 64 * 4;
  CHECK(bound_of("q:f32[1,2,1,64], k:f32[1,2,1,64], v:f32[1,2,1,64], pk:f32[1,2,200,64], pv:f32[1,400,64], "
                 "s:i64[4]=[1,2,200,64] -> r = Reshape(pv, s); y, ok, ov = Attention(q, k, v, , pk, r) => y, ok, ov",
                 bare)
            .totals.floor_seconds == Approx((400 * kRow + 3 * kRow) / 1e12));
  CHECK(
      bound_of("c:bool[], p:f32[1000,1000] -> y = If(c) {then_branch=( -> a = Relu(p)), else_branch=( -> b = Exp(p))}",
               bare)
          .totals.floor_seconds == Approx(4e6 / 1e12));
  // Attention reads a cache that is updated in place, except for the rows that were just written.
  const double scattered = bound_of(
                               "opset=24: q:f32[1,2,4,64], k:f32[1,2,4,64], c:f32[1,2,200,64], i:i64[1] -> "
                               "p = TensorScatter(c, k, i); y = Attention(q, p, p) => y, p",
                               bare)
                               .totals.floor_seconds;
  CHECK(scattered == Approx((196 * kRow + 2 * 4 * kRow + 8) / 1e12));
}

TEST_CASE("a product of dequantised numbers runs in floats alone, in integers where a group dequantises them") {
  const Model model = test::graph(
      "x:i8[4096,4096], w:i8[4096,4096]=const, v:f32[4096,4096]=const, s:f32=0.1 -> a = DequantizeLinear(x, s); "
      "b = DequantizeLinear(w, s); t = Transpose(b); c = MatMul(a, t); y = MatMul(c, v)");
  const Analysis analysis = analyze(model);
  CHECK(analysis.nodes[3].dequantized_from == ElementType::Int8);
  CHECK(analysis.nodes[4].dequantized_from == ElementType::Undefined);  // its operands are floats
  const DeviceSpec& spec = documents::device("a100-80gb");
  const Roofline alone = roofline(analysis, spec);
  CHECK(alone.rows[3].precision != Precision::Int8);

  const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
  const Roofline grouped = roofline(analysis, fused, spec);
  CHECK(grouped.rows[3].precision == Precision::Int8);
  CHECK(grouped.rows[3].unit == Unit::Tensor);
  CHECK(grouped.rows[4].precision != Precision::Int8);
  const double integer_rate = *spec.peak(Precision::Int8, Unit::Tensor)->flops_per_second.value;
  const double float_rate = *spec.peak(Precision::Float32, Unit::Vector)->flops_per_second.value;
  const std::size_t product = static_cast<std::size_t>(grouped.rows[3].group);
  CHECK(grouped.groups[product].compute_seconds == Approx(kMatMulFlops / integer_rate).epsilon(0.01));
  // The lower bound also holds for an engine that fuses the conversions, whatever the groups are.
  CHECK(alone.totals.floor_seconds == Approx(grouped.totals.floor_seconds));
  CHECK(alone.totals.floor_seconds < (kMatMulFlops / float_rate) * 1.1);
}

TEST_CASE("a product of numbers dequantised from two types runs in the wider one, if that holds the other exactly") {
  struct Row {
    const char* x;
    const char* w;
    ElementType product;
  };
  constexpr ElementType kNone = ElementType::Undefined;
  const Row rows[] = {
      {"i8", "i4", ElementType::Int8},
      {"u8", "i8", ElementType::Int8},
      {"f8e4m3", "f4", ElementType::Float8e4m3fn},
      {"f4", "f8e5m2", ElementType::Float8e5m2},
      {"f8e4m3", "i4", ElementType::Float8e4m3fn},
      {"f8e5m2", "u4", kNone},  // 15 has four significant bits
      {"f8e4m3", "i8", kNone},
      {"f4", "i4", kNone},
  };
  for (const Row& row : rows) {
    CAPTURE(row.x);
    CAPTURE(row.w);
    const std::string x = row.x, w = row.w;
    const Model model =
        test::graph("opset=25: x:" + x + "[64,64], w:" + w +
                    "[64,64]=const, s:f32=0.1 -> a = DequantizeLinear(x, s); b = "
                    "DequantizeLinear(w, s); c = Cast(b) {to=f16}; d = Cast(a) {to=f16}; y = MatMul(d, c)");
    const Analysis analysis = analyze(model);
    CHECK(analysis.nodes[4].dequantized_from == row.product);
    CHECK(traffic(model, analysis, {.model = TrafficModel::Fused}).groups.back().cost.precision ==
          (row.product == kNone ? ElementType::Float16 : row.product));
  }
}

TEST_CASE("kernels of a loop are launched once a trip") {
  const char* const loop =
      "x:f32[t,8], w:f32[8,8]=const, h:f32[1,8], z:i64=0, c:bool=true -> s = Shape(x); n = Gather(s, z); y = Loop(n, "
      "c, "
      "h) {body=( i:i64[], k:bool[], v:f32[1,8] -> q = MatMul(v, w); r = Relu(q) => k, r)}";
  const char* const scan =
      "s:f32[8], x:f32[t,8] -> y, z = Scan(s, x) {num_scan_inputs=1, body=( a:f32[8], b:f32[8] -> c = Add(a, b); d = "
      "Relu(c) => c, d)}";
  // Row 3 of a triangle has three trips.
  const char* const nested =
      "x:f32[t,4], m:f32[4,4]=const, h:f32[1,4], i0:i64=0, c:bool=true -> s = Shape(x); n = Gather(s, i0); y = Loop(n, "
      "c, h) {body=( i:i64[], k:bool[], v:f32[1,4] -> w = Loop(i, c, v) {body=( j:i64[], l:bool[], a:f32[1,4] -> b = "
      "MatMul(a, m) => l, b)} => k, w)}";
  for (const std::int64_t t : {3, 64, 65, 200}) {
    CAPTURE(t);
    const Bindings sizes = {{"t", t}};
    for (const char* const graph : {loop, scan}) {
      const Model model = test::graph(graph);
      const Analysis open = analyze(model), bound = analyze(model, {.dims = sizes});
      CHECK(roofline(open, round_device(), {.bindings = sizes}).totals.launches == 2 * t);
      const Roofline unfused = roofline(bound, round_device());
      CHECK(unfused.totals.launches == 2 * t);
      CHECK(*unfused.totals.eager_seconds == Approx(2e-6 * static_cast<double>(t)));
      for (const RowBound& row : unfused.rows)
        if (row.seconds > 0) CHECK(row.bound == Bound::Latency);
    }
    const Analysis triangle = analyze(test::graph(nested), {.dims = sizes});
    CHECK(roofline(triangle, round_device()).totals.launches == t * (t - 1) / 2);
  }
}

TEST_CASE("free dims are 1 and take the values they are given") {
  const char* graph = "x:f32[batch,512], w:f32[512,512] -> y = MatMul(x, w)";
  CHECK(bound_of(graph, round_device()).rows[0].flops == 2 * 512 * 512);
  CHECK(bound_of(graph, round_device(), {.bindings = {{"batch", 32}}}).rows[0].flops == 32 * 2 * 512 * 512);
}

TEST_CASE("a sweep gives at every point what the whole computation gives") {
  const Analysis analysis =
      analyze(test::graph("x:f32[batch,3,32,32], w:f32[16,3,3,3] -> a = Conv(x, w) {pads=[1,1,1,1]}; b = Relu(a); c = "
                          "GlobalAveragePool(b); "
                          "y = no.such.Op(c)"),
              {.precision = Precision::Float16});
  const DeviceSpec spec = documents::device("orin-agx");
  const RooflineOptions options{.accumulate = Precision::Float16};
  std::vector<Bindings> points;
  for (std::int64_t batch = 1; batch <= 1024; batch *= 2) points.push_back({{"batch", batch}});
  const std::vector<RooflineTotals> totals = roofline_sweep(analysis, spec, options, points);
  REQUIRE(totals.size() == points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    RooflineOptions here = options;
    here.bindings = points[i];
    const RooflineTotals expected = roofline(analysis, spec, here).totals;
    CHECK(totals[i].seconds == expected.seconds);
    CHECK(totals[i].eager_seconds == expected.eager_seconds);
    CHECK(totals[i].floor_seconds == expected.floor_seconds);
    CHECK(totals[i].launches == expected.launches);
    CHECK(totals[i].at_least);
  }
  CHECK(
      std::is_sorted(totals.begin(), totals.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; }));
}

TEST_CASE("more bandwidth, a higher peak or a narrower precision never lengthen a bound") {
  const char* graph = "x:f32[64,256], w:f32[256,512] -> a = MatMul(x, w); b = Softmax(a); y = Add(b, a)";
  for (const std::string& id : documents::device_ids()) {
    CAPTURE(id);
    const DeviceSpec spec = documents::device(id);
    DeviceSpec faster = spec;
    for (Peak& peak : faster.peaks) *peak.flops_per_second.value *= 2;
    for (MemoryLevel& level : faster.levels)
      if (level.bytes_per_second.known()) *level.bytes_per_second.value *= 2;
    const Roofline base = bound_of(graph, spec), better = bound_of(graph, faster);
    const Roofline narrow = bound_in(Precision::Float16, graph, spec);
    for (std::size_t i = 0; i < base.rows.size(); ++i) {
      CHECK(base.rows[i].bound != Bound::Unknown);
      CHECK(better.rows[i].seconds <= base.rows[i].seconds);
      CHECK(narrow.rows[i].seconds <= base.rows[i].seconds);
    }
  }
}

TEST_CASE("a format that the machine lacks runs as a wider one, not packed") {
  const char* graph = "a:f16[256,256], b:f16[256,256] -> p = MatMul(a, b); y = Add(p, a)";
  DeviceSpec cpu = round_device();
  std::erase_if(cpu.peaks, [](const Peak& peak) { return peak.unit == Unit::Tensor; });
  const Roofline packed = bound_of(graph, cpu);
  cpu.lacks = {Precision::Float16};
  const Roofline lacking = bound_of(graph, cpu);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(lacking.rows[i].compute_seconds == Approx(2 * packed.rows[i].compute_seconds));
  CHECK(lacking.rows[0].precision == Precision::Float32);
}

TEST_CASE("a peak that stands in for another, or that is missing, is named with the nodes that need it") {
  const char* graph = "a:f16[256,256], b:f16[256,256] -> p = MatMul(a, b); q = MatMul(p, b); y = Add(q, a)";
  DeviceSpec npu = round_device();
  const Roofline stated = bound_of(graph, npu);
  CHECK(stated.missing.empty());
  CHECK(stated.assumed.empty());

  npu.peaks = {{Precision::Float32, Unit::Vector, std::nullopt, {1e12, "test"}}};
  const Roofline packed = bound_of(graph, npu);
  REQUIRE(packed.assumed.size() == 1);
  CHECK(packed.assumed[0].precision == Precision::Float16);
  CHECK(packed.assumed[0].taken == Precision::Float16);
  CHECK(packed.assumed[0].rows == 2);
  npu.lacks = {Precision::Float16};
  const Roofline wider = bound_of(graph, npu);
  REQUIRE(wider.assumed.size() == 1);
  CHECK(wider.assumed[0].taken == Precision::Float32);
  CHECK(wider.assumed[0].unit == Unit::Vector);

  npu.lacks.clear();
  npu.peaks = {{Precision::Int8, Unit::Tensor, std::nullopt, {1e12, "test"}}};
  const Roofline integers = bound_of(graph, npu);
  CHECK(integers.assumed.empty());
  REQUIRE(integers.missing.size() == 2);
  CHECK(integers.missing[0].precision == Precision::Float16);
  CHECK(integers.missing[0].unit == Unit::Vector);
  CHECK(integers.missing[0].rows == 1);
  CHECK(integers.missing[1].unit == Unit::Tensor);
  CHECK(integers.missing[1].rows == 2);
  CHECK(integers.totals.unknown_rows == 3);
  const Roofline v100 = bound_in(Precision::Float8, graph, documents::device("v100"));
  REQUIRE(v100.assumed.size() == 1);
  CHECK(v100.assumed[0].precision == Precision::Float8);
  CHECK(v100.assumed[0].taken == Precision::Float16);
  CHECK(v100.assumed[0].unit == Unit::Tensor);
}

TEST_CASE("every element type has a rate on every device") {
  for (const std::string& id : documents::device_ids())
    for (const char* type : {"f64", "f32", "f16", "bf16", "i64", "i32", "u8"}) {
      CAPTURE(id);
      CAPTURE(type);
      const std::string graph = std::string("a:") + type + "[64,64], b:" + type + "[64,64] -> y = Add(a, b)";
      CHECK(bound_of(graph.c_str(), documents::device(id)).rows[0].bound != Bound::Unknown);
    }
}

// Published Pagoda (arXiv 2509.20189, roofline_batch_size_expt.ipynb): ResNet-50 has 24.4 FLOP/B at batch 1.
TEST_CASE("ResNet-50 crosses the ridge of an Orin between batch 1 and 2 and stays left of none on an A100") {
  const auto ridge = [](const char* id) {
    const DeviceSpec spec = documents::device(id);
    return *spec.peak(Precision::Float32, Unit::Vector)->flops_per_second.value /
           *spec.level("dram")->bytes_per_second.value;
  };
  const auto intensity = [](double batch) { return batch * 8206316544.0 / (102011648.0 + batch * 234659744.0); };
  CHECK(std::round(intensity(1) * 1e4) == 243749);
  CHECK(ridge("orin-agx") == Approx(26.0).epsilon(0.001));
  CHECK(intensity(1) < ridge("orin-agx"));
  CHECK(intensity(2) > ridge("orin-agx"));
  CHECK(intensity(1) > ridge("a100-80gb"));  // 9.6
  CHECK(intensity(1) > ridge("h200"));       // 13.9
}
