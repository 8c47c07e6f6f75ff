// Operators on strings: shapes, and the numbers that these operators read and write.
#include <doctest/doctest.h>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kTextCases[] = {
    // graph, types, cost, why
    {"a:str[N,3], b:str[3] -> y = StringConcat(a, b)", "y:str[N,3]", "mark=host", "broadcasts"},
    {"a:str[2], b:str[3] -> y = StringConcat(a, b)", "error: do not broadcast", "", ""},
    {"a:str[2], b:f32[2] -> y = StringConcat(a, b)", "error: input 1 is float32", "", ""},
    {"x:str[C] -> y = StringNormalizer(x)", "y:str[C]", "mark=host", "nothing is removed"},
    {"x:str[1,C] -> y = StringNormalizer(x) {stopwords=['the']}", "y:str[1,?]", "", "stop words are"},
    {"x:str[1,1,C] -> y = StringNormalizer(x)", "error: rank 3", "", ""},
    {"x:str[N] -> y, n = StringSplit(x)", "y:str[N,?], n:i64[N]", "arith=0 written=8*N", "the longest decides"},
    {"-> y, n = StringSplit()", "error: input 0 is missing", "", ""},
    {"x:str[N,2] -> y = RegexFullMatch(x) {pattern='a.*'}", "y:bool[N,2]", "arith=0 written=2*N", ""},
    {"-> y = RegexFullMatch()", "error: input 0 is missing", "", ""},
    {"x:i64[N,C] -> y = TfIdfVectorizer(x) {mode='TF', ngram_indexes=[0,3,1]}", "y:f32[N,4]", "arith=0 read=8*N*C written=16*N precision=float32", "the highest index decides"},
    {"x:i64[C] -> y = TfIdfVectorizer(x) {mode='TFIDF', ngram_indexes=[0,3,1]}", "y:f32[4]", "arith=4", "weights scale"},
    {"x:i64[C] -> y = TfIdfVectorizer(x) {mode='TF'}", "error: attribute ngram_indexes is missing", "", ""},
};
// clang-format on

TEST_CASE("operators on strings have shapes, and work on numbers only") { check_cases(kTextCases); }

}  // namespace
}  // namespace pagoda::test
