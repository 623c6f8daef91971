import { shellWord } from '../../core/text/shell-word.js';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * Returns the completion script of a shell. The script asks the command that is being typed; if that is no program in the PATH, it asks
 * `command`, an absolute command line. No script evaluates a text of the command line.
 */
export function completionScript(shell: Shell, command: readonly string[]): string {
  return { bash, zsh, fish }[shell](command);
}

// The words of bash are split at `=` and `:`, so the line is passed as a whole. `compopt` is missing in bash 3.2 of macOS, where file names
// are also offered if nothing else fits.
const bash = (command: readonly string[]) => `# bash completion of searchflow. To load it in this shell:
#   source <(searchflow completion bash)
# To load it in every shell, with the package bash-completion:
#   searchflow completion bash > ~/.local/share/bash-completion/completions/searchflow
_searchflow() {
  local out kind line
  local -a ask
  COMPREPLY=()
  ask=(${command.map(shellWord).join(' ')})
  if type -P -- "$1" >/dev/null; then ask=("$1"); fi
  out=$("\${ask[@]}" completion bash -- "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null) || return 0
  {
    IFS= read -r kind
    while IFS= read -r line; do COMPREPLY+=("$line"); done
  } <<<"$out"
  if [ "$kind" = folders ]; then
    compopt +o default -o dirnames 2>/dev/null
  elif [ "$kind" != files ]; then
    compopt +o default 2>/dev/null
  fi
  return 0
}
complete -o default -F _searchflow searchflow
`;

const zsh = (command: readonly string[]) =>
  `#compdef searchflow
# zsh completion of searchflow. To load it in this shell:
#   source <(searchflow completion zsh)
# To load it in every shell: write it to a folder of $fpath, before compinit in ~/.zshrc.
#   searchflow completion zsh > ~/.zfunc/_searchflow
_searchflow() {
  local -a ask lines
  local kind
  ask=(${command.map(shellWord).join(' ')})
  if whence -p -- "\${(Q)words[1]}" >/dev/null; then ask=("\${(Q)words[1]}"); fi
  lines=("\${(@f)$("\${ask[@]}" completion zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null </dev/null)}")
  kind=\${lines[1]}
  lines=("\${(@)lines[2,-1]}")
  if [[ $kind == (files|folders) && $PREFIX == --*=* ]]; then compset -P '*='; fi
  case $kind in
    files) _files ;;
    folders) _files -/ ;;
    words) (( $#lines )) && _describe -V searchflow lines ;;
  esac
}
if [[ $\{funcstack[1]} == _searchflow ]]; then
  _searchflow "$@"
else
  if ! whence compdef >/dev/null; then autoload -Uz compinit && compinit; fi
  compdef _searchflow searchflow
fi
`.replaceAll('$\\{', '${');

const fishWord = (word: string) => `'${word.replace(/[\\']/g, '\\$&')}'`;

const fish = (command: readonly string[]) => `# fish completion of searchflow. To load it in this shell:
#   searchflow completion fish | source
# To load it in every shell:
#   searchflow completion fish > ~/.config/fish/completions/searchflow.fish
function __searchflow_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l ask ${command.map(fishWord).join(' ')}
    if command -q -- $typed[1]
        set ask $typed[1]
    end
    set -e typed[1]
    set -l lines ($ask completion fish -- $typed "$current" 2>/dev/null </dev/null)
    set -l kind $lines[1]
    set -e lines[1]
    set -l flag (string match -r -- '^--[^=]*=' "$current")
    set -l value (string replace -r -- '^--[^=]*=' '' "$current")
    switch "$kind"
        case files
            __fish_complete_path "$value" | string replace -r '^' -- "$flag"
        case folders
            __fish_complete_directories "$value" | string replace -r '^' -- "$flag"
        case words
            printf '%s\\n' $lines
    end
end
complete -c searchflow -f -k -a '(__searchflow_complete)'
`;
