// Small models written as text, so that a test shows its whole input in one line and needs no protobuf.
//
//   Model model = test::graph("x:f32[N,3,224,224], w:f32[64,3,7,7]=const -> y = Conv(x, w) {strides=[2,2]}");
//
//   graph    [opset=13 com.microsoft=1 :] [values ->] node; node; … [=> output, output]
//   values   name:type, …       inputs of the graph, or initializers:
//            name:type=const    an initializer whose value is not known
//            name:type=[1,2,3]  one with a value (=3 for a scalar; true, false, 0.5, inf and nan are values too).
//                               The shape may be left out (`axes:i64=[0,1]`): the list gives it.
//   type     f32 f16 bf16 f64 f8e4m3 f8e5m2 f8e8m0 f4 i64 i32 i16 i8 i4 i2 u64 u32 u16 u8 u4 u2 bool str c64 c128, or the
//            long names (float32 …); alone: rank unknown; f32[] a scalar; f32[N,2*seq+1,?] where `?` is a size
//            without a name; seq(f32[2]); optional(f32[2]); optional(seq(f32[2])); map(i64,f32), the types of keys
//            and values; map(f32), of unknown keys; sparse(f32[2])
//   node     a, , b = com.microsoft.Op(x, , z) {attribute=…, …} @ node.name
//            Outputs and inputs may be left out between commas. `a:f32[2] = …` declares a type. A name that holds
//            other characters than letters, digits, _ . / is quoted: 'x y'. Inside quotes \n \t \e \' \\ \xHH work.
//   attribute  integer, real (1.0 is a real), 'string', true, false, a list of one of these, a type name (its number
//            in TensorProto.DataType), a tensor `f32[1]=[0.5]`, a type `seq(f32[2])`, or a graph `( values -> … )`
//            in this grammar, which may use the names of the graphs around it
//   outputs  without `=>`: every node output that nothing in the graph uses
//
// Names are defined before they are used, except for the graph's outputs. Opset of ai.onnx without a prefix:
// kDefaultOpset; of other domains that occur: 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pagoda/core/graph.h"

namespace pagoda::test {

inline constexpr std::int64_t kDefaultOpset = 22;

// Throws std::invalid_argument with the place of the mistake.
Model graph(std::string_view text);

// A type of the grammar above. Sizes written `?` become symbols named after `value` and their axis.
TensorType type(std::string_view text, std::string_view value = "unnamed");

// A type in the grammar above, with the long element names: "float32[N,3]", "float32" for an unknown rank.
std::string text(const TensorType& type);

}  // namespace pagoda::test
