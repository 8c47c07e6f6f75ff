# Sourced by the scripts beside it. A script writes any number of files into its own folder NAME_files. After each stage
# and at its end they are packed into one archive in OUT, next to the few files worth reading first: at most 8 files,
# none above 15 MB. A script that is killed leaves the results of its last stage.

# save OUT FOLDER FILES...: packs FOLDER into OUT/NAME.tar.gz, replacing an earlier one, and copies its FILES to OUT.
save() {
  local out=$1 folder=$2 most=15000000 file name archive
  shift 2
  [ -d "$folder" ] || return 0
  name=$(basename "$folder") archive=$out/$(basename "${folder%_files}").tar.gz
  mkdir -p "$out"
  # Exit code 1: a file grew while it was read, which is normal for a log.
  tar -C "$(dirname "$folder")" -czf "$folder.tgz" "$name" || [ $? -eq 1 ] || return 1
  rm -f "$archive" "$archive".part-*
  if [ "$(stat -c %s "$folder.tgz")" -gt $most ]; then  # cat NAME.tar.gz.part-* >NAME.tar.gz joins the parts
    split -b $most -d -a 2 "$folder.tgz" "$archive.part-" && rm "$folder.tgz"
  else
    mv "$folder.tgz" "$archive"
  fi
  for file in "$@"; do
    [ -f "$folder/$file" ] && [ "$(stat -c %s "$folder/$file")" -le $most ] && cp "$folder/$file" "$out/$file"
  done
  return 0
}

# pack OUT FOLDER FILES...: save, then removes the folder; if packing fails, the folder stays.
pack() { save "$@" && rm -rf "${2:?}"; }
