// The reference of all commands, made from the description of the command line.
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function defaultOf({ defaultValue, defaultValueDescription, description }) {
  if (defaultValue === undefined || defaultValue === false || description.includes('(default:')) return '';
  return ` (default: ${defaultValueDescription ?? (typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue))})`;
}

const choicesOf = ({ argChoices }) => (argChoices ? `: ${argChoices.map((choice) => `\`${choice}\``).join(', ')}` : '');

function table(head, list, name, more = () => '') {
  if (list.length === 0) return [];
  const rows = list.map(
    (one) =>
      `| \`${cell(name(one))}\` | ${cell(one.description.replaceAll('<', '&lt;') + choicesOf(one) + defaultOf(one) + more(one))} |`,
  );
  return [`| ${head} | meaning |`, '|---|---|', ...rows, ''];
}

/** The text that a command prints after its help, such as its examples. */
function afterHelp(command) {
  const lines = [];
  command.configureOutput({ writeOut: (text) => lines.push(text) });
  command.emit('afterHelp', { command, error: false, write: (text) => lines.push(text) });
  return lines.join('');
}

function examples(command) {
  const lines = afterHelp(command)
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim());
  return lines.length === 0 ? [] : ['```sh', ...lines, '```', ''];
}

const kindsOf = ({ anyOf, properties }) => anyOf?.flatMap(kindsOf) ?? [properties?.kind?.const];

/** The schema of what a command prints with --json, and its kinds of objects. */
function schemaOf(path, { commandOutputs, outputSchema, schemaFile }) {
  const kinds = [...new Set(kindsOf(outputSchema(path, commandOutputs[path])))]
    .filter(Boolean)
    .map((kind) => `\`${kind}\``);
  return `; schema \`${schemaFile(path)}\`${kinds.length === 0 ? '' : `, \`kind\`: ${kinds.join(', ')}`}`;
}

function section(command, path, outputs) {
  const hidden = command.createHelp();
  const options = hidden.visibleOptions(command).filter(({ long }) => long !== '--help');
  const more = ({ long }) => (long === '--json' ? schemaOf(path.join(' '), outputs) : '');
  const args = command.registeredArguments;
  const children = command.commands.filter((child) => child.name() !== 'help');
  const sentence = command.description().replace(/^./, (first) => first.toUpperCase());
  return [
    `${'#'.repeat(path.length + 1)} ${path.join(' ')}`,
    '',
    `${sentence}.`,
    '',
    ...(children.length === 0 ? ['```', `searchflow ${path.join(' ')} ${command.usage()}`.trimEnd(), '```', ''] : []),
    ...table('argument', args, (one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`)),
    ...table('option', options, ({ flags }) => flags, more),
    ...(children.length === 0 ? examples(command) : []),
    ...children.flatMap((child) => section(child, [...path, child.name()], outputs)),
  ];
}

/** Returns docs/reference/commands.md for the command line `program`, and the schemas of what its commands print with --json. */
export function commandsDoc(program, outputs) {
  const lines = [
    '# Commands',
    '',
    '`npm run generate` makes this page from the command line; `npm test` fails if the two differ.',
    '',
    'Settings that all commands share are variables of the environment: see [Configuration](configuration.md). `--help` of each command',
    'prints the same as this page. [Scripts](../tasks/scripts.md#output) describes the output of `--json`.',
    '',
    ...program.commands.flatMap((command) => section(command, [command.name()], outputs)),
  ];
  return `${lines.join('\n')}\n`;
}
