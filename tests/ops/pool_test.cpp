// Pooling: shapes and work of every row, and comparisons and additions against loops that count them.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kWindows[] = {
    // graph, types, cost, why
    {"x:f32[N,64,112,112] -> y = MaxPool(x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}",
     "y:f32[N,64,56,56]", "arith=1605632*N comparisons=1605632*N special=0 read=3211264*N written=802816*N", "kernel − 1 comparisons"},
    {"x:f16[1,3,H,W] -> y, i = MaxPool(x) {kernel_shape=[2,2], strides=[2,2]}",
     "y:f16[1,3,floor_div(H,2),floor_div(W,2)], i:i64[1,3,floor_div(H,2),floor_div(W,2)]", "written=30*floor_div(H,2)*floor_div(W,2) precision=float16", "indices are int64"},
    {"x:f32[1,1,4,4,4] -> y = MaxPool(x) {kernel_shape=[2,2,2], strides=[2,2,2]}", "y:f32[1,1,2,2,2]", "comparisons=56", "3-D"},
    {"x:f32[1,1,9] -> y = MaxPool(x) {kernel_shape=[3], dilations=[2]}", "y:f32[1,1,5]", "comparisons=10", "1-D, dilated"},
    {"x:f32[1,1,4,4] -> y = MaxPool(x) {kernel_shape=[3,3], strides=[2,2], ceil_mode=1}", "y:f32[1,1,2,2]", "comparisons=32", "rounded up"},
    {"x:f32[1,1,2,2] -> y = MaxPool(x) {kernel_shape=[1,1], strides=[2,2], ceil_mode=1}", "y:f32[1,1,1,1]", "comparisons=0", "a second window would start past the end"},
    {"x:f32[1,1,3,3] -> y = MaxPool(x) {kernel_shape=[2,2], strides=[2,2], pads=[0,0,1,1], ceil_mode=1}", "y:f32[1,1,2,2]", "", "the last window starts inside"},
    {"x:f32[1,1,2,2] -> y = MaxPool(x) {kernel_shape=[2,2], strides=[2,2], pads=[0,0,1,1], ceil_mode=1}", "y:f32[1,1,1,1]", "", "a window in the padding alone is dropped"},
    {"x:f32[1,1,H,7] -> y = MaxPool(x) {kernel_shape=[3,3], strides=[2,2], ceil_mode=1}", "y:f32[1,1,floor_div(H,2),3]", "", "symbolic, rounded up"},
    {"x:f32[1,1,7,10] -> y = MaxPool(x) {kernel_shape=[3,3], strides=[2,3], auto_pad='SAME_UPPER'}", "y:f32[1,1,4,4]", "", "ceil(input / stride)"},
    {"x:f32[1,1,7,10] -> y = MaxPool(x) {kernel_shape=[3,3], strides=[2,3], dilations=[2,2], auto_pad='SAME_LOWER'}", "y:f32[1,1,4,4]", "", "dilation does not matter"},
    {"x:f32[1,1,7,10] -> y = MaxPool(x) {kernel_shape=[3,3], strides=[2,3], auto_pad='VALID'}", "y:f32[1,1,3,3]", "", "no padding"},
    {"opset=8: x:f32[1,1,5,5] -> y = MaxPool(x) {kernel_shape=[2,2]}", "y:f32[1,1,4,4]", "comparisons=48", "before dilations"},
    {"x:f32[1,1,5,5] -> y = MaxPool(x)", "error: kernel_shape", "", "mandatory"},
    {"x:f32[1,1,5,5] -> y = MaxPool(x) {kernel_shape=[2]}", "error: kernel_shape", "", "one entry per axis"},
    {"x:f32[5,5] -> y = MaxPool(x) {kernel_shape=[2]}", "error: rank 2", "", "no spatial axis"},
    {"x:f32[N,8,7,7] -> y = AveragePool(x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}", "y:f32[N,8,4,4]", "arith=1152*N comparisons=0", "8 additions and a division"},
    {"x:f32[1,1,4,4] -> y = AveragePool(x) {kernel_shape=[3,3], strides=[2,2], ceil_mode=1, count_include_pad=1}", "y:f32[1,1,2,2]", "arith=36", "rounded up"},
    {"x:f32[1,1,H] -> y = AveragePool(x) {kernel_shape=[2], dilations=[2]}", "y:f32[1,1,H-2]", "arith=2*H-4", "1-D, symbolic"},
    {"x:f32[1,1,2,2] -> y = AveragePool(x) {kernel_shape=[3,3]}", "error: window", "", "the window does not fit"},
    {"x:f32[N,2,6,6] -> y = LpPool(x) {kernel_shape=[2,2], strides=[2,2]}", "y:f32[N,2,3,3]", "arith=126*N special=18*N", "p = 2: 4 squares, 3 additions, a root"},
    {"x:f32[1,2,6,6] -> y = LpPool(x) {kernel_shape=[2,2], strides=[2,2], p=1}", "y:f32[1,2,3,3]", "arith=126 special=0 comparisons=72", "p = 1: 4 absolute values, 3 additions"},
    {"x:f32[1,2,6,6] -> y = LpPool(x) {kernel_shape=[2,2], strides=[2,2], p=3}", "y:f32[1,2,3,3]", "arith=126 special=90 comparisons=72", "p = 3: 4 powers and a root"},
    {"opset=1: x:f32[1,2,6,6] -> y = LpPool(x) {kernel_shape=[2,2], strides=[2,2], p=1.0}", "y:f32[1,2,3,3]", "arith=126 special=0", "p was a real number"},
    {"x:f32[1,2,6,6] -> y = LpPool(x) {kernel_shape=[7,7]}", "error: window", "", "the window does not fit"},
};

constexpr OpCase kWhole[] = {
    {"x:f32[N,C,7,7] -> y = GlobalAveragePool(x)", "y:f32[N,C,1,1]", "arith=49*N*C comparisons=0 read=196*N*C written=4*N*C", "48 additions and a division"},
    {"x:f32[2,3,5] -> y = GlobalAveragePool(x)", "y:f32[2,3,1]", "arith=30", "1-D"},
    {"x:f32[5] -> y = GlobalAveragePool(x)", "error: rank 1", "", "no channels"},
    {"x:f32[N,3,H,W] -> y = GlobalMaxPool(x)", "y:f32[N,3,1,1]", "arith=3*N*H*W-3*N comparisons=3*N*H*W-3*N", "n − 1 comparisons"},
    {"x:f32[2,3,4,4,4] -> y = GlobalMaxPool(x)", "y:f32[2,3,1,1,1]", "comparisons=378", "3-D"},
    {"x:f32[2,3,0,4] -> y = GlobalMaxPool(x)", "y:f32[2,3,1,1]", "arith=0 comparisons=0 read=0", "nothing to compare"},
    {"x:f32[2,3,0,4] -> y = GlobalLpPool(x)", "y:f32[2,3,1,1]", "arith=0 special=6", "roots of empty sums"},
    {"x:f32[5] -> y = GlobalMaxPool(x)", "error: rank 1", "", "no channels"},
    {"x:f32[N,3,4,4] -> y = GlobalLpPool(x)", "y:f32[N,3,1,1]", "arith=93*N special=3*N", "16 squares, 15 additions, a root"},
    {"x:f32[1,3,4,4] -> y = GlobalLpPool(x) {p=1}", "y:f32[1,3,1,1]", "arith=93 special=0 comparisons=48", "absolute values"},
    {"x:f32[1,3,4,4] -> y = GlobalLpPool(x) {p='x'}", "error: attribute p", "", "not a number"},
    {"x:f32[5] -> y = GlobalLpPool(x)", "error: rank 1", "", "no channels"},
    {"x:f32[1,1,2,2], i:i64[1,1,2,2] -> y = MaxUnpool(x, i) {kernel_shape=[2,2], strides=[2,2]}", "y:f32[1,1,4,4]", "arith=0 read=48 written=64", "(in − 1)·stride + kernel"},
    {"x:f32[N,1,H,W], i:i64[N,1,H,W] -> y = MaxUnpool(x, i) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}", "y:f32[N,1,2*H-1,2*W-1]", "", "symbolic"},
    {"x:f32[1,1,2,2], i:i64[1,1,2,2], s:i64[4]=[1,1,5,5] -> y = MaxUnpool(x, i, s) {kernel_shape=[2,2], strides=[2,2]}", "y:f32[1,1,5,5]", "read=48", "a stated output"},
    {"x:f32[1,1,2,2], i:i64[1,1,2,2], s:i64[4] -> y = MaxUnpool(x, i, s) {kernel_shape=[2,2], strides=[2,2]}", "y:f32[1,1,?,?]", "", "an output decided by data"},
    {"x:f32[1,1,2,2], i:i64[1,1,2,3] -> y = MaxUnpool(x, i) {kernel_shape=[2,2]}", "error: values and indices", "", "one index per value"},
};

constexpr OpCase kRegions[] = {
    {"x:f32[1,3,20,20], r:f32[R,5] -> y = MaxRoiPool(x, r) {pooled_shape=[6,7]}", "y:f32[R,3,6,7]", "arith=126*R*roi_bin-126*R", "comparisons depend on the regions"},
    {"x:f32[1,3,20,20], r:f32[4,5] -> y = MaxRoiPool(x, r) {pooled_shape=[6,7], spatial_scale=0.5}", "y:f32[4,3,6,7]", "", "static"},
    {"x:f32[1,3,20,20], r:f32[4,5] -> y = MaxRoiPool(x, r)", "error: pooled_shape", "", "mandatory"},
    // Per region 12, (7 + 7)·2 rows and columns of 5, 7·7·4 samples of 4 shared and 2 channels of 7, 2·49 outputs of 4.
    {"x:f32[2,3], r:f32[3,5] -> y = MaxRoiPool(x, r) {pooled_shape=[2,2]}", "error: input 0 has rank 2, expected 4", "", "no map"},
    {"x:f32[1,2,8,8], r:f32[3] -> y = MaxRoiPool(x, r) {pooled_shape=[2,2]}", "error: input 1 has rank 1, expected 2", "", "no list of regions"},
    {"x:f32[1,2,64,64], r:f32[R,4], b:i64[R] -> y = RoiAlign(x, r, b) {output_height=7, output_width=7, sampling_ratio=2}",
     "y:f32[R,2,7,7]", "arith=4072*R comparisons=28*R special=0", "r² bilinear samples per element"},
    {"x:f32[1,2,8,8], r:f32[3,4], b:i64[3] -> y = RoiAlign(x, r, b) {output_height=1, output_width=1, sampling_ratio=1}",
     "y:f32[3,2,1,1]", "arith=126 comparisons=6 read=96+48+24 written=24", "24 taps are fewer than the map"},
    {"x:f32[1,2,2,2], r:f32[300,4], b:i64[300] -> y = RoiAlign(x, r, b) {sampling_ratio=1}", "y:f32[300,2,1,1]", "read=32+4800+2400", "the whole map is the most there is"},
    {"opset=10: x:f32[1,2,8,8], r:f32[3,4], b:i64[3] -> y = RoiAlign(x, r, b) {sampling_ratio=1, mode='max'}", "y:f32[3,2,1,1]", "arith=114 comparisons=12", "no shift by half a pixel; the least size 1; no division"},
    {"x:f32[1,2,8,8], r:f32[3,4], b:i64[3] -> y = RoiAlign(x, r, b)", "y:f32[3,2,1,1]", "arith=15*(roi_rows+roi_columns)+60*roi_rows*roi_columns+36 comparisons=3*(roi_rows+roi_columns)", "an adaptive number of samples"},
    {"x:f32[1,2,8,8], r:f32[3,4], b:i64[2] -> y = RoiAlign(x, r, b) {sampling_ratio=1}", "error: regions", "", "one image index per region"},
    {"x:f32[2,8,8], r:f32[3,4], b:i64[3] -> y = RoiAlign(x, r, b)", "error: rank 3", "", "the map has rank 4"},
};
// clang-format on

}  // namespace

TEST_CASE("pools over windows") { check_cases(kWindows); }
TEST_CASE("pools over whole images, and their inverse") { check_cases(kWhole); }
TEST_CASE("pools over regions of interest") { check_cases(kRegions); }

TEST_CASE("a batch in the stated shape of an unpooled output follows the input") {
  constexpr OpCase kRebatched[] = {
      {"x:f32[1,1,2,2], i:i64[1,1,2,2], s:i64[4]=[1,1,5,5] -> y = MaxUnpool(x, i, s) {kernel_shape=[2,2]}",
       "y:f32[batch,1,5,5]", "", "the batch is the input's"},
  };
  check_cases(kRebatched, {.symbolic_batch = true});
}

TEST_CASE("pool sizes and work equal those of windows tried one by one") {
  for (int size = 1; size <= 9; ++size)
    for (int kernel = 1; kernel <= 3; ++kernel)
      for (int stride = 1; stride <= 3; ++stride)
        for (int begin = 0; begin < kernel; ++begin)
          for (int end = 0; end < kernel; ++end)
            for (const bool ceil_mode : {false, true}) {
              if (size + begin + end < kernel) continue;
              // Floor: the window must end inside the padded input. Ceil: it must start before the end padding, and the
              // previous window must not have reached the end of the padded input.
              int windows = 0;
              for (int start = -begin; start < size; start += stride) {
                const bool fits = start + kernel <= size + end;
                const bool rest = start == -begin || start - stride + kernel < size + end;
                if (fits || (ceil_mode && rest)) ++windows;
              }
              // A window that fits may start in the end padding if the stride leads there; floor mode keeps it.
              for (int start = -begin; !ceil_mode && start + kernel <= size + end; start += stride)
                if (start >= size) ++windows;
              Int comparisons = 0;
              for (int window = 0; window < windows; ++window)
                for (int tap = 1; tap < kernel; ++tap) ++comparisons;
              const std::string text = "x:f32[1,1," + std::to_string(size) + "] -> y = MaxPool(x) {kernel_shape=[" +
                                       std::to_string(kernel) + "], strides=[" + std::to_string(stride) + "], pads=[" +
                                       std::to_string(begin) + "," + std::to_string(end) +
                                       "], ceil_mode=" + (ceil_mode ? "1" : "0") + "}";
              const Analysis analysis = analyze(graph(text));
              CHECK_MESSAGE(analysis.outputs.at(0).type.shape.value()[2] == Dim(windows), text);
              CHECK_MESSAGE(analysis.totals.cost.comparisons == Dim(comparisons), text);
            }
}

}  // namespace pagoda::test
