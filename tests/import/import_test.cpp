// Recognition, engine names, power tables, and input damaged in every way.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "import/engine_names.h"
#include "import/import_data.h"
#include "support/json_schema.h"

namespace pagoda::measured {

using Names = std::vector<std::string>;

namespace {
constexpr const char* kFiles[] = {
    "ort_resnet50_all.json",  "tensorrt_profile.json", "ncu_raw.csv",       "ncu_long.csv",
    "torch_cpu.json",         "kineto_gpu.json",       "jetson.csv",        "rocprofv3_trace.csv",
    "rocprofv3_counters.csv", "rocprof_compute.csv",   "nsys_gpu_trace.csv"};
}  // namespace

TEST_CASE("formats are recognised by content, and every import fits the schema") {
  const measured::ProfileFormat formats[] = {
      measured::ProfileFormat::OnnxRuntime, measured::ProfileFormat::TensorRt, measured::ProfileFormat::Ncu,
      measured::ProfileFormat::Ncu,         measured::ProfileFormat::Kineto,   measured::ProfileFormat::Kineto,
      measured::ProfileFormat::Jetson,      measured::ProfileFormat::Rocprof,  measured::ProfileFormat::Rocprof,
      measured::ProfileFormat::Rocprof,     measured::ProfileFormat::Nsys};
  for (std::size_t i = 0; i < std::size(kFiles); ++i) {
    INFO(kFiles[i]);
    const std::string text = test::data(kFiles[i]);
    CHECK(recognise_profile(text) == formats[i]);
    const std::string json = documents::write_measured(measured::import_profile(text, kFiles[i]));
    test::check_schema(json, "measured");
    CHECK(documents::write_measured(documents::parse_measured(json, "m")) == json);
  }
}

TEST_CASE("what is not a profile is refused with the remedy") {
  const std::pair<std::string, const char*> rows[] = {
      {"", "is empty"},
      {"\x1F\x8B\x08", "gzip -d"},
      {std::string("\xFF\xFEI\0", 4), "iconv"},
      {"NVR\0", "ncu --import"},
      {"hello", "in no known format"},
      {"{\"a\":1}", "in no known format"},
      {"[]", "in no known format"},
  };
  for (const auto& [text, says] : rows) {
    const std::string error = test::import_error(text);
    CHECK_MESSAGE(error.find(says) != std::string::npos, error);
  }
  CHECK_THROWS_AS(measured::load_profile("/nonexistent"), Error);
  CHECK_THROWS_AS(measured::load_profile("/tmp"), Error);
  for (const auto* name : {"ort", "tensorrt", "ncu", "kineto", "jetson", "measured", "rocprof", "nsys"})
    CHECK(to_string(*measured::profile_format(name)) == name);
  CHECK(!measured::profile_format("perf"));
}

TEST_CASE("truncations and flipped bits give a measurement or an Error, never anything else") {
  std::mt19937 random(7);
  for (const char* file : kFiles) {
    INFO(file);
    const std::string text = test::data(file);
    const measured::ProfileFormat format = *recognise_profile(text);
    std::size_t refused = 0;
    const auto attempt = [&](const std::string& damaged) {
      try {
        documents::Measured measured = measured::import_profile(damaged, file, {.format = format});
        documents::parse_measured(documents::write_measured(measured), file);
      } catch (const Error& error) {
        CHECK(std::string(error.what()).find(file) == 0);
        ++refused;
      }
    };
    for (int i = 0; i < 60; ++i) attempt(text.substr(0, random() % text.size()));
    for (int i = 0; i < 120; ++i) {
      std::string damaged = text;
      for (int flips = 0; flips < 1 + i % 4; ++flips)
        damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
      attempt(damaged);
    }
    CHECK(refused > 0);
  }
}

TEST_CASE("parts of a layer's name") {
  CHECK(import::name_parts("a + PWN(b, c) || d + a") == Names{"a", "b", "c", "d"});
  CHECK(import::name_parts("PWN(PWN(s), m)") == Names{"s", "m"});
  CHECK(import::name_parts("(Unnamed Layer* 3) [Shuffle] + x") == Names{"x"});
  CHECK(import::name_parts("{ForeignNode[a + b...c]}") == Names{"{ForeignNode[a + b...c]}"});
  CHECK(import::name_parts("").empty());
  CHECK(import::name_parts(std::string(100000, '(')).size() == 1);
  const auto range = import::node_range("{ForeignNode[/a/b.../c]}");
  REQUIRE(range);
  CHECK(range->first == "/a/b");
  CHECK(range->second == "/c");
}

TEST_CASE("decorations of engines come off one by one") {
  const std::pair<const char*, const char*> rows[] = {
      {"/relu/Relu_output_0_nchwc", "/relu/Relu_output_0"},
      {"/q/MatMul/MatMulScaleFusion/", "/q/MatMul"},
      {"/q/MatMul/MatMulAddFusion", "/q/MatMul"},
      {"Conv_3_token_12", "Conv_3"},
      {"fused /conv", "/conv"},
      {"/attn/MatMul_myl109_2", "/attn/MatMul"},
  };
  for (const auto& [name, inner] : rows) CHECK(import::undecorated(name) == inner);
  for (const char* name : {"/model/Add_1", "Conv", "", "_", "Fusion", "token_"})
    CHECK_MESSAGE(!import::undecorated(name), name);
}

TEST_CASE("a power table: SI units, energy of a batch, and the bad sample marked") {
  const documents::Measured measured = measured::load_profile(test::data_path("jetson.csv"));
  REQUIRE(measured.runs.size() == 5);
  CHECK(measured.kernels.empty());
  CHECK(test::is_missing(measured, "kernels"));
  const documents::MeasuredRun& first = measured.runs[0];
  CHECK(first.config == base::Settings{{"batch", std::int64_t{1}},
                                       {"cores", std::int64_t{12}},
                                       {"cpu_hz", std::int64_t{2201600000}},
                                       {"gpu_hz", std::int64_t{1300500000}},
                                       {"mem_hz", std::int64_t{3199000000}}});
  CHECK(*first.seconds == doctest::Approx(0.01537));
  CHECK(*first.energy_joules == doctest::Approx(0.41345));
  for (std::size_t i = 0; i < 5; ++i) CHECK(measured.runs[i].note.empty() == (i != 3));
  CHECK(test::import_error("cores,cpu,gpu,mem,observed_time(ms/batch),bs,observed_power(W)\n1,2,3,4,x,1,1\n") ==
        "profile, line 2: \"x\" is not a positive number");
}

}  // namespace pagoda::measured
