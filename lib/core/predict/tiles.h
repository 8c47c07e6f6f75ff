// The time of products that run in whole waves of tiles over a device's units.
#pragma once

namespace pagoda::inline core {

// The time of a product with output [m, n] and depth k at the peak, in tiles of rows × columns. The contraction may be
// split into up to 8 parts with a depth of at least 256 each. Each wave adds `wave_seconds`.
double waves_seconds(double m, double n, double k, double rows, double columns, double peak, double units,
                     double matrices = 1, double wave_seconds = 0);

}  // namespace pagoda::inline core
