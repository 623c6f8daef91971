// node scripts/make-benchmarks-doc.mjs: writes docs/why/benchmarks.md from bench/results.
import { writeFileSync } from 'node:fs';
import { benchmarksDoc, savedResults } from './benchmarks-doc.mjs';
import { inRoot } from './root.mjs';

writeFileSync(inRoot('docs', 'why', 'benchmarks.md'), benchmarksDoc(savedResults()));
