import { oneOfEachClass, operationFailures } from '../../support/activities/operation-failures.js';

operationFailures(oneOfEachClass);
