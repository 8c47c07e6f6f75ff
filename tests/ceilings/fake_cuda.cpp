// A CUDA driver without a device: memory is the host's, kernels are described in C++, and time follows a model of a
// small Hopper, or of FAKE_CUDA_CHIP: "blackwell" (10.0), "ultra" (10.3). The tests can run the GPU's whole path -
// arguments, grids, results against closed forms, the document - where there is no GPU.
// FAKE_CUDA_FAULT=KERNEL[:hang|:wrong|:fail] plants a fault; "context" loses the device before any kernel runs; "old"
// is a driver that does not support the kernels' machine code.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using Pointer = unsigned long long;

constexpr int kSms = 2;
constexpr double kClock = 1.5e9, kDram = 64.0 * 1e9 * 2 / 8;  // 64 bits at 1 GHz
double now = 1;                                               // time of the model, in seconds
bool dead = false, hung = false;
std::map<void*, double> events;
std::vector<std::string> kernels;

struct Clocks {
  unsigned long long cycles[2], nanoseconds[2];
};

template <typename T>
T value(void** arguments, int i) {
  T x;
  std::memcpy(&x, arguments[i], sizeof x);
  return x;
}
template <typename T>
T* pointer(void** arguments, int i) {
  return reinterpret_cast<T*>(value<Pointer>(arguments, i));
}

struct Chip {
  const char *name, *shown;
  int major, minor;
  double fp4;  // FLOP per clock and SM
};
constexpr Chip kChips[] = {{"", "Fake Hopper", 9, 0, 0},
                           {"blackwell", "Fake Blackwell", 10, 0, 32768},
                           {"ultra", "Fake Ultra", 10, 3, 49152},
                           {"next", "Fake Next", 99, 0, 0}};  // newer than all machine code and PTX
const Chip& chip() {
  const char* wanted = std::getenv("FAKE_CUDA_CHIP");
  for (const Chip& c : kChips)
    if (wanted && std::string(wanted) == c.name) return c;
  return kChips[0];
}

// Kernels that are missing in the chip's machine code.
bool missing(const std::string& kernel) {
  if (kernel == "mma_fp8") return true;
  if (chip().major == 9) return kernel.starts_with("tcgen05_");
  if (chip().major == 99) return kernel.starts_with("wgmma_") || kernel.starts_with("tcgen05_");
  return kernel.starts_with("wgmma_") ||
         (chip().minor == 3 && (kernel.ends_with("_i8") || kernel == "mma_f64") && kernel != "mma_i8") ||
         (chip().minor == 0 && kernel.ends_with("_long"));
}

std::uint32_t hash(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

double rounded(double x, int bits) {
  if (x == 0) return x;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}
std::uint16_t half_of(double x) {
  if (x == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(x), &exponent);  // x = fraction · 2^exponent, fraction in [1/2, 1)
  return static_cast<std::uint16_t>((x < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                                    (static_cast<int>(fraction * 2048) & 1023));
}
std::uint16_t bfloat_of(double x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16);
}

struct Grid {
  unsigned blocks, threads;
  unsigned all() const { return blocks * threads; }
};

// The chains of cuda/vector.cu, computed for small trip counts only.
template <typename T, typename Start, typename Step>
void chains(void** a, const Grid& g, Start start, Step step) {
  const auto trips = value<unsigned>(a, 0);
  T* out = pointer<T>(a, 3);
  if (trips > 10) return;
  for (unsigned block = 0; block < g.blocks; ++block)
    for (unsigned i = 0; i < 8; ++i)
      for (unsigned t = 0; t < g.threads; ++t) {
        auto x = start(t, i);
        for (unsigned n = 0; n < trips * 64; ++n) x = step(x);
        std::memcpy(out + (block * 8 + i) * static_cast<std::size_t>(g.threads) + t, &x, sizeof(T));
      }
}

// Vectors that the grid covers in EVERY_VECTOR of cuda/memory.cu, in its order; trips beyond the first change nothing.
template <typename Body>
void every_vector(const Grid& g, std::size_t n, bool near, Body body) {
  const std::size_t grid = g.all(), step = near ? g.threads : grid;
  for (unsigned block = 0; block < g.blocks; ++block)
    for (unsigned t = 0; t < g.threads; ++t)
      for (std::size_t i = block * static_cast<std::size_t>(g.threads) * (near ? 4 : 1) + t; i < n; i += 4 * grid)
        for (int k = 0; k < 4; ++k)
          for (int word = 0; word < 4; ++word) body(4 * (i + k * step) + word);
}

// Does to memory what a kernel does, and returns its seconds. The last argument is always
// the clocks, except for empty kernels.
double run(const std::string& name, const Grid& g, void** a) {
  if (name == "empty" || name == "spin") return 2e-6;
  const auto trips = value<unsigned>(a, 0);
  const double threads = g.all(), sm_clocks = kSms * kClock;
  const auto at = [&](double per_trip, double per_clock) { return per_trip * trips * threads / per_clock / sm_clocks; };
  // Vectors -----------------------------------------------------------------------------------------------------------
  if (name == "fma_f32" || name == "add_f32" || name == "mul_f32") {
    const float x = value<float>(a, 1), y = value<float>(a, 2);
    chains<float>(
        a, g,
        [&](unsigned t, unsigned i) { return x == 0 ? 0 : static_cast<float>(t % 32) * 0.25F + static_cast<float>(i); },
        [&](float v) { return name == "fma_f32"   ? std::fma(v, x, y)
                              : name == "add_f32" ? y - v
                                                  : v * x; });
    return at(512, 127);
  }
  if (name == "fma_f64" || name == "add_f64") {
    const double x = value<double>(a, 1), y = value<double>(a, 2);
    chains<double>(
        a, g, [&](unsigned t, unsigned i) { return x == 0 ? 0 : (t % 32) * 0.25 + i; },
        [&](double v) { return name == "fma_f64" ? std::fma(v, x, y) : y - v; });
    return at(512, 63.5);
  }
  if (name == "fma_f16" || name == "add_f16" || name == "fma_bf16") {
    const bool brain = name == "fma_bf16", random = value<std::uint32_t>(a, 1) != 0;
    const int bits = brain ? 8 : 11;
    if (random && trips <= 10) {
      auto* out = pointer<std::uint32_t>(a, 3);
      for (unsigned i = 0; i < 16; ++i)
        for (unsigned t = 0; t < g.threads; ++t) {
          double x = t % 8 + i;
          for (unsigned n = 0; n < trips * 32; ++n) x = rounded(name == "add_f16" ? x + 1.25 : x * -0.5 + 1.25, bits);
          const std::uint32_t word = brain ? bfloat_of(x) : half_of(x);
          out[i * g.threads + t] = word << 16 | word;
        }
    }
    return at(512, 127);
  }
  if (name == "imad_i32" || name == "dp4a_i8") {
    const auto x = value<std::uint32_t>(a, 1), y = value<std::uint32_t>(a, 2);
    std::uint32_t dot = 0;
    for (int byte = 0; byte < 32; byte += 8) dot += (x >> byte & 255) * (y >> byte & 255);
    chains<std::uint32_t>(
        a, g, [](unsigned t, unsigned i) { return t + i; },
        [&](std::uint32_t v) { return name == "dp4a_i8" ? v + dot : v * x + y; });
    return at(512, 63.5);
  }
  if (name == "special_f32") {
    const float add = value<float>(a, 2);
    if (trips <= 10)
      for (unsigned i = 0; i < 8; ++i)
        for (unsigned t = 0; t < g.threads; ++t) {
          float x = 0.125F * static_cast<float>(i);
          for (unsigned n = 0; n < trips * 16; ++n) x = std::exp2(-x);
          pointer<float>(a, 3)[i * g.threads + t] = x + add;
        }
    return at(128, 15.9);
  }
  // Products ----------------------------------------------------------------------------------------------------------
  if (name.starts_with("tcgen05_")) {
    struct Row {
      const char* format;
      int bits, blocks, depth_bytes;  // blocks with one scale each; -1: all scales are 2
      double per_clock;
    };
    // The longer product takes the same time.
    const double fp4 = chip().fp4 * (chip().minor == 3 ? 2.0 / 3 : 1);
    const Row kRows[] = {{"f16", 16, 0, 32, 8192},
                         {"bf16", 16, 0, 32, 8192},
                         {"tf32", 32, 0, 32, 4096},
                         {"fp8", 8, 0, 32, 16384},
                         {"i8", 8, 0, 32, 16384},
                         {"mxfp8", 8, 1, 32, 16384},
                         {"mxfp4", 4, 2, 32, fp4},
                         {"nvfp4", 4, 4, 32, fp4},
                         {"mxfp4_long", 4, -1, 48, chip().fp4},
                         {"nvfp4_long", 4, -1, 48, chip().fp4}};
    const bool pair = name.starts_with("tcgen05_pair_");
    const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                  [&](const Row& r) { return name.substr(pair ? 13 : 8) == r.format; });
    if (g.threads != 128 || (pair && g.blocks % 2 != 0)) std::abort();
    const int depth = row->depth_bytes * 8 / row->bits, stage = row->depth_bytes == 32 ? 4 : 2;
    // One trip by the definition of a product: 32 products over the operands of two stages.
    if (trips == 1 && value<int>(a, 1) == 3)
      for (int m = 0; m < (pair ? 256 : 128); ++m)
        for (int n = 0; n < 256; ++n) {
          double sum = 0;
          for (int product = 0; product < 32; ++product) {
            const bool twice = product / stage % 2 == 0 && product % 2 == 0;
            const double each = (m % 3 - 1) * (twice ? 2 : 1) * (n % 4);
            if (row->blocks <= 0) sum += depth * each * (row->blocks < 0 ? 2 : 1);
            for (int block = 0; block < row->blocks; ++block)
              sum += depth / row->blocks * each * std::exp2((m / 3 + block) % 4 - 2) *
                     std::exp2((n / 5 + 2 * block) % 3 - 1);
          }
          const std::size_t place = (static_cast<std::size_t>(m) / 128 * 256 + n) * 128 + m % 128;
          if (row->format == std::string("i8"))
            pointer<std::int32_t>(a, 2)[place] = static_cast<std::int32_t>(sum);
          else
            pointer<float>(a, 2)[place] = static_cast<float>(sum);
        }
    return 2.0 * 128 * 256 * depth * 32 * g.blocks * trips / (0.98 * row->per_clock) / sm_clocks;
  }
  const bool warpgroup = name.starts_with("wgmma_");
  if (warpgroup || name.starts_with("mma_")) {
    struct Row {
      const char* format;
      int k;  // of wgmma; mma.sync has half of it for 8-bit operands, else the same
      double per_clock;
    };
    constexpr Row kRows[] = {{"f16", 16, 4096}, {"bf16", 16, 4096}, {"tf32", 8, 2048},
                             {"fp8", 32, 8192}, {"i8", 32, 8192},   {"f64", 16, 256}};
    const std::string format = name.substr(warpgroup ? 6 : 4);
    const Row* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return format == r.format; });
    const auto fill = value<int>(a, 1);
    if (trips == 1) {
      const unsigned each = warpgroup ? 128 : format == "f64" ? 16 : 32;
      for (unsigned i = 0; i < each; ++i)
        for (unsigned t = 0; t < g.threads; ++t) {
          double x = fill == 2 ? 8 * row->k : 0;
          if (warpgroup && fill == 3) {
            const unsigned m = 16 * (t / 32 % 4) + t % 32 / 4 + 8 * (i / 2 % 2), n = 8 * (i / 4) + 2 * (t % 4) + i % 2;
            x = (8 * 2 + 24) * row->k *  // eight of the 32 products count twice
                (static_cast<int>(m % 3) - 1) * static_cast<int>(n % 4);
          }
          const std::size_t place = i * static_cast<std::size_t>(g.threads) + t;
          if (format == "f64")
            pointer<double>(a, 2)[place] = x;
          else if (format == "i8")
            pointer<std::int32_t>(a, 2)[place] = static_cast<std::int32_t>(x);
          else
            pointer<float>(a, 2)[place] = static_cast<float>(x);
        }
    }
    const double flops = warpgroup ? 2.0 * 64 * 256 * row->k * 32 * g.blocks * 2
                                   : 2.0 * 16 * 8 * row->k * (format == "f64" ? 32 : 64) * g.blocks * (g.threads / 32);
    const double share = warpgroup ? 1 : format != "f64" ? 0.6 : chip().major == 10 ? 0.5 : 1;
    return flops * trips / (0.98 * row->per_clock * share) / sm_clocks;
  }
  // Memory ------------------------------------------------------------------------------------------------------------
  if (name == "hbm_read_bulk") return run("hbm_read", g, a);
  if (name.starts_with("hbm_") || name == "intensity") {
    const std::string op = name.substr(name.find('_') + 1);
    const bool three = op == "add" || op == "triad";
    const int arrays = op == "read" || op == "write" ? 1 : three ? 3 : 2;
    const auto n = value<std::size_t>(a, 1 + arrays);
    int next = 2 + arrays;
    float s = 1;
    unsigned steps = 0;
    if (op == "write" || op == "scale" || op == "triad") s = value<float>(a, next++);
    if (name == "intensity") steps = value<unsigned>(a, next++);
    std::uint32_t* out = op == "read" ? pointer<std::uint32_t>(a, next++) : nullptr;
    const bool near = value<unsigned>(a, next) != 0;
    float* to = pointer<float>(a, 1);
    if (n * 16 <= 8u << 20) {
      const float *b = arrays > 1 ? pointer<float>(a, 2) : to, *c = three ? pointer<float>(a, 3) : to;
      std::uint32_t all = 0;
      every_vector(g, n, near, [&](std::size_t i) {
        if (op == "read")
          all ^= std::bit_cast<std::uint32_t>(to[i]);
        else if (op == "write")
          to[i] = s;
        else if (steps > 0) {
          float x = b[i];
          for (unsigned k = 0; k < steps; ++k) x = std::fma(x, -0.5F, 1.25F);
          to[i] = x;
        } else
          to[i] = three ? b[i] + s * c[i] : s * b[i];
      });
      if (out) out[1] ^= all;
    }
    const double bytes = 16.0 * static_cast<double>(n) * arrays * trips;
    return std::max(bytes / (0.9 * kDram), bytes / 32 * 8 * steps / (256 * sm_clocks));
  }
  if (name == "l2_read" || name == "l2_write") {
    const auto n = value<std::size_t>(a, 2);
    auto* memory = pointer<std::uint32_t>(a, 1);
    if (g.blocks == 1) {
      std::uint32_t all = 0;
      std::size_t i = 0;
      for (unsigned trip = 0; trip < trips; ++trip, i += 8 * g.threads)
        for (unsigned t = 0; t < g.threads; ++t)
          for (int k = 0; k < 8; ++k)
            for (int word = 0; word < 4; ++word) {
              std::uint32_t& x = memory[4 * ((i + t + k * static_cast<std::size_t>(g.threads)) & (n - 1)) + word];
              if (name == "l2_write") x = value<std::uint32_t>(a, 3);
              all ^= x;
            }
      if (name == "l2_read") *pointer<std::uint32_t>(a, 3) ^= all;
    }
    return at(128, static_cast<double>(n) * 16 > 4e6 ? 8 : 40);
  }
  if (name == "l1_read") {
    if (g.blocks == 1)
      for (unsigned i = 0; i < 4 * 2048 * (trips % 2); ++i)
        *pointer<std::uint32_t>(a, 2) ^= pointer<std::uint32_t>(a, 1)[i];
    return at(128, 126);
  }
  if (name == "shared_read") {
    if (g.blocks == 1)
      for (unsigned e = 0; e < 2048 * (trips % 2); ++e) *pointer<std::uint32_t>(a, 2) ^= hash(e) ^ 1U ^ 2U ^ (e / 256);
    return at(128, 126.0 / value<unsigned>(a, 1));
  }
  if (name == "shared_write") {
    if (g.blocks == 1)
      for (unsigned t = 0; t < 256; ++t)
        *pointer<std::uint32_t>(a, 2) ^= hash(value<unsigned>(a, 1) + t % 32 + 256 * t);
    return at(128, 126);
  }
  if (name == "atomics") {
    auto* words = pointer<std::uint32_t>(a, 1);
    if (trips <= 10)
      for (unsigned t = 0; t < g.all(); ++t) words[value<unsigned>(a, 2) ? t : 0] += 8 * trips;
    return at(8, 1);
  }
  std::abort();  // a kernel that this fake lacks
}

// Index of the argument that holds the clocks: the last one.
int clocks_at(const std::string& name) {
  const std::map<std::string, int> others = {{"hbm_read", 5},    {"hbm_read_bulk", 5}, {"hbm_write", 5},
                                             {"hbm_copy", 5},    {"hbm_scale", 6},     {"hbm_add", 6},
                                             {"hbm_triad", 7},   {"intensity", 6},     {"l1_read", 3},
                                             {"shared_read", 3}, {"shared_write", 3},  {"atomics", 3}};
  if (const auto found = others.find(name); found != others.end()) return found->second;
  return name.starts_with("mma_") || name.starts_with("wgmma_") || name.starts_with("tcgen05_") ? 3 : 4;
}

}  // namespace

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int) { return *device = 0, 0; }
int cuDeviceGetName(char* name, int size, int) { return std::strncpy(name, chip().shown, size), 0; }
int cuDeviceGetAttribute(int* value, int which, int) {
  const std::map<int, int> values = {{13, 1500000},      {16, kSms},         {32, 1},
                                     {36, 1000000},      {37, 64},           {38, 2 << 20},
                                     {75, chip().major}, {76, chip().minor}, {97, 227 << 10}};
  const auto found = values.find(which);
  return found == values.end() ? 1 : (*value = found->second, 0);
}
int cuDeviceGetPCIBusId(char* text, int size, int) { return std::strncpy(text, "0000:01:00.0", size), 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &now, 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void*) {
  const char* fault = std::getenv("FAKE_CUDA_FAULT");
  return fault && std::string(fault) == "context" ? 719 : 0;
}
int cuCtxSynchronize() { return dead ? 700 : 0; }
int cuModuleLoadData(void** module, const void*) {
  const char* fault = std::getenv("FAKE_CUDA_FAULT");
  if (fault && std::string(fault) == "old") return 209;  // the machine code is of a newer toolkit
  return *module = &now, 0;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
  const std::string wanted = name;
  if (missing(wanted)) return 500;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (kernels[i] == wanted) return *function = reinterpret_cast<void*>(i + 1), 0;
  kernels.push_back(wanted);
  return *function = reinterpret_cast<void*>(kernels.size()), 0;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned,
                   void*, void** arguments, void**) {
  const std::string name = kernels[reinterpret_cast<std::uintptr_t>(function) - 1];
  const char* fault = std::getenv("FAKE_CUDA_FAULT");
  const std::string planted = fault ? fault : "";
  if (planted == name + ":fail") dead = true;
  if (planted == name + ":hang") hung = true;
  if (dead || hung) return 0;  // noticed later, as on a device
  const double start = now;
  const double took = run(name, {blocks, threads}, arguments) * (1 + 1e-4 * std::sin(1e6 * now));
  now += took;
  if (arguments && name != "spin") {
    auto* clocks = pointer<Clocks>(arguments, clocks_at(name));
    for (unsigned i = 0; i < std::min(blocks, 4096U); ++i)
      clocks[i] = {{static_cast<unsigned long long>(start * kClock), static_cast<unsigned long long>(now * kClock)},
                   {static_cast<unsigned long long>(start * 1e9), static_cast<unsigned long long>(now * 1e9)}};
    // A result that is off by one bit.
    if (planted == name + ":wrong") {
      const int result = name == "fma_f32" || name.starts_with("hbm_read")          ? 3
                         : name.starts_with("wgmma") || name.starts_with("tcgen05") ? 2
                                                                                    : 1;
      pointer<std::uint32_t>(arguments, result)[77] ^= 1;
    }
  }
  return 0;
}
int cuMemGetInfo_v2(std::size_t* available, std::size_t* all) { return *available = *all = 64 << 20, 0; }
int cuMemAlloc_v2(Pointer* to, std::size_t bytes) {
  void* memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return memory ? (*to = reinterpret_cast<Pointer>(memory), 0) : 2;
}
int cuMemFree_v2(Pointer memory) { return std::free(reinterpret_cast<void*>(memory)), 0; }
int cuMemsetD32_v2(Pointer to, unsigned word, std::size_t words) {
  return std::fill_n(reinterpret_cast<unsigned*>(to), words, word), 0;
}
int cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
int cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
int cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, void*) {
  now += static_cast<double>(bytes) / 20e9;
  return cuMemcpyDtoH_v2(to, from, bytes);
}
int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, void*) {
  now += static_cast<double>(bytes) / 20e9;
  return cuMemcpyHtoD_v2(to, from, bytes);
}
int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, std::size_t bytes, void*) {
  now += 2 * static_cast<double>(bytes) / (0.85 * kDram);
  return cuMemcpyDtoH_v2(reinterpret_cast<void*>(to), from, bytes);
}
int cuMemHostAlloc(void** to, std::size_t bytes, unsigned) {
  return *to = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096), 0;
}
int cuMemFreeHost(void* memory) { return std::free(memory), 0; }
int cuStreamCreate(void** stream, unsigned) { return *stream = &now, 0; }
int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
// Events are released with the context: their handles are addresses in an array that is never freed.
int cuEventCreate(void** event, unsigned) {
  static char names[1024];
  static std::size_t count = 0;
  if (count == sizeof names) return 2;  // out of memory
  return *event = &names[count++], 0;
}
int cuEventRecord(void* event, void*) { return events[event] = now, 0; }
int cuEventQuery(void*) { return dead ? 700 : hung ? 600 : 0; }
int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  return *milliseconds = static_cast<float>(1e3 * (events[to] - events[from])), 0;
}
int cuGetErrorString(int, const char** text) { return *text = "an illegal memory access was encountered", 0; }
}
