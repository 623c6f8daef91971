import type { QuietMemory } from '../../core/monitors/monitor-warehouse.js';
import type { HeldMonitor, QuietMark, QuietMonitor } from '../../core/monitors/quiet-plan.js';
import type { Transact } from './batch-audit.js';
import { insert, type MonitorDialect } from './monitor-sql.js';
import { quietMarks, quietMonitors, quietReports } from './monitor-tables.js';

/** Returns the record of quiet hours in a database. All databases get the same statements. */
export function createQuietMemory(transact: Transact, dialect: MonitorDialect): QuietMemory {
  const { texts } = dialect;
  const ofSchedule = 'origin = $1 AND schedule = $2';
  return {
    mark: (origin, schedule) =>
      transact(async (tx) => {
        const [mark] = await tx.rows<QuietMark>(
          `SELECT quiet_window AS "window", state FROM monitor_quiet_marks WHERE ${ofSchedule}`,
          [origin, schedule],
        );
        return mark ?? null;
      }),

    setMark: (origin, schedule, mark) =>
      transact(async (tx) => {
        await tx.run(`DELETE FROM monitor_quiet_marks WHERE ${ofSchedule}`, [origin, schedule]);
        if (mark) await insert(tx, dialect, quietMarks, [[origin, schedule, mark.window, mark.state]]);
      }),

    remembered: (origin, schedule) =>
      transact((tx) =>
        tx.rows<QuietMonitor>(
          `SELECT monitor_id AS id, name, quiet_window AS "window", state, before_updated_at AS before, after_updated_at AS after,
             kept_by AS "keptBy" FROM monitor_quiet WHERE ${ofSchedule} ORDER BY 1`,
          [origin, schedule],
        ),
      ),

    held: (origin, schedule) =>
      transact((tx) =>
        tx.rows<HeldMonitor>(
          `SELECT monitor_id AS id, schedule, after_updated_at AS after, kept_by AS "keptBy" FROM monitor_quiet
           WHERE origin = $1 AND schedule <> $2 AND state = 'paused' ORDER BY 1, 2`,
          [origin, schedule],
        ),
      ),

    remember: (origin, schedule, monitors) =>
      transact(async (tx) => {
        const ids = monitors.map(({ id }) => id);
        const kept = await tx.rows<{ id: string; by: string }>(
          `SELECT monitor_id AS id, kept_by AS by FROM monitor_quiet
           WHERE ${ofSchedule} AND kept_by IS NOT NULL AND monitor_id IN (${texts('$3')})`,
          [origin, schedule, JSON.stringify(ids)],
        );
        // If a record says that a person also paused the monitor, that record is kept.
        const by = new Map(kept.map((one) => [one.id, one.by]));
        await tx.run(`DELETE FROM monitor_quiet WHERE ${ofSchedule} AND monitor_id IN (${texts('$3')})`, [
          ...[origin, schedule, JSON.stringify(ids)],
        ]);
        const rows = monitors.map((one) => [
          ...[origin, schedule, one.id, one.name, one.window, one.state, one.before, one.after],
          one.keptBy ?? by.get(one.id) ?? null,
        ]);
        await insert(tx, dialect, quietMonitors, rows);
      }),

    forget: (origin, schedule, ids) =>
      transact((tx) =>
        tx.run(`DELETE FROM monitor_quiet WHERE ${ofSchedule} AND monitor_id IN (${texts('$3')})`, [
          ...[origin, schedule, JSON.stringify(ids)],
        ]),
      ),

    report: (origin, schedule, at, lines) =>
      transact((tx) =>
        insert(
          tx,
          dialect,
          quietReports,
          lines.map(({ id, name, what }) => [origin, schedule, at, id, name, what]),
        ),
      ),
  };
}
