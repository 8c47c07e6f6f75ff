// The two phases of a language model that keeps past keys and values: prefill reads a prompt, decode adds one token.
//
//   Analysis analysis = analyze(model, {.batch = 1});
//   PhaseSizes decode = phase_sizes(model, analysis, {.phase = Phase::Decode, .past = 2048});
//   Analysis step = in_phase(analysis, decode);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/diagnostic.h"
#include "pagoda/core/peculiarity.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class Phase : std::uint8_t {
  Prefill,  // all tokens of a prompt at once
  Decode,   // one new token
};
std::optional<Phase> phase(std::string_view name);  // "prefill", "decode"
std::string_view to_string(Phase phase);

struct PhaseOptions {
  Phase phase = Phase::Decode;
  std::optional<std::int64_t> tokens = std::nullopt;  // new ones of each sequence; decode: 1
  std::optional<std::int64_t> past = 0;               // tokens that the cache already holds; empty: stays free
};

struct PhaseSizes {
  Bindings dims;                                  // of the new tokens, the past, and masks over both
  std::map<std::string, Dim, std::less<>> masks;  // of masks over both, where that is not a number
  Dim tokens;                                     // new tokens of the whole batch in one run
  std::string past_dim;                           // empty where the cache has a fixed size
  std::int64_t tokens_per_past = 1;               // that one step of past_dim holds: of a cache in pages a page
  std::string token_dim;
  std::vector<Diagnostic> diagnostics;
};

// Decoders of encoder-decoder models keep both phases in one file: an If on this input skips what the cache holds.
inline constexpr Peculiarity kCacheBranchOf{"Hugging Face Optimum, merged decoders", "since February 2023",
                                            "github.com/huggingface/optimum, pull request 647"};
inline constexpr std::string_view kCacheBranch = "use_cache_branch";

// Whether the model has an input of one boolean with this name.
bool has_flag(const Model& model, std::string_view input);
// Gives that input its value, as a caller of the model does: an If on it has one branch. Throws Error where it is no
// such input.
void set_flag(Model& model, std::string_view input, bool value);
// Puts a merged decoder on the side of a phase; other models stay as they are.
void set_phase_flag(Model& model, const PhaseOptions& phase);
// The same model in another phase, also where its flag was set before.
Model in_other_phase(const Model& model, const PhaseOptions& phase);

// Throws Error where the model has no pair of past and present, or a size is fixed at another value.
PhaseSizes phase_sizes(const Model& model, const Analysis& analysis, const PhaseOptions& options);

// The analysis at these sizes, with their diagnostics.
Analysis in_phase(const Analysis& analysis, const PhaseSizes& sizes);

// A stored table with a row for each position: learned embeddings, or sines and cosines. It ends the context.
struct PositionTable {
  std::string name;
  std::int64_t positions = 0;
};
// The shortest that positions look up, as the data flow says; empty where the model computes what it needs of them.
std::optional<PositionTable> position_table(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
