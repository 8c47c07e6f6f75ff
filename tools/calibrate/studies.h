// What pagoda-calibrate --here runs, engine by engine.
#pragma once

#include <cstdint>

namespace pagoda::tools {

struct StudyRow {
  const char* model;                     // in models/skeletons, or, without a family, in models/probes
  const char* family;                    // "" marks a probe: it takes part in the fit and is never judged
  std::int64_t batch = 0, sequence = 0;  // 0: as in the file
  const char* named = "";                // the module that PyTorch runs; the file was exported from it
};
// Small enough to run within minutes; together they cover every kernel class, with products of one, few and many rows.
inline constexpr StudyRow kFiles[] = {
    {"resnet50_dynamic", "resnet", 1},
    {"resnet50_dynamic", "resnet", 4},
    {"r3d_18", "resnet"},
    {"deeplabv3_resnet50", "resnet"},
    {"resnet50_qdq_int8", "resnet"},
    {"resnet50_qoperator_int8", "resnet"},
    {"mobilenet_v3_large", "mobilenet"},
    {"efficientnet_b0", "efficientnet"},
    {"densenet121_dynamic", "densenet", 1},
    {"googlenet", "inception"},
    {"alexnet", "vgg"},
    {"vgg16", "vgg"},
    {"unet", "unet", 2},
    {"yolov8n", "yolo"},
    {"convnext_tiny", "convnext"},
    {"swin_t", "swin"},
    {"swin_t_dynamic", "swin", 2},
    {"vit_b_16_dynamic", "vit", 1},
    {"vit_b_16_dynamo", "vit"},
    {"bert_base", "bert", 1, 1},
    {"bert_base", "bert", 1, 16},
    {"bert_base", "bert", 1, 128},
    {"bert_base", "bert", 8, 32},
    {"bert_base_dynamo", "bert", 1, 64},
    {"bert_base_fused", "bert", 1, 128},
    {"bert_base_fused_dynamic_int8", "bert", 1, 128},
    {"gpt2", "gpt2", 1, 1},
    {"gpt2", "gpt2", 1, 8},
    {"gpt2", "gpt2", 1, 64},
    {"t5_encoder", "t5", 1, 16},
    {"t5_encoder", "t5", 1, 128},
    {"llama", "llama", 1, 1},
    {"llama", "llama", 1, 96},
    {"whisper_encoder", "whisper"},
    {"lstm", "lstm", 2},
    {"image_16_112", ""},
    {"image_24_56", ""},
    {"image_64_56", ""},
    {"image_40_28", ""},
    {"image_128_28", ""},
    {"image_112_14", ""},
    {"image_256_14", ""},
    {"image_160_7", ""},
    {"image_512_7", ""},
    {"sequence_1_768", ""},
    {"sequence_4_512", ""},
    {"sequence_12_768", ""},
    {"sequence_20_256", ""},
    {"sequence_49_512", ""},
    {"sequence_100_192", ""},
    {"sequence_196_384", ""},
    {"sequence_400_128", ""},
    {"sequence_1024_96", ""},
    {"integers", ""},
    {"recurrent", ""},
};
// In float32, which the CUDA provider runs on the device alone. Each at a batch at which launches decide, some also at one
// at which work does; the shorter to load first, so that an interrupted study has both kinds.
inline constexpr StudyRow kCudaFiles[] = {
    {"resnet50_dynamic", "resnet", 1},
    {"resnet50_dynamic", "resnet", 16},
    {"bert_base", "bert", 1, 128},
    {"bert_base", "bert", 8, 128},
    {"vit_b_16_dynamic", "vit", 1},
    {"vit_b_16_dynamic", "vit", 16},
    {"mobilenet_v3_large", "mobilenet"},
    {"alexnet", "vgg"},
    {"gpt2", "gpt2", 1, 64},
    {"t5_encoder", "t5", 1, 128},
    {"llama", "llama", 1, 96},
    {"convnext_tiny", "convnext"},
    {"swin_t", "swin"},
    {"swin_t_dynamic", "swin", 8},
    {"unet", "unet", 2},
    {"yolov8n", "yolo"},
    {"googlenet", "inception"},
    {"whisper_encoder", "whisper"},
    {"lstm", "lstm", 2},
    {"bert_base_dynamo", "bert", 1, 64},
    {"bert_base_fused", "bert", 1, 128},
    {"vit_b_16_dynamo", "vit"},
    {"vgg16", "vgg"},
    {"efficientnet_b0", "efficientnet"},
    {"densenet121_dynamic", "densenet", 1},
    {"densenet121_dynamic", "densenet", 8},
};
// torchvision's and, where it is installed, transformers'.
inline constexpr StudyRow kModules[] = {
    {"resnet50_dynamic", "resnet", 1, 0, "resnet50"},
    {"resnet50_dynamic", "resnet", 8, 0, "resnet50"},
    {"resnet152", "resnet", 1, 0, "resnet152"},
    {"mobilenet_v3_large", "mobilenet", 1, 0, "mobilenet_v3_large"},
    {"mobilenet_v3_large", "mobilenet", 8, 0, "mobilenet_v3_large"},
    {"efficientnet_b0", "efficientnet", 1, 0, "efficientnet_b0"},
    {"efficientnet_b0", "efficientnet", 4, 0, "efficientnet_b0"},
    {"densenet121_dynamic", "densenet", 1, 0, "densenet121"},
    {"densenet121_dynamic", "densenet", 4, 0, "densenet121"},
    {"googlenet", "inception", 1, 0, "googlenet"},
    {"googlenet", "inception", 8, 0, "googlenet"},
    {"alexnet", "alexnet", 1, 0, "alexnet"},
    {"alexnet", "alexnet", 16, 0, "alexnet"},
    {"vgg16", "vgg", 1, 0, "vgg16"},
    {"convnext_tiny", "convnext", 1, 0, "convnext_tiny"},
    {"convnext_tiny", "convnext", 4, 0, "convnext_tiny"},
    {"swin_t_dynamic", "swin", 1, 0, "swin_t"},
    {"swin_t_dynamic", "swin", 4, 0, "swin_t"},
    {"vit_b_16_dynamic", "vit", 1, 0, "vit_b_16"},
    {"vit_b_16_dynamic", "vit", 4, 0, "vit_b_16"},
    {"bert_base", "bert", 1, 16, "bert-base-uncased"},
    {"bert_base", "bert", 1, 128, "bert-base-uncased"},
    {"bert_base", "bert", 8, 64, "bert-base-uncased"},
};

}  // namespace pagoda::tools
