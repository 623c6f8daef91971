import type { AgentRunStore } from '../core/agent-run-sync.js';
import type { RawRecord } from '../core/monitors/monitor-warehouse.js';
import { toMicros } from '../core/text/money.js';
import { millisOf } from '../core/text/value-forms.js';
import { agentRunCitations, agentRunSyncs, agentRuns } from './agent-run-tables.js';
import {
  fieldsOf,
  heldId,
  insert,
  jsonOf,
  type RecordDatabase,
  textOf,
  uniqueRecords,
} from './monitors/record-fields.js';
import type { SqlValue } from './shared/sql.js';

/** Returns the agent runs in a database. All databases get the same statements. */
export function createAgentRunStore({ dialect, transact, close }: RecordDatabase): AgentRunStore {
  const { texts, moment, millis } = dialect;
  return {
    marks: (origin) =>
      transact(async (tx) => {
        const [found] = await tx.rows<{ watermark: number | null; swept: number | null }>(
          `SELECT ${millis('watermark')} AS watermark, ${millis('swept_at')} AS swept FROM agent_run_syncs WHERE origin = $1`,
          [origin],
        );
        return { watermark: found?.watermark ?? null, sweptAt: found?.swept ?? null };
      }),

    load: (origin, mark, records) =>
      transact(async (tx) => {
        const unique = uniqueRecords(records, dialect);
        const ids = JSON.stringify([...unique.keys()]);
        const before = await tx.rows<{ id: string; data: string; added: string; loaded: number }>(
          `SELECT id, CAST(data AS text) AS data, added_mark AS added, ${millis('loaded_at')} AS loaded
           FROM agent_runs WHERE origin = $1 AND id IN (${texts('$2')})`,
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
        await tx.run(`DELETE FROM agent_runs WHERE origin = $1 AND id IN (${texts('$2')})`, [origin, ids]);
        await insert(tx, agentRuns, rows);
        const changed = [...unique].filter((one) => !isSame(one));
        const changedIds = JSON.stringify(changed.map(([id]) => id));
        await tx.run(`DELETE FROM agent_run_citations WHERE origin = $1 AND run_id IN (${texts('$2')})`, [
          origin,
          changedIds,
        ]);
        await insert(
          tx,
          agentRunCitations,
          changed.flatMap(([, run]) => citationRows(origin, run)),
        );
        const added = [...unique.keys()].filter((id) => !known.has(id)).length;
        return { added, changed: changed.length - added };
      }),

    unfinished: (origin, mark, limit) =>
      transact(async (tx) => {
        const rows = await tx.rows<{ id: string }>(
          `SELECT coalesce(${dialect.text('data', ['id'])}, id) AS id FROM agent_runs WHERE origin = $1 AND is_over = 0 AND gone_at IS NULL AND read_mark <> $2
           ORDER BY agent_runs.id LIMIT ${Math.floor(limit)}`,
          [origin, mark],
        );
        return rows.map(({ id }) => id);
      }),

    markGone: (origin, mark, ids) =>
      transact((tx) =>
        tx.run(
          `UPDATE agent_runs SET gone_at = ${moment('$3')}, read_mark = $4 WHERE origin = $1 AND id IN (${texts('$2')})`,
          [origin, JSON.stringify(ids.map((id) => heldId(dialect, id))), Date.now(), mark],
        ),
      ),

    end: (origin, { watermark, sweptAt }) =>
      transact(async (tx) => {
        await tx.run('DELETE FROM agent_run_syncs WHERE origin = $1', [origin]);
        await insert(tx, agentRunSyncs, [[origin, watermark, sweptAt, Date.now()]]);
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

function runRow(origin: string, run: RawRecord, { added, read, loaded }: Marks): SqlValue[] {
  const [request, output, usage, cost] = [run.request, run.output, run.usage, run.costDollars].map(fieldsOf);
  return [
    ...[origin, run.id, textOf(run.status), textOf(run.stopReason), textOf(request?.query), textOf(request?.effort)],
    ...[textOf(request?.previousRunId), jsonOf(request?.metadata), jsonOf(run.request)],
    ...[textOf(output?.text), jsonOf(output?.structured), citationRows(origin, run).length],
    ...[usage?.agentComputeUnits, usage?.searches, usage?.emails, usage?.phoneNumbers].map(numberOf),
    ...[jsonOf(run.usage), toMicros(cost?.total), jsonOf(run.costDollars), jsonOf(run.error)],
    ...[millisOf(run.createdAt), millisOf(run.completedAt), JSON.stringify(run)],
    ...[unfinished.includes(String(run.status)) ? 0 : 1, loaded, null, added, read],
  ];
}

function citationRows(origin: string, run: RawRecord): SqlValue[][] {
  const { grounding } = fieldsOf(run.output);
  const sources = (Array.isArray(grounding) ? grounding : []).flatMap((one: unknown) => {
    const { field, confidence, citations } = fieldsOf(one);
    return (Array.isArray(citations) ? citations : []).map((citation: unknown) => {
      const { url, title } = fieldsOf(citation);
      return [textOf(field), textOf(confidence), textOf(url), textOf(title)];
    });
  });
  return sources.map((source, index) => [origin, run.id, index + 1, ...source]);
}

const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
