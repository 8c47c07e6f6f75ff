// How front ends write the fields of a request. The library names them between backquotes, as in "`batch` has no
// effect".
//
//   command_line("set `dims=N=V` or `traffic=fused`");  // set --dim N=V or --traffic fused
//   python("set `dims=N=V` or `traffic=fused`");        // set dims={'N': V} or traffic='fused'
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::present {

// As options of the tools.
std::string command_line(std::string_view message);
// As keyword arguments of the Python package.
std::string python(std::string_view message);

}  // namespace pagoda::present
#pragma GCC visibility pop
