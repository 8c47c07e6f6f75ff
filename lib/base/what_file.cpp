// The tables of file kinds: by first bytes, by member files of a ZIP, by fields of protobuf, by words of JSON and text,
// by the end of the name. The first row that fits decides.
#include "pagoda/base/what_file.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <filesystem>
#include <optional>
#include <vector>

#include "pagoda/base/cat.h"
#include "pagoda/base/decoded.h"
#include "pagoda/base/open_file.h"
#include "pagoda/base/text.h"

namespace pagoda::base {
namespace {

using namespace std::string_view_literals;
using enum FileForm;

// The commands and remedies that several rows share.
constexpr std::string_view kExport = "export the original model to ONNX";
constexpr std::string_view kUnpack = "unpack it first";
constexpr std::string_view kNcu = "export it: ncu --import FILE --csv --page raw";
constexpr std::string_view kNsys = "export it: nsys stats --report cuda_gpu_trace --format csv FILE";
constexpr std::string_view kTorch = "export the model: torch.onnx.export";
constexpr std::string_view kKeras = "convert it: python3 -m tf2onnx.convert --keras FILE --output model.onnx";
constexpr std::string_view kTensorFlow = "convert it: python3 -m tf2onnx.convert";
constexpr std::string_view kTextModel = "convert it to a binary .onnx file with onnx.save";
constexpr std::string_view kDownload = "download the file itself, by its link to the raw content";
constexpr std::string_view kAgain = "write or download it again";
constexpr std::string_view kImport = "pagoda-import reads it";

struct Row {
  std::string_view sign;  // bytes of the file or of its name
  FileForm form;
  std::string_view what, remedy;
  std::size_t at = 0;  // of first bytes
  WhatFile file() const { return {form, std::string(what), std::string(remedy)}; }
};

// clang-format off
constexpr Row kFirstBytes[] = {
    // first bytes                    form        what                                                    remedy                                 at
    {"version https://git-lfs"sv,     Other,      "a Git LFS pointer",                                    "run 'git lfs pull' to fetch the file"},
    {kGzip,                           Other,      "compressed by gzip",                                   "decompress it first: gzip -d FILE"},
    {kZstd,                           Other,      "compressed by zstd",                                   "decompress it first: zstd -d FILE"},
    {kXz,                             Other,      "compressed by xz",                                     "decompress it first: xz -d FILE"},
    {"BZh"sv,                         Other,      "compressed by bzip2",                                  "decompress it first: bzip2 -d FILE"},
    {"\x04\x22\x4d\x18"sv,            Other,      "compressed by lz4",                                    "decompress it first: lz4 -d FILE"},
    {"7z\xbc\xaf\x27\x1c"sv,          Other,      "a 7z archive",                                         kUnpack},
    {"Rar!\x1a\x07"sv,                Other,      "a RAR archive",                                        kUnpack},
    {"ustar"sv,                       Other,      "a tar archive",                                        kUnpack,                               257},
    {"\x89PNG\r\n"sv,                 Other,      "a PNG image",                                          ""},
    {"\xff\xd8\xff"sv,                Other,      "a JPEG image",                                         ""},
    {"GIF8"sv,                        Other,      "a GIF image",                                          ""},
    {"WEBP"sv,                        Other,      "a WebP image",                                         "",                                    8},
    {"%PDF"sv,                        Other,      "a PDF document",                                       ""},
    {"\xd0\xcf\x11\xe0\xa1\xb1"sv,    Other,      "a document of Microsoft Office",                       "save its sheet as CSV"},
    {"\x7f" "ELF"sv,                  Other,      "a program or library (ELF)",                           ""},
    {"MZ\x90\0"sv,                    Other,      "a program or library of Windows",                      ""},
    {"\xcf\xfa\xed\xfe"sv,            Other,      "a program or library of macOS",                        ""},
    {"SQLite format 3"sv,             Other,      "an SQLite database, as Nsight Systems and rocprofv3 write",
                                                  "export it as CSV: nsys stats --report cuda_gpu_trace --format csv FILE, or rocprofv3 --output-format csv"},
    {"NVR"sv,                         Other,      "a report of Nsight Compute",                           kNcu},
    {"PAR1"sv,                        Other,      "a Parquet table",                                      "save it as CSV"},
    {"ARROW1"sv,                      Other,      "an Arrow table",                                       "save it as CSV"},
    {"ORTM"sv,                        OtherModel, "a model in ONNX Runtime's ORT format",                 "use the .onnx file it was made from", 4},
    {"ftrt"sv,                        OtherModel, "a TensorRT engine",                                    "use the .onnx file it was built from"},
    {"ptrt"sv,                        OtherModel, "a TensorRT engine",                                    "use the .onnx file it was built from"},
    {"{\"description\": \"Ultra"sv,   OtherModel, "a TensorRT engine, as Ultralytics saves it",           "use the .onnx file it was built from", 4},
    {"TFL3"sv,                        OtherModel, "a TensorFlow Lite model",                              "convert it: python3 -m tf2onnx.convert --tflite FILE --output model.onnx", 4},
    {"ET12"sv,                        OtherModel, "an ExecuTorch program",                                kTorch,                                4},
    {"ET13"sv,                        OtherModel, "an ExecuTorch program",                                kTorch,                                4},
    {"\0\0\0{\""sv,                   OtherModel, "weights in the safetensors format, without a graph",   "export their model to ONNX",          5},
    {"GGUF"sv,                        OtherModel, "a GGUF model",                                         kExport},
    {"lmgg"sv,                        OtherModel, "a GGML model",                                         kExport},
    {"tjgg"sv,                        OtherModel, "a GGML model",                                         kExport},
    {"RKNN"sv,                        OtherModel, "a model of RKNN",                                      "use the .onnx file it was made from"},
    {"\x89HDF\r\n"sv,                 OtherModel, "an HDF5 file, as Keras writes",                        kKeras},
    {"\x80\x02"sv,                    OtherModel, "a Python pickle, as PyTorch checkpoints are",          kTorch},
    {"\x80\x03"sv,                    OtherModel, "a Python pickle",                                      kTorch},
    {"\x80\x04"sv,                    OtherModel, "a Python pickle",                                      kTorch},
    {"\x80\x05"sv,                    OtherModel, "a Python pickle",                                      kTorch},
    {"\x93NUMPY"sv,                   OtherModel, "a NumPy array",                                        "name the model"},
    {"7767517\n"sv,                   OtherModel, "an ncnn model (.param)",                               kExport},
    {"\xdd\x85\x76\0"sv,              OtherModel, "an ncnn model (.param.bin)",                           kExport},
    {"ML\xefR"sv,                     OtherModel, "MLIR bytecode",                                        kExport},
    {"BC\xc0\xde"sv,                  OtherModel, "LLVM bitcode",                                         kExport},
    {"\xff\xfe\0\0"sv,                Other,      "UTF-32",                                               "convert it first: iconv -f UTF-32 -t UTF-8 FILE"},
    {"\0\0\xfe\xff"sv,                Other,      "UTF-32",                                               "convert it first: iconv -f UTF-32 -t UTF-8 FILE"},
    {"\xff\xfe"sv,                    Other,      "UTF-16",                                               "convert it first: iconv -f UTF-16 -t UTF-8 FILE"},
    {"\xfe\xff"sv,                    Other,      "UTF-16",                                               "convert it first: iconv -f UTF-16 -t UTF-8 FILE"},
};

// Names of files near the beginning of a ZIP.
constexpr Row kInZip[] = {
    {"[Content_Types].xml"sv,         Other,      "a workbook or document of Office",                     "save its sheet as CSV"},
    {"META-INF/"sv,                   Other,      "a Java archive",                                       ""},
    {"constants.pkl"sv,               OtherModel, "a TorchScript model",                                  kTorch},
    {"serialized_exported_program"sv, OtherModel, "a program of torch.export (.pt2)",                     kTorch},
    {"archive_format"sv,              OtherModel, "a program of torch.export (.pt2)",                     kTorch},
    {"data.pkl"sv,                    OtherModel, "a PyTorch checkpoint",                                 kTorch},
    {".data/serialization_id"sv,      OtherModel, "a PyTorch checkpoint",                                 kTorch},
    {".npy"sv,                        OtherModel, "an archive of NumPy arrays",                           "name the model"},
    {"model.weights.h5"sv,            OtherModel, "a Keras model",                                        kKeras},
    {"metadata.json"sv,               OtherModel, "a Keras model",                                        kKeras},
    {".mlmodel"sv,                    OtherModel, "a Core ML package",                                    kExport},
    {".onnx"sv,                       Other,      "a ZIP archive with an ONNX model",                     kUnpack},
    {""sv,                            Other,      "a ZIP archive",                                        kUnpack},
};

// First letters of text behind white space, in lower case. Markup has a table of its own.
constexpr Row kTextBegins[] = {
    {"ir_version:"sv,                 OtherModel, "an ONNX model as protobuf text",                       kTextModel},
    {"graph(%"sv,                     OtherModel, "text that torch.onnx prints of a model",               "torch.onnx.export() writes the model itself"},
    {"node {"sv,                      OtherModel, "a TensorFlow graph as protobuf text",                  kTensorFlow},
    {"layer {"sv,                     OtherModel, "a Caffe model (prototxt)",                             kExport},
    {"module {"sv,                    OtherModel, "an MLIR module",                                       kExport},
    {"module @"sv,                    OtherModel, "an MLIR module",                                       kExport},
    {"module attributes"sv,           OtherModel, "an MLIR module",                                       kExport},
    {"#!"sv,                          Text,       "a script",                                             ""},
    {"outs:\n- md5:"sv,               Other,      "a pointer of DVC",                                     "run 'dvc pull' to fetch the file"},
    {"---"sv,                         Text,       "YAML",                                                 "write it as JSON"},
    {"# "sv,                          Text,       "text (Markdown, YAML or a script)",                    ""},
    {"```"sv,                         Text,       "Markdown",                                             ""},
    {"|"sv,                           Text,       "a table of Markdown",                                  "save it as CSV"},
    {"index,name,"sv,                 Table,      "a table that onnx-estimate prints",                    "pagoda-import reads profiles, and an estimate as JSON"},
    {"model,batch,macs,"sv,           Table,      "a sweep that onnx-estimate prints",                    ""},
    {"name,op_type,nodes,nvtx,"sv,    Table,      "a table that pagoda-import writes of kernels",         "pagoda-import reads its own JSON, not its CSV"},
    {"==prof=="sv,                    Text,       "what Nsight Compute prints",                           "print a table: ncu --csv --page raw"},
};

// Words near the beginning of other text.
constexpr Row kInText[] = {
    {"\nlayer {"sv,                   OtherModel, "a Caffe model (prototxt)",                             kExport},
    {"=== Profile ("sv,               Text,       "what trtexec prints",                                  "pagoda-import reads the file of its --exportProfile"},
    {"&&&& RUNNING TensorRT"sv,       Text,       "what trtexec prints",                                  "pagoda-import reads the file of its --exportProfile"},
    {"does not contain CUDA kernel"sv,Text,       "an empty report of nsys: no kernels were traced",      "run nsys profile --trace cuda with a program that uses the GPU"},
    {"== Profiling result:"sv,        Text,       "what nvprof prints",                                   "profile with nsys, and print nsys stats --report cuda_gpu_trace --format csv"},
    {"** CUDA "sv,                    Text,       "a report of nsys in columns",                          "print it with nsys stats --report cuda_gpu_trace --format csv"},
    {"] [I] "sv,                      Text,       "a log",                                                ""},
};

// Words near the beginning of text that begins with '<': XML, HTML or an ONNX model. Pages may contain drawings.
constexpr Row kInMarkup[] = {
    {"<!doctype html"sv,              Other,      "a web page (HTML), saved in place of the file",        kDownload},
    {"<html"sv,                       Other,      "a web page (HTML), saved in place of the file",        kDownload},
    {"<error>"sv,                     Other,      "an error of the server (XML), saved in place of the file", kDownload},
    {"<net "sv,                       OtherModel, "an OpenVINO model (IR)",                               kExport},
    {"<svg"sv,                        Other,      "an SVG image",                                         ""},
    {"ir_version:"sv,                 OtherModel, "an ONNX model as text",                                kTextModel},
    {""sv,                            Other,      "XML",                                                  ""},
};

// Members of JSON that say what it is.
constexpr Row kInJson[] = {
    {"\"irVersion\""sv,               Json,       "an ONNX model in JSON form",                           kTextModel},
    {"\"ir_version\""sv,              Json,       "an ONNX model in JSON form",                           kTextModel},
    {"\"base_code\""sv,               Json,       "a PaddlePaddle model",                                 "convert it: paddle2onnx"},
    {"\"modelTopology\""sv,           Json,       "a TensorFlow.js model",                                kTensorFlow},
    {"\"weight_map\""sv,              Json,       "the index of safetensors",                             "export their model to ONNX"},
    {"\"architectures\""sv,           Json,       "the configuration of a Hugging Face model",            "export the model: optimum-cli export onnx"},
    {"\"nbformat\""sv,                Json,       "a Jupyter notebook",                                   ""},
    {"\"documentation_url\""sv,       Json,       "an answer of GitHub, saved in place of the file",      kDownload},
    {"\"_kernel_time\""sv,            Json,       "a profile of ONNX Runtime",                            kImport},
    {"\"Session\""sv,                 Json,       "a profile of ONNX Runtime",                            kImport},
    {"\"startComputeMs\""sv,          Json,       "times of whole runs (trtexec --exportTimes)",          "pagoda-import reads those of layers (--exportProfile)"},
    {"\"timeMs\""sv,                  Json,       "a profile of TensorRT",                                kImport},
    {"\"averageMs\""sv,               Json,       "a profile of TensorRT",                                kImport},
    {"\"Layers\""sv,                  Json,       "layer information of TensorRT",                        "pagoda-import --layers reads it beside a profile"},
    {"\"traceEvents\""sv,             Json,       "a trace (Chrome's form)",                              kImport},
    {""sv,                            Json,       "JSON of no known kind",                                ""},
};

// Pagoda's documents; /1 and later versions.
constexpr Row kSchemas[] = {
    {"pagoda.estimate/"sv,            Json,       "an estimate",                                          "pagoda-import and roofline-plot read it with --estimate"},
    {"pagoda.device/"sv,              Json,       "a device",                                             "`device` reads it"},
    {"pagoda.ceilings/"sv,            Json,       "ceilings of a machine",                                "`device` reads it, and roofline-plot as ceilings"},
    {"pagoda.measured/"sv,            Json,       "a measurement",                                        "`measured` reads it"},
    {"pagoda.calibration/"sv,         Json,       "a calibration",                                        "`calibration` reads it"},
    {"pagoda.cpu-calibration/"sv,     Json,       "a calibration of a CPU",                               "`calibration` reads it"},
    {"pagoda.tensorrt-calibration/"sv,Json,       "a calibration of TensorRT",                            "`calibration` reads it"},
    {"pagoda.serving-calibration/"sv, Json,       "a calibration of serving",                             "`calibration` reads it"},
    {"pagoda.provider/"sv,            Json,       "a provider of ONNX Runtime",                           "`provider` reads it"},
    {"pagoda.custom-operators/"sv,    Json,       "custom operators",                                     "`custom_ops` reads it"},
    {"pagoda.result/"sv,              Json,       "results of pagoda-bench",                              "pagoda-report reads them"},
    {"pagoda.metrics/"sv,             Json,       "metrics of a chip",                                    ""},
    {"pagoda.chart/"sv,               Json,       "the data of a chart",                                  ""},
    {"pagoda.comparison/"sv,          Json,       "a comparison",                                         ""},
    {"pagoda.engines/"sv,             Json,       "a comparison of engines",                              ""},
    {"pagoda.pipeline/"sv,            Json,       "a report of several models",                           ""},
    {"pagoda.structure/"sv,           Json,       "the structure of a model",                             ""},
    {"pagoda.doctor/"sv,              Json,       "a report of pagoda-doctor",                            ""},
    {"pagoda.list/"sv,                Json,       "a list",                                               ""},
};

// Ends of names, for bytes without a sign of their own.
constexpr Row kNames[] = {
    {".ncu-rep"sv,                    Other,      "a report of Nsight Compute",                           kNcu},
    {".nsys-rep"sv,                   Other,      "a report of Nsight Systems",                           kNsys},
    {".qdrep"sv,                      Other,      "a report of Nsight Systems",                           kNsys},
    {".engine"sv,                     OtherModel, "a TensorRT engine, by its name",                       "use the .onnx file it was built from"},
    {".plan"sv,                       OtherModel, "a TensorRT engine, by its name",                       "use the .onnx file it was built from"},
    {".trt"sv,                        OtherModel, "a TensorRT engine, by its name",                       "use the .onnx file it was built from"},
    {".mnn"sv,                        OtherModel, "an MNN model, by its name",                            kExport},
    {".pdiparams"sv,                  OtherModel, "weights of PaddlePaddle, by the name",                 "convert the model: paddle2onnx"},
    {".onnx_data"sv,                  OtherModel, "weights of an ONNX model, by the name",                "name the .onnx file beside them"},
    {".onnx.data"sv,                  OtherModel, "weights of an ONNX model, by the name",                "name the .onnx file beside them"},
    {".bin"sv,                        OtherModel, "raw data, as weights of OpenVINO, ncnn and PyTorch are", "name the model that they belong to"},
    {".pt"sv,                         OtherModel, "a PyTorch file, by its name",                          kTorch},
    {".pth"sv,                        OtherModel, "a PyTorch file, by its name",                          kTorch},
};

constexpr Row kUrls[] = {
    {"https://"sv,                    Other,      "a URL",                                                "curl -LO "},
    {"http://"sv,                     Other,      "a URL",                                                "curl -LO "},
    {"ftp://"sv,                      Other,      "a URL",                                                "curl -LO "},
    {"hf://"sv,                       Other,      "a URL of Hugging Face",                                "hf download "},
    {"s3://"sv,                       Other,      "a URL of S3",                                          "aws s3 cp "},
    {"gs://"sv,                       Other,      "a URL of Google Cloud",                                "gcloud storage cp "},
};

// Files by which a folder is a model.
constexpr Row kInFolder[] = {
    {"saved_model.pb"sv,              OtherModel, "a TensorFlow SavedModel",                              "convert it: python3 -m tf2onnx.convert --saved-model FILE --output model.onnx"},
    {"Manifest.json"sv,               OtherModel, "a Core ML package",                                    kExport},
    {"__model__"sv,                   OtherModel, "a PaddlePaddle model",                                 "convert it: paddle2onnx"},
    {"inference.pdmodel"sv,           OtherModel, "a PaddlePaddle model",                                 "convert it: paddle2onnx"},
    {"model.safetensors"sv,           OtherModel, "a Hugging Face model",                                 "export it: optimum-cli export onnx -m FILE onnx"},
    {"model.safetensors.index.json"sv,OtherModel, "a Hugging Face model",                                 "export it: optimum-cli export onnx -m FILE onnx"},
};
// clang-format on

#ifdef _WIN32
constexpr std::string_view kExpand = "name the files, or in PowerShell: (Get-Item PATTERN)";
#else
constexpr std::string_view kExpand = "remove its quotes, check that files match it, or name them";
#endif
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::size_t kBeginning = 4096, kHead = std::size_t{1} << 16;

template <std::size_t N>
std::optional<WhatFile> first_within(const Row (&rows)[N], std::string_view text) {
  for (const Row& row : rows)
    if (text.find(row.sign) != std::string_view::npos) return row.file();
  return std::nullopt;
}

template <std::size_t N>
const Row* first_that_begins(const Row (&rows)[N], std::string_view text) {
  const auto* const row =
      std::ranges::find_if(rows, [&](const Row& each) { return text.substr(0, each.sign.size()) == each.sign; });
  return row == std::end(rows) ? nullptr : row;
}

template <std::size_t N>
const Row* first_that_ends(const Row (&rows)[N], std::string_view name) {
  const auto* const row = std::ranges::find_if(rows, [&](const Row& each) { return name.ends_with(each.sign); });
  return row == std::end(rows) ? nullptr : row;
}

std::optional<WhatFile> by_first_bytes(std::string_view bytes) {
  for (const Row& row : kFirstBytes)
    if (bytes.size() > row.at && bytes.substr(row.at).starts_with(row.sign)) return row.file();
  if (bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06"))
    return first_within(kInZip, bytes.substr(0, kBeginning));
  return std::nullopt;
}

// Top-level fields of a protobuf message, as far as its headers can be followed.
struct Fields {
  std::bitset<1024> seen;
  std::string_view first;  // of the first field with bytes
  bool begins_with_bytes = false;
};

std::optional<std::uint64_t> varint(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Empty if the bytes are not a protobuf message.
std::optional<Fields> fields_of(std::string_view bytes) {
  constexpr int kEnough = 65'536;
  Fields fields;
  std::size_t at = 0;
  for (int i = 0; i < kEnough && at < bytes.size(); ++i) {
    const auto tag = varint(bytes, at);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 >= fields.seen.size()) return std::nullopt;
    fields.seen.set(*tag >> 3);
    const auto type = *tag & 7;
    if (type != 0 && type != 1 && type != 2 && type != 5) return std::nullopt;
    std::uint64_t length = type == 1 ? 8 : type == 5 ? 4 : 0;
    if (type == 0 || type == 2) {
      const auto value = varint(bytes, at);
      if (!value) return std::nullopt;
      if (type == 2) length = *value;
    }
    if (type == 2 && fields.first.empty()) {
      fields.first = bytes.substr(at, static_cast<std::size_t>(std::min<std::uint64_t>(length, bytes.size() - at)));
      fields.begins_with_bytes = i == 0;
    }
    if (length > bytes.size() - at) break;  // cut off, or the head of a longer file
    at += static_cast<std::size_t>(length);
  }
  return fields;
}

// Models are messages that begin with a version or with nodes.
std::optional<WhatFile> by_fields(std::string_view bytes) {
  const std::optional<Fields> fields = fields_of(bytes);
  if (!fields || bytes.size() < 4) return std::nullopt;
  const auto has = [&](std::size_t field) { return fields->seen[field]; };
  const auto made = [](FileForm form, std::string_view what, std::string_view remedy) {
    return WhatFile{form, std::string(what), std::string(remedy)};
  };
  if (fields->begins_with_bytes) {
    // NodeDef: name, operator. BlockDesc: index 0, parent -1.
    if (fields->first.starts_with("\x08\0\x10\xff\xff\xff\xff"sv))
      return made(OtherModel, "a PaddlePaddle model", "convert it: paddle2onnx");
    std::size_t at = 1;
    const auto name = fields->first.starts_with('\n') ? varint(fields->first, at) : std::nullopt;
    if (name && *name < fields->first.size() - at && fields->first[at + static_cast<std::size_t>(*name)] == '\x12')
      return made(OtherModel, "a TensorFlow graph (GraphDef)", kTensorFlow);
    if (has(100)) return made(OtherModel, "a Caffe model", kExport);
    return std::nullopt;
  }
  if (!has(1) || fields->first.empty()) return std::nullopt;
  for (std::size_t type = 200; type < fields->seen.size(); ++type)
    if (has(type)) return made(OtherModel, "a Core ML model", kExport);
  if (has(7)) return made(Onnx, "an ONNX model", "onnx-estimate reads it");
  if (has(2) && fields->seen.count() == 2 && (fields->first[0] == '\n' || fields->first[0] == '\x12'))
    return made(OtherModel, "a TensorFlow SavedModel", kTensorFlow);
  return std::nullopt;
}

bool is_text(std::string_view head) {
  const auto is_control = [](char character) {
    const auto c = static_cast<unsigned char>(character);
    return (c < 0x20 && kSpace.find(character) == std::string_view::npos && c != 0x1b && c != 0x0c) || c == 0x7f;
  };
  return std::ranges::none_of(head, is_control);
}

// ASCII text in UTF-16 has a zero in every other byte.
std::string_view utf16_without_mark(std::string_view head) {
  const std::size_t pairs = std::min<std::size_t>(head.size() / 2, 32);
  std::size_t low = 0, high = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const bool first = head[2 * i] == 0, second = head[2 * i + 1] == 0;
    low += !first && second && is_text(head.substr(2 * i, 1)) ? 1 : 0;
    high += first && !second && is_text(head.substr(2 * i + 1, 1)) ? 1 : 0;
  }
  if (pairs < 2) return "";
  return low == pairs ? "UTF-16LE" : high == pairs ? "UTF-16BE" : "";
}

// "[study]" begins TOML, "[1, 2" a list.
bool is_json(std::string_view text) {
  if (text.front() == '{') return true;
  if (text.front() != '[') return false;
  const std::size_t next = text.find_first_not_of(kSpace, 1);
  if (next == std::string_view::npos) return true;
  // A log may begin with a date in brackets.
  const std::size_t digits = std::min(text.find_first_not_of("0123456789", next), text.size() - 1);
  if (digits > next && "/:-"sv.find(text[digits]) != std::string_view::npos) return false;
  if ("\"{}[]-0123456789"sv.find(text[next]) != std::string_view::npos) return true;
  for (const std::string_view word : {"true", "false", "null", "nan", "NaN", "NAN", "Infinity", "inf", "Inf", "INF"})
    if (text.substr(next).starts_with(word)) return text.substr(next + word.size()).find_first_of(",]") == 0;
  return false;
}

// Whether the first two lines have the same number of commas, semicolons or tabs.
bool is_table(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view first = text.substr(0, end), second = text.substr(end + 1, text.find('\n', end + 1) - end - 1);
  return std::ranges::any_of(",;\t"sv, [&](char separator) {
    const auto cells = std::ranges::count(first, separator);
    const bool is_member = first.find("\":") != std::string_view::npos;  // of JSON that lost its beginning
    return cells > 0 && std::ranges::count(second, separator) == cells && !is_member;
  });
}

// "key: value" or "key = value".
std::optional<WhatFile> settings(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t word = line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
  if (line.starts_with('[') && line.find_last_not_of(kSpace) == line.find(']')) return WhatFile{Text, "TOML", ""};
  if (word == 0 || word == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(word);
  if (rest == ":" || rest == ":\r" || rest.starts_with(": ")) return WhatFile{Text, "YAML", "write it as JSON"};
  if (rest.starts_with(" = ") || rest.starts_with("=")) return WhatFile{Text, "TOML or settings", ""};
  return std::nullopt;
}

std::optional<WhatFile> by_json(std::string_view text) {
  constexpr std::string_view kSchema = "\"schema\"", kOurs = "\"pagoda.";
  const std::size_t schema = text.find(kSchema);
  const std::size_t name =
      schema == std::string_view::npos ? schema : text.find_first_not_of(" \t\r\n:", schema + kSchema.size());
  if (name != std::string_view::npos && text.substr(name).starts_with(kOurs))
    if (const Row* row = first_that_begins(kSchemas, text.substr(name + 1))) {
      const std::string_view id = text.substr(name + 1, text.find('"', name + 1) - name - 1);
      return WhatFile{Json, cat(row->what, " (", id, ")"), std::string(row->remedy)};
    }
  return first_within(kInJson, text);
}

WhatFile by_text(std::string_view text) {
  if (is_json(text)) return *by_json(text);
  if (text.front() == '<') return *first_within(kInMarkup, lower(text.substr(0, kBeginning)));
  if (const Row* row = first_that_begins(kTextBegins, lower(text.substr(0, 64)))) return row->file();
  if (auto known = first_within(kInText, text.substr(0, kBeginning))) return *std::move(known);
  if (is_table(text)) return {Table, "a table (CSV)", ""};
  const std::optional<WhatFile> known = settings(text);
  return known ? *known : WhatFile{Text, "text", ""};
}

// The command with the path in place of FILE, unless a shell would need quotes around it.
std::string with_path(std::string command, std::string_view path) {
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           "/._-+:=,@"sv.find(c) != std::string_view::npos;
  };
  constexpr std::string_view kFile = "FILE";
  const std::size_t at = command.find(kFile);
  if (at != std::string::npos && !path.empty() && path[0] != '-' && std::ranges::all_of(path, is_safe))
    command.replace(at, kFile.size(), path);
  return command;
}

std::string with_remedy(const std::string& what, std::string_view remedy) {
  return remedy.empty() ? what : cat(what, "; ", remedy);
}

WhatFile kind_of(std::string_view bytes, std::string_view path) {
  if (bytes.empty()) return {Nothing, "empty", std::string(kAgain)};
  if (auto known = by_first_bytes(bytes)) return *std::move(known);
  const std::string_view head = bytes.substr(0, kHead);
  if (head.find_first_not_of('\0') == std::string_view::npos)
    return {Nothing, "zeros at its beginning, as a download cut short may be", std::string(kAgain)};
  if (const std::string_view encoding = utf16_without_mark(head); !encoding.empty())
    return {Other, "UTF-16 without a byte order mark", cat("convert it first: iconv -f ", encoding, " -t UTF-8 FILE")};
  std::string_view text = head;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (text.empty()) return {Nothing, "white space alone", std::string(kAgain)};
  // Strings of JSON may hold control characters.
  if (is_text(head) || (is_json(text) && is_text(text.substr(0, 16)))) return by_text(text);
  if (auto known = by_fields(bytes)) return *std::move(known);
  if (const Row* row = first_that_ends(kNames, lower(path))) return row->file();
  return {Unknown, "binary data of no known kind", ""};
}

}  // namespace

WhatFile what_file(std::string_view bytes, std::string_view path) {
  WhatFile file = kind_of(bytes, path);
  file.remedy = with_path(std::move(file.remedy), path);
  return file;
}

bool fits(FileForm form, Reads reads) {
  switch (reads) {
    case Reads::Model:
      return form == Onnx || form == Unknown;
    case Reads::Json:
      return form == Json;
    case Reads::Table:
      return form == Table || form == Text;
    case Reads::Profile:
    case Reads::Text:
      return form == Table || form == Text || form == Json;
  }
  return false;
}

std::string is_what(const WhatFile& file, Reads reads) {
  const bool is_of_use = file.form != OtherModel || reads == Reads::Model;
  return with_remedy("is " + file.what, is_of_use ? std::string_view(file.remedy) : "");
}

void expect_file(std::string_view bytes, std::string_view subject, Reads reads, std::string_view expected) {
  const WhatFile file = what_file(bytes, subject);
  if (!fits(file.form, reads)) fail(subject, cat(is_what(file, reads), "; expected ", expected));
}

std::string is_document(std::string_view schema, std::string_view expected) {
  if (schema.empty()) return "";
  const Row* row = first_that_begins(kSchemas, schema);
  if (row == nullptr) return cat("has schema \"", schema, "\"");
  const std::string what = cat("is ", row->what, " (", schema, ")");
  if (expected.find(row->sign) != std::string_view::npos) return what + ", as another version of Pagoda writes it";
  return with_remedy(what, row->remedy);
}

std::string why_not_opened(const std::string& path, int error) {
  if (const Row* row = first_that_begins(kUrls, path)) {
    std::string url = path;
    // The page of a file, and the file itself.
    for (const auto& [page, raw] : {std::pair("github.com/", "/raw/"), {"huggingface.co/", "/resolve/"}})
      if (const std::size_t blob = url.find("/blob/"); blob != std::string::npos && url.find(page) < blob)
        url.replace(blob, 6, raw);
    if (path.starts_with("hf://")) {  // owner/repository/file
      url.erase(0, 5);
      if (const std::size_t file = url.find('/', url.find('/') + 1); file != std::string::npos) url[file] = ' ';
    }
    const bool is_copied = row->remedy.find("cp") != std::string_view::npos;
    return cat("is ", row->what, "; download it first: ", row->remedy, url, is_copied ? " ." : "");
  }
  if (path == "-") return "is standard input, which is not read here; save it to a file first";
  if (path.starts_with("file://")) return "is a URL; name the path alone: " + path.substr(7);
  if (path.find("://") != std::string::npos) return "is a URL; download it first";
  if (path.find_first_of("*?[") != std::string::npos)
    return "is a pattern that the shell did not expand; " + std::string(kExpand);
  return cat("cannot be opened: ", error_text(error));
}

std::string is_folder(const std::string& path, Reads reads) {
  namespace fs = std::filesystem;
  constexpr std::array<std::string_view, 5> kFileEndings = {".onnx", ".json", ".csv", ".json", ""};  // by Reads
  constexpr std::size_t kMost = 3, kLooked = 10'000;
  const std::string_view ending = kFileEndings[static_cast<std::size_t>(reads)];
  std::vector<std::string> names;
  std::optional<WhatFile> kind;
  std::error_code stop;
  std::size_t looked = 0;
  for (fs::directory_iterator at(path, stop), end; !stop && at != end && ++looked < kLooked; at.increment(stop)) {
    const std::string name = at->path().filename().string();
    if (!ending.empty() && name.ends_with(ending)) names.push_back(name);
    for (const Row& row : kInFolder)
      if (name == row.sign) kind = row.file();
  }
  std::ranges::sort(names);
  if (!names.empty() && (reads != Reads::Model || !kind)) {
    const std::size_t others = names.size() - std::min(names.size(), kMost);
    names.resize(names.size() - others);
    return cat("is a folder; name a file in it: ", joined(names),
               others > 0 ? cat(" and ", others, " more") : "");
  }
  if (kind && reads == Reads::Model) {
    const std::string what = cat("is a folder: ", kind->what);
    return with_remedy(what, with_path(kind->remedy, path));
  }
  return "is a folder; name a file";
}

}  // namespace pagoda::base
