// How fast could a device run a model at many batches, and from which batch on does arithmetic and no longer memory
// decide?
#include <pagoda/pagoda.h>

#include <iostream>
#include "pagoda/documents/device.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: 05_time_on_a_device MODEL.onnx DEVICE\n";
    return 2;
  }
  try {
    const pagoda::Model model = pagoda::load_model(argv[1]);
    const std::vector<pagoda::SweepAxis> axes = {pagoda::parse_axis("batch=1,2,4..1024")};
    const pagoda::Analysis analysis =
        pagoda::analyze(model, pagoda::sweep_options({.precision = pagoda::Precision::Float16}, axes));
    const pagoda::SweepTime time{pagoda::documents::find_device(argv[2])};
    const pagoda::Sweep sweep =
        pagoda::sweep(model, analysis, axes, {.traffic = pagoda::TrafficModel::Fused, .time = time});
    for (const pagoda::SweepPoint& point : sweep.points)
      std::cout << "batch " << point.sizes[0] << ": at least " << 1e3 * point.time->seconds << " ms, "
                << pagoda::to_string(point.bound) << "-bound\n";
    if (sweep.ridge) std::cout << "compute-bound from batch " << sweep.ridge->size << " on\n";
  } catch (const pagoda::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
