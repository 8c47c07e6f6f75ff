// Refuses requests whose parts do not go together, for every caller: the command line and the Python package refuse the
// same combinations. No part of a request is silently ignored.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "describe.h"
#include "pagoda/base/cat.h"

namespace pagoda::estimate {
namespace {

using Others = std::initializer_list<std::pair<bool, const char*>>;

// A part that has no effect without another one.
struct Need {
  bool is_given;
  const char *field, *other;
  bool has_other;
};

// Refuses `field` beside the first of the others that is given.
std::string beside(const std::string& field, Others others) {
  for (const auto& [is_given, name] : others)
    if (is_given) return cat(field, " does not go with ", name);
  return {};
}

bool is_in(const EstimateRequest& request, Phase phase) { return request.phase && request.phase->phase == phase; }

// The field of a limit on the time; null without one.
const char* time_limit(const EstimateRequest& request) {
  for (const Budget& limit : request.budgets)
    if (is_of_time(limit.kind))
      return limit.kind == BudgetKind::Seconds ? "`max_seconds`" : limit.is_question ? "`fps`" : "`min_fps`";
  return nullptr;
}
bool limits_rate(const EstimateRequest& request) {
  return std::ranges::find(request.budgets, BudgetKind::Rate, &Budget::kind) != request.budgets.end();
}

// The field that splits the model over several devices; null if none does.
const char* splitting_field(const EstimateRequest& request) {
  std::vector<ParallelOptions> groups = request.other_parallel;
  if (request.parallel) groups.push_back(*request.parallel);
  const auto split = std::find_if(groups.begin(), groups.end(), [](const auto& group) { return group.devices() > 1; });
  if (split == groups.end()) return nullptr;
  return split->tensor > 1 ? "`tensor_parallel`" : split->pipeline > 1 ? "`pipeline_parallel`" : "`expert_parallel`";
}

std::string missing(const EstimateRequest& request, const Refinements& given) {
  const bool has_device = request.device || !request.other_devices.empty();
  const bool is_choice = !request.other_devices.empty() || !request.other_precisions.empty() ||
                         !request.other_parallel.empty() || request.prompt > 0;
  const bool is_decode = is_in(request, Phase::Decode);
  const char *split = splitting_field(request), *limit = time_limit(request);
  const bool has_link = !request.link.name.empty() || request.link.bytes_per_second;
  const bool speculates = given.speculate || request.speculation;
  // clang-format off
  const Need needs[] = {
      {request.traffic == TrafficModel::Resident,  "`traffic=resident`",    "`device`, whose cache it fills", has_device},
      {!request.other_precisions.empty(),          "`what_if`",             "`device`",                       has_device},
      {!request.price_per_hour.empty(),            "`price_per_hour`",      "a table: several `device` or `what_if`", has_device && is_choice},
      {request.prompt > 0,                         "`prompt`",              "`phase=decode`",                 is_decode},
      {request.prompt > 0,                         "`prompt`",              "`device`",                       has_device},
      {predicts(request),                          "`predict`",             "`device`",                       has_device},
      {split != nullptr,                           split,                   "`device`",                       has_device},
      {has_link,                                   "`link`",                "`tensor_parallel`, `pipeline_parallel`, `expert_parallel`, `decode_device` or `host_device`",
                                                                                                              split != nullptr || request.decode_device || request.host_device},
      {given.calibration,                          "`calibration`",         "`predict`",                      predicts(request)},
      {given.engine,                               "`engine`",              "`predict`",                      predicts(request)},
      {limit != nullptr,                           limit,                   "`device`",                       has_device},
      {given.past,                                 "`past`",                "`phase`",                        request.phase.has_value()},
      {given.tokens,                               "`tokens`",              "`phase`",                        request.phase.has_value()},
      {speculates,                                 "`speculate`",           "`phase=decode`",                 is_decode},
      {given.speculate,                            "`speculate`",           "`acceptance`",                   given.acceptance},
      {given.acceptance,                           "`acceptance`",          "`speculate`",                    speculates},
      {request.decode_device.has_value(),          "`decode_device`",       "`phase=prefill`",                is_in(request, Phase::Prefill)},
      {request.decode_device.has_value(),          "`decode_device`",       "one `device`",                   request.device && request.other_devices.empty()},
      {request.host_device.has_value(),            "`host_device`",         "`provider`",                     !request.providers.empty()},
      {request.host_device.has_value(),            "`host_device`",         "one `device`",                   request.device && request.other_devices.empty()},
      {given.in_place,                             "`in_place`",            "`memory` or `memory_timeline`",  request.memory.has_value()},
      {given.optimizer,                            "`optimizer`",           "`training`",                     request.training.has_value()},
      {given.recompute,                            "`recompute`",           "`training`",                     request.training.has_value()},
      {given.frozen,                               "`frozen`",              "`training`",                     request.training.has_value()},
  };
  // clang-format on
  for (const Need& need : needs)
    if (need.is_given && !need.has_other) return cat(need.field, " needs ", need.other);
  return {};
}

// A price of a device that is not requested would have no effect.
std::string idle_price(const EstimateRequest& request) {
  std::vector<std::string_view> ids;
  if (request.device) ids.push_back(request.device->id);
  for (const DeviceSpec& device : request.other_devices) ids.push_back(device.id);
  for (const auto& [id, price] : request.price_per_hour)
    if (std::find(ids.begin(), ids.end(), id) == ids.end())
      return base::field("price_per_hour", id) + ": no requested `device` has this id";
  return {};
}

std::string contradiction(const EstimateRequest& request, const Refinements& given) {
  const bool is_sweep = !request.sweep.empty(), is_training = request.training.has_value();
  const bool published = is_published(request.count);
  const bool is_unfused = request.traffic.value_or(TrafficModel::Unfused) == TrafficModel::Unfused;
  const std::pair<bool, std::string> rules[] = {
      {given.speculate && given.tokens, "`speculate` sets the tokens of a step; it does not go with `tokens`"},
      {is_training && !is_unfused, "`training` counts unfused traffic; it does not go with " +
                                       base::field("traffic", to_string(traffic_model_of(request)))},
      {is_training && request.training->recompute == Recompute::Segments && request.training->segment_starts.empty(),
       "`recompute=segments` needs the nodes that begin a segment (TrainingOptions::segment_starts); `recompute=sqrt` "
       "finds its own"},
      {is_swept(request, "batch") && request.sizes.batch > 0,
       "`sweep=batch` varies what `batch` sets to one size; give one of the two"},
      {published && !is_unfused, "`count=pagoda` has traffic rules of its own; it does not go with `traffic`"},
      {published && !request.custom_operators.empty(),
       "`count=pagoda` has rules of its own; it does not go with `custom_ops`"},
  };
  for (const auto& [is_broken, message] : rules)
    if (is_broken) return message;

  const bool has_devices = !request.other_devices.empty() || !request.other_parallel.empty() || request.prompt > 0;
  const bool has_what_if = !request.other_precisions.empty();
  const std::string table = request.other_devices.size() > 1 ? "`device` with several"
                            : has_what_if                    ? "`what_if`"
                            : request.prompt > 0             ? "`prompt`"
                                                             : "several numbers of devices";
  const char *split = splitting_field(request), *limit = time_limit(request);
  std::string problem;
  if (request.decode_device)
    problem = beside("`decode_device`", {{is_sweep, "`sweep`"},
                                         {is_training, "`training`"},
                                         {has_what_if, "`what_if`"},
                                         {has_devices, "several numbers of devices"}});
  if (problem.empty() && (has_devices || has_what_if))
    problem = beside(table, {{is_sweep, "`sweep` of a size"},
                             {request.count != Convention::Flops, "`count`"},
                             {has_devices && limit != nullptr, limit}});
  if (problem.empty() && limits_rate(request))  // it is of one size, and counts images or the like, not tokens
    problem = beside(limit, {{is_sweep, "`sweep`"}, {request.phase.has_value(), "`phase`; take `max_seconds`"}});
  if (problem.empty() && split != nullptr)
    problem =
        beside(split, {{is_training, "`training`"},
                       {predicts(request) && !engine_of(request).runs_on_groups, "`predict` but `engine=llm-serving`"},
                       {published, "`count=pagoda`"},
                       {request.traffic == TrafficModel::Resident, "`traffic=resident`"}});
  return problem;
}

}  // namespace

std::string refusal(const EstimateRequest& request, const Refinements& given) {
  std::string problem = engine_refusal(request);
  if (problem.empty()) problem = missing(request, given);
  if (problem.empty()) problem = idle_price(request);
  return problem.empty() ? contradiction(request, given) : problem;
}

}  // namespace pagoda::estimate
