import { expect, it } from 'vitest';
import { refuseCredentials } from '../../../src/worker/refuse-credentials.js';

it('a warehouse named with its password is refused without repeating it, before anything is staged', () => {
  for (const into of ['postgres://ann:canary@db/etl', 'postgresql://canary@db/etl?schema=x']) {
    expect(() => refuseCredentials(into)).toThrowError(/^into: (?!.*canary).*warehouseUrl/);
  }
  for (const into of [undefined, 'out/canary@x.duckdb', 'postgres://db.internal/etl']) refuseCredentials(into);
});
