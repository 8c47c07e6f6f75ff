// The model set after deployment tools: fused, quantised and narrow graphs keep the work of their float originals and
// the weight bytes of their files. models/variants.py makes them; variants.json lists their contents.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "pagoda/core/analyze.h"
#include "pagoda/core/device.h"
#include "pagoda/core/model.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/traffic.h"
#include "pagoda/documents/device.h"
#include "support/files.h"
#include "support/json_schema.h"

using namespace pagoda;
using nlohmann::json;

namespace {

const std::string kModels = test::source_path("models/");

json rows_of(const std::string& manifest) { return test::read_json("models/" + manifest)["models"]; }

const json& variants() {
  static const json loaded = rows_of("variants.json");
  return loaded;
}

Model load(const json& row) { return load_model(kModels + row["file"].get<std::string>()); }

Analysis analyze_at(const Model& model, const json& bindings) {
  return analyze(model, {.dims = bindings.get<Bindings>()});
}

const json& named(const json& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const json& row) { return row["name"] == name; });
  REQUIRE_MESSAGE(found != rows.end(), name);
  return *found;
}

// Sums over the rows of one operator.
OpCost cost_of(const Model& model, const Analysis& analysis, std::string_view op_type) {
  OpCost sum;
  for (const NodeReport& row : analysis.nodes)
    if (model.graphs[static_cast<std::size_t>(row.graph)].nodes[static_cast<std::size_t>(row.node)].op_type == op_type)
      sum += row.cost;
  return sum;
}

// The decoder of the llama_genai_* files: a sixth of SmolLM2-135M.
const Dim kLayers = 6, kHidden = 576, kHeads = 9, kKvHeads = 3, kHeadSize = 64, kInner = 1536, kVocabulary = 49152;
const Dim kBatch = Dim::symbol("batch_size"), kNew = Dim::symbol("sequence_length"),
          kPast = Dim::symbol("past_sequence_length");
// Per token: queries, keys and values in one product, the output projection, gate, up and down.
const Dim kLayerWeights = kHidden * (kHeads + 2 * kKvHeads) * kHeadSize + kHidden * kHidden + 3 * kHidden * kInner;

const char* const kLlamas[] = {"llama_genai_fp32", "llama_genai_int4", "llama_genai_int4_asymmetric",
                               "llama_genai_int4_qdq", "llama_genai_bf16"};

}  // namespace

TEST_CASE("a variant's MACs equal its float original's to the integer, with every node modelled") {
  const json originals = rows_of("manifest.json");
  std::size_t compared = 0;
  for (const json& row : variants()) {
    const Model model = load(row);
    for (const json& point : row["expected"]) {
      CAPTURE(row["name"].get<std::string>());
      CAPTURE(point["bindings"].dump());
      const Analysis analysis = analyze_at(model, point["bindings"]);
      CHECK(analysis.totals.unmodelled_nodes == 0);
      CHECK(analysis.totals.cost.macs == Dim(point["contraction_macs"].get<std::int64_t>()));
      if (std::count(std::begin(kLlamas), std::end(kLlamas), row["name"]) != 0) continue;  // tested below
      const json& original = named(originals, row["of"]);
      CHECK(analyze_at(load(original), point["bindings"]).totals.cost.macs == analysis.totals.cost.macs);
      ++compared;
    }
  }
  CHECK(variants().size() >= 13);
  CHECK(compared >= 17);
}

TEST_CASE("a variant's formulas bound afterwards equal its counts with sizes bound first") {
  for (const json& row : variants()) {
    const Model model = load(row);
    const Analysis formulas = analyze(model);
    CHECK(formulas.totals.unmodelled_nodes == 0);
    for (const json& point : row["expected"]) {
      CAPTURE(row["name"].get<std::string>());
      CAPTURE(point["bindings"].dump());
      const Analysis first = analyze_at(model, point["bindings"]);
      const Analysis after = bind_dims(formulas, first.bindings);
      CHECK(first.totals.cost.macs == after.totals.cost.macs);
      CHECK(flops(first.totals.cost) == flops(after.totals.cost));
      CHECK(first.totals.cost.bytes_read == after.totals.cost.bytes_read);
      CHECK(first.totals.cost.bytes_written == after.totals.cost.bytes_written);
    }
  }
}

// The same network, quantised twice by one tool: as integer operators, and as float operators between conversion pairs.
TEST_CASE("fused traffic and time of QDQ pairs are those of integer operators") {
  struct Bound {
    double bytes, seconds, floor_seconds;
  };
  const auto bound_of = [](const char* name) {
    const Model model = load(named(variants(), name));
    const Analysis analysis = analyze(model);
    const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
    const RooflineTotals totals = roofline(analysis, fused, documents::device("h200")).totals;
    return Bound{static_cast<double>(fused.bytes().evaluate({{"batch", 1}})), totals.seconds, totals.floor_seconds};
  };
  const Bound pairs = bound_of("resnet50_qdq_int8"), integers = bound_of("resnet50_qoperator_int8");
  CHECK(pairs.bytes == doctest::Approx(integers.bytes).epsilon(0.005));
  CHECK(pairs.seconds == doctest::Approx(integers.seconds).epsilon(0.01));
  CHECK(pairs.floor_seconds == doctest::Approx(integers.floor_seconds).epsilon(0.01));
}

// What a graph runs once fused, without the small kernels for masks and positions.
struct Kernels {
  int products = 0, attentions = 0, norms = 0;
  double bytes = 0, seconds = 0;
};

Kernels kernels_of(const std::string& file, const Bindings& bindings) {
  const Model model = load_model(kModels + "skeletons/" + file + ".onnx");
  const Analysis analysis = bind_dims(analyze(model), bindings);
  const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
  Kernels kernels;
  kernels.bytes = static_cast<double>(fused.bytes().evaluate({}));
  kernels.seconds = roofline(analysis, fused, documents::device("a100-40gb")).totals.seconds;
  for (const TrafficGroup& group : fused.groups) {
    if (static_cast<double>(group.cost.bytes().evaluate({})) < 1e-3 * kernels.bytes) continue;
    const auto has = [&](OpKind kind) {
      return std::any_of(group.rows.begin(), group.rows.end(), [&](std::int32_t row) {
        return analysis.nodes[static_cast<std::size_t>(row)].facts.kind == kind;
      });
    };
    if (group.rule == Fusion::Attention || has(OpKind::Attention))
      ++kernels.attentions;
    else if (has(OpKind::Product))
      ++kernels.products;
    else if (has(OpKind::Norm) || has(OpKind::Reduction))
      ++kernels.norms;
  }
  return kernels;
}

TEST_CASE("a network's kernels do not depend on the exporter or optimizer that wrote it") {
  struct Form {
    const char* file;
    int products, attentions, norms;
    double bytes;  // relative to the first form of the network
    const char* differs;
  };
  struct Network {
    Bindings bindings;
    std::vector<Form> forms;
  };
  // clang-format off
  const std::vector<Network> kNetworks = {
      {{{"batch", 8}, {"sequence", 128}},
       {{"bert_base",                48, 12, 25, 1,     "TorchScript exporter, LayerNormalization, GELU in five nodes, a float mask"},
        {"bert_base_sdpa",           48, 12, 25, 0.996, "scaled_dot_product_attention: each layer makes its mask from truth values, a quarter of the bytes"},
        {"bert_base_dynamo",         49, 12, 25, 1.002, "dynamo exporter: Gelu; computes the pooler, whose one product reads 2.4 MB"},
        {"bert_base_dynamo_opset23", 48, 12, 25, 0.996, "operator Attention, a mask of truth values; the pooler"},
        {"bert_base_pooler",         49, 12, 25, 1.002, "opset 14: norms in nine nodes; the pooler"},
        // Attention contains the projections of queries, keys and values: their results are never written.
        {"bert_base_fused",          36, 12, 25, 0.817, "ONNX Runtime's optimizer: Attention with projections, BiasGelu, SkipLayerNormalization"}}},
      {{{"batch", 8}},
       {{"vit_b_16_dynamic",         50, 12, 25, 1,     "TorchScript exporter: Slices of the projections"},
        {"vit_b_16_dynamo",          50, 12, 25, 1,     "dynamo exporter: Gathers of the projections"}}},
      {{{"batch", 8}},
       {{"swin_t_dynamic",           53, 12, 28, 1,     "TorchScript exporter: masks of windows are written by ScatterND"},
        {"swin_t_dynamo",            53, 12, 28, 0.983, "dynamo exporter: masks are weights"}}},
      {{{"batch", 8}, {"sequence", 64}, {"past", 64}},
       {{"llama_past",               25, 6, 13, 1,     "TorchScript exporter: RMSNorm in six nodes"},
        {"llama_past_dynamo",        25, 6, 13, 0.996, "dynamo exporter: Reciprocal in place of Div; a mask of truth values"}}},
      {{{"batch", 8}},
       {{"whisper_encoder",          18, 4, 9, 1,      "TorchScript exporter"},
        {"whisper_encoder_dynamo",   18, 4, 9, 1,      "dynamo exporter"}}},
  };
  // clang-format on
  for (const Network& network : kNetworks) {
    const Kernels first = kernels_of(network.forms.front().file, network.bindings);
    for (const Form& form : network.forms) {
      CAPTURE(std::string(form.file));
      CAPTURE(std::string(form.differs));
      const Kernels kernels = kernels_of(form.file, network.bindings);
      CHECK(kernels.products == form.products);
      CHECK(kernels.attentions == form.attentions);
      CHECK(kernels.norms == form.norms);
      CHECK(kernels.bytes / first.bytes == doctest::Approx(form.bytes).epsilon(0.002));
      CHECK(kernels.seconds / first.seconds == doctest::Approx(1).epsilon(0.01));  // float32: products dominate
    }
  }
}

TEST_CASE("the weight bytes of a variant are those its file stores") {
  for (const json& row : variants()) {
    CAPTURE(row["name"].get<std::string>());
    const Analysis analysis = analyze(load(row));
    std::int64_t elements = 0, bytes = 0;
    for (const auto& [type, stored] : row["stored_weights"].items()) {
      elements += stored["elements"].get<std::int64_t>();
      bytes += stored["bytes"].get<std::int64_t>();
    }
    CHECK(analysis.totals.param_bytes == Dim(bytes));
    // Weights of the int4 files share bytes; see below.
    const std::string name = row["name"];
    const bool shares_bytes = name == "llama_genai_int4" || name == "llama_genai_int4_asymmetric";
    CHECK((shares_bytes || analysis.totals.params == Dim(elements)));
  }
}

TEST_CASE("four bits a weight leave the number of weights as it was") {
  // Embedding (shared with the last projection), layers, 13 norms; cosine and sine tables of 8192 positions for half a
  // head. One scale per 32 weights of a product, and of the embedding if that is quantised, too.
  const Dim products = kLayers * kLayerWeights + kHidden * kVocabulary;
  const Dim norms = 13 * kHidden;
  const Dim tables = 2 * 8192 * floor_div(kHeadSize, 2);
  const auto params = [](const char* name) { return analyze(load(named(variants(), name))).totals.params; };
  CHECK(params("llama_genai_fp32") == products + norms + tables);
  CHECK(params("llama_genai_int4") == products + floor_div(products, 32) + norms + tables);
  // The embedding is stored in float besides the projection; there are as many zero points as scales.
  CHECK(params("llama_genai_int4_asymmetric") ==
        products + 2 * floor_div(products, 32) + kHidden * kVocabulary + norms + tables);
}

TEST_CASE("prefill and decode of a grouped-query decoder are closed formulas of batch, sequence and past") {
  // Every token meets all weights of the layers and the vocabulary projection. The i-th new token sees past + i keys:
  // s·past + s·(s + 1)/2 pairs per sequence, each with 64 MACs for a key and 64 for a value, in every query head.
  const Dim tokens = kBatch * kNew;
  const Dim twice_pairs = 2 * kNew * kPast + kNew * kNew + kNew;
  const Dim macs =
      tokens * (kLayers * kLayerWeights + kHidden * kVocabulary) + kLayers * kHeads * kHeadSize * kBatch * twice_pairs;
  const Dim prefill = macs.bind({{"past_sequence_length", 0}});
  const Dim decode = macs.bind({{"sequence_length", 1}});
  CHECK(decode == kBatch * (kLayers * kLayerWeights + kHidden * kVocabulary) +
                      kLayers * kHeads * kHeadSize * 2 * kBatch * (kPast + 1));
  for (const char* name : kLlamas) {
    CAPTURE(name);
    const Model model = load(named(variants(), name));
    const Analysis analysis = analyze(model);
    CHECK(analysis.free_dims == std::vector<std::string>{"batch_size", "past_sequence_length", "sequence_length"});
    CHECK(analysis.totals.cost.macs.to_string() == macs.to_string());
    CHECK(analyze(model, {.dims = {{"past_sequence_length", 0}}}).totals.cost.macs == prefill);
    CHECK(analyze(model, {.dims = {{"sequence_length", 1}}}).totals.cost.macs == decode);

    // The cache: past rows of keys and values are read, and the new ones are written behind them.
    const Dim width = std::string_view(name) == "llama_genai_bf16" ? 2 : 4;
    const Dim row = 2 * kLayers * kBatch * kKvHeads * kHeadSize * width;
    const Dim activations = kLayers * tokens * kHeadSize * width;  // per head
    const OpCost attention = cost_of(model, analysis, "GroupQueryAttention");
    CHECK(attention.bytes_written == activations * kHeads + row * kNew);
    // Queries, keys and values of the new tokens, and the past; also the int32 lengths, and rows of the 2 rotary tables
    // of half a head, at most all 8192 rows.
    const Dim read = activations * (kHeads + 2 * kKvHeads) + row * kPast + kLayers * 4 * kBatch +
                     kLayers * 2 * width * min(floor_div(kHeadSize, 2) * 8192, floor_div(kHeadSize, 2) * tokens);
    CHECK(attention.bytes_read.to_string() == read.to_string());
  }
}

TEST_CASE("a decoder's variant multiplies as often as the float export of another tool") {
  // A single new token sees all keys, so none of the score matrix is masked.
  const Model torchscript = load(named(rows_of("manifest.json"), "llama_past"));
  const Dim theirs = analyze(torchscript, {.dims = {{"sequence", 1}}})
                         .totals.cost.macs.substitute({{"batch", kBatch}, {"past", kPast}});
  for (const char* name : kLlamas) {
    CAPTURE(name);
    const Analysis ours = analyze(load(named(variants(), name)), {.dims = {{"sequence_length", 1}}});
    CHECK(ours.totals.cost.macs.to_string() == theirs.to_string());
  }
}

TEST_CASE("quantised products work in integers, narrow ones in their own type") {
  struct Row {
    const char* name;
    const char* op_type;
    std::set<ElementType> precisions;
  };
  const Row rows[] = {
      {"resnet50_qoperator_int8", "QLinearConv", {ElementType::Uint8, ElementType::Int8}},
      {"bert_base_fused_dynamic_int8", "MatMulInteger", {ElementType::Uint8, ElementType::Int8}},
      {"bert_base_fused_dynamic_int8", "QAttention", {ElementType::Uint8, ElementType::Int8}},
      {"bert_base_fused_fp16", "Attention", {ElementType::Float16}},
      {"resnet50_fp16", "Conv", {ElementType::Float16}},
      {"llama_genai_bf16", "GroupQueryAttention", {ElementType::Bfloat16}},
      {"llama_genai_int4", "MatMulNBits", {ElementType::Float32}},
  };
  for (const Row& expected : rows) {
    CAPTURE(expected.name);
    CAPTURE(expected.op_type);
    const Model model = load(named(variants(), expected.name));
    std::size_t found = 0;
    for (const NodeReport& row : analyze(model).nodes) {
      if (model.main().nodes[static_cast<std::size_t>(row.node)].op_type != expected.op_type) continue;
      CHECK(expected.precisions.contains(row.cost.precision));
      ++found;
    }
    CHECK(found > 0);
  }
}
