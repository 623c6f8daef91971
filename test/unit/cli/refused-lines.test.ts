import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../../src/cli/program.js';
import { errorFixes } from '../../../src/core/errors/registry.js';
import { hasScheme, whyNoPath } from '../../../src/core/rows/source-fields.js';
import { whyNoTarget } from '../../../src/warehouse/index.js';
import { listen } from '../../support/cli/fake-runtime.js';
import { typeCommand } from '../../support/cli/type-command.js';
import { commandsIn, pathOf, type WrongLine, wrongLines } from '../../support/cli/wrong-lines.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';

const cwd = folderOfFile();
writeFileSync(join(cwd, 'companies.csv'), 'name,website\nExample,https://example.com\n');
writeFileSync(join(cwd, 'request.json'), '{"query":"x","effort":"low","outputSchema":{"type":"object"}}');
writeFileSync(join(cwd, 'schema.json'), '{"type":"object"}');
writeFileSync(join(cwd, 'launches.json'), '{}');
writeFileSync(join(cwd, 'changes.json'), '{}');
const files = readdirSync(cwd);
const program = buildProgram('0.0.0', () => undefined);

/** Each flag of a file or folder of this machine, with its command. An input may be an address. */
const flags = commandsIn(program).flatMap((command) => {
  const values = command.registeredArguments.filter(({ required }) => required).map(() => 'x');
  const files = command.options.filter(({ flags, long }) => /<(file|dir)>/.test(flags) && long !== '--from');
  return files.flatMap(({ long }) =>
    long === '--settings' || long === undefined || long === null
      ? []
      : [[[...pathOf(command), ...values], long] as const],
  );
});

describe('an address where a file is written or read', () => {
  it.each(flags)('is refused by %j %s, and never shown', async (words, flag) => {
    expect(flags.length).toBeGreaterThan(8);
    for (const address of ['s3://bucket/x.csv', 'gs://bucket/x', 'mysql://u:canary@h/x', 'jdbc:mysql://u:canary@h/x']) {
      const { code, errors } = await typed([...words, flag, address]);
      expect([address, code]).toEqual([address, 2]);
      expect(errors).toContain(`${flag}: the value (not shown) is an address`);
      expect(errors).not.toContain('canary');
    }
    expect(readdirSync(cwd)).toEqual(files);
  });

  it.each(['csv', 'parquet'] as const)('is no target of an export as %s, also as an absolute path', (kind) => {
    for (const address of ['s3://bucket/x', 'mysql://u:canary@h/x']) {
      const why = whyNoTarget(kind, join(cwd, address), {});
      expect(why).toContain('is an address');
      expect(why).not.toContain('canary');
    }
    expect(whyNoTarget(kind, join(cwd, 'a:b'), {})).toBeNull();
  });

  it('is known by its scheme', () => {
    for (const address of ['s3://b', 'S3:/b', '/cwd/gs:/b/x', 'jdbc:mysql://h', 'abfss://x@y/z'])
      expect([address, hasScheme(address)]).toEqual([address, true]);
    for (const path of ['a.csv', 'C:\\out\\a.csv', 'C:/out', 'a:b.csv', 'out/10:30.csv', '/a/b'])
      expect([path, hasScheme(path)]).toEqual([path, false]);
    for (const path of ['C:\\out\\a.csv', 'C:/out', 'c:/a.csv', '/cwd/C:/a.csv']) {
      expect(whyNoPath(path, 'linux')).toContain('has a drive of Windows');
      expect(whyNoPath(path, 'win32')).toBeNull();
    }
    for (const path of ['a.csv', 'a:b.csv', 'out/10:30.csv']) expect(whyNoPath(path, 'linux')).toBeNull();
  });
});

async function typed(words: readonly string[]) {
  const { code, usage, err } = await typeCommand(cwd, words);
  return { code, errors: `${usage}${err}` };
}

const enrich = 'enrich companies.csv --url-column website';
const rows = 'agent rows companies.csv --query x';

/** A command line whose last words contradict each other, and the flags or words that its refusal names. */
const contradictions: readonly (readonly [line: string, ...names: string[]])[] = [
  ...[enrich, rows].flatMap((line): [string, ...string[]][] => [
    [`${line} --key name --no-key`, '--key', '--no-key'],
    [`${line} --no-key --key name`, '--key', '--no-key'],
    [`${line} --csv out.csv --csv-bom --no-csv-bom`, '--csv-bom', '--no-csv-bom'],
    [`${line} --from companies.csv`, '--from'],
    [`${line} --sql 'SELECT 1' --table t --job x`, '--sql', '--table'],
    [`${line} --table t --format csv`, '--format', '--table'],
    [`${line} --table t --delimiter tab`, '--delimiter', '--table'],
    [`${line} --table t --encoding utf-8`, '--encoding', '--table'],
    [`${line} --format jsonl --delimiter tab`, '--delimiter', 'jsonl'],
    [`${line} --into out/x --csv out/x`, '--into', '--csv'],
    [`${line} --csv companies.csv`, '--csv', 'companies.csv'],
    [`${line} --into companies.csv`, '--into', 'companies.csv'],
    [`${line} --csv-bom`, '--csv-bom', '--csv'],
    [`${line} --every 1d --cron '0 6 * * *'`, '--every', '--cron'],
    [`${line} --every 1d --tz Europe/Berlin`, '--tz', '--cron'],
    [`${line} --every 1d --detach`, '--detach'],
    [`${line} --every 1d --fail-on-failed-rows`, '--fail-on-failed-rows'],
    [`${line} --every 1d --reparse`, '--reparse'],
    [`${line} --detach --fail-on-failed-rows`, '--fail-on-failed-rows'],
    [`${line} --detach --dry-run`, '--detach', '--dry-run'],
    [`${line} --detach --reparse`, '--detach', '--reparse'],
    [`${line} --reparse --retry-failed`, '--reparse', '--retry-failed'],
    [`${line} --reparse --redrive`, '--reparse', '--redrive'],
    [`${line} --reparse --rebuy`, '--reparse', '--rebuy'],
    [`${line} --reparse --refresh-after 1d`, '--reparse', '--refresh-after'],
    [`${line} --stop-at-failed none --stop-after 5`, '--stop-after', '--stop-at-failed'],
    [`${line} --qps 2 --rate-profile boost`, '--qps', '--rate-profile'],
    [`${line} --publish-mode merge`, '--publish-mode', '--publish'],
    [`${line} --publish out/lake --publish-mode merge`, '--publish', 'merge'],
    [`${line} --publish out/lake --publish-mode append --publish-key name`, '--publish', 'key'],
    [`${line} --publish out/x.duckdb --publish-partition day`, '--publish', 'partition'],
  ]),
  [`${enrich} --text --option text=true`, '--text', '--option'],
  [`${enrich} --query x`, '--query'],
  [`${rows} --request request.json`, '--query', '--request'],
  ['agent rows companies.csv --request request.json --effort low', '--effort', '--request'],
  ['agent rows companies.csv --request request.json --schema schema.json', '--schema', '--request'],
  ['agent rows companies.csv --query x --effort low --option effort=high', '--effort', '--option'],
  ['agent run x --request request.json', 'QUERY', '--request'],
  ['agent run --request request.json --effort low', '--effort', '--request'],
  ['agent run --request request.json --schema schema.json', '--schema', '--request'],
  ['agent run x --previous a --option previousRunId=b', '--previous', '--option'],
  ['agent run x --qps 2 --rate-profile boost', '--qps', '--rate-profile'],
  ['agent run x --max-cost 2 --option budget={"maxCostDollars":5}', '--max-cost', 'budget.maxCostDollars'],
  ['agent run x --max-duration 2m --option budget={"maxDurationSeconds":5}', '--max-duration', 'maxDurationSeconds'],
  ['agent sync --every 1d --cron 0', '--every', '--cron'],
  ['resume companies --stop-at-failed none --stop-after 5', '--stop-after', '--stop-at-failed'],
  ['resume companies --qps 2 --rate-profile boost', '--qps', '--rate-profile'],
  ['export companies --csv a.csv --parquet a.csv', '--csv', '--parquet'],
  ['export companies --csv a.csv --csv-bom --no-csv-bom', '--csv-bom', '--no-csv-bom'],
  ['export companies --parquet a --csv-delimiter tab', '--csv-delimiter', '--csv'],
  ['retry companies --tag X --row 1', '--tag', '--row'],
  ['retry companies --qps 2 --rate-profile boost', '--qps', '--rate-profile'],
  ['discard companies --tag X --row 1', '--tag', '--row'],
  ['forget companies --url https://example.com', '--url', 'job'],
  ['trace companies --row 1 --url https://example.com', '--row', '--url'],
  ['publish companies --to out/lake --mode merge', '--mode', '--key'],
  ['publish companies --to out/lake --mode append --key name', '--mode', '--key'],
  ['report companies --out - --json', '--out', '--json'],
  ['report companies --out - --open', '--open'],
  ['report companies --json --open', '--open'],
  ['report companies --since 2026-02-01 --until 2026-01-01', '--since', '--until'],
  ['usage --since 2026-02-01 --until 2026-01-01', '--since', '--until'],
  ['usage --by operation --reconcile', '--by', '--reconcile'],
  ['events sync --every 1d --detach', '--detach'],
  ['events sync --every 1d --cron 0', '--every', '--cron'],
  ['events sync --qps 2 --rate-profile boost', '--qps', '--rate-profile'],
  ['events backfill --from 2026-02-01 --until 2026-01-01', '--from', '--until'],
  ['events verify --from 2026-02-01 --until 2026-01-01', '--from', '--until'],
  ['monitors pause --name x --yes --wait-for-approval', '--yes', '--wait-for-approval'],
  ['monitors unpause --name x --yes --wait-for-approval', '--yes', '--wait-for-approval'],
  ['monitors delete --name x --yes --wait-for-approval', '--yes', '--wait-for-approval'],
  ['monitors delete id --name x --yes', '--name'],
  ['monitors delete id --limit 5 --yes', '--limit'],
  ['monitors delete id --wait-for-approval', '--wait-for-approval'],
  ['monitors runs id run --limit 5', '--limit'],
  ['monitors export --every 1d --detach', '--detach'],
  ['monitors unpause --of-schedule x --every 1d --wait-for-approval', '--wait-for-approval'],
  ['limits --qps 5 set --per-day 5', '--qps', 'limits set'],
  ['schedule backfill x --from 2026-02-01 --until 2026-01-01', '--from', '--until'],
];

it.each(contradictions)('%s: is refused, and nothing is opened or bought', async (line, ...names) => {
  const typed = await typeCommand(cwd, line);
  expect({ line, code: typed.code, calls: typed.calls.filter((call) => !/^(close|walks|known)/.test(call)) }).toEqual({
    line,
    code: 2,
    calls: [],
  });
  for (const name of names) expect(typed.usage || typed.refusal).toContain(name);
});

it('no command accepts a flag together with its opposite', async () => {
  const program = buildProgram('0.0.0', () => undefined);
  const pairs = commandsIn(program).flatMap((command) =>
    command.options
      .filter(({ negate, long }) => negate && command.options.some((one) => one.long === long?.replace('--no-', '--')))
      .map(({ long }) => `${command.name()} ${long}`),
  );
  expect(pairs.sort()).toEqual([
    ...['enrich --no-csv-bom', 'enrich --no-key', 'export --no-csv-bom', 'rows --no-csv-bom', 'rows --no-key'],
  ]);
});

ofFile(listen);

/** The most characters of a refusal. */
const MOST = 4000;

/** Returns what is wrong with the refusal of a wrong command line; null if it is right. */
async function problemOf({ words, names }: WrongLine): Promise<string | null> {
  const line = words.map((word) => JSON.stringify(word.slice(0, 60))).join(' ');
  const typed = await Promise.race([typeCommand(cwd, words), sleep(20_000, null, { ref: false })]);
  if (typed === null) return `${line}: hangs`;
  const text = typed.usage || typed.refusal;
  const why = [
    Object.hasOwn(errorFixes, typed.errorCode ?? '') ? '' : `the code ${typed.errorCode}`,
    typed.code === 2 ? '' : `exit code ${typed.code}`,
    text.includes(names) ? '' : `does not name ${JSON.stringify(names)}`,
    /\n {4}at /.test(text) ? 'a stack' : '',
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no such character may be shown
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/.test(text) ? 'a control character' : '',
    text.length > MOST ? `${text.length} characters` : '',
    typed.calls.some((call) => !/^(close|walks|known)/.test(call)) ? `calls ${typed.calls.join()}` : '',
  ].filter((one) => one !== '');
  return why.length === 0 ? null : `${line}: ${why.join(', ')}\n    ${text.slice(0, 200)}${typed.err.slice(0, 200)}`;
}

it('wrong command lines of every command end with 2, name the wrong place, and open nothing', async () => {
  const lines = wrongLines();
  expect(lines.length).toBeGreaterThan(200);
  const problems: string[] = [];
  for (const line of lines) {
    const problem = await problemOf(line);
    if (problem !== null) problems.push(problem);
  }
  expect(problems).toEqual([]);
  // Some thousand command lines are parsed, and the machine may be busy.
}, 300_000);
