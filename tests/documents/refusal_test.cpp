// Which parts of a request do not go together. tests/python and tests/tools hold the two doors to these rules.
#include <doctest/doctest.h>

#include "pagoda/documents/device.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/estimate/make_estimate.h"
#include "support/text_graph.h"

namespace pagoda::test {
namespace {

using estimate::EstimateRequest;
using estimate::Refinements;

struct Row {
  EstimateRequest request;
  Refinements given;
  const char* said;  // "" if it is accepted
};

const DeviceSpec& gpu() {
  static const DeviceSpec kGpu = documents::device("h200");
  return kGpu;
}

EstimateRequest predicted(EstimateRequest request) {
  estimate::set_prediction("", "", request);
  return request;
}

// clang-format off
std::vector<Row> rows() {
  const PhaseOptions prefill{.phase = Phase::Prefill}, decode{.phase = Phase::Decode};
  const Budget seconds = parse_budget(BudgetKind::Seconds, "5ms");
  const SweepAxis axis = parse_axis("batch=1,2");
  const ParallelOptions two{.tensor = 2}, stages{.pipeline = 2};
  return {
      {{}, {}, ""},
      {{.device = gpu(), .training = TrainingOptions()}, {.optimizer = true, .recompute = true, .frozen = true}, ""},
      {{.memory = MemoryOptions()}, {.in_place = true}, ""},
      {{.phase = decode}, {.past = true, .tokens = true}, ""},
      {predicted({.device = gpu()}), {.engine = true, .calibration = true}, ""},
      {{.device = gpu(), .parallel = two, .link = {.bytes_per_second = 1e9}}, {}, ""},
      {{.traffic = TrafficModel::Resident, .device = gpu()}, {}, ""},

      {{}, {.in_place = true}, "`in_place` needs `memory`"},
      {{}, {.optimizer = true}, "`optimizer` needs `training`"},
      {{}, {.recompute = true}, "`recompute` needs `training`"},
      {{}, {.frozen = true}, "`frozen` needs `training`"},
      {{}, {.past = true}, "`past` needs `phase`"},
      {{}, {.tokens = true}, "`tokens` needs `phase`"},
      {{}, {.engine = true}, "`engine` needs `predict`"},
      {{}, {.calibration = true}, "`calibration` needs `predict`"},
      {{.phase = prefill}, {.speculate = true, .acceptance = true}, "`speculate` needs `phase=decode`"},
      {{.phase = decode}, {.speculate = true}, "`speculate` needs `acceptance`"},
      {{.phase = decode}, {.acceptance = true}, "`acceptance` needs `speculate`"},
      {{.phase = decode, .speculation = estimate::Speculation{2, 0.5}}, {.tokens = true, .speculate = true, .acceptance = true},
       "`speculate` sets the tokens of a step; it does not go with `tokens`"},
      {{.traffic = TrafficModel::Resident}, {}, "`traffic=resident` needs `device`, whose cache it fills"},
      {{.other_precisions = {Precision::Float16}}, {}, "`what_if` needs `device`"},
      {{.device = gpu(), .price_per_hour = {{"h200", 3}}}, {}, "`price_per_hour` needs a table: several `device` or `what_if`"},
      {{.device = gpu(), .other_precisions = {Precision::Float16}, .price_per_hour = {{"l40s", 1}}}, {},
       "`price_per_hour=l40s`: no requested `device` has this id"},
      {{.phase = prefill, .device = gpu(), .prompt = 10}, {}, "`prompt` needs `phase=decode`"},
      {{.phase = decode, .prompt = 10}, {}, "`prompt` needs `device`"},
      {predicted({}), {}, "`predict` needs `device`"},
      {{.parallel = stages}, {}, "`pipeline_parallel` needs `device`"},
      {{.device = gpu(), .link = {.name = "nvlink"}}, {}, "`link` needs `tensor_parallel`"},
      {{.budgets = {seconds}}, {}, "`max_seconds` needs `device`"},
      {{.phase = decode, .device = gpu(), .decode_device = gpu()}, {}, "`decode_device` needs `phase=prefill`"},
      {{.phase = prefill, .decode_device = gpu()}, {}, "`decode_device` needs one `device`"},

      {{.traffic = TrafficModel::Fused, .training = TrainingOptions()}, {},
       "`training` counts unfused traffic; it does not go with `traffic=fused`"},
      {{.training = TrainingOptions{.recompute = Recompute::Segments}}, {}, "`recompute=segments` needs the nodes that begin"},
      {{.count = Convention::Pagoda, .traffic = TrafficModel::Fused}, {}, "`count=pagoda` has traffic rules of its own"},
      {{.sizes = {.batch = 2}, .sweep = {axis}}, {}, "`sweep=batch` varies what `batch` sets"},
      {predicted({.device = gpu(), .training = TrainingOptions()}), {},
       "`predict` `engine=pytorch-amp` does not go with `training`"},
      {{.phase = prefill, .device = gpu(), .decode_device = gpu(), .sweep = {axis}}, {},
       "`decode_device` does not go with `sweep`"},
      {{.device = gpu(), .sweep = {axis}, .other_precisions = {Precision::Float16}}, {},
       "`what_if` does not go with `sweep` of a size"},
      {{.count = Convention::Macs, .other_devices = {gpu(), gpu()}}, {},
       "`device` with several does not go with `count`"},
      {{.budgets = {seconds}, .other_devices = {gpu(), gpu()}}, {},
       "`device` with several does not go with `max_seconds`"},
      {{.device = gpu(), .parallel = two, .training = TrainingOptions()}, {},
       "`tensor_parallel` does not go with `training`"},
      {predicted({.device = gpu(), .parallel = two}), {}, "`tensor_parallel` does not go with `predict` but `engine=llm-serving`"},
      {{.traffic = TrafficModel::Resident, .device = gpu(), .parallel = stages}, {},
       "`pipeline_parallel` does not go with `traffic=resident`"},
  };
}
// clang-format on

}  // namespace

TEST_CASE("a request whose parts do not go together is refused, with the remedy") {
  for (const Row& row : rows()) {
    CAPTURE(row.said);
    const std::string problem = estimate::refusal(row.request, row.given);
    if (*row.said == '\0')
      CHECK(problem == "");
    else
      CHECK_MESSAGE(problem.find(row.said) == 0, problem);
  }
}

TEST_CASE("an estimate of a refused request is the same error") {
  const EstimateRequest request{.traffic = TrafficModel::Fused, .training = TrainingOptions()};
  CHECK_THROWS_WITH_AS(estimate::make_estimate(test::graph("x:f32[2] -> y = Relu(x)"), request),
                       estimate::refusal(request).c_str(), Error);
}

}  // namespace pagoda::test
