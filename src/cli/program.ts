import { Argument, Command, CommanderError, InvalidArgumentError, Option, type OutputConfiguration } from 'commander';
import { efforts } from '../core/agent-run.js';
import type { ErrorCode } from '../core/errors/registry.js';
import { eventTypes } from '../core/events/payloads.js';
import { exitCodeMeanings } from '../core/processes/exit-codes.js';
import { whyNoPath } from '../core/rows/source-fields.js';
import { nearest } from '../core/text/nearest.js';
import { addAgentRuns } from './agents/agent-commands.js';
import { addEvents } from './events/event-program.js';
import { addMend } from './mend/mend-program.js';
import { addMonitors } from './monitors/monitor-program.js';
import { jobStates } from './options/job-states.js';
import { helpGroups, withExamples } from './options/options.js';
import { addPublish } from './report/publish-program.js';
import { addReport } from './report/report-program.js';
import { addInspection } from './rows/inspect-program.js';
import { addJobs } from './rows/job-commands.js';
import { addAgentRows, addEnrich } from './rows/row-commands.js';
import { addSchedules } from './schedules/schedule-program.js';
import { addLocal } from './set-up/local-program.js';
import { addSetUp } from './set-up/set-up-program.js';
import { type Context, type ExitCode, exitCodes } from './shared/context.js';
import type { OutputFlags } from './shared/terminal.js';
import { addTeam } from './team/team-program.js';
import { printableLines } from './text/printable.js';

const exitCodesText = `
Exit codes:
${exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`).join('\n')}`;

type Action = (context: Context) => Promise<ExitCode>;

/** Heading of the flags of every command in its help. */
const GLOBAL_HEADING = 'Global options:';

/** The flags of every command, before or after its name. */
const globalOptions = () => [
  new Option('--no-input', 'never ask; exit code 2 where a confirmation is needed'),
  new Option('--quiet', 'results and errors only, without progress and notes'),
  // Read by `loadSettingsFile` before the command line is parsed.
  new Option('--settings <file>', 'file with settings, such as .env (default: SEARCHFLOW_SETTINGS, else none)'),
];

/**
 * Returns the command line. Parsing runs no command: `choose` gets the action that the caller then runs, and the global flags. Each
 * command loads its own code, so that `--help` stays fast.
 */
export function buildProgram(
  version: string,
  choose: (action: Action, flags: OutputFlags) => void,
  output: OutputConfiguration = {},
): Command {
  const typed: OutputFlags = {};
  const chosen = (action: Action) => choose(action, typed);
  const program = new Command('searchflow')
    .description(
      'Enrich tables with a web-search API, as durable jobs. Without an API key (SEARCHFLOW_API_KEY or EXA_API_KEY) it uses a local sandbox.',
    )
    .version(version, '-v, --version')
    .showSuggestionAfterError()
    .showHelpAfterError('(run with --help for usage)')
    .helpCommand(false)
    .configureOutput({ ...output, outputError: (text, write) => write(printableLines(text)) })
    .exitOverride();

  program.commandsGroup(helpGroups.jobs);
  addEnrich(program, chosen);
  addJobs(program, chosen);
  addMend(program, chosen);
  addInspection(program, chosen);
  addPublish(program, chosen);
  addReport(program, chosen);
  program.commandsGroup(helpGroups.events);
  addEvents(program, chosen);
  program.commandsGroup(helpGroups.agents);
  const agent = program.command('agent').description('agent runs: one, or one for each row of a CSV');
  withExamples(agent, "searchflow agent run 'Who is the CEO of Example Inc.?' --effort low --max-cost 0.50");
  addAgentRuns(agent, chosen);
  addAgentRows(agent, chosen);
  program.commandsGroup(helpGroups.monitors);
  addMonitors(program, chosen);
  program.commandsGroup(helpGroups.schedules);
  addSchedules(program, chosen);
  program.commandsGroup(helpGroups.team);
  addTeam(program, chosen);
  program.commandsGroup(helpGroups.setUp);
  addSetUp(program, chosen);
  addCompletion(program, chosen);
  program.commandsGroup(helpGroups.local);
  addLocal(program, chosen);
  program.addHelpText('after', exitCodesText);
  strict(program);
  program.hook('preAction', (_, command) => {
    refuseExcess(command);
    refuseFlagsBefore(command);
    refuseAddresses(command);
    Object.assign(typed, outputFlags(command));
  });
  return withExamples(
    program,
    'searchflow enrich companies.csv --url-column website --dry-run',
    'searchflow enrich --help',
  );
}

/**
 * Adds the global flags to a command and its subcommands. Makes them refuse empty values, such as those of an unset variable of a script,
 * and keep their own flags: `limits set --json` is not `limits --json`.
 */
function strict(command: Command): void {
  for (const option of globalOptions()) command.addOption(option.helpGroup(GLOBAL_HEADING));
  const takeValue = command.options.filter(({ required, optional }) => required || optional);
  refuseBothForms(command);
  // Words of a line that is being completed may be empty.
  const single = command.registeredArguments.filter(({ variadic }) => !variadic);
  for (const one of [...single, ...takeValue]) {
    const parse = one.parseArg as ((value: string, before: unknown) => unknown) | undefined;
    one.argParser((value: string, before: unknown) => {
      if (value.trim() === '') throw new InvalidArgumentError('The value is empty.');
      return parse ? parse(value, before) : value;
    });
  }
  command.enablePositionalOptions().allowExcessArguments().commands.forEach(strict);
}

/** Makes a command refuse a flag together with its opposite, such as `--key` with `--no-key`: they set the same value. */
function refuseBothForms(command: Command): void {
  for (const negated of command.options.filter(({ negate }) => negate)) {
    const plain = command.options.find((one) => !one.negate && one.attributeName() === negated.attributeName());
    if (plain === undefined) continue;
    const typed = new Set<Option>();
    for (const option of [plain, negated])
      command.on(`option:${option.name()}`, () => {
        typed.add(option);
        if (typed.size < 2) return;
        command.error(`error: ${plain.long} and ${negated.long} exclude each other. Pass one of them.`, {
          exitCode: exitCodes.usage,
          code: 'commander.conflictingOption',
        });
      });
  }
}

/**
 * Ends with a usage error if a flag of a group of commands stands before the name of one of them, as in `limits --qps 5 set`: that
 * command does not read the flag.
 */
function refuseFlagsBefore(command: Command): void {
  for (let { parent } = command; parent !== null; { parent } = parent) {
    const group = parent;
    const option = group.options.find(
      (one) => one.helpGroupHeading !== GLOBAL_HEADING && group.getOptionValueSource(one.attributeName()) === 'cli',
    );
    if (option !== undefined)
      command.error(
        `error: ${option.long} is for \`${pathOf(group)}\`, not for \`${pathOf(command)}\`. Put flags after \`${pathOf(command)}\`.`,
        { exitCode: exitCodes.usage, code: 'commander.conflictingOption' },
      );
  }
}

/** Ends with a usage error if a flag of a file or folder has an address. An input may be one: its flag is `--from`. */
function refuseAddresses(command: Command): void {
  const files = command.options.filter(({ flags, long }) => /<(file|dir)>/.test(flags) && long !== '--from');
  const given = files.map((option) => [option.long, command.getOptionValue(option.attributeName())] as const);
  if (command.registeredArguments[0]?.name() === 'folder') given.push(['folder', command.args[0]]);
  // A schema may be JSON itself.
  for (const [name, value] of given) {
    const why = typeof value === 'string' && !value.startsWith('{') ? whyNoPath(value, process.platform) : null;
    if (why === null) continue;
    command.error(`error: ${name}: the value (not shown) ${why}.`, {
      exitCode: exitCodes.usage,
      code: 'commander.invalidArgument',
    });
  }
}

/** The words of a command, such as `searchflow events sync`. */
const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

/** Returns the global flags that were typed before or after the name of a command. */
function outputFlags(command: Command | null): OutputFlags {
  if (command === null) return {};
  const { input = true, quiet = false } = command.opts<OutputFlags>();
  const before = outputFlags(command.parent);
  return { input: input && before.input !== false, quiet: quiet || before.quiet === true };
}

/** The most characters of a word that are compared with the names of commands. */
const MOST_WORD = 100;

/** Ends with a usage error if the command line has a word that is no argument of the command. The error names the word. */
function refuseExcess(command: Command): void {
  const { args, registeredArguments, commands } = command;
  const word = args[registeredArguments.length];
  if (word === undefined || registeredArguments.at(-1)?.variadic) return;
  const near = nearest(
    word.slice(0, MOST_WORD),
    commands.map((one) => one.name()),
  );
  const hint = near === null ? '' : `\n(Did you mean ${near}?)`;
  const place = commands.length > 0 ? 'unknown command' : 'too many arguments:';
  const code = commands.length > 0 ? 'commander.unknownCommand' : 'commander.excessArguments';
  command.error(`error: ${place} '${word}'${hint}`, { exitCode: exitCodes.usage, code });
}

/** Error codes by the codes of commander; the others are about values. */
const parseCodes: Readonly<Record<string, ErrorCode>> = {
  'commander.unknownCommand': 'unknown-command',
  'commander.unknownOption': 'unknown-option',
  'commander.missingArgument': 'missing-argument',
  'commander.optionMissingArgument': 'missing-argument',
  'commander.missingMandatoryOptionValue': 'missing-argument',
  'commander.excessArguments': 'too-many-arguments',
  'commander.conflictingOption': 'option-unusable',
  // A group of commands without the name of one: the help was printed.
  'commander.help': 'missing-argument',
};

/** Returns the error code of a command line that could not be parsed; null for another error. */
export function parseErrorCode(error: unknown): ErrorCode | null {
  return error instanceof CommanderError ? (parseCodes[error.code] ?? 'invalid-argument') : null;
}

/** If commander has already printed help, the version or a usage error, returns the exit code. Otherwise returns null. */
export function saidAlready(error: unknown): ExitCode | null {
  if (!(error instanceof CommanderError)) return null;
  return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
}

/** Words for flags that have no fixed choices of their own. */
const usual: Readonly<Record<string, readonly string[]>> = {
  '--state': jobStates,
  '--type': eventTypes,
  '--effort': efforts,
  '--delimiter': ['tab', 'semicolon', 'pipe'],
  '--csv-delimiter': ['comma', 'tab', 'semicolon', 'pipe'],
};

/** Adds `completion`, which prints the script that makes a shell complete commands, flags and fixed values. */
function addCompletion(program: Command, chosen: (action: (context: Context) => Promise<ExitCode>) => void): void {
  const completion = program
    .command('completion')
    .description(
      'print the script that completes commands, flags and values in a shell; its first lines say how to load it',
    )
    .addArgument(new Argument('<shell>', 'shell of the script').choices(['bash', 'zsh', 'fish']))
    .action((shell: 'bash' | 'zsh' | 'fish') =>
      chosen(async ({ terminal }) => {
        terminal.data((shell === 'fish' ? fishScript(program) : bashScript(program, shell)).trimEnd());
        return exitCodes.ok;
      }),
    );
  withExamples(completion, 'searchflow completion bash', 'searchflow completion zsh', 'searchflow completion fish');
}

interface Place {
  /** The words of the command, without `searchflow`. */
  readonly path: string;
  /** Subcommands and values of arguments. */
  readonly words: readonly string[];
  readonly flags: readonly Option[];
}

const placesOf = (command: Command, path: string): readonly Place[] => [
  {
    path,
    words: [
      command.commands.map((one) => one.name()),
      command.registeredArguments.map((one) => one.argChoices ?? []),
    ].flat(2),
    flags: command
      .createHelp()
      .visibleOptions(command)
      .filter(({ long }) => long),
  },
  ...command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`.trim())),
];

/** The values of a flag: none if any text may follow; null if no value follows. */
const valuesOf = ({ long, required, optional, argChoices }: Option): readonly string[] | null =>
  required || optional ? (argChoices ?? usual[long ?? ''] ?? []) : null;

const pattern = (words: readonly string[]) => words.map((word) => `'${word}'`).join('|');

function bashScript(program: Command, shell: 'bash' | 'zsh'): string {
  const places = placesOf(program, '');
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
    case "$word" in ${pattern(places.slice(1).map(({ path }) => path))}) at=$word ;; esac
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

function fishScript(program: Command): string {
  const places = placesOf(program, '');
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
        contains -- (string join ' ' $at $word) ${places
          .slice(1)
          .map(({ path }) => `'${path}'`)
          .join(' ')}; and set at $at $word
    end
    test (string join ' ' $at) = "$argv[1]"
end
${places.map(line).join('\n')}
`;
}
