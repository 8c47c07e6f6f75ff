// Traffic of a GPU: DRAM, caches, shared memory, atomics, the link to the host, launches.
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "gpu_run.h"
#include "pagoda/base/statistics.h"
#include "run_checks.h"
#include "system_files.h"

namespace pagoda::tools::ceilings {
namespace {

using documents::CeilingKind, documents::CeilingMode;

constexpr StreamRow kStreams[] = {
    {"hbm_read", "read", 1, false},  {"hbm_write", "write", 1, true}, {"hbm_copy", "copy", 2, false},
    {"hbm_scale", "scale", 2, true}, {"hbm_add", "add", 3, false},    {"hbm_triad", "triad", 3, true},
};

// Bulk copies of cuda/memory.cu: threads, vectors per piece, and bytes of a ring of four pieces with their barriers.
constexpr const char* kBulkRead = "hbm_read_bulk";
constexpr unsigned kBulkThreads = 256, kBulkVectors = 1024, kBulkShared = 4 * 16384 + 64;

constexpr unsigned kCacheBytes = 8 * 16;  // per thread and trip of the kernels of caches

// Number of result words that `keep` of cuda/memory.cu writes.
constexpr std::size_t kKept = 8192;

std::uint32_t folded(const std::vector<std::uint32_t>& words) {
  return std::accumulate(words.begin(), words.end(), 0U, std::bit_xor<>());
}

// Writes the words that a read must find, numbered and hashed; returns their fold.
std::uint32_t write_known(Gpu& gpu, DevicePointer to, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = hash(static_cast<std::uint32_t>(i));
  gpu.write(to, words.data(), 4 * count);
  return folded(words);
}

// Compares the result words of a kernel with the fold of all words that it must read.
Verdict kept_right(Gpu& gpu, const GpuBuffer& out, std::string_view kernel, std::uint32_t want) {
  const std::uint32_t found = folded(gpu.read<std::uint32_t>(out.get(), kKept));
  if (found == want) return {};
  return {false, cat(kernel, ": the words read make ", found, ", must make ", want)};
}

documents::Ceiling bandwidth(const std::string& level, const std::string& op) {
  return {.id = cat(level, ".", op),
          .kind = CeilingKind::Bandwidth,
          .mode = CeilingMode::Sustained,
          .level = level,
          .op = op,
          .data = "ones",
          .unit = "B/s"};
}

// How the grid covers the arrays. With one tile per block, every pass is a launch; the others loop in the kernel.
struct Shape {
  unsigned per_sm, threads;  // 0: one tile per block
  bool near;
  const char* name;
};
constexpr Shape kShapes[] = {{4, 512, false, "grid stride"}, {4, 512, true, "blocked"},
                             {2, 512, true, "blocked"},      {8, 256, true, "blocked"},
                             {0, 512, true, "tile a block"}, {0, 256, true, "tile a block"}};

}  // namespace

Verdict GpuCeilings::stream_right(const StreamRow& row, const std::vector<GpuBuffer>& arrays) {
  // Arrays of ones: a copy gives 1, a scale 3, an add 2, a triad 1 + 3; a write gives 3. Reads use known words. Covers
  // two iterations of the grid, with and without `near`.
  const std::string_view op = row.op;
  const float want = op == "copy" ? 1.0F : op == "add" ? 2.0F : op == "triad" ? 4.0F : 3.0F;
  const unsigned blocks = sms();
  const std::size_t vectors = std::size_t{8} * blocks * 512, words = 4 * vectors;
  for (const bool near : {false, true}) {
    if (op == "read") {
      const std::uint32_t known = write_known(gpu_, arrays[0].get(), words);
      gpu_.fill(words_.get(), 0, kKept);
      stream(row, arrays, {blocks, 512}, vectors, 1, near);
      const Verdict v = kept_right(gpu_, words_, row.kernel, known);
      // An odd number of passes, so that each vector counts once, and the ring wraps.
      if (!near && gpu_.has(kBulkRead)) {
        gpu_.fill(words_.get(), 0, kKept);
        bulk_read(arrays[0].get(), blocks, vectors, 3);
        bulk_ = kept_right(gpu_, words_, kBulkRead, known);
      }
      gpu_.fill(arrays[0].get(), std::bit_cast<std::uint32_t>(1.0F), words);
      if (!v.right) return v;
      continue;
    }
    gpu_.fill(arrays[0].get(), 0, words);
    stream(row, arrays, {blocks, 512}, vectors, 1, near);
    const std::vector<float> got = gpu_.read<float>(arrays[0].get(), words);
    for (std::size_t i = 0; i < got.size(); ++i)
      if (got[i] != want) return mismatch(cat(row.kernel, ": element ", i), got[i], want);
  }
  return {};
}

// Seconds of `repeats` launches of `passes` passes each. Arrays: destination, then sources; a read has only a source.
double GpuCeilings::stream(const StreamRow& row, const std::vector<GpuBuffer>& arrays, const Gpu::Launch& launch,
                           std::size_t vectors, unsigned passes, bool near) {
  Arguments arguments(passes);
  for (const GpuBuffer& array : arrays) arguments.add(array);
  arguments.add(vectors);
  if (row.scalar) arguments.add(3.0F);
  if (row.steps > 0) arguments.add(row.steps);
  if (std::string_view(row.op) == "read") arguments.add(words_);
  arguments.add(near ? 1U : 0U).add(clocks_);
  return gpu_.time(row.kernel, launch, arguments);
}

double GpuCeilings::bulk_read(DevicePointer array, unsigned blocks, std::size_t vectors, unsigned passes) {
  return gpu_.time(kBulkRead, {blocks, kBulkThreads, kBulkShared}, {passes, array, vectors, words_, 0U, clocks_});
}

// Bulk copies keep more bytes in flight than registers can hold: two blocks per SM have 128 KiB. If their result is
// wrong, only plain loads are used, and the ceiling's config says so.
void GpuCeilings::add_bulk_reads(Experiment& e, const std::shared_ptr<std::vector<GpuBuffer>>& arrays, double each) {
  if (!gpu_.has(kBulkRead)) return;
  e.theory = [this, theory = e.theory](documents::Ceiling& c) {
    theory(c);
    if (!bulk_.right) c.config["bulk copies"] = "left out: " + bulk_.detail;
  };
  for (const unsigned per_sm : {1U, 2U, 3U}) {
    if (per_sm * kBulkShared > static_cast<unsigned>(gpu_.shared_bytes_per_block())) continue;
    const unsigned blocks = sms() * per_sm;
    const std::size_t unit = std::size_t{kBulkVectors} * blocks,
                      vectors = static_cast<std::size_t>(each) / 16 / unit * unit;
    if (vectors == 0) continue;
    Candidate candidate =
        paced(kBulkRead,
              {{"blocks", std::int64_t{blocks}},
               {"threads", std::int64_t{kBulkThreads}},
               {"cover", std::string("bulk copies")},
               {"array_bytes", static_cast<std::int64_t>(vectors * 16)}},
              1, 16.0 * static_cast<double>(vectors), blocks, [this, arrays, blocks, vectors](unsigned passes) {
                return bulk_read(arrays->front().get(), blocks, vectors, passes);
              });
    candidate.run = [this, run = std::move(candidate.run)](double seconds) {
      return bulk_.right ? run(seconds) : Sample();  // a rate of 0 is never chosen
    };
    e.candidates.push_back(std::move(candidate));
  }
}

Experiment GpuCeilings::stream_experiment(const StreamRow& row, double each) {
  Experiment e = start(bandwidth("dram", row.op));
  auto arrays = std::make_shared<std::vector<GpuBuffer>>();
  e.prepare = [this, row, arrays, each] {
    arrays->clear();
    for (int i = 0; i < row.arrays; ++i) {
      arrays->emplace_back(gpu_, static_cast<std::size_t>(each));
      gpu_.fill(arrays->back().get(), std::bit_cast<std::uint32_t>(1.0F), static_cast<std::size_t>(each) / 4);
    }
  };
  e.release = [arrays] { arrays->clear(); };
  for (const Shape& shape : kShapes) {
    const bool tiles = shape.per_sm == 0;
    const std::size_t tile = std::size_t{4} * shape.threads, unit = tiles ? tile : tile * sms() * shape.per_sm;
    const std::size_t vectors = static_cast<std::size_t>(each) / 16 / unit * unit;
    const unsigned blocks = tiles ? static_cast<unsigned>(vectors / tile) : sms() * shape.per_sm;
    e.candidates.push_back(paced(row.kernel,
                                 {{"blocks", std::int64_t{blocks}},
                                  {"threads", std::int64_t{shape.threads}},
                                  {"cover", std::string(shape.name)},
                                  {"array_bytes", static_cast<std::int64_t>(vectors * 16)}},
                                 1, 16.0 * static_cast<double>(vectors) * row.arrays, blocks,
                                 [this, row, arrays, blocks, shape, vectors, tiles](unsigned passes) {
                                   return stream(row, *arrays, {blocks, shape.threads, 0, tiles ? passes : 1}, vectors,
                                                 tiles ? 1 : passes, shape.near);
                                 }));
  }
  if (std::string_view(row.op) == "read") add_bulk_reads(e, arrays, each);
  if (std::string_view(row.op) == "copy") {
    const auto bytes = static_cast<std::size_t>(each);
    e.candidates.push_back({"cuMemcpyDtoDAsync",
                            {{"array_bytes", static_cast<std::int64_t>(bytes)}},
                            [this, arrays, pace = Pace(), bytes](double seconds) mutable {
                              const unsigned passes = trips_for(pace, seconds, 1);
                              const double took =
                                  gpu_.time_copies_on_device((*arrays)[0].get(), (*arrays)[1].get(), bytes, passes);
                              pace.trips_per_second = passes / took;
                              return Sample{.rate = 2.0 * static_cast<double>(bytes) * passes / took, .seconds = took};
                            }});
  }
  if (row.steps == 0) e.verify = [this, row, arrays] { return stream_right(row, *arrays); };
  return e;
}

void GpuCeilings::add_streams(std::vector<Experiment>& list) {
  for (const StreamRow& row : kStreams) list.push_back(stream_experiment(row, array_bytes()));
}

double GpuCeilings::array_bytes() const {
  const double wanted = options_.depth == Depth::Quick ? 1e9 : 2e9;
  return std::min(wanted, 0.8 * static_cast<double>(gpu_.free_bytes()) / 3);
}

// Arrays small enough that those of all intensities fit at once, but still larger than any L2.
Experiment GpuCeilings::intensity_experiment(unsigned steps) {
  return stream_experiment({"intensity", "intensity", 2, false, steps}, std::min(2.5e8, array_bytes() / 8));
}

// Checks a level's kernel on one block: reads against known words, writes against the expected contents.
Verdict GpuCeilings::cache_right(std::string_view kernel, DevicePointer memory) {
  constexpr unsigned kThreads = 512, kTrips = 3, kValue = 0x5a5a1234;
  constexpr std::size_t kVectors = 65536;
  constexpr unsigned kPasses = kVectors / (8 * kThreads);
  gpu_.fill(words_.get(), 0, kKept);
  std::uint32_t want = 0;
  if (kernel == "l2_read") {
    want = write_known(gpu_, memory, 4 * kVectors);  // each vector once
    gpu_.launch("l2_read", {1, kThreads, 0}, {kPasses, memory, kVectors, words_, clocks_});
  } else if (kernel == "l2_write") {
    gpu_.fill(memory, 0, 4 * kVectors);
    gpu_.launch("l2_write", {1, kThreads, 0}, {kPasses, memory, kVectors, kValue, clocks_});
    gpu_.synchronize();
    const std::vector<std::uint32_t> got = gpu_.read<std::uint32_t>(memory, 4 * kVectors);
    for (std::size_t i = 0; i < got.size(); ++i)
      if (got[i] != kValue) return {false, cat("l2_write: word ", i, " was not written")};
    return {};
  } else if (kernel == "l1_read") {
    want = write_known(gpu_, memory, 4 * 2048);  // each vector three times
    gpu_.launch("l1_read", {1, 256, 0}, {kTrips, memory, words_, clocks_});
  } else if (kernel == "shared_read") {
    for (unsigned i = 0; i < 2048; ++i) want ^= hash(i) ^ 1U ^ 2U ^ (i / 256);
    gpu_.launch("shared_read", {1, 256, 32768}, {kTrips, 1U, words_, clocks_});
  } else if (kernel == "shared_write") {
    // At each address, every trip leaves the value of a thread with the same number modulo 32, whichever warp is last.
    for (unsigned thread = 0; thread < 256; ++thread) want ^= hash(kValue + thread % 32 + 256 * thread);
    gpu_.launch("shared_write", {1, 256, 32768}, {kTrips, kValue, words_, clocks_});
  }
  gpu_.synchronize();
  return kept_right(gpu_, words_, kernel, want);
}

// Blocks and working sets of the L2's kernels, the six with the most loads in flight. Loads in flight must be of
// different lines, so a set has at least as many bytes as are in flight. It is at most half of the L2: beyond that
// begins the far partition.
std::vector<GpuCeilings::CacheShape> GpuCeilings::l2_shapes() const {
  std::vector<CacheShape> shapes;
  for (const unsigned threads : {512U, 256U, 128U})
    for (const unsigned per_sm : {1U, 2U})
      for (const unsigned sets : {1U, 2U}) {
        const CacheShape shape = {per_sm, threads, std::size_t{kCacheBytes} * threads * per_sm * sms() * sets};
        if (2 * static_cast<double>(shape.bytes) <= gpu_.attributes().l2_bytes && shapes.size() < 6)
          shapes.push_back(shape);
      }
  if (shapes.empty()) shapes.push_back({1, 128, std::size_t{kCacheBytes} * 128 * sms()});
  return shapes;
}

// Bandwidth of loads by working set, from the bytes in flight to far beyond the L2.
std::vector<lab::WorkingSetPoint> GpuCeilings::l2_sweep() {
  std::vector<lab::WorkingSetPoint> points;
  const double l2 = gpu_.attributes().l2_bytes, most = std::min(64 * l2, 0.5 * static_cast<double>(gpu_.free_bytes()));
  // As many loads in flight as leave room for a plateau of several sets within the L2.
  unsigned threads = 512;
  const auto unit = [&] { return std::size_t{kCacheBytes} * threads * sms(); };
  while (threads > 128 && 6 * static_cast<double>(unit()) > l2) threads /= 2;
  if (most < 2 * static_cast<double>(unit())) return points;
  GpuBuffer memory(gpu_, static_cast<std::size_t>(most));
  gpu_.fill(memory.get(), 1, memory.bytes() / 4);
  for (std::size_t sets = 1; sets * unit() <= memory.bytes(); sets += std::max<std::size_t>(1, sets / 3)) {
    std::vector<double> rates;
    unsigned trips = 500;
    for (int round = 0; round < 6; ++round) {
      const double took =
          gpu_.time("l2_read", {sms(), threads, 0}, {trips, memory, sets * unit() / 16, words_, clocks_});
      if (round > 0) rates.push_back(static_cast<double>(unit()) * trips / took);
      trips = static_cast<unsigned>(std::clamp(trips / took * 0.01, 1.0, 4e9));
    }
    points.push_back({static_cast<double>(sets * unit()), base::median(rates)});
  }
  return points;
}

void GpuCeilings::add_caches(std::vector<Experiment>& list) {
  struct Row {
    std::string level, op;
    std::vector<CacheShape> shapes;
    unsigned shared = 0;
  };
  const std::vector<CacheShape> inner = {{2, 256, 0}, {4, 256, 0}};
  const Row rows[] = {
      {"l2", "read", l2_shapes()},      {"l2", "write", l2_shapes()},      {"l1", "read", inner},
      {"shared", "read", inner, 32768}, {"shared", "write", inner, 32768},
  };
  for (const auto& [level, op, shapes, shared] : rows) {
    Experiment e = start(bandwidth(level, op));
    const std::string kernel = cat(level, "_", op);
    auto memory = std::make_shared<GpuBuffer>();
    std::size_t bytes = level == "l1" ? std::size_t{sms()} * kMostBlocksPerSm * 32768 : std::size_t{1} << 20;
    for (const CacheShape& shape : shapes) bytes = std::max(bytes, shape.bytes);
    e.prepare = [this, memory, bytes] {
      *memory = GpuBuffer(gpu_, bytes);
      gpu_.fill(memory->get(), 1, bytes / 4);
    };
    e.release = [memory] { *memory = GpuBuffer(); };
    e.verify = [this, kernel, memory, bytes] {
      const Verdict v = cache_right(kernel, memory->get());
      gpu_.fill(memory->get(), 1, bytes / 4);
      return v;
    };
    for (const CacheShape& shape : shapes) {
      base::Settings config = grid_config(shape.per_sm, shape.threads);
      if (shape.bytes > 0) config["working_set_bytes"] = static_cast<std::int64_t>(shape.bytes);
      const Gpu::Launch launch = {sms() * shape.per_sm, shape.threads, shared};
      const auto run = [this, kernel, memory, vectors = shape.bytes / 16, launch](unsigned trips) {
        Arguments arguments(trips);
        launch.shared_bytes > 0 ? arguments.add(1U) : arguments.add(*memory);
        if (vectors > 0) arguments.add(vectors);
        kernel == "l2_write" ? arguments.add(1U) : arguments.add(words_);
        return gpu_.time(kernel, launch, arguments.add(clocks_));
      };
      const double work = double{kCacheBytes} * launch.blocks * launch.threads;
      e.candidates.push_back(paced(kernel, std::move(config), 500, work, launch.blocks, run));
    }
    list.push_back(std::move(e));
  }
  for (const unsigned spread : {0U, 1U}) {
    Experiment e = start({.id = spread ? "atomics.spread" : "atomics.one_word",
                          .kind = CeilingKind::Compute,
                          .mode = CeilingMode::Sustained,
                          .precision = "int32",
                          .op = "atomic_add",
                          .unit = "1/s"});
    e.verify = [this, spread] {
      constexpr unsigned kTrips = 5;
      gpu_.fill(words_.get(), 0, 256);
      gpu_.launch("atomics", {1, 256, 0}, {kTrips, words_, spread, clocks_});
      gpu_.synchronize();
      const std::vector<std::uint32_t> got = gpu_.read<std::uint32_t>(words_.get(), 256);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const std::uint32_t want = spread ? 8 * kTrips : i == 0 ? 8 * kTrips * 256 : 0;
        if (got[i] != want) return mismatch(cat("atomics: word ", i), got[i], want);
      }
      return Verdict{};
    };
    const unsigned blocks = sms() * 4;
    e.candidates.push_back(paced("atomics", {{"blocks_per_sm", std::int64_t{4}}}, 10, 8.0 * blocks * 256, blocks,
                                 [this, spread, blocks](unsigned trips) {
                                   return gpu_.time("atomics", {blocks, 256, 0}, {trips, words_, spread, clocks_});
                                 }));
    list.push_back(std::move(e));
  }
}

void GpuCeilings::add_host(std::vector<Experiment>& list) {
  // Host memory limits this too: twice this size is page-locked.
  const std::size_t bytes = std::min(std::size_t{256} << 20, std::bit_floor(gpu_.free_bytes() / 8));
  struct Row {
    const char *id, *op;
    bool to_device, to_host;
  };
  for (const Row& row : {Row{"pcie.to_device", "write", true, false}, Row{"pcie.to_host", "read", false, true},
                         Row{"pcie.both", "copy", true, true}}) {
    Experiment e = start(bandwidth("pcie", row.op));
    e.ceiling.id = row.id;
    e.ceiling.data = "";
    e.ceiling.units.reset();
    struct Memory {
      GpuBuffer device;
      void *from = nullptr, *to = nullptr;
    };
    auto memory = std::make_shared<Memory>();
    e.prepare = [this, memory, bytes] {
      memory->device = GpuBuffer(gpu_, 2 * bytes);
      gpu_.fill(memory->device.get(), 1, 2 * bytes / 4);
      memory->from = gpu_.allocate_host(bytes);
      memory->to = gpu_.allocate_host(bytes);
      std::memset(memory->from, 1, bytes);
      std::memset(memory->to, 2, bytes);
    };
    e.release = [this, memory] {
      gpu_.release_host(std::exchange(memory->from, nullptr));
      gpu_.release_host(std::exchange(memory->to, nullptr));
      memory->device = GpuBuffer();
    };
    e.candidates.push_back(
        {"copy engine", {{"bytes", static_cast<std::int64_t>(bytes)}}, [this, memory, row, bytes](double) {
           const double took =
               gpu_.time_copies(memory->device.get(), row.to_device ? memory->from : nullptr,
                                row.to_host ? memory->to : nullptr, memory->device.get() + bytes, bytes);
           return Sample{.rate = static_cast<double>(bytes) * (row.to_device + row.to_host) / took, .seconds = took};
         }});
    // The SMs can also copy: page-locked memory has the same address on the device.
    if (row.to_device != row.to_host)
      e.candidates.push_back(
          {"hbm_copy", {{"bytes", static_cast<std::int64_t>(bytes)}}, [this, memory, row, bytes](double) {
             const auto address = [](void* host) {
               return static_cast<DevicePointer>(reinterpret_cast<std::uintptr_t>(host));
             };
             const std::size_t tile = std::size_t{4} * 512, vectors = bytes / 16 / tile * tile;
             const DevicePointer to = row.to_device ? memory->device.get() : address(memory->to);
             const DevicePointer from = row.to_device ? address(memory->from) : memory->device.get() + bytes;
             const double took = gpu_.time("hbm_copy", {static_cast<unsigned>(vectors / tile), 512, 0},
                                           {1U, to, from, vectors, 1U, clocks_});
             return Sample{.rate = 16.0 * static_cast<double>(vectors) / took, .seconds = took};
           }});
    e.verify = [this, memory, bytes] {
      // To the device and back.
      gpu_.time_copies(memory->device.get(), memory->from, nullptr, 0, bytes);
      gpu_.time_copies(0, nullptr, memory->to, memory->device.get(), bytes);
      const bool same = std::memcmp(memory->from, memory->to, bytes) == 0;
      return Verdict{same, same ? "" : "what came back from the device differs from what went there"};
    };
    list.push_back(std::move(e));
  }
  for (const bool wait : {false, true}) {
    const std::string name = wait ? "sync" : "launch";
    Experiment e =
        start({.id = name, .kind = CeilingKind::Latency, .mode = CeilingMode::Sustained, .level = name, .unit = "s"});
    e.ceiling.units.reset();
    const int launches = wait ? 100 : 1000;
    e.candidates.push_back({"empty", {{"launches", std::int64_t{launches}}}, [this, wait, launches](double) {
                              gpu_.synchronize();
                              const double from = steady_seconds();
                              for (int i = 0; i < launches; ++i) {
                                gpu_.launch("empty", {1, 32, 0}, {});
                                if (wait) gpu_.synchronize();
                              }
                              gpu_.synchronize();
                              const double took = steady_seconds() - from;
                              return Sample{.rate = took / launches, .seconds = took};
                            }});
    list.push_back(std::move(e));
  }
}

}  // namespace pagoda::tools::ceilings
