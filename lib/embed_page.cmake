# cmake -DDIRECTORY=lib/src/plot/page -DOUTPUT=page_files.cpp -P embed_page.cmake
# Writes a C++ source that holds the script and style of chart pages.
function(joined_files out)
  set(joined "")
  foreach(file IN LISTS ARGN)
    file(READ "${DIRECTORY}/${file}" text)
    string(APPEND joined "${text}")
  endforeach()
  # Compilers need not take literals beyond 64 kB in one piece; neighbours are one string all the same.
  set(pieces "")
  string(LENGTH "${joined}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${joined}" ${at} 12000 piece)
    string(APPEND pieces "R\"pagoda(${piece})pagoda\"\n    ")
    math(EXPR at "${at} + 12000")
  endwhile()
  set(${out} "${pieces}" PARENT_SCOPE)
endfunction()

joined_files(script data.js state.js roofline.js table.js hover.js main.js)
joined_files(style page.css)
file(WRITE "${OUTPUT}" "// Written by embed_page.cmake from lib/src/plot/page.
#include \"plot/page_files.h\"

namespace pagoda::plot {

std::string_view page_script() {
  return
    ${script};
}
std::string_view page_style() {
  return
    ${style};
}

}  // namespace pagoda::plot
")
