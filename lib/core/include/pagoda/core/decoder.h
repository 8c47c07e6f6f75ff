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

#pragma GCC visibility push(default)
namespace pagoda::inline core {

enum class Phase : std::uint8_t {
  Prefill,  // all tokens of a prompt at once
  Decode,   // one new token
};
std::optional<Phase> phase(std::string_view name);  // "prefill", "decode"
std::vector<std::string_view> phase_names();
std::string_view to_string(Phase phase);

struct PhaseOptions {
  Phase phase = Phase::Decode;
  std::optional<std::int64_t> tokens = std::nullopt;  // new tokens per sequence; decode: 1
  std::optional<std::int64_t> past = 0;               // tokens already in the cache; empty: left free
};

struct PhaseSizes {
  Bindings dims;                                  // of the new tokens, the past, and masks over both
  std::map<std::string, Dim, std::less<>> masks;  // mask lengths over both, where not a number
  Dim tokens;                                     // new tokens of the whole batch in one run
  std::string past_dim;                           // empty where the cache has a fixed size
  std::int64_t tokens_per_past = 1;               // tokens per unit of past_dim: the page size in a paged cache
  std::string token_dim;
  std::vector<Diagnostic> diagnostics;
};

// Merged decoders of encoder-decoder models, as Hugging Face Optimum has written them since February 2023
// (github.com/huggingface/optimum, pull request 647), keep both phases in one file: an If on this input skips the
// work whose results are in the cache.
inline constexpr std::string_view kCacheBranch = "use_cache_branch";

// Whether the model has an input of this name that is a single boolean.
bool has_flag(const Model& model, std::string_view input);
// Fixes that input's value, so that an If on it takes one branch. Throws Error if the model has no input of this name.
void set_flag(Model& model, std::string_view input, bool value);
// The same for an input of one number or boolean, of rank 0 or of shape [1]: a sample rate, a beam size. Throws Error
// for a value that the input's type does not hold, such as 0.5 for an integer.
bool has_scalar(const Model& model, std::string_view input);
void set_scalar(Model& model, std::string_view input, const Scalar& value);
// Sets a merged decoder's flag for a phase; other models stay as they are.
void set_phase_flag(Model& model, const PhaseOptions& phase);
// The same model in a different phase, even if its flag was set before.
Model in_other_phase(const Model& model, const PhaseOptions& phase);
// The model with each If of the main graph whose condition is stored, as set_flag() stores it, replaced by the branch
// that runs: only then do caches, fused kernels and the work of several devices reach into the branch. Rows keep their
// number and order; an Identity takes the place of the If. Empty if no If has a stored condition.
std::optional<Model> with_branches_taken(const Model& model);

// Throws Error where the model has no pair of past and present, or fixes a size at a different value.
PhaseSizes phase_sizes(const Model& model, const Analysis& analysis, const PhaseOptions& options);

// The analysis at these sizes, including their diagnostics.
Analysis in_phase(const Analysis& analysis, const PhaseSizes& sizes);

// A stored table with a row per position: learned embeddings, or sines and cosines. Its length limits the context.
struct PositionTable {
  std::string name;
  std::int64_t positions = 0;
  // The positions that a run of these sizes takes; empty where the values of an input say.
  std::optional<Dim> used = {};
};
// All such tables of the model, each once.
std::vector<PositionTable> position_tables(const Model& model, const Analysis& analysis);
// Names the first table that has fewer rows than the sizes take, with both numbers; empty if none has. Free dims
// missing in `bindings` are 1.
std::string exceeded_table(const std::vector<PositionTable>& tables, const Bindings& bindings = {});
// The shortest table that positions index, found from the data flow; empty where the model computes its position
// values.
std::optional<PositionTable> position_table(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core
#pragma GCC visibility pop
