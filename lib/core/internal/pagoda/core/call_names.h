// Names of values in the bodies of local functions as the calls know them: the rows of a body read and write the values
// that the call passes and returns, under the names they have where the call stands. Rows of one graph then follow each
// other by name across calls, as they do after a runtime has inlined the functions.
//
//   const CallNames names(model, analysis.nodes);
//   Name name = names.of(7, model.graph(analysis.nodes[7].graph).inputs[0]);  // of a value of row 7's graph
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/model.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

class CallNames {
 public:
  // Keeps references to both.
  CallNames(const Model& model, const std::vector<NodeReport>& rows);

  // The name of a value of the row's graph; empty for kAbsent.
  Name of(std::size_t row, ValueId value) const;

 private:
  struct Call {
    GraphId body = 0;
    std::map<ValueId, Name> names;  // of the body's inputs and outputs
  };

  Name name_in(std::int32_t call, GraphId graph, ValueId value) const;
  std::size_t follow(GraphId graph, std::size_t begin, std::int32_t call);
  std::int32_t enter(const Node& node, GraphId graph, const Function& function, std::int32_t caller);

  const Model& model_;
  const std::vector<NodeReport>& rows_;
  std::vector<Call> calls_;
  std::vector<std::int32_t> call_of_;  // by row; -1 outside calls; empty for models without functions
};

}  // namespace pagoda::inline core
#pragma GCC visibility pop
