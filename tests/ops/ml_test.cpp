// ai.onnx.ml: shapes and types that attributes decide, work of linear models and support vector machines, and tree
// depths against a walk over every path.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kFeatures[] = {
    // graph, types, cost, why
    {"x:f32[N,4], i:i64[2]=[0,2] -> y = ai.onnx.ml.ArrayFeatureExtractor(x, i)", "y:f32[N,2]", "arith=0 read=16+8*N written=8*N", "two columns"},
    {"x:f32[4], i:i64[1,3] -> y = ai.onnx.ml.ArrayFeatureExtractor(x, i)", "y:f32[1,3]", "", "a vector is one row"},
    {"x:f32[], i:i64[2] -> y = ai.onnx.ml.ArrayFeatureExtractor(x, i)", "error: X is a scalar", "", "nothing to pick from"},
    {"x:f32[N,4] -> y = ai.onnx.ml.Binarizer(x) {threshold=0.5}", "y:f32[N,4]", "arith=4*N comparisons=4*N", "a comparison"},
    {"y = ai.onnx.ml.Binarizer() {threshold=0.5}", "error: input 0 is missing", "", "no input"},
    {"x:f32[N,4] -> y = ai.onnx.ml.Imputer(x) {imputed_value_floats=[1.0]}", "y:f32[N,4]", "arith=4*N comparisons=4*N", "a comparison"},
    {"y = ai.onnx.ml.Imputer() {imputed_value_floats=[1.0]}", "error: input 0 is missing", "", "no input"},
    {"x:str[N] -> y = ai.onnx.ml.CategoryMapper(x) {cats_int64s=[1,2], cats_strings=['a','b']}", "y:i64[N]", "arith=N written=8*N", "strings become integers"},
    {"x:i64[N] -> y = ai.onnx.ml.CategoryMapper(x) {cats_int64s=[1,2], cats_strings=['a','b']}", "y:str[N]", "arith=N", "and back"},
    {"y = ai.onnx.ml.CategoryMapper() {cats_int64s=[1], cats_strings=['a']}", "error: input 0 is missing", "", "no input"},
    {"ai.onnx.ml=2 : x:str[N] -> y = ai.onnx.ml.LabelEncoder(x) {keys_strings=['a'], values_int64s=[3]}", "y:i64[N]", "arith=N comparisons=N", "the values decide the type"},
    {"ai.onnx.ml=2 : x:i64[N,4] -> y = ai.onnx.ml.LabelEncoder(x) {keys_int64s=[1], values_floats=[3.0]}", "y:f32[N,4]", "", "reals"},
    {"ai.onnx.ml=4 : x:f64[N,4] -> y = ai.onnx.ml.LabelEncoder(x) {keys_tensor=f64[1]=[1.0], values_tensor=f64[1]=[2.0]}", "y:f64[N,4]", "", "tensors"},
    {"x:i64[N] -> y = ai.onnx.ml.LabelEncoder(x) {classes_strings=['a','b']}", "y:str[N]", "", "version 1"},
    {"ai.onnx.ml=2 : x:i64[N] -> y = ai.onnx.ml.LabelEncoder(x) {keys_int64s=[1]}", "error: no attribute gives the values", "", "values are needed"},
    {"x:i64[N,4] -> y = ai.onnx.ml.OneHotEncoder(x) {cats_int64s=[1,2,3]}", "y:f32[N,4,3]", "arith=4*N written=48*N", "a new axis"},
    {"x:i64[N,4] -> y = ai.onnx.ml.OneHotEncoder(x)", "error: categories", "", "categories are needed"},
    {"x:i64[N,4] -> y = ai.onnx.ml.Scaler(x) {offset=[1.0,1.0,1.0,1.0], scale=[1.0,1.0,1.0,1.0]}", "y:f32[N,4]", "arith=8*N read=32*N+32", "sub and mul; reals come out"},
    {"x:f32 -> y = ai.onnx.ml.Scaler(x)", "error: rank of input 0 is not known", "", "a rank that is not known"},
    {"x:f32[N,4] -> y = ai.onnx.ml.Normalizer(x) {norm='L2'}", "y:f32[N,4]", "arith=12*N special=N", "square, add, div; a root per row"},
    {"x:i64[N,4] -> y = ai.onnx.ml.Normalizer(x)", "y:f32[N,4]", "arith=8*N comparisons=4*N", "the largest, a division"},
    {"x:f32[N,4] -> y = ai.onnx.ml.Normalizer(x) {norm='L1'}", "y:f32[N,4]", "arith=12*N comparisons=4*N", "absolute values"},
    {"x:f32[N,4] -> y = ai.onnx.ml.Normalizer(x) {norm='L3'}", "error: norm is 'L3'", "", "no such norm"},
    {"x:f32[N,4], z:f32[N,2] -> y = ai.onnx.ml.FeatureVectorizer(x, z) {inputdimensions=[4,2]}", "y:f32[N,6]", "arith=0 read=24*N written=24*N", "side by side"},
    {"x:i64[4], z:i64[3] -> y = ai.onnx.ml.FeatureVectorizer(x, z)", "y:f32[1,7]", "", "vectors are rows"},
    {"x:f32[3,4], z:f32[2,2] -> y = ai.onnx.ml.FeatureVectorizer(x, z)", "error: rows of the inputs", "", "3 is not 2"},
};

constexpr OpCase kMaps[] = {
    {"x:f32[N,2] -> y = ai.onnx.ml.ZipMap(x) {classlabels_int64s=[0,1]}", "y:seq(map(i64,f32))", "arith=0 read=8*N written=8*N", "a map per row"},
    {"x:f32[N,2] -> y = ai.onnx.ml.ZipMap(x) {classlabels_strings=['a','b']}", "y:seq(map(str,f32))", "", "keyed by its labels"},
    {"x:f32[2,3] -> y = ai.onnx.ml.ZipMap(x) {classlabels_strings=['a','b']}", "error: columns and labels", "", "3 is not 2"},
    {"x:f32[N,3] -> z = ai.onnx.ml.ZipMap(x) {classlabels_strings=['a','b','c']}; y = ai.onnx.ml.DictVectorizer(z) {string_vocabulary=['a','b','c']}", "y:f32[1,3]", "written=12*N+12", "places of a vocabulary"},
    {"x:f32[N,3] -> z = ai.onnx.ml.ZipMap(x) {classlabels_strings=['a','b','c']}; y = ai.onnx.ml.DictVectorizer(z)", "error: vocabulary", "", "a vocabulary is needed"},
    {"x:f32[N,3] -> z = ai.onnx.ml.ZipMap(x) {classlabels_int64s=[0,1,2]}; y = ai.onnx.ml.CastMap(z) {map_form='SPARSE', max_map=5, cast_to='TO_INT64'}", "y:i64[1,5]", "written=12*N+40", "spread over five places"},
    {"x:f32[N,3] -> z = ai.onnx.ml.ZipMap(x) {classlabels_int64s=[0,1,2]}; y = ai.onnx.ml.CastMap(z)", "y:f32[1,?]", "", "as many as the map has"},
    {"x:f32[N,3] -> z = ai.onnx.ml.ZipMap(x); y = ai.onnx.ml.CastMap(z)", "error: no attribute gives the labels", "", "labels are needed"},
};

constexpr OpCase kModels[] = {
    {"x:f32[N,4] -> y, z = ai.onnx.ml.LinearClassifier(x) {coefficients=[1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0], intercepts=[1.0,1.0,1.0], classlabels_ints=[0,1,2], post_transform='SOFTMAX'}",
     "y:i64[N], z:f32[N,3]", "macs=12*N arith=3*N+12*N+2*N special=3*N comparisons=3*N+2*N read=16*N+60", "three models, softmax, the largest"},
    {"x:i64[N,4] -> y, z = ai.onnx.ml.LinearClassifier(x) {coefficients=[1.0,1.0,1.0,1.0], intercepts=[1.0], classlabels_strings=['a','b'], post_transform='LOGISTIC'}",
     "y:str[N], z:f32[N,2]", "macs=4*N special=2*N precision=float32", "one model for two labels"},
    {"x:f32[N,4] -> y, z = ai.onnx.ml.LinearClassifier(x) {coefficients=[1.0,1.0,1.0,1.0]}", "error: no attribute gives the classes", "", "labels are needed"},
    {"x:f32[N,4] -> y = ai.onnx.ml.LinearRegressor(x) {coefficients=[1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0], intercepts=[1.0,1.0], targets=2}", "y:f32[N,2]", "macs=8*N arith=2*N read=16*N+40", "two targets"},
    {"x:f32[4] -> y = ai.onnx.ml.LinearRegressor(x) {coefficients=[1.0,1.0,1.0,1.0], post_transform='PROBIT'}", "y:f32[1,1]", "macs=4 arith=13 special=3", "a vector is one row; no intercept"},
    {"x:f32[N,4] -> y = ai.onnx.ml.LinearRegressor(x) {coefficients=[1.0], targets=0}", "error: targets is 0", "", "no targets"},
    {"x:f32[2,3,4] -> y = ai.onnx.ml.LinearRegressor(x) {coefficients=[1.0]}", "error: rank 3", "", "a table"},
    // Three classes of two vectors: 6 kernels over 4 features, 2 coefficients per vector, 3 pairs.
    {"x:f32[N,4] -> y, z = ai.onnx.ml.SVMClassifier(x) {classlabels_ints=[0,1,2], vectors_per_class=[2,2,2], kernel_type='RBF', rho=[0.1,0.1,0.1]}",
     "y:i64[N], z:f32[N,3]", "macs=36*N arith=30*N+9*N+2*N special=6*N comparisons=5*N read=16*N+12", "differences and exp, coefficients, ρ, votes"},
    {"x:f32[N,4] -> y, z = ai.onnx.ml.SVMClassifier(x) {classlabels_ints=[0,1,2,3], vectors_per_class=[1,1,1,1], kernel_type='POLY'}", "y:i64[N], z:f32[N,6]", "macs=28*N special=4*N", "six pairs of four classes"},
    {"x:f32[N,4] -> y, z = ai.onnx.ml.SVMClassifier(x) {classlabels_strings=['a','b'], vectors_per_class=[1,1]}", "y:str[N], z:f32[N,2]", "macs=10*N special=0", "two classes"},
    {"x:f32[N,4] -> y, z = ai.onnx.ml.SVMClassifier(x) {classlabels_ints=[0,1,2], coefficients=[1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0]}", "z:f32[N,3]", "macs=12*N arith=5*N", "no vectors: linear weights"},
    {"x:f32[N,4] -> y, z = ai.onnx.ml.SVMClassifier(x) {classlabels_ints=[0,1,2], vectors_per_class=[2,2,2], prob_a=[0.1,0.1,0.1], prob_b=[0.1,0.1,0.1]}", "z:f32[N,3]", "mark=unmodelled", "probabilities are iterated"},
    {"x:f32[N,4] -> y, z = ai.onnx.ml.SVMClassifier(x) {classlabels_ints=[0,1], vectors_per_class=[1,1], kernel_type='ABC'}", "error: kernel_type is 'ABC'", "", "no such kernel"},
    {"x:f32[N,4] -> y = ai.onnx.ml.SVMRegressor(x) {n_supports=3, kernel_type='SIGMOID', coefficients=[0.5,0.5,0.5], rho=[0.1]}", "y:f32[N,1]", "macs=15*N arith=7*N special=3*N read=16*N+16", "2 and tanh a kernel, a coefficient, ρ"},
    {"x:f32[N,4] -> y = ai.onnx.ml.SVMRegressor(x) {n_supports=3, one_class=1}", "y:f32[N,1]", "arith=2*N comparisons=N", "a sign"},
    {"x:f32[N,4] -> y = ai.onnx.ml.SVMRegressor(x) {n_supports=-1}", "error: n_supports is -1", "", "no count"},
};

// Tree 0: a test whose true side is a second test with two leaves, and whose false side is a leaf. Tree 1: a leaf.
constexpr OpCase kTrees[] = {
    {"ai.onnx.ml=3 : x:f32[N,4] -> y, z = ai.onnx.ml.TreeEnsembleClassifier(x) {nodes_treeids=[0,0,0,0,0,1], nodes_nodeids=[0,1,2,3,4,0], nodes_featureids=[0,1,0,0,0,0], nodes_modes=['BRANCH_LEQ','BRANCH_LT','LEAF','LEAF','LEAF','LEAF'], nodes_values=[0.5,0.1,0.0,0.0,0.0,0.0], nodes_truenodeids=[1,3,0,0,0,0], nodes_falsenodeids=[2,4,0,0,0,0], class_treeids=[0,0,0,0,1], class_nodeids=[2,3,3,4,0], class_ids=[0,1,2,0,0], class_weights=[1.0,1.0,1.0,1.0,1.0], classlabels_int64s=[0,1,2]}",
     "y:i64[N], z:f32[N,3]", "macs=0 arith=2*N+3*N+2*N comparisons=4*N", "two tests and no more, three weights, the largest of three"},
    {"ai.onnx.ml=3 : x:f32[5,4] -> y, z = ai.onnx.ml.TreeEnsembleClassifier(x) {nodes_treeids=[0,0,0,0,0,1], nodes_nodeids=[0,1,2,3,4,0], nodes_featureids=[0,1,0,0,0,0], nodes_modes=['BRANCH_LEQ','BRANCH_LT','LEAF','LEAF','LEAF','LEAF'], nodes_values=[0.5,0.1,0.0,0.0,0.0,0.0], nodes_truenodeids=[1,3,0,0,0,0], nodes_falsenodeids=[2,4,0,0,0,0], class_treeids=[0,0,0,1], class_nodeids=[2,3,4,0], class_ids=[0,0,0,0], classlabels_strings=['a','b'], base_values=[0.1,0.1], post_transform='LOGISTIC'}",
     "y:str[5], z:f32[5,2]", "arith=35 special=10 read=80+40", "base values; two tests of 20 bytes"},
    {"ai.onnx.ml=3 : x:f32[N,4] -> y, z = ai.onnx.ml.TreeEnsembleClassifier(x) {nodes_treeids=[0,0,0,0,0,1], nodes_nodeids=[0,1,2,3,4,0], nodes_featureids=[0,1,0,0,0,0], nodes_modes=['BRANCH_LEQ','BRANCH_LT','LEAF','LEAF','LEAF','LEAF'], nodes_values=[0.5,0.1,0.0,0.0,0.0,0.0], nodes_truenodeids=[1,3,0,0,0,0], nodes_falsenodeids=[2,4,0,0,0,0]}", "error: no attribute gives the classes", "", "labels are needed"},
    {"ai.onnx.ml=3 : x:f32[N,4] -> y, z = ai.onnx.ml.TreeEnsembleClassifier(x) {classlabels_int64s=[0,1]}", "error: nodes_modes is missing", "mark=unmodelled", "no trees"},
    {"ai.onnx.ml=3 : x:f64[N,4] -> y = ai.onnx.ml.TreeEnsembleRegressor(x) {nodes_treeids=[0,0,0,0,0,1], nodes_nodeids=[0,1,2,3,4,0], nodes_featureids=[0,1,0,0,0,0], nodes_modes=['BRANCH_LEQ','BRANCH_LT','LEAF','LEAF','LEAF','LEAF'], nodes_values=[0.5,0.1,0.0,0.0,0.0,0.0], nodes_truenodeids=[1,3,0,0,0,0], nodes_falsenodeids=[2,4,0,0,0,0], target_treeids=[0,0,0,1], target_nodeids=[2,3,4,0], target_ids=[0,1,0,0], n_targets=2, aggregate_function='AVERAGE'}",
     "y:f32[N,2]", "arith=2*N+2*N+2*N comparisons=2*N", "a weight per tree, a mean per target"},
    {"ai.onnx.ml=3 : x:f32[N,4] -> y = ai.onnx.ml.TreeEnsembleRegressor(x) {nodes_treeids=[0,0,0,0,0,1], nodes_nodeids=[0,1,2,3,4,0], nodes_featureids=[0,1,0,0,0,0], nodes_modes=['BRANCH_LEQ','BRANCH_LT','LEAF','LEAF','LEAF','LEAF'], nodes_values=[0.5,0.1,0.0,0.0,0.0,0.0], nodes_truenodeids=[1,3,0,0,0,0], nodes_falsenodeids=[2,4,0,0,0,0], target_treeids=[0,0,0,1], target_nodeids=[2,3,4,0], target_ids=[0,0,0,0], aggregate_function='MAX'}",
     "y:f32[N,1]", "arith=4*N comparisons=4*N", "the largest instead of a sum"},
    {"x:f32[N,4] -> y = ai.onnx.ml.TreeEnsembleRegressor(x) {nodes_treeids=[0,0], nodes_nodeids=[0,1], nodes_modes=['BRANCH_LEQ','BRANCH_LEQ'], nodes_truenodeids=[1,0], nodes_falsenodeids=[1,0]}", "error: cycle", "", "nodes that lead to each other"},
    {"x:f32[N,4] -> y = ai.onnx.ml.TreeEnsembleRegressor(x) {nodes_treeids=[0], nodes_nodeids=[0], nodes_modes=['BRANCH_LEQ'], nodes_truenodeids=[7], nodes_falsenodeids=[0]}", "error: node 7 of tree 0", "", "a child that is not there"},
    {"x:f32[N,4] -> y = ai.onnx.ml.TreeEnsembleRegressor(x) {nodes_treeids=[0,0], nodes_nodeids=[0,0], nodes_modes=['LEAF','LEAF'], nodes_truenodeids=[0,0], nodes_falsenodeids=[0,0]}", "error: listed twice", "", "one id, two nodes"},
    {"x:f32[N,4] -> y = ai.onnx.ml.TreeEnsembleRegressor(x) {nodes_treeids=[0], nodes_nodeids=[0,1], nodes_modes=['LEAF','LEAF'], nodes_truenodeids=[0,0], nodes_falsenodeids=[0,0]}", "error: nodes_treeids has 1", "", "lists of one length"},
    {"ai.onnx.ml=5 : x:f16[N,4] -> y = ai.onnx.ml.TreeEnsemble(x) {n_targets=2, tree_roots=[0], nodes_trueleafs=[0,1], nodes_truenodeids=[1,0], nodes_falseleafs=[1,1], nodes_falsenodeids=[2,1]}", "y:f16[N,2]", "arith=3*N comparisons=2*N", "two tests, one leaf"},
    {"ai.onnx.ml=5 : x:f32[N,4] -> y = ai.onnx.ml.TreeEnsemble(x) {n_targets=1, tree_roots=[0,1], nodes_trueleafs=[1,1], nodes_truenodeids=[0,2], nodes_falseleafs=[1,1], nodes_falsenodeids=[1,3], aggregate_function=2, post_transform=2}", "y:f32[N,1]", "arith=4*N comparisons=4*N special=N", "two stumps, the least, a sigmoid"},
    {"ai.onnx.ml=5 : x:f32[N,4] -> y = ai.onnx.ml.TreeEnsemble(x) {n_targets=1, tree_roots=[3], nodes_trueleafs=[1], nodes_truenodeids=[0], nodes_falseleafs=[1], nodes_falsenodeids=[1]}", "error: node 3 does not exist", "", "a root that is not there"},
    {"ai.onnx.ml=5 : x:f32[N,4] -> y = ai.onnx.ml.TreeEnsemble(x) {n_targets=1, tree_roots=[0], nodes_trueleafs=[0], nodes_truenodeids=[0], nodes_falseleafs=[1], nodes_falsenodeids=[1]}", "error: cycle", "", "a node that leads to itself"},
};
// clang-format on

// A random binary tree by id: children of each test, −1 for a leaf.
struct RandomTree {
  std::vector<int> on_true, on_false;

  int longest(int node) const {
    const auto at = static_cast<std::size_t>(node);
    return on_true[at] < 0 ? 0 : 1 + std::max(longest(on_true[at]), longest(on_false[at]));
  }
};

RandomTree random_tree(std::mt19937& random, int splits) {
  RandomTree tree{{-1}, {-1}};
  for (int split = 0; split < splits; ++split) {
    std::size_t leaf = random() % tree.on_true.size();
    while (tree.on_true[leaf] >= 0) leaf = random() % tree.on_true.size();
    tree.on_true[leaf] = static_cast<int>(tree.on_true.size());
    tree.on_false[leaf] = static_cast<int>(tree.on_true.size()) + 1;
    tree.on_true.resize(tree.on_true.size() + 2, -1);
    tree.on_false.resize(tree.on_true.size(), -1);
  }
  return tree;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string result;
  for (const std::string& part : parts) result += (result.empty() ? "" : ",") + part;
  return "[" + result + "]";
}

}  // namespace

TEST_CASE("ai.onnx.ml feature preparation") { check_cases(kFeatures); }
TEST_CASE("ai.onnx.ml maps") { check_cases(kMaps); }
TEST_CASE("ai.onnx.ml linear models and support vector machines") { check_cases(kModels); }
TEST_CASE("ai.onnx.ml trees") { check_cases(kTrees); }

TEST_CASE("the longest path of every tree is what a recursive walk finds") {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> trees, ids, modes, on_true, on_false;
    int depth = 0;
    for (int t = 0; t < 3; ++t) {
      const RandomTree tree = random_tree(random, static_cast<int>(random() % 12));
      depth += tree.longest(0);
      for (std::size_t i = 0; i < tree.on_true.size(); ++i) {
        const bool leaf = tree.on_true[i] < 0;
        trees.push_back(std::to_string(t));
        ids.push_back(std::to_string(i));
        modes.push_back(leaf ? "'LEAF'" : "'BRANCH_LEQ'");
        on_true.push_back(std::to_string(leaf ? 0 : tree.on_true[i]));
        on_false.push_back(std::to_string(leaf ? 0 : tree.on_false[i]));
      }
    }
    const std::string text = "x:f32[1,4] -> y = ai.onnx.ml.TreeEnsembleRegressor(x) {nodes_treeids=" + joined(trees) +
                             ", nodes_nodeids=" + joined(ids) + ", nodes_modes=" + joined(modes) +
                             ", nodes_truenodeids=" + joined(on_true) + ", nodes_falsenodeids=" + joined(on_false) +
                             "}";
    CAPTURE(text);
    CHECK(analyze(graph(text)).totals.cost.comparisons == Dim(depth));
  }
}

TEST_CASE("a tree as deep as it is long needs no stack") {
  constexpr int kDepth = 200'000;
  Model model = graph("x:f32[N,4] -> y = ai.onnx.ml.TreeEnsemble(x) {n_targets=1, tree_roots=[0]}");
  std::vector<std::int64_t> next, inner, leaf;
  for (int i = 0; i < kDepth; ++i) {
    next.push_back(i + 1 < kDepth ? i + 1 : 0);
    inner.push_back(i + 1 < kDepth ? 0 : 1);
    leaf.push_back(1);
  }
  std::vector<Attribute>& attributes = model.graphs[0].nodes[0].attributes;
  attributes.push_back({.name = "nodes_truenodeids", .value = next, .reference = ""});
  attributes.push_back({.name = "nodes_trueleafs", .value = inner, .reference = ""});
  attributes.push_back({.name = "nodes_falsenodeids", .value = leaf, .reference = ""});
  attributes.push_back({.name = "nodes_falseleafs", .value = leaf, .reference = ""});
  CHECK(analyze(model).totals.cost.comparisons == kDepth * Dim::symbol("N"));
}

}  // namespace pagoda::test
