// Products as whole waves of tiles over the units of a device.
#pragma once

namespace pagoda::inline core {

// The time of a product with output [m, n] and depth k at the peak, with tiles of rows × columns; a contraction may be
// split in up to 8 parts of at least 256. Each wave takes `wave_seconds` on top.
double waves_seconds(double m, double n, double k, double rows, double columns, double peak, double units,
                     double matrices = 1, double wave_seconds = 0);

}  // namespace pagoda::inline core
