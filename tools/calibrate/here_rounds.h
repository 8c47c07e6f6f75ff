// The rounds in which --here measures each run of its study, and which of them count.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "here_fit.h"

namespace pagoda::tools {

using Rounds = std::map<const StudyRow*, std::vector<const documents::Result*>>;  // the fastest first

// The rounds that gave a time.
Rounds rounds_of(const HereEngine& engine, const std::vector<documents::Result>& results);

// Where a host placed the processors of a virtual machine while it was measured. A calibration is of one cache if the
// machine had one in some round of at least half of its runs.
struct Placements {
  std::size_t together = 0, apart = 0;             // rounds
  double together_seconds = 0, apart_seconds = 0;  // the mean time until one processor sees what another wrote
  bool is_of_one_cache = false;

  double apart_share() const;  // of the rounds whose placement is known
};
Placements placements_of(const Rounds& rounds);
// Runs that no round has measured in that placement, though others were.
std::vector<const StudyRow*> runs_without_one_cache(const Rounds& rounds, const Placements& placements);

// The time of a run by the rounds of one placement that were not disturbed.
HereRun run_of(const StudyRow& row, const std::vector<const documents::Result*>& rounds, const Placements& placements);

// Notes on placements, and on runs that were disturbed.
std::vector<std::string> notes_of(const Rounds& rounds, const Placements& placements, const std::string& folder);

}  // namespace pagoda::tools
