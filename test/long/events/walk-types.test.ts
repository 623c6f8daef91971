import { expect, it } from 'vitest';
import { expectAll } from '../../support/events/expect-all.js';
import { walkSettings } from '../../support/events/walk-setting.js';
import { openTemporal } from '../../support/temporal.js';

const walks = walkSettings(openTemporal);
const { open } = walks;

it('a walk loads only the given types, as a stream of its own', async () => {
  await open();
  const types = ['webset.item.created', 'webset.deleted'];
  expect(await (await walks.setting.sync({ types })).result()).toMatchObject({
    stream: `sync ${[...types].sort().join(',')}`,
  });
  const found = await walks.setting.query<{ type: string }>('SELECT DISTINCT type FROM events ORDER BY type');
  expect(found.map(({ type }) => type)).toEqual([...types].sort());
  expect(await (await walks.setting.sync()).result()).toMatchObject({ events: 1200 });
  await expectAll(walks.setting);
});
