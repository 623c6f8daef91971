import { expect, it } from 'vitest';
import { rowKinds } from '../../../src/activities/rows/row-requests.js';
import { misspeltFields } from '../../../src/api/checks/misspelt-fields.js';

it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
  'a field named %s is refused as unknown',
  (field) => {
    const request = JSON.parse(`{"query":"x","${field}":1}`);
    expect(misspeltFields(rowKinds.search.endpoint, request, [])).toEqual([
      { field, message: `${field} is not a field of ${rowKinds.search.endpoint.name}.` },
    ]);
  },
);
