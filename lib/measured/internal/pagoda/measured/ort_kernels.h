// Extracts the kernels of ONNX Runtime's CPU provider from a profile, by the tensor sizes it records.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pagoda/core/onnxruntime.h"
#include "pagoda/documents/measured.h"

#pragma GCC visibility push(default)
namespace pagoda::measured {

// Channels per block in the blocked layout: the largest power of two up to 64 that divides the output channels of every
// two-dimensional convolution (as the engine pads them); 0 if below 4: the engine does not use blocks.
int channel_block(const documents::Measured& profile);

// Elements of the largest output that the profile records; 0: none.
double most_elements(const documents::MeasuredKernel& kernel);

// A kernel timed by the engine's profiler.
struct TimedOrtKernel {
  OrtKernel kernel;
  double seconds = 0;  // of one execution
};

// Whether a class depends on what a profile does not state: attributes, or weights that are computed in each run.
bool depends_on_graph(OrtKernelClass kind);
// Timed kernels whose sizes determine their work. A profile does not contain repacked weights: integer convolutions,
// attention and other products whose depth does not follow from the sizes are looked up in `named`, by the node's name
// in the model, and so are classes that depend on the graph.
std::vector<TimedOrtKernel> timed_kernels(const documents::Measured& profile, int channel_block,
                                          const std::map<std::string, OrtKernel>& named);

}  // namespace pagoda::measured
#pragma GCC visibility pop
