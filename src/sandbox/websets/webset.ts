import { choose, fraction, mix, sentences } from '../base/sentences.js';
import { type EventType, ITEMS, idOf, type Scene, stepOf, steps, type Theme, TRIGGERED, themeOf } from './story.js';

/** The monitor of a webset at the step of the scene. */
function monitorAt(scene: Scene, seed: number): Record<string, unknown> {
  const { story, step, iso } = scene;
  const { query, subject, entity } = themeOf(scene);
  const created = stepOf('monitor.created');
  const updated = stepOf('monitor.updated');
  const deleted = stepOf('monitor.deleted');
  const isUpdated = step >= updated;
  return {
    id: idOf('wmonitor', seed, story),
    object: 'monitor',
    status: step >= deleted ? 'disabled' : 'enabled',
    websetId: idOf('webset', seed, story),
    cadence: { cron: isUpdated ? '0 6 * * 1' : '0 6 * * *', timezone: 'Etc/UTC' },
    behavior: {
      type: 'search',
      config: { count: 3, query, criteria: [{ description: `is about ${subject}` }], entity, behavior: 'append' },
    },
    lastRun: step >= stepOf('monitor.run.created') ? monitorRunAt(scene, seed) : null,
    nextRunAt: step >= deleted ? null : iso(created, 86_400_000),
    metadata: {},
    createdAt: iso(created),
    updatedAt: iso(step >= deleted ? deleted : isUpdated ? updated : created),
  };
}

function monitorRunAt({ story, step, iso }: Scene, seed: number): Record<string, unknown> {
  const [created, completed] = [stepOf('monitor.run.created'), stepOf('monitor.run.completed')];
  const isOver = step >= completed;
  return {
    id: idOf('wrun', seed, story),
    object: 'monitor_run',
    status: isOver ? 'completed' : step > created ? 'running' : 'created',
    monitorId: idOf('wmonitor', seed, story),
    type: 'search',
    completedAt: isOver ? iso(completed) : null,
    failedAt: null,
    failedReason: null,
    canceledAt: null,
    createdAt: iso(created),
    updatedAt: iso(isOver ? completed : created),
  };
}

const idle = stepOf('webset.idle', 0);
const paused = stepOf('webset.paused');
const deleted = stepOf('webset.deleted');
const monitorCreated = stepOf('monitor.created');
const monitorDeleted = stepOf('monitor.deleted');
const searches = [stepOf('webset.search.created', 0), stepOf('webset.search.created', 1)];

/**
 * Whether a webset is deleted at this step. Every third webset is deleted at its end. The others become idle instead, so that
 * lists have entries.
 */
export function isDeletedAt(story: number, step: number): boolean {
  return step >= deleted && (story % 3 === 0 || story >= TRIGGERED);
}

/** The type of the event of a webset's step. */
export function typeOf(story: number, step: number): EventType {
  if (step === deleted && !isDeletedAt(story, step)) return 'webset.idle';
  return (steps[step] as (typeof steps)[number]).type;
}

/** The external id of a webset. Every second webset has none. */
export function externalIdOf(story: number): string | null {
  return story % 2 === 0 ? `external-${story}` : null;
}

/** The webset at a step, with its embedded objects. */
export function websetAt(scene: Scene, seed: number): Record<string, unknown> {
  const { story, step, iso } = scene;
  const { subject, city } = themeOf(scene);
  const hasMonitor = step >= monitorCreated && step < monitorDeleted;
  return {
    id: idOf('webset', seed, story),
    object: 'webset',
    status: statusAt(step),
    externalId: externalIdOf(story),
    dashboardUrl: `https://dashboard.example/${idOf('webset', seed, story)}`,
    title: `${subject} in ${city}`,
    searches: searches.flatMap((created, n) => (step >= created ? [searchAt(scene, n, seed)] : [])),
    imports: step >= stepOf('import.created') ? [importAt(scene, seed)] : [],
    enrichments: enrichments.map((_, n) => enrichmentAt(scene, n, seed)),
    monitors: hasMonitor ? [monitorAt(scene, seed)] : [],
    excludes: [{ source: 'import', id: idOf('import', seed, story) }],
    metadata: { team: `team-${story % 7}` },
    createdAt: iso(0),
    updatedAt: iso(step),
  };
}

function statusAt(step: number): string {
  if (step === 0) return 'pending';
  if (step < idle) return 'running';
  return step >= paused && step < deleted ? 'paused' : 'idle';
}

/** The data of an event: the object that it is about, at the time of the event. */
export function eventData(scene: Scene, seed: number): Record<string, unknown> {
  const { type, n } = steps[scene.step] as (typeof steps)[number];
  if (type.startsWith('webset.search.')) return searchAt(scene, n, seed);
  if (type.startsWith('webset.item.')) return itemAt(scene, n, seed);
  if (type.startsWith('webset.export.')) return exportAt(scene, seed);
  if (type.startsWith('import.')) return importAt(scene, seed);
  if (type.startsWith('monitor.run.')) return monitorRunAt(scene, seed);
  return type.startsWith('monitor.') ? monitorAt(scene, seed) : websetAt(scene, seed);
}

/** An export. Its payload is made up, because no public schema has it. */
function exportAt({ story, step, iso }: Scene, seed: number): Record<string, unknown> {
  const [created, completed] = [stepOf('webset.export.created'), stepOf('webset.export.completed')];
  return {
    id: idOf('wexport', seed, story),
    object: 'webset_export',
    status: step >= completed ? 'completed' : 'pending',
    format: 'csv',
    websetId: idOf('webset', seed, story),
    url: step >= completed ? 'https://exports.example/file.csv' : null,
    createdAt: iso(created),
    updatedAt: iso(step >= completed ? completed : created),
  };
}

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
function searchAt(scene: Scene, n: number, seed: number): Record<string, unknown> {
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

function importAt(scene: Scene, seed: number): Record<string, unknown> {
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

function enrichmentAt(scene: Scene, n: number, seed: number): Record<string, unknown> {
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

const names = ['Ada Lindqvist', 'José Ortega', 'Mei Tanaka', 'Sam O’Neill', 'Priya Raman', 'Łukasz Wójcik'];

/** Enrichments that a webset requests: text, number, and a choice. */
const enrichments = [
  { title: 'Mission', description: 'What it is for, in a sentence', format: 'text', options: null },
  { title: 'Founded', description: 'The year it began', format: 'number', options: null },
  {
    title: 'Size',
    description: 'How large it is',
    format: 'options',
    options: [{ label: 'small' }, { label: 'medium' }, { label: 'large' }],
  },
] as const;

/** Item `n` of a webset at the step of the scene. */
export function itemAt(scene: Scene, n: number, seed: number): Record<string, unknown> {
  const { story, step } = scene;
  const hash = mix(scene.hash, 300 + n);
  const created = stepOf('webset.item.created', n);
  const enriched = stepOf('webset.item.enriched', n);
  const isEnriched = step >= enriched;
  const theme = themeOf(scene);
  const url = `https://${theme.entity.type.replace('_', '-')}-${hash.toString(36)}.example/${idOf('wpage', seed, story, n)}`;
  const source = n === 0 ? 'import' : 'search';
  return {
    id: idOf('witem', seed, story, n),
    object: 'webset_item',
    source,
    sourceId: source === 'import' ? idOf('import', seed, story) : idOf('wsearch', seed, story, 0),
    websetId: idOf('webset', seed, story),
    properties: propertiesOf(theme, url, hash),
    evaluations: [
      {
        criterion: `is about ${theme.subject}`,
        reasoning: choose(sentences, hash, 301),
        satisfied: choose(['yes', 'yes', 'yes', 'no', 'unclear'], hash, 302),
        references: [{ title: `${theme.subject} – ${theme.city}`, snippet: choose(sentences, hash, 303), url }],
      },
    ],
    enrichments: isEnriched ? enrichments.map((_, index) => resultOf(index, hash, url, story, seed)) : [],
    createdAt: scene.iso(created),
    updatedAt: scene.iso(isEnriched ? enriched : created),
  };
}

function resultOf(index: number, hash: number, url: string, story: number, seed: number): Record<string, unknown> {
  const { format } = enrichments[index] as (typeof enrichments)[number];
  const found = mix(hash, 310 + index) % 10 > 0;
  const value =
    format === 'number'
      ? String(1900 + (mix(hash, 320) % 125))
      : format === 'options'
        ? choose(['small', 'medium', 'large'], hash, 321)
        : choose(sentences, hash, 322);
  return {
    object: 'enrichment_result',
    status: 'completed',
    format,
    result: found ? [value] : null,
    reasoning: found ? choose(sentences, hash, 323) : null,
    references: found ? [{ title: null, snippet: value, url }] : [],
    enrichmentId: idOf('wenrich', seed, story, index),
  };
}

function propertiesOf({ entity, subject, city }: Theme, url: string, hash: number): Record<string, unknown> {
  const description = choose(sentences, hash, 330);
  const name = choose(names, hash, 331);
  const base = { type: entity.type, url, description };
  const title = `${subject}, no. ${hash % 1000}`;
  const published = {
    author: name,
    publishedAt: `${2015 + (hash % 10)}-0${1 + (hash % 9)}-1${hash % 10}T00:00:00.000Z`,
  };
  switch (entity.type) {
    case 'company':
      return {
        ...base,
        content: `${description} ${choose(sentences, hash, 332)}`,
        company: {
          name: `${city} ${subject} ${hash % 1000}`,
          location: city,
          employees: hash % 7 === 0 ? null : hash % 5000,
          industry: subject,
          about: choose(sentences, hash, 333),
          logoUrl: null,
        },
      };
    case 'person':
      return {
        ...base,
        person: { name, location: city, position: `head of ${subject}`, company: null, pictureUrl: null },
      };
    case 'article':
      return { ...base, content: description, article: { title, ...published } };
    case 'research_paper':
      return { ...base, content: description, researchPaper: { title, ...published } };
    default:
      return { ...base, content: null, custom: { title, ...published } };
  }
}
