// Every option of an analysis in turn, for tests of so many models that each is analysed in one way only.
#pragma once

#include <cstddef>
#include <optional>

#include "pagoda/core/decoder.h"
#include "pagoda/core/memory.h"
#include "pagoda/core/traffic.h"
#include "pagoda/core/train.h"

namespace pagoda::test {

struct Choice {
  std::optional<Precision> precision;
  TrafficModel traffic;
  std::optional<Phase> phase;
};

// The choices that numbers in a row select are all combinations.
inline Choice choice(std::size_t number) {
  constexpr std::size_t kPrecisions = static_cast<std::size_t>(Precision::Int4) + 2;
  const auto next = [&](std::size_t count) {
    const std::size_t chosen = number % count;
    number /= count;
    return chosen;
  };
  const std::size_t precision = next(kPrecisions), traffic = next(3), phase = next(3);
  return {.precision = precision == 0 ? std::nullopt : std::optional(static_cast<Precision>(precision - 1)),
          .traffic = static_cast<TrafficModel>(traffic),
          .phase = phase == 0 ? std::nullopt : std::optional(static_cast<Phase>(phase - 1))};
}

// Analyses the model and builds on the analysis all that is built on one. Throws Error.
inline Analysis use_all(const Model& model, const Choice& choice) {
  Analysis analysis = analyze(model, {.precision = choice.precision});
  if (choice.phase) {
    try {
      analysis = in_phase(analysis, phase_sizes(model, analysis, {.phase = *choice.phase, .past = 16}));
    } catch (const Error&) {  // no decoder
    }
  }
  (void)plan_memory(model, analysis, {});
  (void)traffic(model, analysis, {.model = choice.traffic, .l2_bytes = 1 << 20});
  (void)train(model, analysis, {});
  return analysis;
}

}  // namespace pagoda::test
