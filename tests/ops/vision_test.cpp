// Detection and image files: sizes that only the data decide, with their bounds.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kVisionCases[] = {
    // graph, types, cost, why
    // 80·6 scores with a threshold, 6 boxes of 7; 13 per pair of a selected box and a box: written with
    // the node's symbol selected_boxes.
    {"b:f32[1,6,4], s:f32[1,80,6], m:i64[1]=[10], i:f32[1]=[0.5], t:f32[1]=[0.1] -> y = NonMaxSuppression(b, s, m, i, t)",
     "y:i64[?,3]", "arith=522+78*selected_boxes comparisons=504+42*selected_boxes read=2016 written=24*selected_boxes", "the number of boxes is data"},
    {"b:f32[N,B,4], s:f32[N,C,B], m:i64[]=10 -> y = NonMaxSuppression(b, s, m) {center_point_box=1}",
     "y:i64[?,3]", "arith=7*N*B+13*B*selected_boxes comparisons=7*B*selected_boxes", "no threshold; boxes by centre"},
    {"b:f32[1,6,4], s:f32[1,80,6] -> y = NonMaxSuppression(b, s)", "y:i64[0,3]", "arith=42 written=0", "no box is kept unless a number is given"},
    {"b:f32[1,6,4], s:f32[1,80,6], m:i64[1]=[0] -> y = NonMaxSuppression(b, s, m)", "y:i64[0,3]", "", "or when it is 0"},
    {"opset=10: b:f32[1,6,4], s:f32[1,80,6], m:i64[1] -> y = NonMaxSuppression(b, s, m)", "y:i64[?,3]", "", "the number itself is data"},
    {"b:f32[1,6,4], s:f32[1,80,7], m:i64[1]=[1] -> y = NonMaxSuppression(b, s, m)", "error: boxes", "", "a score per box"},
    {"b:f32[6,4], s:f32[80,6], m:i64[1]=[1] -> y = NonMaxSuppression(b, s, m)", "error: rank 3", "", "batches are mandatory"},
    {"x:u8[n] -> y = ImageDecoder(x)", "y:u8[?,?,3]", "mark=unmodelled", "decoding depends on the image"},
    {"x:u8[1000] -> y = ImageDecoder(x) {pixel_format='Grayscale'}", "y:u8[?,?,1]", "", "one channel"},
    {"x:u8[n] -> y = ImageDecoder(x) {pixel_format='CMYK'}", "error: pixel_format", "", "no such format"},
};
// clang-format on

}  // namespace

TEST_CASE("non-maximum suppression and image decoding") { check_cases(kVisionCases); }

TEST_CASE("selected boxes are bounded by classes, images and the number to keep") {
  const Analysis analysis =
      analyze(graph("b:f32[2,100,4], s:f32[2,5,100], m:i64[1]=[7] -> y = NonMaxSuppression(b, s, m)"));
  REQUIRE(analysis.symbols.size() == 1);
  CHECK(analysis.symbols[0].upper == Dim(2 * 5 * 7));
}

}  // namespace pagoda::test
