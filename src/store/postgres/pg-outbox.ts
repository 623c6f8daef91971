import type { Alert } from '../../core/alerts/alert.js';
import type { AlertOutbox, Attempted, Delivery, DueAlert, KeptAlert, Receiver } from '../../core/alerts/outbox.js';
import { identifier, type Postgres } from '../../postgres/index.js';

/** Number of alerts whose ended deliveries are removed in one statement. */
const PRUNED = 1000;

const ms = (column: string): string => `floor(extract(epoch FROM ${column}) * 1000)::double precision`;
const inMs = (parameter: string): string =>
  `clock_timestamp() + ${parameter}::double precision * interval '1 millisecond'`;

type Row = Delivery & { readonly id: string; readonly alert: string };

/** The outbox of a store, whose workers share the deliveries. Times are those of the database. */
export class PgOutbox implements AlertOutbox {
  readonly #postgres: Postgres;
  readonly #table: string;

  constructor(postgres: Postgres) {
    this.#postgres = postgres;
    this.#table = `${identifier(postgres.address.schema)}.alerts`;
  }

  async add(alert: Alert, to: readonly Receiver[], forMs: number): Promise<boolean> {
    // An alert that is known for one receiver is known: a worker with other settings has added it.
    const added = await this.#postgres.query(
      `INSERT INTO ${this.#table} (id, receiver, alert, next_at, until_at)
       SELECT $1, receiver, $3, clock_timestamp(), ${inMs('$4')} FROM unnest($2::text[]) receiver
       WHERE NOT EXISTS (SELECT FROM ${this.#table} WHERE id = $1)
       ON CONFLICT DO NOTHING RETURNING id`,
      [alert.id, to, JSON.stringify(alert), forMs],
    );
    return added.length > 0;
  }

  async claim(receiver: Receiver, owner: string, holdMs: number): Promise<DueAlert | null> {
    const [row] = await this.#postgres.query<Pick<DueAlert, 'attempts' | 'leftMs'> & Pick<Row, 'alert'>>(
      `UPDATE ${this.#table} SET claimed_by = $2, claimed_until = ${inMs('$3')}
       WHERE (id, receiver) IN (
         SELECT id, receiver FROM ${this.#table}
         WHERE receiver = $1 AND state = 'waiting' AND next_at <= clock_timestamp()
           AND (claimed_until IS NULL OR claimed_until <= clock_timestamp() OR claimed_by = $2)
         ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING alert, attempts, ${ms('(until_at - clock_timestamp())')} AS "leftMs"`,
      [receiver, owner, holdMs],
    );
    return row ? { receiver, alert: JSON.parse(row.alert) as Alert, attempts: row.attempts, leftMs: row.leftMs } : null;
  }

  async record(
    { alert, receiver }: Pick<DueAlert, 'receiver' | 'alert'>,
    owner: string,
    attempted: Attempted,
  ): Promise<void> {
    const state = attempted.ok ? 'delivered' : attempted.retryMs === null ? 'undelivered' : 'waiting';
    const [error, retryMs] = attempted.ok ? [null, null] : [attempted.error, attempted.retryMs];
    await this.#postgres.query(
      `UPDATE ${this.#table} SET state = $4, attempts = attempts + 1, error = $5, claimed_by = NULL, claimed_until = NULL,
         next_at = CASE WHEN $6::double precision IS NULL THEN NULL ELSE ${inMs('$6')} END,
         ended_at = CASE WHEN $4 = 'waiting' THEN NULL ELSE clock_timestamp() END
       WHERE id = $1 AND receiver = $2 AND state <> 'delivered' AND ($4 = 'delivered' OR claimed_by = $3)`,
      [alert.id, receiver, owner, state, error, retryMs],
    );
  }

  async release({ alert, receiver }: Pick<DueAlert, 'receiver' | 'alert'>, owner: string): Promise<void> {
    await this.#postgres.query(
      `UPDATE ${this.#table} SET claimed_by = NULL, claimed_until = NULL WHERE id = $1 AND receiver = $2 AND claimed_by = $3`,
      [alert.id, receiver, owner],
    );
  }

  async list(most: number): Promise<readonly KeptAlert[]> {
    const rows = await this.#postgres.query<Row>(
      `SELECT id, receiver, alert, state, attempts, ${ms('next_at')} AS "nextAt", ${ms('until_at')} AS until, error,
         ${ms('ended_at')} AS "endedAt"
       FROM ${this.#table} JOIN (
         SELECT id, min(created_at) AS first_at FROM ${this.#table} GROUP BY id ORDER BY first_at DESC, id LIMIT $1
       ) newest USING (id) ORDER BY first_at DESC, id, receiver DESC`,
      [most],
    );
    const byId = new Map<string, { readonly alert: Alert; readonly deliveries: Delivery[] }>();
    for (const { id, alert, ...delivery } of rows) {
      const kept = byId.get(id) ?? { alert: JSON.parse(alert) as Alert, deliveries: [] };
      kept.deliveries.push(delivery);
      byId.set(id, kept);
    }
    return [...byId.values()];
  }

  async retry(to: readonly Receiver[], forMs: number): Promise<number> {
    const changed = await this.#postgres.query(
      `UPDATE ${this.#table} SET state = 'waiting', next_at = clock_timestamp(), until_at = ${inMs('$2')}, ended_at = NULL
       WHERE receiver = ANY ($1::text[]) AND state <> 'delivered' RETURNING id`,
      [to, forMs],
    );
    return changed.length;
  }

  async prune(ageMs: number): Promise<void> {
    await this.#postgres.query(
      `DELETE FROM ${this.#table} WHERE id IN (
         SELECT id FROM ${this.#table} GROUP BY id
         HAVING bool_and(state <> 'waiting') AND max(ended_at) < clock_timestamp() - $1::double precision * interval '1 millisecond' LIMIT ${PRUNED})`,
      [ageMs],
    );
  }
}
