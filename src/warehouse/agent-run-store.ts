import type { AgentRunStore } from '../core/agent-run-sync.js';
import type { RawRecord } from '../core/monitors/monitor-warehouse.js';
import { toMicros } from '../core/text/money.js';
import { millisOf } from '../core/text/value-forms.js';
import type { Database } from './database.js';
import { fieldsOf, heldId, insert, type TableRecord, textOf, uniqueRecords } from './monitors/record-fields.js';
import { textsOf } from './rows/row-sql.js';
import { originColumn, type Relation, tableColumns } from './shared/relation.js';

export const agentRuns: Relation = {
  name: 'agent_runs',
  is: 'Agent runs of the team, with their output, usage and cost, whichever client started them.',
  row: 'one agent run',
  key: ['origin', 'id'],
  columns: tableColumns(`
    ${originColumn}
    id id! Id at the service.
    status text queued, running, completed, failed, cancelled, or another status of the service.
    stop_reason text Why the run ended, as the service returned it.
    query text Question or task of its request.
    effort text Effort of its request, which decides its price; NULL: the default.
    previous_run_id id The run that it continues.
    metadata json Metadata of its request.
    request json The whole request, as the service returned it.
    output_text text Its output as text.
    output json Its structured output.
    citations integer Number of its citations.
    agent_compute_units number Compute that it used. Usage may have fractions if a budget ended the run.
    searches number Searches that it used.
    emails number E-mail addresses that it found.
    phone_numbers number Phone numbers that it found.
    usage json Its whole usage, with data sources.
    cost_micros long Its cost, in millionths of a dollar; NULL: not charged yet.
    cost json Its cost in dollars by kind.
    error json Error of a failed run.
    created_at time Time of its creation, UTC.
    completed_at time Time of its end, UTC.
    data json The whole record, including fields without a column.
    is_over integer 1 if the run has ended; otherwise the next sync reads it again.
    loaded_at time Time of its last change here, UTC.
    gone_at time Time since which the service no longer returns it, UTC.
    added_mark text The sync that added it.
    read_mark text The last sync that read it.
  `),
};

export const agentRunCitations: Relation = {
  name: 'agent_run_citations',
  is: 'Sources of the outputs of agent runs.',
  row: 'one citation of one field of the output of an agent run',
  key: ['origin', 'run_id', 'rank'],
  columns: tableColumns(`
    ${originColumn}
    run_id id! Id of the run.
    rank integer Position among the citations of the run, from 1.
    field text Field of the output that it supports.
    confidence text Confidence of the service in the field.
    url text URL of the source.
    title text Title of the source.
  `),
};

export const agentRunSyncs: Relation = {
  name: 'agent_run_syncs',
  is: 'State of the sync of agent runs.',
  row: 'one service',
  key: ['origin'],
  columns: tableColumns(`
    ${originColumn}
    watermark time All runs that were created up to this time are loaded, UTC.
    swept_at time Time of the last sync that also read the last two days again, UTC.
    completed_at time End of the last complete sync, UTC.
  `),
};

export const agentRunTables: readonly Relation[] = [agentRuns, agentRunCitations, agentRunSyncs];

export function createAgentRunStore({ dialect, transaction, close }: Database): AgentRunStore {
  const { moment, millis } = dialect;
  return {
    marks: (origin) =>
      transaction('write', async (tx) => {
        const [found] = await tx.rows<{ watermark: number | null; swept: number | null }>(
          `SELECT ${millis('watermark')} AS watermark, ${millis('swept_at')} AS swept FROM agent_run_syncs WHERE origin = $1`,
          [origin],
        );
        return { watermark: found?.watermark ?? null, sweptAt: found?.swept ?? null };
      }),

    load: (origin, mark, records) =>
      transaction('write', async (tx) => {
        const unique = uniqueRecords(records, dialect);
        const ids = [...unique.keys()];
        const before = await tx.rows<{ id: string; data: string; added: string; loaded: number }>(
          `SELECT id, CAST(data AS text) AS data, added_mark AS added, ${millis('loaded_at')} AS loaded
           FROM agent_runs WHERE origin = $1 AND id IN (${textsOf('$2')})`,
          [origin, ids],
        );
        const known = new Map(before.map((one) => [one.id, one]));
        const now = Date.now();
        const isSame = ([id, run]: readonly [string, RawRecord]) =>
          known.get(id)?.data === dialect.json(JSON.stringify(run));
        const rows = [...unique].map(([id, run]) => {
          const { added = mark, loaded = now } = known.get(id) ?? {};
          return runRow(origin, run, { added, read: mark, loaded: isSame([id, run]) ? loaded : now });
        });
        await tx.run(`DELETE FROM agent_runs WHERE origin = $1 AND id IN (${textsOf('$2')})`, [origin, ids]);
        await insert(tx, agentRuns, rows);
        const changed = [...unique].filter((one) => !isSame(one));
        const changedIds = changed.map(([id]) => id);
        const former = `DELETE FROM agent_run_citations WHERE origin = $1 AND run_id IN (${textsOf('$2')})`;
        await tx.run(former, [origin, changedIds]);
        const citations = changed.flatMap(([, run]) => citationRows(origin, run));
        await insert(tx, agentRunCitations, citations);
        const added = [...unique.keys()].filter((id) => !known.has(id)).length;
        return { added, changed: changed.length - added };
      }),

    unfinished: (origin, mark, limit) =>
      transaction('write', async (tx) => {
        const rows = await tx.rows<{ id: string }>(
          `SELECT coalesce(${dialect.text('data', ['id'])}, id) AS id FROM agent_runs WHERE origin = $1 AND is_over = 0 AND gone_at IS NULL AND read_mark <> $2
           ORDER BY agent_runs.id LIMIT ${Math.floor(limit)}`,
          [origin, mark],
        );
        return rows.map(({ id }) => id);
      }),

    markGone: (origin, mark, ids) =>
      transaction('write', (tx) =>
        tx.run(
          `UPDATE agent_runs SET gone_at = ${moment('$3')}, read_mark = $4 WHERE origin = $1 AND id IN (${textsOf('$2')})`,
          [origin, ids.map((id) => heldId(dialect, id)), Date.now(), mark],
        ),
      ),

    end: (origin, { watermark, sweptAt }) =>
      transaction('write', async (tx) => {
        await tx.run('DELETE FROM agent_run_syncs WHERE origin = $1', [origin]);
        await insert(tx, agentRunSyncs, [{ origin, watermark, swept_at: sweptAt, completed_at: Date.now() }]);
        const [open] = await tx.rows<{ n: number }>(
          'SELECT CAST(count(*) AS INTEGER) AS n FROM agent_runs WHERE origin = $1 AND is_over = 0 AND gone_at IS NULL',
          [origin],
        );
        return open?.n ?? 0;
      }),

    close,
  };
}

/** Statuses of runs that have not ended. */
const unfinished: readonly string[] = ['queued', 'running'];

interface Marks {
  readonly added: string;
  readonly read: string;
  readonly loaded: number;
}

function runRow(origin: string, run: RawRecord, { added, read, loaded }: Marks): TableRecord {
  const [request, output, usage, cost] = [run.request, run.output, run.usage, run.costDollars].map(fieldsOf);
  return {
    ...{ origin, id: run.id, status: textOf(run.status), stop_reason: textOf(run.stopReason) },
    ...{ query: textOf(request?.query), effort: textOf(request?.effort) },
    ...{ previous_run_id: textOf(request?.previousRunId), metadata: request?.metadata, request: run.request },
    ...{ output_text: textOf(output?.text), output: output?.structured, citations: citationRows(origin, run).length },
    ...{ agent_compute_units: numberOf(usage?.agentComputeUnits), searches: numberOf(usage?.searches) },
    ...{ emails: numberOf(usage?.emails), phone_numbers: numberOf(usage?.phoneNumbers), usage: run.usage },
    ...{ cost_micros: toMicros(cost?.total), cost: run.costDollars, error: run.error },
    ...{ created_at: millisOf(run.createdAt), completed_at: millisOf(run.completedAt), data: run },
    is_over: unfinished.includes(String(run.status)) ? 0 : 1,
    ...{ loaded_at: loaded, added_mark: added, read_mark: read },
  };
}

function citationRows(origin: string, run: RawRecord): TableRecord[] {
  const { grounding } = fieldsOf(run.output);
  const sources = (Array.isArray(grounding) ? grounding : []).flatMap((one: unknown) => {
    const { field, confidence, citations } = fieldsOf(one);
    return (Array.isArray(citations) ? citations : []).map((citation: unknown) => {
      const { url, title } = fieldsOf(citation);
      return { field: textOf(field), confidence: textOf(confidence), url: textOf(url), title: textOf(title) };
    });
  });
  return sources.map((source, index) => ({ origin, run_id: run.id, rank: index + 1, ...source }));
}

const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
