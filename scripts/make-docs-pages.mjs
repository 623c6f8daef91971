// node scripts/make-docs-pages.mjs: writes docs/reference/commands.md and limits.md and docs/errors.md from the build, docs/why/decisions.md
// and the drawings.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { buildProgram } from '../dist/cli/program.js';
import { errorGroups } from '../dist/core/errors/registry.js';
import { commandsDoc, decisionsDoc } from './commands-doc.mjs';
import { drawings } from './drawings.mjs';
import { errorsDoc } from './errors-doc.mjs';
import { limitsDoc } from './limits-doc.mjs';
import { inRoot } from './root.mjs';

const write = (path, text) => writeFileSync(inRoot('docs', ...path.split('/')), text);
const decisions = readdirSync(inRoot('docs', 'decisions')).sort();

write('reference/commands.md', commandsDoc(buildProgram('0', () => {})));
write(
  'why/decisions.md',
  decisionsDoc(decisions.map((name) => [name, readFileSync(inRoot('docs', 'decisions', name), 'utf8')])),
);
write('reference/limits.md', await limitsDoc((path) => import(`../dist/${path}.js`)));
write('errors.md', errorsDoc(errorGroups));
for (const [name, svg] of Object.entries(drawings)) write(`concepts/${name}.svg`, svg);
