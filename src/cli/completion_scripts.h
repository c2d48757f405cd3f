// The adaptors between a shell's completion and `polyweft __complete`.
#pragma once

namespace polyweft::cli {

inline constexpr const char* kBash =
    R"sh(# polyweft completion for bash: source it, or put it into share/bash-completion/completions/polyweft
_polyweft() {
  local current="${COMP_WORDS[COMP_CWORD]}" line
  COMPREPLY=()
  # bash takes NAME=VALUE apart at the equal sign: put the words together again.
  local words=() i joined=""
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == "=" || ${COMP_WORDS[i - 1]} == "=" ]] && ((${#words[@]} > 0)); then
      words[${#words[@]}-1]+="${COMP_WORDS[i]}"
    else
      words+=("${COMP_WORDS[i]}")
    fi
  done
  while IFS= read -r line; do
    if [[ $line == ":files" ]]; then
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
      type compopt &>/dev/null && compopt -o filenames 2>/dev/null
    else
      COMPREPLY+=("$line")
    fi
  done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && type compopt &>/dev/null && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _polyweft polyweft
)sh";

inline constexpr const char* kZsh = R"sh(#compdef polyweft
# polyweft completion for zsh: put it as _polyweft into a folder of $fpath
_polyweft() {
  local line
  local -a found
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == ":files" ]]; then
      _files
    elif [[ -n $line ]]; then
      found+=("$line")
    fi
  done
  (( ${#found} )) && compadd -- "${found[@]}"
}
if [[ $funcstack[1] == _polyweft ]]; then _polyweft "$@"; else compdef _polyweft polyweft; fi
)sh";

inline constexpr const char* kFish =
    R"sh(# polyweft completion for fish: put it into share/fish/vendor_completions.d/polyweft.fish
function __polyweft_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c polyweft -f -a "(__polyweft_complete)"
)sh";

}  // namespace polyweft::cli
