// What a page says in words and tables: the answer that a terminal shows, budgets and the training step.
#pragma once

#include <string>

#include "pagoda/documents/estimate.h"

namespace pagoda::present::plot {

// Limits that were asked for, met or not, with the causes; empty where none were.
std::string budgets_html(const documents::EstimateDocument& estimate);
// Work, memory, traffic, phase, fit, time, advice, the heaviest rows; the step where one is trained.
std::string answer_html(const documents::EstimateDocument& estimate);

}  // namespace pagoda::present::plot
