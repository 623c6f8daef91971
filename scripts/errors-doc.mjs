// The page of error codes, made from the registry of errors.
const link = (text) => text.replace(/`docs\/([\w./-]+)`/g, '[`docs/$1`]($1)');

function entry(code, { title, happened, why, fix, command, cost, retry, exits }, { costs, retries, exitCodes }) {
  return [
    `### ${code}`,
    '',
    `**${title}.** ${link(happened)}`,
    '',
    `- Why: ${link(why)}`,
    `- What to do: ${link(fix)}`,
    ...(command === undefined ? [] : ['', '  ```sh', `  ${command}`, '  ```', '']),
    `- Money: ${costs[cost]}`,
    `- Retry: ${retries[retry]}`,
    `- Exit code: ${exits.map((name) => `\`${exitCodes[name]}\``).join(' or ')}`,
    '',
  ];
}

/** Returns docs/errors.md. `texts`: the sentences of cost and retry, and the exit codes by name. */
export function errorsDoc(groups, entries, texts) {
  const lines = [
    '# Errors',
    '',
    '`node scripts/make-docs-pages.mjs` makes this page from the registry of errors; `npm test` fails if the two differ.',
    '',
    'Each error of the command has a code, which the last line of its message names: `More: searchflow explain budget-reached`.',
    'The code stays the same in all versions; texts may change. With `--json`, the last line on stderr is one JSON object with the code',
    '([scripts](tasks/scripts.md)). Words in capitals in a command are placeholders. [Exit codes](reference/exit-codes.md) are for scripts that need',
    'no more than the kind of error.',
    '',
    '```sh',
    'searchflow explain              # all codes',
    'searchflow explain budget-reached',
    '```',
    '',
    ...groups.flatMap(([title, codes]) => [
      `## ${title}`,
      '',
      ...codes.flatMap((code) => entry(code, entries[code], texts)),
    ]),
  ];
  return lines.join('\n');
}
