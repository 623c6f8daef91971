// The judge of rows. It compares the rows of the files, the charges of the service, the results in the warehouse, and `searchflow usage`.
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { hashOf } from '../service/chance.mjs';
import { judgeRate } from './judge-rate.mjs';
import { openWarehouse } from './sql.mjs';

const cent = 0.005;
const chargedUnseen = new Set(['lost', 'failed', 'cut', 'named', 'unnamed']);

async function readWarehouse(campaign, { results, outputs }) {
  const { query, close } = await openWarehouse(campaign, campaign.warehouse);
  try {
    const rows = await query(
      `SELECT job, CAST(row_number AS INTEGER) AS row_number, input[1] AS id, url, status, error_tag, title, request_id
       FROM enriched_rows WHERE vanished_at IS NULL`,
    );
    const unknown = await query(
      `SELECT input[1] AS id, CAST(count(*) AS INTEGER) AS times
       FROM (SELECT unnest(unit_keys) AS unit_key FROM unknown_outcomes) AS lost JOIN enriched_rows USING (unit_key)
       GROUP BY input[1]`,
    );
    const count = async (sql) => Number((await query(`SELECT count(*) AS n FROM (${sql}) AS counted`))[0].n);
    return {
      rows,
      unknown: new Map(unknown.map(({ id, times }) => [id, times])),
      results: results ? await count('SELECT * FROM search_results') : null,
      runs: outputs ? await count('SELECT DISTINCT run_id FROM agent_outputs') : null,
    };
  } finally {
    await close();
  }
}

/**
 * `keyOf`: returns the key of a row's unit in the purchase log of the service. `purchaseKey`: converts a key of that log into the form of
 * `keyOf`. `results`: number of results of each row. `outputs`: whether each row has an agent run of its own.
 */
export async function judgeRows(campaign, { keyOf, purchaseKey = (key) => key, results = null, outputs = false }) {
  const { service, findings, result: jobs, disturbedAt, env, toEnd } = campaign;
  const expected = jobs.flatMap(({ rows }) => rows);
  const { landedDollars: usage, unknownDollars, unknownOutcomes } = JSON.parse(await toEnd(['usage', '--json'])).total;
  const found = await readWarehouse(campaign, { results, outputs });
  const holds = (isSo, sentence) => isSo || findings.push(sentence);

  // No row is lost or doubled.
  const times = new Map();
  for (const { id } of found.rows) times.set(id, (times.get(id) ?? 0) + 1);
  const missing = expected.filter(({ id }) => !times.has(id));
  const doubled = [...times].filter(([, count]) => count > 1);
  holds(missing.length === 0, `lost: ${missing.length} rows, such as ${missing[0]?.id}`);
  holds(doubled.length === 0, `doubled: ${doubled.length} rows, such as ${doubled[0]?.[0]}`);
  holds(
    found.rows.length === expected.length,
    `${found.rows.length} rows in the warehouse, ${expected.length} in the files`,
  );
  const rowOf = new Map(expected.map((row) => [row.id, row]));
  const misplaced = found.rows.filter(({ id, row_number: number }) => Number(id.split('-')[1]) + 1 !== number);
  holds(misplaced.length === 0, `${misplaced.length} rows have another number than in their file`);
  for (const { rows, csv } of jobs) {
    const ids = parse(readFileSync(csv), { columns: true }).map(({ id }) => id);
    holds(
      ids.join() === rows.map(({ id }) => id).join(),
      `${csv} has ${ids.length} rows, or not in the order of its file`,
    );
  }

  // No wrong result is delivered.
  const units = new Map();
  for (const [key, unit] of Object.entries(service.purchases.report().units)) {
    const known = units.get(purchaseKey(key)) ?? { times: 0 };
    units.set(purchaseKey(key), { times: known.times + unit.times });
  }
  const isContents = !results && !outputs;
  for (const { id, status, error_tag: tag, title } of found.rows) {
    const row = rowOf.get(id);
    if (!row) continue;
    const charged = units.get(keyOf(row))?.times ?? 0;
    if (status === 'success') {
      holds(charged > 0, `${id} has an answer that the service did not give`);
      if (isContents)
        holds(title === `Page ${hashOf(row.url) % 1000}`, `${id} has the answer of another row: ${title}`);
    } else if (tag === 'UNKNOWN_OUTCOME') holds(found.unknown.has(id), `${id}: unknown outcome that is not listed`);
    else holds(tag === 'CRAWL_NOT_FOUND' && charged === 0, `${id} is ${status}: ${tag}, charged ${charged} times`);
  }
  const successes = found.rows.filter(({ status }) => status === 'success').length;
  if (results) holds(found.results === results * successes, `${found.results} results of ${successes} searches`);
  if (outputs) holds(found.runs === successes, `${found.runs} runs for ${successes} rows`);

  // A unit is bought twice only if it is listed as an unknown outcome, and only as many units as were in flight. No other unit is bought.
  const asked = new Set(expected.map(keyOf));
  const unasked = [...units.keys()].filter((key) => !asked.has(key));
  holds(unasked.length === 0, `bought unasked: ${unasked.length} units, such as ${unasked[0]}`);
  const again = expected.flatMap((row) => {
    const extra = (units.get(keyOf(row))?.times ?? 1) - 1;
    return extra > 0 ? [{ id: row.id, extra }] : [];
  });
  const unlisted = again.filter(({ id, extra }) => (found.unknown.get(id) ?? 0) < extra);
  holds(unlisted.length === 0, `bought again and not listed: ${unlisted.length} units, such as ${unlisted[0]?.id}`);
  const lostOnWire = service.log.filter(({ fault }) => chargedUnseen.has(fault?.how)).length;
  const inFlight = Number(env.SEARCHFLOW_CONCURRENCY) * disturbedAt.length + lostOnWire;
  const boughtAgain = new Set(
    service.log.flatMap(({ ids, requestId }) =>
      ids.some((key) => (units.get(key)?.times ?? 0) > 1) ? [requestId] : [],
    ),
  );
  holds(boughtAgain.size <= 2 * inFlight, `${boughtAgain.size} requests bought again, ${inFlight} were in flight`);

  // The cost in searchflow agrees with the bill of the service.
  const bill = service.purchases.report().micros / 1e6;
  const charges = service.purchases.byRequest();
  const landed = new Set(found.rows.map(({ request_id: id }) => id));
  const loaded = [...landed].reduce((sum, id) => sum + (charges.get(id) ?? 0), 0) / 1e6;
  holds(usage <= bill + cent, `usage says $${usage}, the bill $${bill}`);
  holds(
    bill <= usage + unknownDollars + cent,
    `the bill is $${bill}, usage and what is unknown $${usage + unknownDollars}`,
  );
  if (!outputs) holds(usage >= loaded - cent, `usage says $${usage}, what is loaded was billed $${loaded}`);
  if (unknownOutcomes === 0) holds(Math.abs(usage - bill) < cent, `usage $${usage}, bill $${bill}`);

  const figures = judgeRate(campaign);
  const unknown = [...found.unknown.values()].reduce((sum, count) => sum + count, 0);
  return {
    ...{ jobs: jobs.length, rows: found.rows.length, successes, unknownOutcomes, unknownUnits: unknown },
    ...{ unitsBoughtAgain: again.length, inFlightAtMost: inFlight, bill, usage, loaded, ...figures },
  };
}
