import { type AlertRun, type RunState, stateOfRun } from '../../core/alerts/job-alerts.js';
import type { ActivityDeps } from './deps.js';

/** Input of `noteAlert`. */
export interface NoteAlert extends Omit<AlertRun, 'origin'>, RunState {}

/** The activity that reports the state of a run that only its workflow knows. Any number of attempts makes one alert. */
export function createNoteAlert({ alerts, origin }: Pick<ActivityDeps, 'alerts' | 'origin'>) {
  return {
    async noteAlert({ job, kind, run, scheduled, ...state }: NoteAlert): Promise<void> {
      await alerts.note([stateOfRun({ job, kind, run, scheduled, origin }, state)]);
    },
  };
}
