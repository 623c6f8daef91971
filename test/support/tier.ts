import { inject } from 'vitest';

/** Whether the long tier runs this file. A file of both tiers says which of its tests belong to which tier. */
export const isLong = inject('propertyRuns') !== undefined;
