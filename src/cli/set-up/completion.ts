import type { Command, Option } from 'commander';
import { eventTypes } from '../../core/events/payloads.js';
import { efforts } from '../../core/request-values.js';
import { type Context, type ExitCode, exitCodes } from '../shared/command.js';

/** Words for flags that have no fixed choices of their own. */
const usual: Readonly<Record<string, readonly string[]>> = {
  '--type': eventTypes,
  '--effort': efforts,
  '--delimiter': ['tab', 'semicolon', 'pipe'],
  '--csv-delimiter': ['comma', 'tab', 'semicolon', 'pipe'],
};

export async function completion({ terminal }: Context, shell: string, _: object, command: Command): Promise<ExitCode> {
  const places = placesOf(command.parent as Command, '');
  terminal.data((shell === 'fish' ? fishScript(places) : bashScript(places, shell)).trimEnd());
  return exitCodes.ok;
}

interface Place {
  /** The words of the command, without `searchflow`. */
  readonly path: string;
  /** Subcommands and values of arguments. */
  readonly words: readonly string[];
  readonly flags: readonly Option[];
}

function placesOf(command: Command, path: string): readonly Place[] {
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const words = [...command.commands.map((one) => one.name()), ...choices];
  const options = command.createHelp().visibleOptions(command);
  const below = command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`.trim()));
  return [{ path, words, flags: options.filter(({ long }) => long) }, ...below];
}

/** The values of a flag: none if any text may follow; null if no value follows. */
const valuesOf = ({ long, required, optional, argChoices }: Option): readonly string[] | null =>
  required || optional ? (argChoices ?? usual[long ?? ''] ?? []) : null;

const pathsOf = (places: readonly Place[]) => places.slice(1).map(({ path }) => `'${path}'`);

function bashScript(places: readonly Place[], shell: string): string {
  const values = new Map(places.flatMap(({ flags }) => flags).map((flag) => [flag.long as string, valuesOf(flag)]));
  const branches = [...values].flatMap(([flag, words]) =>
    words ? [`    ${flag}) words='${words.join(' ')}' ;;`] : [],
  );
  const commands = places.map(
    ({ path, words, flags }) => `    '${path}') words='${[...words, ...flags.map(({ long }) => long)].join(' ')}' ;;`,
  );
  const load = shell === 'zsh' ? 'autoload -U +X compinit bashcompinit && compinit && bashcompinit\n' : '';
  return `# ${shell} completion of searchflow. To load it, add this line to ~/.${shell}rc:
#   source <(searchflow completion ${shell})
${load}_searchflow() {
  local word='' at='' flag='' words='' n
  COMPREPLY=()
  for ((n = 1; n < COMP_CWORD; n++)); do
    word="\${at:+$at }\${COMP_WORDS[n]}"
    case "$word" in ${pathsOf(places).join('|')}) at=$word ;; esac
  done
  word=\${COMP_WORDS[COMP_CWORD]}
  flag=\${COMP_WORDS[COMP_CWORD - 1]}
  if [ "$word" = = ]; then word=''; elif [ "$flag" = = ]; then flag=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  case "$flag" in
${branches.join('\n')}
    *) case "$at" in
${commands.join('\n')}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _searchflow searchflow
`;
}

function fishScript(places: readonly Place[]): string {
  const line = ({ path, words, flags }: Place) => {
    const start = `complete -c searchflow -n "__searchflow_at '${path}'"`;
    const flagLine = (flag: Option) => {
      const values = valuesOf(flag);
      return `${start} -l ${flag.long?.slice(2)}${values === null ? '' : values.length === 0 ? ' -r' : ` -x -a '${values.join(' ')}'`}`;
    };
    return [...(words.length > 0 ? [`${start} -f -a '${words.join(' ')}'`] : []), ...flags.map(flagLine)].join('\n');
  };
  return `# fish completion of searchflow. To load it in every shell:
#   searchflow completion fish > ~/.config/fish/completions/searchflow.fish
function __searchflow_at
    set -l at
    for word in (commandline -opc)[2..-1]
        contains -- (string join ' ' $at $word) ${pathsOf(places).join(' ')}; and set at $at $word
    end
    test (string join ' ' $at) = "$argv[1]"
end
${places.map(line).join('\n')}
`;
}
