import { Serial } from '../../core/processes/serial.js';
import { BRIEF_MS, identifier, type Postgres } from '../../postgres/index.js';
import type { Buckets, RateState, RateStore } from '../limiter/shared-rates.js';

/** What `limiter_look` returns. */
interface Looked {
  readonly now_ms: number;
  readonly version: number;
  readonly buckets: string | null;
  readonly blocked_since: number | null;
  readonly blocked_until: number | null;
  readonly block_reason: string | null;
}

/**
 * The state of a team's limit in PostgreSQL, by the database's clock. While the database cannot be reached, all calls wait. `team`: id of the
 * team, which all its processes share; the id contains the service, because a key at another origin is another team.
 */
export function pgRates(postgres: Postgres, team: string): RateStore {
  const schema = identifier(postgres.address.schema);
  type Query = <R>(text: string, values: readonly unknown[]) => Promise<R[]>;
  const brief = (signal?: AbortSignal): Query => {
    const limits = { signal, statementMs: BRIEF_MS, isCall: true };
    return (text, values) => postgres.query(text, values, limits);
  };
  const call = <R>(query: Query, name: string, values: readonly unknown[]): Promise<R[]> => {
    const parameters = values.map((_, index) => `$${index + 1}`).join(', ');
    return query<R>(`SELECT * FROM ${schema}.limiter_${name}(${parameters}) AS done`, values);
  };
  const look = async (query: Query) => {
    const askedAt = performance.now();
    const [row] = (await call<Looked>(query, 'look', [team])) as [Looked];
    const answeredAt = performance.now();
    const { now_ms: now, blocked_since: since, blocked_until: until, block_reason: reason } = row;
    const buckets = row.buckets === null ? {} : (JSON.parse(row.buckets) as Buckets);
    const block = until === null ? null : { since: since ?? until, until, reason: reason ?? '' };
    return {
      version: row.version,
      state: { now, askedAt, answeredAt, buckets, unusedMs: 0, block } satisfies RateState,
    };
  };
  /** Returns null if another process has changed the buckets in the meantime. */
  const attempt = async <T>(query: Query, work: (state: RateState) => T) => {
    const { version, state } = await look(query);
    const result = work(state);
    const [row] = await call<{ done: boolean }>(query, 'keep', [team, version, JSON.stringify(state.buckets)]);
    return row?.done ? { result, state } : null;
  };
  const own = new Serial();
  return {
    change: (work, signal) =>
      own.run(async () => {
        for (;;) {
          const changed =
            (await attempt(brief(signal), work)) ??
            // A process far from the database would lose each race, so it locks the row before it tries again.
            (await postgres.transaction(
              async (tx) => {
                await tx.query(`SELECT FROM ${schema}.limiter_buckets WHERE team = $1 FOR UPDATE`, [team]);
                return attempt(tx.query, work);
              },
              { signal, statementMs: BRIEF_MS },
            ));
          if (changed) return changed;
        }
      }),
    look: async (signal) => (await look(brief(signal))).state,
    hold: async (until, reason, signal) => void (await call(brief(signal), 'block', [team, until, reason])),
    lift: async (signal) => void (await call(brief(signal), 'unblock', [team])),
    close: async () => undefined,
    listen: (changed) => postgres.listen('searchflow_limiter', (of) => of === team && changed(), changed),
  };
}
