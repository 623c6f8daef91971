import { join } from 'node:path';
import type { Delivery, KeptAlert } from '../../core/alerts/outbox.js';
import { FileOutbox } from '../../store/alerts/file-outbox.js';
import { PgOutbox } from '../../store/alerts/pg-outbox.js';
import { STORE_SCHEMA } from '../../store/postgres/open-store.js';
import { openToExamine } from './databases.js';
import { type Found, ok, type Setup, warning } from './finding.js';

/** Most alerts that are read. */
const MOST_ALERTS = 1000;
/** An alert that waits for less than this time is on its way. */
const ON_ITS_WAY_MS = 5 * 60_000;

/** Alerts that wait for their receivers, or that no receiver accepted. */
export async function checkAlerts(setup: Setup): Promise<readonly Found[]> {
  if (setup.isWrong('SEARCHFLOW_STORE')) return [];
  const all = await listed(setup);
  const now = Date.now();
  const left = all.flatMap(({ alert, deliveries }) =>
    deliveries
      .filter((delivery) => isLeft(delivery, now - Date.parse(alert.createdAt)))
      .map((delivery) => ({ alert, delivery })),
  );
  // The newest alert is the first.
  const oldest = left.at(-1);
  if (oldest === undefined) {
    const waiting = all.filter(({ deliveries }) => deliveries.some(({ state }) => state === 'waiting')).length;
    if (waiting > 0) return [ok(onTheirWay(waiting))];
    return setup.config.alerts == null ? [] : [ok(`No alert waits for its receiver. ${TESTED_APART}`)];
  }
  const { alert, delivery } = oldest;
  const since = `${alert.createdAt.slice(0, 19).replace('T', ' ')}Z`;
  const why = delivery.error === null ? '' : ` (${delivery.receiver}: ${delivery.error})`;
  const alerts = new Set(left.map((one) => one.alert.id)).size;
  return [
    warning(
      `${alerts} ${alerts === 1 ? 'alert is' : 'alerts are'} not delivered, the oldest since ${since}${why}.`,
      delivery.attempts === 0
        ? 'A worker delivers alerts. To deliver them now:'
        : 'See the reason of each with `searchflow alerts --undelivered`, correct the receiver, and send them again:',
      'searchflow alerts retry',
    ),
  ];
}

/** No check sends anything to a receiver. */
const TESTED_APART = 'Only `searchflow alerts test` tries the receivers.';

const onTheirWay = (alerts: number): string =>
  `${alerts} ${alerts === 1 ? 'alert waits for its receiver' : 'alerts wait for their receivers'}, for less than 5 minutes. ${TESTED_APART}`;

const isLeft = ({ state }: Delivery, ageMs: number): boolean =>
  state === 'undelivered' || (state === 'waiting' && ageMs >= ON_ITS_WAY_MS);

async function listed({ config }: Setup): Promise<readonly KeptAlert[]> {
  if (!config.store) return new FileOutbox(join(config.stateDir, 'alerts')).list(MOST_ALERTS);
  const postgres = await openToExamine(config.store, STORE_SCHEMA).catch(() => null);
  // The check of the databases reports a store that cannot be opened or has no tables.
  if (postgres === null) return [];
  return new PgOutbox(postgres)
    .list(MOST_ALERTS)
    .catch(() => [])
    .finally(() => postgres.close().catch(() => undefined));
}
