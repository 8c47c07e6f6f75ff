#include "fit/log_fit.h"

#include <algorithm>
#include <cmath>

namespace pagoda::lab {

double pseudo_huber(double weight, double error, double tolerance) {
  if (std::isinf(tolerance)) return weight * error * error;
  return weight * 2 * tolerance * tolerance * (std::sqrt(1 + std::pow(error / tolerance, 2)) - 1);
}

void LogFit::add(double& place, double centre_of_prior, double spread, double weight) {
  const Eigen::Index i = centre.size();
  centre.conservativeResize(i + 1);
  precision.conservativeResize(i + 1);
  centre[i] = std::log(centre_of_prior);
  precision[i] = std::pow(weight / spread, 2);
  places.push_back(&place);
}

void LogFit::set(const Eigen::VectorXd& x) const {
  for (std::size_t i = 0; i < places.size(); ++i) *places[i] = std::exp(x[static_cast<Eigen::Index>(i)]);
}

Eigen::VectorXd LogFit::errors(const Eigen::VectorXd& x) const {
  set(x);
  Eigen::VectorXd result(static_cast<Eigen::Index>(weights.size()));
  for (std::size_t i = 0; i < weights.size(); ++i) result[static_cast<Eigen::Index>(i)] = error(i);
  return result;
}

double LogFit::cost(const Eigen::VectorXd& x) const {
  const Eigen::VectorXd found = errors(x);
  double sum = precision.dot((x - centre).cwiseAbs2());
  for (std::size_t i = 0; i < weights.size(); ++i)
    sum += pseudo_huber(weights[i], found[static_cast<Eigen::Index>(i)], tolerance);
  return sum;
}

void LogFit::linearize(const Eigen::VectorXd& x, Eigen::MatrixXd& hessian, Eigen::VectorXd& gradient) const {
  const auto count = static_cast<Eigen::Index>(weights.size());
  Eigen::VectorXd found(count);
  Eigen::MatrixXd slopes = Eigen::MatrixXd::Zero(x.size(), count);
  if (error_and_slope) {
    set(x);
    for (Eigen::Index i = 0; i < count; ++i) {
      Eigen::VectorXd slope = Eigen::VectorXd::Zero(x.size());
      found[i] = error_and_slope(static_cast<std::size_t>(i), slope);
      slopes.col(i) = slope;
    }
  } else {
    found = errors(x);
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      Eigen::VectorXd moved = x;
      moved[i] += step;
      slopes.row(i) = (errors(moved) - found).transpose() / step;
    }
  }
  hessian = precision.asDiagonal();
  gradient = precision.cwiseProduct(x - centre);
  for (Eigen::Index i = 0; i < count; ++i) {
    const double weight = weights[static_cast<std::size_t>(i)] / std::sqrt(1 + std::pow(found[i] / tolerance, 2));
    hessian.selfadjointView<Eigen::Lower>().rankUpdate(slopes.col(i), weight);
    gradient += weight * found[i] * slopes.col(i);
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
  set(x);
  return x;
}

}  // namespace pagoda::lab
