// The reference of all commands, made from the description of the command line.
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function defaultOf({ defaultValue, defaultValueDescription, description }) {
  if (defaultValue === undefined || defaultValue === false || description.includes('(default:')) return '';
  return ` (default: ${defaultValueDescription ?? (typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue))})`;
}

const choicesOf = ({ argChoices }) => (argChoices ? `: ${argChoices.map((choice) => `\`${choice}\``).join(', ')}` : '');

function table(head, list, name) {
  if (list.length === 0) return [];
  const rows = list.map(
    (one) =>
      `| \`${cell(name(one))}\` | ${cell(one.description.replaceAll('<', '&lt;') + choicesOf(one) + defaultOf(one))} |`,
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

function section(command, path) {
  const hidden = command.createHelp();
  const options = hidden.visibleOptions(command).filter(({ long }) => long !== '--help');
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
    ...table('option', options, ({ flags }) => flags),
    ...(children.length === 0 ? examples(command) : []),
    ...children.flatMap((child) => section(child, [...path, child.name()])),
  ];
}

/** Returns docs/reference/commands.md for the command line `program`. */
export function commandsDoc(program) {
  const lines = [
    '# Commands',
    '',
    '`npm run generate` makes this page from the command line; `npm test` fails if the two differ.',
    '',
    'Settings that all commands share are variables of the environment: see [Configuration](configuration.md). `--help` of each command',
    'prints the same as this page.',
    '',
    ...program.commands.flatMap((command) => section(command, [command.name()])),
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns docs/why/decisions.md; `decisions`: the name and the text of each file, in order. */
export function decisionsDoc(decisions) {
  const line = ([name, text]) => {
    const [, number, title] = /^# (\d+) (.*)$/m.exec(text);
    return `- [${number} ${title}](../decisions/${name})`;
  };
  return `${['# Decisions', '', 'Each decision that would puzzle the next reader, in the order in which it was made.', '', ...decisions.map(line)].join('\n')}\n`;
}
