import type { CreatedMonitorResult } from '../workflow-result-schemas.js';

/** The metadata field by which this program recognizes its monitors. */
export const MONITOR_KEY = 'searchflow';

/** A monitor of a creation, and whether its secret is in the store. */
export type MadeMonitor = Pick<CreatedMonitorResult, 'monitor' | 'secret'>;
