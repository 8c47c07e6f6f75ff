// The text and tables of a page: the answer that the terminal shows, budgets and the training step.
#pragma once

#include <string>

#include "pagoda/documents/estimate.h"

namespace pagoda::present::plot {

// The requested limits, met or not, with the causes; empty if none were requested.
std::string budgets_html(const documents::EstimateDocument& estimate);
// Work, memory, traffic, phase, fit, time, advice, the heaviest rows; for training also the step.
std::string answer_html(const documents::EstimateDocument& estimate);

}  // namespace pagoda::present::plot
