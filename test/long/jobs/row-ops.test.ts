import { RowSetting, rowOperations } from '../../support/jobs/row-operations.js';
import { openTemporal } from '../../support/temporal.js';

const here = new RowSetting(openTemporal);

rowOperations(['answer'], here);
