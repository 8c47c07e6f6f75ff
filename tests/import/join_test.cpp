// Joins: real profiles with estimates of the same models, and a small case for each rule.
#include <doctest/doctest.h>

#include <set>

#include "import/import_data.h"
#include "join/pytorch_calls.h"
#include "pagoda/base/text.h"
#include "pagoda/core/operators.h"
#include "support/sometimes.h"

namespace pagoda::measured {
namespace {

// A compute row of an estimate; all rows have outputs of one shape.
documents::EstimateNode row(const char* name, const char* op, base::SmallVector<base::Name, 2> inputs,
                            const char* output, const char* scope = "") {
  documents::EstimateNode r;
  r.name = name;
  r.op_type = op;
  r.scope = scope;
  r.inputs = std::move(inputs);
  r.outputs = {{output, {ElementType::Undefined, Shape{4}}}};
  r.counts.flops = 10;
  r.counts.bytes = 100;
  return r;
}

// With a device, each row takes at least a microsecond.
documents::EstimateDocument estimate_with(std::vector<documents::EstimateNode> rows, const char* device = "") {
  documents::EstimateDocument estimate;
  estimate.model.path = "m";
  estimate.nodes = std::move(rows);
  for (std::size_t i = 0; i < estimate.nodes.size(); ++i) estimate.nodes[i].index = i;
  if (*device == '\0') return estimate;
  estimate.roofline.emplace().device = device;
  for (std::size_t i = 0; i < estimate.nodes.size(); ++i) {
    RowBound& bound = estimate.roofline->rows.emplace_back();
    bound.row = i;
    bound.bound = Bound::Memory;
    bound.seconds = 1e-6;
  }
  return estimate;
}

documents::MeasuredKernel kernel(const char* name, const char* op, double seconds = 1e-6, const char* detail = "") {
  documents::MeasuredKernel k;
  k.name = k.node = name;
  k.op_type = op;
  k.detail = detail;
  k.seconds = seconds;
  return k;
}

documents::Measured measured_of(std::vector<documents::MeasuredKernel> kernels) {
  documents::Measured m;
  m.source = "onnxruntime";
  m.kernels = std::move(kernels);
  return m;
}

using Indices = std::vector<std::size_t>;

}  // namespace

TEST_CASE("ResNet-50 in ONNX Runtime: all of the time joins, every node has its kernel") {
  const documents::EstimateDocument estimate = test::estimate_of("models/skeletons/resnet50.onnx");
  documents::Measured basic = measured::load_profile(test::data_path("ort_resnet50_basic.json"));
  join(basic, estimate);
  CHECK(*basic.join->share() == 1);
  CHECK(basic.join->silent_nodes.empty());
  for (const documents::MeasuredKernel& k : basic.kernels) CHECK(k.joined->rule == "name");

  documents::Measured all = measured::load_profile(test::data_path("ort_resnet50_all.json"));
  join(all, estimate);
  CHECK(*all.join->share() > 0.999);
  CHECK(all.join->silent_nodes.empty());
  CHECK(test::names_of(test::kernel_named(all, "/relu/Relu_output_0_nchwc"), estimate) == "/conv1/Conv /relu/Relu");
  // The last convolution of a block also adds the shortcut; the first does not.
  for (int block = 0; block < 3; ++block) {
    const std::string at = "/layer1/layer1." + std::to_string(block);
    CHECK(test::names_of(test::kernel_named(all, at + "/conv3/Conv_output_0_nchwc"), estimate) ==
          at + "/conv3/Conv " + at + "/Add " + at + "/relu_2/Relu");
    CHECK(test::names_of(test::kernel_named(all, at + "/relu/Relu_output_0_nchwc"), estimate) ==
          at + "/conv1/Conv " + at + "/relu/Relu");
  }
  CHECK(test::names_of(test::kernel_named(all, "/layer1/layer1.0/downsample/downsample.0/Conv_output_0_nchwc"),
                       estimate) == "/layer1/layer1.0/downsample/downsample.0/Conv");
  const std::vector<measured::Unjoined> left = unjoined_kernels(all);
  REQUIRE(left.size() == 1);
  CHECK(left[0].why == "change of layout");
  // Each row belongs to one kernel only.
  std::set<std::size_t> seen;
  for (const documents::MeasuredKernel& k : all.kernels)
    if (k.joined)
      for (const std::size_t index : k.joined->nodes) CHECK(seen.insert(index).second);
}

TEST_CASE("BERT in ONNX Runtime: GELU is found between its neighbours, the scale in the product") {
  const documents::EstimateDocument estimate =
      test::estimate_of("models/skeletons/bert_base.onnx", {{"batch", 1}, {"sequence", 32}});
  for (const char* file : {"ort_bert_basic.json", "ort_bert_all.json"}) {
    documents::Measured measured = measured::load_profile(test::data_path(file));
    join(measured, estimate);
    CHECK(*measured.join->share() > 0.999);
    CHECK(measured.join->silent_nodes.size() <= 2);
  }
  // An unset batch is 1, as in the estimate's counts.
  documents::Measured free_batch = measured::load_profile(test::data_path("ort_bert_all.json"));
  join(free_batch, test::estimate_of("models/skeletons/bert_base.onnx", {{"sequence", 32}}));
  CHECK(*free_batch.join->share() > 0.999);

  documents::Measured all = measured::load_profile(test::data_path("ort_bert_all.json"));
  join(all, estimate);
  std::size_t gelus = 0, products = 0;
  for (const documents::MeasuredKernel& k : all.kernels) {
    if (k.op_type == "BiasGelu") {
      ++gelus;
      CHECK(k.joined->rule == "order");
      REQUIRE(k.joined->nodes.size() == 6);
      CHECK(estimate.nodes[k.joined->nodes[2]].op_type == "Erf");
    }
    if (k.op_type == "FusedMatMul") {
      ++products;
      CHECK(k.joined->rule == "decorated name + absorbed");
      REQUIRE(k.joined->nodes.size() == 2);
      CHECK(estimate.nodes[k.joined->nodes[0]].op_type + estimate.nodes[k.joined->nodes[1]].op_type == "MatMulMul");
    }
  }
  CHECK(gelus == 12);
  CHECK(products == 12);
}

TEST_CASE("TensorRT: fused names, metadata, a range, and a change of layout that joins nothing") {
  const documents::EstimateDocument estimate = test::estimate_of("models/skeletons/resnet50.onnx");
  documents::Measured measured = measured::load_profile(test::data_path("tensorrt_profile.json"),
                                                        {.layer_info = test::data_path("tensorrt_layers.json")});
  join(measured, estimate);
  CHECK(test::names_of(&measured.kernels[1], estimate) == "/conv1/Conv /relu/Relu");
  CHECK(measured.kernels[1].joined->rule == "fused name");
  CHECK(test::names_of(&measured.kernels[6], estimate) ==
        "/layer1/layer1.0/conv3/Conv /layer1/layer1.0/Add /layer1/layer1.0/relu_2/Relu");
  const documents::MeasuredKernel& range = measured.kernels[7];
  CHECK(range.joined->rule == "range");
  CHECK(estimate.nodes[range.joined->nodes.front()].name == "/layer1/layer1.1/conv1/Conv");
  CHECK(estimate.nodes[range.joined->nodes.back()].name == "/avgpool/GlobalAveragePool");
  CHECK(test::names_of(&measured.kernels[8], estimate) == "/fc/Gemm");
  CHECK(!measured.kernels[0].joined);
  CHECK(unjoined_kernels(measured).size() == 1);
  CHECK(*measured.join->share() == doctest::Approx(1 - 0.004 / 0.324));
}

TEST_CASE("PyTorch: modules give scopes, calls of one module pair with its nodes, a view by order") {
  const documents::EstimateDocument estimate = test::estimate_of("tests/import/data/torch_cpu.onnx");
  documents::Measured measured = measured::load_profile(test::data_path("torch_cpu.json"));
  join(measured, estimate);
  CHECK(*measured.join->share() == 1);
  CHECK(measured.join->silent_nodes.empty());
  std::string relus;
  for (const documents::MeasuredKernel& k : measured.kernels) {
    CHECK(k.joined->rule == (k.name == "aten::flatten" ? "order" : "scope"));
    CHECK(k.joined->nodes.size() == 1);
    if (k.name == "aten::relu") relus += test::names_of(&k, estimate) + " ";
  }
  CHECK(relus == "/body/body.0/relu/Relu /body/body.0/relu_1/Relu /body/body.1/relu/Relu /body/body.1/relu_1/Relu ");
}

TEST_CASE("ranges of NVTX that hold a node's name, with ONNX Runtime's spelling") {
  const documents::EstimateDocument estimate =
      estimate_with({row("/conv1/Conv", "Conv", {"x"}, "c"), row("/relu/Relu", "Relu", {"c"}, "y")});
  documents::Measured measured = measured::load_profile(test::data_path("ncu_raw.csv"));
  join(measured, estimate);
  for (const documents::MeasuredKernel& k : measured.kernels) {
    REQUIRE(k.joined);
    CHECK(k.joined->rule == "range name");
  }
  CHECK(measured.kernels[0].joined->nodes == Indices{0});
  CHECK(measured.kernels[1].joined->nodes == Indices{1});
}

TEST_CASE("a bias joins its product; kernels without a name join what their neighbours left out") {
  const documents::EstimateDocument estimate =
      estimate_with({row("mm", "MatMul", {"x", "w"}, "a"), row("bias", "Add", {"a", "b"}, "c"),
                     row("relu", "Relu", {"c"}, "d"), row("next", "Softmax", {"d"}, "y")});
  documents::Measured gemm =
      measured_of({kernel("mm/MatMulAddFusion", "Gemm"), kernel("relu", "Relu"), kernel("next", "Softmax")});
  join(gemm, estimate);
  CHECK(gemm.kernels[0].joined->nodes == Indices{0, 1});
  CHECK(gemm.join->silent_nodes.empty());

  // Two unnamed kernels did the bias and the Relu: which did which is unknown, but together they did both.
  documents::Measured pair = measured_of({kernel("mm", "MatMul"), kernel("?1", "Add", 1e-6, "f[2] -> f[2]"),
                                          kernel("?2", "Relu", 1e-6, "f[4] -> f[4]"), kernel("next", "Softmax")});
  join(pair, estimate);
  CHECK(pair.kernels[1].joined->nodes == Indices{1, 2});
  CHECK(pair.kernels[2].joined->nodes == Indices{1, 2});
  CHECK(*pair.join->share() == 1);

  // A kernel of a different shape, or one that only moves data, did neither.
  for (const auto& [op, shape] : {std::pair{"Add", "f[2] -> f[2]"}, std::pair{"Reshape", "f[4] -> f[4]"}}) {
    documents::Measured unclear =
        measured_of({kernel("mm", "MatMul"), kernel("?1", op, 1e-6, shape), kernel("next", "Softmax")});
    join(unclear, estimate);
    CHECK(!unclear.kernels[1].joined);
    CHECK(unclear.join->silent_nodes == Indices{1, 2});
    CHECK(*unclear.join->share() == doctest::Approx(2.0 / 3));
  }
}

TEST_CASE("what a fused kernel of another operator alone reads joins it, unless it was folded from constants") {
  // The normalisation is named after its last node; its scale was folded, since no kernel feeds it.
  const documents::EstimateDocument estimate = estimate_with(
      {row("in", "Conv", {"x"}, "a"), row("mean", "ReduceMean", {"a"}, "b"), row("sub", "Sub", {"a", "b"}, "c"),
       row("scale", "Exp", {"w"}, "s"), row("mul", "Mul", {"c", "s"}, "y")});
  documents::Measured measured =
      measured_of({kernel("in", "Conv"), kernel("mul/LayerNormFusion/", "LayerNormalization")});
  join(measured, estimate);
  CHECK(measured.kernels[0].joined->nodes == Indices{0});
  CHECK(measured.kernels[1].joined->nodes == Indices{1, 2, 4});
  CHECK(measured.kernels[1].joined->rule == "decorated name + absorbed");
  CHECK(measured.join->silent_nodes == Indices{3});
}

TEST_CASE("operators that ONNX Runtime names after one node have the others that they are made of") {
  struct Case {
    std::vector<documents::EstimateNode> rows;
    documents::MeasuredKernel kernel;
    Indices joined;
    const char* why;
  };
  const Case cases[] = {
      {{row("in", "Conv", {"x"}, "a"), row("s0", "Slice", {"a", "c0"}, "p"), row("s1", "Slice", {"a", "c1"}, "q"),
        row("s2", "Slice", {"b", "c2"}, "r")},
       kernel("s0/GatherSliceToSplitFusion/", "Split"),
       {1, 2},
       "all Slices of one value, and of no other"},
      {{row("in", "Conv", {"x"}, "a"), row("mean", "ReduceMean", {"a"}, "b"), row("sub", "Sub", {"a", "b"}, "c"),
        row("mul", "Mul", {"c", "scale"}, "d"), row("shift", "Add", {"d", "bias"}, "e"),
        row("residual", "Add", {"e", "a"}, "y")},
       kernel("mul/LayerNormFusion/", "LayerNormalization"),
       {1, 2, 3, 4},
       "the shift behind the scale, and not the Add of two results"},
      {{row("in", "Conv", {"x"}, "a"), row("quantize", "DynamicQuantizeLinear", {"a"}, "q"),
        row("scales", "Mul", {"q", "w_scale"}, "s"), row("product", "MatMulInteger", {"q", "w"}, "i"),
        row("cast", "Cast", {"i"}, "f"), row("scale", "Mul", {"f", "s"}, "y")},
       kernel("product", "DynamicQuantizeMatMul"),
       {1, 2, 3, 4, 5},
       "quantisation before it and scales behind it"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.why));
    documents::Measured measured = measured_of({kernel("in", "Conv"), c.kernel});
    join(measured, estimate_with(c.rows));
    REQUIRE(measured.kernels[1].joined);
    CHECK(measured.kernels[1].joined->nodes == c.joined);
  }
}

TEST_CASE("normalizations along a residual connection have a kernel each") {
  const documents::EstimateDocument estimate =
      estimate_with({row("a", "MatMul", {"x", "wa"}, "a"), row("add_a", "Add", {"a", "x"}, "b"),
                     row("norm_a", "LayerNormalization", {"b"}, "c"), row("d", "MatMul", {"c", "wd"}, "d"),
                     row("add_d", "Add", {"d", "c"}, "e"), row("norm_d", "LayerNormalization", {"e"}, "f"),
                     row("out", "MatMul", {"f", "wo"}, "y")});
  documents::Measured measured = measured_of(
      {kernel("a", "MatMul"), kernel("SkipLayerNormalization", "SkipLayerNormalization", 1e-6, "f[4] -> f[4]"),
       kernel("d", "MatMul"), kernel("SkipLayerNormalization_token_9", "SkipLayerNormalization", 1e-6, "f[4] -> f[4]"),
       kernel("out", "MatMul")});
  join(measured, estimate);
  for (const auto& [index, rows] : {std::pair{1, Indices{1, 2}}, {3, Indices{4, 5}}}) {
    REQUIRE(measured.kernels[index].joined);
    CHECK(measured.kernels[index].joined->nodes == rows);
  }
}

TEST_CASE("an unnamed kernel whose channels are last fills the place of a node whose channels are first") {
  std::vector<documents::EstimateNode> rows = {row("in", "QuantizeLinear", {"x"}, "a"),
                                               row("conv", "Conv", {"a", "w"}, "b"),
                                               row("out", "DequantizeLinear", {"b"}, "y")};
  rows[1].outputs[0].type.shape = Shape{1, 64, 7, 5};
  for (const auto& [detail, fits] :
       {std::pair{"u[1] -> u[1,7,5,64]", true}, {"u[1] -> u[1,64,7,5]", true}, {"u[1] -> u[1,5,7,64]", false}}) {
    documents::Measured measured =
        measured_of({kernel("in", "QuantizeLinear"), kernel("QLinearConv_token_7", "QLinearConv", 1e-6, detail),
                     kernel("out", "DequantizeLinear")});
    join(measured, estimate_with(rows));
    CHECK(measured.kernels[1].joined.has_value() == fits);
  }
}

TEST_CASE("a name that only begins like a node's is not that node") {
  const documents::EstimateDocument estimate = estimate_with({row("/model/Add", "Add", {"x"}, "y")});
  documents::Measured measured = measured_of({kernel("/model/Add_1", "Add"), kernel("/model/Ad", "Add")});
  join(measured, estimate);
  CHECK(!measured.kernels[0].joined);
  CHECK(!measured.kernels[1].joined);
}

TEST_CASE("nodes without names pair with numbered kernels where both are equally many") {
  const documents::EstimateDocument estimate =
      estimate_with({row("", "Conv", {"x"}, "a"), row("", "Relu", {"a"}, "b"), row("", "Conv", {"b"}, "y")});
  documents::Measured measured =
      measured_of({kernel("Conv_0", "Conv"), kernel("Relu_1", "Relu"), kernel("Conv_2", "Conv")});
  join(measured, estimate);
  CHECK(measured.kernels[2].joined->nodes == Indices{2});
  CHECK(measured.kernels[2].joined->rule == "order");
  documents::Measured fewer = measured_of({kernel("Conv_0", "Conv"), kernel("Relu_1", "Relu")});
  join(fewer, estimate);
  CHECK(!fewer.kernels[0].joined);
}

TEST_CASE("groups put kernels and rows together, and their ratio is measured over bound") {
  const documents::EstimateDocument estimate = estimate_with(
      {row("a", "Conv", {"x"}, "c"), row("b", "Relu", {"c"}, "d"), row("s", "Softmax", {"d"}, "y")}, "a-gpu");
  documents::MeasuredKernel fused = kernel("a + b", "Conv", 6e-6);
  fused.nodes = {"a", "b"};
  documents::MeasuredKernel again = kernel("b", "Relu", 2e-6);
  documents::Measured measured =
      measured_of({fused, again, kernel("s", "Softmax", 1e-6), kernel("other", "Copy", 1e-6)});
  join(measured, estimate);
  const std::vector<measured::JoinedGroup> groups = joined_groups(measured, estimate);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].kernels == Indices{0, 1});
  CHECK(groups[0].rows == Indices{0, 1});
  CHECK(*groups[0].seconds == doctest::Approx(8e-6));
  CHECK(*groups[0].ratio() == doctest::Approx(4));
  CHECK(*groups[0].flops == 20);
  CHECK(*measured.join->share() == doctest::Approx(0.9));
  const std::string report = measured::join_report(measured, estimate);
  for (const char* part : {"90.0 %", "a + b", "other", "no row of that name", "bounds of a-gpu"})
    CHECK_MESSAGE(report.find(part) != std::string::npos, report);
  documents::EstimateDocument shorter = estimate;
  shorter.nodes.resize(1);
  CHECK_THROWS_AS(joined_groups(measured, shorter), Error);
}

TEST_CASE("joining again starts afresh, and an unknown time is no time") {
  const documents::EstimateDocument estimate = estimate_with({row("a", "Add", {"x"}, "y")});
  documents::MeasuredKernel unknown = kernel("a", "Add");
  unknown.seconds.reset();
  documents::Measured measured = measured_of({unknown});
  join(measured, estimate);
  join(measured, estimate);
  CHECK(measured.kernels[0].joined->nodes == Indices{0});
  CHECK(!measured.join->share());
  CHECK(!joined_groups(measured, estimate)[0].ratio());
  join(measured, documents::EstimateDocument{});
  CHECK(!measured.kernels[0].joined);
}

TEST_CASE("an estimate that is none is an error with its place") {
  CHECK_THROWS_WITH_AS(
      documents::parse_estimate(R"({"schema":"pagoda.measured/1","nodes":[]})", "e.json"),
      "e.json: is a measurement (pagoda.measured/1); `measured` reads it; expected pagoda.estimate/1, as "
      "onnx-estimate MODEL --format json writes it",
      Error);
  CHECK_THROWS_WITH_AS(documents::parse_estimate(R"({"schema":"pagoda.estimate/1","nodes":[{"name":3}]})", "e.json"),
                       "e.json.nodes[0].name: expected a string, found 3", Error);
  CHECK_THROWS_AS(documents::load_estimate("/nonexistent"), Error);
}

TEST_CASE("the table of PyTorch's calls names ONNX operators that exist") {
  CHECK(pytorch_calls().size() > 40);
  test::Sometimes has_operator("an operator of ONNX");
  for (const PytorchCall& call : pytorch_calls())
    for (const std::string_view sequence : call.onnx)
      for (std::string onnx : base::split(sequence, " ")) {
        if (!has_operator(!onnx.empty())) continue;
        if (onnx.back() == '?' || onnx.back() == '+') onnx.pop_back();
        CHECK_MESSAGE(operator_facts("", onnx).kind != OpKind::Unknown, call.aten, " ", onnx);
      }
}

TEST_CASE("modules that pagoda-bench timed join the nodes of their scope") {
  EstimateDocument estimate;
  for (const auto& [name, scope] :
       {std::pair{"/features/features.6/Conv", "/features/features.6"},
        {"/features/features.1/block/block.0/block.0.0/Conv", "/features/features.1/block/block.0/block.0.0"},
        {"/layer1/layer1.0/downsample/downsample.0/Conv", "/layer1/layer1.0/downsample/downsample.0"},
        {"/act/Div", "/act"},
        {"/act/Erf", "/act"}})
    estimate.nodes.push_back(test::computing_row(name, "", scope));
  documents::Measured measured;
  measured.source = "pagoda-bench";
  for (const char* module : {"features.6", "features.1.block.0.0", "layer1.0.downsample.0", "act", "features.7"}) {
    documents::MeasuredKernel kernel;
    kernel.name = kernel.nvtx = module;
    kernel.op_type = "Conv2d";
    kernel.seconds = 1;
    measured.kernels.push_back(kernel);
  }
  join(measured, estimate);
  using Rows = std::vector<std::size_t>;
  const Rows expected[] = {{0}, {1}, {2}, {3, 4}};
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(measured.kernels[i].name);
    REQUIRE(measured.kernels[i].joined);
    CHECK(measured.kernels[i].joined->nodes == expected[i]);
  }
  CHECK_FALSE(measured.kernels[4].joined);
}

TEST_CASE(
    "modules also join by their own work, and normalizations that the exporter folded by the product before them") {
  EstimateDocument estimate;
  for (const auto& [name, scope] : {std::pair{"/layer1/layer1.0/conv1/Conv", "/layer1/layer1.0/conv1"},
                                    {"/layer1/layer1.0/Add", "/layer1/layer1.0"},
                                    {"/norm/BatchNormalization", "/norm"},
                                    {"/Softmax", ""}})
    estimate.nodes.push_back(test::computing_row(name, "", scope));
  struct Case {
    const char *module, *type;
    std::vector<std::size_t> rows;
    const char* rule;
  };
  const Case cases[] = {{"layer1.0.conv1", "Conv2d", {0}, "scope"},
                        {"layer1.0.bn1", "BatchNorm2d", {0}, "folded"},
                        {"layer1.0", "BasicBlock", {1}, "scope"},
                        {"norm0", "BatchNorm2d", {}, "no product before it"},
                        {"norm", "BatchNorm2d", {2}, "scope"},
                        {"dropout", "Dropout", {}, "nothing folds it"},
                        {"/", "ResNet", {3}, "scope"}};
  documents::Measured measured;
  measured.source = "pagoda-bench";
  for (const Case& c : cases) {
    documents::MeasuredKernel kernel;
    kernel.name = kernel.nvtx = c.module;
    kernel.op_type = c.type;
    kernel.seconds = 1;
    measured.kernels.push_back(kernel);
  }
  join(measured, estimate);
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    CAPTURE(cases[i].module);
    REQUIRE(measured.kernels[i].joined.has_value() == !cases[i].rows.empty());
    if (!measured.kernels[i].joined) continue;
    CHECK(measured.kernels[i].joined->nodes == cases[i].rows);
    CHECK(measured.kernels[i].joined->rule == cases[i].rule);
  }
}

TEST_CASE("modules also join where the file has the timed model inside another one") {
  EstimateDocument estimate;
  for (const char* scope : {"/model/encoder/layer.0/query", "/model/encoder/layer.0", "/model"})
    estimate.nodes.push_back(test::computing_row(std::string(scope) + "/MatMul", "", scope));
  documents::Measured measured;
  measured.source = "pagoda-bench";
  for (const char* module : {"encoder.layer.0.query", "encoder.layer.0", "/"}) {
    documents::MeasuredKernel kernel;
    kernel.name = kernel.nvtx = module;
    kernel.seconds = 1;
    measured.kernels.push_back(kernel);
  }
  join(measured, estimate);
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(measured.kernels[i].name);
    REQUIRE(measured.kernels[i].joined);
    CHECK(measured.kernels[i].joined->nodes == std::vector<std::size_t>{i});
  }
}

}  // namespace pagoda::measured
