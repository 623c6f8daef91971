// node deploy/docker/production.mjs, in the build of the image: makes the Temporal SDK a dependency of the package, so that
// `npm prune --omit=dev` keeps it in the version of the lock file. Elsewhere the SDK is a peer: the owner's project has it.
import { readFileSync, writeFileSync } from 'node:fs';

const { devDependencies, peerDependencies, peerDependenciesMeta, ...rest } = JSON.parse(
  readFileSync('package.json', 'utf8'),
);
const needed = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta?.[name]?.optional);
const sdk = Object.fromEntries(needed.map((name) => [name, devDependencies[name]]));
writeFileSync(
  'package.json',
  `${JSON.stringify({ ...rest, dependencies: { ...rest.dependencies, ...sdk } }, null, 2)}\n`,
);
