// Layers that TensorRT names by their ends, on small hand-made models: what joins, what does not and why; and a
// property over random graphs.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "import/import_data.h"
#include "pagoda/base/cat.h"
#include "support/json_schema.h"

namespace pagoda::measured {
namespace {

using Indices = std::vector<std::size_t>;

documents::EstimateNode row(const std::string& name, const char* op, std::vector<std::string> inputs,
                            Mark mark = Mark::Compute) {
  documents::EstimateNode r;
  r.name = name;
  r.op_type = op;
  for (const std::string& input : inputs) r.inputs.push_back(base::Name(input));
  r.outputs = {{base::Name(name + "_output_0"), {ElementType::Undefined, Shape{4}}}};
  r.counts.flops = 10;
  r.counts.bytes = 100;
  r.mark = mark;
  return r;
}

documents::EstimateDocument estimate_of_rows(std::vector<documents::EstimateNode> rows) {
  documents::EstimateDocument estimate;
  estimate.model.path = "m";
  estimate.nodes = std::move(rows);
  estimate.roofline.emplace().device = "a-gpu";
  for (std::size_t i = 0; i < estimate.nodes.size(); ++i) {
    estimate.nodes[i].index = i;
    RowBound& bound = estimate.roofline->rows.emplace_back();
    bound.row = i;
    bound.bound = Bound::Memory;
    bound.seconds = 1e-6;
  }
  return estimate;
}

// A profile of layers of 10 µs each, as trtexec writes it.
documents::Measured profile_of(const std::vector<std::string>& layers) {
  std::string text = R"([{"count":1})";
  for (const std::string& layer : layers)
    text += cat(R"(,{"name":")", layer, R"(","timeMs":0.01,"averageMs":0.01,"medianMs":0.01,"percentage":1})");
  return import_profile(text + "]", "profile.json");
}

// A normalised product with a branch, then a second product:
//   0 conv ── 1 relu ─┬─ 2 mul ───── 4 add ── 5 fc ── 6 soft
//                     └─ 3 branch ───┘
// "one" is a scalar that 2 and 6 read; the weight of fc passes 7 "flip", which is folded.
documents::EstimateDocument small_model() {
  return estimate_of_rows(
      {row("conv", "Conv", {"x", "conv.weight", "conv.bias"}), row("relu", "Relu", {"conv_output_0"}),
       row("mul", "Mul", {"relu_output_0", "one"}), row("branch", "Conv", {"relu_output_0", "branch.weight"}),
       row("add", "Add", {"mul_output_0", "branch_output_0"}), row("flip", "Transpose", {"fc.weight"}, Mark::Folded),
       row("fc", "MatMul", {"add_output_0", "flip_output_0"}), row("soft", "Softmax", {"fc_output_0", "one"})});
}

}  // namespace

TEST_CASE("a tensor at an end of a range stands for what reads it, and an unknown end joins nothing") {
  struct Case {
    std::vector<std::string> layers;
    std::vector<Indices> rows;  // of each layer; empty: not joined
    const char* why;
  };
  const char *unknown = "one end of the range is not in the model",
             *open = "the tensor at an end of the range is read in several places",
             *gap = "rows between the ends of the range are not known",
             *part = "a part of the name is not in the model", *shared = "its nodes are in another layer, too";
  const Indices all = {0, 1, 2, 3, 4, 6, 7};
  const Case cases[] = {
      {{"{ForeignNode[conv...soft]}"}, {all}, "two nodes"},
      {{"{ForeignNode[conv.weight...soft]}"}, {all}, "the weight of the first node"},
      {{"{ForeignNode[x...soft_output_0]}"}, {all}, "the model's input and its output"},
      {{"{ForeignNode[fc.weight...soft]}"}, {all}, "the weight of a later node: nothing else can have run the others"},
      {{"{ForeignNode[one...soft]}"}, {all}, "a scalar that several nodes read"},
      {{"{ForeignNode[flip...soft]}"}, {all}, "a folded node stands for its readers"},
      {{"{ForeignNode[conv.weight + (Unnamed Layer* 3) [Shuffle]...soft]}"},
       {all},
       "fused with a layer of TensorRT's own"},
      {{"{ForeignNode[conv.bias_clone_1...(Unnamed Layer* 2) [Shuffle] + soft]}"}, {all}, "a copy of a bias"},
      {{"{ForeignNode[conv.weight[Constant]...soft]}"}, {all}, "with its type"},
      {{"{ForeignNode[conv.weight...relu]}", "{ForeignNode[fc.weight...soft]}"},
       {{0, 1}, {2, 3, 4, 6, 7}},
       "no row that reads the last end is of the first layer"},
      {{"{ForeignNode[conv.weight...relu]}", "mul", "branch", "{ForeignNode[add...soft]}"},
       {{0, 1}, {2}, {3}, {4, 6, 7}},
       "beside layers that are named"},
      {{"{ForeignNode[gone...soft]}"}, {{}}, unknown},
      {{"{ForeignNode[conv...gone]}"}, {{}}, unknown},
      {{"{ForeignNode[(Unnamed Layer* 3) [Shuffle]...soft]}"}, {{}}, unknown},
      {{"{ForeignNode[ONNXTRT_ShapeShuffle_3_output[Constant]...soft]}"}, {{}}, unknown},
      {{"conv + relu", "{ForeignNode[(Unnamed Layer* 3) [Shuffle]...add]}", "{ForeignNode[fc.weight...soft]}"},
       {{0, 1}, {}, {6, 7}},
       unknown},
      {{"__myl_MulAdd_myl0_0", "{ForeignNode[one...soft]}"}, {{}, {}}, open},
      {{"__myl_MulAdd_myl0_0", "{ForeignNode[fc.weight...soft]}"}, {{}, {}}, open},
      {{"__myl_MulAdd_myl0_0", "{ForeignNode[fc...soft]}"}, {{}, {6, 7}}, "a node says where it begins"},
      {{"{ForeignNode[mul...branch]}", "__myl_AddFc_myl0_0"}, {{2, 3}, {}}, "siblings that read one value"},
      {{"{ForeignNode[conv.weight...branch.weight]}", "relu", "__myl_AddFc_myl0_0"}, {{}, {1}, {}}, gap},
      {{"{ForeignNode[conv...branch]}", "mul", "{ForeignNode[add...soft]}"},
       {{0, 1, 3}, {2}, {4, 6, 7}},
       "what another kernel names is not the range's"},
      {{"conv + relu [profile 1]", "{ForeignNode[mul...soft]} [profile 1]"},
       {{0, 1}, {2, 3, 4, 6, 7}},
       "an engine with several profiles"},
      {{"gone + relu"}, {{}}, part},
      {{"gone + conv + relu", "mul"}, {{}, {2}}, part},
      {{"conv.weight + conv + conv.bias + relu"}, {{0, 1}}, "stored tensors, which are known"},
      {{"/c/Constant_output_0 + (Unnamed Layer* 7) [Shuffle] + conv + relu"}, {{0, 1}}, "a constant, by its name"},
      {{"{ForeignNode[conv.weight...soft]}", "{ForeignNode[mul...add]}"}, {{}, {2, 4}}, gap},
      {{"{ForeignNode[relu...mul]}", "{ForeignNode[mul...add]}"}, {{}, {}}, shared},
      {{"mul", "{ForeignNode[mul...add]}"}, {{2}, {}}, shared},
  };
  const documents::EstimateDocument estimate = small_model();
  for (const Case& c : cases) {
    documents::Measured measured = profile_of(c.layers);
    join(measured, estimate);
    for (std::size_t i = 0; i < c.layers.size(); ++i) {
      CAPTURE(c.layers[i]);
      CAPTURE(std::string(c.why));
      const auto& joined = measured.kernels[i].joined;
      CHECK((joined ? joined->nodes : Indices()) == c.rows[i]);
      if (c.rows[i].empty() && (c.layers[i].starts_with('{') || c.why == part))
        CHECK(measured.kernels[i].unjoined == c.why);
    }
  }
}

TEST_CASE("kernels in one range share its rows, and slashes in its name are not ranges of their own") {
  documents::EstimateDocument estimate = estimate_of_rows(
      {row("/a/Conv", "Conv", {"x", "w"}), row("Conv...", "Relu", {"/a/Conv_output_0"}), row("b", "Add", {"v", "u"})});
  documents::Measured measured;
  measured.source = "nsys";
  for (const char* name : {"kernel_1", "kernel_2"}) {
    documents::MeasuredKernel& kernel = measured.kernels.emplace_back();
    kernel.name = name;
    kernel.nvtx = "enqueue/{ForeignNode[/a/Conv.../b]}";
    kernel.seconds = 1e-6;
  }
  join(measured, estimate);
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    CHECK(!kernel.joined);
    CHECK(kernel.unjoined == "one end of the range is not in the model");
  }
  estimate = estimate_of_rows({row("/a/Conv", "Conv", {"x", "w"}), row("/b", "Relu", {"/a/Conv_output_0"})});
  join(measured, estimate);
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    REQUIRE(kernel.joined);
    CHECK(kernel.joined->nodes == Indices{0, 1});
  }
  CHECK(joined_groups(measured, estimate).size() == 1);
}

TEST_CASE("Myelin's kernels join by the node that they name, in its spelling") {
  const documents::EstimateDocument estimate = estimate_of_rows(
      {row("/m.0/attn/MatMul", "MatMul", {"x", "w"}), row("/m_1/attn/MatMul", "MatMul", {"/m.0/attn/MatMul_output_0"}),
       row("/m.1/attn/MatMul", "MatMul", {"/m_1/attn/MatMul_output_0"})});
  documents::Measured measured =
      profile_of({"/m_0/attn/MatMul_myl7_1", "__myl_MulMaxSubExpSum_myl7_2", "/m_1/attn/MatMul_myl7_3"});
  join(measured, estimate);
  REQUIRE(measured.kernels[0].joined);
  CHECK(measured.kernels[0].joined->nodes == Indices{0});
  CHECK(measured.kernels[1].unjoined == "a name that the engine generated");
  REQUIRE(measured.kernels[2].joined);
  CHECK(measured.kernels[2].joined->nodes == Indices{1});  // the name itself goes before its spelling
}

TEST_CASE("time without a node is added up by cause, in the report and the file") {
  documents::Measured measured =
      profile_of({"Reformatting CopyNode for Input Tensor 0 to conv", "conv + relu", "squeeze_after_relu",
                  "relu_output_0 copy", "(Unnamed Layer* 4) [Shuffle]", "{ForeignNode[gone...soft]}", "elsewhere"});
  const documents::EstimateDocument estimate = small_model();
  join(measured, estimate);
  const std::pair<const char*, int> causes[] = {{"change of layout", 2},
                                                {"copy on the device", 1},
                                                {"no name", 1},
                                                {"one end of the range is not in the model", 1},
                                                {"no row of that name", 1}};
  REQUIRE(measured.join->unjoined.size() == std::size(causes));
  for (std::size_t i = 0; i < std::size(causes); ++i) {
    CHECK(measured.join->unjoined[i].cause == causes[i].first);
    CHECK(measured.join->unjoined[i].kernels == causes[i].second);
    CHECK(*measured.join->unjoined[i].seconds == doctest::Approx(10e-6 * causes[i].second));
  }
  CHECK(*measured.join->share() == doctest::Approx(1.0 / 7));
  const std::string file = documents::write_measured(measured);
  test::check_schema(file, "measured");
  const documents::Measured again = documents::parse_measured(file, "m.json");
  CHECK(again.join->unjoined.size() == std::size(causes));
  CHECK(again.kernels[5].unjoined == "one end of the range is not in the model");
  const std::string report = join_report(again, estimate);
  for (const auto& [cause, kernels] : causes) CHECK_MESSAGE(report.find(cause) != std::string::npos, report);
}

TEST_CASE("a column of many nodes names the first and the last, and little that joined is doubted") {
  std::vector<documents::EstimateNode> rows;
  for (int i = 0; i < 400; ++i) rows.push_back(row(cat("n", i), "Relu", {i == 0 ? "x" : cat("n", i - 1, "_output_0")}));
  const documents::EstimateDocument estimate = estimate_of_rows(std::move(rows));
  documents::Measured whole = profile_of({"{ForeignNode[n0...n399]}"});
  join(whole, estimate);
  const std::string report = join_report(whole, estimate);
  CHECK_MESSAGE(report.find("n0…n399 (400)") != std::string::npos, report);
  CHECK_MESSAGE(report.find("times its bound, while") == std::string::npos, report);

  documents::Measured other = profile_of({"n7", "elsewhere"});
  other.kernels[0].seconds = 1;
  join(other, estimate);
  const std::string doubted = join_report(other, estimate);
  CHECK_MESSAGE(doubted.find("while 399 of 400 nodes have no kernel") != std::string::npos, doubted);
}

namespace {

// A random graph whose rows are in a random order of execution, cut into the layers of an engine: connected parts of
// stretches of another such order. Each part runs as one unit.
struct Engine {
  std::vector<documents::EstimateNode> rows;
  std::vector<Indices> layers;  // in order of execution; their rows, too
};

Engine random_engine(std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  Engine engine;
  const std::size_t count = 3 + below(12);
  std::vector<Indices> before(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::string> inputs;
    for (std::size_t k = 0; k < 1 + below(2); ++k) {
      const std::size_t from = i == 0 ? 0 : below(i + 1);
      if (from == i) {
        inputs.emplace_back("x");
      } else {
        inputs.push_back(cat("n", from, "_output_0"));
        before[i].push_back(from);
      }
    }
    inputs.push_back(below(4) == 0 ? "shared" : cat("w", i));
    engine.rows.push_back(row(cat("n", i), below(5) == 0 ? "Transpose" : "Add", inputs));
  }
  // Another order of execution.
  Indices order;
  std::vector<bool> is_done(count, false);
  while (order.size() < count) {
    const std::size_t next = below(count);
    if (is_done[next] || !std::ranges::all_of(before[next], [&](std::size_t row) { return is_done[row]; })) continue;
    is_done[next] = true;
    order.push_back(next);
  }
  for (std::size_t begin = 0; begin < count;) {
    const std::size_t end = std::min(count, begin + 1 + below(6));
    std::vector<Indices> parts;
    for (std::size_t i = begin; i < end; ++i) {
      Indices merged;
      std::erase_if(parts, [&](const Indices& part) {
        const bool feeds = std::ranges::any_of(
            part, [&](std::size_t row) { return std::ranges::find(before[order[i]], row) != before[order[i]].end(); });
        if (feeds) merged.insert(merged.end(), part.begin(), part.end());
        return feeds;
      });
      merged.push_back(order[i]);
      parts.push_back(merged);
    }
    for (Indices& part : parts) {
      std::ranges::sort(part, {}, [&](std::size_t row) { return std::ranges::find(order, row) - order.begin(); });
      engine.layers.push_back(part);
    }
    begin = end;
  }
  return engine;
}

// The layer's name: its nodes, or a range. `is_known`: no end of the range is hidden.
std::string random_name(const Engine& engine, const Indices& layer, std::mt19937& random, bool& is_known) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const auto name = [&](std::size_t row) { return std::string(engine.rows[row].name); };
  is_known = true;
  if (below(3) == 0) {
    std::string all;
    for (const std::size_t row : layer) all += (all.empty() ? "" : " + ") + name(row);
    return all;
  }
  const auto end = [&](std::size_t row) -> std::string {
    switch (below(6)) {
      case 0:
        is_known = false;
        return cat("(Unnamed Layer* ", below(9), ") [Shuffle]");
      case 1: {  // constants and inputs have any place in an order of execution
        const documents::EstimateNode& reader = engine.rows[layer[below(layer.size())]];
        std::string input(reader.inputs[reader.inputs.size() - 1]);
        if (reader.inputs[0] == base::Name("x") && below(2) == 0) input = "x";
        return input + (below(2) == 0 ? "_clone_1" : "");
      }
      case 2:
        return name(row) + "_output_0";
      case 3:
        return name(row) + " + (Unnamed Layer* 7) [Shuffle]";
      default:
        return name(row);
    }
  };
  const std::string first = end(layer.front()), last = end(layer.back());
  return "{ForeignNode[" + first + "..." + last + "]}";
}

}  // namespace

TEST_CASE("in random engines no layer gets a row of another, and a range with a hidden end gets none") {
  std::size_t complete = 0, partial = 0, unknown = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const Engine engine = random_engine(random);
    const documents::EstimateDocument estimate = estimate_of_rows(engine.rows);
    std::vector<std::string> names;
    std::vector<bool> is_known;
    for (const Indices& layer : engine.layers) {
      bool known = true;
      names.push_back(random_name(engine, layer, random, known));
      is_known.push_back(known);
      if (random() % 12 != 0) continue;
      names.back() = random() % 2 == 0 ? "(Unnamed Layer* 3) [Shuffle]" : "__myl_AddMul_myl0_3";
      is_known.back() = false;
    }
    documents::Measured measured = profile_of(names);
    join(measured, estimate);
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::string all;
      for (std::size_t k = 0; k < names.size(); ++k) {
        all += cat("\n  ", names[k], ":");
        for (const std::size_t row : engine.layers[k]) all += cat(" n", row);
      }
      CAPTURE(seed);
      CAPTURE(all);
      CAPTURE(names[i]);
      const auto& joined = measured.kernels[i].joined;
      const std::set<std::size_t> truth(engine.layers[i].begin(), engine.layers[i].end());
      if (!is_known[i]) {
        CHECK(!joined);
        ++unknown;
      }
      if (!joined) {
        CHECK(!measured.kernels[i].unjoined.empty());
        continue;
      }
      for (const std::size_t row : joined->nodes) CHECK_MESSAGE(truth.contains(row), "n", row);
      if (names[i].starts_with('{')) ++(joined->nodes.size() == truth.size() ? complete : partial);
    }
  }
  CHECK(complete > 3000);
  CHECK(unknown > 1000);
  CHECK(partial * 10 < complete);
}

}  // namespace pagoda::measured
