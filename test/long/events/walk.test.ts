import { walkSettings } from '../../support/events/walk-setting.js';
import { walkTests } from '../../support/events/walk-tests.js';
import { openTemporal } from '../../support/temporal.js';

const walks = walkSettings(openTemporal);

walkTests({ sync: [], backfill: ['oldest'], late: ['newest'] }, walks);
