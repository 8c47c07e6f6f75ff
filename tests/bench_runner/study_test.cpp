// Studies: which TOML is accepted, and what it expands to.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/core/model.h"
#include "pagoda/core/resize_inputs.h"
#include "pagoda/documents/result.h"
#include "pagoda/lab/axes.h"
#include "pagoda/lab/model_sizes.h"
#include "pagoda/lab/runner.h"
#include "pagoda/lab/study.h"
#include "pagoda/present/report.h"
#include "support/files.h"
#include "support/onnx_file.h"
#include "support/text_graph.h"

namespace pagoda::lab {
namespace {

std::vector<std::string> labels(const StudyPlan& plan) {
  std::vector<std::string> all;
  for (const documents::Experiment& experiment : plan.experiments)
    all.push_back(documents::config_label(experiment.config));
  return all;
}

std::string message(const std::string& toml) {
  return test::error_of([&] { expand(parse_study(toml, "s.toml")); });
}

struct ModelFile {
  ModelFile() { write("x:f32[N,3,8,8] -> y = Relu(x)"); }
  void write(const char* graph) const { base::write_file(path, test::onnx_bytes(test::graph(graph))); }
  ~ModelFile() { std::filesystem::remove(path); }
  std::string path =
      (std::filesystem::temp_directory_path() / ("pagoda_study_" + std::to_string(getpid()) + ".onnx")).string();
};

TEST_CASE("lists multiply, and axes that a backend lacks do not") {
  const ModelFile file;
  const Study study = parse_study(R"(
    batch = [1, 2, 4]
    [models]
    net = { onnx = ")" + file.path + R"(", named = "resnet18" }
    [[experiments]]
    model = "net"
    backend = ["ort", "torch"]
    optimization = ["disable", "all"]
  )",
                                  "s.toml");
  const StudyPlan plan = expand(study);
  CHECK(plan.unsupported.empty());
  CHECK(labels(plan) == std::vector<std::string>{
                            "net ort batch=1 device=cpu mode=inference optimization=disable",
                            "net ort batch=2 device=cpu mode=inference optimization=disable",
                            "net ort batch=4 device=cpu mode=inference optimization=disable",
                            "net ort batch=1 device=cpu mode=inference optimization=all",
                            "net ort batch=2 device=cpu mode=inference optimization=all",
                            "net ort batch=4 device=cpu mode=inference optimization=all",
                            "net torch batch=1 compile=eager device=cpu mode=inference",
                            "net torch batch=2 compile=eager device=cpu mode=inference",
                            "net torch batch=4 compile=eager device=cpu mode=inference",
                        });
}

TEST_CASE("what a backend cannot run is listed with the reason") {
  struct Case {
    const char* axes;
    const char* reason;
  };
  // clang-format off
  const Case cases[] = {
      {"model='resnet18'\nbackend='ort'", "\"resnet18\" is a name and ort runs ONNX files: give one by [models] or as a path"},
      {"model='resnet18'\nbackend='torch'\ndtype='int8'", "dtype \"int8\": no type; there are float32, float16 and bfloat16"},
      {"model='a'\nbackend='tvm'", "there is no backend \"tvm\"; known backends: ort, torch, jax, cmd, conv, and any defined in [backends]"},
      {"backend='cmd'", "the backend cmd needs a command"},
      {"model='/nowhere/m.onnx'\nbackend='ort'", "/nowhere/m.onnx: cannot be opened: No such file or directory"},
      {"model='https://example.org/m.onnx'\nbackend='ort'", "https://example.org/m.onnx: is a URL; download it first: curl -LO https://example.org/m.onnx"},
      {"model='nets/*'\nbackend='ort'", "nets/*: is a pattern that the shell did not expand; remove its quotes, check that files match it, or name them"},
      {"backend='torch'", "no model is named"},
  };
  // clang-format on
  for (const Case& c : cases) {
    const StudyPlan plan = expand(parse_study(c.axes, "s.toml"));
    CHECK(plan.experiments.empty());
    REQUIRE(plan.unsupported.size() == 1);
    CHECK(plan.unsupported[0].reason == c.reason);
  }
  const StudyPlan mixed =
      expand(parse_study("model='resnet18'\nbackend='torch'\ndevice=['cpu','tpu','cuda:1']", "s.toml"));
  CHECK(mixed.experiments.size() == 2);
  CHECK(mixed.unsupported.size() == 1);
}

TEST_CASE("a check of the caller can refuse what the table allows") {
  const Study study = parse_study("model='resnet18'\nbackend='torch'\nbatch=[1,2]", "s.toml");
  const StudyPlan plan = expand(study, [](const documents::Config& config) -> std::optional<std::string> {
    if (std::get<std::int64_t>(config.at("batch")) == 2) return "two is too many";
    return std::nullopt;
  });
  CHECK(plan.experiments.size() == 1);
  REQUIRE(plan.unsupported.size() == 1);
  CHECK(plan.unsupported[0].reason == "two is too many");
}

TEST_CASE("errors in a study name the line, what was found and what is expected") {
  struct Case {
    const char* toml;
    const char* expected;
  };
  // clang-format off
  const Case cases[] = {
      {"backend = ", "s.toml:1: no TOML: "},
      {"a = 0t1\xef\xbb\xbc", "s.toml:1: no TOML: "},
      {"repeats = 2\n[\x07limits]", "s.toml: no TOML: found a table's header or a key without a name"},
      {"backend='cmd'\nbtach=[1]", "s.toml:2: unknown key \"btach\"; did you mean \"batch\"?"},
      {"backend='cmd'\n[limits]\nsecond=1", "s.toml:3: [limits]: unknown key \"second\"; did you mean \"seconds\"?"},
      {"backend='cmd'\ncolour=[1]", "s.toml:2: unknown key \"colour\"; expected name, repeats"},
      {"backend='cmd'\nbatch=['x']", "s.toml:2: batch: found x, expected integers of at least 1, or ranges like 1,2,4..64"},
      {"backend='cmd'\ninput_size='64x'", "s.toml:2: input_size: found 64x, expected integers"},
      {"backend='cmd'\nbatch=[true]", "s.toml:2: batch: found true, expected an integer"},
      {"backend='cmd'\nbatch=[0]", "s.toml:2: batch: found 0, expected at least 1"},
      {"backend='cmd'\nbatch=[]", "s.toml:2: batch: found an empty list"},
      {"backend='cmd'\n[measure]\nbudget_seconds=-1", "s.toml:3: [measure]: budget_seconds: expected a number above 0"},
      {"backend='cmd'\n[limits]\nmemory='8 gigs'", "s.toml:3: [limits]: memory: '8 gigs' is not a number of bytes; expected a number and a unit such as 8GiB"},
      {"backend='cmd'\n[limits]\nseconds='5'", "seconds: '5' is not a time; expected a number and a unit such as 5ms"},
      {"backend='cmd'\n[limits]\nmemory='0'", "memory: expected a number above 0"},
      {"model='x'", "s.toml: an experiment has no backend; name one of ort"},
      {"backend='mine'\n[backends]\nmine={}", "[backends]: mine: command: expected a list"},
      {"backend='ort'\n[backends]\nort={command=['x']}", "ort: is a built-in backend"},
      {"backend='cmd'\n[options]\nseed=[1]", "options: \"seed\" has a meaning of its own"},
      {"backend='cmd'\nrepeats=0", "s.toml:2: repeats: expected an integer of at least 1"},
  };
  // clang-format on
  for (const Case& c : cases) {
    CAPTURE(c.toml);
    CHECK_MESSAGE(message(c.toml).find(c.expected) != std::string::npos, message(c.toml));
  }
}

TEST_CASE("limits and budgets take numbers, or texts with a unit") {
  const Study study = parse_study(
      "backend='cmd'\n[measure]\nbudget_seconds='500ms'\nwarmup_seconds=2\n[limits]\nseconds='5 min'\nmemory='8 gib'", "s");
  CHECK(study.measure.budget_seconds == 0.5);
  CHECK(study.measure.warmup_seconds == 2);
  CHECK(study.limits.seconds == 300);
  CHECK(study.limits.memory_bytes == std::int64_t{8} << 30);
}

TEST_CASE("the key is a hash of canonical JSON, and of everything but the path of the model") {
  const documents::Config config = {
      {"model", "net"}, {"batch", std::int64_t{2}}, {"backend", "ort"}, {"x", 0.5}, {"on", true}};
  CHECK(documents::canonical(config) == R"({"backend":"ort","batch":2,"model":"net","on":true,"x":0.5})");
  // printf '%s' '{"config":{…},"schema":"pagoda.result/1"}' | sha256sum
  CHECK(documents::config_key(config) == "41ff1011693df223a173957bb44f174c");
  documents::Config moved = config;
  moved["model_file"] = "/elsewhere/net.onnx";
  CHECK(documents::config_key(moved) == documents::config_key(config));
  for (const auto& [axis, value] : config) {
    documents::Config other = config;
    other[axis] = "different";
    CHECK(documents::config_key(other) != documents::config_key(config));
  }
  CHECK(documents::parse_config(documents::canonical(config), "config") == config);
  CHECK_THROWS_AS(documents::parse_config("[1]", "config"), Error);
  CHECK_THROWS_AS(documents::parse_config("{", "config"), Error);
}

TEST_CASE("a model is known by its content: the same bytes elsewhere have the same key, others have not") {
  const ModelFile file;
  const auto key_of = [](const std::string& path) {
    return expand(parse_study("model='" + path + "'\nbackend='ort'", "s.toml")).experiments.at(0).key;
  };
  const std::string before = key_of(file.path);
  const std::string folder = file.path + ".d";
  std::filesystem::create_directories(folder);
  const std::string copy = folder + "/" + std::filesystem::path(file.path).filename().string();
  std::filesystem::copy(file.path, copy);
  CHECK(key_of(copy) == before);
  file.write("x:f32[N,3,8,8] -> y = Sigmoid(x)");
  CHECK(key_of(file.path) != before);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a file that fixes the batch runs at its own, unless another is asked for") {
  const ModelFile file;
  const auto batch_of = [&](const char* graph, const std::string& more = "") {
    file.write(graph);
    const StudyPlan plan = expand(parse_study("model='" + file.path + "'\nbackend='ort'\n" + more, "s.toml"));
    return documents::number_of(plan.experiments.at(0).config, "batch");
  };
  CHECK(batch_of("x:f32[4,3,8,8] -> y = Relu(x)") == 4);
  CHECK(batch_of("x:f32[4,3,8,8] -> y = Relu(x)", "batch = 2") == 2);
  CHECK(batch_of("x:f32[4,3], z:f32[4,3] -> y = Add(x, z)") == 4);
  CHECK(batch_of("x:f32[4,3], z:f32[2,3] -> a = Relu(x); b = Relu(z)") == 4);  // as onnx-estimate --batch reads it
  CHECK(batch_of("x:f32[N,3,8,8] -> y = Relu(x)") == 1);
  CHECK(batch_of("x:f32[2,N,3] -> y = Relu(x)") == 1);
  // The channels of one image, which the weights fix.
  CHECK(batch_of("x:f32[3,8,8], axes:i64=[0], w:f32[2,3,1,1]=const -> u = Unsqueeze(x, axes); y = Conv(u, w)") == 1);
}

TEST_CASE("an ONNX file runs at the sizes that were asked for, or says which one is open") {
  struct Row {
    const char* graph;
    const char* axes;    // TOML
    const char* inputs;  // empty: refused
    const char* items;   // or the reason
  };
  constexpr const char* kImages = "x:f32[N,3,height,width], w:f32[4,3,3,3]=const -> y = Conv(x, w)";
  constexpr const char* kTokens = "ids:i64[batch,sequence], t:f32[9,4]=const -> y = Gather(t, ids)";
  constexpr const char* kFixed = "x:f32[1,3,8,8] -> y = Relu(x)";
  // A Reshape that states the batch; one that would fold it into the other axis in silence; one that follows it.
  constexpr const char* kBaked = "x:f32[1,8], s:i64=[1,2,4] -> r = Reshape(x, s); y = Relu(r)";
  constexpr const char* kFolding = "x:f32[1,8], s:i64=[1,-1] -> r = Reshape(x, s); y = Relu(r)";
  constexpr const char* kFollowing = "x:f32[1,8], s:i64=[-1,2,4] -> r = Reshape(x, s); y = Relu(r)";
  // clang-format off
  constexpr Row kRows[] = {
      {kImages,    "batch=4",                                    "", "open sizes: x is float32[4,3,height,width]; set them, for example `dims=height="},
      {kImages,    "batch=4\ninput_size=16",                     "x:float32[4,3,16,16]", "4"},
      {kImages,    "input_size='16x24'",                         "x:float32[1,3,16,24]", "1"},
      {kImages,    "batch=2\n[options]\nheight=16\nwidth=24",    "x:float32[2,3,16,24]", "2"},
      {kImages,    "[options]\nheight=16",                       "", "open sizes: x is float32[1,3,16,width]"},
      {kImages,    "[options]\nhight=16",                        "", "`dims=hight=16`: the model has no such dim; its dims are: N, height, width"},
      {kImages,    "[options]\n'input.x'='2x3x16x16'",           "x:float32[2,3,16,16]", "2"},
      {kImages,    "[options]\n'input.x'='2x3'",                 "", "`inputs=x` has 2 dims"},
      {kImages,    "[options]\n'input.z'='2x3'",                 "", "`inputs=z`: the model has no such input"},
      {kImages,    "[options]\n'input.x'='2,3'",                 "", "`inputs=x`: found \"2,3\", expected sizes like 1x3x224x224"},
      {kImages,    "batch=3\n[options]\n'input.x'='2x3x16x16'",  "", "dim N is given as"},
      {kTokens,    "batch=2",                                    "", "open sizes: ids is int64[2,sequence]; set them, for example `dims=sequence=128`"},
      {kTokens,    "sequence=7",                                 "ids:int64[1,7]", "1"},
      {kFixed,     "batch=4",                                    "x:float32[4,3,8,8]", "4"},
      {kFixed,     "input_size=16",                              "x:float32[1,3,16,16]", "1"},
      {"x:f32[N,C,8,8] -> y = Relu(x)", "input_size=16",         "", "open sizes: x is float32[1,C,8,8]"},
      {kTokens,    "sequence=7\ninput_size=16",                  "", "`input_size=16`: no input of the model is an image"},
      {"x:f32[N,C,8,8] -> y = Relu(x)", "input_size=16\n[options]\nC=3", "x:float32[1,3,16,16]", "1"},
      {kBaked,     "batch=4",                                    "", "the file fixes other sizes: at these, r does not run: "},
      {kFolding,   "batch=4",                                    "", "the file fixes other sizes: at these, r gives float32[1,32] in place of float32[4,8]"},
      {kFollowing, "batch=4",                                    "x:float32[4,8]", "4"},
      {"x:f32[5,2,3], w:f32[1,16,3]=const, r:f32[1,16,4]=const -> y, h, c = LSTM(x, w, r) {hidden_size=4}", "batch=6",
                                                                 "x:float32[5,6,3]", "6"},  // [sequence, batch, features]
      {"x:f32[] -> y = Relu(x)", "",                             "x:float32[]", ""},
      {"x:f32[] -> y = Relu(x)", "batch=2",                      "", "`batch=2`: no input has a batch dim"},
  };
  // clang-format on
  const ModelFile file;
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.graph));
    CAPTURE(std::string(row.axes));
    file.write(row.graph);
    const StudyPlan plan = expand(parse_study("model='" + file.path + "'\nbackend='ort'\n" + row.axes, "s.toml"));
    if (*row.inputs == '\0') {
      REQUIRE(plan.unsupported.size() == 1);
      CHECK_MESSAGE(plan.unsupported[0].reason.starts_with(row.items), plan.unsupported[0].reason);
      continue;
    }
    REQUIRE_MESSAGE(plan.experiments.size() == 1, plan.unsupported[0].reason);
    const bench::RunSizes sizes = bench::ModelSizes(file.path).at(plan.experiments[0].config);
    REQUIRE(sizes.inputs.size() == 1);
    CHECK(to_string(sizes.inputs[0]) == row.inputs);
    CHECK((sizes.batch ? std::to_string(*sizes.batch) : "") == row.items);
  }
}

TEST_CASE("a copy at other sizes states them in its inputs, and nothing that held for the old ones") {
  const ModelFile file;
  file.write("x:f32[1,8], z:f32[3] -> y = Relu(x); u = Relu(z)");
  const std::string copy = file.path + ".resized.onnx";
  write_resized(file.path, copy, {{"x", {4, 8}}});
  const Model model = load_model(copy);
  std::filesystem::remove(copy);
  const Graph& graph = model.main();
  CHECK(to_string(graph.value(graph.inputs[0]).declared) == "float32[4,8]");
  CHECK(to_string(graph.value(graph.inputs[1]).declared) == "float32[3]");
  for (const ValueId output : graph.outputs) CHECK_FALSE(graph.value(output).declared.shape.has_value());
  CHECK(graph.nodes.size() == 2);
}

TEST_CASE("filters and stages choose among experiments") {
  const Study study = parse_study(R"(
    model = ["a", "b", "c"]
    backend = "torch"
    compile = ["eager", "inductor"]
    batch = [8, 1, 2, 4]
  )",
                                  "s.toml");
  const StudyPlan all = expand(study);
  REQUIRE(all.experiments.size() == 24);

  StudyPlan filtered = all;
  select_experiments(filtered, {.filter = "^a .*batch=[12] ", .exclude = "inductor"});
  CHECK(labels(filtered).size() == 2);

  StudyPlan sanity = all;
  select_experiments(sanity, {.stage = StudyStage::Sanity});
  REQUIRE(sanity.experiments.size() == 1);
  CHECK(std::get<std::int64_t>(sanity.experiments[0].config.at("batch")) == 1);

  StudyPlan quick = all;
  select_experiments(quick, {.stage = StudyStage::Quick});
  CHECK(quick.experiments.size() == 10);
  std::set<std::string> values, wanted, keys;
  for (const StudyPlan* plan : {&all, static_cast<const StudyPlan*>(&quick)})
    for (const documents::Experiment& experiment : plan->experiments)
      for (const char* axis : {"model", "compile", "batch"}) {
        const std::string value = documents::canonical({{axis, experiment.config.at(axis)}});
        (plan == &all ? wanted : values).insert(value);
      }
  CHECK(values == wanted);
  for (const documents::Experiment& experiment : quick.experiments) keys.insert(experiment.key);
  CHECK(keys.size() == 10);

  StudyPlan broken = all;
  CHECK_THROWS_AS(select_experiments(broken, {.filter = "("}), Error);
}

TEST_CASE("repeats are interleaved: every round holds each experiment once, in an order of its own") {
  Study study = parse_study("model=['a','b','c','d','e','f']\nbackend='torch'\nrepeats=3\nseed=7", "s.toml");
  const StudyPlan plan = expand(study);
  const std::vector<documents::Experiment> run = run_order(plan, study);
  REQUIRE(run.size() == 18);
  std::set<std::string> keys;
  std::vector<std::vector<std::string>> rounds(3);
  for (std::size_t i = 0; i < run.size(); ++i) {
    CHECK(std::get<std::int64_t>(run[i].config.at("repeat")) == static_cast<std::int64_t>(i / 6));
    CHECK(run[i].key == documents::config_key(run[i].config));
    keys.insert(run[i].key);
    rounds[i / 6].push_back(documents::config_label(run[i].config));
  }
  CHECK(keys.size() == 18);
  CHECK(rounds[0] != rounds[1]);
  for (auto& round : rounds) std::sort(round.begin(), round.end());
  CHECK(rounds[0] == rounds[1]);
  CHECK(rounds[1] == rounds[2]);
  const std::vector<documents::Experiment> again = run_order(plan, study);
  for (std::size_t i = 0; i < run.size(); ++i) CHECK(again[i].key == run[i].key);
  study.seed = 8;
  bool is_same = true;
  const std::vector<documents::Experiment> other = run_order(plan, study);
  for (std::size_t i = 0; i < run.size(); ++i)
    is_same = is_same && documents::config_label(other[i].config) == documents::config_label(run[i].config);
  CHECK_FALSE(is_same);
}

TEST_CASE("equal points of several blocks run once") {
  const StudyPlan plan = expand(parse_study(R"(
    model = "a"
    backend = "torch"
    [[experiments]]
    batch = [1, 2]
    [[experiments]]
    batch = [2, 4]
  )",
                                            "s.toml"));
  CHECK(plan.experiments.size() == 3);
}

TEST_CASE("paths of a study are relative to its folder") {
  const Study study = parse_study("model='m.onnx'\nbackend='ort'\n[models]\nx={onnx='x.onnx'}", "s.toml", "/studies");
  CHECK(std::get<std::string>(study.blocks[0][0].second[0]) == "/studies/m.onnx");
  CHECK(study.models.at("x").onnx == "/studies/x.onnx");
  const Study list = parse_study("model=['nets.txt', 'suite:timm']\nbackend='ort'", "s.toml", "/studies");
  CHECK(std::get<std::string>(list.blocks[0][0].second[0]) == "/studies/nets.txt");
  CHECK(std::get<std::string>(list.blocks[0][0].second[1]) == "suite:timm");
}

TEST_CASE("a study run from C++ names its models and devices") {
  for (const char* axis : {"model='suite:timm'", "model='nets.txt'", "model='net.onnx'\ndevice='auto'"}) {
    CAPTURE(axis);
    const Study study = parse_study(std::string(axis) + "\nbackend='ort'", "s.toml");
    CHECK_THROWS_WITH_AS(run_study(study, {.folder = "never", .program = "/never"}),
                         doctest::Contains("which only the command line pagoda-bench run takes"), Error);
  }
}

TEST_CASE("lists of sizes have ranges, and heights and widths") {
  using lab::bench::axis_values;
  const auto text = [](const char* axis, const char* list) {
    return base::joined(axis_values(*lab::bench::find_axis(axis), list), " ", base::setting_text);
  };
  CHECK(text("batch", "1,2..8") == "1 2 3 4 5 6 7 8");
  CHECK(text("batch", "1,2,4..64") == "1 2 4 8 16 32 64");
  CHECK(text("input_size", "64,96..256") == "64 96 128 160 192 224 256");
  CHECK(text("input_size", "64,224x320,224x224,96..97") == "64 224x320 224 96 97");
  CHECK(text("backend", "ort,torch") == "ort torch");
  for (const char* wrong : {"0", "1,,2", "2..1", "x", "-3"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(text("batch", wrong), Error);
  }
  CHECK_THROWS_AS(text("batch", "2x3"), Error);
  const auto pair = lab::bench::height_and_width(base::Setting(std::string("224x320")));
  REQUIRE(pair);
  CHECK((*pair)[0] == 224);
  CHECK((*pair)[1] == 320);
  const lab::Study study = lab::parse_study("backend='cmd'\ncommand='true'\nbatch='1,2,4..16'", "s.toml");
  CHECK(lab::expand(study).experiments.size() == 5);
}

}  // namespace
}  // namespace pagoda::lab
