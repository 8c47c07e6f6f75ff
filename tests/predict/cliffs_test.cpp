// Cliffs of a sweep, each recomputed at its size and the one before.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "pagoda/core/device_arena.h"
#include "pagoda/core/model.h"
#include "pagoda/core/placement.h"
#include "pagoda/core/sweep.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/provider.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/estimate/make_estimate.h"
#include "support/files.h"

using namespace pagoda;

TEST_CASE("each cliff of a sweep is true at its size and not at the one before") {
  struct Case {
    const char *model, *device, *axis;
    bool has_arena;
    std::map<std::string, int> causes;  // how many begin so
  };
  const Case cases[] = {
      {"resnet50_dynamic", "rtx-4090", "batch=1,2,4..64", false, {{"activations at their peak no longer fit l2", 1}}},
      {"mobilenet_v3_large", "a100-40gb", "batch=1,2,4..64", false,
       {{"activations at their peak no longer fit l2", 1}, {"weights with activations at their peak no longer fit l2", 1}}},
      {"resnet50_dynamic", "t4", "batch=1,2,4..8192", false, {{"weights and activations exceed the memory of t4", 1}}},
      {"resnet50_dynamic", "rtx-4090", "batch=1..40", true, {{"the arena of onnxruntime-cuda grows", 3}}},
  };
  for (const Case& each : cases) {
    CAPTURE(each.model);
    CAPTURE(each.axis);
    const Model model = load_model(test::source_path(std::string("models/skeletons/") + each.model + ".onnx"));
    estimate::EstimateRequest request{.device = documents::find_device(each.device),
                                      .sweep = {parse_axis(each.axis)}};
    if (each.has_arena) estimate::set_providers("cuda", "default", request);
    const documents::EstimateDocument swept = estimate::make_estimate(model, request);
    std::map<std::string, int> found;
    std::map<std::int64_t, std::int64_t> before;  // by size
    std::int64_t last = 0;
    for (const auto& point : swept.sweep->points) before[point.sizes[0]] = last, last = point.sizes[0];
    for (const documents::EstimateCliff& cliff : swept.sweep->cliffs) {
      CAPTURE(cliff.cause);
      for (const auto& [cause, times] : each.causes) found[cause] += cliff.cause.starts_with(cause) ? 1 : 0;
      Int weights[2] = {}, activations[2] = {}, arena[2] = {};
      for (int i = 0; i < 2; ++i) {
        estimate::EstimateRequest at{.device = request.device};
        at.sizes.batch = i == 0 ? before.at(cliff.size) : cliff.size;
        const documents::EstimateDocument one = estimate::make_estimate(model, at);
        weights[i] = *one.fit->weight_bytes;
        activations[i] = *one.fit->activation_bytes;
        const GraphPlacement placed =
            place(model, analyze(model, {.batch = at.sizes.batch}), documents::find_provider("cuda"), {});
        arena[i] = device_arena(placed.weight_bytes, static_cast<std::int64_t>(activations[i])).median;
      }
      const Int memory = *request.device->memory_bytes();
      const Int cache = static_cast<Int>(*request.device->level("l2")->capacity_bytes.value);
      const auto crosses = [&](Int limit, bool with_weights) {
        return activations[0] + (with_weights ? weights[0] : 0) <= limit &&
               activations[1] + (with_weights ? weights[1] : 0) > limit;
      };
      if (cliff.cause.starts_with("activations"))
        CHECK(crosses(cache, false));
      else if (cliff.cause.starts_with("weights with"))
        CHECK(crosses(cache, true));
      else if (cliff.cause.starts_with("weights and"))
        CHECK(crosses(memory, true));
      else
        CHECK(arena[1] - arena[0] > 2 * (activations[1] - activations[0]));
    }
    for (const auto& cause : each.causes) CHECK_MESSAGE(found[cause.first] == cause.second, cause.first);
  }
}
