#include "fit/log_fit.h"

#include <algorithm>
#include <cmath>

namespace pagoda::lab {

void LogFit::add(double centre_of_prior, double spread, double weight) {
  const Eigen::Index i = centre.size();
  centre.conservativeResize(i + 1);
  precision.conservativeResize(i + 1);
  centre[i] = std::log(centre_of_prior);
  precision[i] = std::pow(weight / spread, 2);
}

double LogFit::cost(const Eigen::VectorXd& x) const {
  Eigen::VectorXd error(static_cast<Eigen::Index>(weights.size()));
  errors(x, error);
  double sum = precision.dot((x - centre).cwiseAbs2());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double e = error[static_cast<Eigen::Index>(i)];
    sum += std::isinf(tolerance)
               ? weights[i] * e * e
               : weights[i] * 2 * tolerance * tolerance * (std::sqrt(1 + std::pow(e / tolerance, 2)) - 1);
  }
  return sum;
}

void LogFit::linearize(const Eigen::VectorXd& x, Eigen::MatrixXd& hessian, Eigen::VectorXd& gradient) const {
  const auto count = static_cast<Eigen::Index>(weights.size());
  Eigen::VectorXd error(count);
  Eigen::MatrixXd slope = Eigen::MatrixXd::Zero(x.size(), count);
  if (slopes) {
    slopes(x, error, slope);
  } else {
    errors(x, error);
    Eigen::VectorXd beside(count);
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      Eigen::VectorXd moved = x;
      moved[i] += step;
      errors(moved, beside);
      slope.row(i) = (beside - error).transpose() / step;
    }
  }
  hessian = precision.asDiagonal();
  gradient = precision.cwiseProduct(x - centre);
  for (Eigen::Index i = 0; i < count; ++i) {
    const double weight = weights[static_cast<std::size_t>(i)] / std::sqrt(1 + std::pow(error[i] / tolerance, 2));
    hessian.selfadjointView<Eigen::Lower>().rankUpdate(slope.col(i), weight);
    gradient += weight * error[i] * slope.col(i);
  }
  hessian = hessian.selfadjointView<Eigen::Lower>();
}

Eigen::VectorXd LogFit::solve(Eigen::VectorXd x) const {
  constexpr int kMaxSteps = 100;
  Eigen::MatrixXd hessian;
  Eigen::VectorXd gradient;
  double now = cost(x), damping = 1e-2;
  for (int step_number = 0; step_number < kMaxSteps; ++step_number) {
    linearize(x, hessian, gradient);
    bool improved = false;
    const double before = now;
    while (damping < 1e6 && !improved) {
      Eigen::MatrixXd damped = hessian;
      damped.diagonal() += damping * hessian.diagonal();
      const Eigen::VectorXd move = damped.ldlt().solve(-gradient).cwiseMax(-1.0).cwiseMin(1.0);
      const double next = cost(x + move);
      improved = next < now;
      if (improved) {
        x += move;
        now = next;
        damping = std::max(damping / 6, 1e-9);
      } else {
        damping *= 4;
      }
    }
    if (!improved || before - now < 1e-7 * before) break;
  }
  return x;
}

}  // namespace pagoda::lab
