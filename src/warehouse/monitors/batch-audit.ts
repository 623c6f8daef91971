import type { BatchRun } from '../../core/monitors/monitor-batch.js';
import type { PlannedMonitor } from '../../core/monitors/monitor-effect.js';
import type { BatchAudit, BatchCall } from '../../core/monitors/monitor-warehouse.js';
import type { ScheduledPause } from '../../core/monitors/scheduled-pauses.js';
import type { MonitorState } from '../../core/workflow-result-schemas.js';
import type { Database } from '../database.js';
import type { RelationColumn, Transaction } from '../dialect.js';
import { textsOf } from '../rows/row-sql.js';
import { actions, batches } from './monitor-tables.js';
import { heldId, insert, type TableRecord } from './record-fields.js';

/** `effect` of a monitor that already had the status. */
const ALREADY = 'already';

type ActionRow = MonitorState & Record<'planned' | 'ours' | 'again', number>;

export function createBatchAudit({ dialect, transaction }: Database): BatchAudit {
  const { moment, millis } = dialect;
  const ofRun = 'origin = $1 AND job = $2 AND run = $3';
  const done = `affected_at IS NOT NULL`;
  return {
    plan: ({ origin, job, run, action, filter, by, at, schedule = null }, toDo, already) =>
      transaction('write', async (tx) => {
        const [begun] = await tx.rows<{ n: number }>(
          `SELECT CAST(count(*) AS INTEGER) AS n FROM monitor_actions WHERE ${ofRun} AND ${done}`,
          [origin, job, run],
        );
        if (begun && begun.n > 0) return;
        for (const table of ['monitor_actions', 'monitor_batches'])
          await tx.run(`DELETE FROM ${table} WHERE ${ofRun}`, [origin, job, run]);
        await insert(tx, batches, [{ origin, job, run, action, filter, asked_by: by, planned_at: at, schedule }]);
        const line = (one: MonitorState, planned: boolean): TableRecord => ({
          ...{ origin, job, run, action, monitor_id: one.id, name: one.name, planned: planned ? 1 : 0 },
          ...{ before_status: one.status, before_updated_at: one.updatedAt, before_definition: one.definition },
          effect: planned ? null : ALREADY,
        });
        await insert(tx, actions, [...toDo.map((one) => line(one, true)), ...already.map((one) => line(one, false))]);
      }),

    decide: ({ origin, job, run }, { by, why, approved, at }) =>
      transaction('write', (tx) =>
        tx.run(
          `UPDATE monitor_batches SET decided_by = $4, decided_why = $5, approved = $6, decided_at = ${moment('$7')} WHERE ${ofRun}`,
          [origin, job, run, dialect.plain(by), why === undefined ? null : dialect.plain(why), approved ? 1 : 0, at],
        ),
      ),

    begin: ({ origin, job, run }, by) =>
      transaction('write', (tx) =>
        tx.run(`UPDATE monitor_actions SET approved_by = $4 WHERE ${ofRun}`, [origin, job, run, dialect.plain(by)]),
      ),

    pausesOf: (origin, schedule) =>
      transaction('write', async (tx) => {
        const rows = await tx.rows<Omit<ScheduledPause, 'already'> & { readonly already: number }>(
          `SELECT a.monitor_id AS id, b.schedule AS schedule, ${millis('b.planned_at')} AS at, a.before_updated_at AS before,
             a.after_updated_at AS after, CASE WHEN a.effect = '${ALREADY}' THEN 1 ELSE 0 END AS already
           FROM monitor_actions a JOIN monitor_batches b ON a.origin = b.origin AND a.job = b.job AND a.run = b.run
           WHERE a.origin = $1 AND a.action = 'pause' AND a.approved_by IS NOT NULL AND (a.${done} OR a.effect = '${ALREADY}')
             AND a.monitor_id IN (SELECT p.monitor_id FROM monitor_actions p JOIN monitor_batches s
               ON p.origin = s.origin AND p.job = s.job AND p.run = s.run WHERE s.origin = $1 AND s.schedule = $2 AND p.action = 'pause')
           ORDER BY 1, 3`,
          [origin, schedule],
        );
        const ends = await tx.rows<{ schedule: string; at: number }>(
          `SELECT schedule, ${millis('max(planned_at)')} AS at FROM monitor_batches
           WHERE origin = $1 AND action = 'unpause' AND schedule IS NOT NULL GROUP BY schedule`,
          [origin],
        );
        return {
          pauses: rows.map((row) => ({ ...row, at: Number(row.at), already: row.already === 1 })),
          ends: new Map(ends.map((end) => [end.schedule, Number(end.at)])),
        };
      }),

    record: ({ origin, job, run }, { call, requestId, at, answered, ids: named }) =>
      transaction('write', async (tx) => {
        const ids = named.map((id) => heldId(dialect, id));
        const list = [...new Set(ids)];
        const isNamed = `monitor_id IN (${textsOf('$4')})`;
        const note = answered ? null : 'the answer was lost; the list of monitors showed the effect';
        await tx.run(
          `UPDATE monitor_actions SET affected_at = ${moment('$5')}, call_number = $6, request_id = $7, note = $8
           WHERE ${ofRun} AND ${isNamed} AND NOT (${done}) AND (planned = 1 OR effect IS NULL)`,
          [origin, job, run, list, at, call, requestId, note],
        );
        const known = await tx.rows<{ id: string }>(
          `SELECT monitor_id AS id FROM monitor_actions WHERE ${ofRun} AND ${isNamed} AND ${done}`,
          [origin, job, run, list],
        );
        await tx.run(
          `UPDATE monitor_actions SET again_call = $5 WHERE ${ofRun} AND ${isNamed} AND ${done} AND call_number < $5`,
          [origin, job, run, list, call],
        );
        await addUnplanned(tx, { origin, job, run, call, requestId, at, note, ids: without(ids, known) });
        const fresh = await tx.rows<{ id: string; planned: number }>(
          `SELECT monitor_id AS id, CAST(planned AS INTEGER) AS planned FROM monitor_actions
           WHERE ${ofRun} AND call_number = $4 ORDER BY 1`,
          [origin, job, run, call],
        );
        const unplanned = fresh.filter(({ planned }) => planned === 0).map(({ id }) => id);
        return { planned: fresh.length - unplanned.length, unplanned };
      }),

    monitors: ({ origin, job, run }, which) =>
      transaction('write', async (tx) => {
        const rows = await tx.rows<ActionRow>(
          `SELECT monitor_id AS id, name, before_status AS status, before_updated_at AS "updatedAt",
             before_definition AS definition, CAST(planned AS INTEGER) AS planned, CASE WHEN ${done} THEN 1 ELSE 0 END AS ours,
             CASE WHEN again_call IS NULL THEN 0 ELSE 1 END AS again FROM monitor_actions
           WHERE ${ofRun} AND ${which === 'pending' ? `planned = 1 AND NOT (${done})` : `(planned = 1 OR ${done})`} ORDER BY 1`,
          [origin, job, run],
        );
        return rows.map(
          ({ planned, ours, again, ...state }): PlannedMonitor => ({
            ...state,
            ...{ planned: planned === 1, ours: ours === 1, again: again === 1 },
          }),
        );
      }),

    finish: ({ origin, job, run }, { phase, at, effects }) =>
      transaction('write', async (tx) => {
        await tx.run(`UPDATE monitor_batches SET phase = $4, ended_at = ${moment('$5')} WHERE ${ofRun}`, [
          ...[origin, job, run, phase, at],
        ]);
        const found = effects.map(({ id, kind, note, after, name }) => ({
          ...{ monitor_id: heldId(dialect, id), effect: kind, note, name },
          ...{ after_status: after?.status, after_updated_at: after?.updatedAt },
        }));
        await tx.run(
          `UPDATE monitor_actions AS a SET effect = r.effect, note = coalesce(r.note, a.note), after_status = r.after_status,
             after_updated_at = r.after_updated_at, name = coalesce(a.name, r.name)
           FROM ${dialect.records('$4', actions.columns.filter(isEffect))} WHERE ${ofRun} AND a.monitor_id = r.monitor_id`,
          [origin, job, run, dialect.json(JSON.stringify(found))],
        );
      }),
  };

  /** Adds monitors that a call affected but the plan lacks. Such monitors began to match after the plan was made. */
  async function addUnplanned(
    tx: Transaction,
    what: BatchRun & Omit<BatchCall, 'answered'> & { readonly note: string | null },
  ): Promise<void> {
    const { origin, job, run, call, requestId, at, note, ids } = what;
    if (ids.length === 0) return;
    const [batch] = await tx.rows<{ action: string; by: string | null }>(
      `SELECT action, decided_by AS by FROM monitor_batches WHERE ${ofRun}`,
      [origin, job, run],
    );
    // A monitor that had the status at the time of the plan and lost the status since then has a line already. That line is replaced.
    await tx.run(`DELETE FROM monitor_actions WHERE ${ofRun} AND monitor_id IN (${textsOf('$4')})`, [
      ...[origin, job, run, ids],
    ]);
    const { action = '', by } = batch ?? {};
    const facts = { planned: 0, affected_at: at, call_number: call, request_id: requestId, note, approved_by: by };
    const lines = ids.map((id) => ({ origin, job, run, action, monitor_id: id, ...facts }));
    await insert(tx, actions, lines);
  }
}

const isEffect = ({ name }: RelationColumn): boolean =>
  ['monitor_id', 'effect', 'note', 'name', 'after_status', 'after_updated_at'].includes(name);

function without(ids: readonly string[], known: readonly { readonly id: string }[]): string[] {
  const there = new Set(known.map(({ id }) => id));
  return [...new Set(ids)].filter((id) => !there.has(id));
}
