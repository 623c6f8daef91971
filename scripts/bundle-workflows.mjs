// node scripts/bundle-workflows.mjs <compiled workflows/index.js> <bundle to write>
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { inRoot } from './root.mjs';

const [workflowsPath, target] = process.argv.slice(2);
const logger = new DefaultLogger('WARN', ({ level, message }) => process.stderr.write(`${level} ${message}\n`));
const failureConverterPath = join(dirname(workflowsPath), 'failure-converter.js');
const { code } = await bundleWorkflowCode({ workflowsPath, failureConverterPath, logger });
writeFileSync(target, withShortMap(code));
// A worker of another SDK version builds a bundle of its own.
const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json');
writeFileSync(target.replace(/\.js$/, '.sdk'), version);

/**
 * The code with a source map that has no sources and no paths of this machine. Each start of a worker reads the map; with sources, it is three
 * times as large.
 */
function withShortMap(code) {
  const mark = 'base64,';
  const at = code.indexOf(mark, code.lastIndexOf('//# sourceMappingURL=data:')) + mark.length;
  const { sourcesContent: _, ...map } = JSON.parse(Buffer.from(code.slice(at), 'base64').toString());
  const sources = map.sources.map((path) => path.replaceAll(inRoot('/'), ''));
  return code.slice(0, at) + Buffer.from(JSON.stringify({ ...map, sources })).toString('base64');
}
