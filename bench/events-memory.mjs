// Peak memory of the whole process at 300,000 and at 1,000,000 events.
import { join } from 'node:path';
import { history, walk, withTemporal } from './events-walk.mjs';
import { sandboxProcess, workFolder } from './measure.mjs';
import { bar, row } from './results.mjs';

export const defaults = { small: 300_000, large: 1_000_000, parallel: 16 };

export const run = ({ small, large, parallel }) =>
  withTemporal(async (address) => {
    const { dir, remove } = workFolder();
    try {
      const peaks = [];
      for (const events of [small, large]) {
        const sandbox = await sandboxProcess({ logEntries: 1000, events: history(events) });
        const into = join(dir, `memory-${events}.duckdb`);
        const { speed, peakMb, windows } = await walk({ url: sandbox.url, into, address, parallel }, events);
        await sandbox.stop();
        row({ events, 'events/s': speed, 'peak MB': peakMb, windows });
        peaks.push(peakMb);
      }
      bar(`peak MB at ${large} events`, peaks[1], '<= 1000');
      bar('peak, large / small', peaks[1] / peaks[0], '<= 1.15');
    } finally {
      remove();
    }
  });
