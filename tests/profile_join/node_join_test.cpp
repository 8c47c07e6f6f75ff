// Counters against the estimate: each expected ratio is derived next to its case; none was measured.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "import/import_data.h"
#include "pagoda/documents/device.h"
#include "pagoda/present/plot.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/sometimes.h"

namespace pagoda::measured {
namespace {

using Flags = std::vector<documents::CountFlag>;

documents::EstimateNode product(const char* op, Shape shape, double macs, double bytes,
                                ElementType precision = ElementType::Float16) {
  documents::EstimateNode row;
  row.name = "node";
  row.op_type = op;
  row.precision = precision;
  row.inputs = {"x", "w"};
  row.outputs = {{"y", {ElementType::Undefined, std::move(shape)}}};  // unknown element size
  row.counts.macs = static_cast<Int>(macs);
  row.counts.arith = row.counts.special = row.counts.comparisons = 0;
  row.counts.flops = static_cast<Int>(2 * macs);
  row.counts.bytes = static_cast<Int>(bytes);
  return row;
}

documents::EstimateNode element_wise(const char* op, double arith, double special, double comparisons, double bytes) {
  documents::EstimateNode row = product(op, {1000}, 0, bytes, ElementType::Float32);
  row.counts.arith = static_cast<Int>(arith);
  row.counts.special = static_cast<Int>(special);
  row.counts.comparisons = static_cast<Int>(comparisons);
  row.counts.flops = static_cast<Int>(arith + special);
  return row;
}

documents::EstimateDocument estimate_with(std::vector<documents::EstimateNode> rows) {
  documents::EstimateDocument estimate;
  estimate.model.path = "m.onnx";
  estimate.nodes = std::move(rows);
  for (std::size_t i = 0; i < estimate.nodes.size(); ++i) estimate.nodes[i].index = i;
  return estimate;
}

documents::MeasuredKernel kernel(std::map<std::string, std::optional<double>> flops,
                                 std::optional<double> dram = std::nullopt) {
  documents::MeasuredKernel k;
  k.name = "kernel";
  k.nvtx = "node";
  k.launches = 1;
  k.seconds = 1e-6;
  k.flops = std::move(flops);
  k.bytes.dram = dram;
  return k;
}

documents::NodeCounts counts_of(std::vector<documents::EstimateNode> rows,
                                std::vector<documents::MeasuredKernel> kernels) {
  documents::Measured measured;
  measured.source = "pagoda-profile";
  measured.kernels = std::move(kernels);
  const documents::EstimateDocument estimate = estimate_with(std::move(rows));
  join(measured, estimate);
  REQUIRE(measured.join->counts.size() == 1);
  return measured.join->counts.front();
}

// Operations that hardware would count for a row.
double hardware(const documents::EstimateNode& row) {
  return static_cast<double>(2 * *row.counts.macs + *row.counts.arith - *row.counts.comparisons);
}
double macs_of(const documents::EstimateNode& row) { return *documents::real(row.counts.macs); }

}  // namespace

TEST_CASE("a product on tensor units: exact, padded, more than padding, fewer") {
  // C[100,100] = A[100,64]·B: 640,000 macs. With 128 × 128 × 64 tiles, 128·128·64 = 1,048,576. With the largest tiles,
  // 256 × 256 × 128, 8,388,608: 13.1 times the work.
  const documents::EstimateNode gemm = product("Gemm", {100, 100}, 640000, 45600);
  struct Row {
    double operations;
    double ratio;
    Flags flags;
  };
  const std::vector<Row> rows = {
      {1280000, 1, {}},
      {2097152, 1.6384, {documents::CountFlag::Padding}},
      {16777216, 13.1072, {documents::CountFlag::Padding}},
      {17000000, 13.28125, {documents::CountFlag::ExtraWork}},
      {1280000 / 2.25,
       1 / 2.25,
       {documents::CountFlag::FewerOperations}},  // Winograd's F(2×2, 3×3): 36 products become 16
  };
  for (const Row& row : rows) {
    const documents::NodeCounts counts =
        counts_of({gemm}, {kernel({{"float16.tensor", row.operations}, {"float32", 0.0}})});
    CHECK(*counts.contraction_ratio() == doctest::Approx(row.ratio));
    CHECK(counts.flags == row.flags);
    CHECK(*counts.contraction.expected == 1280000);
  }
}

TEST_CASE("a convolution's tiles: positions by channels by taps") {
  // 64 maps of 7 × 7 in a batch of 2, each with 64·3·3 = 576 taps: M = 98, N = 64, K = 576. Padded to 128 × 64 × 576:
  // 128/98 of the work; padded to 256 × 256 × 640: 256/98 · 4 · 640/576 = 11.61.
  const double macs = 98.0 * 64 * 576;
  const documents::EstimateNode conv = product("Conv", {2, 64, 7, 7}, macs, 1e5);
  CHECK(counts_of({conv}, {kernel({{"float16.tensor", 2 * macs * 128 / 98}})}).flags ==
        Flags{documents::CountFlag::Padding});
  CHECK(counts_of({conv}, {kernel({{"float16.tensor", 2 * macs * 11.6}})}).flags ==
        Flags{documents::CountFlag::Padding});
  CHECK(counts_of({conv}, {kernel({{"float16.tensor", 2 * macs * 11.7}})}).flags ==
        Flags{documents::CountFlag::ExtraWork});
  // Attention: M, N and K do not follow from its output, so padding cannot be distinguished from other work.
  const documents::EstimateNode attention = product("Attention", {2, 64, 7, 7}, macs, 1e5);
  CHECK(counts_of({attention}, {kernel({{"float16.tensor", 2 * macs * 128 / 98}})}).flags ==
        Flags{documents::CountFlag::ExtraWork});
}

TEST_CASE("a product without tensor units is judged by all operations, where it is nearly all of them") {
  documents::EstimateNode gemm = product("MatMul", {4, 100, 100}, 4 * 640000.0, 1e5, ElementType::Float32);
  const double padded = 4 * 2097152.0;
  const documents::NodeCounts simt = counts_of({gemm}, {kernel({{"float32", padded}, {"float16.tensor", 0.0}})});
  CHECK(!simt.contraction_ratio());
  CHECK(*simt.flops.ratio() == doctest::Approx(1.6384));
  CHECK(simt.flags == Flags{documents::CountFlag::Padding});
  gemm.counts.arith = 1'000'000;  // a sixth of the operations are not products: the excess is ambiguous
  CHECK(counts_of({gemm}, {kernel({{"float32", padded + 1e6}})}).flags.empty());
}

TEST_CASE("another format on tensor units, and sparsity by counter or by name") {
  const documents::EstimateNode gemm = product("Gemm", {128, 256}, 128 * 256 * 128.0, 1e5, ElementType::Float32);
  const double work = 2 * macs_of(gemm);
  CHECK(counts_of({gemm}, {kernel({{"tf32.tensor", work}})}).flags == Flags{documents::CountFlag::Tf32});
  CHECK(counts_of({gemm}, {kernel({{"bfloat16.tensor", work}})}).flags == Flags{documents::CountFlag::OtherPrecision});
  const documents::EstimateNode half = product("Gemm", {128, 256}, 128 * 256 * 128.0, 1e5);
  CHECK(counts_of({half}, {kernel({{"float16.tensor.sparse", work / 2}})}).flags ==
        Flags{documents::CountFlag::Sparsity});
  documents::MeasuredKernel named = kernel({{"float16.tensor", work / 2}});
  named.name = "sm80_xmma_gemm_f16f16_SparseTensorOp_128x128";
  CHECK(counts_of({half}, {named}).flags == Flags{documents::CountFlag::Sparsity});
}

TEST_CASE("each cause shows in made counters, and not where its sign is missing") {
  using documents::CountFlag;
  // 64 x 64 x 3 x 3 on 14 x 14: macs 196 · 64 · 576; the bytes of weights and maps are made up.
  const double conv_macs = 196.0 * 64 * 576;
  const documents::EstimateNode conv = product("Conv", {1, 64, 14, 14}, conv_macs, 1e5);
  const documents::EstimateNode single = product("Conv", {1, 64, 14, 14}, conv_macs, 1e5, ElementType::Float32);
  const documents::EstimateNode pointwise = product("Conv", {1, 64, 14, 14}, 196.0 * 64 * 64, 1e5);
  const documents::EstimateNode gemm = product("Gemm", {256, 256}, 256 * 256 * 1024.0, 1e6);
  documents::EstimateNode few_bits = product("MatMulNBits", {256, 256}, 256 * 256 * 1024.0, 1e6);
  const documents::EstimateNode transpose = product("Transpose", {256, 256}, 0, 1e6);
  struct Row {
    const char* why;
    documents::EstimateNode node;
    const char *kernel, *precision;
    double products, others, bytes;  // relative to the estimate; vector operations relative to products
    Flags flags;
  };
  const Row rows[] = {
      {"F(2x2,3x3): 16 products for 36",
       conv,
       "sm90_xmma_fprop",
       "float16.tensor",
       16.0 / 36,
       0,
       1,
       {CountFlag::Winograd}},
      {"F(4x4,3x3): 36 for 144", conv, "conv", "float16.tensor", 36.0 / 144, 0, 1, {CountFlag::Winograd}},
      {"by its name, on vector units",
       single,
       "cudnn::winograd_nonfused::winogradForward4x4",
       "float32",
       0.31,
       0,
       1,
       {CountFlag::Winograd}},
      {"a kernel of 1 x 1 has no Winograd",
       pointwise,
       "conv",
       "float16.tensor",
       16.0 / 36,
       0,
       1,
       {CountFlag::FewerOperations}},
      {"fewer than any Winograd", conv, "fft2d_c2r", "float16.tensor", 0.1, 0, 1, {CountFlag::FewerOperations}},
      {"TF32, as PyTorch's convolutions by default",
       single,
       "sm90_xmma_fprop_tf32f32",
       "tf32.tensor",
       1,
       0,
       1,
       {CountFlag::Tf32}},
      {"half for float32 is no TF32", single, "conv", "bfloat16.tensor", 1, 0, 1, {CountFlag::OtherPrecision}},
      {"partial sums in memory", gemm, "sm90_gemm_f16_splitK_kernel", "float16.tensor", 1, 0, 1.6, {CountFlag::SplitK}},
      {"partial sums added", gemm, "void splitKreduce_kernel<32>", "float16.tensor", 1, 0.01, 1, {CountFlag::SplitK}},
      {"split, and nothing to explain", gemm, "gemm_splitk", "float16.tensor", 1, 0, 1, {}},
      {"traffic without a name", gemm, "gemm", "float16.tensor", 1, 0, 1.6, {CountFlag::ExtraTraffic}},
      {"scales of blocks", few_bits, "matmul", "float16.tensor", 1, 0.02, 1, {CountFlag::Dequantisation}},
      {"widened in memory", gemm, "dequantize_4bit_kernel", "float16.tensor", 1, 0, 3, {CountFlag::Dequantisation}},
      {"maps to channels last",
       conv,
       "void cudnn::nchwToNhwcKernel<half>",
       "float16.tensor",
       1,
       0,
       2,
       {CountFlag::LayoutChange}},
      {"a node that is a move itself", transpose, "transpose_readWrite", "float32", 0, 0, 2, {CountFlag::ExtraTraffic}},
      {"inputs still in the L2", gemm, "gemm", "float16.tensor", 1, 0, 0.3, {CountFlag::CacheResident}},
      {"tiles filled up",
       product("Gemm", {100, 100}, 640000, 1e6),
       "gemm",
       "float16.tensor",
       1.6384,
       0,
       1,
       {CountFlag::Padding}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.why);
    const double work = 2 * macs_of(row.node);
    documents::MeasuredKernel k =
        kernel({{row.precision, row.products * work}}, row.bytes * *documents::real(row.node.counts.bytes));
    k.flops["float32"] = k.flops["float32"].value_or(0) + row.others * work;
    k.name = row.kernel;
    CHECK(counts_of({row.node}, {k}).flags == row.flags);
  }
}

TEST_CASE("packed halves of a node without half operands are no work of it: ptxas moves constants by HFMA2") {
  const documents::EstimateNode single = product("Gemm", {128, 256}, 128 * 256 * 128.0, 1e5, ElementType::Float32);
  const documents::EstimateNode half = product("Gemm", {128, 256}, 128 * 256 * 128.0, 1e5);
  const double work = 2 * macs_of(single);
  const documents::NodeCounts counts = counts_of({single}, {kernel({{"float32", work}, {"float16", 4.0 * 32768}})});
  CHECK(*counts.flops.ratio() == 1);
  CHECK(counts.flags.empty());
  // There it does not matter either if they were not collected.
  CHECK(counts_of({single}, {kernel({{"float32", work}, {"float16", std::nullopt}})}).flags.empty());
  CHECK(*counts_of({half}, {kernel({{"float16.tensor", work}, {"float16", work}})}).flops.ratio() == 2);
}

TEST_CASE("writes are judged of the model: what a kernel wrote leaves the cache during later ones") {
  documents::EstimateNode first = element_wise("Add", 1000, 0, 0, 12000), second = first;
  first.counts.bytes_read = second.counts.bytes_read = 8000;
  first.counts.bytes_written = second.counts.bytes_written = 4000;
  first.name = "first";
  second.name = "second";
  documents::MeasuredKernel a = kernel({{"float32", 1000.0}}), b = a;
  a.nvtx = "first";
  b.nvtx = "second";
  // All that the first kernel wrote reaches memory while the second runs.
  const auto moves = [](documents::MeasuredKernel& k, double read, double written) {
    k.bytes.dram_read = read;
    k.bytes.dram_write = written;
    k.bytes.dram = read + written;
  };
  moves(a, 8000, 0);
  moves(b, 8000, 8000);
  documents::Measured measured;
  measured.source = "pagoda-profile";
  measured.kernels = {a, b};
  const documents::EstimateDocument estimate = estimate_with({first, second});
  join(measured, estimate);
  REQUIRE(measured.join->counts.size() == 2);
  for (const documents::NodeCounts& counts : measured.join->counts) {
    CHECK(counts.flags.empty());
    CHECK(*counts.bytes_read.ratio() == 1);
  }
  const std::string report = join_report(measured, estimate);
  CHECK_MESSAGE(report.find("  written     8.00 k measured, 8.00 k estimated: +0.000 %") != std::string::npos, report);
  test::check_schema(documents::write_measured(measured), "measured");
  // Reads of replayed kernels depend on the caches that the previous pass left: shown, but not judged.
  moves(measured.kernels[0], 100, 0);
  join(measured, estimate);
  CHECK(measured.join->counts[0].flags == Flags{documents::CountFlag::CacheResident});
  measured.env["bytes"] = std::string("replayed");
  join(measured, estimate);
  CHECK(measured.join->counts[0].flags.empty());
  CHECK(join_report(measured, estimate).find("DRAM B, replayed") != std::string::npos);
}

TEST_CASE("functions and comparisons are not counted one for one") {
  // Softmax of 1000 elements: 999 maxima, 1000 differences, 1000 exp, 999 sums, 1000 quotients.
  const documents::EstimateNode softmax = element_wise("Softmax", 3998, 1000, 999, 8000);
  const documents::NodeCounts counts = counts_of({softmax}, {kernel({{"float32", 7500.0}})});
  CHECK(*counts.flops.expected == 2999);
  CHECK(*counts.flops.ratio() == doctest::Approx(7500.0 / 2999));
  CHECK(counts.flags == Flags{documents::CountFlag::Specials});
  CHECK(counts_of({element_wise("Add", 1000, 0, 0, 12000)}, {kernel({{"float32", 1000.0}})}).flags.empty());
  // Relu only compares. Neither the hardware nor the estimate counts that as an operation, so there is nothing to flag.
  const documents::NodeCounts relu =
      counts_of({element_wise("Relu", 1000, 0, 1000, 8000)}, {kernel({{"float32", 0.0}})});
  CHECK(!relu.flops.ratio());
  CHECK(relu.flags.empty());
  // PyTorch's add is a + alpha * b, one fused multiply-add; twice the operations of anything else is not that.
  CHECK(counts_of({element_wise("Add", 1000, 0, 0, 12000)}, {kernel({{"float32", 2000.0}})}).flags ==
        Flags{documents::CountFlag::ScaledAddition});
  CHECK(counts_of({element_wise("Mul", 1000, 0, 0, 12000)}, {kernel({{"float32", 2000.0}})}).flags.empty());
}

TEST_CASE("memory: resident in a cache, as estimated, fetched again") {
  const documents::EstimateNode add = element_wise("Add", 1000, 0, 0, 12000);
  const auto flags = [&](double dram) { return counts_of({add}, {kernel({}, dram)}).flags; };
  CHECK(flags(10000) == Flags{documents::CountFlag::CacheResident});
  CHECK(flags(10801).empty());
  CHECK(flags(13199).empty());
  CHECK(flags(13201) == Flags{documents::CountFlag::ExtraTraffic});
  CHECK(*counts_of({add}, {kernel({}, 6000.0)}).bytes.ratio() == 0.5);
  // Separate reads and writes are as good as their sum; one of them alone is not.
  documents::MeasuredKernel apart = kernel({{"float32", 1000.0}});
  apart.bytes.dram_read = 8000;
  CHECK(!counts_of({add}, {apart}).bytes.ratio());
  apart.bytes.dram_write = 4000;
  CHECK(*counts_of({add}, {apart}).bytes.ratio() == 1);
}

TEST_CASE("a fused kernel's bytes: what its nodes hand to each other does not cross") {
  // Conv reads 10,000 B and writes 4,000 to y; Relu reads y, writes 4,000 to z. As one kernel: 10,000 + 4,000.
  documents::EstimateNode conv = product("Conv", {1, 10, 10, 10}, 1e6, 14000);
  conv.name = "conv";
  conv.outputs = {{"y", {ElementType::Float32, Shape{1, 10, 10, 10}}}};
  documents::EstimateNode relu = element_wise("Relu", 1000, 0, 1000, 8000);
  relu.name = "relu";
  relu.inputs = {"y"};
  relu.outputs = {{"z", {ElementType::Float32, Shape{1000}}}};

  documents::MeasuredKernel fused = kernel({{"float16.tensor", 2e6}}, 14000.0);
  fused.nvtx = "";
  fused.nodes = {"conv", "relu"};
  const documents::NodeCounts counts = counts_of({conv, relu}, {fused});
  CHECK(counts.nodes == std::vector<std::size_t>{0, 1});
  CHECK(*counts.bytes.expected == 14000);
  CHECK(counts.flags == Flags{documents::CountFlag::Fused});
  // Another node also reads y, so y must be written.
  documents::EstimateNode other = relu;
  other.name = "other";
  other.outputs[0].name = "v";
  documents::Measured measured;
  measured.kernels = {fused};
  const documents::EstimateDocument estimate = estimate_with({conv, relu, other});
  join(measured, estimate);
  CHECK(*measured.join->counts.front().bytes.expected == 18000);
  // An unknown size makes the sum unknown.
  conv.outputs[0].type.element = ElementType::Undefined;
  CHECK(!counts_of({conv, relu}, {fused}).bytes.expected);
}

TEST_CASE("what was not collected is unknown: no ratio from a part of the operations") {
  const documents::EstimateNode gemm = product("Gemm", {128, 256}, 128 * 256 * 128.0, 1e5);
  const documents::NodeCounts part =
      counts_of({gemm}, {kernel({{"float16.tensor", 2 * macs_of(gemm)}, {"float32", std::nullopt}})});
  CHECK(!part.flops.measured);
  CHECK(!part.flops.ratio());
  CHECK(*part.contraction_ratio() == 1);
  CHECK(part.flags == Flags{documents::CountFlag::Incomplete});
  documents::Measured bare;
  bare.kernels = {kernel({})};
  join(bare, estimate_with({gemm}));
  CHECK(bare.join->counts.empty());  // nothing was counted
}

TEST_CASE("ResNet-50, a kernel a node that counts what hardware would: all launches join, all ratios are 1") {
  const documents::EstimateDocument estimate = test::estimate_of("models/skeletons/resnet50.onnx");
  documents::Measured measured;
  measured.source = "pagoda-profile";
  std::size_t works = 0;
  for (const documents::EstimateNode& row : estimate.nodes) {
    if (row.mark != Mark::Compute) continue;
    ++works;
    documents::MeasuredKernel k =
        kernel({{"float32.tensor", 2 * macs_of(row)}, {"float32", hardware(row) - 2 * macs_of(row)}},
               documents::real(row.counts.bytes));
    k.name = "void kernel_of_" + std::to_string(works % 7) + "()";
    k.nvtx = "forward/" + row.name + "/aten::op, seq = 3, sizes = [[1, 64], []]";  // nested as by PyTorch's emit_nvtx
    measured.kernels.push_back(std::move(k));
  }
  join(measured, estimate);
  CHECK(*measured.join->share() == 1);
  CHECK(measured.join->counts.size() == works);
  test::Sometimes has_flops("FLOPs"), has_macs("products");
  for (const documents::NodeCounts& counts : measured.join->counts) {
    const documents::EstimateNode& row = estimate.nodes[counts.nodes.front()];
    REQUIRE(counts.nodes.size() == 1);
    if (has_flops(hardware(row) > 0)) CHECK(*counts.flops.ratio() == 1);
    if (has_macs(macs_of(row) > 0)) CHECK(*counts.contraction_ratio() == 1);
    CHECK(*counts.bytes.ratio() == 1);
    CHECK(counts.flags.empty());
  }
  const std::string json = documents::write_measured(measured);
  test::check_schema(json, "measured");
  CHECK(documents::write_measured(documents::parse_measured(json, "m")) == json);
  const std::string csv = measured::node_counts_csv(measured, estimate);
  CHECK(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')) == works + 1);
  CHECK(join_report(measured, estimate).find("products/static") != std::string::npos);
}

TEST_CASE("ranges as engines write them name the node") {
  const documents::EstimateDocument estimate = test::estimate_of("models/skeletons/resnet50.onnx");
  const documents::EstimateDocument fused =
      test::estimate_of("models/skeletons/bert_base_fused.onnx", {{"batch", 1}, {"sequence", 8}});
  struct Row {
    const char* nvtx;
    const char* nodes;
    const documents::EstimateDocument& of;
  };
  const std::string unnamed = fused.nodes.front().outputs.front().name;  // an unnamed Cast
  REQUIRE(fused.nodes.front().name.empty());
  const std::vector<Row> rows = {
      {"/conv1/Conv", "/conv1/Conv", estimate},
      {"run 3//conv1/Conv/aten::conv2d, seq = 0/aten::convolution, seq = 0", "/conv1/Conv", estimate},
      {"SequentialExecutor/Conv.0(/conv1/Conv)", "/conv1/Conv", estimate},
      {"ExecutionContext::enqueue//conv1/Conv + /relu/Relu", "/conv1/Conv /relu/Relu", estimate},
      {"{ForeignNode[/conv1/Conv.../maxpool/MaxPool]}", "/conv1/Conv /relu/Relu /maxpool/MaxPool", estimate},
      {"some user's range", "", estimate},
      {unnamed.c_str(), "", fused},
  };
  for (const Row& row : rows) {
    documents::Measured measured;
    documents::MeasuredKernel k = kernel({}, 1.0);
    k.nvtx = row.nvtx;
    measured.kernels = {k};
    join(measured, row.of);
    CHECK_MESSAGE(test::names_of(&measured.kernels[0], row.of) == row.nodes, row.nvtx);
  }
  documents::Measured measured;
  documents::MeasuredKernel k = kernel({}, 1.0);
  k.nvtx = unnamed;
  measured.kernels = {k};
  join(measured, fused);
  REQUIRE(measured.kernels[0].joined);
  CHECK(measured.kernels[0].joined->nodes == std::vector<std::size_t>{0});
}

TEST_CASE("a chart's table, data and page say why counters and estimate differ") {
  const Model model = load_model(test::source_path("models/skeletons/linear_64_128.onnx"));
  const std::string text =
      documents::write_estimate(estimate::make_estimate(model, {.sizes = {.dims = {{"batch", 1}}}}));
  const documents::EstimateDocument estimate = documents::parse_estimate(text, "e.json");
  documents::Measured measured;
  measured.source = "pagoda-profile";
  // y[1,128] = x[1,64]·W: tiles of 64 × 128 × 64 do 64 times the work.
  documents::MeasuredKernel k = kernel({{"float32.tensor", 64 * 2 * 64 * 128.0}, {"float32", 0.0}}, 40000.0);
  k.nvtx = estimate.nodes.front().name;
  REQUIRE(*estimate.nodes.front().counts.macs == 64 * 128);
  measured.kernels = {k};
  join(measured, estimate);
  const present::PlotInput input{.device = documents::find_device("h200"),
                                 .estimates = {present::read_plot_estimate("e.json", text)},
                                 .measured = {{"m.json", documents::write_measured(measured)}}};
  CHECK(plot_csv(input).find("padding; extra traffic") != std::string::npos);
  CHECK(plot_json(input).find("padding; extra traffic") != std::string::npos);
  CHECK(plot_html(input).find("padding; extra traffic") != std::string::npos);
  measured.join->counts.clear();
  const present::PlotInput plain{.device = input.device,
                                 .estimates = input.estimates,
                                 .measured = {{"m.json", documents::write_measured(measured)}}};
  CHECK(plot_csv(plain).find("padding") == std::string::npos);
}

TEST_CASE("what models/run_torch.py wrote of a recurrent network fits its schema and joins node by node") {
  const std::string path = test::source_path("tests/run_torch/data/recurrent.json");
  test::check_schema(test::read_file(path), "measured");
  documents::Measured measured = measured::load_profile(path);  // recognised by content
  CHECK(measured.source == "torch");
  CHECK(measured.repeats == 3);
  join(measured, test::estimate_of("models/skeletons/recurrent.onnx", {{"batch", 1}, {"sequence", 5}}));
  CHECK(*measured.join->share() == 1);
  CHECK(measured.join->silent_nodes.empty());
  CHECK(measured.join->counts.empty());  // times, but no counters
}

}  // namespace pagoda::measured
