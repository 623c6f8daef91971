import type { KnownRun, MonitorRuns, RawRecord } from '../../core/monitors/monitor-warehouse.js';
import { millisOf } from '../../core/text/value-forms.js';
import type { Database } from '../database.js';
import { textsOf } from '../rows/row-sql.js';
import { literal } from '../shared/duckdb-quote.js';
import { keepRecords } from '../sink-batches.js';
import { monitors, results, runs } from './monitor-tables.js';
import { fieldsOf, heldId, insert, type TableRecord, textOf, uniqueRecords } from './record-fields.js';

export function createMonitorRuns({ dialect, transaction }: Database): MonitorRuns {
  const { moment } = dialect;
  return {
    loadMonitors: (origin, mark, records) =>
      transaction('write', async (tx) => {
        const unique = uniqueRecords(records, dialect);
        const ids = [...unique.keys()];
        const before = await tx.rows<{ id: string; mark: string | null }>(
          `SELECT id, read_mark AS mark FROM monitors WHERE origin = $1 AND id IN (${textsOf('$2')})`,
          [origin, ids],
        );
        const read = new Map(before.map((one) => [one.id, one.mark]));
        await tx.run(`DELETE FROM monitors WHERE origin = $1 AND id IN (${textsOf('$2')})`, [origin, ids]);
        const rows = [...unique].map(([id, one]) => monitorRow(origin, mark, one, read.get(id) ?? null));
        await insert(tx, monitors, rows);
      }),

    async endMonitors(origin, mark, wholeSince) {
      if (wholeSince === null) return;
      const gone = `UPDATE monitors SET gone_at = ${moment('$3')}
        WHERE origin = $1 AND gone_at IS NULL AND export_mark <> $2 AND seen_at < ${moment('$4')}`;
      await transaction('write', (tx) => tx.run(gone, [origin, mark, Date.now(), wholeSince]));
    },

    unread: (origin, mark, limit) =>
      transaction('write', async (tx) => {
        const rows = await tx.rows<{ id: string }>(
          `SELECT coalesce(${dialect.text('data', ['id'])}, id) AS id FROM monitors WHERE origin = $1 AND export_mark = $2 AND (read_mark IS NULL OR read_mark <> $2)
           ORDER BY monitors.id LIMIT ${Math.floor(limit)}`,
          [origin, mark],
        );
        return rows.map(({ id }) => id);
      }),

    knownRuns: (origin, monitor) =>
      transaction('write', async (tx) => {
        const rows = await tx.rows<{ id: string; over: number; reached: number }>(
          `SELECT id, CAST(is_over AS INTEGER) AS over, CAST(is_reached AS INTEGER) AS reached FROM monitor_runs
           WHERE origin = $1 AND monitor_id = $2`,
          [origin, heldId(dialect, monitor)],
        );
        return rows.map((one): KnownRun => ({ id: one.id, over: one.over === 1, reached: one.reached === 1 }));
      }),

    loadRuns: (origin, mark, monitor, records) =>
      transaction('write', async (tx) => {
        const unique = uniqueRecords(records, dialect);
        const ids = [...unique.keys()];
        const held = heldId(dialect, monitor);
        const before = await tx.rows<Before & { id: string }>(
          `SELECT id, CAST(is_reached AS INTEGER) AS reached, added_mark AS "addedMark" FROM monitor_runs
           WHERE origin = $1 AND monitor_id = $2 AND id IN (${textsOf('$3')})`,
          [origin, held, ids],
        );
        const known = new Map(before.map((one) => [one.id, one]));
        const which = (column: string) => `origin = $1 AND monitor_id = $2 AND ${column} IN (${textsOf('$3')})`;
        await tx.run(`DELETE FROM monitor_runs WHERE ${which('id')}`, [origin, held, ids]);
        await tx.run(`DELETE FROM monitor_run_results WHERE ${which('run_id')}`, [origin, held, ids]);
        const rows = [...unique].map(([id, run]) =>
          runRow(origin, mark, monitor, run, known.get(id) ?? { reached: 0, addedMark: mark }),
        );
        await insert(tx, runs, rows);
        const found = [...unique.values()].flatMap((run) => resultRows(origin, monitor, run));
        await insert(tx, results, found);
        const where = `origin = ${literal(origin)} AND monitor_id = ${literal(held)} AND id IN (${ids.map(literal).join(', ') || 'NULL'})`;
        await keepRecords(tx, runs, { job: 'monitors', where });
      }),

    endRuns: (origin, mark, monitor) =>
      transaction('write', async (tx) => {
        await tx.run(
          'UPDATE monitor_runs SET is_reached = 1 WHERE origin = $1 AND monitor_id = $2 AND is_reached = 0',
          [origin, heldId(dialect, monitor)],
        );
        await tx.run('UPDATE monitors SET read_mark = $3 WHERE origin = $1 AND id = $2', [
          ...[origin, heldId(dialect, monitor), mark],
        ]);
      }),

    counts: (origin, mark) =>
      transaction('write', async (tx) => {
        const number = (what: string) => `CAST(count(*) AS INTEGER) AS ${what}`;
        const [read] = await tx.rows<{ n: number }>(
          `SELECT ${number('n')} FROM monitors WHERE origin = $1 AND read_mark = $2`,
          [origin, mark],
        );
        const [loaded] = await tx.rows<{ added: number; again: number }>(
          `SELECT CAST(coalesce(sum(CASE WHEN added_mark = $2 THEN 1 ELSE 0 END), 0) AS INTEGER) AS added,
             CAST(coalesce(sum(CASE WHEN added_mark = $2 THEN 0 ELSE 1 END), 0) AS INTEGER) AS again
           FROM monitor_runs WHERE origin = $1 AND loaded_mark = $2`,
          [origin, mark],
        );
        const [found] = await tx.rows<{ n: number }>(
          `SELECT ${number('n')} FROM monitor_run_results f JOIN monitor_runs r
             ON r.origin = f.origin AND r.monitor_id = f.monitor_id AND r.id = f.run_id
           WHERE r.origin = $1 AND r.loaded_mark = $2`,
          [origin, mark],
        );
        return {
          read: read?.n ?? 0,
          added: loaded?.added ?? 0,
          again: loaded?.again ?? 0,
          results: found?.n ?? 0,
        };
      }),
  };
}

function monitorRow(origin: string, mark: string, one: RawRecord, readMark: string | null): TableRecord {
  return {
    ...{ origin, id: one.id, name: textOf(one.name), status: textOf(one.status) },
    query: textOf(fieldsOf(one.search).query),
    ...{ trigger: one.trigger, metadata: one.metadata, webhook_url: textOf(fieldsOf(one.webhook).url) },
    next_run_at: millisOf(one.nextRunAt),
    ...{ created_at: millisOf(one.createdAt), updated_at: millisOf(one.updatedAt), data: one },
    ...{ seen_at: Date.now(), export_mark: mark, read_mark: readMark },
  };
}

/** Final statuses. A run with another status is over if it has an end time. */
const ends = new Set(['completed', 'failed', 'cancelled']);

interface Before {
  readonly reached: number;
  readonly addedMark: string | null;
}

function runRow(origin: string, mark: string, monitor: string, run: RawRecord, before: Before): TableRecord {
  const { content } = fieldsOf(run.output);
  const [completed, failed, cancelled] = [run.completedAt, run.failedAt, run.cancelledAt].map(millisOf);
  const over = ends.has(String(run.status)) || [completed, failed, cancelled].some((at) => at !== null);
  const duration = typeof run.durationMs === 'number' ? Math.round(run.durationMs) : null;
  return {
    ...{ origin, monitor_id: monitor, id: run.id, status: textOf(run.status), fail_reason: textOf(run.failReason) },
    ...{ results: over ? listOf(run).length : null, content: textOf(content) },
    ...{ created_at: millisOf(run.createdAt), started_at: millisOf(run.startedAt) },
    ...{ completed_at: completed, failed_at: failed, cancelled_at: cancelled },
    duration_ms: Number.isSafeInteger(duration) ? duration : null,
    ...{ updated_at: millisOf(run.updatedAt), data: run, is_over: over ? 1 : 0, is_reached: before.reached },
    ...{ loaded_at: Date.now(), added_mark: before.addedMark, loaded_mark: mark },
  };
}

function resultRows(origin: string, monitor: string, run: RawRecord): TableRecord[] {
  return listOf(run).map((result, index) => {
    const { url, title, author, publishedDate, text, summary } = fieldsOf(result);
    return {
      ...{ origin, monitor_id: monitor, run_id: run.id, rank: index + 1, url: textOf(url), title: textOf(title) },
      ...{ author: textOf(author), published_date: textOf(publishedDate) },
      ...{ text: textOf(text), summary: textOf(summary), data: result },
    };
  });
}

function listOf(run: RawRecord): readonly unknown[] {
  const { results: list } = fieldsOf(run.output);
  return Array.isArray(list) ? list : [];
}
