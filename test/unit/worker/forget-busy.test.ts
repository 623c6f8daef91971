import { expect, it } from 'vitest';
import type { JobStatus } from '../../../src/worker/config/runtime-types.js';
import { refuseBusy } from '../../../src/worker/control/forget.js';
import { plan } from '../../support/cli/fake-runtime.js';

const { staged } = plan;
const refusal = (phase: JobStatus['phase'], cancelRequested?: true) => {
  const { job, name } = staged;
  const status = { job, name, phase, message: null, since: null, shown: null, cancelRequested };
  return refuseBusy({ statuses: async () => [status] }, [{ staged } as never], { job: staged.job }).then(
    () => null,
    (error: Error) => error.message,
  );
};

it('names the command that ends a cancelled job, and otherwise the one that cancels', async () => {
  expect(await refusal('waiting', true)).toMatch(
    /is cancelled, but no worker has ended it.*Start a worker, which ends it, and run forget again:\n {2}searchflow worker$/s,
  );
  expect(await refusal('waiting')).toMatch(/is waiting.*searchflow cancel/s);
  expect(await refusal('paused')).toMatch(/is paused.*searchflow cancel/s);
  expect(await refusal('done')).toBeNull();
});
