// Arithmetic of a GPU. Work of a launch = trips × work per trip of a thread or warp × number of threads or warps.
#include <algorithm>
#include <cmath>
#include <span>

#include "cuda/tcgen05_layout.h"
#include "gpu_arguments.h"
#include "gpu_run.h"
#include "run_checks.h"

namespace pagoda::tools::ceilings {
namespace {

using documents::Ceiling;
using documents::CeilingKind;
using documents::CeilingMode;

enum class Operand { Float, Double, Half2, Bfloat2, Int };

struct VectorRow {
  const char *kernel, *precision, *op, *unit_type, *unit;
  Operand operand;
  double per_thread;  // FLOP or OP per thread and trip
};
// 512 instructions per trip (special functions: 128); an FMA is two operations, half2 has two lanes, dp4a does eight.
constexpr VectorRow kVector[] = {
    {"fma_f32", "float32", "fma", "vector", "FLOP/s", Operand::Float, 512 * 2},
    {"add_f32", "float32", "add", "vector", "FLOP/s", Operand::Float, 512},
    {"mul_f32", "float32", "mul", "vector", "FLOP/s", Operand::Float, 512},
    {"fma_f64", "float64", "fma", "vector", "FLOP/s", Operand::Double, 512 * 2},
    {"add_f64", "float64", "add", "vector", "FLOP/s", Operand::Double, 512},
    {"fma_f16", "float16", "fma", "vector", "FLOP/s", Operand::Half2, 512 * 4},
    {"add_f16", "float16", "add", "vector", "FLOP/s", Operand::Half2, 512 * 2},
    {"fma_bf16", "bfloat16", "fma", "vector", "FLOP/s", Operand::Bfloat2, 512 * 4},
    {"imad_i32", "int32", "fma", "vector", "OP/s", Operand::Int, 512 * 2},
    {"dp4a_i8", "int8", "dp4a", "vector", "OP/s", Operand::Int, 512 * 8},
    {"special_f32", "float32", "special", "special", "1/s", Operand::Float, 128},
};

// The paths to a chip's full tensor rate, by major version; other paths that also run there are slower.
constexpr TensorPath kHopper[] = {TensorPath::Wgmma, TensorPath::Mma};
constexpr TensorPath kBlackwell[] = {TensorPath::Tcgen05, TensorPath::Tcgen05Pair, TensorPath::Mma};
constexpr TensorPath kOthers[] = {TensorPath::Mma};
struct ChipRow {
  int major;
  std::span<const TensorPath> paths;
};
constexpr ChipRow kChips[] = {{9, kHopper}, {10, kBlackwell}};

struct PathRow {
  TensorPath path;
  std::string_view suffix;
  unsigned threads, shared;
  double groups;    // issuing groups per block: warps, warpgroups, one thread, or half a thread (one per pair)
  unsigned per_sm;  // most blocks
  unsigned blocks;  // blocks that work together
};
constexpr PathRow kPaths[] = {
    {TensorPath::Mma, ".mma", 256, 0, 8, 4, 1},
    {TensorPath::Wgmma, ".wgmma", 256, 2 * 16384 + 2 * 32768 + 1024, 2, 1, 1},
    {TensorPath::Tcgen05, ".tcgen05", tcgen05::kM, tcgen05::kShared, 1, 1, 1},
    {TensorPath::Tcgen05Pair, ".tcgen05.pair", tcgen05::kM, tcgen05::kShared, 0.5, 1, 2},
};
const PathRow& row_of(TensorPath path) { return kPaths[static_cast<std::size_t>(path)]; }
static_assert(kPaths[1].path == TensorPath::Wgmma && kPaths[3].path == TensorPath::Tcgen05Pair);  // rows by path

struct TensorRow {
  const char *kernel, *precision, *unit, *accumulate;
  int steps;    // products per group and trip; for mma.sync: tiles × steps
  int m, n, k;  // of a product
  TensorPath path;
  const char* variant = "";  // for formats with block scales
  int blocks = 0;            // blocks with a scale in a product's depth
};
constexpr TensorRow tcgen05_row(TensorPath path, const char* kernel, const char* precision, int bits,
                                const char* variant = "", int blocks = 0, int depth_bytes = tcgen05::kDepthBytes) {
  const bool integer = precision[0] == 'i';
  return {kernel,
          precision,
          integer ? "OP/s" : "FLOP/s",
          integer ? "int32" : "float32",
          tcgen05::kProducts,
          tcgen05::kM * (path == TensorPath::Tcgen05Pair ? 2 : 1),
          tcgen05::kN,
          depth_bytes * 8 / bits,
          path,
          variant,
          blocks};
}
constexpr TensorPath kOne = TensorPath::Tcgen05, kTwo = TensorPath::Tcgen05Pair;
constexpr TensorRow kTensor[] = {
    {"wgmma_f16", "float16", "FLOP/s", "float32", 32, 64, 256, 16, TensorPath::Wgmma},
    {"wgmma_bf16", "bfloat16", "FLOP/s", "float32", 32, 64, 256, 16, TensorPath::Wgmma},
    {"wgmma_tf32", "tf32", "FLOP/s", "float32", 32, 64, 256, 8, TensorPath::Wgmma},
    {"wgmma_fp8", "float8", "FLOP/s", "float32", 32, 64, 256, 32, TensorPath::Wgmma},
    {"wgmma_i8", "int8", "OP/s", "int32", 32, 64, 256, 32, TensorPath::Wgmma},
    // float16 accumulates in float32: data sheets list no separate rate for float16 accumulation.
    tcgen05_row(kOne, "tcgen05_f16", "float16", 16),
    tcgen05_row(kOne, "tcgen05_bf16", "bfloat16", 16),
    tcgen05_row(kOne, "tcgen05_tf32", "tf32", 32),
    tcgen05_row(kOne, "tcgen05_fp8", "float8", 8),
    tcgen05_row(kOne, "tcgen05_i8", "int8", 8),
    // MX: one ue8m0 scale per 32 numbers. NV: one ue4m3 scale per 16.
    tcgen05_row(kOne, "tcgen05_mxfp8", "float8", 8, ".mx", 1),
    tcgen05_row(kOne, "tcgen05_mxfp4", "float4", 4, ".mx", 2),
    tcgen05_row(kOne, "tcgen05_nvfp4", "float4", 4, ".nv", 4),
    tcgen05_row(kTwo, "tcgen05_pair_f16", "float16", 16),
    tcgen05_row(kTwo, "tcgen05_pair_bf16", "bfloat16", 16),
    tcgen05_row(kTwo, "tcgen05_pair_tf32", "tf32", 32),
    tcgen05_row(kTwo, "tcgen05_pair_fp8", "float8", 8),
    tcgen05_row(kTwo, "tcgen05_pair_i8", "int8", 8),
    tcgen05_row(kTwo, "tcgen05_pair_mxfp8", "float8", 8, ".mx", 1),
    tcgen05_row(kTwo, "tcgen05_pair_mxfp4", "float4", 4, ".mx", 2),
    tcgen05_row(kTwo, "tcgen05_pair_nvfp4", "float4", 4, ".nv", 4),
    // Depth 96, only on compute capability 10.3.
    tcgen05_row(kTwo, "tcgen05_pair_mxfp4_long", "float4", 4, ".mx.long", tcgen05::kAlike, tcgen05::kLongDepthBytes),
    tcgen05_row(kTwo, "tcgen05_pair_nvfp4_long", "float4", 4, ".nv.long", tcgen05::kAlike, tcgen05::kLongDepthBytes),
    {"mma_f16", "float16", "FLOP/s", "float32", 64, 16, 8, 16, TensorPath::Mma},
    {"mma_bf16", "bfloat16", "FLOP/s", "float32", 64, 16, 8, 16, TensorPath::Mma},
    {"mma_tf32", "tf32", "FLOP/s", "float32", 64, 16, 8, 8, TensorPath::Mma},
    {"mma_fp8", "float8", "FLOP/s", "float32", 64, 16, 8, 32, TensorPath::Mma},
    {"mma_i8", "int8", "OP/s", "int32", 64, 16, 8, 32, TensorPath::Mma},
    {"mma_f64", "float64", "FLOP/s", "float64", 32, 16, 8, 16, TensorPath::Mma},
};

// Adapts m, n, k to this architecture: Turing's float16 and Ampere's float64 products are smaller.
TensorRow shape_of(TensorRow row, const lab::GpuAttributes& gpu) {
  if (std::string_view(row.kernel) == "mma_f16" && gpu.major == 7) row.k = 8;
  if (std::string_view(row.kernel) == "mma_f64" && gpu.major == 8) row.m = 8, row.n = 8, row.k = 4;
  return row;
}

// a and b of the vector kernels: the fixed-point iteration x = -0.5·x + 1.25, or zeros.
void add_operands(Arguments& arguments, Operand operand, bool zeros) {
  const auto add = [&](auto a, auto b) {
    zeros ? arguments.add(decltype(a){}).add(decltype(b){}) : arguments.add(a).add(b);
  };
  switch (operand) {
    case Operand::Float:
      return add(-0.5F, 1.25F);
    case Operand::Double:
      return add(-0.5, 1.25);
    case Operand::Half2:
      return add(0xb800b800U, 0x3d003d00U);
    case Operand::Bfloat2:
      return add(0xbf00bf00U, 0x3fa03fa0U);
    case Operand::Int:
      return add(0x01020304, 0x04030201);
  }
}

// Rounds an exactly computed x·a + b to the format's significand of `bits` bits.
double rounded(double x, int bits) {
  if (x == 0) return x;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);  // [1/2, 1)
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

unsigned chains_of(Operand operand) { return operand == Operand::Half2 || operand == Operand::Bfloat2 ? 16 : 8; }

// Expected value of one chain after a trip. For half floats, products and sums are exact in double
// precision; for float and double, the host's operation equals the device's.
double chain_after(const VectorRow& row, unsigned thread, unsigned chain) {
  const std::string_view op = row.op;
  const unsigned steps = 512 / chains_of(row.operand);
  switch (row.operand) {
    case Operand::Float: {
      float x = static_cast<float>(thread % 32) * 0.25F + static_cast<float>(chain);
      for (unsigned step = 0; step < steps; ++step)
        x = op == "fma" ? std::fma(x, -0.5F, 1.25F) : op == "add" ? 1.25F - x : x * -0.5F;
      return static_cast<double>(x);
    }
    case Operand::Double: {
      double x = (thread % 32) * 0.25 + chain;
      for (unsigned step = 0; step < steps; ++step) x = op == "fma" ? std::fma(x, -0.5, 1.25) : 1.25 - x;
      return x;
    }
    case Operand::Half2:
    case Operand::Bfloat2: {
      const int bits = row.operand == Operand::Half2 ? 11 : 8;
      double x = thread % 8 + chain;
      for (unsigned step = 0; step < steps; ++step) x = rounded(op == "fma" ? x * -0.5 + 1.25 : x + 1.25, bits);
      return x;
    }
    case Operand::Int: {
      std::uint32_t x = thread + chain;  // wraps around as unsigned does
      for (unsigned step = 0; step < steps; ++step)
        x = op == "dp4a" ? x + (1 * 4 + 2 * 3 + 3 * 2 + 4 * 1) : x * 0x01020304U + 0x04030201U;
      return static_cast<double>(static_cast<std::int32_t>(x));
    }
  }
  return 0;
}

// A result of one thread: both halves of a packed pair, or the number twice.
std::pair<double, double> halves_of(Operand operand, const char* at) {
  const auto word = value_at<std::uint32_t>(at);
  const auto low = static_cast<std::uint16_t>(word), high = static_cast<std::uint16_t>(word >> 16);
  if (operand == Operand::Half2) return {half_value(low), half_value(high)};
  if (operand == Operand::Bfloat2) return {bfloat_value(low), bfloat_value(high)};
  const double value = operand == Operand::Double  ? value_at<double>(at)
                       : operand == Operand::Float ? static_cast<double>(value_at<float>(at))
                                                   : value_at<std::int32_t>(at);
  return {value, value};
}

Verdict chains_right(Gpu& gpu, const VectorRow& row, const GpuBuffer& out, const GpuBuffer& clocks) {
  const bool special = row.op == std::string_view("special");
  // Special functions: enough trips for every start to reach the fixed point.
  Arguments arguments(special ? 8U : 1U);
  if (special)
    arguments.add(0.0F).add(0.0F);
  else
    add_operands(arguments, row.operand, false);
  gpu.launch(row.kernel, {1, 256, 0}, arguments.add(out).add(clocks));
  gpu.synchronize();
  const std::size_t size = row.operand == Operand::Double ? 8 : 4;
  const unsigned chains = chains_of(row.operand);
  const std::vector<char> got = gpu.read<char>(out.get(), chains * 256 * size);
  for (unsigned i = 0; i < chains; ++i)
    for (unsigned thread = 0; thread < 256; ++thread) {
      const auto [found, other] = halves_of(row.operand, got.data() + (i * 256 + thread) * size);
      // 2^-x = x at W(ln 2) / ln 2; the unit is accurate to two units of 2^-22.
      const double want = special ? 0.6411857445049860 : chain_after(row, thread, i);
      if (special ? std::abs(found - want) > 1e-6 : found != want || other != want)
        return mismatch(cat(row.kernel, ": thread ", thread, " chain ", i), found, want);
    }
  return {};
}

// Expected value of register i of a thread after one trip: mma.sync on ones sums to steps × k in every element; wgmma
// and tcgen05 use their patterns of small integers.
double wanted_product(const TensorRow& row, unsigned block, unsigned thread, unsigned i) {
  switch (row.path) {
    case TensorPath::Mma:
      return 8.0 * row.k;
    case TensorPath::Wgmma:
      return wgmma_element(thread, i, weighed_depth(row.steps, row.k));
    case TensorPath::Tcgen05:
    case TensorPath::Tcgen05Pair:
      return tcgen05_element(static_cast<int>(block * tcgen05::kM + thread), static_cast<int>(i), row.k, row.blocks);
  }
  return 0;
}

template <typename T>
Verdict products_right(Gpu& gpu, const TensorRow& row, const GpuBuffer& out, const GpuBuffer& clocks) {
  const PathRow& path = row_of(row.path);
  gpu.launch(row.kernel, {path.blocks, path.threads, path.shared},
             {1U, row.path == TensorPath::Mma ? int{kOnes} : int{kPattern}, out, clocks});
  gpu.synchronize();
  // Registers per thread: mma.sync has tiles (8 steps each) of m × n per warp, the others one product per group.
  const double tiles = row.path == TensorPath::Mma ? row.steps / 8.0 : 1;
  const auto each = static_cast<unsigned>(tiles * row.m * row.n * path.groups / path.threads);
  const std::vector<T> got = gpu.read<T>(out.get(), std::size_t{path.blocks} * each * path.threads);
  for (unsigned block = 0; block < path.blocks; ++block)
    for (unsigned i = 0; i < each; ++i)
      for (unsigned thread = 0; thread < path.threads; ++thread) {
        const double want = wanted_product(row, block, thread, i);
        const double found = static_cast<double>(got[(block * each + i) * path.threads + thread]);
        if (found != want)
          return mismatch(cat(row.kernel, ": block ", block, " thread ", thread, " register ", i), found, want);
      }
  return {};
}

}  // namespace

// Register i of a thread of a warpgroup (PTX ISA, wgmma, fragment of D): row 16·warp + lane/4 + 8·(i/2 % 2), column
// 8·(i/4) + 2·(lane % 4) + i % 2. Rows of A contain row % 3 - 1 and those of B row % 4, over the whole depth.
double wgmma_element(unsigned thread, unsigned i, int depth) {
  const unsigned warp = thread / 32 % 4, lane = thread % 32;
  const unsigned m = 16 * warp + lane / 4 + 8 * (i / 2 % 2), n = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
  return static_cast<double>(depth) * (static_cast<int>(m % 3) - 1) * static_cast<int>(n % 4);
}

// Of each 8 products, four per stage, two count kEven times: the even ones of the first stage.
int weighed_depth(int products, int depth) { return products / 8 * (2 * kEven + 6) * depth; }

// With the scales of cuda/tcgen05_layout.h: powers of two and their sums are exact.
double tcgen05_element(int row, int column, int depth, int blocks) {
  double scale = blocks == 0 ? 1 : blocks == tcgen05::kAlike ? std::ldexp(1.0, tcgen05::kLongExponent) : 0;
  for (int block = 0; block < blocks; ++block)
    scale += std::ldexp(1.0 / blocks, tcgen05::exponent_a(row, block) + tcgen05::exponent_b(column, block));
  return weighed_depth(tcgen05::kProducts, depth) * scale * (row % 3 - 1) * (column % 4);
}

std::span<const TensorPath> tensor_paths(const lab::GpuAttributes& gpu) {
  for (const ChipRow& chip : kChips)
    if (chip.major == gpu.major) return chip.paths;
  return kOthers;
}

std::string_view suffix_of(TensorPath path) { return row_of(path).suffix; }

void GpuCeilings::add_arithmetic(std::vector<Experiment>& list) {
  // True if the ceiling is wanted and its kernel exists. Notes a missing kernel in `not_run_`.
  const auto can_run = [this](const Ceiling& c, const char* kernel) {
    if (!options_.wants(c.id)) return false;
    const bool exists = gpu_.has(kernel);
    if (!exists && c.mode == CeilingMode::Issue) not_run_.push_back(c.id + ": no kernel for this architecture");
    return exists;
  };
  for (const CeilingMode mode : {CeilingMode::Issue, CeilingMode::Sustained}) {
    const bool zeros = mode == CeilingMode::Issue;
    for (const VectorRow& row : kVector) {
      Experiment e = start(cat(row.precision, ".cuda.", row.op), CeilingKind::Compute, mode, row.unit);
      if (!can_run(e.ceiling, row.kernel)) continue;
      e.ceiling.precision = row.precision;
      e.ceiling.unit_type = row.unit_type;
      e.ceiling.op = row.op;
      e.ceiling.data = zeros ? "zeros" : "fixed point of -x/2 + 5/4";
      for (const unsigned per_sm : {4U, 8U}) {
        const unsigned blocks = sms() * per_sm;
        const auto run = [this, row, zeros, blocks](unsigned trips) {
          Arguments arguments(trips);
          add_operands(arguments, row.operand, zeros);
          return gpu_.time(row.kernel, {blocks, 256, 0}, arguments.add(words_).add(clocks_));
        };
        e.candidates.push_back(paced(row.kernel,
                                     {{"blocks_per_sm", std::int64_t{per_sm}}, {"threads", std::int64_t{256}}}, 200,
                                     row.per_thread * blocks * 256, blocks, run));
      }
      e.verify = [this, row] { return chains_right(gpu_, row, words_, clocks_); };
      list.push_back(std::move(e));
    }
    for (const TensorRow& any : kTensor) {
      const TensorRow row = shape_of(any, gpu_.attributes());
      const auto paths = tensor_paths(gpu_.attributes());
      if (std::find(paths.begin(), paths.end(), row.path) == paths.end()) continue;
      const PathRow& path = row_of(row.path);
      Experiment e = start(cat(row.precision, path.suffix, row.variant), CeilingKind::Compute, mode, row.unit);
      if (!can_run(e.ceiling, row.kernel)) continue;
      e.ceiling.precision = row.precision;
      e.ceiling.unit_type = "tensor";
      e.ceiling.accumulate = row.accumulate;
      e.ceiling.op = "fma";
      e.ceiling.data = zeros ? "zeros" : "uniform[-1,1]";
      e.heats = !zeros;
      e.ceiling.config["shape"] = cat("m", row.m, "n", row.n, "k", row.k);
      for (unsigned per_sm = 1; per_sm <= path.per_sm; per_sm *= 2) {
        const unsigned blocks = sms() * per_sm / path.blocks * path.blocks;
        const auto run = [this, row, path, zeros, blocks](unsigned trips) {
          return gpu_.time(row.kernel, {blocks, path.threads, path.shared},
                           {trips, int{zeros ? kZeros : kRandom}, words_, clocks_});
        };
        e.candidates.push_back(paced(row.kernel,
                                     {{"blocks_per_sm", std::int64_t{per_sm}}, {"threads", std::int64_t{path.threads}}},
                                     200, 2.0 * row.m * row.n * row.k * row.steps * path.groups * blocks, blocks, run));
      }
      e.verify = [this, row] {
        const std::string_view accumulate = row.accumulate;
        return accumulate == "int32"     ? products_right<std::int32_t>(gpu_, row, words_, clocks_)
               : accumulate == "float64" ? products_right<double>(gpu_, row, words_, clocks_)
                                         : products_right<float>(gpu_, row, words_, clocks_);
      };
      list.push_back(std::move(e));
    }
  }
}

double GpuCeilings::fma_seconds(unsigned trips) {
  Arguments arguments(trips);
  add_operands(arguments, Operand::Float, true);
  return gpu_.time("fma_f32", {sms() * 4, 256, 0}, arguments.add(words_).add(clocks_));
}

}  // namespace pagoda::tools::ceilings
