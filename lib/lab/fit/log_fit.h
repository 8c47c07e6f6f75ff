// A fit of positive coefficients to measured times, over their logarithms x: minimises
//   Σ weight · huber(log(predicted / measured)) + Σ precision · (x − centre)²
#pragma once

#include <Eigen/Dense>
#include <functional>
#include <limits>
#include <vector>

namespace pagoda::lab {

// The pseudo-Huber loss of an error: quadratic below the tolerance, linear above it.
double pseudo_huber(double weight, double error, double tolerance);

struct LogFit {
  Eigen::VectorXd centre = {}, precision = {};                 // of the prior
  std::vector<double*> places = {};                            // of the coefficients
  std::vector<double> weights = {};                            // of the samples
  double tolerance = std::numeric_limits<double>::infinity();  // larger errors count linearly
  // log(predicted / measured) of a sample, by the coefficients at their places.
  std::function<double(std::size_t sample)> error = {};
  // The same, and its derivatives in `slope`, which is zero before; empty: derivatives are differences over `step`.
  std::function<double(std::size_t sample, Eigen::VectorXd& slope)> error_and_slope = {};
  double step = 1e-4;

  // Adds a coefficient with a log-normal prior. `weight`: of the prior.
  void add(double& place, double centre_of_prior, double spread, double weight);
  void set(const Eigen::VectorXd& x) const;  // writes the coefficients to their places
  Eigen::VectorXd errors(const Eigen::VectorXd& x) const;
  double cost(const Eigen::VectorXd& x) const;
  // Levenberg-Marquardt; steps are at most 1 in each coordinate. Sets the coefficients that it returns.
  Eigen::VectorXd solve(Eigen::VectorXd start) const;

 private:
  void linearize(const Eigen::VectorXd& x, Eigen::MatrixXd& hessian, Eigen::VectorXd& gradient) const;
};

}  // namespace pagoda::lab
