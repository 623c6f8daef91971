// node scripts/make-operations-doc.mjs: writes docs/reference/operations.md from the table of operations, which must be built.
import { readFileSync, writeFileSync } from 'node:fs';
import { operations, streams } from '../dist/api/index.js';
import { operationsDoc } from './operations-doc.mjs';
import { inRoot } from './root.mjs';

const source = readFileSync(inRoot('src', 'api', 'operations.ts'), 'utf8');
writeFileSync(inRoot('docs', 'reference', 'operations.md'), operationsDoc({ operations, streams }, source));
