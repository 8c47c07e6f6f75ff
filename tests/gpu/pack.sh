# Sourced by the scripts beside it. A script writes any number of files into a folder of its own, NAME_files; after each
# stage and on its end they are one archive in OUT, and the few worth reading at once lie beside it: no more than 8
# files, none above 15 MB. A script that is killed leaves what its last stage left.

# save OUT FOLDER FILES...: FOLDER becomes OUT/NAME.tar.gz in place of an earlier one; FILES of it are copied to OUT.
save() {
  local out=$1 folder=$2 most=15000000 file name archive
  shift 2
  [ -d "$folder" ] || return 0
  name=$(basename "$folder") archive=$out/$(basename "${folder%_files}").tar.gz
  mkdir -p "$out"
  # 1: a file grew while it was read, as a log may.
  tar -C "$(dirname "$folder")" -czf "$folder.tgz" "$name" || [ $? -eq 1 ] || return 1
  rm -f "$archive" "$archive".part-*
  if [ "$(stat -c %s "$folder.tgz")" -gt $most ]; then  # cat NAME.tar.gz.part-* >NAME.tar.gz puts it together again
    split -b $most -d -a 2 "$folder.tgz" "$archive.part-" && rm "$folder.tgz"
  else
    mv "$folder.tgz" "$archive"
  fi
  for file in "$@"; do
    [ -f "$folder/$file" ] && [ "$(stat -c %s "$folder/$file")" -le $most ] && cp "$folder/$file" "$out/$file"
  done
  return 0
}

# pack OUT FOLDER FILES...: save, and the folder goes; what could not be packed stays as it is.
pack() { save "$@" && rm -rf "${2:?}"; }
