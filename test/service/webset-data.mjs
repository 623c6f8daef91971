// The objects of webset events: each webset has forty events, from its creation to its end.
const PER_WEBSET = 40;
const PER_MONITOR_WEBSETS = 7;

/** Type and data of the event with a number. `iso`: returns the time of an event by its number. */
export function eventData(index, iso) {
  const webset = Math.floor(index / PER_WEBSET);
  const step = index % PER_WEBSET;
  const first = webset * PER_WEBSET;
  const [createdAt, updatedAt] = [iso(first), iso(index)];
  const id = `webset_${webset}`;
  const search = {
    id: `search_${webset}`,
    object: 'webset_search',
    websetId: id,
    status: step < 35 ? 'running' : 'completed',
    query: `companies number ${webset} that make "things" — 東京`,
    count: 16,
    progress: { found: Math.min(16, step), analyzed: step * 3, completion: Math.min(100, step * 3) },
    createdAt,
    updatedAt,
  };
  const monitor = {
    id: `monitor_${webset}`,
    object: 'monitor',
    websetId: id,
    status: 'enabled',
    cadence: { cron: '0 0 * * *', timezone: 'UTC' },
    lastRun: {
      id: `run_${webset}`,
      object: 'monitor_run',
      monitorId: `monitor_${webset}`,
      status: 'running',
      updatedAt,
    },
    createdAt,
    updatedAt,
  };
  const whole = {
    id,
    object: 'webset',
    status: step === 36 ? 'idle' : 'running',
    title: `Webset ${webset}`,
    searches: [search],
    enrichments: [
      { id: `enrichment_${webset}`, object: 'webset_enrichment', websetId: id, status: 'pending', updatedAt },
    ],
    monitors: webset % PER_MONITOR_WEBSETS === 0 ? [monitor] : [],
    createdAt,
    updatedAt,
  };
  if (step === 0) return ['webset.created', whole];
  if (step === 1) return ['webset.search.created', search];
  if (step === 34) return ['webset.search.updated', search];
  if (step === 35) return ['webset.search.completed', search];
  if (step === 36) return ['webset.idle', whole];
  if (step === 37) return ['monitor.created', monitor];
  if (step === 38) return [webset % 11 === 0 ? 'webset.merged' : 'webset.paused', whole];
  if (step === 39)
    return webset % 5 === 0
      ? ['webset.deleted', whole]
      : ['monitor.run.completed', { ...monitor.lastRun, status: 'completed' }];
  const item = step >> 1;
  const enriched = step % 2 === 1;
  return [
    enriched ? 'webset.item.enriched' : 'webset.item.created',
    {
      id: `item_${webset}_${item}`,
      object: 'webset_item',
      websetId: id,
      source: 'search',
      sourceId: search.id,
      properties: {
        type: 'company',
        url: `https://site-${item}.example/${webset}`,
        description: 'It makes things. '.repeat(20),
      },
      enrichments: enriched
        ? [
            {
              object: 'enrichment_result',
              enrichmentId: `enrichment_${webset}`,
              status: 'completed',
              format: 'text',
              result: [`${index}`],
            },
          ]
        : [],
      createdAt: iso(first + item * 2),
      updatedAt,
    },
  ];
}
