// Rows of operator cases: a small graph as text, the types that it must give and the work that it must cost.
//
//   constexpr OpCase kCases[] = {
//       // graph                                        types                cost                      why
//       {"x:f32[N,3] -> y = Relu(x)",                   "y:f32[N,3]",        "arith=3*N read=12*N",    "1 / element"},
//       {"x:f32[N,3] -> y = Shape(x)",                  "y:i64[2]=[N,3]",    "mark=host",              "dims fold"},
//       {"a:f32[2,3], b:f32[4,5] -> y = MatMul(a, b)",  "error: inner dim",  "",                       "3 is not 4"},
//   };
//   TEST_CASE("elementwise operators") { check_cases(kCases); }
#pragma once

#include <set>
#include <span>
#include <string>

#include "pagoda/core/analyze.h"
#include "support/text_graph.h"

namespace pagoda::test {

struct OpCase {
  const char* graph;  // grammar of text_graph.h
  // Values of the main graph with the type each must have. Types use the grammar of text_graph.h and are compared as
  // formulas: "y:f32[N,64], i:i64[N]". `?` stands for any size that is not a constant, a type without brackets for an
  // unknown rank. "y=[1,N,?]" compares the known value (`?`: an unknown element; a scalar is "y=3"), "y:i64[3]=[1,N,3]"
  // both; "y=none" requires that no value is known. Or "error: text": a warning or error that contains this text.
  const char* types;
  // Totals of the model, formulas of sizes: "macs= arith= special= comparisons= read= written= params= param_bytes=";
  // for the last node: "mark=compute|view|host|folded|unmodelled" and "precision=float16". Only
  // the keys that are named are compared.
  const char* cost;
  const char* why;
};

// Analyzes every row and reports each difference as one failure with input, got and expected. Where dims are free, also
// checks that binding them after the analysis gives the same as binding them before it.
void check_cases(std::span<const OpCase> cases, const AnalyzeOptions& options = {});

// The operators ("Relu", "com.microsoft.Gelu") of the rows checked so far in this program: those with an
// expected type, and those with expected work.
struct CheckedOperators {
  std::set<std::string> with_types, with_work;
};
const CheckedOperators& checked_operators();

// What is wrong with one row, one line per difference; empty if nothing is.
std::string differences(const OpCase& row, const AnalyzeOptions& options = {});

// Differences between binding after the analysis and before it; empty if there are none.
std::string binding_differences(const OpCase& row, const AnalyzeOptions& options = {});

}  // namespace pagoda::test
