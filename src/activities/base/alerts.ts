import type { AlertDelivery } from '../../core/alerts/alert.js';
import { type AlertRun, type RunState, stateOfRun } from '../../core/alerts/job-alerts.js';
import type { ActivityDeps } from './deps.js';
import { heartbeatOfWaits } from './with-heartbeat.js';

/** Input of `noteAlert`. */
export interface NoteAlert extends Omit<AlertRun, 'origin'>, RunState {}

export function createAlertActivities(deps: Pick<ActivityDeps, 'alerts' | 'sendAlert' | 'origin'>) {
  return {
    /** `noteAlert`: reports the state of a run that only its workflow knows. Any number of attempts makes one alert. */
    async noteAlert({ job, kind, run, scheduled, ...state }: NoteAlert): Promise<void> {
      const { origin } = deps;
      await deps.alerts.note([stateOfRun({ job, kind, run, scheduled, origin }, state)]);
    },

    /** `sendAlert`: makes one attempt to deliver an alert. */
    async sendAlert(delivery: AlertDelivery): Promise<void> {
      const heart = heartbeatOfWaits();
      await deps.sendAlert(delivery).finally(() => heart.stop());
    },
  };
}
