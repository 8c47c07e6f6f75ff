// Recognition, engine names, power tables, and input damaged in every way.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "import/engine_names.h"
#include "import/import_data.h"
#include "pagoda/base/csv_reader.h"
#include "pagoda/base/printed_number.h"
#include "support/json_schema.h"

namespace pagoda::measured {

using Names = std::vector<std::string>;

namespace {
constexpr const char* kFiles[] = {
    "ort_resnet50_all.json",  "tensorrt_profile.json", "ncu_raw.csv",       "ncu_long.csv",
    "torch_cpu.json",         "kineto_gpu.json",       "jetson.csv",        "rocprofv3_trace.csv",
    "rocprofv3_counters.csv", "rocprof_compute.csv",   "nsys_gpu_trace.csv"};

// The table in another dialect: numbers have decimal commas, and points between groups.
std::string in_german(const std::string& text, char separator, std::string_view line_end) {
  base::CsvReader reader(text, "data");
  std::vector<std::string> cells;
  std::string result;
  while (reader.next(cells)) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::string cell = cells[i];
      const bool is_version = cell == "8.0" || cell == "9.0";  // ncu's compute capability, the same in all locales
      if (base::printed(cell).with_point && !is_version)
        for (char& c : cell) c = c == '.' ? ',' : c == ',' ? '.' : c;
      const bool needs_quotes = cell.find_first_of("\",;\t") != std::string::npos;
      std::string quoted;
      for (const char c : cell) quoted.append(c == '"' ? 2 : 1, c);
      result += (i == 0 ? "" : std::string(1, separator)) + (needs_quotes ? "\"" + quoted + "\"" : cell);
    }
    result += line_end;
  }
  return result;
}
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
      {"\x1F\x8B\x08", "is compressed by gzip"},
      {std::string("\xFF\xFEI\0", 4), "is text; expected a profile of"},
      {"NVR\0", "ncu --import"},
      {"hello", "is text; expected a profile of"},
      {"{\"a\":1}", "is JSON of no known kind; expected a profile of"},
      {"[]", "is JSON of no known kind; expected a profile of"},
  };
  for (const auto& [text, says] : rows) {
    const std::string error = test::import_error(text);
    CHECK_MESSAGE(error.find(says) != std::string::npos, error);
  }
  CHECK_THROWS_AS(measured::load_profile("/nonexistent"), Error);
  CHECK_THROWS_AS(measured::load_profile("/tmp"), Error);
  CHECK(!measured::profile_format("perf"));
}

TEST_CASE("every format has a name, is in the message of a refused file, and is documented") {
  const std::string page = test::read_file(test::source_path("docs/measured.md"));
  const std::string header = test::read_file(test::source_path("lib/measured/include/pagoda/measured/import.h"));
  const Names names = profile_formats();
  CHECK(std::set(names.begin(), names.end()) ==
        std::set<std::string>{"ort", "tensorrt", "ncu", "kineto", "jetson", "measured", "rocprof", "nsys"});
  for (const std::string& name : names) {
    INFO(name);
    CHECK(to_string(*measured::profile_format(name)) == name);
    CHECK(page.find("| `" + name + "` |") != std::string::npos);
    CHECK(header.find("// | " + name + ' ') != std::string::npos);
  }
  CHECK(known_profiles().starts_with("a profile of ONNX Runtime, TensorRT (trtexec --exportProfile), Nsight Compute"));
  CHECK(known_profiles().ends_with(", a power-mode table, or pagoda.measured/1"));
}

TEST_CASE("an option that does not apply to a format is refused with the formats that take it") {
  const std::pair<const char*, const char*> rows[] = {
      {"jetson.csv", "`layers` needs a profile of TensorRT (tensorrt)"},
      {"jetson.csv", "`chip` needs metrics of Nsight Compute (ncu)"},
      {"jetson.csv", "`runs` needs a file that does not say how often the model ran (ncu, kineto, rocprof, nsys)"},
      {"tensorrt_profile.json",
       "`warmup` needs a file with several runs of the model (ort, ncu, kineto, rocprof, nsys)"},
  };
  const ImportOptions options[] = {{.layer_info = "layers.json"}, {.chip = "GH100"}, {.runs = 2}, {.warmup = 1}};
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    const std::string error = test::import_error(test::data(rows[i].first), options[i]);
    CHECK_MESSAGE(error.find(rows[i].second) != std::string::npos, error);
  }
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
  CHECK(import::name_parts("a + b [profile 1]") == Names{"a", "b"});
  CHECK(import::name_parts("{ForeignNode[a...c]} [profile 12]") == Names{"{ForeignNode[a...c]}"});
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
      {"myelin-exec:/attn/MatMul", "/attn/MatMul"},
      {"/relu/Relu_output_0_DequantizeLinear/duplicated", "/relu/Relu_output_0_DequantizeLinear"},
      {"norm.weight_clone_2", "norm.weight"},
      {"node_of_logits", "logits"},
      {"QuantizeLinear_8_quantize_scale_node", "QuantizeLinear_8"},
      {"shape_336[Constant]", "shape_336"},
      {"/a/Add [myelin]", "/a/Add"},
      {"/a/Add [profile 1]", "/a/Add"},
      {"/a/Add_castOut", "/a/Add"},
  };
  for (const auto& [name, inner] : rows) CHECK(import::undecorated(name) == inner);
  for (const char* name : {"/model/Add_1", "Conv", "", "_", "Fusion", "token_", "x[0]", "x[]", "[Constant]"})
    CHECK_MESSAGE(!import::undecorated(name), name);
  CHECK(import::myelin_spelling("/m.0/attn-1/MatMul") == "/m_0/attn_1/MatMul");
}

TEST_CASE("causes of kernels without a row, by their names") {
  struct Case {
    const char *name, *op_type, *cause;
  };
  const Case cases[] = {
      {"Reformatting CopyNode for Input Tensor 0 to {ForeignNode[a...b]}", "", "change of layout"},
      {"shuffle_between_(Unnamed Layer* 6) [Shuffle]_output_and_fc", "", "change of layout"},
      {"copied_squeeze_after_add_3", "", "change of layout"},
      {"ReorderInput_token_4", "ReorderInput", "change of layout"},
      {"/model.8/Split_output_0 copy", "Reformat", "copy on the device"},
      {"[HostToDeviceCopy 3]", "", "copy to the device"},
      {"Memcpy_token_3", "MemcpyToHost", "copy to the host"},
      {"InsertedPrecisionFreeCast_x", "Cast", "change of type"},
      {"exit^bb^signal^1_myl0_7", "", "synchronisation"},
      {"(Unnamed Layer* 4) [Shuffle]", "", "no name"},
      {"", "", "no name"},
      {"__myl_MulMaxSubExpSum_myl109_3", "kgen", "a name that the engine generated"},
      {"__mye1041_0_myl0_0", "", "a name that the engine generated"},
      {"_gemm_mha_v2_myl0_172", "kgen", "a name that the engine generated"},
      {"Gather_token_5", "Gather", "a name that the engine generated"},
      {"aten::add", "aten::add_", "no row of that name"},
      {"autograd::engine::evaluate_function: MulBackward0", "autograd::engine::evaluate_function: MulBackward0",
       "backward pass"},
      {"vectorized_elementwise_kernel", "autograd::engine::evaluate_function: MulBackward0", "backward pass"},
      {"Torch-Compiled Region: 0.0 (fused loops)", "Torch-Compiled Region: 0.0 (fused loops)",
       "fused by torch.compile"},
      {"triton_poi_fused_add_relu_0", "triton_poi_fused_add_relu_0", "fused by torch.compile"},
      {"TorchDynamo Cache Lookup", "TorchDynamo Cache Lookup", "overhead of torch.compile"},
      {"Gather_5", "Gather", "no row of that name"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.name));
    CHECK(import::cause_of_no_row(c.name, c.op_type) == c.cause);
  }
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

TEST_CASE("a power table says what its numbers are in") {
  const auto table = [](const std::string& time, const std::string& power, const std::string& batch) {
    return "cores,cpu,gpu,mem," + time + ",bs," + power + "\n12,2201600,1300500000,3199000000,10," + batch + ",20\n";
  };
  const std::string ms = "observed_time(ms/batch)", watts = "observed_power(W)";
  struct Case {
    const char* reason;
    std::string text, refusal;
    double seconds;
  };
  const Case cases[] = {
      {"as published", table(ms, watts, "4"), "", 0.01},
      {"of the batch in the row", table("observed_time(ms)", watts, "4"), "", 0.01},
      {"per image", table("observed_time(ms/image)", watts, "4"), "", 0.04},
      {"half a batch", table(ms, watts, "1.5"), "column \"bs\": found 1.5, expected a whole number", 0},
      {"no unit of time", table("observed_time", watts, "4"),
       "column \"observed_time\" has no unit; expected observed_time(ms/batch)", 0},
      {"no unit of power", table(ms, "observed_power", "4"),
       "column \"observed_power\" has no unit; expected observed_power(W)", 0},
      {"per what?", table("observed_time(ms/epoch)", watts, "4"),
       "column \"observed_time(ms/epoch)\" is in a unit that is not known; expected observed_time(ms/batch)", 0},
      {"power per what?", table(ms, "observed_power(W/core)", "4"), "is in a unit that is not known", 0},
  };
  for (const Case& each : cases) {
    CAPTURE(each.reason);
    const std::string error = test::import_error(each.text);
    CHECK_MESSAGE(error.find(each.refusal) != std::string::npos, error);
    CHECK(error.empty() == each.refusal.empty());
    if (!error.empty()) continue;
    const documents::Measured measured = import_profile(each.text, "t");
    CHECK(*measured.runs[0].seconds == doctest::Approx(each.seconds));
    CHECK(measured.notes.size() == (each.seconds > 0.01 ? 1 : 0));
  }
}

TEST_CASE("tables of profilers are the same in each dialect") {
  for (const char* name : {"ncu_raw.csv", "ncu_long.csv", "nsys_gpu_trace.csv", "rocprofv3_trace.csv",
                           "rocprofv3_counters.csv", "rocprof_compute.csv", "jetson.csv"}) {
    const std::string text = test::data(name);
    const std::string expected = documents::write_measured(measured::import_profile(text, name));
    for (const char separator : {',', ';', '\t'})
      for (const std::string_view line_end : {"\n", "\r\n", "\r"}) {
        CAPTURE(std::string(name));
        CAPTURE(separator);
        const std::string other = in_german(text, separator, line_end);
        CHECK(documents::write_measured(measured::import_profile(other, name)) == expected);
      }
  }
}

}  // namespace pagoda::measured
