// The pages of the TypeScript API, one for each import of the package.
import { Comment, Converter } from 'typedoc';
import { MarkdownPageEvent } from 'typedoc-plugin-markdown';

// Without it an anchor could be that of a heading such as "Parameters".
const anchorPrefix = 'api-';

/** Each import of the package and the sentence of its page. */
const imports = {
  searchflow: 'Every operation as a plain function without Temporal, and the types of requests and answers.',
  worker: 'The plugin for a Temporal worker, the settings of a worker, and jobs as a library.',
  activities: 'The activities that your own workflows call, and their types.',
  workflows: 'The workflows, to export from the workflows of your own worker.',
  sandbox: 'The sandbox in a program: a local stand-in of the service, its bill and its faults.',
  testing: 'The tests that each warehouse passes, for a warehouse of your own.',
};

/** TypeDoc calls the first import `index`, as its file. */
function nameImports(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const entry of project.children) {
      if (entry.name === 'index') entry.name = 'searchflow';
      if (!(entry.name in imports)) throw new Error(`typedoc.config.mjs has no sentence for ${entry.name}`);
      entry.comment = new Comment([{ kind: 'text', text: imports[entry.name] }]);
    }
  });
}

/** Anchors that the pages lack: constructors have none, and those of type parameters are HTML, which VitePress shows as text. */
function mendAnchors(app) {
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    let constructors = 0;
    page.contents = page.contents
      .replace(/^#+ Constructor$/gm, (heading) => {
        const anchor = constructors === 0 ? 'constructor' : `constructor-${constructors}`;
        constructors += 1;
        return `${heading} {#${anchorPrefix}${anchor}}`;
      })
      .replace(/<a id="[^"]*"><\/a> /g, '');
  });
}

export default {
  plugin: ['typedoc-plugin-markdown', nameImports, mendAnchors],
  entryPoints: Object.keys(imports).map((name) => `../dist/${name === 'searchflow' ? '' : `${name}/`}index.d.ts`),
  tsconfig: './tsconfig.json',
  out: 'reference/api',
  readme: 'none',
  githubPages: false,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  outputFileStrategy: 'modules',
  // A page named `index` would have its twin in another folder, where the links of the twin are wrong.
  entryFileName: 'overview',
  indexFormat: 'table',
  pageTitleTemplates: {
    index: 'TypeScript API',
    module: ({ rawName }) => (rawName === 'searchflow' ? rawName : `searchflow/${rawName}`),
  },
  // VitePress makes other anchors than TypeDoc, for example of a name that occurs twice.
  useCustomAnchors: true,
  anchorPrefix,
  parametersFormat: 'table',
  logLevel: 'Warn',
  validation: { notExported: false, invalidLink: false },
};
