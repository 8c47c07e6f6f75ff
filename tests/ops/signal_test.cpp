// Fourier transforms, windows and filter banks.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kTransforms[] = {
    // graph, types, cost, why
    // 3 transforms of 16: 5·16·4 / 2.
    {"x:f32[3,16,1] -> y = DFT(x)", "y:f32[3,16,2]", "arith=480 special=0 read=192 written=384", "real input, half the work"},
    {"x:f32[N,16,2] -> y = DFT(x)", "y:f32[N,16,2]", "arith=320*N", "complex"},
    {"x:f32[1,10,6,1] -> y = DFT(x) {onesided=1}", "y:f32[1,10,4,2]", "arith=10*45", "one side of the spectrum; 3 stages for length 6"},
    {"x:f32[1,10,6,1], n:i64[]=4 -> y = DFT(x, n) {onesided=1}", "y:f32[1,10,3,2]", "arith=10*20 read=160", "a shorter transform reads less"},
    {"x:f32[1,10,6,2], n:i64[]=16 -> y = DFT(x, n) {inverse=1}", "y:f32[1,10,16,2]", "arith=10*320+320 read=480", "padded; the inverse divides"},
    {"x:f32[1,10,5,2] -> y = DFT(x) {inverse=1, onesided=1}", "y:f32[1,10,8,1]", "arith=10*60+80", "back to a real signal of 2·(5 − 1)"},
    {"x:f32[1,10,6,1], a:i64[]=1 -> y = DFT(x, , a)", "y:f32[1,10,6,2]", "arith=6*100", "the axis is an input"},
    {"opset=17: x:f32[1,10,6,1] -> y = DFT(x) {onesided=1}", "y:f32[1,6,6,2]", "arith=6*100", "an attribute, 1 unless stated, before"},
    {"opset=17: x:f32[1,10,6,1] -> y = DFT(x) {axis=2}", "y:f32[1,10,6,2]", "", "stated"},
    {"x:f32[1,S,1] -> y = DFT(x) {onesided=1}", "y:f32[1,floor_div(S,2)+1,2]", "mark=compute", "⌈log2 S⌉ stages, as a sum"},
    {"x:f32[1,8,1], n:i64[] -> y = DFT(x, n)", "y:f32[1,?,2]", "", "a length that is data"},
    {"x:f32[1,8,1], n:i64[] -> y = DFT(x, n) {onesided=1}", "y:f32[1,?,2]", "mark=compute", "at most as long as its bins allow"},
    {"x:f32[1,10,6,1], a:i64[] -> y = DFT(x, , a)", "y:f32[1,10,6,2]", "arith=600", "an axis that is data: 6 transforms of 10 cost more than 10 of 6"},
    {"x:f32[1,10,6,1], n:i64[]=4, a:i64[] -> y = DFT(x, n, a)", "y:f32[?,?,?,2]", "arith=60*20 read=240 written=60*4*8", "60 transforms of 4 along the first axis"},
    {"x:f32[1,10,6,2], n:i64[]=16, a:i64[] -> y = DFT(x, n, a) {onesided=1}", "y:f32[?,?,?,2]", "arith=60*320 read=480 written=60*9*8", "the most bins are those of 60 transforms, too"},
    {"x:f32[1,10,6,1], a:i64[] -> y = DFT(x, , a) {onesided=1}", "y:f32[?,?,?,2]", "arith=600 written=60*8", "along the first axis no bin is lost"},
    {"x:f32[1,8,2], n:i64[], a:i64[] -> y = DFT(x, n, a)", "y:f32[?,?,2]", "mark=compute read=64", "a length that is data, too"},
    {"x:f32[1,8,1], a:i64[]=-1 -> y = DFT(x, , a)", "error: last axis", "", "parts of numbers cannot be transformed"},
    {"x:f32[8], a:i64[]=0 -> y = DFT(x, , a)", "error: rank 1", "", "no axis for the parts"},
    // Frames of 16 every 8: 13·(16 + 160).
    {"x:f32[N,112,1], f:i64[]=8, w:f32[16] -> y = STFT(x, f, w)", "y:f32[N,13,9,2]", "arith=2288*N read=448*N+64", "windowed"},
    {"x:f32[1,112,1], f:i64[]=8, n:i64[]=16 -> y = STFT(x, f, , n)", "y:f32[1,13,9,2]", "arith=2080", "a frame length instead of a window"},
    {"x:f32[1,112,2], f:i64[]=8, w:f32[16], n:i64[]=16 -> y = STFT(x, f, w, n) {onesided=0}", "y:f32[1,13,16,2]", "arith=13*(32+320)", "complex"},
    {"x:f32[1,S,1], f:i64[]=8, w:f32[16] -> y = STFT(x, f, w)", "y:f32[1,floor_div(S,8)-1,9,2]", "arith=176*floor_div(S,8)-176", "symbolic signal"},
    {"x:f32[1,S,1], f:i64[], w:f32[16] -> y = STFT(x, f, w)", "y:f32[1,?,9,2]", "", "a step that is data"},
    {"x:f32[1,112,1], f:i64[]=8, n:i64[] -> y = STFT(x, f, , n)", "y:f32[1,?,?,2]", "mark=compute", "a frame length that is data"},
    {"x:f32[1,32,1], f:i64[]=8 -> y = STFT(x, f)", "y:f32[1,1,17,2]", "arith=400", "one frame"},
    {"x:f32[1,10,1], f:i64[]=8, w:f32[16] -> y = STFT(x, f, w)", "error: frames of 16", "", "the signal is too short"},
    {"x:f32[1,112,1], f:i64[]=0, w:f32[16] -> y = STFT(x, f, w)", "error: frame_step", "", "no step"},
};

constexpr OpCase kGenerated[] = {
    {"n:i64[]=10 -> y = HannWindow(n)", "y:f32[10]", "", "a constant"},
    {"x:f32[S] -> n = Size(x); y = HannWindow(n)", "y:f32[S]", "arith=3*S special=S read=0 written=4*S", "symbolic"},
    {"n:i64[] -> y = HannWindow(n) {periodic=0}", "y:f32[?]", "", "a size that is data"},
    {"n:i64[]=-1 -> y = HannWindow(n)", "error: window is -1", "", "negative"},
    {"x:f32[S] -> n = Size(x); y = HammingWindow(n) {output_datatype=f16}", "y:f16[S]", "arith=3*S special=S precision=float16", "another type"},
    {"n:i64[]=-1 -> y = HammingWindow(n)", "error: window is -1", "", "negative"},
    {"x:f32[S] -> n = Size(x); y = BlackmanWindow(n) {output_datatype=f64}", "y:f64[S]", "arith=6*S special=2*S written=8*S", "two cosines"},
    {"n:i64[]=-1 -> y = BlackmanWindow(n)", "error: window is -1", "", "negative"},
    {"b:i64[]=8, d:i64[]=16, r:i64[]=8192, l:f32[]=0.0, h:f32[]=4096.0 -> y = MelWeightMatrix(b, d, r, l, h)", "y:f32[9,8]", "", "[dft / 2 + 1, bands]"},
    {"b:i64[]=8, d:i64[]=16, r:i64[], l:f32[], h:f32[] -> y = MelWeightMatrix(b, d, r, l, h)", "y:f32[9,8]", "arith=8+80+432 special=12 comparisons=10+144 written=288", "edges and slopes"},
    {"b:i64[], d:i64[]=16, r:i64[], l:f32[], h:f32[] -> y = MelWeightMatrix(b, d, r, l, h)", "y:f32[9,?]", "", "bands that are data"},
    {"b:i64[]=-8, d:i64[]=16, r:i64[], l:f32[], h:f32[] -> y = MelWeightMatrix(b, d, r, l, h)", "error: mel_bins is -8", "", "negative"},
};
// clang-format on

}  // namespace

TEST_CASE("Fourier transforms") { check_cases(kTransforms); }
TEST_CASE("windows and filter banks") { check_cases(kGenerated); }

}  // namespace pagoda::test
