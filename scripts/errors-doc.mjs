// The page of error codes, made from the registry of errors, and the table of error tags.
const link = (text) => text.replace(/`docs\/([\w./-]+)`/g, '[`docs/$1`]($1)').replaceAll('|', '\\|');

/** Returns docs/errors.md. */
export function errorsDoc(groups) {
  const lines = [
    '# Errors',
    '',
    '`npm run generate` makes this page from the registry of errors; `npm test` fails if the two differ.',
    '',
    'Each error of the command has a code. The message says what happened, where, and what to do; its last line has the code and the sentence',
    'of this page. The code stays the same in all versions; texts may change. With `--json`, the last line on stderr is one JSON object with',
    'the code ([scripts](tasks/scripts.md)). [Exit codes](reference/exit-codes.md) are for scripts that need no more than the kind of error.',
    '',
  ];
  for (const [title, fixes] of Object.entries(groups)) {
    lines.push(`## ${title}`, '', '| code | what to do |', '|---|---|');
    for (const [code, fix] of Object.entries(fixes)) lines.push(`| \`${code}\` | ${link(fix)} |`);
    lines.push('');
  }
  return lines.join('\n');
}

/** Returns docs/tasks/retry.md with the table of error tags. Tags with the same rule have one row. */
export function withTags(page, tags) {
  const rows = new Map();
  for (const [tag, { again = '', charged = '', why }] of Object.entries(tags)) {
    const rule = `${again} | ${charged} | ${why}`;
    rows.set(rule, [...(rows.get(rule) ?? []), `\`${tag}\``]);
  }
  const table = [...rows].map(([rule, names]) => `| ${names.join(', ')} | ${rule} |\n`).join('');
  return page.replace(/(?<=\| tags \|.*\n\|-.*\n)(\|.*\n)*/, table);
}
