// Sweeps: the lists, and each point against a separate analysis.
#include "pagoda/core/sweep.h"

#include <doctest/doctest.h>

#include "pagoda/core/memory.h"
#include "pagoda/documents/device.h"
#include "support/text_graph.h"

using namespace pagoda;

namespace {

constexpr const char* kNet =
    "opset=17 : x:f32[batch,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]}; r = Relu(c); "
    "s = Softmax(r) {axis=1}; y = Add(s, r)";
constexpr const char* kFixed =
    "opset=17 : x:f32[2,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]}; y = Relu(c)";
constexpr const char* kAttention =
    "x:f32[batch,seq,16], w:f32[16,16]=const -> q = MatMul(x, w); t = Transpose(x) {perm=[0,2,1]}; s = MatMul(q, t); "
    "p = Softmax(s); y = MatMul(p, x)";

}  // namespace

TEST_CASE("lists of sizes") {
  struct Row {
    const char* text;
    std::vector<std::int64_t> sizes;
  };
  const Row rows[] = {
      {"n=7", {7}},
      {"n=1,2,4..1024", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}},
      {"n=128,256,384..1024", {128, 256, 384, 512, 640, 768, 896, 1024}},
      {"n=2,4..10", {2, 4, 6, 8, 10}},
      {"n=3..6", {3, 4, 5, 6}},
      {"n=3..3", {3}},
      {"n=1,3,9..100", {1, 3, 9, 27, 81, 100}},
      {"n=1..3,10,20..40", {1, 2, 3, 10, 20, 30, 40}},
      {"n=0,1", {0, 1}},
      {"a=b=4", {4}},
  };
  for (const Row& row : rows) CHECK_MESSAGE(parse_axis(row.text).sizes == row.sizes, row.text);
  CHECK(parse_axis("a=b=4").dim == "a=b");
  for (const char* wrong : {"", "n", "=1", "n=", "n=1,", "n=,1", "n=-1", "n=1..", "n=..4", "n=4..1", "n=1,2,5..9",
                            "n=4,2..9", "n=1.5", "n=1...4", "n=1..99999999999", "n=99999999999999999999"})
    CHECK_THROWS_AS(parse_axis(wrong), Error);
}

TEST_CASE("a point is what an analysis bound to its sizes gives") {
  struct Row {
    const char* graph;
    std::vector<SweepAxis> axes;
  };
  const Row rows[] = {
      {kNet, {{"batch", {1, 3, 64}}}},
      {kFixed, {{"batch", {1, 2, 5}}}},
      {kAttention, {{"batch", {1, 2}}, {"seq", {1, 7, 128}}}},
  };
  const DeviceSpec spec = documents::device("a100-40gb");
  for (const Row& row : rows) {
    const Model model = test::graph(row.graph);
    const Analysis analysis = analyze(model, sweep_options({.precision = Precision::Float16}, row.axes));
    for (const TrafficModel moved : {TrafficModel::Unfused, TrafficModel::Fused, TrafficModel::Resident}) {
      const Sweep result =
          sweep(model, analysis, row.axes, {.traffic = moved, .time = SweepTime{spec, {}}, .l2_bytes = 4096});
      std::size_t expected = 1;
      for (const SweepAxis& axis : row.axes) expected *= axis.sizes.size();
      REQUIRE(result.points.size() == expected);
      for (const SweepPoint& point : result.points) {
        AnalyzeOptions options{.precision = Precision::Float16};
        for (std::size_t i = 0; i < row.axes.size(); ++i) {
          if (row.axes[i].dim == "batch")
            options.batch = point.sizes[i];
          else
            options.dims[row.axes[i].dim] = point.sizes[i];
        }
        const Analysis bound = analyze(model, options);
        const Traffic bytes = traffic(model, bound, {.model = moved, .l2_bytes = 4096});
        CHECK(point.macs == bound.totals.cost.macs.value());
        CHECK(point.flops == flops(bound.totals.cost).value());
        CHECK(point.bytes == bytes.bytes().value());
        CHECK(point.activation_peak_bytes == bound.totals.activation_peak_bytes->value());
        CHECK(point.memory_bytes == *point.activation_peak_bytes + *bound.totals.param_bytes.value());
        const Roofline time = roofline(bound, bytes, spec);
        CHECK(point.time->seconds == doctest::Approx(time.totals.seconds).epsilon(1e-12));
        CHECK(*point.time->eager_seconds == doctest::Approx(*time.totals.eager_seconds).epsilon(1e-12));
        CHECK(point.time->floor_seconds == doctest::Approx(time.totals.floor_seconds).epsilon(1e-12));
        CHECK(point.time->launches == time.totals.launches);
      }
    }
  }
}

TEST_CASE("the last axis varies fastest") {
  const Model model = test::graph(kAttention);
  const std::vector<SweepAxis> axes = {{"batch", {1, 2}}, {"seq", {8, 16}}};
  const Sweep result = sweep(model, analyze(model, sweep_options({}, axes)), axes);
  REQUIRE(result.points.size() == 4);
  CHECK(result.points[1].sizes == std::vector<std::int64_t>{1, 16});
  CHECK(result.points[2].sizes == std::vector<std::int64_t>{2, 8});
  CHECK_FALSE(result.points[0].time);
}

TEST_CASE("the ridge is the first size at which arithmetic takes longer") {
  // MatMul of [n,512]·[512,512] in float32 moves 4·(1024·n + 512²) B for 2·512²·n FLOP. With 1 TFLOP/s and 50 GB/s,
  // work takes longer if 524288·n/1e12 ≥ (4096·n + 1048576)/50e9: n ≥ 20.97152e-6/442.368e-9 = 47.4.
  const DeviceSpec spec =
      documents::parse_device(R"({"schema": "pagoda.device/1", "id": "flat", "name": "Flat", "kind": "cpu",
    "peaks": [{"precision": "float32", "unit": "vector", "flops_per_second": {"value": 1e12, "unit": "FLOP/s", "source": "test"}}],
    "levels": [{"level": "dram", "bytes_per_second": {"value": 50e9, "unit": "B/s", "source": "test"}}]})",
                              "flat");
  const Model model = test::graph("x:f32[n,512], w:f32[512,512]=const -> y = MatMul(x, w)");
  const auto ridge = [&](std::vector<std::int64_t> sizes) {
    const std::vector<SweepAxis> axes = {{"n", std::move(sizes)}};
    return sweep(model, analyze(model, sweep_options({}, axes)), axes, {.time = SweepTime{spec, {}}}).ridge;
  };
  REQUIRE(ridge({1, 100000}));
  CHECK(ridge({1, 100000})->size == 48);
  CHECK(ridge({47, 48})->size == 48);
  CHECK_FALSE(ridge({1, 100000})->at_start);
  CHECK(ridge({48, 64})->at_start);
  CHECK_FALSE(ridge({1, 47}));
  CHECK_FALSE(ridge({64, 1}));  // not ascending
}

TEST_CASE("a point beyond a stored table is marked, and nothing is said of it") {
  const Model model = test::graph(
      "x:f32[N,S,4], t:f32[1,512,4]=const, z:i64[1]=[0], o:i64[1]=[1] -> s = Shape(x); n = Gather(s, o); "
      "p = Slice(t, z, n, o); y = Add(x, p)");
  const Sweep result = sweep(model, analyze(model), {{"S", {512, 515}}});
  CHECK(result.points[0].problem.empty());
  CHECK(result.points[0].flops.has_value());
  CHECK(result.points[1].problem.find("here 515 and 512") != std::string::npos);
  CHECK_FALSE(result.points[1].flops);
}

TEST_CASE("the batch is a dim of independent items") {
  struct Row {
    const char* what;
    const char* graph;
    std::vector<std::string> batch;  // empty: there is none
  };
  const Row rows[] = {
      {"a first dim", "x:f32[unk__7,3,8,8], k:f32[4,3,3,3]=const -> y = Conv(x, k)", {"unk__7"}},
      {"the name of a batch in a product of items",
       "a:f32[image_batch,8], b:f32[text_batch,8] -> t = Transpose(b); y = MatMul(a, t)",
       {"image_batch", "text_batch"}},
      {"rows and columns of an image", "x:f32[height,width,3] -> y = Relu(x)", {}},
      {"items that meet", "a:f32[p,8], b:f32[q,8] -> t = Transpose(b); y = MatMul(a, t)", {}},
      {"a square", "x:f32[n,n] -> y = MatMul(x, x)", {}},
      {"a signal", "x:f32[samples] -> y = Relu(x)", {}},
      {"columns", "a:f32[8,n], w:f32[4,8]=const -> y = MatMul(w, a)", {}},
      {"a letter that is first", "x:f32[n,8], w:f32[8,8]=const -> y = MatMul(x, w)", {"n"}},
      {"what a convolution slides over",
       "x:f32[p,8], k:f32[1,1,3,1]=const, z:i64[2]=[0,1] -> u = Unsqueeze(x, z); y = Conv(u, k)",
       {}},
      {"trips of a loop",
       "x:f32[t,8], w:f32[8,8]=const, h:f32[1,8], z:i64=0, c:bool=true -> s = Shape(x); n = Gather(s, z); y = Loop(n, "
       "c, h) {body=( i:i64[], k:bool[], v:f32[1,8] -> q = MatMul(v, w) => k, q)}",
       {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Model model = test::graph(row.graph);
    const Analysis analysis = analyze(model);
    if (row.batch.empty())
      CHECK_THROWS_AS(axis_symbols(model, analysis, "batch"), Error);
    else
      CHECK(axis_symbols(model, analysis, "batch") == row.batch);
  }
}

TEST_CASE("what cannot be swept is an error that says what can") {
  const Model model = test::graph(kAttention);
  const Analysis analysis = analyze(model);
  CHECK_THROWS_WITH_AS(sweep(model, analysis, {{"height", {1}}}), doctest::Contains("batch, seq"), Error);
  CHECK_THROWS_AS(sweep(model, analysis, {{"seq", {}}}), Error);
  CHECK_THROWS_AS(sweep_options({.batch = 4}, {{"batch", {1}}}), Error);
  CHECK_THROWS_AS(sweep_options({.dims = {{"seq", 4}}}, {{"seq", {1}}}), Error);
  const std::vector<std::int64_t> many(2000, 1);
  CHECK_THROWS_AS(sweep(model, analysis, {{"batch", many}, {"seq", many}}), Error);
}

TEST_CASE("counts of unknown size are empty, not 0") {
  const Model model = test::graph("x:f32[n,4] -> h = Relu(x); y = my.domain.Secret(h)");
  const std::vector<SweepAxis> axes = {{"n", {2}}};
  const Sweep result = sweep(model, analyze(model, sweep_options({}, axes)), axes);
  CHECK(result.points[0].flops == 8);  // a lower bound
  CHECK_FALSE(result.points[0].intensity);
  CHECK_FALSE(result.points[0].activation_peak_bytes);
  CHECK_FALSE(result.points[0].memory_bytes);
}
