// Rows of operator cases: a small graph as text, the types it must give and the work it must cost.
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
  // Values of the main graph with the type each must have, types in the grammar of text_graph.h and compared as
  // formulas: "y:f32[N,64], i:i64[N]". `?` stands for any size that is not a constant, a type without brackets for an
  // unknown rank. "y=[1,N,?]" compares the known value (`?`: an unknown element; a scalar is "y=3"), "y:i64[3]=[1,N,3]"
  // both, "y=none" asks that no value is known. Or "error: text": a warning or error that holds this text.
  const char* types;
  // Totals of the model, formulas of sizes: "macs= arith= special= comparisons= read= written= params= param_bytes=",
  // and of the last node "mark=compute|view|host|folded|unmodelled" and "precision=float16". Only keys that are named
  // are compared.
  const char* cost;
  const char* why;
};

// Analyzes every row and reports each difference as one failure with input, got and expected. Where dims are free, it
// also checks that binding them after the analysis gives what binding them before it does.
void check_cases(std::span<const OpCase> cases, const AnalyzeOptions& options = {});

// The operators ("Relu", "com.microsoft.Gelu") of the rows that were checked so far in this program: of those that
// state a type, and of those that state work.
struct CheckedOperators {
  std::set<std::string> with_types, with_work;
};
const CheckedOperators& checked_operators();

// What is wrong with one row, in lines; empty when nothing is.
std::string differences(const OpCase& row, const AnalyzeOptions& options = {});

// Where the analysis bound afterwards and the analysis of the bound model disagree; empty where they do not.
std::string binding_differences(const OpCase& row, const AnalyzeOptions& options = {});

}  // namespace pagoda::test
