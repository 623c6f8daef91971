import { Argument, Command, InvalidArgumentError, Option, type OutputConfiguration } from 'commander';
import { exitCodeMeanings } from '../core/processes/exit-codes.js';
import { whyNoPath } from '../core/rows/source-fields.js';
import { nearest } from '../core/text/nearest.js';
import { commands } from './commands.js';
import type { Specs } from './flag-values.js';
import { options } from './options.js';
import { readFlags } from './readers.js';
import { type CommandSpec, type Context, type ExitCode, exitCodes } from './shared/command.js';
import type { OutputFlags } from './shared/terminal.js';
import { printableLines } from './text.js';

const exitCodesText = `
Exit codes:
${exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`).join('\n')}`;

type Action = (context: Context) => Promise<ExitCode>;

const GLOBAL_HEADING = 'Global options:';

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

  for (const [group, table] of Object.entries(commands)) {
    program.commandsGroup(`${group}:`);
    for (const [path, spec] of Object.entries(table)) addCommand(program, path, spec, (run) => choose(run, typed));
  }
  program.addHelpText('after', exitCodesText);
  strict(program);
  program.hook('preAction', (_, command) => {
    refuseExcess(command);
    refuseFlagsBefore(command);
    refuseAddresses(command);
    Object.assign(typed, outputFlags(command));
  });
  return withExamples(program, [
    'searchflow enrich companies.csv --url-column website --dry-run',
    'searchflow enrich --help',
  ]);
}

/** Adds a command of the table to its group. `chosen` gets what runs the command. */
function addCommand(program: Command, path: string, spec: CommandSpec, chosen: (action: Action) => void): void {
  const words = path.split(' ');
  const specs = (options as Readonly<Record<string, Specs>>)[path];
  const parent = program.commands.find((one) => words.length > 1 && one.name() === words[0]) ?? program;
  const command = parent.command(words.at(-1) as string).description(spec.about);
  for (const [name, { help, choices }] of factsOf(spec.args)) {
    const argument = new Argument(name, help);
    command.addArgument(choices ? argument.choices(choices) : argument);
  }
  for (const [flags, { help, choices, many, mandatory, default: usual }] of factsOf(specs)) {
    const option = new Option(flags, help).makeOptionMandatory(mandatory ?? false);
    if (choices) option.choices(choices);
    const { parseArg: checked = (typed: string) => typed } = option;
    if (many)
      option.argParser((typed: string, before?: readonly string[] | boolean) => {
        const value = checked(typed, undefined);
        // A flag that has an opposite may have a boolean before.
        return Array.isArray(before) ? [...before, value] : [value];
      });
    command.addOption(usual === undefined ? option : option.default(usual));
  }
  const { run } = spec;
  const names = command.registeredArguments.length;
  if (run)
    command.action((...given) =>
      chosen(async (context) => {
        const { flags, mistakes } = readFlags(specs, given[names], { cwd: context.cwd, now: Date.now() });
        return (await run())({ ...context, mistakes }, ...([...given.slice(0, names), flags, command] as never[]));
      }),
    );
  withExamples(command, spec.examples);
}

const factsOf = (specs: Specs = {}) =>
  Object.entries(specs).map(([name, spec]) => [name, typeof spec === 'string' ? { help: spec } : spec] as const);

function withExamples(command: Command, lines: readonly string[]): Command {
  const heading = lines.length === 1 ? 'Example:' : 'Examples:';
  return command.addHelpText('after', `\n${heading}\n${lines.map((line) => `  ${line}`).join('\n')}`);
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

/** Ends with a usage error. `code`: the code of commander for such errors. */
const refuse = (command: Command, code: string, why: string): never =>
  command.error(`error: ${why}`, { exitCode: exitCodes.usage, code: `commander.${code}` });

/** Makes a command refuse a flag together with its opposite, such as `--key` with `--no-key`: they set the same value. */
function refuseBothForms(command: Command): void {
  for (const negated of command.options.filter(({ negate }) => negate)) {
    const plain = command.options.find((one) => !one.negate && one.attributeName() === negated.attributeName());
    if (plain === undefined) continue;
    const typed = new Set<Option>();
    command.parent?.hook('preSubcommand', () => typed.clear());
    for (const option of [plain, negated])
      command.on(`option:${option.name()}`, () => {
        const why = `${plain.long} and ${negated.long} exclude each other. Pass one of them.`;
        if (typed.add(option).size === 2) refuse(command, 'conflictingOption', why);
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
      refuse(
        command,
        'conflictingOption',
        `${option.long} is for \`${pathOf(group)}\`, not for \`${pathOf(command)}\`. Put flags after \`${pathOf(command)}\`.`,
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
    if (why !== null) refuse(command, 'invalidArgument', `${name}: the value (not shown) ${why}.`);
  }
}

/** The words of a command, such as `searchflow events sync`. */
const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

/** Returns the flags for the terminal: `--json` of the command, and the global ones that were typed before or after its name. */
function outputFlags(command: Command | null): OutputFlags {
  if (command === null) return {};
  const { input = true, quiet = false, json = false } = command.opts<OutputFlags>();
  const before = outputFlags(command.parent);
  return { input: input && before.input !== false, quiet: quiet || before.quiet === true, json };
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
  refuse(command, commands.length > 0 ? 'unknownCommand' : 'excessArguments', `${place} '${word}'${hint}`);
}
