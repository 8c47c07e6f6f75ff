// A fit of positive coefficients to measured times, over their logarithms x: minimises
//   Σ weight · huber(log(predicted / measured)) + Σ precision · (x − centre)²
#pragma once

#include <Eigen/Dense>
#include <functional>
#include <limits>
#include <vector>

namespace pagoda::lab {

struct LogFit {
  Eigen::VectorXd centre, precision;                           // of the prior
  std::vector<double> weights;                                 // of the samples
  double tolerance = std::numeric_limits<double>::infinity();  // larger errors count linearly
  // Sets log(predicted / measured) of every sample.
  std::function<void(const Eigen::VectorXd& x, Eigen::VectorXd& errors)> errors;
  // Also sets their derivatives, a column per sample; empty: by differences of `step`.
  std::function<void(const Eigen::VectorXd& x, Eigen::VectorXd& errors, Eigen::MatrixXd& slopes)> slopes = {};
  double step = 1e-4;

  // Adds a coefficient with a log-normal prior. `weight`: of the prior.
  void add(double centre_of_prior, double spread, double weight);
  double cost(const Eigen::VectorXd& x) const;
  // Levenberg-Marquardt; steps are at most 1 in each coordinate.
  Eigen::VectorXd solve(Eigen::VectorXd start) const;

 private:
  void linearize(const Eigen::VectorXd& x, Eigen::MatrixXd& hessian, Eigen::VectorXd& gradient) const;
};

}  // namespace pagoda::lab
