// What a file is, for each kind and each reader. The samples are the first bytes of such files, made by hand.
#include "pagoda/base/what_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "pagoda/base/files.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/documents/custom_operators.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"
#include "pagoda/documents/provider.h"
#include "pagoda/documents/result.h"
#include "pagoda/lab/study.h"
#include "pagoda/measured/import.h"
#include "support/files.h"

namespace pagoda::base {
namespace {

using namespace std::string_literals;

struct Sample {
  std::string bytes;
  FileForm form;
  const char* what;    // it is
  const char* remedy;  // for readers of models; "": none
};

// The headers of a ZIP's first file.
std::string zip(const std::string& name) {
  return "PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s + static_cast<char>(name.size()) + "\0\0\0"s +
         name;
}

std::string utf16(const std::string& text, bool is_little) {
  std::string result;
  for (const char c : text) (result += is_little ? c : '\0') += is_little ? '\0' : c;
  return result;
}

const std::vector<Sample>& samples() {
  using enum FileForm;
  static const std::vector<Sample> kSamples = {
      {"", Nothing, "empty", "write or download it again"},
      {" \n\t", Nothing, "white space alone", "write or download it again"},
      {std::string(512, '\0'), Nothing, "zeros at its beginning", "download it again"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", Other, "a Git LFS pointer", "git lfs pull"},
      {"[11/20/2025-10:10:10] [I] === Profile (100 iterations ) ===\n", Text, "what trtexec prints", "--exportProfile"},
      {"&&&& RUNNING TensorRT.trtexec\n", Text, "what trtexec prints", "--exportProfile"},
      {"[11/20/2025-10:10:10] [I] Engine built\n", Text, "a log", ""},
      {"[2025-11-20 10:10:10] INFO start\n", Text, "text", ""},
      {"[1, 2]", Json, "JSON of no known kind", ""},
      {"[-1.5e3]", Json, "JSON of no known kind", ""},
      {"name: \"Net\"\nlayer {\n}\n", OtherModel, "a Caffe model (prototxt)", "ONNX"},
      {"SKIPPED: r.sqlite does not contain CUDA kernel data.\n", Text, "an empty report of nsys: no kernels were traced",
       "nsys profile --trace cuda"},
      {"==12== Profiling result:\n", Text, "what nvprof prints", "nsys"},
      {" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n", Text, "a report of nsys in columns", "--format csv"},
      {"| Name | Time |\n|---|---|\n", Text, "a table of Markdown", "save it as CSV"},
      {"index,name,op_type\n0,a,Add\n", Table, "a table that onnx-estimate prints", "as JSON"},
      {"model,batch,macs,flops\nm,1,2,4\n", Table, "a sweep that onnx-estimate prints", ""},
      {"name,op_type,nodes,nvtx,provider\na,Add,,,\n", Table, "a table that pagoda-import writes of kernels", "JSON"},
      {"outs:\n- md5: 0\n  path: m.onnx\n", Other, "a pointer of DVC", "dvc pull"},
      {"BZh91AY&SY", Other, "compressed by bzip2", "bzip2 -d"},
      {"\x04\x22\x4d\x18xx", Other, "compressed by lz4", "lz4 -d"},
      {"7z\xbc\xaf\x27\x1c\0\4"s, Other, "a 7z archive", "unpack it"},
      {"Rar!\x1a\x07\1\0"s, Other, "a RAR archive", "unpack it"},
      {"m.onnx"s + std::string(251, '\0') + "ustar", Other, "a tar archive", "unpack it"},
      {zip("notes.txt"), Other, "a ZIP archive", "unpack it"},
      {zip("model/net.onnx"), Other, "a ZIP archive with an ONNX model", "unpack it"},
      {zip("[Content_Types].xml"), Other, "a workbook or document of Office", "CSV"},
      {zip("net/data.pkl"), OtherModel, "a PyTorch checkpoint", "torch.onnx.export"},
      {zip("net/constants.pkl"), OtherModel, "a TorchScript model", "torch.onnx.export"},
      {zip("net/archive_format"), OtherModel, "a program of torch.export (.pt2)", "torch.onnx.export"},
      {zip("serialized_exported_program.json"), OtherModel, "a program of torch.export (.pt2)", "torch.onnx.export"},
      {zip("arr_0.npy"), OtherModel, "an archive of NumPy arrays", ""},
      {zip("model.weights.h5"), OtherModel, "a Keras model", "tf2onnx"},
      {"\x89PNG\r\n\x1a\n", Other, "a PNG image", ""},
      {"\xff\xd8\xff\xe0", Other, "a JPEG image", ""},
      {"GIF89a", Other, "a GIF image", ""},
      {"RIFF\1\1\1\1WEBPVP8 ", Other, "a WebP image", ""},
      {"%PDF-1.7\n", Other, "a PDF document", ""},
      {"\x7f"
       "ELF\2\1\1",
       Other, "a program or library (ELF)", ""},
      {"SQLite format 3\0"s, Other, "an SQLite database", "nsys stats"},
      {"NVR\0\1"s, Other, "a report of Nsight Compute", "ncu --import"},
      {"PAR1\x15", Other, "a Parquet table", "CSV"},
      {"\x1c\0\0\0ORTM"s, OtherModel, "a model in ONNX Runtime's ORT format", "use the .onnx file"},
      {"ftrt\xe8\0"s, OtherModel, "a TensorRT engine", "use the .onnx file"},
      {"\x1c\0\0\0TFL3"s, OtherModel, "a TensorFlow Lite model", "tf2onnx"},
      {"\x1c\0\0\0ET12"s, OtherModel, "an ExecuTorch program", "torch.onnx.export"},
      {"\x34\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\""s, OtherModel, "weights in the safetensors format", "ONNX"},
      {"GGUF\3\0\0\0"s, OtherModel, "a GGUF model", "export the original model"},
      {"RKNN\1\0"s, OtherModel, "a model of RKNN", "use the .onnx file"},
      {"\x89HDF\r\n\x1a\n", OtherModel, "an HDF5 file, as Keras writes", "tf2onnx"},
      {"\x80\x02}q", OtherModel, "a Python pickle", "torch.onnx.export"},
      {"\x80\x05\x95", OtherModel, "a Python pickle", "torch.onnx.export"},
      {"\x93NUMPY\1\0"s, OtherModel, "a NumPy array", ""},
      {"7767517\n2 2\n", OtherModel, "an ncnn model (.param)", "export the original"},
      {"\xdd\x85\x76\0\2"s, OtherModel, "an ncnn model (.param.bin)", "export the original"},
      // Node "a" of operator "Add".
      {"\x0a\x0a\x0a\1a\x12\3Add\x22\0"s, OtherModel, "a TensorFlow graph (GraphDef)", "tf2onnx"},
      // Version 1 and a MetaGraphDef.
      {"\x08\1\x12\6\x0a\4\x0a\0\x12\0"s, OtherModel, "a TensorFlow SavedModel", "tf2onnx"},
      // Block 0 with parent -1.
      {"\x0a\x0d\x08\0\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"s, OtherModel, "a PaddlePaddle model", "paddle2onnx"},
      // Specification 4, a description, and field 500: a network.
      {"\x08\4\x12\2\x0a\0\xa2\x1f\0"s, OtherModel, "a Core ML model", "export the original"},
      // A name, and a layer in field 100.
      {"\x0a\3net\xa2\6\2\x0a\0"s, OtherModel, "a Caffe model", "export the original"},
      {"\x08\x08\x12\7pytorch\x3a\x02\x0a\0"s, Onnx, "an ONNX model", "onnx-estimate reads it"},
      {"\n  <!DOCTYPE html>\n<html><title>Sign in", Other, "a web page (HTML)", "download the file itself"},
      {"<HTML><body>", Other, "a web page (HTML)", "download the file itself"},
      {"<?xml version=\"1.0\"?>\n<net name=\"n\" version=\"11\">", OtherModel, "an OpenVINO model (IR)", "export"},
      {"<net name=\"n\" version=\"11\">", OtherModel, "an OpenVINO model (IR)", "export"},
      {"<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied", Other, "an error of the server (XML)", "download"},
      {"<?xml version=\"1.0\"?>\n<svg>", Other, "an SVG image", ""},
      {"<?xml version=\"1.0\"?>\n<html><body><svg>", Other, "a web page (HTML)", "download the file itself"},
      {"<?xml version=\"1.0\"?>\n<plist>", Other, "XML", ""},
      {"ir_version: 8\nproducer_name: \"p\"\n", OtherModel, "an ONNX model as protobuf text", "onnx.save"},
      {"<\n  ir_version: 8,\n  opset_import: [\"\" : 17]\n>", OtherModel, "an ONNX model as text", "onnx.save"},
      {"node {\n  name: \"a\"\n}", OtherModel, "a TensorFlow graph as protobuf text", "tf2onnx"},
      {"layer {\n  name: \"a\"\n}", OtherModel, "a Caffe model (prototxt)", "export the original"},
      {"module {\n  func.func @main() {", OtherModel, "an MLIR module", "export the original"},
      {"{\"irVersion\": \"8\", \"graph\": {}}", Json, "an ONNX model in JSON form", "onnx.save"},
      {"{\"base_code\": {\"magic\": \"pir\"}}", Json, "a PaddlePaddle model", "paddle2onnx"},
      {"{\"modelTopology\": {}}", Json, "a TensorFlow.js model", "tf2onnx"},
      {"{\"metadata\": {}, \"weight_map\": {}}", Json, "the index of safetensors", "ONNX"},
      {"{\"architectures\": [\"BertModel\"]}", Json, "the configuration of a Hugging Face model", "optimum-cli"},
      {"{\"cells\": [], \"nbformat\": 4}", Json, "a Jupyter notebook", ""},
      {"{\"message\": \"Not Found\", \"documentation_url\": \"\"}", Json, "an answer of GitHub", "download"},
      {"[{\"cat\": \"Session\", \"name\": \"model_run\"}]", Json, "a profile of ONNX Runtime", "pagoda-import"},
      {"[{\"count\": 1}, {\"name\": \"a\", \"timeMs\": 1}]", Json, "a profile of TensorRT", "pagoda-import"},
      {"{\"Layers\": []}", Json, "layer information of TensorRT", "pagoda-import --layers"},
      {"{\"schemaVersion\": 1, \"traceEvents\": []}", Json, "a trace (Chrome's form)", "pagoda-import"},
      {"\xEF\xBB\xBF{\"schema\": \"pagoda.estimate/1\"}", Json, "an estimate (pagoda.estimate/1)", "--estimate"},
      {"{\"a\": 1}", Json, "JSON of no known kind", ""},
      {"[nan, 1]", Json, "JSON of no known kind", ""},
      {"---\nname: ci\n", Text, "YAML", ""},
      {"name: ci\non: push\n", Text, "YAML", ""},
      {"[study]\nname = \"a\"\n", Text, "TOML", ""},
      {"a = 1\n", Text, "TOML or settings", ""},
      {"# Title\n", Text, "text (Markdown, YAML or a script)", ""},
      {"#!/bin/sh\n", Text, "a script", ""},
      {"==PROF== Connected to process 7\n", Text, "what Nsight Compute prints", "ncu --csv"},
      {"a,b\n1,2\n", Table, "a table (CSV)", ""},
      {"a;b;c\n1;2;3\n", Table, "a table (CSV)", ""},
      {"a\tb\n1\t2\n", Table, "a table (CSV)", ""},
      {"hello", Text, "text", ""},
      {utf16("{\"a\": 1}", true), Other, "UTF-16 without a byte order mark", "iconv -f UTF-16LE"},
      {utf16("{\"a\": 1}", false), Other, "UTF-16 without a byte order mark", "iconv -f UTF-16BE"},
      {"\xff\xfe\0\0{\0\0\0"s, Other, "UTF-32", "iconv -f UTF-32"},
      {"\1\2\3\4\5\6\7\xf0"s, Unknown, "binary data of no known kind", ""},
  };
  return kSamples;
}

TEST_CASE("a file is named by its content, with what to do") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.bytes.substr(0, 40));
    const WhatFile file = what_file(sample.bytes);
    CHECK(file.what.starts_with(sample.what));
    CHECK(file.form == sample.form);
    CHECK_MESSAGE(file.remedy.find(sample.remedy) != std::string::npos, file.remedy);
    // A white space or byte order mark before text changes nothing; a longer file is the same kind.
    const bool is_marked = sample.bytes.starts_with("\xEF\xBB\xBF");
    if (file.form == FileForm::Json && !is_marked)
      CHECK(what_file("\xEF\xBB\xBF\r\n " + sample.bytes).what == file.what);
    if (file.form == FileForm::Text && sample.what == "text"s) CHECK(what_file(sample.bytes + "\n").what == file.what);
  }
  CHECK(what_file("\x1f\x8b", "a/b.json.gz").remedy == "decompress it first: gzip -d a/b.json.gz");
  CHECK(what_file("\x1f\x8b", "a b.json.gz").remedy == "decompress it first: gzip -d FILE");
  const std::pair<const char*, const char*> names[] = {
      {"a.engine", "a TensorRT engine, by its name"},
      {"a.nsys-rep", "a report of Nsight Systems"},
      {"a.mnn", "an MNN model"},
      {"a.onnx_data", "weights of an ONNX model"},
      {"openvino.bin", "raw data, as weights of"},
      {"A.PT", "a PyTorch file"},
  };
  for (const auto& [name, what] : names) CHECK(what_file("\1\2\3\4\5\6\7\xf0", name).what.starts_with(what));
}

TEST_CASE("every kind of document in data/schemas has a name") {
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("data/schemas"))) {
    const std::string name = entry.path().filename().string();
    const std::string schema = "pagoda." + name.substr(0, name.find('.')) + "/1";
    const std::string said = is_document(schema, "");
    CHECK_MESSAGE(said.starts_with("is "), schema);
    CHECK(said.find("(" + schema + ")") != std::string::npos);
  }
  CHECK(is_document("", "x") == "");
  CHECK(is_document("other/1", "x") == "has schema \"other/1\"");
}

struct Reader {
  const char* name;
  Reads reads;
  std::function<void(const std::string& path)> read;
};

const std::vector<Reader>& readers() {
  static const std::vector<Reader> kReaders = {
      {"model", Reads::Model, [](const std::string& path) { load_model(path); }},
      {"device", Reads::Json, [](const std::string& path) { documents::find_device(path); }},
      {"device of a file", Reads::Json, [](const std::string& path) { documents::load_device(path); }},
      {"ceilings", Reads::Json, [](const std::string& path) { documents::load_ceilings(path); }},
      {"measured", Reads::Json, [](const std::string& path) { documents::load_measured(path); }},
      {"estimate", Reads::Json, [](const std::string& path) { documents::load_estimate(path); }},
      {"calibration", Reads::Json, [](const std::string& path) { documents::load_calibration(path); }},
      {"provider", Reads::Json, [](const std::string& path) { documents::find_provider(path); }},
      {"custom operators", Reads::Json, [](const std::string& path) { documents::load_custom_operators({path}); }},
      {"results", Reads::Text, [](const std::string& path) { documents::load_results(path); }},
      {"study", Reads::Text, [](const std::string& path) { lab::load_study(path); }},
      {"profile", Reads::Profile, [](const std::string& path) { measured::load_profile(path); }},
      {"layers", Reads::Json,
       [](const std::string& path) {
         measured::load_profile(test::source_path("tests/import/data/tensorrt_profile.json"), {.layer_info = path});
       }},
      {"table", Reads::Table, [](const std::string& path) { read_text(path, "a table", Reads::Table); }},
  };
  return kReaders;
}

TEST_CASE("every reader says what a file of another kind is") {
  const TemporaryFolder folder("pagoda-what-file");
  const std::string path = folder.path("file");
  for (const Sample& sample : samples()) {
    write_file(path, sample.bytes);
    for (const Reader& reader : readers()) {
      if (fits(sample.form, reader.reads)) continue;
      CAPTURE(reader.name);
      CAPTURE(sample.bytes.substr(0, 40));
      const std::string said = test::error_of([&] { reader.read(path); });
      CAPTURE(said);
      CHECK(said.starts_with(path + ": is " + sample.what));
      CHECK(said.find("; expected ") != std::string::npos);
      CHECK(said.find("byte 1") == std::string::npos);
      if (reader.reads == Reads::Model || sample.form != FileForm::OtherModel)
        CHECK(said.find(sample.remedy) != std::string::npos);
    }
  }
}

TEST_CASE("readers of JSON say which JSON they were given") {
  const TemporaryFolder folder("pagoda-what-file");
  const std::string path = folder.path("file.json");
  for (const Sample& sample : samples()) {
    if (sample.form != FileForm::Json) continue;
    write_file(path, sample.bytes);
    for (const Reader& reader : readers()) {
      if (reader.reads != Reads::Json || reader.name == "layers"s) continue;
      const bool is_its = reader.name == "estimate"s && sample.what == "an estimate (pagoda.estimate/1)"s;
      const std::string said = test::error_of([&] { reader.read(path); });
      CAPTURE(said);
      CHECK((is_its || said.starts_with(path + ": is " + sample.what)));
      CHECK(said.find("byte 1") == std::string::npos);
    }
  }
}

TEST_CASE("what is no file is named with what to do") {
  const std::pair<const char*, const char*> rows[] = {
      {"https://host/m.onnx", "is a URL; download it first: curl -LO https://host/m.onnx;"},
      {"https://github.com/a/b/blob/main/m.onnx", "curl -LO https://github.com/a/b/raw/main/m.onnx;"},
      {"https://huggingface.co/a/b/blob/main/m.onnx", "curl -LO https://huggingface.co/a/b/resolve/main/m.onnx;"},
      {"hf://a/b/onnx/m.onnx", "hf download a/b onnx/m.onnx;"},
      {"s3://bucket/m.onnx", "aws s3 cp s3://bucket/m.onnx .;"},
      {"gs://bucket/m.onnx", "gcloud storage cp gs://bucket/m.onnx .;"},
      {"file:///tmp/m.onnx", "name the path alone: /tmp/m.onnx;"},
      {"ssh://host/m.onnx", "is a URL; download it first;"},
      {"/nowhere/*.onnx", "is a pattern that the shell did not expand;"},
      {"/nowhere/m.onnx", "cannot be opened: No such file or directory;"},
  };
  for (const auto& [path, says] : rows)
    for (const Reader& reader : readers()) {
      CAPTURE(reader.name);
      const std::string said = test::error_of([&, &path = path] { reader.read(path); });
      CHECK_MESSAGE(said.find(std::string(path) + ": ") == 0, said);
      CHECK_MESSAGE(said.find(says) != std::string::npos, said);
      CHECK_MESSAGE(said.find("expected ") != std::string::npos, said);
    }
  CHECK(test::error_of([] { load_model("-"); }).starts_with("-: is standard input, which is not read here; save it"));
}

TEST_CASE("a folder is named with the file in it that is meant, or what it is") {
  const TemporaryFolder folder("pagoda-what-folder");
  const auto model = [&] { return test::error_of([&] { load_model(folder.path()); }); };
  CHECK(model() == folder.path() + ": is a folder; name a file; expected an ONNX file");
  write_file(folder.path("device.json"), "{}");
  write_file(folder.path("b.onnx"), "");
  write_file(folder.path("a.onnx"), "");
  CHECK(model().find("is a folder; name a file in it: a.onnx, b.onnx; expected") != std::string::npos);
  for (const char* name : {"c.onnx", "d.onnx"}) write_file(folder.path(name), "");
  CHECK(model().find("name a file in it: a.onnx, b.onnx, c.onnx and 1 more; expected") != std::string::npos);
  const std::string device = test::error_of([&] { documents::load_device(folder.path()); });
  CHECK(device.find("is a folder; name a file in it: device.json; expected a device") != std::string::npos);
  write_file(folder.path("saved_model.pb"), "");
  CHECK(model().find("is a folder: a TensorFlow SavedModel; convert it: python3 -m tf2onnx.convert --saved-model " +
                     folder.path()) != std::string::npos);
}

}  // namespace
}  // namespace pagoda::base
