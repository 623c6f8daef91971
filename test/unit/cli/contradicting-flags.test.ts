import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { buildProgram } from '../../../src/cli/program.js';
import { typeCommand } from '../../support/cli/type-command.js';
import { commandsIn } from '../../support/cli/wrong-lines.js';
import { folderOfFile } from '../../support/files/folders.js';

const cwd = folderOfFile();
beforeAll(() => {
  writeFileSync(join(cwd, 'companies.csv'), 'name,website\nExample,https://example.com\n');
  writeFileSync(join(cwd, 'request.json'), '{"query":"x","effort":"low","outputSchema":{"type":"object"}}');
  writeFileSync(join(cwd, 'schema.json'), '{"type":"object"}');
});

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
