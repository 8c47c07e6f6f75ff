// The effect of a precision on a model: every float takes the requested format, in work, bytes and memory.
#include <doctest/doctest.h>

#include "pagoda/core/analyze.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/model.h"
#include "pagoda/core/train.h"
#include "support/files.h"
#include "support/text_graph.h"

namespace pagoda {
namespace {

constexpr const char* kMlp =
    "x:f32[8,64], w:f32[64,128]=const, b:f32[128]=const, v:f32[128,32]=const -> "
    "h = MatMul(x, w); a = Add(h, b); r = Relu(a); y = MatMul(r, v)";

ElementType element_of(const Analysis& analysis, const Model& model, const std::string& name) {
  for (std::size_t v = 0; v < model.main().values.size(); ++v)
    if (model.main().values[v].name == name) return analysis.types[v].element;
  return ElementType::Undefined;
}

const char* const kModels[] = {"resnet50", "bert_base", "gpt2_past", "t5_decoder_dynamo", "recurrent"};

}  // namespace

TEST_CASE("floats of one width scale every count of bytes alike, and no count of work") {
  for (const char* name : kModels) {
    CAPTURE(name);
    const Model model = load_model(test::source_path(std::string("models/skeletons/") + name + ".onnx"));
    const Analysis single = analyze(model), half = analyze(model, {.precision = Precision::Float16});
    const Analysis twice = analyze(model, {.precision = Precision::Float64});
    CHECK(half.totals.cost.macs == single.totals.cost.macs);
    CHECK(half.totals.cost.arith == single.totals.cost.arith);
    CHECK(half.totals.cost.special == single.totals.cost.special);
    CHECK(2 * half.totals.param_bytes == single.totals.param_bytes);
    CHECK(twice.totals.param_bytes == 2 * single.totals.param_bytes);
    CHECK(half.nodes.size() == single.nodes.size());
    for (std::size_t i = 0; i < half.nodes.size(); ++i) {
      CAPTURE(i);
      CHECK(half.nodes[i].cost.mark == single.nodes[i].cost.mark);
      // Indices, masks and shapes keep their size: only the file's float32 bytes double
      // in float64 and halve in float16.
      CHECK(twice.nodes[i].cost.bytes() - single.nodes[i].cost.bytes() ==
            2 * (single.nodes[i].cost.bytes() - half.nodes[i].cost.bytes()));
    }
  }
}

TEST_CASE("float32 and TF32 leave a float32 file as it is") {
  for (const Precision precision : {Precision::Float32, Precision::Tf32}) {
    const Model model = test::graph(kMlp);
    const Analysis file = analyze(model), asked = analyze(model, {.precision = precision});
    CHECK(asked.totals.cost.bytes() == file.totals.cost.bytes());
    CHECK(asked.nodes[0].cost.precision == ElementType::Float32);
    CHECK(asked.precision == precision);
  }
}

TEST_CASE("a format that only products run in holds their operands; all other floats are float16") {
  const Model model = test::graph(kMlp);
  const Analysis analysis = analyze(model, {.precision = Precision::Int8});
  CHECK(element_of(analysis, model, "x") == ElementType::Int8);
  CHECK(element_of(analysis, model, "w") == ElementType::Int8);
  CHECK(element_of(analysis, model, "b") == ElementType::Float16);
  CHECK(element_of(analysis, model, "h") == ElementType::Float16);
  CHECK(element_of(analysis, model, "r") == ElementType::Int8);
  CHECK(element_of(analysis, model, "y") == ElementType::Float16);
  const auto& rows = analysis.nodes;
  CHECK(rows[0].cost.precision == ElementType::Int8);
  CHECK(rows[0].cost.bytes_read == Dim(8 * 64 + 64 * 128));
  CHECK(rows[0].cost.bytes_written == Dim(2 * 8 * 128));
  CHECK(rows[2].cost.precision == ElementType::Float16);  // Relu reads float16 and writes what the product reads
  CHECK(rows[2].cost.bytes_read == Dim(2 * 8 * 128));
  CHECK(rows[2].cost.bytes_written == Dim(8 * 128));
  CHECK(analysis.totals.param_bytes == Dim(64 * 128 + 2 * 128 + 128 * 32));
  const Analysis packed = analyze(model, {.precision = Precision::Int4});
  CHECK(packed.totals.param_bytes == Dim(64 * 128 / 2 + 2 * 128 + 128 * 32 / 2));
}

TEST_CASE("operands are found through layouts and functions, and caches stay of one type") {
  const Model decoder = load_model(test::source_path("models/skeletons/gpt2_past.onnx"));
  const Analysis wide = analyze(decoder), narrow = analyze(decoder, {.precision = Precision::Int8});
  CHECK(narrow.totals.unmodelled_nodes == wide.totals.unmodelled_nodes);
  const MemoryPlan plan = plan_memory(decoder, narrow);
  CHECK(4 * plan.kv_cache.bytes_per_token == plan_memory(decoder, wide).kv_cache.bytes_per_token);
  Int weights = 0;
  for (const WeightBytes& weight : plan.weights) weights += weight.bytes;
  CHECK(weights == *narrow.totals.param_bytes.value());
}

TEST_CASE("products of the format that is asked for stay in it") {
  const Model model = test::graph(
      "opset=21: x:u8[1,3,8,8], s:f32=0.1, z:u8=0, w:i8[4,3,3,3]=const, t:f32=0.1, v:i8=0 -> y = QLinearConv(x, s, z, "
      "w, "
      "t, v, s, z)");
  for (const auto& precision : {std::optional<Precision>(), {Precision::Float16}, {Precision::Int8}})
    CHECK(analyze(model, {.precision = precision}).nodes[0].cost.precision == ElementType::Int8);
}

TEST_CASE("quantised weights stay as they are stored") {
  const Model model = load_model(test::source_path("models/skeletons/resnet50_qdq_int8.onnx"));
  const auto bytes_of = [&](std::optional<Precision> precision, ElementType element) {
    Int bytes = 0;
    for (const WeightBytes& weight : plan_memory(model, analyze(model, {.precision = precision})).weights)
      if (weight.element == element) bytes += weight.bytes;
    return bytes;
  };
  CHECK(bytes_of(Precision::Float16, ElementType::Int8) == bytes_of(std::nullopt, ElementType::Int8));
  CHECK(2 * bytes_of(Precision::Float16, ElementType::Float16) == bytes_of(std::nullopt, ElementType::Float32));
}

TEST_CASE("a training step in float16 keeps master weights and states in float32") {
  const Model model = test::graph(kMlp);
  const Training step =
      train(model, analyze(model, {.precision = Precision::Float16}), {.optimizer = Optimizer::AdamW});
  const Dim elements = 64 * 128 + 128 + 128 * 32;
  CHECK(step.memory.weight_bytes == 2 * elements);
  CHECK(step.memory.master_weight_bytes == 4 * elements);
  CHECK(step.memory.gradient_bytes == 2 * elements);
  CHECK(step.memory.optimizer_state_bytes == 8 * elements);
}

}  // namespace pagoda
