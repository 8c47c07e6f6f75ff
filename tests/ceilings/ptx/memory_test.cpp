// The kernels for memory, caches and atomics, executed from their PTX by the tool's own experiments:
// bytes moved equal bytes credited, every vector is touched as often as designed, and requests are as
// wide as the hardware serves without loss.
#include <doctest/doctest.h>

#include <cmath>

#include "bench.h"

namespace {

using namespace ptx;

void check_verdicts(const ceilings::Experiment& e) {
  for (const Order order : {Order::Forward, Order::Backward, Order::Random}) {
    driver().order = order;
    const ceilings::Verdict v = e.verify();
    CHECK_MESSAGE(v.right, v.detail);
  }
  driver().order = Order::Forward;
}

void check_stream(Bench& bench, const ceilings::Experiment& e, const ceilings::Candidate& candidate) {
  const std::string& op = e.ceiling.op;
  const bool three = op == "add" || op == "triad";
  const std::size_t arrays = op == "read" || op == "write" ? 1 : three ? 3 : 2;
  for (const unsigned passes : {1U, 2U}) {
    const auto done = bench.run(candidate, passes);
    REQUIRE(!done.launches.empty());
    const std::size_t vectors = done.launches[0].arguments.at(1 + arrays);
    double bytes = 0;
    for (std::size_t a = 1; a <= arrays; ++a) {
      const Traffic t = sum_of(done.launches, a);
      const bool written = a == 1 && op != "read";
      CAPTURE(a);
      CHECK(strays(written ? t.stores_of : t.loads_of, vectors, passes) == 0);
      CHECK((written ? t.loaded : t.stored) == 0);
      CHECK(32 * (t.load_pieces + t.store_pieces) == t.loaded + t.stored);
      bytes += static_cast<double>(t.loaded + t.stored);
    }
    CHECK(bytes == done.amount);
    // Nothing else is read; the only other writes are the clocks, and a word per warp in read kernels.
    for (const Work& w : done.launches) {
      std::uint64_t others = 0;
      for (const auto& [base, t] : w.global) {
        bool array = false;
        for (std::size_t a = 1; a <= arrays; ++a) array = array || base == w.arguments[a];
        if (!array) others += t.loaded + t.stored;
      }
      CHECK(others == 32 * std::min(w.blocks, 4096U));
    }
  }
}

}  // namespace

TEST_CASE("streams move the bytes that are credited, every vector once a pass") {
  if (capabilities("memory").empty()) std::exit(77);
  for (const int capability : capabilities("memory")) {
    CAPTURE(capability);
    Bench bench(capability, {"memory"}, {"dram"});
    auto list = bench.runs->experiments();
    CHECK(list.size() == 6);
    for (ceilings::Experiment& e : list) {
      CAPTURE(e.ceiling.id);
      e.prepare();
      check_verdicts(e);
      for (const ceilings::Candidate& candidate : e.candidates) {
        if (candidate.name != "cuMemcpyDtoDAsync") {
          check_stream(bench, e, candidate);
          continue;
        }
        const auto done = bench.run(candidate, 3);
        CHECK(done.launches.empty());
        CHECK(done.amount == 3 * 2.0 * static_cast<double>(std::get<std::int64_t>(candidate.config.at("array_bytes"))));
      }
      e.release();
    }
  }
}

TEST_CASE("arithmetic in a given proportion to traffic has that proportion") {
  for (const int capability : capabilities("memory"))
    for (const unsigned steps : {1U, 3U, 4U, 17U}) {
      CAPTURE(capability);
      CAPTURE(steps);
      Bench bench(capability, {"memory"}, {"none"});
      ceilings::Experiment e = bench.runs->intensity_experiment(steps);
      e.prepare();
      const auto done = bench.run(e.candidates.at(0), 2);
      const Traffic to = sum_of(done.launches, 1), from = sum_of(done.launches, 2);
      const std::size_t vectors = done.launches[0].arguments.at(3);
      CHECK(strays(to.stores_of, vectors, 2) == 0);
      CHECK(strays(from.loads_of, vectors, 2) == 0);
      CHECK(static_cast<double>(to.stored + from.loaded) == done.amount);
      double fmas = 0;
      for (const Work& w : done.launches) fmas += static_cast<double>(w.lanes.at("fma.rn.f32"));
      CHECK(2 * fmas == 8.0 * steps * done.amount / 32);
      e.release();
    }
}

TEST_CASE("caches and shared memory are asked for the bytes that are credited, without conflicts") {
  for (const int capability : capabilities("memory")) {
    CAPTURE(capability);
    Bench bench(capability, {"memory"}, {"l1.", "l2.", "shared"});
    auto list = bench.runs->experiments();
    CHECK(list.size() == 5);
    for (ceilings::Experiment& e : list) {
      CAPTURE(e.ceiling.id);
      e.prepare();
      check_verdicts(e);
      const ceilings::Candidate& candidate = e.candidates.at(0);
      const unsigned trips = 3;
      const auto done = bench.run(candidate, trips);
      REQUIRE(done.launches.size() == 1);
      const Work& w = done.launches[0];
      CHECK(done.clock_hz == doctest::Approx(1.5e9));
      const bool writes = e.ceiling.op == "write";
      if (e.ceiling.level == "shared") {
        const Traffic& t = w.shared;
        CHECK(static_cast<double>(writes ? t.stored : t.loaded) == done.amount);
        CHECK(128 * (writes ? t.store_pieces : t.load_pieces) == (writes ? t.stored : t.loaded));
        CHECK(strays(writes ? t.stores_of : t.loads_of, 2048, trips * w.blocks) == 0);
      } else {
        const Traffic t = sum_of(done.launches, 1);
        CHECK(static_cast<double>(writes ? t.stored : t.loaded) == done.amount);
        CHECK((writes ? t.loaded : t.stored) == 0);
        CHECK(32 * (t.load_pieces + t.store_pieces) == t.loaded + t.stored);
        if (e.ceiling.level == "l1") {
          CHECK(strays(t.loads_of, std::size_t{2048} * w.blocks, trips) == 0);
        } else {
          // No vector is asked for twice at a time; a block comes back to its own.
          for (const ceilings::Candidate& shape : e.candidates) {
            const auto once = bench.run(shape, 1), often = bench.run(shape, 4);
            const std::size_t n = once.launches[0].arguments.at(2),
                              at_a_time = std::size_t{8} * once.launches[0].threads * once.launches[0].blocks;
            const auto touched = [&](const auto& run) {
              const Traffic sum = sum_of(run.launches, 1);
              return writes ? sum.stores_of : sum.loads_of;
            };
            CHECK(strays(touched(once), at_a_time, 1) == 0);
            CHECK(strays(touched(often), n, static_cast<unsigned>(4 * at_a_time / n)) == 0);
          }
        }
      }
      e.release();
    }
  }
}

TEST_CASE("the conflict control has twice the rounds over the banks") {
  for (const int capability : capabilities("memory")) {
    Bench bench(capability, {"memory"}, {"shared.read"});
    for (const auto& [stride, rounds] : {std::pair{1U, 4U}, {2U, 8U}, {4U, 16U}}) {
      driver().launches.clear();
      driver().keeps = true;
      ceilings::GpuBuffer out(bench.gpu, 4 * 8192), clocks(bench.gpu, 32);
      ceilings::Arguments arguments;
      arguments.add(5U).add(stride).add(out.get()).add(clocks.get());
      bench.gpu.launch("shared_read", {1, 256, 32768}, arguments);
      const Traffic& t = driver().launches.at(0).shared;
      CHECK(t.load_pieces == t.loaded / 512 * rounds);
    }
  }
}

TEST_CASE("atomics, copies over the link and launches are those that are credited") {
  for (const int capability : capabilities("memory")) {
    CAPTURE(capability);
    Bench bench(capability, {"memory", "vector"}, {"atomics", "pcie", "launch", "sync"});
    for (ceilings::Experiment& e : bench.runs->experiments()) {
      CAPTURE(e.ceiling.id);
      if (e.prepare) e.prepare();
      if (e.verify) check_verdicts(e);
      for (const ceilings::Candidate& candidate : e.candidates) {
        const auto done = bench.run(candidate, 3);
        if (candidate.name == "atomics") {
          const Traffic t = sum_of(done.launches, 1);
          CHECK(static_cast<double>(t.atomics) / 4 == done.amount);
          CHECK(t.loaded + t.stored == 0);
        } else if (candidate.name == "hbm_copy") {
          const Traffic to = sum_of(done.launches, 1), from = sum_of(done.launches, 2);
          CHECK(static_cast<double>(to.stored) == done.amount);
          CHECK(static_cast<double>(from.loaded) == done.amount);
          // Every vector once; both arrays may be part of a larger allocation.
          CHECK(16 * static_cast<double>(std::count(to.stores_of.begin(), to.stores_of.end(), 1U)) == done.amount);
          CHECK(16 * static_cast<double>(std::count(from.loads_of.begin(), from.loads_of.end(), 1U)) == done.amount);
        } else if (candidate.name == "empty") {
          CHECK(static_cast<std::int64_t>(done.launches.size()) ==
                std::get<std::int64_t>(candidate.config.at("launches")));
          for (const Work& w : done.launches) CHECK(w.lanes == std::map<std::string, std::uint64_t>{{"ret", 32}});
        }
      }
      if (e.release) e.release();
    }
  }
}

TEST_CASE("blocks beyond those that leave clocks write none") {
  if (capabilities("memory").empty()) return;
  Bench bench(capabilities("memory").back(), {"memory", "vector"}, {"none"});
  const unsigned blocks = ceilings::kMostRecords + 1;
  const std::size_t vectors = std::size_t{4} * 32 * blocks;
  ceilings::GpuBuffer to(bench.gpu, 16 * vectors), from(bench.gpu, 16 * vectors),
      clocks(bench.gpu, 32 * ceilings::kMostRecords);
  bench.gpu.fill(from.get(), 1, 4 * vectors);
  ceilings::Arguments arguments;
  arguments.add(1U).add(to.get()).add(from.get()).add(vectors).add(1U).add(clocks.get());
  bench.gpu.launch("hbm_copy", {blocks, 32, 0}, arguments);  // one more record would be a fault
  std::vector<kernels::Clocks> records(ceilings::kMostRecords);
  bench.gpu.read(records.data(), clocks.get(), 32 * records.size());
  for (const auto& r : records) REQUIRE(r.cycles[1] - r.cycles[0] == 1500000);
  ceilings::Arguments wait;
  wait.add(4'000'000ULL);
  driver().keeps = true;
  bench.gpu.launch("spin", {2, 32, 0}, wait);
  CHECK(driver().launches.at(0).lanes.at("sub.s64") == 2 * 32 * 3);  // clocks advance by 1.5 million per read
}

TEST_CASE("a kernel that is not quite right is found") {
  struct Row {
    const char *id, *kernel, *from, *to;
    const char *message, *why;
    int nth = 0;
  };
  const Row rows[] = {
      {"dram.copy", "hbm_copy", "st.global.cs.v4.u32", "//", "must be", "a store is missing"},
      {"dram.read", "hbm_read", "ld.global.cs.v4.u32", "//", "never written", "a load is missing"},
      {"dram.read", "hbm_read_bulk", "mbarrier.try_wait", "mov.pred done, -1; //", "never written",
       "nobody waits for a piece"},
      {"dram.read", "hbm_read_bulk", "bar.sync", "//", "no barrier between", "the next piece comes while one is read",
       2},
      {"dram.triad", "hbm_triad", "fma.rn.f32", "//", "never written", "an FMA is missing"},
      {"l1.read", "l1_read", ", 4096;", ", 8192;", "must make", "a load is made twice, another not at all", 1},
      {"l2.read", "l2_read", "ld.global.cg", "ld.global.ca", "",
       "another cache keeps it: no other value, a control of this test"},
      {"shared.read", "shared_read", "+4096]", "+8192]", "never written", "a store goes elsewhere"},
      {"shared.read", "shared_read", "bar.sync", "//", "never written",
       "a barrier is missing, and the first warp reads what others have yet to write"},
      {"shared.write", "shared_write", ", 4096;", ", 8192;", "never written", "a place is left out", 1},
      {"atomics.spread", "atomics", "red.global.add.u32", "//", "must be", "an addition is missing"},
  };
  for (const int capability : capabilities("memory"))
    for (const Row& row : rows) {
      CAPTURE(row.why);
      // Bulk copies exist from Hopper on.
      if (text_of("memory", capability).find("entry " + std::string(row.kernel) + "(") == std::string::npos) continue;
      const std::string said = said_of(capability, "memory", row.id,
                                       [&](std::string& t) { change(t, row.kernel, row.from, row.to, row.nth); });
      CAPTURE(said);
      CHECK((*row.message ? said.find(row.message) != std::string::npos : said.empty()));
    }
}
