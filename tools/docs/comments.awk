# A filter of Doxygen: the headers' plain comments become documentation.
#   a block at the head of the file   → the file's page
#   a block above a declaration       → its text
#   a comment behind a declaration    → its text, after the fact
BEGIN { head = 1 }
head && /^\/\// {
  if (!seen++) print "/// \\file"
  print escape("///" substr($0, 3))
  next
}
{ head = 0 }
/^ *\/\/ / { sub(/\/\/ /, "/// "); print escape($0); next }
/^ *\/\/$/ { sub(/\/\//, "///"); print; next }
/[;,{}] +\/\/ / { sub(/\/\/ /, "///< "); at = index($0, "///< "); print substr($0, 1, at - 1) escape(substr($0, at)); next }
{ sub(/namespace pagoda::inline core/, "namespace pagoda"); print }  # what users write
# What Doxygen would read as markup of its own; indented lines are examples, which Markdown leaves alone.
function escape(text, lead) {
  lead = match(text, /^ *\/\/\/<? ?/) ? substr(text, 1, RLENGTH) : ""
  text = substr(text, length(lead) + 1)
  if (text ~ /^  /) return lead "  " text
  gsub(/\\/, "\\\\\\\\", text)
  gsub(/[<>#@&]/, "\\\\&", text)
  return lead text
}
