// Workflows are spelled out: the bundler reads the names of CommonJS exports from the text.
const { enrichCsv } = require('searchflow/workflows');

module.exports = { enrichCsv };
