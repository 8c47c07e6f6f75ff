# Sourced by the scripts beside it. A script writes any number of files into a folder of its own under OUT; on its end
# they become one archive, and the few worth reading at once lie beside it: no more than 8 files, none above 15 MB.

# pack OUT NAME_files FILES...: OUT/NAME_files becomes OUT/NAME.tar.gz; FILES of it are copied to OUT.
pack() {
  local out=$1 folder=$2 archive=$1/${2%_files}.tar.gz most=15000000 file
  shift 2
  [ -d "$out/$folder" ] || return 0
  rm -f "$archive" "$archive".part-*
  tar -C "$out" -czf "$archive" "$folder" || return 1  # what could not be packed stays as it is
  for file in "$@"; do
    [ -f "$out/$folder/$file" ] && [ "$(stat -c %s "$out/$folder/$file")" -le $most ] && cp "$out/$folder/$file" "$out/$file"
  done
  rm -rf "${out:?}/${folder:?}"
  if [ "$(stat -c %s "$archive")" -gt $most ]; then  # cat NAME.tar.gz.part-* >NAME.tar.gz puts it together again
    split -b $most -d -a 2 "$archive" "$archive.part-" && rm "$archive"
  fi
}
