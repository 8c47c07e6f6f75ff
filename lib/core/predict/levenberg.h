// Levenberg-Marquardt: minimises a smooth cost function of a few coefficients.
#pragma once

#include <Eigen/Dense>
#include <algorithm>

namespace pagoda::inline core {

// `cost(x)` returns the cost, `normal_equations(x)` the pair of approximate Hessian and gradient. Steps are at most 1
// in each coordinate, which suits logarithms.
template <typename Cost, typename NormalEquations>
Eigen::VectorXd least_cost(Eigen::VectorXd x, const Cost& cost, const NormalEquations& normal_equations) {
  constexpr int kMaxSteps = 100;
  double now = cost(x), damping = 1e-2;
  for (int step = 0; step < kMaxSteps; ++step) {
    const auto [hessian, gradient] = normal_equations(x);
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

}  // namespace pagoda::inline core
