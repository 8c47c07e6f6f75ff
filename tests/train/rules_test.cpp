// Backward of operators that move, pool, resample or reduce, one row each, derived by hand. Also: every operator has a
// row in the rules, and every rule a case.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "ops/op_rule.h"
#include "pagoda/core/train.h"
#include "support/text_graph.h"
#include "train/backward_rule.h"
#include "train/cases.h"

using namespace pagoda;

namespace {

struct Case {
  const char* inputs;  // besides p:f32[6], from which x = Add(x0, p) of shape [4,6] is made
  const char* node;    // the last node
  const char* cost;    // of that node's row
  const char* why;
};

// The non-zero parts.
std::string text(const std::string& part, const OpCost& cost) {
  std::string result;
  const auto add = [&](const char* name, const Dim& count) {
    if (count != Dim(0)) result += " " + std::string(name) + "=" + count.to_string();
  };
  add("macs", cost.macs);
  add("arith", cost.arith);
  add("special", cost.special);
  add("comparisons", cost.comparisons);
  add("read", cost.bytes_read);
  add("written", cost.bytes_written);
  return result.empty() ? "" : part + result;
}

std::string text(const TrainingRow& row) {
  std::string result;
  for (const std::string& part :
       {text("dx", row.dx), text("dw", row.dw),
        row.saved_bytes() == Dim(0) ? std::string() : "saved=" + row.saved_bytes().to_string(), row.problem})
    if (!part.empty()) result += (result.empty() ? "" : "; ") + part;
  return result;
}

// x is f32[4,6] (24 elements, 96 bytes) unless the row says otherwise; saving x is listed where it happens first.
const Case kCases[] = {
    // --- views and moves ---
    {"", "Identity(x)", "", "the gradient is a view"},
    {"s:i64=[24]", "Reshape(x, s)", "", "the same"},
    {"", "Flatten(x)", "", "the same"},
    {"s:i64=[0]", "Unsqueeze(x, s)", "", "the same"},
    {"", "Squeeze(x)", "", "the same"},
    {"", "Transpose(x)", "dx read=96 written=96", "moved back"},
    {"", "Trilu(x)", "dx read=96 written=96", "zeros outside the triangle"},
    {"n:i64=[2,6,6,6]", "ReverseSequence(x, n) {batch_axis=0, time_axis=1}", "dx read=96 written=96", "reversed back"},
    {"y0:f32[4,2]", "Concat(x, y0) {axis=1}", "dx read=96 written=96", "x's part of 128 bytes; y0 wants none"},
    {"", "a, b = Split(x) {axis=1, num_outputs=2}", "dx read=96 written=96", "both halves arrive"},
    {"a:i64=[0], b:i64=[2], c:i64=[1]", "Slice(x, a, b, c)", "dx read=32 written=96", "4×2 in zeros of 4×6"},
    {"p2:i64=[0,1,0,1]", "Pad(x, p2)", "dx read=96 written=96", "the inner 4×6 of 4×8"},
    {"p2:i64=[0,1,0,1]", "Pad(x, p2) {mode='reflect'}", "dx arith=8 read=128 written=96", "32 elements into 24"},
    {"s:i64=[2,4,6]", "Expand(x, s)", "dx arith=24 read=192 written=96", "48 elements into 24"},
    {"s:i64=[1,3]", "Tile(x, s)", "dx arith=48 read=288 written=96", "72 elements into 24"},
    {"s:i64=[4,4]", "CenterCropPad(x, s)", "dx read=64 written=96", "4×4 in zeros"},
    {"", "Cast(x) {to=10}", "dx read=48 written=96", "from 2 bytes to 4"},
    {"like:f32[1]", "CastLike(x, like)", "", "the same type"},
    {"c:bool[4,6]", "Where(c, x, x0)", "dx arith=24 comparisons=24 read=120 written=96; saved=24",
     "selects by bools of a byte"},
    {"", "Sum(x, x0, x0)", "", "the gradient of every term is the sum's"},
    {"", "Min(x, x0)", "dx arith=24 comparisons=24 read=288 written=96; saved=192", "dy, x and y; y is an output"},

    // --- gathered and scattered ---
    {"i:i64[2]", "Gather(x, i)", "dx arith=12 read=64 written=96; saved=16", "2 rows of 6 added; 48 + 16 bytes read"},
    {"i:i64[4,3]", "GatherElements(x, i) {axis=1}", "dx arith=12 read=144 written=96; saved=96",
     "12 elements and indices"},
    {"i:i64[2,1]", "GatherND(x, i)", "dx arith=12 read=64 written=96; saved=16", "as Gather"},
    {"c:bool[4]", "Compress(x, c) {axis=0}", "dx arith=6*compressed read=24*compressed + 4 written=96; saved=4",
     "rows placed"},
    {"i:i64[2,6], u:f32[2,6]", "ScatterElements(x, i, u)", "dx read=192 written=96; saved=96",
     "dy without what was replaced"},
    {"i:i64[2,6], u:f32[2,6]", "Scatter(x, i, u)", "dx read=192 written=96; saved=96", "the old name"},
    {"i:i64[2,1], u:f32[2,6]", "ScatterND(x, i, u)", "dx read=112 written=96; saved=16", "the same"},
    {"i:i64[2,1], u:f32[2,6]=const", "ScatterND(x, i, u) {reduction='add'}", "dw read=64 written=48; saved=16",
     "x's gradient is dy; the updates' is picked"},
    {"u:f32[1,2,6], i:i64[1]", "TensorScatter(x3, u, i)", "dx read=104 written=96; saved=8",
     "without what was replaced"},
    {"k:i64=[2]", "v, i = TopK(x, k)", "dx read=96 written=96; saved=64", "8 values and 8 indices"},
    {"i:i64[5], d:i64[], o:f32[2]=const", "OneHot(i, d, o)", "dw arith=5*depth read=20*depth + 40 written=8; saved=40",
     "the two values, by the class"},

    // --- pools and resampling: image is f32[1,2,4,4], 32 elements ---
    {"", "MaxPool(image) {kernel_shape=[2,2], strides=[2,2]}", "dx arith=8 read=96 written=128; saved=64",
     "8 results, int64 indices"},
    {"", "m, i = MaxPool(image) {kernel_shape=[2,2], strides=[2,2]}", "dx arith=8 read=96 written=128; saved=64",
     "its own indices"},
    {"", "AveragePool(image) {kernel_shape=[2,2], strides=[2,2]}", "dx arith=40 read=32 written=128", "8 div, 32 adds"},
    {"", "LpPool(image) {kernel_shape=[2,2], strides=[2,2]}", "dx arith=72 read=192 written=128; saved=160",
     "8 div, 32 mul, 32 adds"},
    {"", "GlobalAveragePool(image)", "dx arith=2 read=8 written=128", "2 div"},
    {"", "GlobalMaxPool(image)", "dx read=24 written=128; saved=16", "2 results and indices"},
    {"", "GlobalLpPool(image)", "dx arith=34 read=144 written=128; saved=136", "2 div, 32 mul; x and y"},
    {"i:i64[1,2,4,4]", "MaxUnpool(image, i) {kernel_shape=[2,2], strides=[2,2]}", "dx read=384 written=128; saved=256",
     "picks 32"},
    {"s:f32=[1.0,1.0,2.0,2.0]", "Resize(image, , s)", "dx arith=128 read=512 written=128", "each of 128 copies added"},
    {"s:f32=[1.0,1.0,2.0,2.0]", "Upsample(image, s)", "dx arith=128 read=512 written=128", "the old name"},
    {"s:f32=[1.0,1.0,2.0,2.0]", "Resize(image, , s) {mode='linear'}",
     "dx arith=1104 comparisons=16 read=512 written=128", "4 mul, 4 adds of 128; 2 + 3 for each of 2·8 positions"},
    {"r:f32[3,4], b:i64[3]", "RoiAlign(image, r, b) {output_height=2, output_width=2, sampling_ratio=1}",
     "dx arith=216 read=168 written=128; saved=72", "24 results: 8 per sample, 1 div"},
    {"", "DepthToSpace(image4) {blocksize=2}", "dx read=256 written=256", "moved back"},
    {"", "SpaceToDepth(image4) {blocksize=2}", "dx read=256 written=256", "moved back"},
    {"s:i64=[4,4], k:i64=[2,2]", "Col2Im(columns, s, k)", "dx read=128 written=288",
     "9 windows of 4 taps over 2 channels"},

    // --- reductions along axes and losses ---
    {"a:i64=[1]", "ReduceMin(x, a)", "dx arith=24 comparisons=24 read=128 written=96; saved=112",
     "x, y and dy of 4 rows"},
    {"a:i64=1", "CumSum(x, a)", "dx arith=20 read=96 written=96", "5 adds a row of 6"},
    {"", "LRN(image) {size=3}", "dx arith=256 special=32 read=512 written=128; saved=384",
     "8 and a power; x, y, scales"},
    {"l:i64[4]", "SoftmaxCrossEntropyLoss(x, l)", "dx arith=32 special=24 read=132 written=96; saved=128",
     "24 mul, 4 sub, 4 div; log-probabilities and labels"},
    {"l:i64[4]", "NegativeLogLikelihoodLoss(x, l)", "dx arith=8 read=36 written=96; saved=32", "neg, div per label"},
    {"", "DFT(signal)", "dx arith=60 read=64 written=32", "half of 5·8·3, as forward"},
    {"t:f32[2,2], q:i64[1,2]", "RotaryEmbedding(heads, t, t, q)", "dx arith=48 read=80 written=64; saved=16",
     "3 per element"},
    {"", "Dropout(x)", "dx arith=48 read=120 written=96; saved=24", "mask of a byte, mul by it and by the scale"},
    {"r:f32=0.0", "Dropout(x, r)", "", "nothing is dropped"},

    // --- com.microsoft ---
    {"c:f32[6]=const", "com.microsoft.BiasGelu(x, c)",
     "dx arith=240 special=48 read=216 written=96; dw arith=258 special=48 read=216 written=24; saved=96",
     "10 each; 18 sums"},
    {"", "com.microsoft.FastGelu(x)", "dx arith=408 special=24 read=192 written=96; saved=96", "17, tanh"},
    {"q:i64[1,2], t:f32[2,2]", "com.microsoft.RotaryEmbedding(heads, q, t, t)",
     "dx arith=48 read=80 written=64; saved=16", "3 per element"},
    {"", "com.microsoft.Gelu(x)", "dx arith=216 special=48 read=192 written=96; saved=96", "9, erf, exp"},
    {"g:f32[6]=const, b:f32[6]=const", "com.microsoft.SkipLayerNormalization(x3, x3s, g, b)",
     "dx arith=248 read=248 written=96; dw arith=108 read=224 written=48; saved=128",
     "10 per element, 2 per row, once for both; the sum is kept with mean and rstd"},
    {"g:f32[6]=const", "com.microsoft.SkipSimplifiedLayerNormalization(x3, x3s, g)",
     "dx arith=172 read=232 written=96; dw arith=66 read=208 written=24; saved=112",
     "7 per element, 1 per row; 3 per scale"},
    {"g:f32[6]=const", "SimplifiedLayerNormalization(x, g)",
     "dx arith=172 read=232 written=96; dw arith=66 read=208 written=24; saved=112", "as RMSNormalization"},
};

std::string graph_of(const Case& row) {
  std::string node = row.node;
  if (node.find(" = ") == std::string::npos) node = "y = " + node;
  std::string before = "x = Add(x0, p); ";
  for (const auto& [name, made] :
       {std::pair{"image4", "image4 = Add(x4, q4); "}, std::pair{"image", "image = Add(x1, q1); "},
        std::pair{"columns", "columns = Add(x5, q5); "}, std::pair{"signal", "signal = Add(x6, q1); "},
        std::pair{"heads", "heads = Add(x7, q1); "}, std::pair{"x3", "x3 = Add(x8, p); x3s = Add(x9, p); "}})
    if (node.find(std::string(name) + ",") != std::string::npos ||
        node.find(std::string(name) + ")") != std::string::npos) {
      before = made;
      break;
    }
  const std::string more = std::string(row.inputs).empty() ? "" : std::string(", ") + row.inputs;
  const std::string opset = node.find("Upsample") != std::string::npos ? "opset=9" : "opset=24";
  return opset +
         " com.microsoft=1 : x0:f32[4,6], x1:f32[1,2,4,4], x4:f32[1,4,4,4], x5:f32[1,8,9], x6:f32[1,8,1], "
         "x7:f32[1,2,2,4], x8:f32[1,4,6], x9:f32[1,4,6], p:f32[6]=const, q1:f32[1]=const, q4:f32[1]=const, "
         "q5:f32[1]=const" +
         more + " -> " + before + node;
}

}  // namespace

TEST_CASE("what each operator's gradients take, read, write and keep") {
  for (const Case& row : kCases) {
    CAPTURE(std::string(row.node));
    CAPTURE(std::string(row.why));
    const Model model = test::graph(graph_of(row));
    const Training training = train(model, analyze(model));
    CHECK(text(training.rows.back()) == std::string(row.cost));
  }
}

std::vector<std::string> test::rule_nodes() {
  std::vector<std::string> nodes;
  for (const Case& row : kCases) {
    const std::string node = row.node;
    const auto assigned = node.find(" = ");
    nodes.push_back(assigned == std::string::npos ? node : node.substr(assigned + 3));
  }
  return nodes;
}

TEST_CASE("an operator without a backward rule is reported, or has no gradient by nature") {
  // The bodies of these operators are graphs, which the driver handles itself.
  for (const char* name : {"If", "Loop", "Scan", "SequenceMap", "GridSample"})
    CHECK_MESSAGE(train_rules::backward_rule("", name).is_unmodelled(), name);
  for (const char* name : {"Sign", "Equal", "Shape", "QLinearConv"}) {
    CAPTURE(name);
    CHECK_FALSE(train_rules::backward_rule("", name).is_unmodelled());
    CHECK_FALSE(train_rules::backward_rule("", name).can_have_gradient(0));
  }
}

TEST_CASE("every rule has a case") {
  std::set<std::string> tested;
  for (const auto& nodes :
       {test::elementwise_nodes(), test::norm_nodes(), test::rule_nodes(), test::contraction_nodes()})
    for (const std::string& node : nodes) tested.insert(node.substr(0, node.find('(')));
  for (const train_rules::BackwardRule& rule : train_rules::default_rules())
    CHECK_MESSAGE(tested.contains(std::string(rule.name)), rule.name);
  for (const train_rules::BackwardRule& rule : train_rules::microsoft_rules())
    CHECK_MESSAGE(tested.contains("com.microsoft." + std::string(rule.name)), rule.name);
}
