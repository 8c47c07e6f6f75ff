// Where ONNX Runtime's providers put nodes. Every expected place, part and copy is an answer of onnxruntime-gpu 1.31.1
// about the same graph, asked over stub libraries in both forms.
#include "pagoda/core/placement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/provider.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/present/report.h"
#include "placement/places.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/text_graph.h"

namespace pagoda {
namespace {

const PlacedCase kCases[] = {
    {"the bias of a QDQ convolution is int32",
     "opset=17: x:f32[1,3,8,8], q:i8[4,3,3,3]=const, r:i32[4]=const, s:f32=0.1 -> w = DequantizeLinear(q, s); b = "
     "DequantizeLinear(r, s); y = Conv(x, w, b)",
     "pcp", "pcp", 1, 0, 1, "no kernel: int32", "float32"},
    {"reflecting pads have a kernel",
     "opset=17: x:f32[1,3,8,8], p:i64[8]=[0,0,1,1,0,0,1,1] -> a = Relu(x); b = Pad(a, p) {mode='reflect'}; y = Relu(b)",
     "ppp", "ppp", 1, 0, 0, "", nullptr},
    {"a node without a kernel cuts the network",
     "opset=17: x:f32[4,8,8] -> a = Relu(x); b = Det(a); c = Relu(b); y = Softplus(c)", "pcpp", "pcpp", 2, 1, 1,
     "no kernel: operator", nullptr},
    {"sizes of a dynamic graph stay on the CPU, without copies",
     "opset=17: x:f32[b,8], z:i64=0, z1:i64[1]=[0], two:i64[1]=[2], m:i64[1]=[-1] -> s = Shape(x); g = Gather(s, z); u "
     "= "
     "Unsqueeze(g, z1); d = Mul(u, two); t = Concat(d, m) {axis=0}; r = Reshape(x, t); y = Relu(r)",
     "pccccpp", "pccccpp", 2, 0, 0, "shape arithmetic", "free dims"},
    {"with fixed sizes they fold",
     "opset=17: x:f32[4,8], z:i64=0, z1:i64[1]=[0], two:i64[1]=[2], m:i64[1]=[-1] -> s = Shape(x); g = Gather(s, z); u "
     "= "
     "Unsqueeze(g, z1); d = Mul(u, two); t = Concat(d, m) {axis=0}; r = Reshape(x, t); y = Relu(r)",
     "pccccpp", "fffffpp", 1, 0, 0, "shape arithmetic", nullptr},
    {"LSTM with clip",
     "opset=17: x:f32[5,1,3], w:f32[1,16,3]=const, r:f32[1,16,4]=const -> , h = LSTM(x, w, r) {hidden_size=4, "
     "clip=1.0}; y "
     "= Relu(h)",
     "cp", "cp", 1, 0, 1, "recurrent: clip", "clip"},
    {"LSTM without it",
     "opset=17: x:f32[5,1,3], w:f32[1,16,3]=const, r:f32[1,16,4]=const -> , h = LSTM(x, w, r) {hidden_size=4}; y = "
     "Relu(h)",
     "pp", "pp", 1, 0, 0, "", nullptr},
    {"GRU as ONNX has it",
     "opset=17: x:f32[5,1,3], w:f32[1,12,3]=const, r:f32[1,12,4]=const -> , h = GRU(x, w, r) {hidden_size=4}; y = "
     "Relu(h)",
     "cp", "cp", 1, 0, 1, "GRU: linear_before_reset is 0", "linear_before_reset=1"},
    {"GRU as PyTorch has it",
     "opset=17: x:f32[5,1,3], w:f32[1,12,3]=const, r:f32[1,12,4]=const -> , h = GRU(x, w, r) {hidden_size=4, "
     "linear_before_reset=1}; y = Relu(h)",
     "pp", "pp", 1, 0, 0, "", nullptr},
    {"a transposed convolution with unequal pads",
     "opset=17: x:f32[1,3,8,8], w:f32[3,4,3,3]=const -> a = ConvTranspose(x, w) {pads=[0,0,1,1]}; y = Relu(a)", "cp",
     "cp", 1, 0, 1, "ConvTranspose: unequal pads", "Slice"},
    {"integers multiplied as uint8",
     "opset=17: x:u8[4,8], w:i8[8,8]=const -> a = MatMulInteger(x, w); b = Cast(a) {to=1}; y = Relu(b)", "cpp", "cpp",
     1, 0, 1, "no kernel: uint8", "int8"},
    {"integers multiplied as int8",
     "opset=17: x:i8[4,8], w:i8[8,8]=const -> a = MatMulInteger(x, w); b = Cast(a) {to=1}; y = Relu(b)", "ppp", "ppp",
     1, 0, 0, "", nullptr},
    {"ArgMax of the last of equals",
     "opset=17: x:f32[4,8] -> a = ArgMax(x) {axis=1, select_last_index=1}; y = Cast(a) {to=1}", "cp", "cp", 1, 0, 1,
     "select_last_index", "select_last_index=0"},
    {"a network quantised as it runs",
     "opset=17: x:f32[4,8], w:u8[8,8]=const -> q, s, z = DynamicQuantizeLinear(x); a = MatMulInteger(q, w, z); b = "
     "Cast(a) "
     "{to=1}; y = Mul(b, s)",
     "ccpp", "ccpp", 1, 0, 2, "no kernel: operator", "DequantizeLinear"},
    {"boxes that a detector keeps",
     "opset=17: x:f32[1,100,4], s:f32[1,1,100], k:i64[1]=[10], one:i64=1 -> i = NonMaxSuppression(x, s, k); g = "
     "Gather(i, "
     "one) {axis=1}; y = Cast(g) {to=1}",
     "ppp", "ppp", 1, 0, 0, "", nullptr},
};

}  // namespace

TEST_CASE("nodes, parts and copies are those of the runtime, in both forms") {
  const Provider cuda = documents::find_provider("cuda");
  CHECK(cuda.is_judged);
  for (const PlacedCase& each : kCases) check_places(each, cuda);
}

TEST_CASE("an estimate has each provider's counts, reasons and cures") {
  for (const PlacedCase& each : kCases) {
    CAPTURE(each.what);
    const documents::EstimateDocument estimate =
        estimate::make_estimate(test::graph(each.graph), {.providers = {documents::find_provider("cuda")}});
    REQUIRE(estimate.placement.size() == 1);
    const documents::EstimatePlacement& placed = estimate.placement.front();
    const std::string letters = each.by_default;
    CHECK(placed.on_provider == std::ranges::count(letters, 'p'));
    CHECK(placed.off.nodes == std::ranges::count(letters, 'c'));
    std::int64_t left = 0;
    for (const auto& reason : placed.reasons) left += reason.nodes;
    CHECK(left == placed.off.nodes);
    CHECK(placed.folded == std::ranges::count(letters, 'f'));
    const double off =
        static_cast<double>(placed.off.nodes) / static_cast<double>(placed.off.nodes + placed.on_provider);
    CHECK(placed.off_provider() == doctest::Approx(off));
    check_cure(each, placed);
    if (placed.off.nodes == 0) continue;
    const std::string table = present::table_report(estimate, {.rows = present::Rows::None});
    CHECK(table.find("ONNX Runtime, CUDA") != std::string::npos);
    CHECK(table.find(each.reason) != std::string::npos);
  }
}

TEST_CASE("sizes cure nothing where the file's own nodes are judged, or all are given") {
  const Model model = test::graph(kCases[3].graph);
  const std::vector<Provider> cuda = {documents::find_provider("cuda")};
  const auto plain = estimate::make_estimate(model, {.providers = cuda, .placement_form = PlacementForm::Plain});
  CHECK(plain.placement.front().reasons.front().cure.empty());
  const auto sized = estimate::make_estimate(model, {.sizes = {.dims = {{"b", 4}}}, .providers = cuda});
  for (const auto& reason : sized.placement.front().reasons) CHECK(reason.cure.empty());
}

// Det stays on the CPU, between two parts.
constexpr const char* kTwoParts = "opset=17: x:f32[4096,64,64] -> a = Relu(x); b = Det(a); y = Relu(b)";

TEST_CASE("with the host's device, a run as placed is bounded by both devices and the link between them") {
  const Model model = test::graph(kTwoParts);
  const DeviceSpec gpu = documents::find_device("h100-sxm"), cpu = documents::find_device("xeon-8275cl");
  const std::vector<Provider> cuda = {documents::find_provider("cuda")};
  const auto estimate = estimate::make_estimate(
      model, {.traffic = TrafficModel::Unfused, .device = gpu, .providers = cuda, .host_device = cpu});
  const documents::EstimatePlacement& placed = estimate.placement.front();
  REQUIRE(placed.times.has_value());
  const documents::PlacementTimes& times = *placed.times;
  // One matrix of 4,096 down, one number of each up again, by 16 lanes of 32 GT/s, 128 of 130 bits.
  CHECK(placed.copied_bytes == Int{4096 * 64 * 64 * 4 + 4096 * 4});
  const double link = 16 * 32e9 * 128 / 130 / 8;
  CHECK(*times.copy_seconds == doctest::Approx((4096.0 * 64 * 64 * 4 + 4096 * 4) / link));
  // The Relu of the matrices moves them twice over the memory of the GPU; Det reads them over that of the CPU.
  const auto on_cpu = estimate::make_estimate(model, {.traffic = TrafficModel::Unfused, .device = cpu});
  CHECK(times.on_cpu_seconds == doctest::Approx(on_cpu.roofline->totals.seconds));
  CHECK(times.on_provider_seconds == doctest::Approx(estimate.roofline->totals.seconds));
  const double sides =
      estimate.roofline->rows[0].seconds + on_cpu.roofline->rows[1].seconds + estimate.roofline->rows[2].seconds;
  CHECK(times.placed_seconds == doctest::Approx(std::max(sides, *times.copy_seconds)));
  CHECK(placed.off.seconds == doctest::Approx(estimate.roofline->rows[1].seconds));
  CHECK_FALSE(times.cured_seconds.has_value());
  CHECK(present::table_report(estimate, {}).find("host device: xeon-8275cl") != std::string::npos);
}

TEST_CASE("with the engines of both sides, the time as placed is predicted") {
  using Time = documents::PlacementPrediction::Time;
  const auto times_of = [](const Model& model, bool has_host) {
    estimate::EstimateRequest request{.providers = {documents::find_provider("cuda")}};
    estimate::set_prediction("onnxruntime-cuda", test::source_path("data/measured/nvidia-h200-onnxruntime-cuda.json"),
                             request);
    request.link.bytes_per_second = 25e9;
    estimate::set_host_device(has_host ? test::source_path("tests/predict/data/here.json") : "xeon-8275cl", request);
    const auto estimate = estimate::make_estimate(model, request);
    test::check_schema(documents::write_estimate(estimate), "estimate");
    return *estimate.placement.front().times;
  };
  const auto is_ordered = [](const Time& time) {
    return time.low && time.high && *time.low <= *time.seconds && *time.seconds <= *time.high;
  };
  const documents::PlacementTimes two = times_of(test::graph(kTwoParts), true);
  REQUIRE(two.predicted.has_value());
  CHECK(two.predicted->missing.empty());
  const std::optional<Time>&device = two.predicted->on_provider, &host = two.predicted->on_cpu;
  REQUIRE(device.has_value());
  REQUIRE(host.has_value());
  REQUIRE(two.predicted->placed.has_value());
  const Time& placed = *two.predicted->placed;
  CHECK(*placed.seconds >= two.placed_seconds);
  CHECK(*placed.seconds > *two.copy_seconds);
  CHECK(*placed.seconds < *device->seconds + *host->seconds + *two.copy_seconds);
  CHECK(placed.low.has_value() == (device->low && host->low));
  if (placed.low) CHECK(is_ordered(placed));
  // Where no node is on the CPU, all are on the device.
  const documents::PlacementTimes one = times_of(test::graph("opset=17: x:f32[4096,64,64] -> y = Relu(x)"), true);
  REQUIRE(one.predicted->placed.has_value());
  CHECK(*one.predicted->placed->seconds == doctest::Approx(*one.predicted->on_provider->seconds));
  const documents::PlacementTimes without = times_of(test::graph(kTwoParts), false);
  CHECK_FALSE(without.predicted->on_cpu.has_value());
  CHECK_FALSE(without.predicted->placed.has_value());
  REQUIRE(without.predicted->missing.size() == 1);
  CHECK(test::contains(without.predicted->missing[0], "need a calibration of"));
}

TEST_CASE("bounds as placed and cured are no shorter than each node on its faster side") {
  const DeviceSpec cpu = documents::find_device("xeon-8275cl");
  for (const char* name : {"resnet50_qdq_int8", "mobilenet_v3_large", "bert_base", "swin_t", "yolov8n_dynamo"})
    for (const char* gpu : {"t4", "h200", "orin-nano"}) {
      CAPTURE(std::string(name));
      CAPTURE(std::string(gpu));
      const Model model = load_model(test::source_path(std::string("models/skeletons/") + name + ".onnx"));
      estimate::EstimateRequest request{.traffic = TrafficModel::Unfused, .device = documents::find_device(gpu)};
      for (const std::string& dim : analyze(model).free_dims) request.sizes.dims[dim] = dim == "sequence" ? 64 : 1;
      estimate::EstimateRequest alone = request;
      alone.device = cpu;
      const auto host = estimate::make_estimate(model, alone).roofline->rows;
      estimate::set_providers("cuda,webgpu,openvino-cpu", "default", request);
      request.host_device = cpu;
      const auto estimate = estimate::make_estimate(model, request);
      double least = 0;
      for (std::size_t i = 0; i < host.size(); ++i)
        least += std::min(host[i].seconds, estimate.roofline->rows[i].seconds);
      for (const documents::EstimatePlacement& placed : estimate.placement) {
        CAPTURE(placed.provider);
        REQUIRE(placed.times.has_value());
        const documents::PlacementTimes& times = *placed.times;
        CHECK(times.placed_seconds >= 0.999999 * least);
        CHECK(times.placed_seconds >= times.copy_seconds.value_or(0));
        CHECK(times.cured_seconds.value_or(least) >= 0.999999 * least);
        if (placed.off.nodes == 0) CHECK(times.placed_seconds <= 1.000001 * times.on_provider_seconds);
        if (placed.cured && placed.cured->nodes == 0 && placed.cured->copies == 0 && times.cured_seconds)
          CHECK(*times.cured_seconds <= 1.000001 * times.on_provider_seconds);
        CHECK_FALSE(times.predicted.has_value());
      }
    }
}

TEST_CASE("a device that the provider does not run on is said") {
  const Model model = test::graph("opset=17: x:f32[4,8] -> y = Relu(x)");
  const auto warning = [&](const char* provider, const char* device, const char* host) {
    estimate::EstimateRequest request{.device = documents::find_device(device),
                                      .providers = {documents::find_provider(provider)}};
    if (*host != '\0') request.host_device = documents::find_device(host);
    const auto diagnostics = estimate::make_estimate(model, request).diagnostics;
    return diagnostics.empty() ? std::string() : diagnostics.front().message;
  };
  CHECK(warning("cuda", "h200", "xeon-8275cl").empty());
  CHECK(test::contains(warning("cuda", "mi300x", ""), "provider cuda does not run on AMD"));
  CHECK(test::contains(warning("qnn-htp", "h200", ""), "provider qnn-htp does not run on NVIDIA"));
  CHECK(test::contains(warning("cuda-1.23", "xeon-8275cl", ""), "provider cuda-1.23 does not run on Intel"));
  CHECK(test::contains(warning("webgpu", "mi300x", "h200"), "is not a CPU"));
}

TEST_CASE("cures are applied to what they cure alone, and the rest stays") {
  const Model model = test::graph(
      "opset=17: x:f32[5,1,3], w:f32[1,16,3]=const, r:f32[1,16,4]=const, m:f32[5,4,4] -> , h = LSTM(x, w, r) "
      "{hidden_size=4, clip=1.0}; d = Det(m); y = Relu(h)");
  const auto estimate = estimate::make_estimate(model, {.providers = {documents::find_provider("cuda")}});
  const documents::EstimatePlacement& placed = estimate.placement.front();
  CHECK(placed.off.nodes == 2);
  REQUIRE(placed.cured.has_value());
  CHECK(placed.cured->nodes == 1);
  CHECK(placed.cured->copies == 0);
  for (const auto& reason : placed.reasons) CHECK(reason.cure.empty() == (reason.reason != "recurrent: clip"));
}

TEST_CASE("what cures leave keeps the dims open, unless a cure fixes them") {
  const auto cured = [](const char* graph) {
    return estimate::make_estimate(test::graph(graph), {.providers = {documents::find_provider("cuda")}})
        .placement.front();
  };
  const auto with_clip = cured(
      "opset=17: x:f32[5,b,3], w:f32[1,16,3]=const, r:f32[1,16,4]=const -> , h = LSTM(x, w, r) {hidden_size=4, "
      "clip=1.0}; s = Shape(h); y = ConstantOfShape(s)");
  CHECK(with_clip.off.nodes == 1);
  REQUIRE(with_clip.cured.has_value());
  CHECK(with_clip.cured->nodes == 0);
  CHECK(with_clip.cured->copied_bytes == Int{0});  // known: no size was made up
  const auto of_sizes = cured(kCases[3].graph);
  CHECK(of_sizes.off.nodes == 4);
  REQUIRE(of_sizes.cured.has_value());
  CHECK(of_sizes.cured->nodes == 0);
  CHECK_FALSE(of_sizes.cured->copied_bytes.has_value());
}

TEST_CASE("several providers are one table, and a gate is of the first") {
  const Model model = test::graph(kCases[0].graph);
  std::vector<Provider> all;
  for (const std::string& id : documents::provider_ids()) all.push_back(documents::find_provider(id));
  const auto estimate = estimate::make_estimate(model, {.providers = all});
  REQUIRE(estimate.placement.size() == all.size());
  const std::string table = present::table_report(estimate, {});
  for (const Provider& each : all) {
    CAPTURE(each.id);
    CHECK(table.find("\n" + each.id + " " + each.version) != std::string::npos);
  }
  CHECK(table.find("nodes on it") != std::string::npos);
}

TEST_CASE("a node without a kernel on either side is named") {
  const auto refused = [](const char* graph) {
    const auto estimate =
        estimate::make_estimate(test::graph(graph), {.providers = {documents::find_provider("cuda")}});
    return estimate.placement.front().refused;
  };
  CHECK(refused("opset=17: x:f64[4] -> y = Acos(x)") == "y: neither side has a kernel of Acos: float64");
  CHECK(refused("opset=17: x:i16[4] -> y = Neg(x)").empty());
  CHECK(refused("opset=17: x:f16[4] -> y = Acos(x)").empty());  // the runtime casts it
}

TEST_CASE("nodes whose types are not known are unknown, and count against the provider") {
  const Model model = test::graph("x:f32[4] -> a = my.Op(x); b = Relu(a); y = Relu(x)");
  const auto estimate = estimate::make_estimate(model, {.providers = {documents::find_provider("cuda")}});
  const documents::EstimatePlacement& placed = estimate.placement.front();
  CHECK(placed.on_provider == 1);
  CHECK(placed.off.nodes == 1);
  CHECK(placed.unknown == 1);
  CHECK(placed.nodes[1].on == "unknown");
  CHECK(placed.off_provider() == doctest::Approx(2.0 / 3));
  CHECK(present::off_provider_report(placed, 0.02).find("1 of them not judged") != std::string::npos);
}

TEST_CASE("each built-in provider satisfies its schema") {
  const nlohmann::json schema = test::schema("provider");
  for (const std::string& id : documents::provider_ids()) {
    CAPTURE(id);
    const nlohmann::json provider = test::read_json("data/providers/" + id + ".json");
    for (const std::string& violation : test::violations(provider, schema)) FAIL_CHECK(violation);
    CHECK(provider.at("id") == id);
    // Operators of what is compiled in are read one by one; those of a file, all at once.
    const Provider built_in = documents::find_provider(id), whole = documents::parse_provider(provider.dump(), id);
    CHECK_FALSE(built_in.operators("Nothing").has_value());
    for (const auto& each : provider.at("operators").items()) {
      CAPTURE(each.key());
      const auto one = built_in.operators(each.key()), other = whole.operators(each.key());
      REQUIRE(one.has_value());
      REQUIRE(other.has_value());
      CHECK(one->versions.size() == other->versions.size());
      CHECK(one->host_inputs == other->host_inputs);
      CHECK(one->host_outputs == other->host_outputs);
      const auto types = [](const ProviderOperator& known) {
        std::vector<TypeSet> sets;
        for (const ProviderKernel& kernel : known.kernels)
          for (const ProviderKernel::Types& of : kernel.types) sets.push_back(of.types);
        return sets;
      };
      CHECK(types(*one) == types(*other));
    }
  }
}

TEST_CASE("a mistake in a provider's file is named, with what may be meant") {
  const auto error_of = [](std::string rules) {
    return test::error_of([&] {
      documents::parse_provider(R"({"schema": "pagoda.provider/1", "id": "mine", "name": "Mine", "version": "1",
                                   "source": "tried", "judged": false, "operators": {"Relu": {"versions": "",
                                   "kernels": "1-99"}})" +
                                    rules + "}",
                                "mine.json");
    });
  };
  CHECK(error_of("").empty());
  CHECK(error_of(R"(, "condition": [])") == "mine.json: \"condition\" is not known here; did you mean \"conditions\"?");
  CHECK(test::contains(error_of(R"(, "conditions": [{"operators": ["Relu"], "reason": "no", "when": [{"input": 0,
                                 "test": "type on"}]}])"),
                       "\"type on\" is not a test; known: present, in,"));
  CHECK(test::contains(error_of(R"(, "kind": "kernel")"), "kernels or compiled"));
  CHECK(test::contains(error_of(R"(, "like": "mine.json")"), "not built in"));  // a file that is like itself never ends
  CHECK(test::contains(error_of(R"(, "host_inputs": {"Relu": [-1]})"), "the place of an operand, from 0"));
}

TEST_CASE("a provider that is none, or a file that is none, is an error") {
  CHECK_THROWS_AS(documents::find_provider("cudo"), Error);
  CHECK_THROWS_AS(documents::parse_provider(R"({"schema": "pagoda.device/1"})", "p.json"), Error);
}

}  // namespace pagoda
