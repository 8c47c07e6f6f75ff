# cmake -DTABLE=data/ops.csv -DOUTPUT=builtin_operators.cpp -P embed_operators.cmake
# Writes a C++ source that holds the table of defined operators, which the list of operators takes versions from.
file(STRINGS "${TABLE}" lines REGEX "^[a-z]")
list(POP_FRONT lines)  # the header
set(rows "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^([^,]*),([^,]*),([^,]*),.*$" "    DefinedOp{\"\\1\", \"\\2\", \"\\3\"},\n" row "${line}")
  string(APPEND rows "${row}")
endforeach()
file(WRITE "${OUTPUT}" "// Written by embed_operators.cmake from data/ops.csv.
#include \"ops/defined_ops.h\"

namespace pagoda::ops {
namespace {

constexpr DefinedOp kOps[] = {
${rows}};

}  // namespace

std::span<const DefinedOp> defined_ops() { return kOps; }

}  // namespace pagoda::ops
")
