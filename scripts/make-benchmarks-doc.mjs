// node scripts/make-benchmarks-doc.mjs: writes docs/benchmarks.md from bench/results.
import { writeFileSync } from 'node:fs';
import { benchmarksDoc, savedResults } from './benchmarks-doc.mjs';
import { inRoot } from './root.mjs';

writeFileSync(inRoot('docs', 'benchmarks.md'), benchmarksDoc(savedResults()));
