import { expect, it, onTestFinished } from 'vitest';
import { checkFigures } from '../../support/nights/figures.js';
import { Life } from '../../support/nights/live.js';
import { Nights } from '../../support/nights/nights.js';

/** `NIGHTS_SEED` chooses other faults. */
const seed = Number(process.env.NIGHTS_SEED ?? 2411);

it.each(['folder', 'postgres'] as const)(
  `30 nights with faults (%s, seed ${seed}): alerts are those of the events, and figures those of the bill`,
  async (place) => {
    const nights = await Nights.open(place);
    onTestFinished(() => nights.close());
    const life = new Life(nights, seed, place === 'folder' ? ['postgres'] : []);
    await life.live();
    expect(nights.service.log.length).toBeGreaterThan(100);
    await checkFigures(nights);
  },
  // Alone on two cores each takes some five minutes; a busy machine takes longer.
  1_800_000,
);
