// Backward of normalisations, softmax and reductions, written as loops over counting numbers. The loops must cost what
// the rules say; their values must be the products of dy with the exact Jacobian, from dual numbers.
#include <doctest/doctest.h>

#include <functional>

#include "pagoda/core/train.h"
#include "support/text_graph.h"
#include "train/cases.h"
#include "train/counted.h"

using namespace pagoda;
using test::Counted;
using test::Counts;
using test::Dual;

namespace {

using Duals = std::vector<Dual>;
using Reals = std::vector<Counted>;

// Sample data and arriving gradients with varying values.
double sample(std::size_t i) { return 0.2 + 0.37 * static_cast<double>(i % 7) - 0.11 * static_cast<double>(i % 5); }

// dx_j = Σ_i dy_i · ∂y_i/∂x_j.
std::vector<double> exact(const std::function<Duals(const Duals&)>& forward, const std::vector<double>& x,
                          const Reals& dy) {
  std::vector<double> dx;
  for (std::size_t j = 0; j < x.size(); ++j) {
    Duals seeded;
    for (std::size_t i = 0; i < x.size(); ++i) seeded.emplace_back(x[i], i == j ? 1.0 : 0.0);
    const Duals y = forward(seeded);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += dy[i].v * y[i].d;
    dx.push_back(sum);
  }
  return dx;
}

std::vector<double> samples(std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(sample(i + 1));
  return values;
}

Reals numbers(const std::vector<double>& values) { return {values.begin(), values.end()}; }

Reals arriving(std::size_t count) {
  Reals dy;
  for (std::size_t i = 0; i < count; ++i) dy.emplace_back(sample(3 * i + 2));
  return dy;
}

// The training row of y = Op(x …), where x is an activation that depends on a parameter.
TrainingRow row_of(const std::string& shape, const std::string& node, const std::string& more = "") {
  const Model model = test::graph("opset=23 : x0:f32" + shape + ", w:f32" + shape + "=const" + more +
                                  " -> x = Add(x0, w); y = " + node);
  const Training training = train(model, analyze(model));
  REQUIRE_MESSAGE(!training.partial, node << ": " << training.rows[1].problem);
  return training.rows[1];
}

void check(const OpCost& got, const Counts& expected) {
  CHECK(got.arith == Dim(expected.arith));
  CHECK(got.special == Dim(expected.special));
  CHECK(got.comparisons == Dim(expected.comparisons));
}

void check_values(const Reals& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].v == doctest::Approx(expected[i]));
}

// --- statistics over groups of elements ---

struct NormCase {
  const char* name;
  std::string shape, node;
  std::size_t elements, rows, scales;                  // `scales` entries of γ and β; 0: none
  std::function<std::size_t(std::size_t)> row, scale;  // index of an element's row, scale
  bool centred = true, batch = false;
};

const std::size_t kSpatial = 6;  // of [2,4,2,3]

const NormCase kNorms[] = {
    {"LayerNormalization", "[4,6]", "LayerNormalization(x, g, b)", 24, 4, 6, [](std::size_t i) { return i / 6; },
     [](std::size_t i) { return i % 6; }},
    {"RMSNormalization", "[4,6]", "RMSNormalization(x, g)", 24, 4, 6, [](std::size_t i) { return i / 6; },
     [](std::size_t i) { return i % 6; }, false},
    {"InstanceNormalization", "[2,4,2,3]", "InstanceNormalization(x, g, b)", 48, 8, 4,
     [](std::size_t i) { return i / kSpatial; }, [](std::size_t i) { return i / kSpatial % 4; }},
    {"GroupNormalization", "[2,4,2,3]", "GroupNormalization(x, g, b) {num_groups=2}", 48, 4, 4,
     [](std::size_t i) { return i / (2 * kSpatial); }, [](std::size_t i) { return i / kSpatial % 4; }},
    {"MeanVarianceNormalization", "[2,4,2,3]", "MeanVarianceNormalization(x)", 48, 4, 0,
     [](std::size_t i) { return i / kSpatial % 4; }, [](std::size_t) { return std::size_t{0}; }},
    {"BatchNormalization", "[2,4,2,3]", "BatchNormalization(x, g, b, m, v)", 48, 4, 4,
     [](std::size_t i) { return i / kSpatial % 4; }, [](std::size_t i) { return i / kSpatial % 4; }, true, true},
};

// Mean and 1/√(variance + ε) of each row; if not centred, 0 and 1/√(mean square + ε).
template <typename T>
std::vector<std::pair<T, T>> statistics(const NormCase& norm, const std::vector<T>& x) {
  const double count = static_cast<double>(norm.elements / norm.rows);
  std::vector<std::pair<T, T>> result(norm.rows, {T(0), T(0)});
  if (norm.centred)
    for (std::size_t i = 0; i < x.size(); ++i) result[norm.row(i)].first = result[norm.row(i)].first + x[i] / T(count);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T away = x[i] - result[norm.row(i)].first;
    result[norm.row(i)].second = result[norm.row(i)].second + away * away / T(count);
  }
  return result;
}

Duals normalise(const NormCase& norm, const Duals& x) {
  const auto found = statistics(norm, x);
  Duals y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back((x[i] - found[norm.row(i)].first) / sqrt(found[norm.row(i)].second + 1e-5) *
                (norm.scales == 0 ? 1.0 : sample(norm.scale(i) + 4)));
  return y;
}

}  // namespace

TEST_CASE("normalisations: gradients of data, scale and bias are right and take what the rules say") {
  for (const NormCase& norm : kNorms) {
    CAPTURE(std::string(norm.name));
    const std::vector<double> values = samples(norm.elements);
    const Reals x = numbers(values);
    const Reals dy = arriving(norm.elements);
    std::vector<Counted> mean, rstd;
    for (const auto& [m, variance] : statistics(norm, x)) {
      mean.push_back(m);
      rstd.push_back(1 / std::sqrt(variance.v + 1e-5));
    }
    const auto normalised = [&](std::size_t i) {
      return norm.centred ? (x[i] - mean[norm.row(i)]) * rstd[norm.row(i)] : x[i] * rstd[norm.row(i)];
    };
    const Counted count = static_cast<double>(norm.elements / norm.rows);

    // dγ and dβ: the first term of a sum takes no addition.
    Counted::counts = {};
    Reals scale_sums(norm.scales), bias_sums(norm.scales);
    std::vector<bool> begun(norm.scales, false);
    const bool has_bias = norm.centred && norm.scales > 0;
    for (std::size_t i = 0; i < norm.elements && norm.scales > 0; ++i) {
      const std::size_t s = norm.scale(i);
      const Counted product = dy[i] * normalised(i);
      scale_sums[s] = begun[s] ? scale_sums[s] + product : product;
      if (has_bias) bias_sums[s] = begun[s] ? bias_sums[s] + dy[i] : dy[i];
      begun[s] = true;
    }
    const Counts dw = Counted::counts;

    // dx: for batch statistics it needs the sums above; otherwise sums over rows, starting from 0.
    Counted::counts = {};
    Reals dx(norm.elements), first(norm.rows, Counted(0)), second(norm.rows, Counted(0)), hat(norm.elements),
        g(norm.elements);
    if (norm.batch) {
      for (std::size_t c = 0; c < norm.rows; ++c) {
        const Counted factor = sample(c + 4) * rstd[c];
        const Counted mean_first = bias_sums[c] / count;
        const Counted mean_second = scale_sums[c] / count;
        for (std::size_t i = 0; i < norm.elements; ++i)
          if (norm.row(i) == c) dx[i] = factor * (dy[i] - mean_first - normalised(i) * mean_second);
      }
    } else {
      for (std::size_t i = 0; i < norm.elements; ++i) {
        hat[i] = normalised(i);
        g[i] = norm.scales == 0 ? dy[i] : dy[i] * sample(norm.scale(i) + 4);
        if (norm.centred) first[norm.row(i)] = first[norm.row(i)] + g[i];
        second[norm.row(i)] = second[norm.row(i)] + g[i] * hat[i];
      }
      for (std::size_t r = 0; r < norm.rows; ++r) {
        if (norm.centred) first[r] = first[r] / count;
        second[r] = second[r] / count;
      }
      for (std::size_t i = 0; i < norm.elements; ++i) {
        const Counted centred = norm.centred ? g[i] - first[norm.row(i)] : g[i];
        dx[i] = rstd[norm.row(i)] * (centred - hat[i] * second[norm.row(i)]);
      }
    }
    const Counts data = Counted::counts;
    check_values(dx, exact([&](const Duals& at) { return normalise(norm, at); }, values, dy));

    const std::string scale = std::to_string(norm.scales);
    const std::string more = norm.scales == 0 ? ""
                                              : ", g:f32[" + scale + "]=const, b:f32[" + scale + "]=const, m:f32[" +
                                                    scale + "]=const, v:f32[" + scale + "]=const";
    const TrainingRow row = row_of(norm.shape, norm.node, more);
    check(row.dx, data);
    check(row.dw, dw);
    // Saved: the data, and of each row a mean (if there is one) and 1/σ as float32.
    const Dim statistic_bytes = 4 * (norm.centred ? 2 : 1) * static_cast<int>(norm.rows);
    CHECK(row.saved_bytes() == Dim(4 * static_cast<int>(norm.elements)) + statistic_bytes);
    CHECK(row.parameter_gradient_bytes == Dim(4 * static_cast<int>(norm.scales) * (has_bias ? 2 : 1)));
  }
}

TEST_CASE("batch statistics with frozen scale and bias: dx takes their sums") {
  const Model model = test::graph(
      "x0:f32[2,4,2,3], w:f32[4,1,1]=const, g:f32[4]=const, b:f32[4]=const, m:f32[4]=const, "
      "v:f32[4]=const -> x = Add(x0, w); y = BatchNormalization(x, g, b, m, v)");
  const Analysis analysis = analyze(model);
  const TrainingRow trained = train(model, analysis).rows[1];
  const TrainingRow frozen = train(model, analysis, {.frozen = {"g", "b"}}).rows[1];
  CHECK(frozen.dx.arith == trained.dx.arith + trained.dw.arith);
  CHECK(frozen.dw.arith == Dim(0));
  // Moments: an addition, a subtraction, a square and an addition per element, and two divisions per channel; running
  // statistics: two products and an addition each; 2 per element and 4 per channel, as in inference.
  CHECK(trained.forward.arith == Dim(48 * (4 + 2) + 4 * (2 + 6 + 4)));
  CHECK(trained.forward.bytes_written == Dim(48 * 4 + 2 * 4 * 4));
}

TEST_CASE("softmax, log-softmax and p-norms: gradients are right and take what the rules say") {
  const std::size_t rows = 4, length = 6, n = rows * length;
  const std::vector<double> values = samples(n);
  const Reals x = numbers(values), dy = arriving(n);
  // A function of each row of x, and its gradient as a function of row, y and dy.
  struct Case {
    const char* node;
    std::function<Duals(const Duals&)> forward;
    std::function<Reals(const Reals& x, const Reals& y, const Reals& dy)> backward;
    int saved;  // bytes
  };
  const auto softmax = [](const Duals& row) {
    Dual sum = 0;
    for (const Dual& e : row) sum = sum + exp(e);
    Duals y;
    for (const Dual& e : row) y.push_back(exp(e) / sum);
    return y;
  };
  const auto norm = [](const Duals& row, bool squares) {
    Dual sum = 0;
    for (const Dual& e : row) sum = sum + (squares ? e * e : abs(e));
    return squares ? sqrt(sum) : sum;
  };
  const auto lp = [&](bool squares) {
    return [&, squares](const Duals& row) {
      Duals y;
      for (const Dual& e : row) y.push_back(e / norm(row, squares));
      return y;
    };
  };
  const auto lp_backward = [](bool squares) {
    return [squares](const Reals& row, const Reals& y, const Reals& d) {
      Counted sum = 0, length_of = 0;
      for (const Counted& e : row) length_of.v += squares ? e.v * e.v : std::fabs(e.v);
      if (squares) length_of.v = std::sqrt(length_of.v);
      Reals dx;
      for (std::size_t i = 0; i < row.size(); ++i) sum = sum + d[i] * y[i];
      for (std::size_t i = 0; i < row.size(); ++i)
        dx.push_back((d[i] - (squares ? y[i] : sign(row[i])) * sum) / length_of);
      return dx;
    };
  };
  const Case cases[] = {
      {"Softmax(x)", softmax,
       [](const Reals&, const Reals& y, const Reals& d) {
         Counted sum = 0;
         Reals dx;
         for (std::size_t i = 0; i < y.size(); ++i) sum = sum + d[i] * y[i];
         for (std::size_t i = 0; i < y.size(); ++i) dx.push_back(y[i] * (d[i] - sum));
         return dx;
       },
       96},
      {"LogSoftmax(x)",
       [&](const Duals& row) {
         Duals y;
         for (const Dual& e : softmax(row)) y.push_back(log(e));
         return y;
       },
       [](const Reals&, const Reals& y, const Reals& d) {
         Counted sum = 0;
         Reals dx;
         for (std::size_t i = 0; i < y.size(); ++i) sum = sum + d[i];
         for (std::size_t i = 0; i < y.size(); ++i) dx.push_back(d[i] - exp(y[i]) * sum);
         return dx;
       },
       96},
      {"LpNormalization(x)", lp(true), lp_backward(true), 96 + 16},
      {"LpNormalization(x) {p=1}", lp(false), lp_backward(false), 96 + 96 + 16},
  };
  for (const Case& row : cases) {
    CAPTURE(std::string(row.node));
    Counted::counts = {};
    for (std::size_t r = 0; r < rows; ++r) {
      const std::vector<double> own(values.begin() + r * length, values.begin() + (r + 1) * length);
      const Reals own_dy(dy.begin() + r * length, dy.begin() + (r + 1) * length);
      Reals y;
      for (const Dual& e : row.forward(Duals(own.begin(), own.end()))) y.emplace_back(e.v);
      check_values(row.backward(numbers(own), y, own_dy), exact(row.forward, own, own_dy));
    }
    const TrainingRow got = row_of("[4,6]", row.node);
    check(got.dx, Counted::counts);
    CHECK(got.saved_bytes() == Dim(row.saved));
  }
}

TEST_CASE("reductions: gradients are right and take what the rules say") {
  // Reduces rows of 6 to one result each: cost per element, and per result.
  struct Case {
    const char* op;
    std::function<Dual(const Duals&)> forward;
    std::function<Counted(Counted dy, Counted y)> result;                    // once per result
    std::function<Counted(Counted prepared, Counted x, Counted y)> element;  // once per element
    int saved;
  };
  const auto fold = [](const Duals& row, Dual start, const std::function<Dual(Dual, Dual)>& join) {
    for (const Dual& e : row) start = join(start, e);
    return start;
  };
  const auto sum = [&](const Duals& row) { return fold(row, 0, [](Dual a, Dual b) { return a + b; }); };
  const auto same = [](Counted dy, Counted) { return dy; };
  const auto copied = [](Counted prepared, Counted, Counted) { return prepared; };
  const Case cases[] = {
      {"ReduceSum", sum, same, copied, 0},
      {"ReduceMean", [&](const Duals& row) { return sum(row) / 6.0; }, [](Counted dy, Counted) { return dy / 6.0; },
       copied, 0},
      {"ReduceMax", [&](const Duals& row) { return fold(row, -9, [](Dual a, Dual b) { return a > b ? a : b; }); }, same,
       [](Counted prepared, Counted x, Counted y) { return select(y, x, 0, prepared); }, 96 + 16},
      {"ReduceProd", [&](const Duals& row) { return fold(row, 1, [](Dual a, Dual b) { return a * b; }); },
       [](Counted dy, Counted y) { return dy * y; }, [](Counted prepared, Counted x, Counted) { return prepared / x; },
       96 + 16},
      {"ReduceSumSquare", [&](const Duals& row) { return fold(row, 0, [](Dual a, Dual b) { return a + b * b; }); },
       [](Counted dy, Counted) { return 2.0 * dy; }, [](Counted prepared, Counted x, Counted) { return prepared * x; },
       96},
      {"ReduceL1", [&](const Duals& row) { return fold(row, 0, [](Dual a, Dual b) { return a + abs(b); }); }, same,
       [](Counted prepared, Counted x, Counted) { return prepared * sign(x); }, 96},
      {"ReduceL2", [&](const Duals& row) { return sqrt(fold(row, 0, [](Dual a, Dual b) { return a + b * b; })); },
       [](Counted dy, Counted y) { return dy / y; }, [](Counted prepared, Counted x, Counted) { return prepared * x; },
       96 + 16},
      {"ReduceLogSum", [&](const Duals& row) { return log(sum(row)); },
       [](Counted dy, Counted y) { return dy * exp(-y); }, copied, 16},
      {"ReduceLogSumExp",
       [&](const Duals& row) { return log(fold(row, 0, [](Dual a, Dual b) { return a + exp(b); })); }, same,
       [](Counted prepared, Counted x, Counted y) { return prepared * exp(x - y); }, 96 + 16},
  };
  std::vector<double> values = samples(24);
  for (double& value : values) value = std::fabs(value) + 0.1;
  const Reals dy = arriving(4);
  for (const Case& row : cases) {
    CAPTURE(std::string(row.op));
    Counted::counts = {};
    for (std::size_t r = 0; r < 4; ++r) {
      const std::vector<double> own(values.begin() + r * 6, values.begin() + (r + 1) * 6);
      const Counted y = row.forward(Duals(own.begin(), own.end())).v;
      const Counted prepared = row.result(dy[r], y);
      Reals dx;
      for (const double x : own) dx.push_back(row.element(prepared, x, y));
      check_values(dx, exact([&](const Duals& at) { return Duals{row.forward(at)}; }, own, {dy[r]}));
    }
    const TrainingRow got = row_of("[4,6]", std::string(row.op) + "(x, axes) {keepdims=0}", ", axes:i64=[1]");
    check(got.dx, Counted::counts);
    CHECK(got.saved_bytes() == Dim(row.saved));
    CHECK(got.dx.bytes_written == Dim(96));
  }
}

std::vector<std::string> test::norm_nodes() {
  std::vector<std::string> nodes = {"Softmax(",    "LogSoftmax(", "LpNormalization(", "ReduceSum(",
                                    "ReduceMean(", "ReduceMax(",  "ReduceProd(",      "ReduceSumSquare(",
                                    "ReduceL1(",   "ReduceL2(",   "ReduceLogSum(",    "ReduceLogSumExp("};
  for (const NormCase& norm : kNorms) nodes.push_back(norm.node);
  return nodes;
}
