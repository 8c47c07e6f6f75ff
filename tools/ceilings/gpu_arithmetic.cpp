// Arithmetic of a GPU. Work of a launch = trips × work per trip of a thread or warp × number of threads or warps.
#include <cmath>
#include <span>

#include "cuda/tcgen05_layout.h"
#include "gpu_blobs.h"
#include "gpu_run.h"
#include "pagoda/core/precision.h"
#include "run_checks.h"

namespace pagoda::tools::ceilings {
namespace {

using documents::Ceiling, documents::CeilingKind, documents::CeilingMode;

enum class Operand { Float, Double, Half2, Bfloat2, Int };

struct VectorRow {
  const char *kernel, *precision, *op;
  Operand operand;
  std::vector<std::string_view> instructions;
  int count;     // of these per trip
  double worth;  // FLOP or OP of one: 2 for an FMA, twice as many for half2's two lanes, 8 for dp4a
  int others;    // most other instructions in the loop
};
const std::vector<VectorRow>& vector_rows() {
  static const std::vector<VectorRow> kRows = {
      {"fma_f32", "float32", "fma", Operand::Float, {"FFMA"}, 512, 2, 8},
      {"add_f32", "float32", "add", Operand::Float, {"FADD"}, 512, 1, 8},
      {"mul_f32", "float32", "mul", Operand::Float, {"FMUL"}, 512, 1, 8},
      {"fma_f64", "float64", "fma", Operand::Double, {"DFMA"}, 512, 2, 8},
      {"add_f64", "float64", "add", Operand::Double, {"DADD"}, 512, 1, 8},
      {"fma_f16", "float16", "fma", Operand::Half2, {"HFMA2"}, 512, 4, 12},
      {"add_f16", "float16", "add", Operand::Half2, {"HFMA2", "HADD2"}, 512, 2, 12},
      {"fma_bf16", "bfloat16", "fma", Operand::Bfloat2, {"HFMA2"}, 512, 4, 12},
      {"imad_i32", "int32", "fma", Operand::Int, {"IMAD"}, 512, 2, 8},
      {"dp4a_i8", "int8", "dp4a", Operand::Int, {"IDP"}, 512, 8, 8},
      {"special_f32", "float32", "special", Operand::Float, {"MUFU"}, 128, 1, 8},
  };
  return kRows;
}

// The paths to a chip's full tensor rate, by major version; other paths that also run there are slower.
constexpr TensorPath kHopper[] = {TensorPath::Wgmma, TensorPath::Mma};
constexpr TensorPath kBlackwell[] = {TensorPath::Tcgen05, TensorPath::Tcgen05Pair, TensorPath::Mma};
constexpr TensorPath kOthers[] = {TensorPath::Mma};

struct PathRow {
  TensorPath path;
  std::string_view suffix, kernels;  // of ids; the beginning of the kernels' names
  unsigned threads, shared;
  double groups;    // issuing groups per block: warps, warpgroups, one thread, or half a thread (one per pair)
  unsigned per_sm;  // most blocks
  unsigned blocks;  // blocks that work together
  int m, n;         // of a product
  int steps;        // products per group and trip; for mma.sync: tiles × steps
  int others;       // most other instructions in the loop
};
// clang-format off
constexpr PathRow kPaths[] = {
    {TensorPath::Mma, ".mma", "mma_", 256, 0, 8, 4, 1, 16, 8, 64, 4},
    {TensorPath::Wgmma, ".wgmma", "wgmma_", 256, 2 * 16384 + 2 * 32768 + 1024, 2, 1, 1, 64, 256, 32, 200},
    {TensorPath::Tcgen05, ".tcgen05", "tcgen05_", tcgen05::kM, tcgen05::kShared, 1, 1, 1, tcgen05::kM, tcgen05::kN, tcgen05::kProducts, 80},
    {TensorPath::Tcgen05Pair, ".tcgen05.pair", "tcgen05_pair_", tcgen05::kM, tcgen05::kShared, 0.5, 1, 2, 2 * tcgen05::kM, tcgen05::kN, tcgen05::kProducts, 80},
};
// clang-format on
const PathRow& row_of(TensorPath path) { return kPaths[static_cast<std::size_t>(path)]; }
static_assert(kPaths[1].path == TensorPath::Wgmma && kPaths[3].path == TensorPath::Tcgen05Pair);  // rows by path

struct TensorRow {
  TensorPath path;     // Tcgen05: also its pairs
  const char* kernel;  // the rest of its name
  const char* precision;
  std::string_view instruction;
  const char* variant = "";  // for formats with block scales
  int blocks = 0;            // blocks with a scale in a product's depth
  int others = 0;            // most other instructions in the loop; 0: as of the path
};
constexpr TensorRow kTensor[] = {
    {TensorPath::Wgmma, "f16", "float16", "HGMMA"},
    {TensorPath::Wgmma, "bf16", "bfloat16", "HGMMA"},
    {TensorPath::Wgmma, "tf32", "tf32", "HGMMA"},
    {TensorPath::Wgmma, "fp8", "float8", "QGMMA"},
    {TensorPath::Wgmma, "i8", "int8", "IGMMA"},
    // float16 accumulates in float32: data sheets list no separate rate for float16 accumulation.
    {TensorPath::Tcgen05, "f16", "float16", "UTCHMMA"},
    {TensorPath::Tcgen05, "bf16", "bfloat16", "UTCHMMA"},
    {TensorPath::Tcgen05, "tf32", "tf32", "UTCHMMA"},
    {TensorPath::Tcgen05, "fp8", "float8", "UTCQMMA"},
    {TensorPath::Tcgen05, "i8", "int8", "UTCIMMA"},
    // MX: one ue8m0 scale per 32 numbers. NV: one ue4m3 scale per 16.
    {TensorPath::Tcgen05, "mxfp8", "float8", "UTCQMMA", ".mx", 1},
    {TensorPath::Tcgen05, "mxfp4", "float4", "UTCOMMA", ".mx", 2},
    {TensorPath::Tcgen05, "nvfp4", "float4", "UTCOMMA", ".nv", 4},
    // Depth 96, only on compute capability 10.3.
    {TensorPath::Tcgen05Pair, "mxfp4_long", "float4", "UTCOMMA", ".mx.long", tcgen05::kAlike},
    {TensorPath::Tcgen05Pair, "nvfp4_long", "float4", "UTCOMMA", ".nv.long", tcgen05::kAlike},
    {TensorPath::Mma, "f16", "float16", "HMMA"},
    {TensorPath::Mma, "bf16", "bfloat16", "HMMA"},
    {TensorPath::Mma, "tf32", "tf32", "HMMA"},
    {TensorPath::Mma, "fp8", "float8", "QMMA", "", 0, 68},
    {TensorPath::Mma, "i8", "int8", "IMMA"},
    {TensorPath::Mma, "f64", "float64", "DMMA"},
};

// A kernel for the tensor cores of a chip, with the size and number of its products.
struct Products {
  const PathRow& path;
  const TensorRow& row;
  std::string kernel;
  int m, n, k, steps;
};

std::vector<Products> products_of(TensorPath which, const lab::GpuAttributes& gpu) {
  const PathRow& path = row_of(which);
  std::vector<Products> result;
  for (const TensorRow& row : kTensor) {
    if (row.path != which && (row.path != TensorPath::Tcgen05 || which != TensorPath::Tcgen05Pair)) continue;
    const int depth_bytes = row.blocks == tcgen05::kAlike ? tcgen05::kLongDepthBytes : tcgen05::kDepthBytes;
    const int k = 8 * depth_bytes / bits(precision(row.precision).value());
    result.push_back({path, row, cat(path.kernels, row.kernel), path.m, path.n, k, path.steps});
    Products& p = result.back();
    if (p.kernel == "mma_f64") p.k = 16, p.steps = 32;  // deeper; four tiles instead of eight
    // Turing's float16 and Ampere's float64 products are smaller.
    if (p.kernel == "mma_f16" && gpu.major == 7) p.k = 8;
    if (p.kernel == "mma_f64" && gpu.major == 8) p.m = 8, p.n = 8, p.k = 4;
  }
  return result;
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

template <typename T>
double chain_of(std::string_view op, T x, unsigned steps) {
  const T a = -0.5, b = 1.25;
  for (unsigned step = 0; step < steps; ++step) x = op == "fma" ? std::fma(x, a, b) : op == "add" ? b - x : x * a;
  return static_cast<double>(x);
}

// Expected value of one chain after a trip. For half floats, products and sums are exact in double
// precision; for float and double, the host's operation equals the device's.
double chain_after(const VectorRow& row, unsigned thread, unsigned chain) {
  const std::string_view op = row.op;
  const unsigned steps = 512 / chains_of(row.operand);
  switch (row.operand) {
    case Operand::Float:
      return chain_of(op, static_cast<float>(thread % 32) * 0.25F + static_cast<float>(chain), steps);
    case Operand::Double:
      return chain_of(op, (thread % 32) * 0.25 + chain, steps);
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

// A result in the format of an accumulator.
double number_at(const char* at, std::string_view accumulate) {
  return accumulate == "int32"     ? value_at<std::int32_t>(at)
         : accumulate == "float64" ? value_at<double>(at)
                                   : static_cast<double>(value_at<float>(at));
}

// A result of one thread: both halves of a packed pair, or the number twice.
std::pair<double, double> halves_of(const VectorRow& row, const char* at) {
  const auto word = value_at<std::uint32_t>(at);
  const auto low = static_cast<std::uint16_t>(word), high = static_cast<std::uint16_t>(word >> 16);
  if (row.operand == Operand::Half2) return {half_value(low), half_value(high)};
  if (row.operand == Operand::Bfloat2) return {bfloat_value(low), bfloat_value(high)};
  const double value = number_at(at, accumulator_of(row.precision));
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
      const auto [found, other] = halves_of(row, got.data() + (i * 256 + thread) * size);
      // 2^-x = x at W(ln 2) / ln 2; the unit is accurate to two units of 2^-22.
      const double want = special ? 0.6411857445049860 : chain_after(row, thread, i);
      if (special ? std::abs(found - want) > 1e-6 : found != want || other != want)
        return mismatch(cat(row.kernel, ": thread ", thread, " chain ", i), found, want);
    }
  return {};
}

// Expected value of register i of a thread after one trip: mma.sync on ones sums to steps × k in every element; wgmma
// and tcgen05 use their patterns of small integers.
double wanted_product(const Products& p, unsigned block, unsigned thread, unsigned i) {
  if (p.path.path == TensorPath::Mma) return 8.0 * p.k;
  if (p.path.path == TensorPath::Wgmma) return wgmma_element(thread, i, weighed_depth(p.steps, p.k));
  return tcgen05_element(static_cast<int>(block * tcgen05::kM + thread), static_cast<int>(i), p.k, p.row.blocks);
}

Verdict products_right(Gpu& gpu, const Products& p, const GpuBuffer& out, const GpuBuffer& clocks) {
  const bool is_mma = p.path.path == TensorPath::Mma;
  gpu.launch(p.kernel, {p.path.blocks, p.path.threads, p.path.shared},
             {1U, is_mma ? int{kOnes} : int{kPattern}, out, clocks});
  gpu.synchronize();
  // Registers per thread: mma.sync has tiles (8 steps each) of m × n per warp, the others one product per group.
  const double tiles = is_mma ? p.steps / 8.0 : 1;
  const auto each = static_cast<unsigned>(tiles * p.m * p.n * p.path.groups / p.path.threads);
  const std::string_view accumulate = accumulator_of(p.row.precision);
  const std::size_t size = accumulate == "float64" ? 8 : 4;
  const std::vector<char> got = gpu.read<char>(out.get(), p.path.blocks * each * p.path.threads * size);
  for (unsigned block = 0; block < p.path.blocks; ++block)
    for (unsigned i = 0; i < each; ++i)
      for (unsigned thread = 0; thread < p.path.threads; ++thread) {
        const double want = wanted_product(p, block, thread, i);
        const double found = number_at(&got[((block * each + i) * p.path.threads + thread) * size], accumulate);
        if (found != want)
          return mismatch(cat(p.kernel, ": block ", block, " thread ", thread, " register ", i), found, want);
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
  if (gpu.major == 9) return kHopper;
  if (gpu.major == 10) return kBlackwell;
  return kOthers;
}

std::string_view suffix_of(TensorPath path) { return row_of(path).suffix; }

std::vector<SassClaim> arithmetic_claims() {
  std::vector<SassClaim> claims;
  for (const VectorRow& row : vector_rows()) claims.push_back({row.kernel, row.instructions, row.count, row.others});
  for (const PathRow& path : kPaths)
    for (const Products& p : products_of(path.path, {})) {
      // Data-centre Blackwell issues a float64 product as eight instructions.
      const int on_blackwell = p.kernel == "mma_f64" ? 8 * p.steps : 0;
      const int others = p.row.others > 0 ? p.row.others : path.others;
      claims.push_back({p.kernel, {p.row.instruction}, p.steps, others, on_blackwell});
    }
  return claims;
}

void GpuCeilings::add_arithmetic(std::vector<Experiment>& list) {
  // True if the ceiling is wanted and its kernel exists. Notes a missing kernel in `not_run_`.
  const auto can_run = [this](const Ceiling& c, const std::string& kernel) {
    if (!options_.wants(c.id)) return false;
    const bool exists = gpu_.has(kernel);
    if (!exists && c.mode == CeilingMode::Issue) not_run_.push_back(c.id + ": no kernel for this architecture");
    return exists;
  };
  for (const CeilingMode mode : {CeilingMode::Issue, CeilingMode::Sustained}) {
    const bool zeros = mode == CeilingMode::Issue;
    for (const VectorRow& row : vector_rows()) {
      const bool special = row.op == std::string_view("special");
      Experiment e = start({.id = cat(row.precision, ".cuda.", row.op),
                            .kind = CeilingKind::Compute,
                            .mode = mode,
                            .precision = row.precision,
                            .unit_type = special ? "special" : "vector",
                            .op = row.op,
                            .data = zeros ? "zeros" : "fixed point of -x/2 + 5/4",
                            .unit = special ? "1/s" : unit_of(row.precision)});
      if (!can_run(e.ceiling, row.kernel)) continue;
      Arguments operands;
      add_operands(operands, row.operand, zeros);
      for (const unsigned per_sm : {4U, 8U})
        e.candidates.push_back(
            looped(row.kernel, per_sm, {sms() * per_sm, 256}, row.count * row.worth * 256, operands));
      e.verify = [this, &row] { return chains_right(gpu_, row, words_, clocks_); };
      list.push_back(std::move(e));
    }
    for (const TensorPath which : tensor_paths(gpu_.attributes()))
      for (const Products& p : products_of(which, gpu_.attributes())) {
        Experiment e = start({.id = cat(p.row.precision, p.path.suffix, p.row.variant),
                              .kind = CeilingKind::Compute,
                              .mode = mode,
                              .precision = p.row.precision,
                              .unit_type = "tensor",
                              .accumulate = accumulator_of(p.row.precision),
                              .op = "fma",
                              .data = zeros ? "zeros" : "uniform[-1,1]",
                              .unit = unit_of(p.row.precision)});
        if (!can_run(e.ceiling, p.kernel)) continue;
        e.heats = !zeros;
        e.ceiling.config["shape"] = cat("m", p.m, "n", p.n, "k", p.k);
        const double work = 2.0 * p.m * p.n * p.k * p.steps * p.path.groups;
        for (unsigned per_sm = 1; per_sm <= p.path.per_sm; per_sm *= 2) {
          const unsigned blocks = sms() * per_sm / p.path.blocks * p.path.blocks;
          e.candidates.push_back(
              looped(p.kernel, per_sm, {blocks, p.path.threads, p.path.shared}, work, {int{zeros ? kZeros : kRandom}}));
        }
        e.verify = [this, p] { return products_right(gpu_, p, words_, clocks_); };
        list.push_back(std::move(e));
      }
  }
}

}  // namespace pagoda::tools::ceilings
