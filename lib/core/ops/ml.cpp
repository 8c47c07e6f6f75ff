// ai.onnx.ml: feature preparation, linear models, support vector machines, trees. Their weights are attributes; those
// that every run reads in full count with their stored bytes, 4 per real and 8 per integer. Strings and maps have no
// fixed width.
#include <array>
#include <map>
#include <span>
#include <unordered_map>

#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

constexpr int kRealBytes = 4;
constexpr int kIntegerBytes = 8;

// The longer of two alternative lists: labels and categories are given as integers or as strings.
std::size_t longer_list(const OpContext& op, std::string_view integers, std::string_view strings) {
  return std::max(list_length(op, integers), list_length(op, strings));
}

// X is [N, F]; a vector is one row.
struct Table {
  Dim rows, features;
};

Table table_of(const OpContext& op) {
  const Shape& shape = op.shape(0);
  if (shape.size() == 1) return {1, shape[0]};
  if (shape.size() != 2) op.fail(cat("X has rank ", shape.size(), ", expected 1 or 2"));
  return {shape[0], shape[1]};
}

// --- feature preparation ---

// The indices select columns of the last axis.
Shape array_features_shape(OpContext& op) {
  Shape output = op.shape(0);
  if (output.empty()) op.fail("X is a scalar");
  if (output.size() == 1) output.insert(output.begin(), Dim(1));
  output.back() = op.elements(1);
  return output;
}

// y = x > threshold; x == replaced ? imputed : x; a look-up, which counts as one comparison, as in a hash table.
constexpr auto kCostComparison = cost_each<1, 0, 1>;

void infer_category_mapper(OpContext& op) {
  set_shape_of_first(op, op.element(0) == ElementType::String ? ElementType::Int64 : ElementType::String);
}

constexpr std::pair<std::string_view, ElementType> kEncoderValues[] = {{"values_floats", ElementType::Float32},
                                                                       {"values_int64s", ElementType::Int64},
                                                                       {"values_strings", ElementType::String}};

// The values decide the type; version 1 maps strings to their positions in classes_strings, and back.
void infer_label_encoder(OpContext& op) {
  if (op.has_attribute("classes_strings") || op.opset() < 2) return infer_category_mapper(op);
  if (const auto* values = attribute_if<Tensor>(op, "values_tensor"))
    return set_shape_of_first(op, values->type.element);
  for (const auto& [attribute, element] : kEncoderValues)
    if (op.has_attribute(attribute)) return set_shape_of_first(op, element);
  op.fail("no attribute gives the values");
}

Shape one_hot_shape(OpContext& op) {
  const Shape& input = op.shape(0);
  const std::size_t categories = longer_list(op, "cats_int64s", "cats_strings");
  if (categories == 0) op.fail("no attribute gives the categories");
  return appended(input, {Dim(categories)});
}

// (x − offset)·scale.
OpCost cost_scaler(const OpContext& op) {
  OpCost cost = cost_each<2>(op);
  cost.read(PartMoved::kAttributes, kRealBytes * (list_length(op, "offset") + list_length(op, "scale")));
  return cost;
}

// MAX: the largest, a division. L1: absolute value, sum, division. L2: square, sum, division; a root per row.
OpCost cost_normalizer(const OpContext& op) {
  const std::string_view norm = op.attribute("norm", "MAX");
  if (norm == "MAX") return cost_each<2, 0, 1>(op);
  if (norm == "L1") return cost_each<3, 0, 1>(op);
  if (norm != "L2") op.fail(cat("norm is '", norm, "'"));
  return cost_each<3>(op) + Work{.special = table_of(op).rows};
}

Shape features_shape(OpContext& op) {
  Dim rows = 1, columns = 0;
  for (int i = 0; i < op.input_count(); ++i) {
    const Shape& part = op.shape(i);
    if (part.empty()) op.fail(cat("input ", i, " is a scalar"));
    const Dim own_rows = part.size() == 1 ? Dim(1) : part[0];
    rows = i == 0 ? own_rows : op.unify(rows, own_rows, "rows of the inputs");
    columns += element_count(Shape(part.begin() + (part.size() == 1 ? 0 : 1), part.end()));
  }
  // If the attribute states sizes, that many elements are copied.
  if (const auto stated = op.integer_list("inputdimensions"); stated && !stated->empty()) {
    columns = 0;
    for (const std::int64_t size : *stated) {
      if (size < 0) op.fail(cat("inputdimensions holds ", size));
      columns += size;
    }
  }
  return {rows, columns};
}

// --- maps ---

// One output row per map: [1, entries]. Sparse maps are spread over max_map columns.
void infer_cast_map(OpContext& op) {
  const std::string_view to = op.attribute("cast_to", "TO_FLOAT");
  ElementType element = ElementType::Float32;
  if (to == "TO_STRING") element = ElementType::String;
  if (to == "TO_INT64") element = ElementType::Int64;
  const bool sparse = op.attribute("map_form", "DENSE") == "SPARSE";
  const Dim entries = sparse ? Dim(positive_or_one(op, "max_map")) : op.fresh("entries", "entries of a map");
  op.set_output(0, element, {Dim(1), entries});
}

void infer_dict_vectorizer(OpContext& op) {
  const std::size_t words = longer_list(op, "int64_vocabulary", "string_vocabulary");
  if (words == 0) op.fail("no attribute gives the vocabulary");
  op.set_output(0, op.element(0), {Dim(1), Dim(words)});
}

// Everything written was read from the map.
OpCost cost_from_map(const OpContext& op) { return cost_moving(op.output_bytes(0), op.output(0).element); }

// [N, C] → a map per row, from the labels to the row's numbers.
void infer_zip_map(OpContext& op) {
  const std::size_t labels = longer_list(op, "classlabels_int64s", "classlabels_strings");
  if (labels == 0) op.fail("no attribute gives the labels");
  if (op.has_shape(0)) op.unify(table_of(op).features, Dim(labels), "columns and labels");
  op.set_output(0, {.element = ElementType::Float32,
                    .shape = std::nullopt,
                    .container = Container::SequenceOfMaps,
                    .key = list_length(op, "classlabels_strings") > 0 ? ElementType::String : ElementType::Int64});
}

OpCost cost_zip_map(const OpContext& op) { return cost_moving(op.input_bytes(0), op.element(0)); }

// --- scores ---

// Work per score. Softmax takes 4 and exp; SOFTMAX_ZERO adds a comparison with 0. PROBIT is √2·erf⁻¹(2x − 1) by
// Winitzki's formula: 13 operations, a log and two roots.
Work post_transform_work(const OpContext& op, std::string_view name) {
  if (name == "NONE") return {};
  if (name == "SOFTMAX") return softmax_work();
  if (name == "SOFTMAX_ZERO") return softmax_work() + Work{.arith = 1, .comparisons = 1};
  if (name == "LOGISTIC") return {.special = 1};
  if (name == "PROBIT") return {.arith = 13, .special = 3};
  op.fail(cat("post_transform is '", name, "'"));
}

Work post_transform_work(const OpContext& op) {
  return post_transform_work(op, op.attribute("post_transform", "NONE"));
}

// The labels of a classifier: a list of integers or a list of strings.
struct Classes {
  std::size_t count;
  bool are_integers;
};

Classes classes_of(const OpContext& op, std::string_view integers) {
  const Classes classes{longer_list(op, integers, "classlabels_strings"), list_length(op, integers) > 0};
  if (classes.count == 0) op.fail("no attribute gives the classes");
  return classes;
}

// Output 0 the label of each row, output 1 its scores.
void set_classes(OpContext& op, const Classes& classes, std::size_t scores) {
  const Dim rows = table_of(op).rows;
  op.set_output(0, classes.are_integers ? ElementType::Int64 : ElementType::String, {rows});
  op.set_output(1, ElementType::Float32, {rows, Dim(scores)});
}

// The label belongs to the largest score.
Work best_class_work(const OpContext& op, const Dim& rows) { return compared(rows * (op.output_shape(1)[1] - 1)); }

// --- linear models ---

void infer_linear_classifier(OpContext& op) {
  const std::size_t labels = longer_list(op, "classlabels_ints", "classlabels_strings");
  const std::size_t models = list_length(op, "intercepts");
  // One model for two labels: the second score follows from the first.
  const std::size_t scores = models == 0 ? labels : std::max(models, labels == 2 ? labels : models);
  if (scores == 0) op.fail("no attribute gives the classes");
  set_classes(op, {labels, list_length(op, "classlabels_ints") > 0}, scores);
}

// A mac per row and coefficient.
OpCost cost_linear(const OpContext& op, std::size_t intercepts) {
  const std::size_t coefficients = list_length(op, "coefficients");
  OpCost cost = in_precision(ElementType::Float32, op.streamed()) + Work{.macs = table_of(op).rows * coefficients};
  cost.read(PartMoved::kAttributes, kRealBytes * (coefficients + intercepts));
  return cost;
}

OpCost cost_linear_classifier(const OpContext& op) {
  const std::size_t intercepts = list_length(op, "intercepts");
  const Dim rows = table_of(op).rows;
  return cost_linear(op, intercepts) + Work{.arith = rows * intercepts} +
         post_transform_work(op) * op.output_elements(1) + best_class_work(op, rows);
}

// [rows, columns], of float32 unless stated.
void set_table(OpContext& op, const Dim& columns, ElementType element = ElementType::Float32) {
  set_element(op, 0, element);
  op.set_output(0, element, {table_of(op).rows, columns});
}

void infer_linear_regressor(OpContext& op) { set_table(op, positive_or_one(op, "targets")); }

OpCost cost_linear_regressor(const OpContext& op) {
  const std::size_t intercepts = list_length(op, "intercepts");
  const Work sums = {.arith = intercepts > 0 ? 1 : 0};
  return cost_linear(op, intercepts) + (sums + post_transform_work(op)) * op.output_elements(0);
}

// --- support vector machines ---

// Kernel of every row with every support vector. LINEAR: F macs. POLY: γ·dot + c (2), pow. SIGMOID: the same, tanh.
// RBF: F differences and F macs, −γ·(1), exp.
OpCost kernel_cost(const OpContext& op, const Dim& vectors) {
  const Table table = table_of(op);
  const std::string_view kernel = op.attribute("kernel_type", "LINEAR");
  const Dim pairs = table.rows * vectors;
  OpCost cost = in_precision(ElementType::Float32, op.streamed()) + Work{.macs = pairs * table.features};
  if (kernel == "POLY" || kernel == "SIGMOID") {
    cost += Work{.arith = 2, .special = 1} * pairs;
  } else if (kernel == "RBF") {
    cost += Work{.arith = table.features + 1, .special = 1} * pairs;
  } else if (kernel != "LINEAR") {
    op.fail(cat("kernel_type is '", kernel, "'"));
  }
  for (const std::string_view weights : {"support_vectors", "coefficients", "rho", "prob_a", "prob_b"})
    cost.read(PartMoved::kAttributes, kRealBytes * list_length(op, weights));
  return cost;
}

std::int64_t support_vectors(const OpContext& op) {
  constexpr std::int64_t kMostPerClass = std::int64_t{1} << 31;
  std::int64_t vectors = 0;
  for (const std::int64_t count : op.integer_list("vectors_per_class").value_or(std::vector<std::int64_t>{})) {
    if (count < 0 || count > kMostPerClass) op.fail(cat("vectors_per_class holds ", count));
    vectors += count;
  }
  return vectors;
}

// One score per pair of classes, or per class if probabilities or linear weights are given; two for two classes.
void infer_svm_classifier(OpContext& op) {
  const Classes classes = classes_of(op, "classlabels_ints");
  const std::size_t count = classes.count;
  const bool pairwise = support_vectors(op) > 0 && list_length(op, "prob_a") == 0;
  set_classes(op, classes, count == 2 ? 2 : pairwise ? count * (count - 1) / 2 : count);
}

// With support vectors, every pair of classes weights the vectors of both: (C − 1) coefficients per vector, and ρ. Each
// pair votes with a comparison and an addition.
OpCost cost_svm_classifier(const OpContext& op) {
  const std::size_t classes = longer_list(op, "classlabels_ints", "classlabels_strings");
  if (list_length(op, "prob_a") > 0) op.unknown("class probabilities are iterated until they converge");
  const Dim rows = table_of(op).rows;
  const std::int64_t vectors = support_vectors(op);
  OpCost cost = kernel_cost(op, vectors > 0 ? Dim(vectors) : Dim(classes));
  const Dim pairs = classes * (classes - 1) / 2;
  if (vectors > 0) {
    cost.macs += rows * vectors * (classes - 1);
    cost += Work{.arith = 3, .comparisons = 1} * (rows * pairs);
  } else {
    cost.arith += rows * classes;
  }
  return std::move(cost) + post_transform_work(op) * op.output_elements(1) + compared(rows * (Dim(classes) - 1));
}

void infer_svm_regressor(OpContext& op) { set_table(op, 1); }

// A coefficient per vector, and ρ; a one-class machine compares the result with 0.
OpCost cost_svm_regressor(const OpContext& op) {
  const Dim rows = table_of(op).rows;
  const std::int64_t vectors = op.attribute("n_supports", 0);
  if (vectors < 0) op.fail(cat("n_supports is ", vectors));
  OpCost cost = kernel_cost(op, vectors > 0 ? Dim(vectors) : Dim(1));
  if (vectors > 0) cost.macs += rows * vectors;
  if (op.flag("one_class")) cost += compared(rows);
  return std::move(cost) + (Work{.arith = 1} + post_transform_work(op)) * rows;
}

// --- trees: parallel lists of nodes. Longest paths are found without recursion: a tree in a file may be as deep as its
// list is long ---

struct Forest {
  std::int64_t tests = 0;    // nodes that test a feature
  std::int64_t depth = 0;    // Σ over the trees: tests on the longest path from the root to a leaf
  std::int64_t weights = 0;  // Σ over the trees: the most weights that a leaf adds
};

constexpr std::int64_t kLeaf = -1;

// The indices of the nodes that follow a test; kLeaf for a leaf.
struct Test {
  std::int64_t on_true = kLeaf, on_false = kLeaf;
};

// Not copied: a large forest has millions of entries.
std::span<const std::int64_t> list(const OpContext& op, std::string_view name) {
  const std::vector<std::int64_t>* found = op.node().integers(name);
  return found == nullptr ? std::span<const std::int64_t>() : std::span(*found);
}

// The same; ends the rule unless it has `expected` entries.
std::span<const std::int64_t> list(const OpContext& op, std::string_view name, std::size_t expected) {
  const auto found = list(op, name);
  if (found.size() != expected) op.fail(cat(name, " has ", found.size(), " entries, expected ", expected));
  return found;
}

// The number of tests on the longest path from each node, memoised. Reaching a node of the current path is a cycle.
class Depths {
 public:
  Depths(const OpContext& op, const std::vector<Test>& tests)
      : op_(op), tests_(tests), depths_(tests.size(), kUnvisited) {}

  std::int64_t from(std::int64_t root) {
    if (root == kLeaf) return 0;
    std::vector<std::int64_t> path = {root};
    while (!path.empty()) {
      const auto at = static_cast<std::size_t>(path.back());
      depths_[at] = kOnPath;
      std::int64_t longest = 0;
      bool ready = true;
      for (const std::int64_t next : {tests_[at].on_true, tests_[at].on_false}) {
        if (next == kLeaf) continue;
        const std::int64_t depth = depths_[next];
        if (depth == kOnPath) op_.fail("tree nodes form a cycle");
        if (depth == kUnvisited) {
          path.push_back(next);
          ready = false;
          break;
        }
        longest = std::max(longest, depth);
      }
      if (!ready) continue;
      depths_[at] = longest + 1;
      path.pop_back();
    }
    return depths_[root];
  }

 private:
  static constexpr std::int64_t kUnvisited = -1, kOnPath = -2;
  const OpContext& op_;
  const std::vector<Test>& tests_;
  std::vector<std::int64_t> depths_;
};

// The index of a node, by tree and id.
class Places {
 public:
  Places(const OpContext& op, std::span<const std::int64_t> trees, std::span<const std::int64_t> ids) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (!places_.emplace(std::pair(trees[i], ids[i]), static_cast<std::int64_t>(i)).second)
        op.fail(cat("node ", ids[i], " of tree ", trees[i], " is listed twice"));
  }

  std::optional<std::int64_t> find(std::int64_t tree, std::int64_t id) const {
    const auto found = places_.find({tree, id});
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  struct Hash {
    std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& key) const {
      constexpr std::size_t kGolden = 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio
      return std::hash<std::int64_t>()(key.first) * kGolden + std::hash<std::int64_t>()(key.second);
    }
  };
  std::unordered_map<std::pair<std::int64_t, std::int64_t>, std::int64_t, Hash> places_;
};

// TreeEnsembleClassifier and -Regressor: nodes_treeids, nodes_nodeids, nodes_truenodeids, nodes_falsenodeids,
// nodes_modes; the weights of leaves under `prefix` ("class" or "target") in …_treeids and …_nodeids.
// Ends the rule if the lists do not form trees.
Forest forest_of_nodes(const OpContext& op, std::string_view prefix) {
  const auto* modes = attribute_if<std::vector<std::string>>(op, "nodes_modes");
  if (modes == nullptr || modes->empty()) op.unknown("attribute nodes_modes is missing: the trees are not known");
  const std::size_t count = modes->size();
  const auto tree_ids = list(op, "nodes_treeids", count);
  const auto node_ids = list(op, "nodes_nodeids", count);
  const auto on_true = list(op, "nodes_truenodeids", count);
  const auto on_false = list(op, "nodes_falsenodeids", count);

  const Places places(op, tree_ids, node_ids);
  Forest forest;
  std::vector<Test> tests(count);
  std::vector<bool> is_child(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    if ((*modes)[i] == "LEAF") continue;
    ++forest.tests;
    const auto follow = [&](std::int64_t id) {
      const auto place = places.find(tree_ids[i], id);
      if (!place) op.fail(cat("node ", id, " of tree ", tree_ids[i], " does not exist"));
      is_child[*place] = true;
      return (*modes)[*place] == "LEAF" ? kLeaf : *place;
    };
    tests[i] = {follow(on_true[i]), follow(on_false[i])};
  }

  const auto weight_trees = list(op, cat(prefix, "_treeids"));
  const auto weight_nodes = list(op, cat(prefix, "_nodeids"), weight_trees.size());
  std::vector<std::int64_t> weights(count, 0);
  for (std::size_t i = 0; i < weight_trees.size(); ++i)
    if (const auto place = places.find(weight_trees[i], weight_nodes[i])) ++weights[*place];

  Depths depths(op, tests);
  struct Tree {
    std::int64_t depth = 0, weights = 0;
    bool is_rooted = false;
  };
  std::map<std::int64_t, Tree> trees;
  for (std::size_t i = 0; i < count; ++i) {
    Tree& tree = trees[tree_ids[i]];
    tree.weights = std::max(tree.weights, weights[i]);
    tree.is_rooted = tree.is_rooted || !is_child[i];
    if (is_child[i] || (*modes)[i] == "LEAF") continue;
    tree.depth = std::max(tree.depth, depths.from(static_cast<std::int64_t>(i)));
  }
  for (const auto& [id, tree] : trees) {
    if (!tree.is_rooted) op.fail(cat("the nodes of tree ", id, " form a cycle"));
    forest.depth += tree.depth;
    forest.weights += tree.weights;
  }
  return forest;
}

// TreeEnsemble: tree_roots, nodes_trueleafs, nodes_truenodeids, nodes_falseleafs, nodes_falsenodeids. Every leaf adds
// one weight.
Forest forest_of_roots(const OpContext& op) {
  const auto roots = list(op, "tree_roots");
  const auto on_true = list(op, "nodes_truenodeids");
  if (roots.empty() || on_true.empty())
    op.unknown("attributes tree_roots and nodes_truenodeids are missing: the trees are not known");
  const std::size_t count = on_true.size();
  const auto true_leafs = list(op, "nodes_trueleafs", count);
  const auto false_leafs = list(op, "nodes_falseleafs", count);
  const auto on_false = list(op, "nodes_falsenodeids", count);

  const auto node = [&](std::int64_t index) {
    if (index < 0 || static_cast<std::size_t>(index) >= count) op.fail(cat("node ", index, " does not exist"));
    return index;
  };
  Forest forest{.tests = static_cast<std::int64_t>(count), .weights = static_cast<std::int64_t>(roots.size())};
  std::vector<Test> tests(count);
  for (std::size_t i = 0; i < count; ++i)
    tests[i] = {true_leafs[i] != 0 ? kLeaf : node(on_true[i]), false_leafs[i] != 0 ? kLeaf : node(on_false[i])};
  Depths depths(op, tests);
  for (const std::int64_t root : roots) forest.depth += depths.from(node(root));
  return forest;
}

// Per row and tree: the longest path of tests, an upper bound for every row, and the most weights of a leaf; per score:
// its base value. A visited test reads its threshold, feature and next node; at most all tests are read.
void add_forest(OpCost& cost, const OpContext& op, const Forest& forest, const Dim& rows, int scores) {
  cost.arith += rows * (forest.depth + forest.weights);
  cost.comparisons += rows * forest.depth;
  cost.read(PartMoved::kAttributes, (kRealBytes + 2 * kIntegerBytes) * min(Dim(forest.tests), rows * forest.depth));
  const Dim results = op.output_elements(scores);
  if (list_length(op, "base_values") > 0 || op.has_attribute("base_values_as_tensor")) cost.arith += results;
}

void infer_tree_classifier(OpContext& op) {
  const Classes classes = classes_of(op, "classlabels_int64s");
  set_classes(op, classes, classes.count);
}

OpCost cost_tree_classifier(const OpContext& op) {
  const Dim rows = table_of(op).rows;
  OpCost cost = op.streamed();
  add_forest(cost, op, forest_of_nodes(op, "class"), rows, 1);
  return std::move(cost) + post_transform_work(op) * op.output_elements(1) + best_class_work(op, rows);
}

void infer_tree_regressor(OpContext& op) { set_table(op, positive_or_one(op, "n_targets")); }

// Output 0 holds the scores. SUM by default; MIN and MAX compare where SUM adds.
OpCost cost_of_forest(const OpContext& op, const Forest& forest, std::string_view function,
                      std::string_view transform) {
  const Dim rows = table_of(op).rows;
  OpCost cost = op.streamed();
  add_forest(cost, op, forest, rows, 0);
  if (function == "AVERAGE") cost.arith += op.output_elements(0);
  if (function == "MIN" || function == "MAX") cost.comparisons += rows * forest.weights;
  return std::move(cost) + post_transform_work(op, transform) * op.output_elements(0);
}

OpCost cost_tree_regressor(const OpContext& op) {
  return cost_of_forest(op, forest_of_nodes(op, "target"), op.attribute("aggregate_function", "SUM"),
                        op.attribute("post_transform", "NONE"));
}

void infer_tree_ensemble(OpContext& op) { set_table(op, positive_or_one(op, "n_targets"), op.element(0)); }

// The attributes are numbers here (ONNX Operators-ml.md, TreeEnsemble). Set membership counts as one test.
OpCost cost_tree_ensemble(const OpContext& op) {
  constexpr std::array<std::string_view, 4> kFunctions = {"AVERAGE", "SUM", "MIN", "MAX"};
  constexpr std::array<std::string_view, 5> kTransforms = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const auto choice = [&](std::string_view name, std::int64_t otherwise, std::size_t choices) {
    const std::int64_t value = op.attribute(name, otherwise);
    if (value < 0 || static_cast<std::size_t>(value) >= choices) op.fail(cat(name, " is ", value));
    return static_cast<std::size_t>(value);
  };
  return cost_of_forest(op, forest_of_roots(op), kFunctions[choice("aggregate_function", 1, kFunctions.size())],
                        kTransforms[choice("post_transform", 0, kTransforms.size())]);
}

// clang-format off
constexpr OpRule kMlRules[] = {
    // op                      infer                         cost                    fold     cost in words
    {"ArrayFeatureExtractor",  shaped<array_features_shape>, cost_repeated_by,       nullptr, "no arithmetic; reads the columns it picks", kLearner},
    {"Binarizer",              infer_same,                   kCostComparison,        nullptr, "1 comparison per element", kLearner},
    {"CastMap",                infer_cast_map,               cost_from_map,          nullptr, "no arithmetic; reads what it writes", kLearner},
    {"CategoryMapper",         infer_category_mapper,        kCostComparison,        nullptr, "1 look-up per element", kLearner},
    {"DictVectorizer",         infer_dict_vectorizer,        cost_from_map,          nullptr, "no arithmetic; reads what it writes", kLearner},
    {"FeatureVectorizer",      shaped_as<features_shape, ElementType::Float32>, cost_move,              nullptr, "no arithmetic; reads and writes all", kLearner},
    {"Imputer",                infer_same,                   kCostComparison,        nullptr, "1 comparison per element", kLearner},
    {"LabelEncoder",           infer_label_encoder,          kCostComparison,        nullptr, "1 look-up per element", kLearner},
    {"LinearClassifier",       infer_linear_classifier,      cost_linear_classifier, nullptr, "F macs and an intercept per model, transformation per score, C − 1 comparisons per row", kLearner},
    {"LinearRegressor",        infer_linear_regressor,       cost_linear_regressor,  nullptr, "F macs, intercept, transformation per target", kLearner},
    {"Normalizer",             infer_shape_of_first<ElementType::Float32>, cost_normalizer,        nullptr, "MAX 2, L1 3, L2 3 per element and a root per row", kLearner},
    {"OneHotEncoder",          shaped_as<one_hot_shape, ElementType::Float32>, cost_compared,          nullptr, "1 look-up per input element", kLearner},
    {"SVMClassifier",          infer_svm_classifier,         cost_svm_classifier,    nullptr, "F macs and kernel per support vector, C − 1 coefficients per vector, ρ and vote per pair of classes", kLearner},
    {"SVMRegressor",           infer_svm_regressor,          cost_svm_regressor,     nullptr, "F macs, kernel and coefficient per support vector, ρ", kLearner},
    {"Scaler",                 infer_shape_of_first<ElementType::Float32>, cost_scaler,            nullptr, "sub, mul per element", kLearner},
    {"TreeEnsemble",           infer_tree_ensemble,          cost_tree_ensemble,     nullptr, "per row at most the longest path of every tree in comparisons, an add per tree", kLearner},
    {"TreeEnsembleClassifier", infer_tree_classifier,        cost_tree_classifier,   nullptr, "per row at most the longest path of every tree in comparisons, an add per weight of its leaf, C − 1 comparisons", kLearner},
    {"TreeEnsembleRegressor",  infer_tree_regressor,         cost_tree_regressor,    nullptr, "per row at most the longest path of every tree in comparisons, an add per weight of its leaf", kLearner},
    {"ZipMap",                 infer_zip_map,                cost_zip_map,           nullptr, "no arithmetic; reads what it writes", kLearner},
};
// clang-format on
static_assert(well_formed(kMlRules));

}  // namespace

std::span<const OpRule> ml_rules() { return kMlRules; }

}  // namespace pagoda::inline core::ops
