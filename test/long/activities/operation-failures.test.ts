import { everyForm, operationFailures } from '../../support/activities/operation-failures.js';

operationFailures(everyForm);
