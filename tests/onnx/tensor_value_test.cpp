// Values of small tensors, from every field and in every element type.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "onnx/sample_models.h"
#include "onnx/small_float.h"
#include "pagoda/core/model.h"

namespace pagoda::test {
namespace {

// The only initializer of a model with `tensor`, as loaded.
Tensor loaded(const onnx::TensorProto& tensor) {
  onnx::ModelProto proto = new_model();
  *proto.mutable_graph()->add_initializer() = tensor;
  return parse(proto).main().initializers.at(0);
}

std::string error_of(const onnx::TensorProto& tensor) {
  onnx::ModelProto proto = new_model();
  *proto.mutable_graph()->add_initializer() = tensor;
  return parse_error(proto.SerializeAsString());
}

onnx::TensorProto tensor_of(int type, const std::vector<std::int64_t>& dims) {
  onnx::TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(type);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

// Values as text: integers plain, reals with the suffix r.
std::string text(const Tensor& tensor) {
  if (!tensor.value) return "unknown";
  std::string result;
  for (const Scalar& scalar : *tensor.value) {
    if (!result.empty()) result += ' ';
    if (const Dim* dim = std::get_if<Dim>(&scalar)) {
      result += dim->to_string();
    } else if (const double* real = std::get_if<double>(&scalar)) {
      std::array<char, 32> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "%gr", *real);
      result += buffer.data();
    } else {
      result += '?';
    }
  }
  return result;
}

TEST_CASE("raw data of every element type decodes little-endian, low bits first") {
  struct Row {
    ElementType type;
    std::int64_t elements;
    std::string raw;
    const char* expected;
  };
  using enum ElementType;
  const std::string half_one("\x00\x3c", 2);
  const Row rows[] = {
      {Float32, 2, std::string("\0\0\x80\x3f\0\0\x20\xc1", 8), "1r -10r"},
      {Float64, 1, std::string("\0\0\0\0\0\0\xf0\x3f", 8), "1r"},
      {Uint8, 2, "\x01\xff", "1 255"},
      {Int8, 2, "\x01\xff", "1 -1"},
      {Uint16, 1, std::string("\x01\x80", 2), "32769"},
      {Int16, 1, std::string("\x01\x80", 2), "-32767"},
      {Int32, 2, std::string("\x02\0\0\0\xff\xff\xff\xff", 8), "2 -1"},
      {Uint32, 1, "\xff\xff\xff\xff", "4294967295"},
      {Int64, 2, std::string("\xfe\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\x80", 16), "-2 -9223372036854775808"},
      {Uint64, 1, "\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
      {Bool, 3, std::string("\0\x01\x02", 3), "0 1 1"},
      {Float16, 1, half_one, "1r"},
      {Bfloat16, 1, std::string("\x80\x3f", 2), "1r"},
      {Float8e4m3fn, 3, "\x38\xb8\x7e", "1r -1r 448r"},
      {Float8e4m3fnuz, 2, "\x40\x7f", "1r 240r"},
      {Float8e5m2, 2, "\x3c\x7b", "1r 57344r"},
      {Float8e5m2fnuz, 2, "\x40\x7f", "1r 57344r"},
      {Float8e8m0, 2, "\x7f\x80", "1r 2r"},
      {Uint4, 3, "\x21\xfc", "1 2 12"},  // the last nibble is padding
      {Int4, 4, "\x21\xf8", "1 2 -8 -1"},
      {Float4e2m1, 4, "\x72\xf1", "1r 6r 0.5r -6r"},
      {Uint2, 5, "\xe4\x01", "0 1 2 3 1"},
      {Int2, 4, "\xe4", "0 1 -2 -1"},
  };
  for (const Row& row : rows) {
    onnx::TensorProto tensor = tensor_of(static_cast<int>(row.type), {row.elements});
    tensor.set_raw_data(row.raw);
    CAPTURE(to_string(row.type));
    CHECK(text(loaded(tensor)) == row.expected);
  }
}

TEST_CASE("typed data decode from the field of their type") {
  const auto int32_data = [](ElementType type, std::int64_t elements, std::vector<std::int32_t> values) {
    onnx::TensorProto tensor = tensor_of(static_cast<int>(type), {elements});
    for (const std::int32_t value : values) tensor.add_int32_data(value);
    return text(loaded(tensor));
  };
  using enum ElementType;
  CHECK(int32_data(Int32, 2, {7, -7}) == "7 -7");
  CHECK(int32_data(Int8, 1, {-3}) == "-3");
  CHECK(int32_data(Uint8, 1, {200}) == "200");
  CHECK(int32_data(Uint16, 1, {65535}) == "65535");
  CHECK(int32_data(Bool, 2, {0, 1}) == "0 1");
  CHECK(int32_data(Float16, 2, {0x3c00, 0xc000}) == "1r -2r");
  CHECK(int32_data(Bfloat16, 1, {0x3f80}) == "1r");
  CHECK(int32_data(Float8e4m3fn, 1, {0x38}) == "1r");
  CHECK(int32_data(Uint4, 3, {0x21, 0x0c}) == "1 2 12");
  CHECK(int32_data(Int2, 3, {0xe4}) == "0 1 -2");

  onnx::TensorProto reals = tensor_of(onnx::TensorProto::FLOAT, {2});
  reals.add_float_data(0.5F);
  reals.add_float_data(-std::numeric_limits<float>::infinity());
  CHECK(text(loaded(reals)) == "0.5r -infr");
  onnx::TensorProto doubles = tensor_of(onnx::TensorProto::DOUBLE, {});
  doubles.add_double_data(0.25);
  CHECK(text(loaded(doubles)) == "0.25r");
  onnx::TensorProto unsigned_words = tensor_of(onnx::TensorProto::UINT32, {1});
  unsigned_words.add_uint64_data(4294967295);
  CHECK(text(loaded(unsigned_words)) == "4294967295");
  onnx::TensorProto longs = tensor_of(onnx::TensorProto::INT64, {1});
  longs.add_int64_data(INT64_MIN);
  CHECK(text(loaded(longs)) == "-9223372036854775808");
}

TEST_CASE("values are known up to the bounds and not beyond") {
  const auto is_known = [](int type, std::int64_t elements, std::size_t bytes) {
    onnx::TensorProto tensor = tensor_of(type, {elements});
    tensor.set_raw_data(std::string(bytes, '\0'));
    return loaded(tensor).value.has_value();
  };
  CHECK(is_known(onnx::TensorProto::INT64, 1024, 8192));
  CHECK_FALSE(is_known(onnx::TensorProto::INT64, 1025, 8200));
  CHECK(is_known(onnx::TensorProto::BOOL, 1024, 1024));
  CHECK(is_known(onnx::TensorProto::FLOAT, 16, 64));
  CHECK_FALSE(is_known(onnx::TensorProto::FLOAT, 17, 68));
  CHECK(is_known(onnx::TensorProto::FLOAT, 0, 0));
  CHECK_FALSE(is_known(onnx::TensorProto::COMPLEX64, 1, 8));
}

TEST_CASE("strings and unknown types have no value and are no error") {
  onnx::TensorProto strings = tensor_of(onnx::TensorProto::STRING, {2});
  strings.add_string_data("a");
  strings.add_string_data("b");
  CHECK(text(loaded(strings)) == "unknown");
  onnx::TensorProto newer = tensor_of(28, {4});
  newer.set_raw_data("abc");
  const Tensor tensor = loaded(newer);
  CHECK(tensor.type.element == ElementType::Undefined);
  CHECK(text(tensor) == "unknown");
}

TEST_CASE("a tensor without data is loaded and says so") {
  const Tensor small = loaded(tensor_of(onnx::TensorProto::INT64, {3}));
  CHECK_FALSE(small.value);
  CHECK(small.unread == "the file holds no data for it");
  CHECK(text(loaded(tensor_of(onnx::TensorProto::INT64, {0}))) == "");
}

TEST_CASE("data of another length than the dims ask for are an error") {
  struct Row {
    void (*fill)(onnx::TensorProto&);
    int type;
    std::vector<std::int64_t> dims;
    const char* message;
  };
  const Row rows[] = {
      {[](onnx::TensorProto& t) { t.set_raw_data("abc"); }, onnx::TensorProto::INT64, {1}, "raw_data holds 3 bytes"},
      {[](onnx::TensorProto& t) { t.set_raw_data("abc"); },
       22,
       {7},
       "raw_data holds 3 bytes, expected 7 elements of int4 in 4 bytes"},
      {[](onnx::TensorProto& t) { t.add_int64_data(1); }, onnx::TensorProto::INT64, {2}, "int64_data holds 1"},
      {[](onnx::TensorProto& t) {
         t.add_int64_data(1000);  // as many bytes as two values could take
       },
       onnx::TensorProto::INT64,
       {2},
       "int64_data holds 1 values, expected 2"},
      {[](onnx::TensorProto& t) {
         for (int i = 0; i < 30000; ++i) t.add_int64_data(1);
       },
       onnx::TensorProto::INT64,
       {20000},
       ""},  // only reading them distinguishes these from 20,000 two-byte values
      {[](onnx::TensorProto& t) { t.add_float_data(1); }, onnx::TensorProto::FLOAT, {2}, "float_data holds 1 values"},
      {[](onnx::TensorProto& t) { t.add_float_data(1); },
       onnx::TensorProto::INT64,
       {1},
       "its data lie in float_data, expected int64_data"},
      {[](onnx::TensorProto& t) { t.add_string_data("a"); },
       onnx::TensorProto::STRING,
       {2},
       "string_data holds 1 values"},
  };
  for (const Row& row : rows) {
    onnx::TensorProto tensor = tensor_of(row.type, row.dims);
    row.fill(tensor);
    const std::string message = error_of(tensor);
    CAPTURE(message);
    CHECK(contains(message, row.message));
    CHECK(contains(message, "tensor \"t\"") == (*row.message != '\0'));
  }
}

TEST_CASE("a file of small tensors only is not unfolded without limit") {
  onnx::ModelProto proto = new_model();
  for (int i = 0; i < 3000; ++i)
    add_weight(*proto.mutable_graph(), "t" + std::to_string(i), onnx::TensorProto::INT8, {1024}, 1024);
  add_indices(*proto.mutable_graph(), "shape", {1, 2});
  const Model model = parse(proto);
  CHECK(model.main().initializers[0].value);
  CHECK_FALSE(model.main().initializers[2999].value);
  CHECK(contains(model.main().initializers[2999].unread, "too many elements"));
  CHECK(text(model.main().initializers[3000]) == "1 2");
}

TEST_CASE("every code of the small floating-point formats survives decoding and encoding") {
  using enum ElementType;
  for (const ElementType type :
       {Float16, Bfloat16, Float8e4m3fn, Float8e4m3fnuz, Float8e5m2, Float8e5m2fnuz, Float4e2m1}) {
    const wire::SmallFloat* format = wire::small_float(type);
    REQUIRE(format != nullptr);
    const int width = 1 + format->exponent + format->mantissa;
    const std::uint64_t minus_zero = std::uint64_t{1} << (width - 1);
    for (std::uint64_t code = 0; code < std::uint64_t{1} << width; ++code) {
      const double value = wire::decode(*format, code);
      if (!std::isfinite(value) || code == minus_zero) continue;
      CHECK(wire::encode(*format, value) == code);
    }
    // Numbers beyond the largest one, and between two.
    const double most = wire::decode(*format, wire::encode(*format, 1e300));
    CHECK(std::isfinite(most));
    CHECK(wire::encode(*format, -1e300) == (wire::encode(*format, 1e300) | minus_zero));
    CHECK(wire::decode(*format, wire::encode(*format, 1.0001)) == 1);
  }
}

TEST_CASE("the small floating-point formats have the extremes of their definitions") {
  using enum ElementType;
  struct Row {
    ElementType type;
    double largest, smallest;
  };
  const Row rows[] = {
      {Float16, 65504, 0x1p-24},      {Bfloat16, 0x1.fep127, 0x1p-133}, {Float8e4m3fn, 448, 0x1p-9},
      {Float8e4m3fnuz, 240, 0x1p-10}, {Float8e5m2, 57344, 0x1p-16},     {Float8e5m2fnuz, 57344, 0x1p-17},
      {Float4e2m1, 6, 0.5},
  };
  for (const Row& row : rows) {
    const wire::SmallFloat& format = *wire::small_float(row.type);
    CAPTURE(to_string(row.type));
    CHECK(wire::decode(format, wire::encode(format, 1e300)) == row.largest);
    CHECK(wire::decode(format, 1) == row.smallest);
  }
}

}  // namespace
}  // namespace pagoda::test
