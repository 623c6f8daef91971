import { afterAll, beforeEach, expect, it } from 'vitest';
import { MisshapenPage, type RawPage, type StreamRun } from '#searchflow/core/events/event-warehouse.js';
import { startWalk } from '#searchflow/core/events/walk.js';
import { event, history, iso, type MadeEvent, noon, pagesOf, shuffled, sync } from './made-events.js';
import { currentState } from './oracle.js';
import { sha256 } from './row-job.js';
import { type InFolder, type MakeWarehouse, makeInFolder } from './warehouse-under-test.js';

/**
 * The contract of `EventWarehouse`: walks in windows, loads, current state, checks and deletions. `make` returns an empty warehouse for each
 * test. With the size `large`, only events of a megabyte and a longer history are loaded, which takes minutes.
 */
export function eventContract(make: MakeWarehouse, size: 'small' | 'large' = 'small'): void {
  let here: InFolder;
  /** Runs a query after `foldAll`, so that the current state has all loaded events. */
  const query: InFolder['objects'] = async (sql) => {
    await here.events.foldAll('sandbox');
    return here.objects(sql);
  };
  /** Runs a query without `foldAll`. */
  const raw: InFolder['objects'] = (sql) => here.objects(sql);
  const all: InFolder[] = [];
  const fresh = async () => {
    here = await makeInFolder(make);
    all.push(here);
  };
  beforeEach(fresh);
  afterAll(async () => {
    for (const one of all) await one.remove();
  });

  const run: StreamRun = { from: null, to: noon(10_000), types: [], sweep: false };
  const walked = (done: boolean, cursor = 'next') => ({ ...startWalk(done ? null : cursor), done });

  /** Loads events as the pages of one window. */
  const load = async (
    events: readonly object[],
    options: { done?: boolean; attempt?: string; pages?: RawPage[] } = {},
  ) => {
    const { done = false, attempt = 'one', pages = pagesOf(events) } = options;
    const [result] = await here.events.load([{ ...sync, window: 1, attempt, pages, walk: walked(done) }]);
    return result;
  };
  const begin = async (attempt = 'one') => {
    await here.events.begin(sync, run);
    return here.events.claim(sync, 1, attempt);
  };
  /** Begins a walk with the windows 2 and 3, which meet at five seconds past noon, and claims both. */
  const beginTwoWindows = async () => {
    await here.events.begin(sync, { ...run, from: noon(0) });
    await here.events.claim(sync, 1, 'one');
    await here.events.split(sync, 1, 'one', [
      { from: noon(0), to: noon(5) },
      { from: noon(5), to: noon(10_000) },
    ]);
    for (const window of [2, 3]) await here.events.claim(sync, window, 'one');
  };
  const heavyLoads = () => {
    it('loads events of a megabyte each, as many as one load may have, new ones and newer versions', async () => {
      await begin();
      const mega = (title: string, seconds: number) =>
        pagesOf(
          Array.from({ length: 24 }, (_, index) => ({
            ...event('webset.idle', 1, { id: `w${index}`, title: title.repeat(1_048_576), updatedAt: iso(seconds) }),
            id: `event_w${index}`,
          })),
          1,
          seconds,
        );
      await load([], { pages: mega('a', 1) });
      expect(await query('SELECT DISTINCT length(title) AS n FROM websets')).toEqual([{ n: 1_048_576 }]);
      expect(await load([], { pages: mega('b', 100) })).toMatchObject({ changed: 24 });
      expect(await query("SELECT id FROM websets WHERE title LIKE 'b%'")).toHaveLength(24);
    });

    it('folds in parallel with loads when enough is loaded', async () => {
      await begin();
      const story = 'x'.repeat(1_048_576);
      for (let page = 1; page <= 42; page++) {
        const pages = pagesOf([event('webset.idle', page, { id: `w${page}`, title: story })], 200, page);
        await load([], { pages });
      }
      const made = async () => (await raw('SELECT count(*) AS n FROM websets'))[0]?.n;
      await expect.poll(async () => Number(await made()), { timeout: 20_000 }).toBeGreaterThanOrEqual(36);
    });
  };
  let attempts = 0;
  const histories = (lives: number) =>
    describeHistory(lives, query, fresh, begin, (pages) =>
      here.events.load([{ ...sync, window: 1, attempt: String(++attempts), pages, walk: walked(false) }]),
    );
  if (size === 'large') {
    heavyLoads();
    histories(1500);
    return;
  }
  histories(300);
  const ids = async () => (await query('SELECT id FROM events ORDER BY id')).map(({ id }) => id);

  it('reports a stream that never ran as unknown, and counts nothing', async () => {
    expect(await here.events.stream(sync)).toBeNull();
    expect(await here.events.counts('sandbox')).toEqual([]);
  });

  it('starts a run with one window, and continues it until it is done', async () => {
    expect(await here.events.begin(sync, run)).toMatchObject({ pending: [1], watermark: null, windows: 1, events: 0 });
    expect(await here.events.begin(sync, { ...run, to: noon(20_000) })).toMatchObject({ pending: [1] });
    const window = await here.events.claim(sync, 1, 'one');
    expect(window).toEqual({ window: 1, from: null, to: noon(10_000), walk: startWalk() });
    expect(await here.events.claim(sync, 2, 'one')).toBeNull();
  });

  it('keeps the cursor after the last loaded page, and moves the watermark at the end, to the newest event', async () => {
    await begin();
    const events = [event('webset.idle', 5, { id: 'w' }), event('webset.idle', 9, { id: 'w' })];
    expect(await load(events)).toEqual({ events: 2, added: 2, changed: 0, current: true });
    expect(await here.events.stream(sync)).toMatchObject({
      watermark: null,
      pending: [1],
      completedAt: null,
      pages: 1,
    });
    expect((await here.events.claim(sync, 1, 'two'))?.walk.cursor).toBe('next');
    await load([event('webset.idle', 7, { id: 'w' })], { done: true, attempt: 'two', pages: undefined });
    const after = await here.events.stream(sync);
    expect(after).toMatchObject({ watermark: noon(9), pending: [], pages: 2, events: 3, added: 3, sweptAt: null });
    expect(after?.completedAt).toBeGreaterThan(0);
    expect(await here.events.claim(sync, 1, 'three')).toBeNull();
  });

  it('allows claims of several windows at once, and each window belongs to its last claim', async () => {
    await beginTwoWindows();
    const claim = (window: number, attempt: string) => here.events.claim(sync, window, attempt);
    const first = await claim(2, 'two');
    const claims = [first, ...(await Promise.all([claim(3, 'three'), claim(4, 'four'), claim(2, 'later')]))];
    expect(claims.map((one) => one && [one.window, one.from, one.to])).toEqual([
      [2, noon(0), noon(5)],
      [3, noon(5), noon(10_000)],
      null,
      [2, noon(0), noon(5)],
    ]);
    const bring = async (window: number, attempt: string, at: number) => {
      const pages = pagesOf([event('webset.idle', at, { id: `w${at}` })]);
      return (await here.events.load([{ ...sync, window, attempt, pages, walk: walked(true) }]))[0]?.current;
    };
    expect(await bring(2, 'two', 1)).toBe(false);
    expect(await bring(2, 'later', 2)).toBe(true);
    expect(await bring(3, 'three', 6)).toBe(true);
  });

  it('keeps the watermark when a run finds nothing newer, and records the end of a sweep', async () => {
    await begin();
    await load([event('webset.idle', 9, { id: 'w' })], { done: true });
    await here.events.begin(sync, { from: noon(0), to: noon(20_000), types: [], sweep: true });
    await here.events.claim(sync, 2, 'two');
    await here.events.load([{ ...sync, window: 2, attempt: 'two', pages: pagesOf([]), walk: walked(true) }]);
    expect(await here.events.stream(sync)).toMatchObject({
      watermark: noon(9),
      sweptAt: noon(20_000),
      windows: 1,
      events: 0,
    });
  });

  it('loads the same pages once, from any attempt', async () => {
    await begin();
    const events = [event('webset.idle', 1, { id: 'a' }), event('webset.idle', 2, { id: 'b' })];
    const pages = pagesOf(events);
    const first = await load([], { pages });
    expect(await load([], { pages })).toEqual(first);
    expect(await here.events.stream(sync)).toMatchObject({ pages: 1, events: 2, added: 2 });
    await here.events.claim(sync, 1, 'two');
    expect(await load([], { pages, attempt: 'two' })).toEqual({ events: 2, added: 0, changed: 0, current: true });
    expect(await ids()).toEqual(events.map(({ id }) => id).sort());
  });

  it('loads an event once that is twice on a page, on two pages, or on pages of two windows', async () => {
    await beginTwoWindows();
    const [a, b, c] = ['a', 'b', 'c'].map((id, index) => event('webset.idle', index, { id }));
    const parts = [
      [a, a, b],
      [b, c],
    ].map((events, index) => ({
      ...sync,
      window: 2 + index,
      attempt: 'one',
      pages: pagesOf(events as object[], 2),
      walk: walked(true),
    }));
    const loaded = await here.events.load(parts);
    expect(loaded.map(({ events }) => events)).toEqual([2, 2]);
    expect(loaded.reduce((sum, { added }) => sum + added, 0)).toBe(3);
    expect(await ids()).toHaveLength(3);
  });

  it('skips single events that are already loaded or on pages of another window', async () => {
    await beginTwoWindows();
    const all = Array.from({ length: 150 }, (_, index) =>
      event('webset.idle', index, { id: String(index).padStart(3, '0') }),
    );
    const many = (from: number, to: number) => all.slice(from, to);
    const part = (window: number, page: number, some: readonly object[]) => ({
      ...{ ...sync, window, attempt: 'one', walk: walked(false) },
      pages: pagesOf(some, 200, page),
    });
    await here.events.load([part(2, 1, many(0, 50))]);
    const loaded = await here.events.load([part(2, 2, many(49, 100)), part(3, 1, many(98, 150))]);
    expect(loaded).toEqual([
      { events: 51, added: 50, changed: 0, current: true },
      { events: 52, added: 50, changed: 0, current: true },
    ]);
    const rows = await query('SELECT object_id FROM events ORDER BY object_id');
    expect(rows.map((row) => Number(row.object_id))).toEqual(Array.from({ length: 150 }, (_, index) => index));
    const lines = await raw('SELECT added FROM event_loads ORDER BY load_id');
    expect(lines.map(({ added }) => Number(added))).toEqual([50, 50, 50]);
  });

  it('fault 52: keeps the newer of two contents under one id, in any order, and in one page too', async () => {
    await begin();
    const at = (id: string, seconds: number, title: string) => ({
      ...event('webset.idle', 1, { id, title, updatedAt: iso(seconds) }),
      id: `event_${id}`,
    });
    await load([at('x', 1, 'old'), at('y', 3, 'new'), at('z', 1, 'old'), at('z', 2, 'new')]);
    const again = await load([], { pages: pagesOf([at('x', 2, 'new'), at('y', 1, 'old')], 200, 2) });
    expect(again).toEqual({ events: 2, added: 0, changed: 1, current: true });
    for (const table of ['events', 'websets']) {
      const key = table === 'events' ? 'object_id' : 'id';
      const rows = await query(`SELECT ${key} AS id, data FROM ${table} ORDER BY 1`);
      expect(rows.map(({ id, data }) => [id, (data as { title: string }).title])).toEqual([
        ['x', 'new'],
        ['y', 'new'],
        ['z', 'new'],
      ]);
    }
  });

  it('fault 52: folds again after an event came with other contents, even if it is no longer the newest', async () => {
    await begin();
    const webset = (id: string, updated: number, title: string, children: readonly object[] = []) => ({
      ...event('webset.idle', 1, { id: 'w', title, updatedAt: iso(updated), monitors: children }),
      id,
    });
    const item = (id: string, url: string, more = {}) => ({
      ...event('webset.item.enriched', 2, { id: 'i', websetId: 'w', properties: { url }, updatedAt: iso(2), ...more }),
      id,
    });
    const monitor = (status: string) => ({ id: 'm', status, updatedAt: iso(3) });
    await load([
      webset('e1', 5, 'first', [monitor('enabled')]),
      webset('e2', 4, 'second'),
      item('e3', 'https://a.example/1'),
    ]);
    const verify = { ...sync, stream: 'verify x' };
    await here.events.begin(verify, { ...run, from: noon(0) });
    await here.events.claim(verify, 1, 'one');
    const changed = [
      webset('e1', 3, 'older now', [monitor('disabled')]),
      webset('e2', 4, 'second'),
      item('e3', 'https://a.example/2'),
    ];
    const pages = pagesOf(changed);
    const [loaded] = await here.events.load([{ ...verify, window: 1, attempt: 'one', pages, walk: walked(true) }]);
    expect(loaded).toMatchObject({ events: 3, added: 0, changed: 2 });
    expect(await query('SELECT title, event_id FROM websets')).toEqual([{ title: 'second', event_id: 'e2' }]);
    expect(await query('SELECT status, event_id FROM webset_monitors')).toEqual([
      { status: 'disabled', event_id: 'e1' },
    ]);
    expect(await query('SELECT url, event_id FROM webset_items')).toEqual([
      { url: 'https://a.example/2', event_id: 'e3' },
    ]);
  });

  it('keeps the totals of a window that is split', async () => {
    await begin();
    const pages = pagesOf([event('webset.idle', 5, { id: 'w1' }), event('webset.idle', 6, { id: 'w2' })]);
    await here.events.load([{ ...sync, window: 1, attempt: 'one', pages, walk: walked(false) }]);
    const [first] = JSON.parse(String(pages[0]?.events)) as object[];
    await load([], { pages: pagesOf([{ ...first, data: { id: 'w1', updatedAt: iso(9) } }], 200, 2) });
    const sums = { pages: 2, events: 3, added: 2, changed: 1, watermark: null };
    expect(await here.events.stream(sync)).toMatchObject(sums);
    await here.events.split(sync, 1, 'one', [
      { from: null, to: noon(5) },
      { from: noon(5), to: noon(30) },
    ]);
    expect(await here.events.stream(sync)).toMatchObject({ ...sums, windows: 2 });
  });

  it('marks deleted objects, in any order of events', async () => {
    await begin();
    await load([
      event('webset.deleted', 5, { id: 'w1', updatedAt: iso(4) }),
      event('monitor.deleted', 6, { id: 'm1' }),
    ]);
    await load([], {
      pages: pagesOf(
        [
          event('webset.idle', 4, {
            id: 'w1',
            status: 'idle',
            updatedAt: iso(4),
            monitors: [{ id: 'm1', updatedAt: iso(7) }],
          }),
          event('webset.idle', 9, { id: 'w2', status: 'idle' }),
        ],
        200,
        2,
      ),
    });
    await load([], { pages: pagesOf([event('webset.deleted', 3, { id: 'w2', status: 'gone' })], 200, 3) });
    const deleted = (table: string) =>
      query(`SELECT id, status, deleted_at IS NOT NULL AS gone FROM ${table} ORDER BY id`);
    expect(await deleted('websets')).toEqual([
      { id: 'w1', status: null, gone: true },
      { id: 'w2', status: 'idle', gone: true },
    ]);
    expect(await deleted('webset_monitors')).toEqual([{ id: 'm1', status: null, gone: true }]);
  });

  it('replaces an object and its parts by a newer version, in any order of events', async () => {
    await begin();
    let page = 0;
    /** Loads one event and folds it, so that the next event meets its state. */
    const loadAndFold = async (one: MadeEvent) => {
      await load([], { pages: pagesOf([one], 200, ++page) });
      await here.events.foldAll('sandbox');
    };
    const item = (seconds: number, names: readonly string[]) =>
      event('webset.item.enriched', seconds, {
        ...{ id: 'i', websetId: 'w', updatedAt: iso(seconds), properties: { url: `https://x.example/${seconds}` } },
        enrichments: names.map((name) => ({ enrichmentId: name, result: [name] })),
      });
    const stands = async () => [
      await raw('SELECT id, webset_id, url, deleted_at IS NOT NULL AS gone FROM webset_items'),
      (await raw('SELECT item_id, enrichment_id FROM webset_item_enrichments ORDER BY 2')).map((row) =>
        Object.values(row),
      ),
    ];
    const is = (seconds: number, parts: readonly string[]) => [
      [{ id: 'i', webset_id: 'w', url: `https://x.example/${seconds}`, gone: false }],
      parts.map((name) => ['i', name]),
    ];
    await loadAndFold(item(5, ['a', 'b']));
    expect(await stands()).toEqual(is(5, ['a', 'b']));
    await loadAndFold(item(9, ['b', 'c', 'd']));
    expect(await stands()).toEqual(is(9, ['b', 'c', 'd']));
    await loadAndFold(item(7, ['e']));
    expect(await stands()).toEqual(is(9, ['b', 'c', 'd']));
    const webset = (type: string, seconds: number, updated: number) =>
      event(type, seconds, { id: 'w', title: `at ${updated}`, updatedAt: iso(updated) });
    const websets = async () => {
      const [row] = await raw('SELECT title, CAST(deleted_at AS text) AS gone FROM websets');
      return [row?.title, row?.gone];
    };
    const at = (seconds: number) => expect.stringContaining(iso(seconds).slice(11, 19));
    await loadAndFold(webset('webset.idle', 5, 5));
    expect(await websets()).toEqual(['at 5', null]);
    // The first deletion has an older version of the webset, which does not replace the newer one. The second deletion happened earlier, so
    // its time is kept. The third happened later and changes nothing.
    await loadAndFold(webset('webset.deleted', 8, 4));
    expect(await websets()).toEqual(['at 5', at(8)]);
    await loadAndFold(webset('webset.deleted', 6, 3));
    expect(await websets()).toEqual(['at 5', at(6)]);
    await loadAndFold(webset('webset.deleted', 9, 2));
    expect(await websets()).toEqual(['at 5', at(6)]);
    await loadAndFold(webset('webset.idle', 20, 20));
    expect(await websets()).toEqual(['at 20', at(6)]);
  });

  it('reports missing, changed and gone events of a verified range by day, and each verification starts from zero', async () => {
    const day = 86_400;
    const idleAt = (seconds: number, title = 'as it was') =>
      event('webset.idle', seconds, { id: `w${seconds}`, title });
    const [before, same, changed, gone, missing, after] = [-day - 1, -day, 10, 20, day, 2 * day + 1].map((seconds) =>
      idleAt(seconds),
    ) as [MadeEvent, MadeEvent, MadeEvent, MadeEvent, MadeEvent, MadeEvent];
    const strange = event('webset.created', 15, { id: 'w15' });
    await begin();
    // The service is trusted, even if the contents in the warehouse claim to be newer.
    const newer = { ...changed, data: { id: 'w10', title: 'as it was', updatedAt: '2030-01-01T00:00:00Z' } };
    await load([before, same, newer, gone, after, strange]);
    const range = { ...run, from: noon(-day), to: noon(2 * day), types: ['webset.idle'] };
    const verify = { origin: 'sandbox', stream: 'verify x webset.idle' };
    /** Reads `events` in a verification. During the verification the other walk loads the events of `meanwhile`. */
    const verified = async (events: readonly object[], meanwhile: readonly object[] = []) => {
      // Waits for the next millisecond, so that the verification begins later than the load of the events before it.
      for (const loaded = Date.now(); Date.now() === loaded; );
      const { pending } = await here.events.begin(verify, range);
      const window = pending[0] ?? 0;
      await here.events.claim(verify, window, 'one');
      if (meanwhile.length > 0) await load([], { pages: pagesOf(meanwhile, 200, 2) });
      await here.events.load([{ ...verify, window, attempt: 'one', pages: pagesOf(events), walk: walked(false) }]);
      // Another attempt reads the pages again: each event counts once, by its first result.
      await here.events.claim(verify, window, 'two');
      const pages = pagesOf([...events, ...events]);
      await here.events.load([{ ...verify, window, attempt: 'two', pages, walk: walked(true) }]);
      return here.events.verified(verify);
    };
    const late = idleAt(30);
    const other = { ...changed, data: { id: 'w10', title: 'other' } };
    const first = await verified([same, other, missing], [late]);
    expect(first).toEqual({
      ...{ missing: 1, changed: 1, gone: 1 },
      days: [
        { day: '2025-01-01', missing: 0, changed: 1, gone: 1 },
        { day: '2025-01-02', missing: 1, changed: 0, gone: 0 },
      ],
    });
    expect(await here.events.verified(verify)).toEqual(first);
    expect(await query('SELECT id, outcome FROM event_checks ORDER BY outcome')).toEqual([
      { id: changed.id, outcome: 'changed' },
      { id: gone.id, outcome: 'gone' },
      { id: missing.id, outcome: 'missing' },
    ]);
    expect(await verified([same, other, missing, gone, late])).toEqual({ missing: 0, changed: 0, gone: 0, days: [] });
    expect(await query('SELECT id FROM event_checks')).toEqual([]);
  });

  it('keeps unknown types, fields and shapes, and counts them', async () => {
    await begin();
    await load([
      event(
        'webset.merged',
        1,
        { id: 'w', object: 'webset', title: 'T', novelty: [1] },
        { priority: 'high', tags: [] },
      ),
      event('team.renamed', 2, 'just a text'),
      event('webset.item.created', 3, null),
      { ...event('team.renamed', 4, [1, 2]), object: undefined },
    ]);
    expect(await here.events.counts('sandbox')).toEqual([
      { type: 'team.renamed', events: 2, known: false, latest: noon(4) },
      { type: 'webset.item.created', events: 1, known: true, latest: noon(3) },
      { type: 'webset.merged', events: 1, known: false, latest: noon(1) },
    ]);
    expect(await query('SELECT data, extra FROM events ORDER BY created_at')).toEqual([
      { data: { id: 'w', object: 'webset', title: 'T', novelty: [1] }, extra: { priority: 'high', tags: [] } },
      { data: 'just a text', extra: null },
      { data: null, extra: null },
      { data: [1, 2], extra: null },
    ]);
    expect(await query('SELECT id, title, data FROM websets')).toEqual([
      { id: 'w', title: 'T', data: { id: 'w', object: 'webset', title: 'T', novelty: [1] } },
    ]);
  });

  it('reads times in every form of ISO 8601, and stores NULL for other values', async () => {
    await begin();
    const times = [
      '2025-01-01T14:00:05+02:00',
      '2025-01-01T12:00:05',
      '2025-01-01T12:00:05.000Z',
      '2024-02-29T00:00:00Z',
    ];
    const wrong = ['yesterday', '2025-02-30T00:00:00Z', '', null, 5, {}];
    await load([...times, ...wrong].map((updatedAt, index) => event('webset.idle', 1, { id: `w${index}`, updatedAt })));
    const rows = await query('SELECT updated_at, version_at FROM websets ORDER BY id');
    const read = rows.map((row) => [row.updated_at, row.version_at].map((at) => (at === null ? null : Number(at))));
    const expected = [noon(5), noon(5), noon(5), Date.UTC(2024, 1, 29)].map((at) => [at, at]);
    expect(read).toEqual([...expected, ...wrong.map(() => [null, noon(1)])]);
  });

  it('fault 45: stores every value that JSON has, or a text that describes it', async () => {
    await begin();
    const strange = {
      id: 'w',
      title: 'tab\t quote" back\\slash \u{1f600} 東京 \u0001',
      nul: 'a\u0000b',
      half: '\ud800',
      numbers: [0, -0.5, 1e15, 123456789012345680000],
      deep: { a: [[[{}]]] },
      '': 'empty name',
      long: 'x'.repeat(100_000),
    };
    const text = JSON.stringify([event('webset.idle', 1, strange)], null, 2).replace(
      '"deep"',
      `"huge": 1e200000, "digits": ${'9'.repeat(140_000)}, "twice": 1, "twice": 2, "k\\ud800\\u0000": 1, "deep"`,
    );
    await load([], { pages: [{ page: 1, events: Buffer.from(text.replaceAll('\n', '\r\n')) }] });
    const [row] = await query(`SELECT data FROM events`);
    const data = row?.data as typeof strange;
    expect(data).toMatchObject({ ...strange, nul: `a${here.nul}b`, half: '\\ud800' });
    expect(await query('SELECT title FROM websets')).toEqual([{ title: strange.title }]);
    // A walk does not stop at an odd id or type, either when it reads the page again.
    const odd = { ...event('webset.idle', 2, { id: 'w\ud800\0' }), id: 'e\ud800\0', 'x\udc00\0': '\udc00' };
    const pages = [
      { page: 2, events: Buffer.from(`${JSON.stringify([odd, { ...odd, id: 'other', type: 't\ud800\0' }])}\r`) },
    ];
    for (const attempt of ['one', 'two']) await load([], { pages, attempt });
    const stored = `e\\ud800${here.nul}`;
    expect(await query(`SELECT id FROM events WHERE page = 2 ORDER BY id`)).toEqual([{ id: stored }, { id: 'other' }]);
  });

  it('keeps events and objects with ids of any length apart, loaded twice or verified', async () => {
    await begin();
    const long = (start: string, end: string) =>
      start + Array.from({ length: 4000 }, (_, at) => sha256(`${at}`).slice(0, 2)).join('') + end;
    const item = (end: string) => ({
      ...event('webset.item.enriched', 1, {
        ...{ id: long('i', end), websetId: long('é', 'w'), properties: {} },
        enrichments: [{ enrichmentId: long('x', end), result: ['1'] }],
      }),
      id: long('é', end),
    });
    const webset = event('webset.idle', 2, { id: long('é', 'w'), items: [{ id: long('j', 'a') }] });
    const pages = pagesOf([item('a'), item('b'), webset]);
    for (const attempt of ['one', 'two']) {
      await here.events.claim(sync, 1, attempt);
      expect(await load([], { pages, attempt })).toMatchObject({ events: 3, added: attempt === 'one' ? 3 : 0 });
    }
    const verify = { ...sync, stream: 'verify x' };
    await here.events.begin(verify, { ...run, from: noon(0) });
    await here.events.claim(verify, 1, 'one');
    await here.events.load([{ ...verify, window: 1, attempt: 'one', pages, walk: walked(true) }]);
    expect(await here.events.verified(verify)).toMatchObject({ missing: 0, changed: 0, gone: 0 });
    const short = (id: string) => `${id.slice(0, 180)}~${sha256(id)}`;
    expect(await ids()).toEqual([webset.id, ...['a', 'b'].map((end) => short(long('é', end)))].sort());
    expect(
      await query(`SELECT w.id, count(*) AS n FROM websets w JOIN webset_items i ON i.webset_id = w.id
        JOIN webset_item_enrichments e ON e.item_id = i.id GROUP BY w.id`),
    ).toMatchObject([{ id: short(long('é', 'w')) }]);
    expect(await query('SELECT data FROM events')).toContainEqual({ data: webset.data });
  });

  it.each(['oldest', 'newest'])(
    'keeps the order of the service among events of equal times, listed from the %s',
    async (order) => {
      await begin();
      const at = (seconds: number, id: string, url: string) => ({
        ...event('webset.item.enriched', seconds, { id: 'i', websetId: 'w', properties: { url } }),
        id,
      });
      const story = [at(1, 'e5', '1'), at(2, 'e4', '2'), at(2, 'e9', '3'), at(2, 'e1', '4'), at(3, 'e2', '5')];
      const ties = [at(4, 'f3', '6'), at(4, 'f1', '7'), at(4, 'f2', '8')];
      const listed = order === 'oldest' ? [...story, ...ties] : [...story, ...ties].reverse();
      const steps = async () =>
        (await query('SELECT event_id, url FROM item_timeline ORDER BY step')).map(({ url }) => Number(url));
      // Pages and loads divide the events of equal times.
      await load([], { pages: pagesOf(listed.slice(0, 7), 2) });
      await load([], { pages: pagesOf(listed.slice(6), 2, 5) });
      expect(await steps()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(await query('SELECT url FROM webset_items')).toEqual([{ url: '8' }]);
      // Nor do further reads change the order, from any page on and with other contents.
      const newer = listed.map((one) =>
        one.id === 'e9' ? { ...one, data: { ...(one.data as object), updatedAt: iso(2.5) } } : one,
      );
      await load([], { pages: pagesOf(newer.slice(2), 3, 7) });
      await load([], { pages: pagesOf(listed.slice(3), 90, 20) });
      expect(await steps()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(await query('SELECT url FROM webset_items')).toEqual([{ url: '8' }]);
      // The last page may be loaded first.
      await fresh();
      await begin();
      for (const page of pagesOf(listed, 4).reverse()) await load([], { pages: [page], attempt: `of ${page.page}` });
      await load([], { pages: pagesOf(listed, 4, 30) });
      expect(await steps()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(await query('SELECT url FROM webset_items')).toEqual([{ url: '8' }]);
    },
  );

  it('loads an event without a type as one of an unknown type', async () => {
    await begin();
    const odd = '[{"id":"a","type":null,"data":{}},{"id":"b","data":{}},{"id":"c","type":5,"data":{}}]';
    for (const attempt of ['first', 'again'])
      await load([], { pages: [{ page: 1, events: Buffer.from(odd) }], attempt });
    expect(await query('SELECT id, type FROM events ORDER BY id')).toEqual([
      { id: 'a', type: 'unknown' },
      { id: 'b', type: 'unknown' },
      { id: 'c', type: '5' },
    ]);
  });

  it('loads a whole batch or nothing: a page without events fails all of it', async () => {
    await begin();
    const good = pagesOf([event('webset.idle', 1, { id: 'w' })]);
    for (const bad of ['[{"type":"webset.idle","data":{}}]', '[{"id":null,"data":{}}]']) {
      const pages = [...good, { page: 2, events: Buffer.from(bad) }];
      await expect(load([], { pages })).rejects.toThrow(MisshapenPage);
    }
    await expect(load([], { pages: [...good, { page: 2, events: Buffer.from('[{"id":') }] })).rejects.toThrow(
      MisshapenPage,
    );
    expect(await ids()).toEqual([]);
    expect(await query('SELECT id FROM websets')).toEqual([]);
    expect(await here.events.stream(sync)).toMatchObject({ pages: 0, events: 0 });
    expect(await load([], { pages: good })).toMatchObject({ added: 1 });
  });

  it('loads the events of an attempt that was replaced, and ignores its cursor', async () => {
    await begin('zombie');
    await here.events.claim(sync, 1, 'heir');
    await load([event('webset.idle', 5, { id: 'a' })], { attempt: 'heir' });
    const late = await load([event('webset.idle', 1, { id: 'b' })], { attempt: 'zombie', done: true });
    expect(late).toEqual({ events: 1, added: 1, changed: 0, current: false });
    expect(await here.events.stream(sync)).toMatchObject({ pending: [1], watermark: null, pages: 1 });
    expect(await here.events.split(sync, 1, 'zombie', [{ from: 0, to: 1 }])).toBeNull();
    expect(await ids()).toHaveLength(2);
  });

  it('splits a window, and moves the watermark only to the first part that is not done', async () => {
    await begin();
    const parts = [
      { from: null, to: noon(10) },
      { from: noon(10), to: noon(20) },
      { from: noon(20), to: noon(30) },
    ];
    const first = startWalk(null, 1);
    expect(await here.events.split(sync, 1, 'one', parts, first)).toEqual([2, 3, 4]);
    const finish = async (window: number, seconds: number) => {
      expect(await here.events.claim(sync, window, 'one')).toMatchObject({ walk: first });
      const pages = pagesOf([event('webset.idle', seconds, { id: `w${window}` })]);
      await here.events.load([{ ...sync, window, attempt: 'one', pages, walk: walked(true) }]);
      return here.events.stream(sync);
    };
    expect(await finish(4, 25)).toMatchObject({ watermark: null, pending: [2, 3], share: 0.5 });
    expect(await finish(2, 5)).toMatchObject({ watermark: noon(5), pending: [3], completedAt: null });
    const end = await finish(3, 15);
    expect(end).toMatchObject({ watermark: noon(25), pending: [], windows: 3, events: 3, share: 1 });
    expect(end?.completedAt).toBeGreaterThan(0);
  });

  it('keeps separate marks for each stream over the same events', async () => {
    await begin();
    const backfill = { origin: 'sandbox', stream: 'backfill x' };
    const other = { origin: 'https://api.example', stream: 'sync' };
    const events = [event('webset.idle', 5, { id: 'w' })];
    await load(events, { done: true });
    for (const key of [backfill, other]) {
      await here.events.begin(key, { ...run, from: noon(0) });
      await here.events.claim(key, 1, 'one');
    }
    const pages = pagesOf([...events, event('webset.idle', 99, { id: 'w' })]);
    const before = await here.events.stream(sync);
    expect(await here.events.load([{ ...backfill, window: 1, attempt: 'one', pages, walk: walked(true) }])).toEqual([
      { events: 2, added: 1, changed: 0, current: true },
    ]);
    expect(await here.events.load([{ ...other, window: 1, attempt: 'one', pages, walk: walked(true) }])).toMatchObject([
      { added: 2 },
    ]);
    expect(await here.events.stream(sync)).toEqual(before);
    expect(await here.events.stream(backfill)).toMatchObject({ watermark: noon(99) });
    await here.events.foldAll(other.origin);
    expect(await query('SELECT origin FROM websets ORDER BY 1')).toHaveLength(2);
  });

  it('folds many loads at once, on request at the latest, and none twice', async () => {
    await begin();
    const titles = () => raw('SELECT title FROM websets');
    const idleAt = (seconds: number, title: string) =>
      event('webset.idle', seconds, { id: 'w', title, updatedAt: iso(seconds) });
    await load([idleAt(1, 'one')]);
    await load([], { pages: pagesOf([idleAt(2, 'two')], 200, 2) });
    expect(await titles()).toEqual([]);
    await here.events.foldAll('elsewhere');
    expect(await titles()).toEqual([]);
    await here.events.foldAll('sandbox');
    expect(await titles()).toEqual([{ title: 'two' }]);
    const marks = () => raw('SELECT CAST(in_state AS integer) AS mark FROM event_loads ORDER BY load_id');
    expect(await marks()).toEqual([{ mark: 1 }, { mark: 1 }]);
    await load([], { pages: pagesOf([idleAt(3, 'three')], 200, 3) });
    expect(await titles()).toEqual([{ title: 'two' }]);
    expect(await marks()).toEqual([{ mark: 1 }, { mark: 1 }, { mark: 0 }]);
  });

  it('counts between two times, both included', async () => {
    await begin();
    await load([1, 2, 3, 4].map((seconds) => event('webset.idle', seconds, { id: 'w' })));
    const [count] = await here.events.counts('sandbox', { from: noon(2), to: noon(3) });
    expect(count?.events).toBe(2);
    await load([], {
      pages: pagesOf([event('a.new.one', 9, { id: 'x' }), event('webset.created', 1, { id: 'w' })], 200, 2),
    });
    expect(await here.events.counts('sandbox')).toEqual([
      { type: 'webset.idle', events: 4, latest: noon(4), known: true },
      { type: 'a.new.one', events: 1, latest: noon(9), known: false },
      { type: 'webset.created', events: 1, latest: noon(1), known: true },
    ]);
    expect(await here.events.counts('elsewhere')).toEqual([]);
  });

  it('shows the timeline of each item, and the activity of each webset by day', async () => {
    await begin();
    const item = (seconds: number) => ({
      id: 'i',
      websetId: 'w',
      properties: { url: 'https://x.example/' },
      createdAt: iso(seconds),
    });
    await load([
      event('webset.item.enriched', 90_000, item(1)),
      event('webset.item.created', 1, item(1)),
      event('webset.created', 0, { id: 'w' }),
      event('webset.search.created', 2, { id: 's', websetId: 'w' }),
      event('webset.search.created', 3, { id: 's2', websetId: 'w' }),
      event('webset.search.completed', 4, { id: 's', websetId: 'w' }),
      event('webset.export.completed', 5, { id: 'x', websetId: 'w' }),
    ]);
    expect(await query('SELECT webset_id, item_id, step, type, url FROM item_timeline ORDER BY step')).toEqual([
      { webset_id: 'w', item_id: 'i', step: 1, type: 'webset.item.created', url: 'https://x.example/' },
      { webset_id: 'w', item_id: 'i', step: 2, type: 'webset.item.enriched', url: 'https://x.example/' },
    ]);
    expect(
      await query(
        `SELECT origin, webset_id, CAST(events AS integer) AS events, CAST(items_created AS integer) AS created,
           CAST(items_enriched AS integer) AS enriched, CAST(searches_created AS integer) AS searches,
           CAST(searches_completed AS integer) AS completed, CAST(exports_completed AS integer) AS exports,
           CAST(last_at - first_at AS text) AS lasted FROM webset_activity_daily ORDER BY day`,
      ),
    ).toEqual([
      {
        ...{ origin: 'sandbox', webset_id: 'w', events: 6, created: 1, enriched: 0, searches: 2, completed: 1 },
        ...{ exports: 1, lasted: '00:00:05' },
      },
      {
        ...{ origin: 'sandbox', webset_id: 'w', events: 1, created: 0, enriched: 1, searches: 0, completed: 0 },
        ...{ exports: 0, lasted: '00:00:00' },
      },
    ]);
  });
}

const tables = [
  'websets',
  'webset_searches',
  'webset_imports',
  'webset_enrichments',
  'webset_items',
  'webset_monitors',
  'webset_monitor_runs',
  'webset_exports',
];

/** Loads whole lives of websets and compares the state with that of an oracle, which reads one event after the other. */
function describeHistory(
  /** Number of events; a history of a thousand events or more is loaded in reverse, too. */
  lives: number,
  query: InFolder['objects'],
  fresh: () => Promise<void>,
  begin: () => Promise<unknown>,
  /** Loads pages in their order, as an attempt of its own. */
  load: (pages: readonly RawPage[]) => Promise<unknown>,
): void {
  const events = history(lives);

  /** All tables as one text, without the columns about the load. */
  const checksum = async () => {
    const parts: unknown[] = [];
    for (const table of [...tables, 'webset_item_enrichments', 'events']) {
      const rows = await query(`SELECT * FROM ${table}`);
      const plain = rows.map(({ load_id, page, loaded_at, digest, list_order, ...row }) => JSON.stringify(row));
      parts.push([table, plain.sort()]);
    }
    return JSON.stringify(parts);
  };

  it('folds the same events into the same state in any order, in batches of any size, with some repeated', async () => {
    await begin();
    await load(pagesOf(events));
    const straight = await checksum();
    const expected = currentState(events);
    for (const table of tables) {
      const rows = await query(`SELECT id, data, deleted_at IS NOT NULL AS gone FROM ${table}`);
      const wanted = [...(expected.get(table) ?? [])].map(([id, { data, deleted }]) => ({
        id,
        data,
        gone: deleted !== null,
      }));
      const byId = (left: { id?: unknown }, right: { id?: unknown }) => (String(left.id) < String(right.id) ? -1 : 1);
      expect(rows.sort(byId), table).toEqual(wanted.sort(byId));
    }
    const pages: RawPage[] = [];
    for (let from = 0, size = 7; from < events.length; from += size, size = (size * 3) % 400)
      pages.push(...pagesOf(events.slice(from, from + size), 90, pages.length + 1));
    for (const order of [
      ...(lives > 1000 ? [pages.toReversed()] : []),
      shuffled([...pages, ...shuffled(pages, 2).slice(0, 4)], 3),
    ]) {
      await fresh();
      await begin();
      for (let from = 0, size = 1; from < order.length; from += size++) await load(order.slice(from, from + size));
      expect(await checksum()).toBe(straight);
    }
  });
}
