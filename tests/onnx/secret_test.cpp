// Skeletons keep no parameter: models that differ in parameters alone have one skeleton, byte for byte. So nothing that
// is computed from a skeleton can depend on them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>

#include "onnx/sample_models.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"

namespace pagoda::test {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;

// The parameters of one of two models. Both have as many bytes as the other: sizes stay.
struct Secret {
  int which;
  float real() const { return which == 0 ? 0.37F : 0.81F; }
  std::int64_t integer() const { return 40 + which; }
  std::string word() const { return which == 0 ? "alpha" : "gamma"; }
  std::string bytes(std::size_t count) const { return std::string(count, static_cast<char>('A' + which)); }
};

using Hide = std::function<void(onnx::ModelProto&, const Secret&)>;

void fill(TensorProto& tensor, const Secret& secret, std::vector<std::int64_t> dims) {
  std::size_t elements = 1;
  for (const std::int64_t dim : dims) tensor.add_dims(dim), elements *= static_cast<std::size_t>(dim);
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.set_raw_data(secret.bytes(4 * elements));
}

onnx::NodeProto& node(onnx::ModelProto& model, const char* domain, const char* op,
                      std::vector<std::string> inputs = {"x"}) {
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::NodeProto& added = add_node(graph, op, inputs, {pagoda::cat("y", graph.node_size())});
  added.set_domain(domain);
  return added;
}

Hide reals(const char* domain, const char* op, const char* name) {
  return [=](onnx::ModelProto& model, const Secret& secret) {
    AttributeProto& list = add_attribute(node(model, domain, op), name, AttributeProto::FLOATS);
    for (int i = 0; i < 3; ++i) list.add_floats(secret.real());
  };
}
Hide integers(const char* domain, const char* op, const char* name, int count = 3) {
  return [=](onnx::ModelProto& model, const Secret& secret) {
    AttributeProto& list = add_attribute(node(model, domain, op), name, AttributeProto::INTS);
    for (int i = 0; i < count; ++i) list.add_ints(secret.integer());
  };
}
Hide words(const char* domain, const char* op, const char* name) {
  return [=](onnx::ModelProto& model, const Secret& secret) {
    AttributeProto& list = add_attribute(node(model, domain, op), name, AttributeProto::STRINGS);
    for (int i = 0; i < 3; ++i) list.add_strings(secret.word());
  };
}
Hide text(const char* domain, const char* op, const char* name, std::size_t bytes) {
  return [=](onnx::ModelProto& model, const Secret& secret) {
    add_attribute(node(model, domain, op), name, AttributeProto::STRING).set_s(secret.bytes(bytes));
  };
}
Hide tensor(const char* domain, const char* op, const char* name) {
  return [=](onnx::ModelProto& model, const Secret& secret) {
    fill(*add_attribute(node(model, domain, op, {}), name, AttributeProto::TENSOR).mutable_t(), secret, {2});
  };
}
// A stored tensor of few elements, read by an operator at an input.
Hide stored(const char* op, int type, std::vector<std::int64_t> dims, std::size_t bytes,
            std::vector<std::string> inputs = {"x", "p"}) {
  return [=](onnx::ModelProto& model, const Secret& secret) {
    add_weight(*model.mutable_graph(), "p", type, dims, bytes).set_raw_data(secret.bytes(bytes));
    node(model, "", op, inputs);
  };
}
Hide metadata(int number, const std::function<google::protobuf::Message*(onnx::ModelProto&)>& of) {
  return [=](onnx::ModelProto& model, const Secret& secret) {
    onnx::StringStringEntryProto entry;
    entry.set_key("who");
    entry.set_value(secret.word());
    add_unknown(*of(model), number, entry.SerializeAsString());
  };
}
onnx::NodeProto& first(onnx::ModelProto& model) { return *model.mutable_graph()->mutable_node(0); }

constexpr const char* kMl = "ai.onnx.ml";

struct HidingPlace {
  const char* place;
  Hide hide;
};

const std::vector<HidingPlace>& hiding_places() {
  static const std::vector<HidingPlace> places = {
      // attributes of ai.onnx.ml
      {"thresholds of trees", reals(kMl, "TreeEnsembleClassifier", "nodes_values")},
      {"features that trees test", integers(kMl, "TreeEnsembleClassifier", "nodes_featureids")},
      {"weights of leaves", reals(kMl, "TreeEnsembleRegressor", "target_weights")},
      {"targets of leaves", integers(kMl, "TreeEnsembleRegressor", "target_ids")},
      {"base values of trees", reals(kMl, "TreeEnsembleRegressor", "base_values")},
      {"tests of trees as a tensor", tensor(kMl, "TreeEnsemble", "nodes_splits")},
      {"coefficients", reals(kMl, "LinearClassifier", "coefficients")},
      {"intercepts", reals(kMl, "LinearRegressor", "intercepts")},
      {"support vectors", reals(kMl, "SVMClassifier", "support_vectors")},
      {"parameters of a kernel", reals(kMl, "SVMRegressor", "kernel_params")},
      {"offsets of a scaler", reals(kMl, "Scaler", "offset")},
      {"imputed values", reals(kMl, "Imputer", "imputed_value_floats")},
      {"a threshold", [](auto& model, const Secret& secret) { add_attribute(node(model, kMl, "Binarizer"), "threshold", AttributeProto::FLOAT).set_f(secret.real()); }},
      {"a default of a table", [](auto& model, const Secret& secret) { add_attribute(node(model, kMl, "LabelEncoder"), "default_int64", AttributeProto::INT).set_i(secret.integer()); }},
      {"keys of a table", words(kMl, "LabelEncoder", "keys_strings")},
      {"values of a table", integers(kMl, "LabelEncoder", "values_int64s")},
      {"a table as a tensor", tensor(kMl, "LabelEncoder", "values_tensor")},
      {"words of a vectorizer", words(kMl, "DictVectorizer", "string_vocabulary")},
      {"categories", words(kMl, "CategoryMapper", "cats_strings")},
      {"labels of classes", words(kMl, "ZipMap", "classlabels_strings")},
      {"numbers of classes", integers(kMl, "ZipMap", "classlabels_int64s")},
      // of other domains
      {"n-grams", integers("", "TfIdfVectorizer", "pool_int64s")},
      {"weights of n-grams", reals("", "TfIdfVectorizer", "weights")},
      {"stop words", words("", "StringNormalizer", "stopwords")},
      {"a short vocabulary of a tokeniser", text("ai.onnx.contrib", "BertTokenizer", "vocab_file", 8)},
      {"a model of a tokeniser", text("com.microsoft.extensions", "SentencepieceTokenizer", "model", 300)},
      {"a compiled blob", text("com.microsoft", "EPContext", "ep_cache_context", 8)},
      {"a blob of an unknown operator", text("mine", "Mine", "blob", 3'000'000)},
      {"a long text of a known operator", text("", "Conv", "blob", 100)},
      {"numbers of an unknown operator", reals("mine", "Mine", "anchors")},
      {"a table of an unknown operator", integers("mine", "Mine", "table", 40)},
      {"words of an unknown operator", words("mine", "Mine", "names")},
      {"a tensor of an unknown operator", tensor("mine", "Mine", "w")},
      {"a default of a function's attribute", [](auto& model, const Secret& secret) {
         AttributeProto standard;
         standard.set_name("w");
         standard.set_type(AttributeProto::FLOATS);
         standard.add_floats(secret.real());
         onnx::FunctionProto& function = *model.add_functions();
         function.set_name("f");
         add_unknown(function, 11, standard.SerializeAsString());
       }},
      // constants and stored tensors
      {"a constant", tensor("", "Constant", "value")},
      {"a constant number", [](auto& model, const Secret& secret) { add_attribute(node(model, "", "Constant", {}), "value_float", AttributeProto::FLOAT).set_f(secret.real()); }},
      {"constant numbers", reals("", "Constant", "value_floats")},
      {"constant words", words("", "Constant", "value_strings")},
      {"the value of a filled tensor", [](auto& model, const Secret& secret) {
         fill(*add_attribute(node(model, "", "ConstantOfShape"), "value", AttributeProto::TENSOR).mutable_t(), secret, {1});
       }},
      {"a sparse constant", [](auto& model, const Secret& secret) {
         onnx::SparseTensorProto& sparse = *add_attribute(node(model, "", "Constant", {}), "sparse_value", AttributeProto::SPARSE_TENSOR).mutable_sparse_tensor();
         fill(*sparse.mutable_values(), secret, {2});
         sparse.mutable_indices()->set_data_type(TensorProto::INT64);
         sparse.mutable_indices()->add_dims(2);
         for (int i = 0; i < 2; ++i) sparse.mutable_indices()->add_int64_data(secret.integer());
         sparse.add_dims(100);
       }},
      {"a sparse initializer", [](auto& model, const Secret& secret) {
         onnx::SparseTensorProto& sparse = *model.mutable_graph()->add_sparse_initializer();
         fill(*sparse.mutable_values(), secret, {2});
         sparse.mutable_values()->set_name("sparse");
         sparse.mutable_indices()->set_data_type(TensorProto::INT64);
         sparse.mutable_indices()->add_dims(2);
         sparse.mutable_indices()->set_raw_data(secret.bytes(16));
         sparse.add_dims(100);
       }},
      {"a weight of few elements", stored("MatMul", TensorProto::FLOAT, {2, 2}, 16)},
      {"a factor", stored("Mul", TensorProto::FLOAT, {}, 4)},
      {"an exponent", stored("Pow", TensorProto::FLOAT, {}, 4)},
      {"a bound", stored("Clip", TensorProto::FLOAT, {}, 4)},
      {"a bias of few integers", stored("ConvInteger", TensorProto::INT8, {1, 1, 2, 2}, 4)},
      {"a scale", stored("QuantizeLinear", TensorProto::FLOAT, {}, 4)},
      {"a zero point", stored("QuantizeLinear", TensorProto::UINT8, {}, 1, {"x", "x", "p"})},
      {"a table of integers", stored("Gather", TensorProto::INT64, {100}, 800, {"p", "x"})},
      {"a weight that an unknown operator reads", stored("Mine", TensorProto::FLOAT, {4}, 16)},
      {"words", [](auto& model, const Secret& secret) {
         TensorProto& tensor = *model.mutable_graph()->add_initializer();
         tensor.set_name("words");
         tensor.set_data_type(TensorProto::STRING);
         tensor.add_dims(1);
         tensor.add_string_data(secret.word());
       }},
      // bodies and functions
      {"a weight in a branch", [](auto& model, const Secret& secret) {
         onnx::NodeProto& branch = node(model, "", "If");
         for (const char* name : {"then_branch", "else_branch"}) {
           onnx::GraphProto& body = *add_attribute(branch, name, AttributeProto::GRAPH).mutable_g();
           fill(*body.add_initializer(), secret, {2});
           body.mutable_initializer(0)->set_name("w");
           add_output(body, "w");
         }
       }},
      {"a weight of a decoder in BeamSearch", [](auto& model, const Secret& secret) {
         onnx::GraphProto& body = *add_attribute(node(model, "com.microsoft", "BeamSearch"), "decoder", AttributeProto::GRAPH).mutable_g();
         fill(*body.add_initializer(), secret, {2});
         body.mutable_initializer(0)->set_name("w");
       }},
      {"a constant in a function", [](auto& model, const Secret& secret) {
         onnx::FunctionProto& function = *model.add_functions();
         function.set_name("g");
         onnx::NodeProto& constant = *function.add_node();
         constant.set_op_type("Constant");
         constant.add_output("k");
         fill(*add_attribute(constant, "value", AttributeProto::TENSOR).mutable_t(), secret, {2});
       }},
      // texts
      {"a description of the model", [](auto& model, const Secret& secret) { model.set_doc_string(secret.word()); }},
      {"its domain", [](auto& model, const Secret& secret) { model.set_domain(secret.word()); }},
      {"a description of the graph", [](auto& model, const Secret& secret) { model.mutable_graph()->set_doc_string(secret.word()); }},
      {"a description of a node", [](auto& model, const Secret& secret) { first(model).set_doc_string(secret.word()); }},
      {"a description of an input", [](auto& model, const Secret& secret) { model.mutable_graph()->mutable_input(0)->set_doc_string(secret.word()); }},
      {"metadata of the model", [](auto& model, const Secret& secret) {
         onnx::StringStringEntryProto& entry = *model.add_metadata_props();
         entry.set_key("namespace");
         entry.set_value(secret.word());
       }},
      {"metadata of the graph", metadata(16, [](auto& model) { return model.mutable_graph(); })},
      {"metadata of a node", metadata(9, [](auto& model) { return &first(model); })},
      {"metadata of an input", metadata(4, [](auto& model) { return model.mutable_graph()->mutable_input(0); })},
      {"a stack trace", [](auto& model, const Secret& secret) { add_metadata(first(model), "pkg.torch.onnx.stack_trace", secret.word()); }},
      {"the folder of a weight", [](auto& model, const Secret& secret) {
         TensorProto& weight = add_weight(*model.mutable_graph(), "far", TensorProto::FLOAT, {1000}, 0);
         weight.clear_raw_data();
         weight.set_data_location(TensorProto::EXTERNAL);
         for (const auto& [key, value] : {std::pair("location", secret.word() + "/w.bin"), std::pair("checksum", secret.word())}) {
           onnx::StringStringEntryProto& entry = *weight.add_external_data();
           entry.set_key(key);
           entry.set_value(value);
         }
       }},
      // other fields
      {"training information", [](auto& model, const Secret& secret) { fill(*model.add_training_info()->mutable_initialization()->add_initializer(), secret, {2}); }},
      {"quantisation annotations", [](auto& model, const Secret& secret) { model.mutable_graph()->add_quantization_annotation()->set_tensor_name(secret.word()); }},
      {"a field that this version does not know", [](auto& model, const Secret& secret) { add_unknown(model, 111, secret.bytes(50)); }},
      {"such a field of a tensor", [](auto& model, const Secret& secret) {
         add_unknown(add_weight(*model.mutable_graph(), "newer", TensorProto::FLOAT, {0}, 0), 77, secret.bytes(50));
       }},
  };
  return places;
}

onnx::ModelProto base() {
  onnx::ModelProto model = new_model();
  add_input(*model.mutable_graph(), "x", {"n", "4"});
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"r"}, "relu");
  add_output(*model.mutable_graph(), "r");
  return model;
}

std::string bytes_of(const Hide& hide, int which) {
  onnx::ModelProto model = base();
  hide(model, Secret{which});
  return model.SerializeAsString();
}

TEST_CASE("models that differ in parameters alone have one skeleton") {
  for (const HidingPlace& each : hiding_places()) {
    CAPTURE(each.place);
    const std::string a = bytes_of(each.hide, 0), b = bytes_of(each.hide, 1);
    CHECK(a != b);
    CHECK(a.size() == b.size());
    const std::string of_a = skeleton(as_bytes(a)), of_b = skeleton(as_bytes(b));
    CHECK(of_a == of_b);
    CHECK(skeleton(as_bytes(of_a)) == of_a);
    CHECK(parse_error(of_a) == "");
  }
}

// What stays, because an estimate depends on it or a reader needs it: each is listed.
TEST_CASE("what an estimate depends on stays in a skeleton, and is listed") {
  const auto listed = [](const char* op, std::vector<std::string> inputs) {
    return [=](onnx::ModelProto& model, const Secret& secret) {
      add_indices(*model.mutable_graph(), "p", {secret.integer(), 1});
      node(model, "", op, inputs);
    };
  };
  const struct {
    const char* what;
    Hide hide;
    const char* row;
  } cases[] = {
      {"the target of a Reshape", listed("Reshape", {"x", "p"}), "sizes and arguments: Reshape"},
      {"the repeats of a Tile, through a Cast",
       [&](auto& model, const Secret& secret) {
         add_indices(*model.mutable_graph(), "p", {secret.integer(), 1});
         add_attribute(node(model, "", "Cast", {"p"}), "to", AttributeProto::INT).set_i(7);
         node(model, "", "Tile", {"x", "y1"});
       },
       "sizes and arguments: Tile"},
      {"a single integer",
       [](auto& model, const Secret& secret) {
         add_indices(*model.mutable_graph(), "p", {secret.integer()});
         node(model, "", "Gather", {"x", "p"});
       },
       "single integers and truth values"},
      {"a short list that an unknown operator takes", listed("Mine", {"x", "p"}),
       "short lists of integers, read by operators without a rule"},
      {"children of trees", integers(kMl, "TreeEnsembleClassifier", "nodes_truenodeids"), "lists in attributes"},
      {"a short text of an unknown operator", text("mine", "Mine", "mode", 8),
       "short texts in attributes of operators without a rule"},
      {"names", [](auto& model, const Secret& secret) { first(model).set_name(secret.word()); },
       "names of operators, nodes, values and sizes"},
  };
  const base::TemporaryFolder folder("pagoda-secret-test");
  for (const auto& each : cases) {
    CAPTURE(each.what);
    CHECK(skeleton(as_bytes(bytes_of(each.hide, 0))) != skeleton(as_bytes(bytes_of(each.hide, 1))));
    base::write_file(folder.path("m.onnx"), bytes_of(each.hide, 0));
    const SkeletonReport report = write_skeleton(folder.path("m.onnx"), folder.path("s.onnx"));
    CHECK(std::ranges::count(report.kept, each.row, &SkeletonReport::Row::what) == 1);
  }
}

TEST_CASE("names go where that is asked for, the graph stays") {
  const SkeletonOptions options{.anonymous = true};
  for (const Sample& sample : sample_models()) {
    CAPTURE(sample.name);
    const std::string small = skeleton(as_bytes(sample.bytes), options);
    CHECK(skeleton(as_bytes(small), options) == small);
    const Model before = parse_model(as_bytes(sample.bytes)), after = parse_model(as_bytes(small));
    REQUIRE(after.graphs.size() == before.graphs.size());
    for (std::size_t i = 0; i < after.graphs.size(); ++i) {
      REQUIRE(after.graphs[i].nodes.size() == before.graphs[i].nodes.size());
      for (std::size_t n = 0; n < after.graphs[i].nodes.size(); ++n) {
        const Node &old = before.graphs[i].nodes[n], &renamed = after.graphs[i].nodes[n];
        CHECK(renamed.op_type == old.op_type);
        CHECK(std::ranges::equal(renamed.inputs, old.inputs));
        CHECK(std::ranges::equal(renamed.outputs, old.outputs));
        CHECK(std::string(renamed.scope).empty());
      }
      for (const Value& value : after.graphs[i].values) CHECK(std::string(value.name).starts_with("n"));
    }
  }
}

// Calls `change` for each tensor at any depth, with the same one of a second model of the same structure.
using Pair = std::function<void(TensorProto&, const TensorProto&)>;
void for_each_tensor(onnx::GraphProto& a, const onnx::GraphProto& b, const Pair& change);
void for_each_tensor(onnx::NodeProto& a, const onnx::NodeProto& b, const Pair& change) {
  for (int i = 0; i < a.attribute_size(); ++i) {
    if (a.attribute(i).has_t()) change(*a.mutable_attribute(i)->mutable_t(), b.attribute(i).t());
    if (a.attribute(i).has_g()) for_each_tensor(*a.mutable_attribute(i)->mutable_g(), b.attribute(i).g(), change);
  }
}
void for_each_tensor(onnx::GraphProto& a, const onnx::GraphProto& b, const Pair& change) {
  for (int i = 0; i < a.initializer_size(); ++i) change(*a.mutable_initializer(i), b.initializer(i));
  for (int i = 0; i < a.node_size(); ++i) for_each_tensor(*a.mutable_node(i), b.node(i), change);
}

std::string numbers_of(const Analysis& analysis) {
  std::string text;
  for (const auto count : kCostCounts) text += (analysis.totals.cost.*count).to_string() + '\n';
  for (const NodeReport& row : analysis.nodes)
    for (const OutputInfo& output : row.outputs) text += to_string(output.type) + ' ' + row.problem + '\n';
  return text + analysis.totals.params.to_string() + ' ' + analysis.totals.param_bytes.to_string() + ' ' +
         analysis.totals.weight_bytes.to_string();
}

TEST_CASE("bundled models: other numbers, the same skeleton, and an analysis as of the model") {
  int changed = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_path("models/skeletons"))) {
    if (file.path().extension() != ".onnx" || file.file_size() > 300'000) continue;
    CAPTURE(file.path().filename().string());
    const std::string bytes = read_file(file.path().string());
    const std::string small = skeleton(as_bytes(bytes));
    CHECK(skeleton(as_bytes(small)) == small);
    CHECK(numbers_of(analyze(parse_model(as_bytes(small)))) == numbers_of(analyze(parse_model(as_bytes(bytes)))));
    onnx::ModelProto model, stripped;
    REQUIRE(model.ParseFromString(bytes));
    REQUIRE(stripped.ParseFromString(small));
    for_each_tensor(*model.mutable_graph(), stripped.graph(), [&](TensorProto& tensor, const TensorProto& left) {
      if (!tensor.has_raw_data() || left.has_raw_data()) return;
      for (char& byte : *tensor.mutable_raw_data()) byte = static_cast<char>(byte ^ 0x15);
      ++changed;
    });
    onnx::ModelProto again;
    REQUIRE(again.ParseFromString(skeleton(as_bytes(model.SerializeAsString()))));
    CHECK(again.SerializeAsString() == stripped.SerializeAsString());
  }
  CHECK(changed > 100);
}

}  // namespace
}  // namespace pagoda::test
