// Several devices: the work and memory of each, and the time bound of a step on all of them.
#include <algorithm>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/core/memory.h"

namespace pagoda::estimate {
namespace {

const Name& name_of(const Model& model, const Analysis& analysis, std::int32_t row) {
  const NodeReport& report = analysis.nodes[static_cast<std::size_t>(row)];
  const Graph& graph = model.graph(report.graph);
  return display_name(graph, graph.node(report.node));
}

LinkRate link_of(const EstimateRequest& request, const DeviceSpec& device, std::int64_t devices) {
  if (request.link.bytes_per_second) return {"as given", *request.link.bytes_per_second, "as given"};
  return core::link_of(device, request.link.name, devices);
}

// Number of tokens or items that can pass through the stages one after another.
double most_parts(const Model& model, const EstimateRequest& request, const Sized& sized) {
  return std::max(real(items_of(model, request, sized)).value_or(1), 1.0);
}

}  // namespace

EstimateRequest of_one_group(const EstimateRequest& request) {
  if (!request.parallel || request.parallel->expert == 1) return request;
  if (is_swept(request, "batch")) return request;  // each point has its own batch
  EstimateRequest one = request;
  const std::int64_t groups = request.parallel->expert;
  if (request.sizes.batch < groups || request.sizes.batch % groups != 0)
    throw Error(base::field("expert_parallel", groups) +
                ": each group of devices works on its part of the batch; give `batch` with a multiple of " +
                std::to_string(groups));
  one.sizes.batch /= groups;
  return one;
}

GroupShare share_of_group(const Model& model, const EstimateRequest& request, const Sized& sized) {
  const ParallelOptions& devices = *request.parallel;
  const EstimateRequest one = of_one_group(request);
  GroupShare part{.share = devices.expert > 1 ? share_of_device(model, estimate::sized(model, one).analysis, devices)
                                              : share_of_device(model, sized.analysis, devices),
                  .moved = {}};
  part.moved = traffic_of(model, request, part.share.analysis);
  return part;
}

GroupRun run_on_group(const Model& model, const EstimateRequest& request, const Sized& sized, const GroupShare& part) {
  const ParallelOptions& devices = *request.parallel;
  GroupRun group{.share = part.share, .stages = {}, .link = {}, .bound = {}, .time = {}, .held = {}};
  if (devices.devices() > 1) group.link = link_of(request, *request.device, devices.devices());
  const Analysis& share = group.share.analysis;
  const std::optional<Traffic>& moved = part.moved;
  group.bound = moved ? roofline(share, *moved, *request.device) : roofline(share, *request.device);
  RooflineTotals& totals = group.bound.totals;
  if (devices.pipeline > 1) {
    group.stages = pipeline_stages(model, share, group.bound, devices.pipeline);
    double floor = 0;
    for (const Stage& stage : group.stages) {
      if (stage.begin > 0)
        group.share.collectives.push_back(
            {CollectiveKind::Send, stage.begin - 1, stage.received_bytes, devices.pipeline});
      const Analysis own = analysis_of_stage(model, share, stage);
      floor = std::max(floor, roofline(own, *request.device).totals.floor_seconds);
      group.held.push_back(memory_need(model, own));
    }
    totals.floor_seconds = floor;
  } else {
    group.held.push_back(memory_need(model, share));
  }
  group.time = parallel_time(share, group.bound, group.share.collectives, group.stages, group.link,
                             most_parts(model, request, sized));
  totals.floor_seconds =
      std::max(totals.floor_seconds, group.time.link_seconds / static_cast<double>(devices.pipeline));
  totals.seconds = group.time.seconds;
  totals.floor_seconds = std::min(totals.floor_seconds, totals.seconds);
  if (totals.eager_seconds)
    totals.eager_seconds =
        std::max(totals.seconds, static_cast<double>(totals.launches) * *request.device->launch_overhead_seconds.value);
  return group;
}

const MemoryNeed& GroupRun::largest_need() const { return *std::ranges::max_element(held, {}, &MemoryNeed::total); }

EstimateHandover handover_of(const Model& model, const Model& file_model, const EstimateRequest& request,
                             const Analysis& analysis) {
  const std::int64_t devices = request.parallel ? request.parallel->devices() : 1;
  EstimateRequest decode{
      .sizes = request.sizes,
      .phase = PhaseOptions{.phase = Phase::Decode,
                            .tokens = 1,
                            .past = request.phase->past.value_or(0) + request.phase->tokens.value_or(1)},
      .traffic = traffic_model_of(request),
      .device = request.decode_device,
      .precision = request.precision,
      .parallel = request.parallel,
      .link = request.link};
  EstimateHandover handover;
  handover.device = request.decode_device->id;
  handover.cache_bytes = count(plan_memory(model, analysis, {.reorder = false, .arena = false}).kv_cache.shared_bytes);
  const LinkRate from = link_of(request, *request.device, 2), to = link_of(request, *request.decode_device, 2);
  handover.link = from.bytes_per_second < to.bytes_per_second ? from : to;
  handover.transfer_seconds =
      real(handover.cache_bytes).value_or(0) / (static_cast<double>(devices) * handover.link.bytes_per_second);
  const Model there = model_in_phase(file_model, *decode.phase);
  const Sized step = sized(there, decode);
  handover.decode_seconds =
      (decode.parallel ? run_on_group(there, decode, step, share_of_group(there, decode, step)).bound.totals
                       : times_of(there, decode, step.analysis))
          .seconds;
  return handover;
}

EstimateParallel parallel_part(const Model& model, const EstimateRequest& request, const GroupRun& group) {
  const Share& share = group.share;
  const Analysis& analysis = share.analysis;
  const MemoryNeed need = memory_need(model, analysis);
  const Counter count(analysis);
  const std::optional<Traffic> moved = traffic_of(model, request, analysis);
  EstimateParallel part{.devices = *request.parallel,
                        .link = group.link,
                        .time = group.time,
                        .macs = count(analysis.totals.cost.macs),
                        .bytes = count(moved ? moved->bytes() : analysis.totals.cost.bytes()),
                        .weight_bytes = need.weights,
                        .cache_bytes = need.cache,
                        .column_products = share.columns,
                        .row_products = share.rows,
                        .whole_products = share.whole,
                        .whole_weight_bytes = count(share.whole_param_bytes),
                        .whole_reason = share.whole_reason};
  for (const Collective& each : share.collectives)
    part.collectives.push_back({.kind = each.kind,
                                .node = name_of(model, analysis, each.row),
                                .bytes = count(each.bytes),
                                .seconds = sent_bytes(each.kind, static_cast<double>(each.bytes.evaluate({})),
                                                      each.devices, group.link.sums_in_switch) /
                                           group.link.bytes_per_second});
  for (const Stage& stage : group.stages) {
    const MemoryNeed& held = group.held[part.stages.size()];
    part.stages.push_back({.begin = static_cast<std::size_t>(stage.begin),
                           .end = static_cast<std::size_t>(stage.end),
                           .seconds = stage.seconds,
                           .weight_bytes = held.weights,
                           .cache_bytes = held.cache,
                           .received_bytes = count(stage.received_bytes)});
  }
  return part;
}

}  // namespace pagoda::estimate
