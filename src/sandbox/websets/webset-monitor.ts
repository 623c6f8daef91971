import { idOf, type Scene, themeOf } from './scene.js';
import { stepOf } from './story.js';

/** The monitor of a webset at the step of the scene. */
export function monitorAt(scene: Scene, seed: number): Record<string, unknown> {
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

export function monitorRunAt({ story, step, iso }: Scene, seed: number): Record<string, unknown> {
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
