// Resampling: output sizes from scales, sizes and aspect-ratio policies; work by taps.
#include <doctest/doctest.h>

#include <cmath>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kSizes[] = {
    // graph, types, cost, why
    {"x:f32[N,3,H,W], s:f32[4]=[1.0,1.0,2.0,2.0]-> y = Resize(x, , s)", "y:f32[N,3,2*H,2*W]", "arith=6*H+6*W comparisons=2*H+2*W read=12*N*H*W written=48*N*H*W", "nearest: coordinates alone"},
    {"x:f32[1,1,5,7], s:f32[4]=[1.0,1.0,0.6,1.5] -> y = Resize(x, , s)", "y:f32[1,1,3,10]", "", "rounded down"},
    {"x:f32[1,1,27,10], s:f32[4]=[1.0,1.0,2.3333333333,0.7] -> y = Resize(x, , s)", "y:f32[1,1,62,7]", "", "in float32, as engines do: 27·7/3 gives 62, 10·0.7 gives 7"},
    {"x:f32[1,1,H,W], s:f32[4]=[1.0,1.0,0.5,1.5] -> y = Resize(x, , s)", "y:f32[1,1,floor_div(H,2),floor_div(3*W,2)]", "", "symbolic"},
    {"x:f32[1,1,H,8], s:f32[4]=[1.0,1.0,2.3333333333,1.0] -> y = Resize(x, , s)", "y:f32[1,1,?,8]", "", "no formula agrees with float32 for every H"},
    {"x:f32[1,1,H,8], s:f32[4] -> y = Resize(x, , s)", "y:f32[?,?,?,?]", "", "scales that are data"},
    {"x:f32[N,3,H,W], s:f32[], z:i64[4]=[1,3,80,60] -> y = Resize(x, , , z)", "y:f32[1,3,80,60]", "", "sizes"},
    {"x:f32[N,3,H,W], a:f32[0]=[], b:f32[0]=[], z:i64[2]=[80,60] -> y = Resize(x, a, b, z) {axes=[2,3]}", "y:f32[N,3,80,60]", "", "empty roi and scales; two axes"},
    {"x:f32[N,3,H,W], z:i64[2] -> y = Resize(x, , , z) {axes=[-2,-1]}", "y:f32[N,3,?,?]", "", "sizes that are data"},
    {"x:f32[N,3,H,W], s:f32[2]=[3.0,2.0] -> y = Resize(x, , s) {axes=[3,2]}", "y:f32[N,3,2*H,3*W]", "", "axes in another order"},
    {"x:f32[1,1,10,13], z:i64[2]=[8,9] -> y = Resize(x, , , z) {axes=[2,3], keep_aspect_ratio_policy='not_larger'}", "y:f32[1,1,7,9]", "", "scale 9/13: 6.92 rounds to 7"},
    {"x:f32[1,1,10,13], z:i64[2]=[8,9] -> y = Resize(x, , , z) {axes=[2,3], keep_aspect_ratio_policy='not_smaller'}", "y:f32[1,1,8,10]", "", "scale 8/10: 10.4 rounds to 10"},
    {"x:f32[1,1,H,10], z:i64[2]=[8,9] -> y = Resize(x, , , z) {axes=[2,3], keep_aspect_ratio_policy='not_larger'}", "y:f32[1,1,min(8,floor_div(18*H+10,20)),min(9,floor_div(160+H,2*H))]", "", "symbolic policy"},
    {"x:f32[1,1,8,8], r:f32[8]=[0,0,0.1,0.1,1,1,0.8,0.8], s:f32[4]=[1.0,1.0,2.0,2.0] -> y = Resize(x, r, s) {coordinate_transformation_mode='tf_crop_and_resize'}", "y:f32[1,1,16,16]", "", "a crop leaves the size alone"},
    {"opset=10: x:f32[1,1,H,8], s:f32[4]=[1.0,1.0,2.0,3.0] -> y = Resize(x, s)", "y:f32[1,1,2*H,24]", "", "two inputs in opset 10"},
    {"opset=11: x:f32[1,1,H,8], r:f32[0]=[], s:f32[0]=[], z:i64[4]=[1,1,6,4] -> y = Resize(x, r, s, z)", "y:f32[1,1,6,4]", "", "all four in opset 11"},
    {"x:f32[1,1,8,8], s:f32[3]=[1.0,1.0,2.0] -> y = Resize(x, , s)", "error: 3 scales", "", "one per axis"},
    {"x:f32[1,1,8,8], s:f32[4]=[1.0,1.0,2.0,-1.0] -> y = Resize(x, , s)", "error: a scale of -1", "", "negative"},
    {"x:f32[1,1,8,8], z:i64[3]=[1,1,2] -> y = Resize(x, , , z)", "error: 3 sizes", "", "one per axis"},
    {"x:f32[1,1,8,8], z:i64[4]=[1,1,2,2] -> y = Resize(x, , , z) {keep_aspect_ratio_policy='fit'}", "error: keep_aspect_ratio_policy", "", "no such policy"},
    {"opset=1: x:f32[1,1,3,4] -> y = Upsample(x) {height_scale=2.0, width_scale=1.5}", "y:f32[1,1,6,6]", "arith=36", "attributes of opset 1"},
    {"opset=7: x:f32[1,1,H,4] -> y = Upsample(x) {scales=[1.0,1.0,2.0,2.0]}", "y:f32[1,1,2*H,8]", "arith=6*H+24", "an attribute in opset 7"},
    {"opset=9: x:f32[N,1,3,4], s:f32[4]=[1.0,1.0,2.0,2.0] -> y = Upsample(x, s) {mode='linear'}", "y:f32[N,1,6,8]", "arith=336*N+70 comparisons=14", "an input in opset 9: 7 per element, 5 per position"},
    {"opset=9: x:f32[1,1,3,4], s:f32[3]=[1.0,2.0,2.0] -> y = Upsample(x, s)", "error: 3 scales", "", "one per axis"},
};

constexpr OpCase kResizeWork[] = {
    // 4 taps: 4 mul, 3 add for each of 3·8·8 elements; 8 + 8 positions of mul, add, floor and 2 sub.
    {"x:f32[1,3,4,4], s:f32[4]=[1.0,1.0,2.0,2.0] -> y = Resize(x, , s) {mode='linear'}", "y:f32[1,3,8,8]", "arith=1424 comparisons=16 special=0 read=192 written=768", "bilinear"},
    // 16 taps: 31 per element; 29 per position.
    {"x:f32[1,1,4,4], s:f32[4]=[1.0,1.0,2.0,2.0] -> y = Resize(x, , s) {mode='cubic'}", "y:f32[1,1,8,8]", "arith=31*64+29*16 comparisons=16", "bicubic"},
    {"x:f32[1,1,4,4,4], s:f32[5]=[1.0,1.0,2.0,2.0,2.0] -> y = Resize(x, , s) {mode='linear'}", "y:f32[1,1,8,8,8]", "arith=15*512+5*24", "trilinear: 8 taps"},
    {"x:f32[1,3,8,8], z:i64[4]=[1,3,8,16] -> y = Resize(x, , , z) {mode='linear'}", "y:f32[1,3,8,16]", "arith=3*384+5*16", "one axis changes: 2 taps"},
    {"x:u8[1,3,8,8], z:i64[4]=[1,3,4,4] -> y = Resize(x, , , z)", "y:u8[1,3,4,4]", "arith=24 read=48 precision=float32", "nearest downwards reads what it keeps"},
    {"x:f32[1,1,100,100], z:i64[4]=[1,1,10,10] -> y = Resize(x, , , z) {mode='linear'}", "y:f32[1,1,10,10]", "read=1600", "two taps per axis and element"},
    // Filters of 2·⌈100/10⌉ = 20 taps: 39 per element of [100,10] transposed order: [10,100] then [10,10].
    {"x:f32[1,1,100,100], z:i64[4]=[1,1,10,10] -> y = Resize(x, , , z) {mode='linear', antialias=1}", "y:f32[1,1,10,10]", "arith=39*1000+39*100+100 read=40000", "stretched filters, axis by axis"},
    {"x:f32[1,1,4,4], z:i64[4]=[1,1,8,8] -> y = Resize(x, , , z) {mode='cubic', antialias=1}", "y:f32[1,1,8,8]", "arith=7*32+7*64+29*16", "nothing stretches upwards"},
    {"x:f32[1,1,8,8], s:f32[4]=[1.0,1.0,2.0,2.0] -> y = Resize(x, , s) {mode='area'}", "y:f32[1,1,16,16]", "mark=unmodelled", "no such mode"},
};

constexpr OpCase kGrids[] = {
    // Per location: 2 axes of 5, 4 products; 7 per element.
    {"x:f32[1,2,64,64], g:f32[1,5,6,2] -> y = GridSample(x, g)", "y:f32[1,2,5,6]", "arith=840 comparisons=60 read=960+240 written=240", "bilinear; 4 taps per element"},
    {"x:f32[1,2,4,4], g:f32[1,50,60,2] -> y = GridSample(x, g) {padding_mode='border'}", "y:f32[1,2,50,60]", "arith=96000 comparisons=18000 read=128+24000", "border clamps; the whole input"},
    {"x:f32[N,C,H,W], g:f32[N,h,w,2] -> y = GridSample(x, g) {mode='nearest', padding_mode='reflection'}", "y:f32[N,C,h,w]", "arith=18*N*h*w comparisons=4*N*h*w", "symbolic; nearest weighs nothing"},
    {"opset=16: x:f32[1,1,4,4], g:f32[1,3,3,2] -> y = GridSample(x, g) {mode='bicubic'}", "y:f32[1,1,3,3]", "arith=9*(58+16)+9*31", "bicubic: 27 + 2 per axis"},
    {"x:f32[1,1,4,4,4], g:f32[1,2,2,2,3] -> y = GridSample(x, g)", "y:f32[1,1,2,2,2]", "arith=8*(15+12)+8*15", "trilinear"},
    {"x:f32[2,1,4,4], g:f32[3,3,3,2] -> y = GridSample(x, g)", "error: batch", "", "batches differ"},
    {"x:f32[2,1,4,4], g:f32[2,3,3,3] -> y = GridSample(x, g)", "error: coordinates", "", "two axes, three coordinates"},
    {"t:f32[N,2,3], s:i64[4]=[2,3,5,6] -> g = AffineGrid(t, s)", "g:f32[2,5,6,2]", "macs=360 arith=22 read=48", "3 products per coordinate"},
    {"t:f32[1,3,4], s:i64[5]=[1,3,4,5,6] -> g = AffineGrid(t, s) {align_corners=1}", "g:f32[1,4,5,6,3]", "macs=1440 arith=30", "4 products per coordinate"},
    {"t:f32[N,2,3], s:i64[4] -> g = AffineGrid(t, s)", "g:f32[N,?,?,2]", "", "a size that is data"},
    {"t:f32[N,2,3], s:i64[5]=[1,3,4,5,6] -> g = AffineGrid(t, s)", "error: 5 entries", "", "two axes or three"},
    {"x:f32[20,10,3], s:i64[3]=[10,7,3] -> y = CenterCropPad(x, s)", "y:f32[10,7,3]", "arith=0 read=840 written=840", "crops"},
    {"x:f32[N,10,8], s:i64[2]=[9,12] -> y = CenterCropPad(x, s) {axes=[2,1]}", "y:f32[N,12,9]", "read=320*N written=432*N", "pads"},
    {"x:f32[N,10,8], s:i64[2] -> y = CenterCropPad(x, s) {axes=[1,2]}", "y:f32[N,?,?]", "", "sizes that are data"},
    {"x:f32[20,10,8], s:i64[2]=[9,12] -> y = CenterCropPad(x, s)", "error: 2 sizes", "", "one per axis"},
};

// Sizes fixed at export follow the batch when the model is re-batched.
constexpr OpCase kResizeRebatched[] = {
    {"x:f32[1,3,8,8], z:i64[4]=[1,3,16,16] -> y = Resize(x, , , z)", "y:f32[batch,3,16,16]", "", "the batch is not resized"},
    {"x:f32[2,3,8,8], z:i64[4]=[1,3,16,16] -> y = Resize(x, , , z)", "y:f32[1,3,16,16]", "", "here it is"},
    {"x:f32[2,10,8], s:i64[3]=[2,5,5] -> y = CenterCropPad(x, s)", "y:f32[batch,5,5]", "", "nor cropped"},
};
// clang-format on

}  // namespace

TEST_CASE("resized sizes") { check_cases(kSizes); }
TEST_CASE("resampling work goes by taps") { check_cases(kResizeWork); }
TEST_CASE("grids and crops") { check_cases(kGrids); }

TEST_CASE("a batch among constant sizes follows the input") { check_cases(kResizeRebatched, {.symbolic_batch = true}); }

TEST_CASE("a symbolic scaled size equals float32 arithmetic for every image") {
  for (const char* scale :
       {"0.5", "0.25", "0.3333333433", "1.5", "2.0", "0.75", "1.25", "3.0", "0.1", "1.3333333333"}) {
    const Analysis symbolic =
        analyze(graph("x:f32[1,1,H,8], s:f32[4]=[1.0,1.0," + std::string(scale) + ",1.0] -> y = Resize(x, , s)"));
    const Dim height = symbolic.outputs.at(0).type.shape.value()[2];
    if (height.symbols() != std::vector<std::string>{"H"}) continue;
    for (std::int64_t size = 1; size < 3000; size += 7) {
      const auto expected = static_cast<std::int64_t>(std::floor(static_cast<float>(size) * std::stof(scale)));
      CHECK_MESSAGE(height.bind({{"H", size}}) == Dim(expected), scale, " at ", size);
    }
  }
}

}  // namespace pagoda::test
