import { fraction, mix } from '../base/hash.js';
import { idOf, type Scene, themeOf } from './scene.js';
import { ITEMS, stepOf, steps } from './story.js';
import { enrichments } from './webset-item.js';

/** Number of items at a step. With `last`, only items of the steps before it, such as those of the first search. */
function itemsAt(step: number, last = steps.length): number {
  return steps.slice(0, Math.min(step + 1, last)).filter(({ type }) => type === 'webset.item.created').length;
}

const itemCounts = steps.map((_, step) => itemsAt(step));

/** Items of a webset at a step. */
export function itemCountAt(step: number): number {
  return step < 0 ? 0 : (itemCounts[Math.min(step, itemCounts.length - 1)] as number);
}

/** Search `n` of a webset at the step of the scene. The first search completes; the second one is canceled. */
export function searchAt(scene: Scene, n: number, seed: number): Record<string, unknown> {
  const { story, step, hash, iso } = scene;
  const { query, subject, entity } = themeOf(scene);
  const created = stepOf('webset.search.created', n);
  const ended = n === 0 ? stepOf('webset.search.completed', 0) : stepOf('webset.search.canceled', 1);
  const isEnded = step >= ended;
  const found = n === 0 ? Math.min(8, itemCountAt(Math.min(step, ended))) : 0;
  const changed = isEnded ? ended : Math.max(created, Math.min(step, ended));
  const isCanceled = n === 1 && isEnded;
  return {
    id: idOf('wsearch', seed, story, n),
    object: 'webset_search',
    status: isCanceled ? 'canceled' : isEnded ? 'completed' : step === created ? 'created' : 'running',
    websetId: idOf('webset', seed, story),
    query: n === 0 ? query : `more: ${query}`,
    entity,
    criteria: [
      { description: `is about ${subject}`, successRate: Math.round(fraction(hash, 221) * 100) },
      { description: 'is still going', successRate: Math.round(fraction(hash, 222) * 100) },
    ],
    count: 8,
    exclude: n === 0 ? [] : [{ source: 'import', id: idOf('import', seed, story) }],
    scope: [],
    progress: {
      found,
      analyzed: found * 3,
      completion: isEnded ? 100 : Math.round((found / 8) * 100),
      timeLeft: isEnded ? null : 60 - found * 5,
    },
    recall: isEnded
      ? {
          expected: { total: 20 + (mix(hash, 223) % 400), confidence: 'high', bounds: { min: 10, max: 900 } },
          reasoning: 'Estimated from how many were found twice.',
        }
      : null,
    canceledAt: isCanceled ? iso(ended) : null,
    canceledReason: isCanceled ? 'webset_canceled' : null,
    createdAt: iso(created),
    updatedAt: iso(changed),
    behavior: n === 0 ? 'override' : 'append',
    metadata: {},
  };
}

export function importAt(scene: Scene, seed: number): Record<string, unknown> {
  const { story, step, iso } = scene;
  const { subject, entity } = themeOf(scene);
  const [created, completed] = [stepOf('import.created'), stepOf('import.completed')];
  const isOver = step >= completed;
  return {
    id: idOf('import', seed, story),
    object: 'import',
    status: isOver ? 'completed' : step > created ? 'processing' : 'pending',
    format: 'csv',
    entity,
    title: `Known ones about ${subject}`,
    count: 1,
    metadata: { origin: 'crm' },
    failedReason: null,
    failedAt: null,
    failedMessage: null,
    createdAt: iso(created),
    updatedAt: iso(isOver ? completed : created),
  };
}

export function enrichmentAt(scene: Scene, n: number, seed: number): Record<string, unknown> {
  const { story, step, iso } = scene;
  const { title, description, format, options } = enrichments[n] as (typeof enrichments)[number];
  const done = stepOf('webset.item.enriched', ITEMS - 1);
  return {
    id: idOf('wenrich', seed, story, n),
    object: 'webset_enrichment',
    status: step >= done ? 'completed' : 'pending',
    websetId: idOf('webset', seed, story),
    title,
    description,
    format,
    options,
    instructions: null,
    metadata: {},
    createdAt: iso(0),
    updatedAt: iso(step >= done ? done : 0),
  };
}
