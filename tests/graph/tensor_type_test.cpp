#include <doctest/doctest.h>

#include "pagoda/core/tensor_type.h"

using namespace pagoda;

TEST_CASE("packed elements take whole bytes") {
  CHECK(byte_size(7, ElementType::Uint4) == Dim(4));
  CHECK(byte_size(5, ElementType::Int2) == Dim(2));
  CHECK(byte_size(3, ElementType::Bfloat16) == Dim(6));
  CHECK(byte_size(Dim::symbol("n"), ElementType::Uint4).to_string() == "floor_div(n + 1, 2)");
}

TEST_CASE("names of element types are read back") {
  for (int i = 1; i <= 26; ++i) {
    const auto type = static_cast<ElementType>(i);
    CHECK(element_type(to_string(type)) == type);
  }
  CHECK_FALSE(element_type("float33").has_value());
  CHECK(bits(static_cast<ElementType>(99)) == 0);  // a type newer than this table
}

TEST_CASE("types print with their sizes") {
  CHECK(to_string(TensorType{ElementType::Float32, Shape{Dim::symbol("batch"), 3}}) == "float32[batch,3]");
  CHECK(to_string(TensorType{ElementType::Int8, std::nullopt}) == "int8[?]");
  CHECK(to_string(TensorType{ElementType::Float16, Shape{}, Container::Sequence}) == "sequence(float16[])");
}
