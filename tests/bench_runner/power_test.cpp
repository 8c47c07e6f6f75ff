// Power that a machine reports about itself: package counters, rails of Jetson modules. The trees and lines are written
// by hand after the kernel's hwmon interface and tegrastats' documentation; none comes from a board.
#include "power.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

#include "pagoda/documents/result.h"
#include "support/files.h"
#include "support/workshop.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;
using namespace tools;

struct Jetson : test::Workshop {
  void file(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    base::write_file(path(name), text + "\n");
  }
  void channel(int monitor, int number, const std::string& label, int millivolts, int milliamperes) const {
    const std::string at = "sys/class/hwmon/hwmon" + std::to_string(monitor) + "/", n = std::to_string(number);
    file(at + "name", "ina3221");
    file(at + "in" + n + "_label", label);
    file(at + "in" + n + "_input", std::to_string(millivolts));
    file(at + "curr" + n + "_input", std::to_string(milliamperes));
  }
  // 12 W, 4 W and 5 W; the memory's 2 W are part of the 5 W.
  void agx_orin() const {
    channel(3, 1, "VDD_GPU_SOC", 20000, 600);
    channel(3, 2, "VDD_CPU_CV", 20000, 200);
    channel(3, 3, "VIN_SYS_5V0", 5000, 1000);
    file("sys/class/hwmon/hwmon3/in7_label", "sum of shunt voltages");
    file("sys/class/hwmon/hwmon3/in7_input", "760");
    channel(4, 1, "NC", 0, 0);
    channel(4, 2, "VDDQ_VDD2_1V8AO", 5000, 400);
    file("sys/class/hwmon/hwmon0/name", "tmp451");
    file("sys/class/hwmon/hwmon0/in1_label", "VDD_IN");
  }
  void tegrastats(const std::string& line) const {
    file("usr/bin/tegrastats", "#!/bin/sh\nwhile echo '" + line + "'; do sleep 0.05; done");
    fs::permissions(path("usr/bin/tegrastats"), fs::perms::all);
  }
};

std::string text(const std::vector<Rail>& rails) {
  std::string all;
  for (const Rail& rail : rails) all += rail.name + " " + std::to_string(std::lround(1e3 * rail.watts)) + "; ";
  return all;
}

void wait_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

TEST_CASE("power that rises in a line is integrated exactly, and not at all where samples are missing") {
  // 100 W at 0 s, rising by 10 W/s: ∫ from a to b = 100 (b − a) + 5 (b² − a²).
  std::vector<PowerSample> line;
  for (int i = 0; i <= 100; ++i) line.push_back({.seconds = 0.1 * i, .watts = 100.0 + i});
  CHECK(*trapezoid(line, 0, 10) == doctest::Approx(1500));
  CHECK(*trapezoid(line, 2.03, 7.77) == doctest::Approx(100 * 5.74 + 5 * (7.77 * 7.77 - 2.03 * 2.03)));
  CHECK(*trapezoid(line, 3.01, 3.02) == doctest::Approx(1.30150));  // within one step
  CHECK(*trapezoid(line, -0.1, 1) == doctest::Approx(10 + 105));    // the first sample also holds shortly before it
  CHECK_FALSE(trapezoid(line, -1, 1));
  CHECK_FALSE(trapezoid(line, 5, 11));
  CHECK_FALSE(trapezoid({}, 0, 1));
  std::vector<PowerSample> gap = line, silent = line;
  gap.erase(gap.begin() + 40, gap.begin() + 50);
  silent[40].watts = std::nan("");
  CHECK_FALSE(trapezoid(gap, 0, 10));
  CHECK(trapezoid(gap, 6, 9));
  CHECK_FALSE(trapezoid(silent, 0, 10));
  CHECK(trapezoid(silent, 6, 9));
}

TEST_CASE("energy counters of packages are summed, and their wraps undone") {
  const Jetson shop;
  const auto zone = [&](const std::string& name, const std::string& label, const std::string& microjoules) {
    const std::string at = "sys/class/powercap/" + name;
    shop.file(at + "/name", label);
    shop.file(at + "/energy_uj", microjoules);
    shop.file(at + "/max_energy_range_uj", "1000000000");
  };
  zone("intel-rapl:0", "package-0", "999000000");
  zone("intel-rapl:1", "package-1", "5000000");
  zone("intel-rapl:2", "psys", "7");
  zone("intel-rapl:0:0", "core", "1");
  Rapl rapl(shop.folder);
  REQUIRE(rapl.available());
  CHECK(rapl.joules() == 0);
  zone("intel-rapl:0", "package-0", "1000000");  // 2 J later, after wrapping around
  zone("intel-rapl:1", "package-1", "8000000");
  zone("intel-rapl:2", "psys", "900000000");
  CHECK(rapl.joules() == doctest::Approx(5));
  CHECK(!Rapl(shop.path("nowhere")).available());
}

TEST_CASE("tegrastats' lines have a power for each rail, and nothing else is taken for one") {
  struct Case {
    const char* line;
    const char* rails;
  };
  // clang-format off
  const Case cases[] = {
      {"07-21-2026 10:11:12 RAM 13983/62780MB (lfb 424x4MB) SWAP 126/31390MB (cached 0MB) CPU [90%@2201,1%@2201] EMC_FREQ 1%@2133 "
       "GR3D_FREQ 14%@[407,407] VIC_FREQ 115 APE 174 CPU@77.281C tj@77.281C VDD_GPU_SOC 3150mW/2971mW VDD_CPU_CV 14312mW/12415mW "
       "VIN_SYS_5V0 4968mW/5048mW NC 0mW/0mW VDDQ_VDD2_1V8AO 1091mW/1091mW NC 0mW/0mW",
       "VDD_GPU_SOC 3150; VDD_CPU_CV 14312; VIN_SYS_5V0 4968; VDDQ_VDD2_1V8AO 1091; "},
      {"RAM 1923/3964MB (lfb 2x2MB) IRAM 0/252kB(lfb 252kB) CPU [5%@1224] GR3D_FREQ 0%@76 PLL@37C POM_5V_IN 1750/1628 POM_5V_GPU 0/0 POM_5V_CPU 366/406",
       "POM_5V_IN 1750; POM_5V_GPU 0; POM_5V_CPU 366; "},
      {"GPU 620/600 CPU 310/300 SOC 1241/1200 CV 0/0 VDDRQ 310/300 SYS5V 1480/1480", "GPU 620; CPU 310; SOC 1241; CV 0; VDDRQ 310; SYS5V 1480; "},
      {"VDD_IN 5081mW/5004mW VDD_CPU_GPU_CV 715mW/", "VDD_IN 5081; "},
      {"tegrastats: cannot open", ""},
      {"", ""},
  };
  // clang-format on
  for (const Case& c : cases) CHECK(text(parse_tegrastats(c.line)) == c.rails);
}

TEST_CASE("the rails of a board that add up are those that documentation says, and of another board none") {
  struct Case {
    std::vector<std::string> names, counted;
  };
  const Case cases[] = {
      {{"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0", "VDDQ_VDD2_1V8AO"}, {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"}},
      {{"VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"}, {"VDD_IN"}},
      {{"VDD_SYS_GPU", "VDD_SYS_SOC", "VDD_IN", "VDD_SYS_CPU", "VDD_SYS_DDR"}, {"VDD_IN"}},
      {{"POM_5V_IN", "POM_5V_GPU", "POM_5V_CPU"}, {"POM_5V_IN"}},
      {{"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"}, {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"}},
      {{"VDD_GPU", "VDD_CPU_SOC_MSS", "VIN_SYS_5V0", "VIN"}, {"VIN"}},
      {{"VDD_GPU", "VDD_CPU_SOC_MSS", "VIN_SYS_5V0"}, {}},
      {{"VDD_GPU_SOC", "VDD_CPU_CV"}, {}},
      {{}, {}},
  };
  for (const Case& c : cases) CHECK(rail_total(c.names).rails == c.counted);
}

TEST_CASE("hwmon's rails are sampled and integrated; the part of another rail is recorded and not added") {
  const Jetson shop;
  shop.agx_orin();
  CHECK(text(read_ina3221(SystemFiles(shop.folder))) ==
        "VDD_GPU_SOC 12000; VDD_CPU_CV 4000; VIN_SYS_5V0 5000; VDDQ_VDD2_1V8AO 2000; ");
  const RailTrace rails(shop.folder);
  REQUIRE(rails.available());
  CHECK(rails.total().board == "Jetson AGX Orin");
  CHECK(rails.source() == "power of the module (VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0, INA3221 by hwmon)");
  wait_seconds(0.3);
  const std::vector<PowerSample> total = rails.total_samples(), memory = rails.samples("VDDQ_VDD2_1V8AO");
  REQUIRE(total.size() > 2);
  const double first = total.front().seconds, last = total.back().seconds;
  CHECK(trapezoid(total, first, last).value_or(0) == doctest::Approx(21 * (last - first)));
  CHECK(trapezoid(memory, first, last).value_or(0) == doctest::Approx(2 * (last - first)));
  CHECK(rails.joules() >= doctest::Approx(21 * (last - first)));
  CHECK(rails.samples("VDD_IN").empty());
}

TEST_CASE("a counter of rails bridges one reading that fails") {
  const Jetson shop;
  shop.channel(1, 1, "VDD_IN", 5000, 2000);
  const RailTrace rails(shop.folder);
  wait_seconds(0.1);
  fs::remove(shop.path("sys/class/hwmon/hwmon1/curr1_input"));
  wait_seconds(0.06);
  shop.channel(1, 1, "VDD_IN", 5000, 2000);
  wait_seconds(0.1);
  const std::vector<PowerSample> samples = rails.total_samples();
  CHECK(std::any_of(samples.begin(), samples.end(), [](const PowerSample& s) { return std::isnan(s.watts); }));
  CHECK_FALSE(trapezoid(samples, samples.front().seconds, samples.back().seconds));
  CHECK((std::isnan(rails.joules()) || rails.joules() > 1));
}

TEST_CASE("tegrastats is asked where hwmon has no rails, or none that are known to add up") {
  const Jetson shop;
  CHECK_FALSE(RailTrace(shop.folder).available());
  shop.channel(1, 1, "VDD_GPU", 20000, 100);
  const RailTrace unknown(shop.folder);
  CHECK(unknown.available());
  CHECK(unknown.total().rails.empty());
  CHECK(unknown.source() == "none: no documentation says which rails of this board add up (VDD_GPU)");
  CHECK(unknown.total_samples().empty());
  shop.tegrastats("RAM 1/2MB VDD_GPU 2000mW/2000mW VIN 23000mW/22000mW");
  const RailTrace rails(shop.folder);
  REQUIRE(rails.available());
  CHECK(rails.names() == std::vector<std::string>{"VDD_GPU", "VIN"});
  CHECK(rails.source() == "power of module and carrier board (VIN, tegrastats)");
  wait_seconds(0.4);
  const std::vector<PowerSample> total = rails.total_samples();
  REQUIRE(total.size() > 2);
  const double seconds = total.back().seconds - total.front().seconds;
  CHECK(trapezoid(total, total.front().seconds, total.back().seconds).value_or(0) == doctest::Approx(23 * seconds));
  // If the program is not tegrastats, the rails of hwmon are used.
  shop.tegrastats("usage");
  CHECK(RailTrace(shop.folder).names() == std::vector<std::string>{"VDD_GPU"});
}

documents::Result run_on(const Jetson& shop) {
  const std::string command =
      "PAGODA_POWER_ROOT=. '" PAGODA_BENCH "' run --backend fake --worker 'fake=" PAGODA_FAKE_WORKER
      "' --set really=true --set latency=0.02 --half-width 0.5 --warmup 0.1 --budget 0.2 --no-resume -o out";
  REQUIRE(shop.shell(command).code == 0);
  const documents::Result result = documents::load_results(shop.path("out")).results.back();
  fs::remove_all(shop.path("out"));
  REQUIRE(result.status == documents::ResultStatus::Ok);
  return result;
}

TEST_CASE("convolutions have joules and watts of a pass, too") {
  const Jetson shop;
  shop.agx_orin();
  const auto ran = shop.shell("PAGODA_POWER_ROOT=. '" PAGODA_BENCH "' conv '" +
                              test::source_path("models/skeletons/conv_pw_160_960_7x7.onnx") +
                              "' --algorithm auto --runs 3 --check 16 --overall all.csv -o out");
  if (ran.code == 1) return;  // built without oneDNN
  REQUIRE(ran.code == 0);
  const documents::Result result = documents::load_results(shop.path("out")).results.back();
  REQUIRE(result.energy.joules);
  CHECK(*result.energy.watts == doctest::Approx(21));
  CHECK(*result.energy.samples > 10);
}

TEST_CASE("a record of a Jetson has joules of a run, how they were sampled, and each rail") {
  const Jetson shop;
  shop.agx_orin();
  const documents::RunEnergy energy = run_on(shop).energy;
  // 21 W for 20 ms is 0.42 J. On a busy machine a run takes longer than it says, never less.
  REQUIRE(energy.joules);
  CHECK(*energy.joules > 0.41);
  CHECK(*energy.joules < 1);
  CHECK(*energy.watts == doctest::Approx(21));
  CHECK(energy.source.starts_with(
      "trapezoid over sampled power of the module (VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0, "));
  // A window takes at least a second, whatever the budget.
  REQUIRE(energy.samples);
  CHECK(*energy.samples > 10);
  CHECK(*energy.period_seconds > 0.019);
  CHECK(static_cast<double>(*energy.samples) * *energy.period_seconds > 0.8);
  REQUIRE(energy.rails.size() == 4);
  const double watts[] = {12, 4, 5, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(*energy.rails[i].watts == doctest::Approx(watts[i]));
    CHECK(energy.rails[i].is_counted == (i < 3));
  }
}

TEST_CASE("rails whose sum nobody documents are in the record, without joules and with the reason") {
  const Jetson shop;
  shop.channel(1, 1, "VDD_GPU", 20000, 100);
  const documents::RunEnergy energy = run_on(shop).energy;
  CHECK_FALSE(energy.joules);
  CHECK_FALSE(energy.watts);
  CHECK(energy.source.starts_with("none: no documentation says"));
  REQUIRE(energy.rails.size() == 1);
  CHECK(*energy.rails[0].watts == doctest::Approx(2));
  CHECK_FALSE(energy.rails[0].is_counted);
}

}  // namespace
}  // namespace pagoda
