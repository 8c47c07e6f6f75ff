// Pagoda: the cost of an ONNX model, exact and symbolic, from its file alone.
//
//   #include <pagoda/pagoda.h>
//
//   pagoda::Model model = pagoda::load_model("resnet50.onnx");        // reads no weights
//   pagoda::Analysis analysis = pagoda::analyze(model, {.batch = 8});
//   pagoda::flops(analysis.totals.cost).value();                      // exact
//   for (const pagoda::NodeReport& row : analysis.nodes) …            // one row a node, in execution order
//
// The story in the order of the headers: a size is a Dim (dim.h), a tensor has a TensorType (tensor_type.h), a Model
// holds Graphs (graph.h) and is read without weights (model.h); analyze() walks it (analyze.h) with one rule per
// operator (rule.h) and gives OpCosts (cost.h). On top of an analysis: the bytes that fused or cached kernels move
// (traffic.h), the memory it takes (memory.h), the least time on a device (device.h, roofline.h), a training step
// (train.h), many sizes at once (sweep.h), limits (budget.h). Unusable input throws Error (error.h); a fact that an
// analysis cannot determine becomes a Diagnostic (diagnostic.h).
//
// Measurements of a machine have headers of their own: roofs (ceilings.h), profiles and counters (measured.h, import.h,
// metrics.h) joined with the estimate (join.h), charts (plot.h), studies and their results (study.h, timing.h,
// result.h).
#pragma once

#include "pagoda/base/error.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/budget.h"
#include "pagoda/core/conventions.h"
#include "pagoda/core/cost.h"
#include "pagoda/core/custom_operator.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/device.h"
#include "pagoda/core/diagnostic.h"
#include "pagoda/core/dim.h"
#include "pagoda/core/energy.h"
#include "pagoda/core/engine.h"
#include "pagoda/core/fit.h"
#include "pagoda/core/graph.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/model.h"
#include "pagoda/core/precision.h"
#include "pagoda/core/print.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/rule.h"
#include "pagoda/core/structure.h"
#include "pagoda/core/sweep.h"
#include "pagoda/core/tensor_type.h"
#include "pagoda/core/traffic.h"
#include "pagoda/core/train.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/present/report.h"
