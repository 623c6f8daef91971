import { type PayloadKind, payloads } from '../../core/events/payloads.js';
import { choose, fraction, mix, people, sentences } from '../base/sentences.js';
import { ITEMS, type Scene, stepOf, steps, TRIGGERED } from './story.js';

type Fields = Record<string, unknown>;
type Thing = Fields & { readonly id: string };

/** An object of a webset at the step of the scene: from its first event on, until its last one. */
function lifeOf({ step, iso }: Scene, created: number, ended: number) {
  const isOver = step >= ended;
  const createdAt = iso(created);
  return { isNew: step <= created, isOver, times: { createdAt, updatedAt: isOver ? iso(ended) : createdAt } };
}

const idle = stepOf('webset.idle', 0);
const paused = stepOf('webset.paused');
const deleted = stepOf('webset.deleted');
const monitorCreated = stepOf('monitor.created');
const monitorUpdated = stepOf('monitor.updated');
const monitorDeleted = stepOf('monitor.deleted');
const runCreated = stepOf('monitor.run.created');

function monitorAt(scene: Scene): Thing {
  const { step, query, subject, entity, id, iso } = scene;
  const isUpdated = step >= monitorUpdated;
  const isDeleted = step >= monitorDeleted;
  return {
    id: id('wmonitor'),
    object: 'monitor',
    status: isDeleted ? 'disabled' : 'enabled',
    websetId: id('webset'),
    cadence: { cron: isUpdated ? '0 6 * * 1' : '0 6 * * *', timezone: 'Etc/UTC' },
    behavior: {
      type: 'search',
      config: { count: 3, query, criteria: [{ description: `is about ${subject}` }], entity, behavior: 'append' },
    },
    lastRun: step >= runCreated ? monitorRunAt(scene) : null,
    nextRunAt: isDeleted ? null : new Date(Date.parse(iso(monitorCreated)) + 86_400_000).toISOString(),
    metadata: {},
    createdAt: iso(monitorCreated),
    updatedAt: iso(isDeleted ? monitorDeleted : isUpdated ? monitorUpdated : monitorCreated),
  };
}

function monitorRunAt(scene: Scene): Thing {
  const { isNew, isOver, times } = lifeOf(scene, runCreated, stepOf('monitor.run.completed'));
  return {
    id: scene.id('wrun'),
    object: 'monitor_run',
    status: isOver ? 'completed' : isNew ? 'created' : 'running',
    monitorId: scene.id('wmonitor'),
    type: 'search',
    completedAt: isOver ? times.updatedAt : null,
    failedAt: null,
    failedReason: null,
    canceledAt: null,
    ...times,
  };
}

/**
 * Whether a webset is deleted at this step. Every third webset is deleted at its end. The others become idle instead, so that
 * lists have entries.
 */
export function isDeletedAt(story: number, step: number): boolean {
  return step >= deleted && (story % 3 === 0 || story >= TRIGGERED);
}

export function typeOf(story: number, step: number): string {
  if (step === deleted && !isDeletedAt(story, step)) return 'webset.idle';
  return (steps[step] as (typeof steps)[number]).type;
}

/** The external id of a webset. Every second webset has none. */
export function externalIdOf(story: number): string | null {
  return story % 2 === 0 ? `external-${story}` : null;
}

/** The webset at a step, with its embedded objects. */
export function websetAt(scene: Scene): Thing {
  const { story, step, subject, city, id, iso } = scene;
  const isPaused = step >= paused && step < deleted;
  return {
    id: id('webset'),
    object: 'webset',
    status: step === 0 ? 'pending' : step < idle ? 'running' : isPaused ? 'paused' : 'idle',
    externalId: externalIdOf(story),
    dashboardUrl: `https://dashboard.example/${id('webset')}`,
    title: `${subject} in ${city}`,
    searches: [0, 1].flatMap((n) => (step >= stepOf('webset.search.created', n) ? [searchAt(scene, n)] : [])),
    imports: step >= stepOf('import.created') ? [importAt(scene)] : [],
    enrichments: enrichments.map((_, n) => enrichmentAt(scene, n)),
    monitors: step >= monitorCreated && step < monitorDeleted ? [monitorAt(scene)] : [],
    excludes: [{ source: 'import', id: id('import') }],
    metadata: { team: `team-${story % 7}` },
    createdAt: iso(0),
    updatedAt: iso(step),
  };
}

const objects: Readonly<Partial<Record<PayloadKind, (scene: Scene, n: number) => Thing>>> = {
  webset: websetAt,
  search: searchAt,
  import: importAt,
  item: itemAt,
  monitor: monitorAt,
  monitor_run: monitorRunAt,
  export: exportAt,
};

/** The data of an event: the object that it is about, at the time of the event. */
export function eventData(scene: Scene): Thing | undefined {
  const { type, n } = steps[scene.step] as (typeof steps)[number];
  const { kind = 'webset' } = payloads.find(({ types }) => types.includes(type)) ?? {};
  return objects[kind]?.(scene, n);
}

/** An export. Its payload is made up, because no public schema has it. */
function exportAt(scene: Scene): Thing {
  const { isOver, times } = lifeOf(scene, stepOf('webset.export.created'), stepOf('webset.export.completed'));
  return {
    id: scene.id('wexport'),
    object: 'webset_export',
    status: isOver ? 'completed' : 'pending',
    format: 'csv',
    websetId: scene.id('webset'),
    url: isOver ? 'https://exports.example/file.csv' : null,
    ...times,
  };
}

const itemCounts = steps.map((_, step) => {
  return steps.slice(0, step + 1).filter(({ type }) => type === 'webset.item.created').length;
});

/** Search `n` of a webset at the step of the scene. The first search completes; the second one is canceled. */
function searchAt(scene: Scene, n: number): Thing {
  const { step, hash, query, subject, entity, id, iso } = scene;
  const created = stepOf('webset.search.created', n);
  const ended = n === 0 ? stepOf('webset.search.completed', 0) : stepOf('webset.search.canceled', 1);
  const { isNew, isOver, times } = lifeOf(scene, created, ended);
  const found = n === 0 ? Math.min(8, itemCounts[Math.min(step, ended)] as number) : 0;
  const recall = {
    expected: { total: 20 + (mix(hash, 223) % 400), confidence: 'high', bounds: { min: 10, max: 900 } },
    reasoning: 'Estimated from how many were found twice.',
  };
  return {
    id: id('wsearch', n),
    object: 'webset_search',
    status: isOver ? (n === 0 ? 'completed' : 'canceled') : isNew ? 'created' : 'running',
    websetId: id('webset'),
    query: n === 0 ? query : `more: ${query}`,
    entity,
    criteria: [
      { description: `is about ${subject}`, successRate: Math.round(fraction(hash, 221) * 100) },
      { description: 'is still going', successRate: Math.round(fraction(hash, 222) * 100) },
    ],
    count: 8,
    exclude: n === 0 ? [] : [{ source: 'import', id: id('import') }],
    scope: [],
    progress: {
      found,
      analyzed: found * 3,
      completion: isOver ? 100 : Math.round((found / 8) * 100),
      timeLeft: isOver ? null : 60 - found * 5,
    },
    recall: isOver ? recall : null,
    canceledAt: n === 1 && isOver ? times.updatedAt : null,
    canceledReason: n === 1 && isOver ? 'webset_canceled' : null,
    createdAt: times.createdAt,
    updatedAt: isNew || isOver ? times.updatedAt : iso(step),
    behavior: n === 0 ? 'override' : 'append',
    metadata: {},
  };
}

function importAt(scene: Scene): Thing {
  const { isNew, isOver, times } = lifeOf(scene, stepOf('import.created'), stepOf('import.completed'));
  return {
    id: scene.id('import'),
    object: 'import',
    status: isOver ? 'completed' : isNew ? 'pending' : 'processing',
    format: 'csv',
    entity: scene.entity,
    title: `Known ones about ${scene.subject}`,
    count: 1,
    metadata: { origin: 'crm' },
    failedReason: null,
    failedAt: null,
    failedMessage: null,
    ...times,
  };
}

const sizes = ['small', 'medium', 'large'];

/** Enrichments that a webset requests: text, number, and a choice. */
const enrichments = [
  { title: 'Mission', description: 'What it is for, in a sentence', format: 'text', options: null },
  { title: 'Founded', description: 'The year it began', format: 'number', options: null },
  { title: 'Size', description: 'How large it is', format: 'options', options: sizes.map((label) => ({ label })) },
] as const;

function enrichmentAt(scene: Scene, n: number): Thing {
  const { isOver, times } = lifeOf(scene, 0, stepOf('webset.item.enriched', ITEMS - 1));
  return {
    id: scene.id('wenrich', n),
    object: 'webset_enrichment',
    status: isOver ? 'completed' : 'pending',
    websetId: scene.id('webset'),
    ...enrichments[n],
    instructions: null,
    metadata: {},
    ...times,
  };
}

export function itemsAt(scene: Scene): Thing[] {
  return Array.from({ length: itemCounts[scene.step] as number }, (_, n) => itemAt(scene, n));
}

function itemAt(scene: Scene, n: number): Thing {
  const { entity, subject, city, id } = scene;
  const hash = mix(scene.hash, 300 + n);
  const { isOver, times } = lifeOf(scene, stepOf('webset.item.created', n), stepOf('webset.item.enriched', n));
  const url = `https://${entity.type.replace('_', '-')}-${hash.toString(36)}.example/${id('wpage', n)}`;
  const satisfied = choose(['yes', 'yes', 'yes', 'no', 'unclear'], hash, 302);
  const references = [{ title: `${subject} – ${city}`, snippet: choose(sentences, hash, 303), url }];
  return {
    id: id('witem', n),
    object: 'webset_item',
    source: n === 0 ? 'import' : 'search',
    sourceId: n === 0 ? id('import') : id('wsearch', 0),
    websetId: id('webset'),
    properties: propertiesOf(scene, url, hash),
    evaluations: [{ criterion: `is about ${subject}`, reasoning: choose(sentences, hash, 301), satisfied, references }],
    enrichments: isOver ? enrichments.map((_, index) => enrichmentResult(scene, index, hash, url)) : [],
    ...times,
  };
}

function enrichmentResult(scene: Scene, index: number, hash: number, url: string): Fields {
  const { format } = enrichments[index] as (typeof enrichments)[number];
  const isFound = mix(hash, 310 + index) % 10 > 0;
  const values = {
    text: choose(sentences, hash, 322),
    number: String(1900 + (mix(hash, 320) % 125)),
    options: choose(sizes, hash, 321),
  };
  const value = values[format];
  return {
    object: 'enrichment_result',
    status: 'completed',
    format,
    result: isFound ? [value] : null,
    reasoning: isFound ? choose(sentences, hash, 323) : null,
    references: isFound ? [{ title: null, snippet: value, url }] : [],
    enrichmentId: scene.id('wenrich', index),
  };
}

function propertiesOf({ entity: { type }, subject, city }: Scene, url: string, hash: number): Fields {
  const description = choose(sentences, hash, 330);
  const name = choose(people, hash, 331);
  const base = { type, url, description };
  const work = {
    title: `${subject}, no. ${hash % 1000}`,
    author: name,
    publishedAt: `${2015 + (hash % 10)}-0${1 + (hash % 9)}-1${hash % 10}T00:00:00.000Z`,
  };
  if (type === 'article') return { ...base, content: description, article: work };
  if (type === 'research_paper') return { ...base, content: description, researchPaper: work };
  if (type === 'custom') return { ...base, content: null, custom: work };
  if (type === 'person') {
    const person = { name, location: city, position: `head of ${subject}`, company: null, pictureUrl: null };
    return { ...base, person };
  }
  const company = {
    name: `${city} ${subject} ${hash % 1000}`,
    location: city,
    employees: hash % 7 === 0 ? null : hash % 5000,
    industry: subject,
    about: choose(sentences, hash, 333),
    logoUrl: null,
  };
  return { ...base, content: `${description} ${choose(sentences, hash, 332)}`, company };
}
