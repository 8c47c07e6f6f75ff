// The part of cuBLASLt's C API needed for a plain product. Numbers are those of cublasLt.h and library_types.h, which
// have been part of its ABI since version 11.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "gpu_run.h"
#include "run_checks.h"

namespace pagoda::tools::ceilings {
namespace {

using Handle = CudaHandle;
enum DataType { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kInt8 = 3, kInt32 = 10, kBfloat16 = 14, kFloat8 = 28 };
enum Compute { kComputeFloat32 = 68, kComputeFloat64 = 70, kComputeInt32 = 72, kComputeTf32 = 77 };
enum Attribute { kTransposeA = 3, kTransposeB = 4, kMaxWorkspace = 1 };
constexpr std::size_t kWorkspace = std::size_t{64} << 20;

struct Algorithm {
  std::uint64_t data[8];
};
struct Proposal {
  Algorithm algorithm;
  std::size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

// Operands repeat with this period, so that the host encodes few elements; odd, so that rows and columns differ.
constexpr std::size_t kPeriod = 999983;

// Encodes a value in [-1, 1] in a format and returns its exact value.
double encode(int type, std::size_t index, char* to) {
  const auto put = [to](auto code, double value) {
    std::memcpy(to, &code, sizeof code);
    return value;
  };
  const std::uint32_t bits = hash(static_cast<std::uint32_t>(index % kPeriod));
  const double uniform = static_cast<double>(static_cast<std::int32_t>(bits)) / 2147483648.0;
  const auto single = std::bit_cast<std::uint32_t>(static_cast<float>(uniform));
  switch (type) {
    case kFloat64:
      return put(uniform, uniform);
    case kFloat32: {
      const auto value = std::bit_cast<float>(single & 0xffffe000U);  // as tf32, so that tf32 products are the same
      return put(value, static_cast<double>(value));
    }
    case kBfloat16: {
      const auto half = static_cast<std::uint16_t>(single >> 16);
      return put(half, bfloat_value(half));
    }
    case kFloat16: {
      // Sign, exponents from 2^-4 to 2^-1, 10 random bits.
      const auto half = static_cast<std::uint16_t>((bits & 0x8000U) | (11 + (bits >> 16 & 3)) << 10 | (bits & 0x3ffU));
      return put(half, half_value(half));
    }
    case kFloat8: {
      // e4m3: sign, exponents from 2^-3 to 2^0, 3 random bits.
      const auto code = static_cast<std::uint8_t>((bits & 0x80U) | (4 + (bits >> 16 & 3)) << 3 | (bits & 7U));
      const double value = std::ldexp(8 + (code & 7), (code >> 3 & 15) - 10);
      return put(code, code >> 7 ? -value : value);
    }
    case kInt8: {
      const auto value = static_cast<std::int8_t>(bits >> 24);
      return put(value, value);
    }
    default:
      return 0;
  }
}

// The value of a result.
double decode(int type, const char* from) {
  return type == kInt32      ? value_at<std::int32_t>(from)
         : type == kFloat64  ? value_at<double>(from)
         : type == kFloat32  ? static_cast<double>(value_at<float>(from))
         : type == kBfloat16 ? bfloat_value(value_at<std::uint16_t>(from))
                             : half_value(value_at<std::uint16_t>(from));
}

}  // namespace

struct GpuGemm::State {
  DynamicLibrary library{cublaslt_places()};
  CudaFunction<Handle*> create{library, "cublasLtCreate"};
  CudaFunction<Handle> destroy{library, "cublasLtDestroy"};
  CudaFunction<Handle*, int, int> create_operation{library, "cublasLtMatmulDescCreate"};
  CudaFunction<Handle, int, const void*, std::size_t> set_operation{library, "cublasLtMatmulDescSetAttribute"};
  CudaFunction<Handle*, int, std::uint64_t, std::uint64_t, std::int64_t> create_layout{library,
                                                                                       "cublasLtMatrixLayoutCreate"};
  CudaFunction<Handle*> create_preference{library, "cublasLtMatmulPreferenceCreate"};
  CudaFunction<Handle, int, const void*, std::size_t> set_preference{library, "cublasLtMatmulPreferenceSetAttribute"};
  CudaFunction<Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, Proposal*, int*> propose{
      library, "cublasLtMatmulAlgoGetHeuristic"};
  CudaFunction<Handle, Handle, const void*, const void*, Handle, const void*, Handle, const void*, const void*, Handle,
               void*, Handle, const Algorithm*, void*, std::size_t, void*>
      multiply{library, "cublasLtMatmul"};

  Handle handle = nullptr;
  const Type* type = nullptr;
  int n = 0;
  Handle operation = nullptr, input = nullptr, output = nullptr;
  std::vector<Proposal> proposals;
  GpuBuffer a, b, c, workspace;

  template <typename... Parameters>
  void call(const CudaFunction<Parameters...>& function, std::type_identity_t<Parameters>... arguments) const {
    if (const int status = function(arguments...); status != 0) throw GpuError(cat(function.name, ": status ", status));
  }
};

std::span<const GpuGemm::Type> GpuGemm::types() {
  static constexpr Type kTypes[] = {
      {"float64", kFloat64, kFloat64, kComputeFloat64, kFloat64, 8, 8},
      {"float32", kFloat32, kFloat32, kComputeFloat32, kFloat32, 4, 4},
      {"tf32", kFloat32, kFloat32, kComputeTf32, kFloat32, 4, 4},
      {"bfloat16", kBfloat16, kBfloat16, kComputeFloat32, kFloat32, 2, 2},
      {"float16", kFloat16, kFloat16, kComputeFloat32, kFloat32, 2, 2},
      {"float8", kFloat8, kBfloat16, kComputeFloat32, kFloat32, 1, 2},
      {"int8", kInt8, kInt32, kComputeInt32, kInt32, 1, 4},
  };
  return kTypes;
}

GpuGemm::GpuGemm(Gpu& gpu) : gpu_(gpu), state_(std::make_unique<State>()), why_(state_->library.why()) {
  State& s = *state_;
  if (!s.library) return;
  if (const char* missing = first_missing(s.create, s.destroy, s.create_operation, s.set_operation, s.create_layout,
                                          s.create_preference, s.set_preference, s.propose, s.multiply))
    why_ = cat("the library has no ", missing);
  else if (s.create(&s.handle) != 0)
    why_ = "cublasLtCreate failed";
}

GpuGemm::~GpuGemm() {
  if (state_->handle && !gpu_.lost()) state_->destroy(state_->handle);
}

int GpuGemm::prepare(const Type& type, int n, int most) {
  State& s = *state_;
  release();
  s.type = &type;
  s.n = n;
  const std::size_t elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  s.a = GpuBuffer(gpu_, elements * type.bytes);
  s.b = GpuBuffer(gpu_, elements * type.bytes);
  s.c = GpuBuffer(gpu_, elements * type.result_bytes);
  s.workspace = GpuBuffer(gpu_, kWorkspace);
  // Both operands repeat the same period from its start.
  std::vector<char> period(kPeriod * type.bytes);
  for (std::size_t i = 0; i < kPeriod; ++i) encode(type.a, i, period.data() + i * type.bytes);
  for (std::size_t at = 0; at < elements; at += kPeriod)
    for (const GpuBuffer* operand : {&s.a, &s.b})
      gpu_.write(operand->get() + at * type.bytes, period.data(), std::min(kPeriod, elements - at) * type.bytes);

  const int transpose = 1, plain = 0;
  s.call(s.create_operation, &s.operation, type.compute, type.scale);
  s.call(s.set_operation, s.operation, kTransposeA, &transpose, sizeof transpose);
  s.call(s.set_operation, s.operation, kTransposeB, &plain, sizeof plain);
  const auto size = static_cast<std::uint64_t>(n);
  s.call(s.create_layout, &s.input, type.a, size, size, n);
  s.call(s.create_layout, &s.output, type.c, size, size, n);
  Handle preference = nullptr;
  s.call(s.create_preference, &preference);
  s.call(s.set_preference, preference, kMaxWorkspace, &kWorkspace, sizeof kWorkspace);
  s.proposals.resize(static_cast<std::size_t>(most));
  int found = 0;
  const int status = s.propose(s.handle, s.operation, s.input, s.input, s.output, s.output, preference, most,
                               s.proposals.data(), &found);
  if (status != 0 || found == 0)
    throw GpuError(cat("cuBLASLt has no ", type.precision, " product of this layout (status ", status, ")"));
  s.proposals.resize(static_cast<std::size_t>(found));
  return found;
}

// Releases device memory; descriptors of a few hundred bytes remain until the process ends.
void GpuGemm::release() {
  for (GpuBuffer* buffer : {&state_->a, &state_->b, &state_->c, &state_->workspace}) *buffer = GpuBuffer();
}

double GpuGemm::seconds(int algorithm, unsigned repeats) {
  State& s = *state_;
  const Proposal& p = s.proposals.at(static_cast<std::size_t>(algorithm));
  const struct {
    double float64;
    float float32;
    std::int32_t int32;
    const void* as(int type) const {
      if (type == kFloat64) return &float64;
      return type == kInt32 ? static_cast<const void*>(&int32) : &float32;
    }
  } one = {1, 1, 1}, zero = {0, 0, 0};
  const auto pointer = [](const GpuBuffer& buffer) { return reinterpret_cast<void*>(buffer.get()); };
  return gpu_.time_work(
      [&](void* stream) {
        for (unsigned i = 0; i < repeats; ++i)
          s.call(s.multiply, s.handle, s.operation, one.as(s.type->scale), pointer(s.a), s.input, pointer(s.b), s.input,
                 zero.as(s.type->scale), pointer(s.c), s.output, pointer(s.c), s.output, &p.algorithm,
                 pointer(s.workspace), p.workspace, stream);
      },
      std::string("cuBLASLt ") + s.type->precision);
}

// Compares eight elements with double precision. Column-major: element (i, j) of AᵀB is the product of column i of A
// and column j of B. The error of a sum of n values below 1, rounded to the result's format, is below the format's
// tolerance.
Verdict GpuGemm::right() {
  State& s = *state_;
  const auto n = static_cast<std::size_t>(s.n);
  const double tolerance = s.type->c == kInt32     ? 0
                           : s.type->c == kFloat64 ? 1e-9
                           : s.type->c == kFloat32 ? 2e-3
                                                   : 8e-3;  // covers the format's 2^-8 or 2^-11, and fp8's short sums
  for (std::size_t k = 0; k < 8; ++k) {
    const std::size_t i = hash(static_cast<std::uint32_t>(k)) % n, j = hash(static_cast<std::uint32_t>(k + 100)) % n;
    double want = 0, size = 0;
    char scratch[8];
    for (std::size_t x = 0; x < n; ++x) {
      const double product = encode(s.type->a, i * n + x, scratch) * encode(s.type->a, j * n + x, scratch);
      want += product;
      size += product * product;
    }
    char word[8] = {};
    gpu_.read(word, s.c.get() + (j * n + i) * s.type->result_bytes, s.type->result_bytes);
    const double found = decode(s.type->c, word);
    // Relative to the result plus the rounding error that remains when terms cancel.
    if (std::abs(found - want) > tolerance * (std::abs(want) + std::sqrt(size)))
      return {false,
              printed("cuBLASLt %s: element (%zu, %zu) is %g, must be %g", s.type->precision, i, j, found, want)};
  }
  return {};
}

}  // namespace pagoda::tools::ceilings
