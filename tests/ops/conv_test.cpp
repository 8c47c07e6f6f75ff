// Convolutions: shapes and work of every row, and multiply-accumulates against loops that only count them.
#include <doctest/doctest.h>

#include <vector>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kConvCases[] = {
    // graph, types, cost, why
    {"x:f32[N,3,224,224], w:f32[64,3,7,7]=const -> y = Conv(x, w) {strides=[2,2], pads=[3,3,3,3]}",
     "y:f32[N,64,112,112]", "macs=118013952*N arith=0 read=602112*N+37632 written=3211264*N precision=float32", "the stem of a ResNet"},
    {"x:f16[2,3,8,8], w:f16[4,3,3,3], b:f16[4] -> y = Conv(x, w, b)",
     "y:f16[2,4,6,6]", "macs=7776 arith=288 comparisons=0 precision=float16", "one bias add per output element"},
    {"x:f32[1,8,H,W], w:f32[8,1,3,3] -> y = Conv(x, w) {group=8, pads=[1,1,1,1]}",
     "y:f32[1,8,H,W]", "macs=72*H*W", "depthwise, symbolic image"},
    {"x:f32[1,3,H,W], w:f32[4,3,3,3] -> y = Conv(x, w) {strides=[2,2], pads=[1,1,1,1]}",
     "y:f32[1,4,floor_div(H-1,2)+1,floor_div(W-1,2)+1]", "macs=108*(floor_div(H-1,2)+1)*(floor_div(W-1,2)+1)", "symbolic image, strided"},
    {"x:f32[1,2,10], w:f32[4,2,3] -> y = Conv(x, w) {dilations=[3], strides=[2]}", "y:f32[1,4,2]", "macs=48", "1-D: the window spans 7"},
    {"x:f32[1,2,6,7,8], w:f32[4,2,1,2,3] -> y = Conv(x, w)", "y:f32[1,4,6,6,6]", "macs=10368", "3-D"},
    {"x:f32[1,1,7,10], w:f32[1,1,3,3] -> y = Conv(x, w) {auto_pad='SAME_UPPER', strides=[2,3]}", "y:f32[1,1,4,4]", "macs=144", "ceil(input / stride)"},
    {"x:f32[1,1,7,10], w:f32[1,1,3,3] -> y = Conv(x, w) {auto_pad='SAME_LOWER', strides=[2,3]}", "y:f32[1,1,4,4]", "macs=144", "the same size"},
    {"x:f32[1,1,7,10], w:f32[1,1,3,3] -> y = Conv(x, w) {auto_pad='VALID', strides=[2,3], pads=[1,1,1,1]}", "y:f32[1,1,3,3]", "macs=81", "no padding, whatever pads says"},
    {"x:f32[1,1,7,10], w:f32[1,1,3,3] -> y = Conv(x, w) {pads=[0,1,2,3]}", "y:f32[1,1,7,12]", "", "begins then ends"},
    {"x:f32[1,C,8,8], w:f32[16,4,k,k] -> y = Conv(x, w) {group=2, kernel_shape=[3,3]}", "y:f32[1,16,6,6]", "macs=20736", "kernel_shape tells what the weight does not"},
    {"x:f32[1,4,8,8], w:f32[16,c,3,3] -> y = Conv(x, w)", "y:f32[1,16,6,6]", "macs=20736", "input channels from the data"},
    {"x:f32[1,4,H,8], w:f32[2,4,k,3] -> y = Conv(x, w)", "y:f32[1,2,H-k+1,6]", "macs=144*k*(H-k+1)", "a kernel of symbolic size"},
    {"opset=1: x:f32[1,1,5,5], w:f32[1,1,3,3] -> y = Conv(x, w)", "y:f32[1,1,3,3]", "macs=81", "since opset 1"},
    {"x:f32[1,3,8,8], w:f32[4,2,3,3] -> y = Conv(x, w)", "error: input channels", "", "3 channels, the filters take 2"},
    {"x:f32[1,4,8,8], w:f32[3,2,3,3] -> y = Conv(x, w) {group=2}", "error: 3 filters", "", "filters do not divide into groups"},
    {"x:f32[1,3,8,8], w:f32[4,3,3,3] -> y = Conv(x, w) {strides=[2]}", "error: strides", "", "one entry per axis"},
    {"x:f32[1,3,2,8], w:f32[4,3,3,3] -> y = Conv(x, w)", "error: window", "", "the window does not fit"},
    {"x:f32[3,8], w:f32[4,3] -> y = Conv(x, w)", "error: rank 2", "", "no spatial axis"},
    {"x:f32[1,3,8,8], w:f32[4,3,3] -> y = Conv(x, w)", "error: input 1 has rank 3, expected 4", "", "ranks differ"},
    {"x:f32[1,3,8,8], w:f32[4,3,3,3] -> y = Conv(x, w) {auto_pad='SAME'}", "error: auto_pad", "", "no such padding"},
};

constexpr OpCase kIntegerConv[] = {
    {"x:u8[1,1,3,3], w:u8[1,1,2,2], z:u8[]=0 -> y = ConvInteger(x, w, z)",
     "y:i32[1,1,2,2]", "macs=16 arith=9 read=14 written=16 precision=int8", "one subtraction per pixel"},
    {"x:u8[1,1,3,3], w:i8[1,1,2,2], z:u8[]=0, v:i8[]=0 -> y = ConvInteger(x, w, z, v)", "y:i32[1,1,2,2]", "macs=16 arith=13", "and per weight"},
    {"x:u8[N,4,H,8], w:u8[8,2,3,3] -> y = ConvInteger(x, w) {group=2, pads=[1,1,1,1]}", "y:i32[N,8,H,8]", "macs=1152*N*H arith=0", "symbolic"},
    {"x:u8[1,3,4,4], w:u8[1,1,2,2] -> y = ConvInteger(x, w)", "error: input channels", "", "3 is not 1"},
    // 9 + 4 zero points, 2 for the one scale of w, 5·4 for requantisation, 4 for the bias.
    {"x:u8[1,1,3,3], xs:f32[], xz:u8[], w:i8[1,1,2,2], ws:f32[1], wz:i8[1], ys:f32[], yz:u8[], b:i32[1] -> y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz, b)",
     "y:u8[1,1,2,2]", "macs=16 arith=39 comparisons=12 precision=int8", "requantised output with bias"},
    {"x:i8[N,2,5,5], xs:f32[], xz:i8[], w:i8[4,2,3,3], ws:f32[4], wz:i8[4], ys:f32[], yz:i8[] -> y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz) {strides=[2,2]}",
     "y:i8[N,4,2,2]", "macs=288*N arith=130*N+80 comparisons=48*N", "per-channel scales, symbolic batch"},
    {"x:u8[1,2,3,3], xs:f32[], xz:u8[], w:u8[1,1,2,2], ws:f32[], wz:u8[], ys:f32[], yz:u8[] -> y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz)", "error: input channels", "", "2 is not 1"},
};

constexpr OpCase kConvTranspose[] = {
    {"x:f32[1,512,28,28], w:f32[512,256,2,2] -> y = ConvTranspose(x, w) {strides=[2,2]}",
     "y:f32[1,256,56,56]", "macs=411041792 arith=0", "by input volume: 28·28·512·256·4"},
    {"x:f32[N,8,H,W], w:f32[8,4,3,3], b:f32[4] -> y = ConvTranspose(x, w, b) {strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]}",
     "y:f32[N,4,2*H,2*W]", "macs=288*N*H*W arith=16*N*H*W", "symbolic, doubled"},
    {"x:f32[1,8,5,5], w:f32[8,2,3,3] -> y = ConvTranspose(x, w) {group=4}", "y:f32[1,8,7,7]", "macs=3600", "groups: M = W[1]·group"},
    {"x:f32[1,1,3], w:f32[1,2,3] -> y = ConvTranspose(x, w) {dilations=[2]}", "y:f32[1,2,7]", "macs=18", "1-D, dilated"},
    {"x:f32[1,1,3,4,5], w:f32[1,2,3,3,3] -> y = ConvTranspose(x, w)", "y:f32[1,2,5,6,7]", "macs=3240", "3-D"},
    {"x:f32[1,1,3,3], w:f32[1,2,3,3] -> y = ConvTranspose(x, w) {auto_pad='SAME_UPPER', strides=[2,2]}", "y:f32[1,2,6,6]", "macs=162", "input · stride"},
    {"x:f32[1,1,3,3], w:f32[1,2,2,2] -> y = ConvTranspose(x, w) {auto_pad='SAME_LOWER', strides=[3,2]}", "y:f32[1,2,8,6]", "", "never padded outwards: 3·2 + 2"},
    {"x:f32[1,1,3,3], w:f32[1,2,3,3] -> y = ConvTranspose(x, w) {auto_pad='VALID', strides=[2,2], pads=[1,1,1,1]}", "y:f32[1,2,7,7]", "", "no padding"},
    {"x:f32[1,1,3,3], w:f32[1,2,3,3] -> y = ConvTranspose(x, w) {strides=[3,2], output_shape=[10,8], output_padding=[1,1]}", "y:f32[1,2,10,8]", "macs=162", "output_shape wins"},
    {"x:f32[1,1,3,3], w:f32[1,2,3,3] -> y = ConvTranspose(x, w) {strides=[3,2], output_shape=[1,2,10,8]}", "y:f32[1,2,10,8]", "", "with batch and channels, as some files have it"},
    {"x:f32[1,1,3,3], w:f32[1,2,3,3] -> y = ConvTranspose(x, w) {output_shape=[1,2,3]}", "error: output_shape", "", "three entries for two axes"},
    {"x:f32[1,3,3,3], w:f32[1,2,3,3] -> y = ConvTranspose(x, w)", "error: input channels", "", "3 is not 1"},
    {"x:f32[1,1,1,1], w:f32[1,2,3,3] -> y = ConvTranspose(x, w) {pads=[2,2,2,2]}", "error: size -1", "", "nothing is left"},
};

constexpr OpCase kOthers[] = {
    // 9 positions · 4 taps: 36 places, 2 axes: 72 offsets, 3·72 weights, 4·36 products; 36 samples of 7; macs 36.
    {"x:f32[1,1,4,4], w:f32[1,1,2,2], o:f32[1,8,3,3] -> y = DeformConv(x, w, o)",
     "y:f32[1,1,3,3]", "macs=36 arith=684 comparisons=72", "bilinear samples"},
    {"x:f32[1,1,4,4], w:f32[1,1,2,2], o:f32[1,8,3,3], b:f32[1], m:f32[1,4,3,3] -> y = DeformConv(x, w, o, b, m)",
     "y:f32[1,1,3,3]", "macs=36 arith=729", "9 biases, 36 masks"},
    {"x:f32[N,4,H,W], w:f32[8,2,3,3], o:f32[N,36,H,W] -> y = DeformConv(x, w, o) {group=2, offset_group=2, pads=[1,1,1,1]}",
     "y:f32[N,8,H,W]", "macs=144*N*H*W arith=468*N*H*W", "18 places of 12 and 36 samples of 7 per pixel"},
    {"x:f32[1,1,4,4], w:f32[1,1,2,2], o:f32[1,6,3,3] -> y = DeformConv(x, w, o)", "error: offset channels", "", "8 are needed"},
    {"x:f32[1,5,5], s:i64[2]=[5,5], b:i64[2]=[1,5] -> y = Col2Im(x, s, b)", "y:f32[1,1,5,5]", "arith=25 read=100 written=100", "the example of the specification"},
    {"x:f32[N,C,L], s:i64[2]=[5,5], b:i64[2]=[1,5] -> y = Col2Im(x, s, b)", "y:f32[N,floor_div(C,5),5,5]", "arith=N*C*L", "symbolic"},
    {"x:f32[1,60,4], s:i64[3]=[4,5,6], b:i64[3]=[1,5,3] -> y = Col2Im(x, s, b) {strides=[2,1,1], pads=[0,1,0,0,1,0]}", "y:f32[1,4,4,5,6]", "", "3-D"},
    {"x:f32[1,10,4], s:i64[2], b:i64[2]=[1,5] -> y = Col2Im(x, s, b)", "y:f32[1,2,?,?]", "", "an image of unknown size"},
    {"x:f32[1,11,4], s:i64[2]=[5,5], b:i64[2]=[1,5] -> y = Col2Im(x, s, b)", "error: 11 columns", "", "not divisible"},
    {"x:f32[1,11,4], s:i64[], b:i64[2] -> y = Col2Im(x, s, b)", "error: image_shape has rank 0, expected 1", "", "one number"},
    {"x:f32[1,11,4], s:i64[2]=[5,5], b:i64[1,2] -> y = Col2Im(x, s, b)", "error: block_shape has rank 2, expected 1", "", "a matrix"},
    {"opset=27: x:f32[2,6,L], w:f32[6,1,4] -> y, s = CausalConvWithState(x, w)", "y:f32[2,6,L], s:f32[2,6,3]", "macs=48*L arith=0 special=0", "no bias, no activation"},
    {"opset=27: x:f32[2,6,5], w:f32[6,1,4], b:f32[6], p:f32[2,6,3] -> y, s = CausalConvWithState(x, w, b, p) {activation='silu'}",
     "y:f32[2,6,5], s:f32[2,6,3]", "macs=240 arith=120 special=60 read=504 written=384", "bias, SiLU, state"},
    {"opset=27: x:f32[2,5,5], w:f32[6,1,4] -> y, s = CausalConvWithState(x, w)", "error: channels", "", "5 is not 6"},
};
// clang-format on

// Output positions of a window along one axis, counted by trying each one.
int positions(int input, int kernel, int stride, int dilation, int pad) {
  int count = 0;
  for (int start = -pad; start + dilation * (kernel - 1) < input + pad; start += stride) ++count;
  return count;
}

Int macs(const std::string& text) { return *analyze(graph(text)).totals.cost.macs.value(); }

}  // namespace

TEST_CASE("convolutions slide windows and multiply every tap") { check_cases(kConvCases); }
TEST_CASE("integer convolutions subtract zero points and requantise") { check_cases(kIntegerConv); }
TEST_CASE("transposed convolutions scatter every input element") { check_cases(kConvTranspose); }
TEST_CASE("deformable, causal and column convolutions") { check_cases(kOthers); }

TEST_CASE("convolution macs equal those of the loops that define it") {
  for (const int group : {1, 2})
    for (const int kernel : {1, 2, 3})
      for (const int stride : {1, 2, 3})
        for (const int dilation : {1, 2})
          for (const int pad : {0, 1}) {
            const int size = 7, inputs = 4, outputs = 6;
            const int along = positions(size, kernel, stride, dilation, pad);
            Int counted = 0;
            for (int filter = 0; filter < outputs; ++filter)
              for (int y = 0; y < along; ++y)
                for (int x = 0; x < along; ++x)
                  for (int channel = 0; channel < inputs / group; ++channel)
                    for (int tap = 0; tap < kernel * kernel; ++tap) ++counted;
            const auto list = [](int value, int count) {
              std::string result = std::to_string(value);
              for (int i = 1; i < count; ++i) result += "," + std::to_string(value);
              return "[" + result + "]";
            };
            const std::string text =
                "x:f32[1,4,7,7], w:f32[6," + std::to_string(inputs / group) + "," + std::to_string(kernel) + "," +
                std::to_string(kernel) + "] -> y = Conv(x, w) {group=" + std::to_string(group) +
                ", strides=" + list(stride, 2) + ", dilations=" + list(dilation, 2) + ", pads=" + list(pad, 4) + "}";
            CHECK_MESSAGE(macs(text) == counted, text);
          }
}

TEST_CASE("transposed convolution macs equal those of the loops that define it") {
  for (const int group : {1, 2, 4})
    for (const int kernel : {2, 3})
      for (const int stride : {1, 2}) {
        Int counted = 0;
        for (int channel = 0; channel < 4; ++channel)
          for (int y = 0; y < 5; ++y)
            for (int x = 0; x < 6; ++x)
              for (int filter = 0; filter < 8 / group; ++filter)
                for (int tap = 0; tap < kernel * kernel; ++tap) ++counted;
        const std::string text = "x:f32[1,4,5,6], w:f32[4," + std::to_string(8 / group) + "," + std::to_string(kernel) +
                                 "," + std::to_string(kernel) +
                                 "] -> y = ConvTranspose(x, w) {group=" + std::to_string(group) + ", strides=[" +
                                 std::to_string(stride) + "," + std::to_string(stride) + "]}";
        CHECK_MESSAGE(macs(text) == counted, text);
      }
}

}  // namespace pagoda::test
