// com.microsoft: gathers of quantised tables, crops, transforms, distances, hashes, text, opaque nodes; and PyTorch
// operators by name.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kContribMiscGather[] = {
    // graph, types, cost, why
    {"d:u8[1000,16]=const, i:i64[B,S], s:f16[1000,1]=const -> y = com.microsoft.GatherBlockQuantized(d, i, s) {block_size=32, bits=4, quantize_axis=1}", "y:f16[B,S,32]", "arith=64*B*S written=64*B*S precision=float16", "two elements a byte, each dequantised"},
    {"d:u8[1000,16]=const, i:i64[5], s:f16[1000,2]=const, z:u8[1000,1]=const -> y = com.microsoft.GatherBlockQuantized(d, i, s, z) {block_size=16, bits=4}", "y:f16[5,32]", "read=40+80+20+5", "five rows of everything"},
    {"d:i4[10,32]=const, i:i32[2,3], s:f32[10,2]=const -> y = com.microsoft.GatherBlockQuantized(d, i, s) {block_size=16}", "y:f32[2,3,32]", "read=24+96+48", "4-bit elements are as they are"},
    {"d:f8e4m3[10,32]=const, i:i32[2], s:f32[1,1]=const -> y = com.microsoft.GatherBlockQuantized(d, i, s) {block_size=0}", "y:f32[2,32]", "arith=64 read=8+64+4", "no zero point, one scale for all"},
    {"d:u8[10,16], i:i32[2], s:f32[10,1] -> y = com.microsoft.GatherBlockQuantized(d, i, s) {bits=3}", "error: bits is 3", "", "2, 4 or 8"},
    {"d:u8[1000,36]=const, i:i64[B,S] -> y = com.microsoft.GatherPacked(d, i) {packed_type=8, K=64, output_dtype=10}", "y:f16[B,S,64]", "arith=64*B*S written=128*B*S precision=float16", "a scale per element"},
    {"d:u8[1000,36]=const, i:i64[5] -> y = com.microsoft.GatherPacked(d, i) {packed_type=8, K=64}", "y:bf16[5,64]", "read=40+180", "five rows of bytes"},
    {"d:u8[36], i:i64[5] -> y = com.microsoft.GatherPacked(d, i) {packed_type=8, K=64}", "error: rank 1", "", "rows and bytes"},
    {"w:f32[100,8]=const, i:i64[B,S] -> y = com.microsoft.TorchEmbedding(w, i)", "y:f32[B,S,8]", "arith=0 written=32*B*S", "rows of a table"},
    {"w:f32[100,8]=const, i:i64[5] -> y = com.microsoft.TorchEmbedding(w, i)", "y:f32[5,8]", "read=40+160", "five rows"},
    {"w:f32[100]=const, i:i64[5] -> y = com.microsoft.TorchEmbedding(w, i)", "error: rank 1", "", "a table"},
    {"x:f32[N,4,5], i:i64[6,2] -> y = com.microsoft.GatherND(x, i)", "y:f32[6,5]", "arith=0", "as ai.onnx"},
    {"x:f32[4], i:i64[6,2] -> y = com.microsoft.GatherND(x, i)", "error: index tuples of 2", "", "one axis"},
    {"x:f32[2,3,8,8], r:f32[R,4], b:i32[R], s:i32[2]=[5,6] -> y = com.microsoft.CropAndResize(x, r, b, s)", "y:f32[R,3,5,6]", "arith=630*R+55*R+120*R comparisons=11*R written=360*R", "7 per element, 5 per row and column, 4 per place"},
    {"x:f32[2,3,8,8], r:f32[R,4], b:i32[R], s:i32[2] -> y = com.microsoft.CropAndResize(x, r, b, s) {mode='nearest'}", "y:f32[R,3,?,?]", "", "a size that is data"},
    {"x:f32[2,3,8,8], r:f32[R,4], b:i32[R], s:i32[1]=[5] -> y = com.microsoft.CropAndResize(x, r, b, s)", "error: crop_size has 1", "", "height and width"},
};

constexpr OpCase kMath[] = {
    {"x:f32[N,3,16] -> y = com.microsoft.Rfft(x) {signal_ndim=1}", "y:f32[N,3,9,2]", "arith=480*N", "2.5·16·4 for each of 3·N"},
    {"x:f32[2,8,16] -> y = com.microsoft.Rfft(x) {signal_ndim=2}", "y:f32[2,8,9,2]", "arith=4480", "3 and 4 stages: 2.5·128·7 each"},
    {"x:f32[2,S] -> y = com.microsoft.Rfft(x)", "y:f32[2,S//2+1,2]", "mark=compute", "⌈log2 S⌉ stages, as a sum"},
    {"x:f32[16] -> y = com.microsoft.Rfft(x) {signal_ndim=2}", "error: fewer axes", "", "one axis"},
    {"x:f32[N,9,2] -> y = com.microsoft.Irfft(x) {signal_ndim=1}", "y:f32[N,16]", "arith=160*N", "back"},
    {"x:f32[9] -> y = com.microsoft.Irfft(x) {signal_ndim=1}", "error: fewer axes", "", "no parts"},
    {"a:f32[M,4], b:f32[K,4] -> y = com.microsoft.CDist(a, b) {metric='euclidean'}", "y:f32[M,K]", "macs=0 arith=11*M*K special=M*K", "4 + 4 + 3 and a root"},
    {"a:f32[3,4], b:f32[5,4] -> y = com.microsoft.CDist(a, b)", "y:f32[3,5]", "arith=165 special=0", "squared"},
    {"a:f32[3,4], b:f32[5,4] -> y = com.microsoft.CDist(a, b) {metric='jaccard'}", "error: 'jaccard'", "", "another metric"},
    {"a:f32[3,4], b:f32[5,3] -> y = com.microsoft.CDist(a, b)", "error: coordinates", "", "4 is not 3"},
    {"x:f32[M,N] -> y = com.microsoft.DynamicTimeWarping(x)", "y:i32[2,?]", "arith=3*M*N comparisons=2*M*N", "three per cell"},
    {"x:f32[4] -> y = com.microsoft.DynamicTimeWarping(x)", "error: rank 1", "", "a matrix"},
    {"x:i32[N,4] -> y = com.microsoft.MurmurHash3(x)", "y:u32[N,4]", "arith=64*N comparisons=40*N", "16 operations a word"},
    {"x:f64[4] -> y = com.microsoft.MurmurHash3(x) {positive=0}", "y:i32[4]", "arith=92", "two words"},
    {"x:str[4] -> y = com.microsoft.MurmurHash3(x)", "y:u32[4]", "arith=28*hashed_words+36 comparisons=12*hashed_words+28", "strings of unknown length"},
    {"x:f32[N,4,5,3], g:f32[N,6,2,2] -> y = com.microsoft.GridSample(x, g)", "y:f32[N,4,6,2]", "read=336*N written=192*N", "as ai.onnx"},
    {"x:f32[2,4,5,3], g:f32[2,6,2,3] -> y = com.microsoft.GridSample(x, g)", "error: coordinates per location", "", "3 is not 2"},
};

constexpr OpCase kLayout[] = {
    {"x:f32[N,4], a:i32=1 -> y = com.microsoft.ExpandDims(x, a)", "y:f32[N,1,4]", "mark=view", "the same bytes"},
    {"x:f32[N,4], a:i32=-1 -> y = com.microsoft.ExpandDims(x, a)", "y:f32[N,4,1]", "", "from the end"},
    {"x:f32[N,4], a:i32[] -> y = com.microsoft.ExpandDims(x, a)", "y:f32[?,?,?]", "mark=view", "an axis that is data"},
    {"x:f32[N,4], a:i32=3 -> y = com.microsoft.ExpandDims(x, a)", "error: axis 3", "", "rank 2"},
    {"x:f32[N,4], p:i64[4]=[1,0,2,1] -> y = com.microsoft.Pad(x, p)", "y:f32[N+3,5]", "arith=0 read=16*N written=20*N+60", "begins, then ends"},
    {"x:f32[3,4], p:i64[1,4]=[1,0,2,-1] -> y = com.microsoft.Pad(x, p)", "y:f32[6,3]", "read=36 written=72", "one column is cropped"},
    {"x:f32[3,4], p:i64[4] -> y = com.microsoft.Pad(x, p)", "y:f32[?,?]", "", "pads that are data"},
    {"x:f32[3,4], p:i64[3]=[1,0,2] -> y = com.microsoft.Pad(x, p)", "error: pads has 3", "", "two per axis"},
    {"x:f32[N,2] -> n = Shape(x) {end=1}; z = Sub(n, n); y = com.microsoft.Range(z, n)", "y:i64[N]", "", "a step of 1"},
    {"a:i64=1, b:i64=7, c:i64=2 -> y = com.microsoft.Range(a, b, c)", "y:i64[3]=[1,3,5]", "mark=folded", "as ai.onnx"},
    {"a:f32=1.5, b:f32=7.0 -> y = com.microsoft.Range(a, b)", "y:f32[6]", "", "reals, rounded up"},
    {"a:f32[], b:f32[] -> y = com.microsoft.Range(a, b)", "y:f32[?]", "", "bounds that are data"},
    {"a:i64=1, b:i64=7, c:i64=0 -> y = com.microsoft.Range(a, b, c)", "error: a step of 0", "", "endless"},
    {"x:f32[N,4] -> y = com.microsoft.Trilu(x) {upper=0}", "y:f32[N,4]", "arith=0", "as ai.onnx"},
    {"x:f32[4] -> y = com.microsoft.Trilu(x)", "error: rank 1", "", "a matrix"},
    {"x:f32[3,N] -> y = com.microsoft.UnfoldTensor(x) {size=4, step=2}", "y:f32[3,(N-4)//2+1,4]", "arith=0 read=12*N", "slices of the last axis"},
    {"x:f32[3,10] -> y = com.microsoft.UnfoldTensor(x) {dim=0, size=2}", "y:f32[2,10,2]", "written=160", "slices of the first"},
    {"x:f32[3,10] -> y = com.microsoft.UnfoldTensor(x) {dim=0, size=4}", "error: slices of 4 from 3", "", "too long"},
    {"x:i64[N] -> y, i, c = com.microsoft.Unique(x)", "y:i64[?], i:i64[N], c:i64[?]", "arith=N comparisons=N", "a look at every element"},
    {"x:i64[N,2] -> y, i, c = com.microsoft.Unique(x)", "error: rank 2", "", "a vector"},
};

constexpr OpCase kContribMiscText[] = {
    {"x:str[N] -> y = com.microsoft.Tokenizer(x) {mark=0, mincharnum=1, pad_value='#', separators=[' ']}", "y:str[N,?]", "arith=0", "the most tokens of a string"},
    {"x:str[2,3,4] -> y = com.microsoft.Tokenizer(x) {mark=0, mincharnum=1, pad_value='#'}", "error: rank 3", "", "at most two axes"},
    {"x:i32[N,10], w:f32[6,1,3,5], b:f32[6], c:f32[30,5] -> y = com.microsoft.WordConvEmbedding(x, w, b, c)", "y:f32[N,6]", "macs=720*N arith=90*N special=48*N comparisons=42*N", "8 places of 15 macs for 6 filters, bias, tanh, the largest"},
    {"x:i32[N,10,3], w:f32[6,1,3,5], b:f32[6], c:f32[30,5] -> y = com.microsoft.WordConvEmbedding(x, w, b, c)", "y:f32[N,6]", "macs=720*N arith=90*N special=48*N comparisons=42*N", "ONNX Runtime takes axis 1 for the characters of a word"},
    {"x:i32[10], w:f32[6,1,3,5], b:f32[6], c:f32[30,5] -> y = com.microsoft.WordConvEmbedding(x, w, b, c)", "error: rank 1", "", "words and characters"},
    {"x:i32[4,10], w:f32[6,3,5], b:f32[6], c:f32[30,5] -> y = com.microsoft.WordConvEmbedding(x, w, b, c)", "error: rank 3", "", "a kernel of rank 4"},
    {"x:f32[N,3] -> y:f32[N,5] = com.microsoft.EPContext(x)", "y:f32[N,5]", "mark=unmodelled", "the file tells the shape"},
    {"x:f32[N,3] -> y = com.microsoft.EPContext(x)", "error: compiled model", "", "nothing tells the work"},
    {"x:f32[N,3] -> y:f32[N,5] = com.microsoft.Snpe(x) {DLC='x'}", "y:f32[N,5]", "mark=unmodelled", "the file tells the shape"},
    {"x:f32[N,3] -> y = com.microsoft.Snpe(x) {DLC='x'}", "error: compiled model", "", "nothing tells the work"},
    {"x:f32[N,3] -> y:f32[N,5] = org.pytorch.aten.ATen(x) {operator='aten::embedding_bag'}", "y:f32[N,5]", "mark=unmodelled", "the file tells the shape"},
    {"x:f32[N,3] -> y = org.pytorch.aten.ATen(x) {operator='aten::embedding_bag'}", "error: aten::embedding_bag", "", "by name"},
};
// clang-format on

}  // namespace

TEST_CASE("com.microsoft gathers and crops") { check_cases(kContribMiscGather); }
TEST_CASE("com.microsoft transforms, distances and hashes") { check_cases(kMath); }
TEST_CASE("com.microsoft shapes and layouts") { check_cases(kLayout); }
TEST_CASE("com.microsoft text and opaque nodes") { check_cases(kContribMiscText); }

}  // namespace pagoda::test
