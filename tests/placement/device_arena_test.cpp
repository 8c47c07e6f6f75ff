// What ONNX Runtime's arena requests for the weights of the bundled models: 1.31.1 with the CUDA provider on stand-in
// CUDA libraries, whose cudaMalloc() printed each request while a session was created. The weights were random numbers;
// requests are not for them but for their sizes. By default the sum differs from process to process (four sessions of
// alexnet: 411, 573, 411 and 540 MB), so one run lies within our range, or near it.
#include <doctest/doctest.h>

#include "pagoda/core/analyze.h"
#include "pagoda/core/device_arena.h"
#include "pagoda/core/model.h"
#include "pagoda/core/placement.h"
#include "pagoda/documents/provider.h"
#include "support/files.h"

namespace pagoda::test {
namespace {

struct Requests {
  const char* model;
  double as_requested, by_default;  // bytes, sums of all requests
};
// clang-format off
constexpr Requests kRequests[] = {
    // model, kSameAsRequested, kNextPowerOfTwo (the default)
    {"alexnet", 244403456, 369098752},
    {"alexnet_qdq_fp8", 61100800, 158334976},
    {"bert_base", 435571712, 545259520},
    {"bert_base_dynamo", 437934080, 537919488},
    {"bert_base_dynamo_opset23", 435571200, 546308096},
    {"bert_base_fused", 435566592, 537919488},
    {"bert_base_fused_dynamic_int8", 377856, 1048576},
    {"bert_base_fused_fp16", 217783296, 269484032},
    {"bert_base_pooler", 437934080, 537919488},
    {"bert_base_sdpa", 435571712, 536870912},
    {"conv_bottleneck1_24_72_56x56", 6912, 1048576},
    {"conv_bottleneck2_160_960_56x56", 614400, 1048576},
    {"conv_pw_160_960_7x7", 614400, 1048576},
    {"convnext_tiny", 114359552, 134217728},
    {"convnext_tiny_dynamo", 114365952, 139460608},
    {"deeplabv3_resnet50", 167902208, 277872640},
    {"deeplabv3_resnet50_dynamic", 167902208, 267386880},
    {"densenet121", 32175104, 66060288},
    {"densenet121_dynamic", 32175104, 66060288},
    {"diffusion_unet_optimized", 4014144, 7348288},
    {"efficientnet_b0", 21081600, 32505856},
    {"efficientnet_b0_dynamo", 21081600, 32505856},
    {"fasterrcnn_resnet50_fpn", 170974208, 267386880},
    {"fcn", 1062144, 3145728},
    {"googlenet", 26475264, 32505856},
    {"gpt2", 652149504, 1141899264},
    {"gpt2_past", 652149504, 1140850688},
    {"gpt2_past_dynamo", 652149504, 1221591040},
    {"gpt_oss_genai_int4", 3559744, 7536704},
    {"lfm2_moe_genai_int4", 1291008, 3194880},
    {"linear_64_128", 33280, 1048576},
    {"llama", 311458048, 603979776},
    {"llama_genai_bf16", 156785152, 284164096},
    {"llama_genai_fp32", 311457280, 570425344},
    {"llama_genai_int4", 45151744, 70254592},
    {"llama_genai_int4_asymmetric", 145017856, 175112192},
    {"llama_genai_int4_qdq", 144242176, 200278016},
    {"llama_past", 311458048, 570425344},
    {"llama_past_dynamo", 311458560, 603979776},
    {"llama_past_dynamo_opset23_fp16", 155730688, 275775488},
    {"lstm", 68797952, 137363456},
    {"lstm_dynamic_int8", 7650560, 9437184},
    {"lstm_positions8", 68798208, 134217728},
    {"mobilenet_v3_large", 21891328, 36700160},
    {"mobilenet_v3_large_dynamo", 21891328, 36700160},
    {"qwen3_5_genai_int4", 2326272, 3145728},
    {"r3d_18", 133466880, 275775488},
    {"recurrent", 799488, 1048576},
    {"resnet152", 240468480, 267386880},
    {"resnet50", 102121984, 135266304},
    {"resnet50_dynamic", 102121984, 142606336},
    {"resnet50_dynamo", 102121984, 135266304},
    {"resnet50_fp16", 51062016, 66060288},
    {"resnet50_qdq_int8", 25567488, 32505856},
    {"resnet50_qoperator_int8", 1024, 1048576},
    {"ssd300_vgg16", 142735616, 273678336},
    {"swin_t", 115274496, 134217728},
    {"swin_t_dynamic", 114391296, 135266304},
    {"swin_t_dynamo", 115204352, 135266304},
    {"t5_decoder", 232301312, 300941312},
    {"t5_decoder_dynamo", 232302080, 300941312},
    {"t5_encoder", 141325312, 267386880},
    {"t5_merged", 1185024, 3145728},
    {"unet", 470272, 1048576},
    {"vgg16", 553430272, 805306368},
    {"vit_b_16", 346270976, 546308096},
    {"vit_b_16_dynamic", 346271232, 537919488},
    {"vit_b_16_dynamo", 346271744, 537919488},
    {"whisper_encoder", 32833792, 66060288},
    {"whisper_encoder_dynamo", 32834560, 68157440},
    {"yolov8n", 12712704, 15728640},
    {"yolov8n_dynamo", 12712704, 15728640},
};
// clang-format on

}  // namespace

TEST_CASE("an arena serves tensors from its regions, best fit first") {
  constexpr std::int64_t kMega = std::int64_t{1} << 20;
  struct Case {
    std::vector<std::int64_t> tensors;
    std::int64_t regions;
    const char* why;
  };
  const Case cases[] = {
      {{}, 0, "nothing is requested"},
      {{1}, kMega, "the first region has 1 MiB"},
      {{kMega, 1}, 3 * kMega, "the second twice as many"},
      {{kMega, kMega, kMega}, 3 * kMega, "which holds two"},
      {{5 * kMega}, 8 * kMega, "the next power of two"},
      {{kMega, kMega / 2, kMega / 2, kMega}, 3 * kMega, "what is left of a region is split off where it is no smaller than the tensor"},
      {{5 * kMega, 2 * kMega}, 16 * kMega, "3 of 8 MiB are not: the tensor keeps them, and the next region is as large"},
      {{kMega, 3 * kMega}, 5 * kMega, "two MiB do not suffice: 4"},
  };
  for (const Case& each : cases) {
    CAPTURE(std::string(each.why));
    CHECK(region_bytes(each.tensors).total == each.regions);
  }
  // One pass gives both sums: 5 MiB take 8, and the next 9 another region of 16.
  const DeviceArena two = device_arena({5 * kMega}, 9 * kMega);
  CHECK(two.before_last == 8 * kMega);
  CHECK(two.median == 24 * kMega);
  const DeviceArena none = device_arena({});
  CHECK(none.as_requested == 0);
  CHECK(none.high == 0);
}

TEST_CASE("the arena requests what ONNX Runtime's does for the weights of each bundled model") {
  const Provider cuda = documents::find_provider("cuda");
  int near = 0, within = 0;
  for (const Requests& each : kRequests) {
    CAPTURE(std::string(each.model));
    const Model model = load_model(source_path(std::string("models/skeletons/") + each.model + ".onnx"));
    const DeviceArena arena = device_arena(place(model, analyze(model), cuda).weight_bytes);
    const double requested = static_cast<double>(arena.as_requested);
    if (requested > 0.97 * each.as_requested && requested < 1.03 * each.as_requested)
      ++near;
    else
      MESSAGE(each.model, ": ", requested, " of ", each.as_requested);
    if (static_cast<double>(arena.low) <= 1.03 * each.by_default && static_cast<double>(arena.high) >= 0.97 * each.by_default)
      ++within;
    else
      MESSAGE(each.model, ": ", arena.low, " to ", arena.high, ", ", each.by_default);
  }
  // The others keep weights in bodies (t5_merged), or are packed by kernels (MatMulNBits of genai models).
  CHECK(near >= 69);
  CHECK(within >= 71);
  CHECK(std::size(kRequests) == 72);
}

}  // namespace pagoda::test
