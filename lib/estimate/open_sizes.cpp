#include "pagoda/estimate/open_sizes.h"

#include <algorithm>
#include <iterator>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/core/sweep.h"

namespace pagoda::estimate {

std::vector<std::string> unset_dims(const Model& model, const Analysis& analysis,
                                    const std::vector<std::string>& swept) {
  const std::vector<std::string> batch = batch_dims(model, analysis);
  std::vector<std::string> names;
  for (const std::string& symbol : analysis.free_dims)
    if (!holds(batch, symbol) && !holds(swept, symbol) && !analysis.equalities.contains(symbol))
      names.push_back(symbol);
  return names;
}

namespace {

// Sizes of `unset` at which nothing speaks against a run; empty: none that was tried.
Bindings sizes_that_run(const Model& model, const EstimateRequest& request, const Analysis& analysis,
                        const std::vector<std::string>& unset) {
  static constexpr std::int64_t kOfImages[] = {224, 320, 640, 32}, kOfSequences[] = {128, 512, 16, 1024};
  const bool is_image = std::ranges::any_of(analysis.inputs, [&](const InputInfo& input) {
    return input.type.shape && input.type.shape->size() >= 4 &&
           std::ranges::any_of(*input.type.shape, [&](const Dim& dim) { return holds(unset, dim.to_string()); });
  });
  // All alike, else one of them 1: a second batch.
  constexpr std::size_t kMostSpared = 4;
  const std::size_t tries = unset.size() > 1 && unset.size() <= kMostSpared ? unset.size() + 1 : 1;
  for (std::size_t i = 0; i < tries * std::size(kOfImages); ++i) {
    const std::int64_t size = (is_image ? kOfImages : kOfSequences)[i % std::size(kOfImages)];
    const std::size_t spared = i / std::size(kOfImages);  // 1: the first
    Bindings sizes;
    for (std::size_t k = 0; k < unset.size(); ++k) sizes.emplace(unset[k], k + 1 == spared ? 1 : size);
    AnalyzeOptions options = request.sizes;
    options.precision = request.precision;
    options.dims.insert(sizes.begin(), sizes.end());
    for (const std::string& dim : analysis.free_dims) options.dims.emplace(dim, 1);
    if (!broken_requirement(analysis, options.dims).empty()) continue;
    try {
      const Analysis run = analyze(model, options, request.custom_operators);
      if (cannot_run_text(model, run).empty() && impossible_size(run, {}).empty() &&
          run.totals.unmodelled_nodes <= analysis.totals.unmodelled_nodes)
        return sizes;
    } catch (const Error&) {  // not at this size
    }
  }
  return {};
}

}  // namespace

std::string open_inputs_text(const Model& model, const EstimateRequest& request, const Analysis& analysis,
                             const std::vector<std::string>& unset) {
  std::vector<std::string> inputs;
  for (const InputInfo& input : analysis.inputs)
    if (input.type.shape && std::ranges::any_of(*input.type.shape, [&](const Dim& dim) {
          return std::ranges::any_of(dim.symbols(), [&](const std::string& name) { return holds(unset, name); });
        }))
      inputs.push_back(cat(input.name, " is ", to_string(input.type)));
  constexpr std::size_t kShown = 3;
  if (inputs.size() > kShown) {
    const std::size_t more = inputs.size() - kShown;
    inputs.resize(kShown);
    inputs.push_back(cat(more, " more"));
  }
  std::string text = cat("open sizes: ", base::joined(inputs)), sizes;
  for (const auto& [dim, size] : sizes_that_run(model, request, analysis, unset))
    sizes += " " + base::field("dims", cat(dim, "=", size));
  return sizes.empty() ? text : cat(text, "; set them, for example", sizes);
}

}  // namespace pagoda::estimate
