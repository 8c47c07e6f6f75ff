// The models and the tool with which the tests of onnx-estimate's command line work.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pagoda/base/csv_reader.h"
#include "pagoda/base/files.h"
#include "support/onnx_file.h"
#include "support/text_graph.h"
#include "support/workshop.h"

namespace pagoda::test::estimate {

// A folder with the models for the tests, and the tool.
struct Models : Workshop {
  Models() {
    save("net.onnx",
         "opset=17 : x:f32[batch,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]} @ conv; y = Relu(c)");
    save("fixed.onnx", "x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]}; y = Relu(c)");
    save("long.onnx",
         "opset=17 : x:f32[1,3,8,8], w:f32[4,3,3,3]=const -> c = Conv(x, w) {pads=[1,1,1,1]} @ conv; r = Relu(c); "
         "t = Tanh(r); y = Sigmoid(t)");
    save("partial.onnx", "x:f32[4,8] -> h = Relu(x); y = my.domain.Secret(h) @ mystery");
    save("decoder.onnx",
         "x:f32[batch,2,sequence,8], past:f32[batch,2,past,8] -> present = Concat(past, x) {axis=2}; "
         "t = Transpose(present) {perm=[0,1,3,2]}; s = MatMul(x, t) => s, present");
    save("product.onnx", "x:f32[4096,4096], w:f32[4096,4096]=const -> y = MatMul(x, w)");
    save("audio.onnx", "x:f32[n,1,samples], w:f32[4,1,10]=const -> y = Conv(x, w) {strides=[5]}");
    save("rate.onnx",
         "x:f32[8,8], sr:i64[], w:f32[8,8]=const, k:i64=16000 -> c = Equal(sr, k); y = If(c) {then_branch=( -> "
         "a = MatMul(x, w)), else_branch=( -> b = NoSuchOp(x))}");
    save("merged.onnx",
         "x:f32[batch,2,sequence,8], past:f32[batch,2,past,8], use_cache_branch:bool[1], w:f32[8,8]=const -> "
         "present = Concat(past, x) {axis=2}; y = If(use_cache_branch) {then_branch=( -> a = Relu(x)), "
         "else_branch=( -> b = MatMul(x, w))} => y, present");
    save("nms.onnx",
         "boxes:f32[1,100,4], scores:f32[1,3,100], most:i64=50 -> s = NonMaxSuppression(boxes, scores, most) @ nms; "
         "f = Cast(s) {to=1}; y = Relu(f)");
    save("image.onnx", "x:f32[n,3,height,width], w:f32[4,3,1,1]=const -> c = Conv(x, w); y = Relu(c)");
    save("ends.onnx", "x:f32[2,4] -> t = Cast(x) {to=8}");
    save("conv1d.onnx", "x:f32[1,4,8], w:f32[4,4,3]=const -> y = Conv(x, w) @ conv1d");
    save("hostile.onnx", "x:f32[n,4] -> '\\e[2J' = Relu(x) @ '\\e]0;owned\\x07'; y = 'my.domain.x\\e[31m'('\\e[2J')");
    base::write_file(path("garbage.onnx"), "this is not a model");
    base::write_file(path("empty.onnx"), "");
  }

  // `arguments` is shell text.
  Outcome run(const std::string& arguments) const { return shell("'" PAGODA_ONNX_ESTIMATE "' " + arguments); }

 private:
  void save(const std::string& name, const char* text) const { base::write_file(path(name), onnx_bytes(graph(text))); }
};

inline const Models& workshop() {
  static const Models instance;
  return instance;
}

inline std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  base::CsvReader reader(text, "out");
  std::vector<std::vector<std::string>> rows;
  for (std::vector<std::string> cells; reader.next(cells);) rows.push_back(cells);
  return rows;
}

inline std::size_t column(const std::vector<std::string>& header, const std::string& name) {
  const auto found = std::find(header.begin(), header.end(), name);
  REQUIRE_MESSAGE(found != header.end(), name);
  return static_cast<std::size_t>(found - header.begin());
}

inline std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace pagoda::test::estimate
