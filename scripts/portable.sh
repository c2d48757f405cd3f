#!/usr/bin/env bash
# portable.sh FOLDER [BUILD]: gathers what was built in BUILD (build/release) in FOLDER, with all libraries that it needs
# except the C library's, and packs FOLDER.tar.xz. It runs where neither LLVM nor a network is: on a machine with a GPU.
# FOLDER/polyweft and FOLDER/polyweft-runner are the commands. The machine needs the same architecture and a C library that
# is not older than this one's.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
folder=$(realpath -m "$1")
build=$(realpath "${2:-$(dirname "$0")/../build/release}")
case $folder in *[!A-Za-z0-9/._+-]*) echo "portable.sh: the folder's path has other characters than A-Z a-z 0-9 / . _ + -" >&2; exit 2 ;; esac
[ ! -e "$folder" ] || [ -e "$folder/programs" ] || { echo "portable.sh: $folder is there, and not by this script" >&2; exit 2; }
[ -x "$build/src/cli/polyweft" ] || { echo "portable.sh: nothing was built in $build" >&2; exit 2; }
rm -rf "$folder"
mkdir -p "$folder"
cmake --install "$build" --prefix "$folder/programs" --strip >/dev/null
(cd "$folder/programs" && rm -rf include share/doc share/man share/bash-completion share/zsh share/fish)
rm -f "$folder"/programs/libexec/polyweft/polyweft-runner-* # of other architectures
find "$folder/programs" \( -name '*.cmake' -o -name '*.pc' \) -delete
find "$folder/programs" -type d -empty -delete
libraries=$(dirname "$(find "$folder/programs" -name 'libpolyweft.so*' | head -n 1)")
programs=("$folder"/programs/bin/polyweft "$folder"/programs/libexec/polyweft/polyweft-{isl,runner,device})

# Of the libraries that programs need: soname and path. What the C library has is the machine's own.
needed() {
  LD_LIBRARY_PATH=$libraries ldd "$@" 2>/dev/null | sed -n 's/^\t\(.*\) => \(\/.*\) (0x.*/\1 \2/p' | sort -u |
    grep -Ev '^(lib(c|m|dl|rt|pthread|resolv|util)|ld-linux[^ ]*)\.so|^libpolyweft\.'
}

# A library with the names that LLVM's has of another one. LLVM needs these for manifests of Windows and for a solver of
# Clang's analyzer, which nothing here asks for; with what they need in turn they are a third of the archive.
stand_in() {
  local llvm=$1 soname=$2 names=$3 work
  work=$(mktemp -d)
  nm -D --undefined-only "$llvm" | awk '{print $2}' | grep -E "$names" >"$work/names"
  awk -F@ '{print "void " $1 "(void) { abort(); }"}' "$work/names" | sed '1i #include <stdlib.h>' >"$work/stand_in.c"
  awk -F@ 'NF > 1 {of[$NF] = of[$NF] " " $1 ";"} END {for (version in of) print version " {" of[version] " };"}' \
    "$work/names" >"$work/versions"
  "${CC:-cc}" -shared -fPIC -w -O1 -s -fno-builtin -Wl,-soname,"$soname" $([ -s "$work/versions" ] && echo "-Wl,--version-script=$work/versions") \
    "$work/stand_in.c" -o "$libraries/$soname"
  rm -rf "$work"
}
llvm=$(needed "${programs[@]}" | sed -n 's/^libLLVM[^ ]* //p')
stand_in "$llvm" libz3.so.4 '^Z3_'
stand_in "$llvm" libxml2.so.2 '@LIBXML2'
needed "${programs[@]}" | while read -r soname path; do
  [ ! -e "$libraries/$soname" ] || continue
  cp -L "$path" "$libraries/$soname"
  chmod u+w "$libraries/$soname"
  strip --strip-unneeded "$libraries/$soname"
done

wrapper() {
  cat >"$folder/${1##*/}" <<END
#!/bin/sh
here=\$(dirname "\$(readlink -f "\$0")")
LD_LIBRARY_PATH=\$here/${libraries#"$folder"/}\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec "\$here/$1" "\$@"
END
  chmod +x "$folder/${1##*/}"
}
wrapper programs/bin/polyweft
wrapper programs/libexec/polyweft/polyweft-runner
tar -C "$(dirname "$folder")" -c "$(basename "$folder")" | xz -T0 --x86 --lzma2=preset=6 >"$folder.part"
mv "$folder.part" "$folder.tar.xz"
du -sh "$folder" "$folder.tar.xz"
