// Which structural features explain a quantity of models: rank correlations, linear fits, and a small regression tree
// (Breiman, Friedman, Olshen, Stone, Classification and Regression Trees, 1984) on the logarithm of the quantity.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "pagoda/base/cat.h"
#include "pagoda/base/statistics.h"
#include "pagoda/lab/result_report.h"

namespace pagoda::lab {
namespace {

using Eigen::Index, Eigen::VectorXd;

struct Column {
  std::string feature;
  VectorXd values;  // by model
};

struct Data {
  std::vector<std::string> models;
  std::vector<Column> columns;
  VectorXd y;  // logarithm of the quantity
};

double mean_of(const VectorXd& y, const std::vector<Index>& rows) {
  double sum = 0;
  for (const Index row : rows) sum += y[row];
  return sum / static_cast<double>(std::max<std::size_t>(1, rows.size()));
}

double squares(const VectorXd& y, const std::vector<Index>& rows) {
  const double mean = mean_of(y, rows);
  double sum = 0;
  for (const Index row : rows) sum += (y[row] - mean) * (y[row] - mean);
  return sum;
}

// Uses the features that every model has and that differ between models.
Data data_of(const std::map<std::string, double>& values, const ModelFeatures& features,
             std::vector<std::string>& missing) {
  Data data;
  std::vector<const std::vector<Feature>*> rows;
  for (const auto& [model, value] : values) {
    const auto found = features.find(model);
    if (found == features.end()) {
      missing.push_back(model);
      continue;
    }
    if (!(value > 0)) throw Error(model + ": found " + std::to_string(value) + ", expected a positive number");
    data.models.push_back(model);
    rows.push_back(&found->second);
  }
  if (data.models.size() < 4)
    throw Error(cat("explaining needs 4 models with a structure; found ", data.models.size()));
  const auto count = static_cast<Index>(rows.size());
  data.y.resize(count);
  for (Index i = 0; i < count; ++i) data.y[i] = std::log(values.at(data.models[static_cast<std::size_t>(i)]));
  for (std::size_t f = 0; f < rows.front()->size(); ++f) {
    Column column{(*rows.front())[f].name, VectorXd(count)};
    const bool is_complete = std::ranges::all_of(
        rows, [&](const std::vector<Feature>* row) { return f < row->size() && (*row)[f].value.has_value(); });
    for (Index i = 0; is_complete && i < count; ++i) column.values[i] = *(*rows[static_cast<std::size_t>(i)])[f].value;
    if (is_complete && !(column.values.maxCoeff() <= column.values.minCoeff()))
      data.columns.push_back(std::move(column));
  }
  return data;
}

VectorXd ranks(const VectorXd& values) {
  const std::vector<double> all = base::ranks({values.data(), static_cast<std::size_t>(values.size())});
  return Eigen::Map<const VectorXd>(all.data(), values.size());
}

double correlation(const VectorXd& a, const VectorXd& b) {
  const VectorXd da = a.array() - a.mean(), db = b.array() - b.mean();
  const double scale = da.norm() * db.norm();
  return scale > 0 ? da.dot(db) / scale : 0;
}

struct Split {
  const Column* column = nullptr;  // null: none
  double threshold = 0, gain = 0;  // gain: reduction of the sum of squares
};

// The split with the least remaining sum of squares; the threshold is midway between neighbouring values.
Split best_split(const Data& data, const std::vector<Index>& rows, std::size_t smallest_leaf) {
  Split best;
  const double before = squares(data.y, rows);
  for (const Column& column : data.columns) {
    std::vector<Index> order = rows;
    std::ranges::stable_sort(order, {}, [&](Index row) { return column.values[row]; });
    double total = 0, left = 0;
    for (const Index row : order) total += data.y[row];
    for (std::size_t i = 1; i < order.size(); ++i) {
      left += data.y[order[i - 1]];
      if (i < smallest_leaf || order.size() - i < smallest_leaf) continue;
      const double low = column.values[order[i - 1]], high = column.values[order[i]];
      if (low >= high) continue;
      // Σ(y−ȳ)² falls by n·m/(n+m)·(ȳ_left − ȳ_right)².
      const double n = static_cast<double>(i), m = static_cast<double>(order.size() - i);
      const double apart = left / n - (total - left) / m, gain = n * m / (n + m) * apart * apart;
      if (gain > best.gain * (1 + 1e-9) && gain > 1e-12 * (1 + before)) best = {&column, (low + high) / 2, gain};
    }
  }
  return best;
}

std::size_t grow(const Data& data, const std::vector<Index>& rows, std::size_t depth, double total,
                 const ExplainOptions& options, std::vector<TreeNode>& tree) {
  const std::size_t place = tree.size();
  tree.emplace_back();
  tree[place].count = rows.size();
  tree[place].mean = std::exp(mean_of(data.y, rows));
  const Split split = depth < options.depth ? best_split(data, rows, options.smallest_leaf) : Split{};
  if (!split.column) {
    for (const Index row : rows) tree[place].models.push_back(data.models[static_cast<std::size_t>(row)]);
    return place;
  }
  std::vector<Index> left, right;
  for (const Index row : rows) (split.column->values[row] <= split.threshold ? left : right).push_back(row);
  tree[place].feature = split.column->feature;
  tree[place].threshold = split.threshold;
  tree[place].explained = total > 0 ? split.gain / total : 0;
  const std::size_t l = grow(data, left, depth + 1, total, options, tree);
  const std::size_t r = grow(data, right, depth + 1, total, options, tree);
  tree[place].left = l;
  tree[place].right = r;
  return place;
}

double predicted(const Data& data, const std::vector<TreeNode>& tree, Index row) {
  std::size_t at = 0;
  while (!tree[at].feature.empty()) {
    const auto column = std::ranges::find(data.columns, tree[at].feature, &Column::feature);
    at = column->values[row] <= tree[at].threshold ? tree[at].left : tree[at].right;
  }
  return std::log(tree[at].mean);
}

// 1 − Σ(y − ŷ)² / Σ(y − ȳ)², with ŷ from a tree and ȳ from a mean that were formed without the model.
std::optional<double> explained_unseen(const Data& data, const ExplainOptions& options) {
  double missed = 0, spread = 0;
  for (Index out = 0; out < data.y.size(); ++out) {
    std::vector<Index> rows;
    for (Index row = 0; row < data.y.size(); ++row)
      if (row != out) rows.push_back(row);
    std::vector<TreeNode> tree;
    grow(data, rows, 0, 1, options, tree);
    missed += std::pow(data.y[out] - predicted(data, tree, out), 2);
    spread += std::pow(data.y[out] - mean_of(data.y, rows), 2);
  }
  return spread > 0 ? std::optional(1 - missed / spread) : std::nullopt;
}

}  // namespace

Explanation explain(const std::string& quantity, const std::map<std::string, double>& values,
                    const ModelFeatures& features, const ExplainOptions& options) {
  Explanation result;
  result.quantity = quantity;
  const Data data = data_of(values, features, result.missing);
  for (const std::string& model : data.models) result.ranks.emplace_back(model, values.at(model));
  std::ranges::stable_sort(result.ranks, {}, &std::pair<std::string, double>::second);
  const VectorXd order = ranks(data.y);
  for (const Column& column : data.columns) {
    const double linear = correlation(column.values, data.y);
    result.correlations.push_back(
        {column.feature, data.models.size(), correlation(ranks(column.values), order), linear, linear * linear});
  }
  std::ranges::stable_sort(result.correlations, std::greater(), [](const Correlation& c) { return std::abs(c.rank); });
  std::vector<Index> all(data.models.size());
  std::iota(all.begin(), all.end(), Index{0});
  const double total = squares(data.y, all);
  grow(data, all, 0, total, options, result.tree);
  std::map<std::string, double> shares;
  for (const TreeNode& node : result.tree) {
    result.explained += node.explained;
    if (!node.feature.empty()) shares[node.feature] += node.explained;
  }
  result.shares.assign(shares.begin(), shares.end());
  std::ranges::stable_sort(result.shares, std::greater(), &std::pair<std::string, double>::second);
  result.explained_unseen = explained_unseen(data, options);
  return result;
}

}  // namespace pagoda::lab
