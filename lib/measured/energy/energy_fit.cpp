// Non-negative least squares of the energy model, with intervals by resampling rows.
#include "pagoda/measured/energy_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>

#include "pagoda/base/cat.h"
#include "pagoda/base/statistics.h"

namespace pagoda::measured {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

// Least squares over the columns in `passive` only; others are 0.
VectorXd solve_passive(const MatrixXd& a, const VectorXd& b, const std::vector<bool>& passive) {
  std::vector<Index> columns;
  for (Index j = 0; j < a.cols(); ++j)
    if (passive[static_cast<std::size_t>(j)]) columns.push_back(j);
  MatrixXd part(a.rows(), static_cast<Index>(columns.size()));
  for (std::size_t j = 0; j < columns.size(); ++j) part.col(static_cast<Index>(j)) = a.col(columns[j]);
  const VectorXd solution = part.colPivHouseholderQr().solve(b);
  VectorXd x = VectorXd::Zero(a.cols());
  for (std::size_t j = 0; j < columns.size(); ++j) x[columns[j]] = solution[static_cast<Index>(j)];
  return x;
}

// min |A x - b| with x ≥ 0: grows the passive set by the steepest gradient, steps back if a component turns negative.
VectorXd nnls(const MatrixXd& a, const VectorXd& b) {
  const Index n = a.cols();
  std::vector<bool> passive(static_cast<std::size_t>(n), false);
  VectorXd x = VectorXd::Zero(n);
  const double tolerance = 1e-12 * a.norm() * b.norm();
  for (Index round = 0; round < 3 * n + 10; ++round) {
    const VectorXd gradient = a.transpose() * (b - a * x);
    Index steepest = -1;
    for (Index j = 0; j < n; ++j)
      if (!passive[static_cast<std::size_t>(j)] && gradient[j] > tolerance &&
          (steepest < 0 || gradient[j] > gradient[steepest]))
        steepest = j;
    if (steepest < 0) break;
    passive[static_cast<std::size_t>(steepest)] = true;
    for (Index inner = 0; inner <= n; ++inner) {
      const VectorXd wanted = solve_passive(a, b, passive);
      double step = 1;
      for (Index j = 0; j < n; ++j)
        if (passive[static_cast<std::size_t>(j)] && wanted[j] <= 0) step = std::min(step, x[j] / (x[j] - wanted[j]));
      x += step * (wanted - x);
      if (step >= 1) break;
      for (Index j = 0; j < n; ++j)
        if (passive[static_cast<std::size_t>(j)] && x[j] <= 1e-15) {
          passive[static_cast<std::size_t>(j)] = false;
          x[j] = 0;
        }
    }
  }
  return x;
}

// Names of terms for each direction in which the runs hardly vary; the matrix of `svd` has columns of length 1.
std::vector<std::vector<std::string>> indistinct(const Eigen::JacobiSVD<MatrixXd>& svd,
                                                 const std::vector<std::string>& names) {
  const VectorXd& singular = svd.singularValues();
  const MatrixXd parts = (svd.matrixV() * singular.cwiseInverse().asDiagonal()).cwiseAbs2();
  std::vector<std::vector<std::string>> groups;
  for (Index k = 0; k < singular.size(); ++k) {
    if (singular[k] * kIndistinct > singular[0]) continue;
    std::vector<std::string> group;
    for (Index j = 0; j < parts.rows(); ++j)
      if (!(parts(j, k) <= 0.5 * parts.row(j).sum()))
        group.push_back(static_cast<std::size_t>(j) < names.size() ? names[static_cast<std::size_t>(j)]
                                                                   : "constant_watts");
    groups.push_back(std::move(group));
  }
  return groups;
}

void check(const std::vector<std::string>& names, const std::vector<EnergyRow>& rows) {
  if (rows.size() < names.size() + 1)
    throw Error(
        cat("energy fit: ", rows.size(), " runs for ", names.size() + 1, " constants; measure at least as many runs"));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const EnergyRow& row = rows[i];
    const bool finite = std::ranges::all_of(row.work, [](double w) { return std::isfinite(w) && w >= 0; });
    if (row.work.size() != names.size() || !finite || !(row.seconds > 0) || !(row.joules > 0) ||
        !std::isfinite(row.seconds) || !std::isfinite(row.joules))
      throw Error(
          cat("energy fit: run ", i, " needs ", names.size(), " works of at least 0, and seconds and joules above 0"));
  }
}

}  // namespace

EnergyFit fit_energy(const std::vector<std::string>& names, const std::vector<EnergyRow>& rows,
                     const EnergyFitOptions& options) {
  check(names, rows);
  const auto m = static_cast<Index>(rows.size()), n = static_cast<Index>(names.size()) + 1;
  // Row i divided by its energy: (Σ_j ε_j·w_ij + P0·T_i) / E_i = 1.
  MatrixXd a(m, n);
  for (Index i = 0; i < m; ++i) {
    const EnergyRow& row = rows[static_cast<std::size_t>(i)];
    for (Index j = 0; j + 1 < n; ++j) a(i, j) = row.work[static_cast<std::size_t>(j)] / row.joules;
    a(i, n - 1) = row.seconds / row.joules;
  }
  // Work and seconds differ by 12 orders of magnitude, so columns are scaled to length 1 before solving.
  VectorXd scale(n);
  for (Index j = 0; j < n; ++j) {
    scale[j] = a.col(j).norm();
    if (!(scale[j] > 0))
      throw Error(cat("energy fit: no run has any ", j + 1 < n ? names[static_cast<std::size_t>(j)] : "time",
                      "; leave it out or measure it"));
    a.col(j) /= scale[j];
  }
  const VectorXd ones = VectorXd::Ones(m);
  const VectorXd x = nnls(a, ones);

  EnergyFit fit;
  const VectorXd residual = ones - a * x;
  for (Index i = 0; i < m; ++i) fit.relative_residual.push_back(residual[i]);
  fit.relative_rms = residual.norm() / std::sqrt(static_cast<double>(m));
  fit.mean_error = residual.cwiseAbs().mean();
  const Eigen::JacobiSVD<MatrixXd> svd(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const VectorXd& singular = svd.singularValues();
  fit.condition_number = singular[0] / singular[singular.size() - 1];
  fit.indistinct = indistinct(svd, names);

  std::vector<std::vector<double>> resampled(static_cast<std::size_t>(n));
  std::mt19937_64 random(options.seed);
  std::uniform_int_distribution<Index> pick(0, m - 1);
  for (int r = 0; r < options.resamples; ++r) {
    MatrixXd drawn(m, n);
    for (Index i = 0; i < m; ++i) drawn.row(i) = a.row(pick(random));
    const VectorXd y = nnls(drawn, ones);
    for (Index j = 0; j < n; ++j) resampled[static_cast<std::size_t>(j)].push_back(y[j] / scale[j]);
  }
  for (Index j = 0; j < n; ++j) {
    std::vector<double>& values = resampled[static_cast<std::size_t>(j)];
    std::ranges::sort(values);
    const double value = x[j] / scale[j];
    fit.terms.push_back({j + 1 < n ? names[static_cast<std::size_t>(j)] : "constant_watts", value,
                         values.empty() ? std::array{value, value}
                                        : std::array{base::quantile(values, 0.025), base::quantile(values, 0.975)}});
  }
  return fit;
}

}  // namespace pagoda::measured
