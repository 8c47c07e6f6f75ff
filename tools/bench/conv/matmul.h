// Times matrix products C = A·B of libraries without the cost of launching and waiting.
//
// T(n) = n·t + c for n products one after the other, where c is the cost of calling the library and of the final wait.
// The time of one product is the slope (T(2n) − T(n)) / n, in which c cancels; c is reported separately.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pagoda::tools::conv {

struct ProductShape {
  std::int64_t m = 1, n = 1, k = 1;  // A is m×k, B is k×n
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// Multiples of 1/8 in [-1, 1): exact in float16 and bfloat16; their products and sums are exact in float32 as long as
// k ≤ 2^18, so any difference is an error.
std::vector<float> exact_values(std::int64_t count, std::uint64_t seed);
std::vector<std::uint16_t> as_float16(const std::vector<float>& values);   // of exact_values only
std::vector<std::uint16_t> as_bfloat16(const std::vector<float>& values);  // of exact_values only

struct ProductRun {
  std::string refused = {};  // why the library cannot run it; empty: it can
  std::string implementation = {};
  std::function<double(std::int64_t)> together = {};  // seconds of n products, including the final wait
  std::function<std::vector<float>()> output = {};    // row-major m×n
};

struct ProductLibrary {
  std::string name = {}, version = {}, device = {};
  std::string unavailable = {};  // why nothing can run, and what to install; empty: available
  std::function<ProductRun(const ProductShape&, const std::string& type)> prepare = {};
};
ProductLibrary onednn_products(int threads);
ProductLibrary cublaslt_products(int device_index);

// Largest |got − A·B| over `points` random elements and the corners; operands have the seeds that libraries use.
double product_error(const ProductShape& shape, const std::vector<float>& got, std::int64_t points);

struct Slope {
  std::int64_t n = 0;
  std::vector<double> seconds;   // of one product, one sample per pair of chunks
  std::vector<double> overhead;  // c of each sample
};
// Measures slopes for about `budget_seconds` with any function that returns the seconds of n products.
Slope measure_slope(const std::function<double(std::int64_t)>& together, double budget_seconds);

}  // namespace pagoda::tools::conv
