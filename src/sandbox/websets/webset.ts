import { idOf, type Scene, themeOf } from './scene.js';
import { type EventType, stepOf, steps, TRIGGERED } from './story.js';
import { enrichments, itemAt } from './webset-item.js';
import { enrichmentAt, importAt, searchAt } from './webset-parts.js';

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
